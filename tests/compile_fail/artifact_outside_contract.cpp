// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass reads an artifact of which its contract says nothing.
// expect-error-first: fxpass: a pass gets the artifacts of facts that it needs or establishes
// expect-first-four: outside_contract<fxpass::verdict::pass<Peek>, fxpass::verdict::artifact_of<fxpass::AliasesAnalysed>, fxpass::verdict::to_mend<fxpass::verdict::declare_needs<fxpass::AliasesAnalysed>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Peek {
  static constexpr std::string_view name = "peek";
  using keeps = everything;
#ifdef FXPASS_CONTROL
  using needs = facts<AliasesAnalysed>;
#endif
  auto run(Graph&, Artifacts<Peek>& artifacts, Context& context) const -> Status {
    context.count("views", artifacts.get<AliasesAnalysed>().view_count());
    return {};
  }
};

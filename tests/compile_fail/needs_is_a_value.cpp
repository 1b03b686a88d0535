// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A contract is written as a value.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Reader, fxpass::verdict::needs_must_be_a_type
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Reader {
  static constexpr std::string_view name = "reader";
#ifdef FXPASS_CONTROL
  using needs = facts<AliasesAnalysed>;
#else
  static constexpr facts<AliasesAnalysed> needs{};
#endif
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(AliasingOutputRewritePass{}, Reader{});

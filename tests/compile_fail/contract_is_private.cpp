// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The contract of a class stands before `public:`, and would be taken for nothing.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Reader, fxpass::verdict::needs_must_be_public
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

class Reader {
#ifdef FXPASS_CONTROL
 public:
  using needs = facts<AliasesAnalysed>;
#else
  using needs = facts<AliasesAnalysed>;

 public:
#endif
  static constexpr std::string_view name = "reader";
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(AliasingOutputRewritePass{}, Reader{});

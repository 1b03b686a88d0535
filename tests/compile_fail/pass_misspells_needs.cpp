// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A word of the contract is misspelt: it would be taken for nothing.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Reader, fxpass::verdict::has_member_need_where_needs_is_meant
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Reader {
  static constexpr std::string_view name = "reader";
#ifdef FXPASS_CONTROL
  using needs = facts<AliasesAnalysed>;
#else
  using need = facts<AliasesAnalysed>;
#endif
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(AliasingOutputRewritePass{}, Reader{});

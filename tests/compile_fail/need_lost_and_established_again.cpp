// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A need is lost in between, and established again too late: who lost it is named.
// expect-error-first: fxpass: wrong pass order
// expect-first-four: wrong_pass_order<fxpass::verdict::pass<Reader>, fxpass::verdict::needs<fxpass::AliasesAnalysed>, fxpass::verdict::was_lost_by<Shuffle>
// expect-first-four: to_mend<fxpass::verdict::move<Reader>, fxpass::verdict::before<Shuffle>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Shuffle {
  static constexpr std::string_view name = "shuffle";
  using keeps = everything_but<AliasesAnalysed>;
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
struct Reader {
  static constexpr std::string_view name = "reader";
  using needs = facts<AliasesAnalysed>;
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};
inline constexpr AliasingOutputRewritePass analyse;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = pipeline(analyse, Reader{}, Shuffle{}, named<"analyse_again">(analyse));
#else
inline constexpr auto passes = pipeline(analyse, Shuffle{}, Reader{}, named<"analyse_again">(analyse));
#endif

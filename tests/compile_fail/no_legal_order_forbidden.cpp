// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass needs one half of what another pass establishes, and forbids the other half.
// expect-error-first: fxpass: these passes have no legal order
// expect-first-four: no_legal_order<fxpass::verdict::pass<CountAliases>, fxpass::verdict::must_run_after<fxpass::AliasingOutputRewritePass, fxpass::verdict::which_establishes<fxpass::AliasesAnalysed> ?>
// expect-first-four: fxpass::verdict::which_must_run_after<CountAliases, fxpass::verdict::which_forbids<fxpass::MutationsSurfaced> ?>
// expect-first-four: to_mend<fxpass::verdict::establish<fxpass::AliasesAnalysed>, fxpass::verdict::before<CountAliases> ?>
#include <fxpass/pass/auto_order.hpp>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

// Wants the one half of what alias analysis does, and not the other.
struct CountAliases {
  static constexpr std::string_view name = "count_aliases";
  using needs = facts<AliasesAnalysed>;
#ifndef FXPASS_CONTROL
  using forbids = facts<MutationsSurfaced>;
#endif
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = auto_order(CountAliases{}, AliasingOutputRewritePass{});

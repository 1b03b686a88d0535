// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass that has to run in between does not say that it keeps what a later one needs.
// expect-error-first: fxpass: these passes have no legal order
// expect-first-four: no_legal_order<fxpass::verdict::pass<Report>, fxpass::verdict::must_run_after<Tidy, fxpass::verdict::which_establishes<Tidied> ?>
// expect-first-four: fxpass::verdict::which_must_run_after<Report, fxpass::verdict::which_needs<fxpass::AliasesAnalysed> ?>
// expect-first-four: to_mend<fxpass::verdict::declare_keeps<fxpass::AliasesAnalysed>, fxpass::verdict::in<Tidy> ?>
#include <fxpass/pass/auto_order.hpp>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Tidied {
  static constexpr std::string_view name = "tidied";
};
// Has to run between the analysis and its reader, and does not say that it keeps what the analysis found.
struct Tidy {
  static constexpr std::string_view name = "tidy";
  using needs = facts<MutationsSurfaced>;
  using establishes = facts<Tidied>;
#ifdef FXPASS_CONTROL
  using keeps = facts<MutationsSurfaced, AliasesAnalysed>;
#endif
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
struct Report {
  static constexpr std::string_view name = "report";
  using needs = facts<Tidied, AliasesAnalysed>;
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = auto_order(Report{}, Tidy{}, AliasingOutputRewritePass{});

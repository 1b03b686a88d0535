// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Two passes need what the other one establishes.
// expect-error-first: fxpass: these passes have no legal order
// expect-first-four: no_legal_order<fxpass::verdict::pass<Outline>, fxpass::verdict::must_run_after<Inline, fxpass::verdict::which_establishes<Inlined> ?>
// expect-first-four: fxpass::verdict::which_must_run_after<Outline, fxpass::verdict::which_establishes<Outlined> ?>
// expect-first-four: to_mend<fxpass::verdict::establish<Inlined>, fxpass::verdict::before<Outline> ?>
#include <fxpass/pass/auto_order.hpp>

using namespace fxpass;

struct Inlined {
  static constexpr std::string_view name = "inlined";
};
struct Outlined {
  static constexpr std::string_view name = "outlined";
};
struct Outline {
  static constexpr std::string_view name = "outline";
  using needs = facts<Inlined>;
  using establishes = facts<Outlined>;
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};
struct Inline {
  static constexpr std::string_view name = "inline";
#ifndef FXPASS_CONTROL
  using needs = facts<Outlined>;
#endif
  using establishes = facts<Inlined>;
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = auto_order(Outline{}, Inline{});

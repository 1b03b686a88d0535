// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The check of a fact returns bool, so it could not say where the fact fails.
// expect-error-first: fxpass: this is not a fact
// expect-first-four: not_a_fact<NoDropout, fxpass::verdict::check_must_take_a_graph_and_return_a_status
#include <fxpass/pass/module.hpp>

using namespace fxpass;

struct NoDropout {
  static constexpr std::string_view name = "no_dropout";
#ifdef FXPASS_CONTROL
  static constexpr auto check(const Graph&) -> Status { return {}; }
#else
  static constexpr auto check(const Graph&) -> bool { return true; }
#endif
};

auto prove(Module<> module) { return check_facts<NoDropout>(module).has_value(); }

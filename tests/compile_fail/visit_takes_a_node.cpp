// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: `visit` of a forward pass takes a node in place of the sweep.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Counter, fxpass::verdict::visit_must_take_the_state_and_a_sweep_and_return_a_status
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Counter {
  static constexpr std::string_view name = "counter";
  struct State {};
  constexpr auto begin(Graph&, Artifacts<Counter>&, Context&) const -> State { return {}; }
  static constexpr auto wants(const Operator&) -> bool { return true; }
#ifdef FXPASS_CONTROL
  constexpr auto visit(State&, Sweep&) const -> Status { return {}; }
#else
  constexpr auto visit(State&, const Node&) const -> Status { return {}; }
#endif
  constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(Counter{});

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: `begin` of a forward pass does not take the artifacts.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Counter, fxpass::verdict::begin_must_take_a_graph_and_its_own_artifacts_and_a_context
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Counter {
  static constexpr std::string_view name = "counter";
  struct State {};
#ifdef FXPASS_CONTROL
  constexpr auto begin(Graph&, Artifacts<Counter>&, Context&) const -> State { return {}; }
#else
  constexpr auto begin(Graph&, Context&) const -> State { return {}; }
#endif
  static constexpr auto wants(const Operator&) -> bool { return true; }
  constexpr auto visit(State&, Sweep&) const -> Status { return {}; }
  constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(Counter{});

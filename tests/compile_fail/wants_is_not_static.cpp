// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: `wants` of a forward pass is not static.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Counter, fxpass::verdict::wants_must_be_static
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Counter {
  static constexpr std::string_view name = "counter";
  struct State {};
  constexpr auto begin(Graph&, Artifacts<Counter>&, Context&) const -> State { return {}; }
#ifdef FXPASS_CONTROL
  static constexpr auto wants(const Operator&) -> bool { return true; }
#else
  constexpr auto wants(const Operator&) const -> bool { return true; }
#endif
  constexpr auto visit(State&, Sweep&) const -> Status { return {}; }
  constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(Counter{});

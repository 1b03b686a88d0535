// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A forward pass has no `finish`.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Endless, fxpass::verdict::has_begin_but_no_finish, fxpass::verdict::finish_must_take_the_state_a_graph_and_a_context_and_return_a_status>
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Endless {
  static constexpr std::string_view name = "endless";
  struct State {};
  constexpr auto begin(Graph&, Artifacts<Endless>&, Context&) const -> State { return {}; }
  static constexpr auto wants(const Operator&) -> bool { return true; }
  constexpr auto visit(State&, Sweep&) const -> Status { return {}; }
#ifdef FXPASS_CONTROL
  constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
#endif
};

inline constexpr auto passes = pipeline(Endless{});

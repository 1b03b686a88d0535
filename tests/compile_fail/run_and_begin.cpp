// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A forward pass has a `run` as well: which of the two is meant?
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Looker, fxpass::verdict::has_run_and_begin
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Looker {
  static constexpr std::string_view name = "looker";
  static constexpr auto wants(const Operator&) -> bool { return true; }
  constexpr auto begin(Graph&, Artifacts<Looker>&, Context&) const -> int { return 0; }
  constexpr auto visit(int&, Sweep&) const -> Status { return {}; }
  constexpr auto finish(int&, Graph&, Context&) const -> Status { return {}; }
#ifndef FXPASS_CONTROL
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
#endif
};

inline constexpr auto passes = pipeline(Looker{});

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: `run` returns nothing.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Silent, fxpass::verdict::run_must_return_an_expected_graph_or_a_status>
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Silent {
  static constexpr std::string_view name = "silent";
#ifdef FXPASS_CONTROL
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
#else
  constexpr void run(Graph&, Context&) const {}
#endif
};

inline constexpr auto passes = pipeline(Silent{});

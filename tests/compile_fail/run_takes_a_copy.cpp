// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass edits a copy of the graph: an ampersand is missing.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Emptier, fxpass::verdict::run_must_take_the_graph_by_reference
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Emptier {
  static constexpr std::string_view name = "emptier";
#ifdef FXPASS_CONTROL
  constexpr auto run(Graph& graph, Context&) const -> Status {
#else
  constexpr auto run(Graph graph, Context&) const -> Status {
#endif
    graph = Graph();
    return {};
  }
};

inline constexpr auto passes = pipeline(Emptier{});

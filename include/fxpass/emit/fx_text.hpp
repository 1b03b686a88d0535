// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/emit/graph_emitter.hpp>
#include <fxpass/graph/print.hpp>

#include <string_view>

/// @file
/// A graph as `print(graph_module.graph)` prints it.

namespace fxpass {

/// FX text, as graph/print.hpp defines it. Can express every graph.
struct FxText {
  static constexpr std::string_view name = "fx-text";
  static constexpr std::string_view file_ending = ".fx";

  template <TextSink Sink>
  static constexpr auto write(Sink& sink, const Graph& graph) -> Status {
    append_to(sink, graph);
    return {};
  }
};
static_assert(GraphEmitter<FxText>);

}  // namespace fxpass

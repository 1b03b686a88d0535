// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "graphs.hpp"
#include "measure.hpp"
#include "texts.hpp"

#include <fxpass/read/exported_program.hpp>
#include <fxpass/read/fx_json.hpp>

#include <cstdint>
#include <utility>

/// @file
/// Reading a program from memory. `MB_per_s` is of the text.

namespace fxpass::bench {
namespace {

template <class Parse>
void read_text(benchmark::State& state, const Graph& graph, const Text& text, Parse parse) {
  const auto module = parse(text.view());
  if (!module || !(module->graph() == graph))
    return state.SkipWithError("what is read is not what was written");
  measure(
      state, graph.node_count(), [] { return Expected<Module<>>(Module<>()); },
      [&](Expected<Module<>>& read) { read = parse(text.view()); });
  state.counters["MB_per_s"] = text.size() / (state.counters["per_node"] * graph.node_count()) / 1e6;
}

void fx_json(benchmark::State& state) {
  const Graph graph = elementwise_chain(static_cast<std::uint32_t>(state.range(0)));
  read_text(state, graph, FxJsonWriter(graph).write(),
            [](std::string_view text) { return parse_fx_json(text, "chain.json"); });
}
void exported_program(benchmark::State& state) {
  const Graph graph = elementwise_chain(static_cast<std::uint32_t>(state.range(0)));
  read_text(state, graph, ExportedProgramWriter(graph).write(),
            [](std::string_view text) { return parse_exported_program(text, "chain.json"); });
}

BENCHMARK(fx_json)->Apply(sizes)->UseManualTime();
BENCHMARK(exported_program)->Apply(sizes)->UseManualTime();

}  // namespace
}  // namespace fxpass::bench

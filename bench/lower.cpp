// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "graphs.hpp"
#include "measure.hpp"

#include <fxpass/emit/fx_python.hpp>
#include <fxpass/emit/fx_text.hpp>
#include <fxpass/emit/hlo_proto.hpp>
#include <fxpass/emit/hlo_text.hpp>
#include <fxpass/lower/lower.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <cstdint>
#include <utility>

/// @file
/// Behind the passes: lowering to HLO, and each emitter. Time per node is per node of the FX graph.

namespace fxpass::bench {
namespace {

/// A graph with writes through views, as the passes leave it.
[[nodiscard]] auto functional_graph(const benchmark::State& state) {
  const auto size = static_cast<std::uint32_t>(state.range(0));
  return get_default_pass_manager()(Module<>(in_place_writes<Writes::through_views_of_one>(size)));
}

void lowering(benchmark::State& state) {
  const auto module = functional_graph(state);
  if (!module) return state.SkipWithError("the passes fail");
  bool ok = true;
  measure(
      state, module->graph().node_count(), [&] { return *module; },
      [&](auto& m) { ok = lower(xla)(std::move(m)).has_value() && ok; });
  if (!ok) state.SkipWithError("lowering fails");
}

/// `MB_per_s` is of what is written.
template <class Emit>
void emission(benchmark::State& state, std::uint32_t nodes, Emit emit_text) {
  std::size_t bytes = 0;
  measure(
      state, nodes, [] { return Text(); },
      [&](Text& text) {
        text = emit_text();
        bytes = text.size();
      });
  if (bytes == 0) return state.SkipWithError("nothing is written");
  state.counters["MB_per_s"] = static_cast<double>(bytes) / (state.counters["per_node"] * nodes) / 1e6;
}
template <Emitter E>
void emit_hlo(benchmark::State& state) {
  auto module = functional_graph(state);
  const std::uint32_t nodes = module->graph().node_count();
  const auto lowered = lower(xla)(*std::move(module));
  if (!lowered) return state.SkipWithError("lowering fails");
  emission(state, nodes, [&] { return emit<E>(lowered->module); });
}
template <GraphEmitter E>
void emit_graph(benchmark::State& state) {
  const auto module = functional_graph(state);
  emission(state, module->graph().node_count(), [&] { return emit<E>(module->graph()).value_or(Text()); });
}

BENCHMARK(lowering)->Apply(sizes)->UseManualTime();
BENCHMARK(emit_hlo<HloText>)->Name("hlo_text")->Apply(sizes)->UseManualTime();
BENCHMARK(emit_hlo<HloProto>)->Name("hlo_proto")->Apply(sizes)->UseManualTime();
BENCHMARK(emit_graph<FxText>)->Name("fx_text")->Apply(sizes)->UseManualTime();
BENCHMARK(emit_graph<FxPython>)->Name("fx_python")->Apply(sizes)->UseManualTime();

}  // namespace
}  // namespace fxpass::bench

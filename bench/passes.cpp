// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "graphs.hpp"
#include "hand_written.hpp"
#include "measure.hpp"

#include <fxpass/passes/default_pipeline.hpp>

#include <cstdint>
#include <utility>

/// @file
/// Passes and pipelines, beside the same work done by hand.

namespace fxpass::bench {
namespace {

const KernelRegistry registry = kernels();
const ProcessGroups groups = process_groups();
const PassOptions options{.target_device = "xla", .kernels = &registry, .groups = &groups};

constexpr DeviceRewriterPass device;
const AliasingOutputRewritePass aliasing{.kernels = &registry};
constexpr InPlaceToOutOfPlacePass in_place;
const NkiKernelWriteBackendConfigPass kernel_config{.kernels = &registry};
const CollectiveReplicaGroupsPass replica_groups{.groups = &groups};

using MakeGraph = auto (*)(std::uint32_t size) -> Graph;
constexpr MakeGraph chain = elementwise_chain;
constexpr MakeGraph to_one_input = in_place_writes<Writes::to_one_input>;
constexpr MakeGraph through_views_of_one = in_place_writes<Writes::through_views_of_one>;
constexpr MakeGraph through_views_of_many = in_place_writes<Writes::through_views_of_many>;
constexpr MakeGraph decode = decode_step;
constexpr MakeGraph pure_kernels = kernels_and_collectives<1>;
constexpr MakeGraph writing_kernels = kernels_and_collectives<0>;

[[nodiscard]] auto graph_of(const benchmark::State& state, MakeGraph make) -> Graph {
  return make(static_cast<std::uint32_t>(state.range(0)));
}

/// `passes` on a module; false if they fail.
template <class Passes, class M>
[[nodiscard]] auto succeed(const Passes& passes, M& module) -> bool {
  return passes(std::move(module)).has_value();
}

// One pass by itself ----------------------------------------------------------------------------------------

template <class Pass>
void one_pass(benchmark::State& state, const Pass& pass, MakeGraph make) {
  const Module<> module(graph_of(state, make));
  const auto passes = pipeline(pass);
  bool ok = true;
  measure(
      state, module.graph().node_count(), [&] { return module; },
      [&](Module<>& m) { ok = ok && succeed(passes, m); });
  if (!ok) state.SkipWithError("the pass fails");
}
/// The in-place pass needs a module that knows its aliases.
void in_place_alone(benchmark::State& state, MakeGraph make) {
  const auto module = pipeline(aliasing)(Module<>(graph_of(state, make)));
  const auto passes = pipeline(in_place);
  bool ok = module.has_value();
  measure(
      state, module->graph().node_count(), [&] { return *module; },
      [&](auto& m) { ok = ok && succeed(passes, m); });
  if (!ok) state.SkipWithError("the pass fails");
}

BENCHMARK_CAPTURE(one_pass, device, device, chain)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(one_pass, aliasing_chain, aliasing, chain)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(one_pass, aliasing_writes, aliasing, through_views_of_one)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(in_place_alone, chain, chain)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(in_place_alone, writes, through_views_of_one)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(one_pass, kernel_config, kernel_config, pure_kernels)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(one_pass, replica_groups, replica_groups, pure_kernels)->Apply(sizes)->UseManualTime();

// Pipelines, `ratio` to the loop written by hand ------------------------------------------------------------

template <class Passes, class ByHand>
void beside_hand_written(benchmark::State& state, MakeGraph make, const Passes& passes, ByHand by_hand) {
  const Graph graph = graph_of(state, make);
  struct Work {
    Module<> module;
    Graph graph;
  };
  Work check{Module<>(graph), graph};
  const bool by_hand_too = by_hand(check.graph).has_value();
  const auto done = passes(check.module);
  if (!by_hand_too || !done || !(done->graph() == check.graph))
    return state.SkipWithError("the loop by hand does something else");
  compare(
      state, graph.node_count(), [&] { return Work{Module<>(graph), graph}; },
      [&](Work& w) { benchmark::DoNotOptimize(succeed(passes, w.module)); },
      [&](Work& w) { benchmark::DoNotOptimize(by_hand(w.graph).has_value()); });
}
void node_local(benchmark::State& state, MakeGraph make) {
  beside_hand_written(state, make, pipeline(device, kernel_config, replica_groups),
                      [](Graph& graph) { return NodeLocalRewriter(graph, registry, groups).run(); });
}
void writes(benchmark::State& state, MakeGraph make) {
  beside_hand_written(state, make, pipeline(aliasing, in_place),
                      [](Graph& graph) { return WriteRewriter(graph, registry).run(); });
}
void default_pipeline(benchmark::State& state, MakeGraph make) {
  beside_hand_written(state, make, get_default_pass_manager(options),
                      [](Graph& graph) { return rewrite_everything(graph, registry, groups); });
}

BENCHMARK_CAPTURE(node_local, chain, chain)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(node_local, kernels, pure_kernels)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(writes, chain, chain)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(writes, to_one_input, to_one_input)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(writes, through_views_of_one, through_views_of_one)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(writes, through_views_of_many, through_views_of_many)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(writes, decode, decode)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(default_pipeline, chain, chain)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(default_pipeline, decode, decode)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(default_pipeline, through_views_of_one, through_views_of_one)
    ->Apply(sizes)
    ->UseManualTime();
BENCHMARK_CAPTURE(default_pipeline, writing_kernels, writing_kernels)->Apply(sizes)->UseManualTime();

/// Each pass by itself, because somebody looks; `ratio` to the run in one traversal.
void observed(benchmark::State& state, MakeGraph make) {
  struct CountNodes {
    std::uint64_t nodes = 0;
    void after(const PassReport&, const Graph& graph) { nodes += graph.node_count(); }
  };
  const Module<> module(graph_of(state, make));
  const auto passes = get_default_pass_manager(options);
  compare(
      state, module.graph().node_count(), [&] { return module; },
      [&](Module<>& m) {
        Context context;
        CountNodes count;
        benchmark::DoNotOptimize(passes.run_passes(std::move(m), context, count).has_value());
      },
      [&](Module<>& m) { benchmark::DoNotOptimize(succeed(passes, m)); });
}
BENCHMARK_CAPTURE(observed, chain, chain)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(observed, through_views_of_one, through_views_of_one)->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(observed, writing_kernels, writing_kernels)->Apply(sizes)->UseManualTime();

}  // namespace
}  // namespace fxpass::bench

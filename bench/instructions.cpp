// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "graphs.hpp"
#include "hand_written.hpp"

#include <fxpass/passes/default_pipeline.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

/// @file
/// Pipelines, and the same work by hand, each once on one graph: for `tools/callgrind_ratio.py`, which counts instructions.
///
///     bench.instructions                  one line a workload: its name, and the ratio that it must not exceed
///     bench.instructions WORKLOAD SIZE    runs it, and says how many nodes the graph has

namespace fxpass::bench {
namespace {

const KernelRegistry registry = kernels();
const ProcessGroups groups = process_groups();
const PassOptions options{.target_device = "xla", .kernels = &registry, .groups = &groups};

/// A pass as users write them: it counts calls, and changes nothing.
struct CountTanh {
  static constexpr std::string_view name = "count_tanh";
  using keeps = everything;

  struct State {
    std::int64_t calls = 0;
  };
  constexpr auto begin(Graph&, Artifacts<CountTanh>&, Context&) const -> State { return {}; }
  static constexpr auto wants(const Operator& op) -> bool { return op.row == tanh_row; }
  constexpr auto visit(State& state, Sweep&) const -> Status {
    ++state.calls;
    return {};
  }
  constexpr auto finish(State& state, Graph&, Context& context) const -> Status {
    context.count("calls", state.calls);
    return {};
  }
};

// The two functions whose instructions are counted.
template <class Passes>
[[gnu::noinline]] auto run_pipeline(const Passes& passes, Module<>&& module) {
  return passes(std::move(module));
}
template <class ByHand>
[[gnu::noinline]] auto run_by_hand(const ByHand& by_hand, Graph& graph) {
  return by_hand(graph);
}

/// Both ways, on two copies of a graph. Says how many nodes it has; false if they do not give the same graph.
template <class Passes, class ByHand>
auto run(const Graph& graph, const Passes& passes, const ByHand& by_hand) -> bool {
  Graph rewritten = graph;
  Module<> module(graph);
  const auto done = run_pipeline(passes, std::move(module));
  const Status done_by_hand = run_by_hand(by_hand, rewritten);
  std::printf("%u\n", static_cast<unsigned>(graph.node_count()));
  return done && done_by_hand && done->graph() == rewritten;
}

auto node_local(const Graph& graph) -> bool {
  const auto passes =
      pipeline(DeviceRewriterPass(), NkiKernelWriteBackendConfigPass{.kernels = &registry},
               CollectiveReplicaGroupsPass{.groups = &groups}, CountTanh());
  return run(graph, passes, [](Graph& g) { return NodeLocalRewriter(g, registry, groups, tanh_row).run(); });
}
auto writes(const Graph& graph) -> bool {
  const auto passes = pipeline(AliasingOutputRewritePass{.kernels = &registry}, InPlaceToOutOfPlacePass());
  return run(graph, passes, [](Graph& g) { return WriteRewriter(g, registry).run(); });
}
auto all(const Graph& graph) -> bool {
  return run(graph, get_default_pass_manager(options), [](Graph& g) { return rewrite_everything(g, registry, groups); });
}

struct Workload {
  std::string_view name;
  double limit;
  auto (*make)(std::uint32_t size) -> Graph;
  auto (*run)(const Graph& graph) -> bool;
};
constexpr Workload workloads[] = {
    {"node_local/chain", 1.10, elementwise_chain, node_local},
    {"node_local/kernels", 1.10, kernels_and_collectives<1>, node_local},
    {"default_pipeline/chain", 1.10, elementwise_chain, all},
    {"default_pipeline/decode", 2.35, decode_step, all},
    {"default_pipeline/kernels", 1.95, kernels_and_collectives<0>, all},
    {"writes/decode", 2.35, decode_step, writes},
    {"writes/to_one_input", 2.30, in_place_writes<Writes::to_one_input>, writes},
    {"writes/through_views_of_one", 2.25, in_place_writes<Writes::through_views_of_one>, writes},
    {"writes/through_views_of_many", 2.20, in_place_writes<Writes::through_views_of_many>, writes},
};

}  // namespace
}  // namespace fxpass::bench

auto main(int argc, char** argv) -> int {
  using namespace fxpass::bench;
  for (const Workload& w : workloads) {
    if (argc == 1) std::printf("%s %.2f\n", w.name.data(), w.limit);
    if (argc == 3 && w.name == argv[1])
      return w.run(w.make(static_cast<std::uint32_t>(std::atoi(argv[2])))) ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  return argc == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}

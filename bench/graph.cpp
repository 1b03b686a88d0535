// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "graphs.hpp"
#include "measure.hpp"

#include <fxpass/graph/graph.hpp>
#include <fxpass/graph/users.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

/// @file
/// The graph as a value: building, copying, comparing, walking it.

namespace {
std::size_t allocated_bytes = 0;
}

// A graph weighs what copying it asks of the allocator: the graph itself keeps no count.
void* operator new(std::size_t size) {
  allocated_bytes += size;
  if (void* p = std::malloc(size)) return p;
  std::abort();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace fxpass::bench {
namespace {

[[nodiscard]] auto graph_of(const benchmark::State& state) -> Graph {
  return elementwise_chain(static_cast<std::uint32_t>(state.range(0)));
}
[[nodiscard]] auto bytes_of(const Graph& graph) -> std::size_t {
  const std::size_t before = allocated_bytes;
  const Graph copy = graph;
  return allocated_bytes - before;
}

void build(benchmark::State& state) {
  std::uint32_t nodes = 0;
  for (auto _ : state) {
    const Graph graph = graph_of(state);
    nodes = graph.node_count();
    benchmark::DoNotOptimize(nodes);
  }
  count_nodes(state, nodes);
}

/// `ratio`: to one allocation and one memcpy of as many bytes.
void copy(benchmark::State& state) {
  const Graph graph = graph_of(state);
  const std::size_t bytes = bytes_of(graph);
  const auto block = std::make_unique<std::byte[]>(bytes);
  struct Copies {
    std::optional<Graph> graph;
    std::unique_ptr<std::byte[]> block;
  };
  compare(
      state, graph.node_count(), [] { return Copies(); }, [&](Copies& made) { made.graph = graph; },
      [&](Copies& made) {
        made.block.reset(new std::byte[bytes]);
        std::memcpy(made.block.get(), block.get(), bytes);
        benchmark::DoNotOptimize(made.block.get());
      });
  state.counters["bytes_per_node"] = static_cast<double>(bytes) / graph.node_count();
}

void equal(benchmark::State& state) {
  const Graph a = graph_of(state);
  const Graph b = graph_of(state);
  bool all_equal = true;
  for (auto _ : state) all_equal = all_equal && a == b;
  if (!all_equal) state.SkipWithError("equal graphs compare unequal");
  count_nodes(state, a.node_count());
}

/// Each node and each operand once.
void walk(benchmark::State& state) {
  const Graph graph = graph_of(state);
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      graph.for_each_operand(NodeId{i}, [&](NodeId operand) { sum += graph.node(operand).op.index; });
    benchmark::DoNotOptimize(sum);
  }
  count_nodes(state, graph.node_count());
}

void users(benchmark::State& state) {
  const Graph graph = graph_of(state);
  for (auto _ : state) {
    const Users table(graph);
    benchmark::DoNotOptimize(table[NodeId{0}].data());
  }
  count_nodes(state, graph.node_count());
}

BENCHMARK(build)->Apply(sizes);
BENCHMARK(copy)->Apply(sizes)->UseManualTime();
BENCHMARK(equal)->Apply(sizes);
BENCHMARK(walk)->Apply(sizes);
BENCHMARK(users)->Apply(sizes);

}  // namespace
}  // namespace fxpass::bench

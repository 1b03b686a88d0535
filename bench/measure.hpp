// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

/// @file
/// How all benchmarks measure: sizes, counters, and two ways of doing one thing side by side.

namespace fxpass::bench {

/// Every benchmark runs at these numbers of nodes.
inline void sizes(benchmark::internal::Benchmark* b) { b->Arg(1'000)->Arg(10'000)->Arg(100'000); }

/// Reports the time of an iteration over `nodes`.
inline void count_nodes(benchmark::State& state, std::uint32_t nodes) {
  using benchmark::Counter;
  state.counters["per_node"] = Counter(nodes, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

/// Seconds that `run` takes.
template <class F>
[[nodiscard]] auto seconds(F&& run) -> double {
  const auto start = std::chrono::steady_clock::now();
  run();
  benchmark::ClobberMemory();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Measures `subject` beside `reference`, in turns, so that both meet the same noise. `prepare()` makes what a run
/// consumes and is not timed. Reports the time of `subject`, and as counter `ratio` the shortest time of `subject` over
/// the shortest of `reference`. Needs `UseManualTime`.
template <class Prepare, class Subject, class Reference>
void compare(benchmark::State& state, std::uint32_t nodes, Prepare&& prepare, Subject&& subject, Reference&& reference) {
  double best_subject = 1e9;
  double best_reference = 1e9;
  for (auto _ : state) {
    auto for_reference = prepare();
    best_reference = std::min(best_reference, seconds([&] { reference(for_reference); }));
    auto for_subject = prepare();
    const double time = seconds([&] { subject(for_subject); });
    best_subject = std::min(best_subject, time);
    state.SetIterationTime(time);
  }
  state.counters["ratio"] = best_subject / best_reference;
  count_nodes(state, nodes);
}

/// The same without a reference.
template <class Prepare, class Subject>
void measure(benchmark::State& state, std::uint32_t nodes, Prepare&& prepare, Subject&& subject) {
  for (auto _ : state) {
    auto prepared = prepare();
    state.SetIterationTime(seconds([&] { subject(prepared); }));
  }
  count_nodes(state, nodes);
}

}  // namespace fxpass::bench

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

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

/// Seconds of processor time that this thread has used: the time of other programs does not count.
[[nodiscard]] inline auto thread_seconds() -> double {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// The shortest time of something that is done again and again: noise only ever adds to it.
class BestTime {
 public:
  /// Runs `run` once. Returns its time in seconds.
  template <class F>
  auto of(F&& run) -> double {
    const double start = thread_seconds();
    run();
    benchmark::ClobberMemory();
    const double time = thread_seconds() - start;
    best_ = std::min(best_, time);
    return time;
  }
  [[nodiscard]] auto seconds() const -> double { return best_; }

 private:
  double best_ = 1e9;
};

/// Measures `subject`. `prepare()` makes what a run consumes and is not timed. Needs `UseManualTime`.
template <class Prepare, class Subject>
void measure(benchmark::State& state, std::uint32_t nodes, Prepare&& prepare, Subject&& subject) {
  BestTime best;
  for (auto _ : state) {
    auto prepared = prepare();
    state.SetIterationTime(best.of([&] { subject(prepared); }));
  }
  state.counters["per_node"] = best.seconds() / nodes;
}

/// The same beside `reference`, in turns, so that both meet the same noise. Counter `ratio` is the shortest
/// time of `subject` over the shortest of `reference`.
template <class Prepare, class Subject, class Reference>
void compare(benchmark::State& state, std::uint32_t nodes, Prepare&& prepare, Subject&& subject,
             Reference&& reference) {
  BestTime best;
  measure(state, nodes, [&] {
    auto for_reference = prepare();
    best.of([&] { reference(for_reference); });
    return prepare();
  }, subject);
  state.counters["ratio"] = state.counters["per_node"] * nodes / best.seconds();
}

}  // namespace fxpass::bench

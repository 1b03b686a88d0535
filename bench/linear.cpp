// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "graphs.hpp"
#include "measure.hpp"

#include <fxpass/passes/default_pipeline.hpp>

#include <cstdint>
#include <cstdio>
#include <utility>

/// @file
/// Whether the default pipeline is linear: ten times as many nodes may take ten times as long. A test, and so
/// tolerant: what is quadratic takes a hundred times as long, and leaving the caches costs up to three times
/// as much a node.

namespace fxpass::bench {
namespace {

constexpr double limit = 50;
using MakeGraph = auto (*)(std::uint32_t size) -> Graph;

/// Seconds for a graph of `size` nodes: the shortest of several runs.
[[nodiscard]] auto time_of(MakeGraph make, std::uint32_t size) -> double {
  const KernelRegistry registry = kernels();
  const ProcessGroups groups = process_groups();
  const PassOptions options{.target_device = "xla", .kernels = &registry, .groups = &groups};
  const auto passes = get_default_pass_manager(options);
  const Module<> module(make(size));
  BestTime best;
  for (int i = 0; i < 5; ++i) {
    Module<> copy = module;
    bool ok = false;
    best.of([&] { ok = passes(std::move(copy)).has_value(); });
    if (!ok) return -1;
  }
  return best.seconds();
}

[[nodiscard]] auto is_linear(const char* what, MakeGraph make) -> bool {
  const double small = time_of(make, 2'000);
  const double large = time_of(make, 20'000);
  const double ratio = large / small;
  std::printf("%-27s 20,000 nodes take %.1f times as long as 2,000\n", what, ratio);
  return small > 0 && large > 0 && ratio < limit;
}

}  // namespace
}  // namespace fxpass::bench

auto main() -> int {
  using namespace fxpass;
  using namespace fxpass::bench;
  bool ok = is_linear("elementwise chain", elementwise_chain);
  ok = is_linear("writes to one input", in_place_writes<Writes::to_one_input>) && ok;
  ok = is_linear("writes to many inputs", in_place_writes<Writes::to_many_inputs>) && ok;
  ok = is_linear("writes to a list of inputs", lists_of_inputs) && ok;
  ok = is_linear("changes of shape", rebindings) && ok;
  ok = is_linear("through views of one", in_place_writes<Writes::through_views_of_one>) && ok;
  ok = is_linear("through views of many", in_place_writes<Writes::through_views_of_many>) && ok;
  ok = is_linear("inputs of one storage each", inputs_with_storages) && ok;
  ok = is_linear("kernels and collectives", kernels_and_collectives<0>) && ok;
  return ok ? 0 : 1;
}

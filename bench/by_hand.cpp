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
/// Whether the loops by hand are worth comparing with: they make the graphs that the pipelines make, count what those count,
/// and refuse what those refuse, in the same words.

namespace fxpass::bench {
namespace {

bool all_right = true;
void expect(bool is_right, std::string_view what) {
  if (!is_right) std::printf("wrong: %.*s\n", static_cast<int>(what.size()), what.data());
  all_right = all_right && is_right;
}

const KernelRegistry registry = kernels();
const ProcessGroups groups = process_groups();

/// Adds up what the passes count.
struct Counts {
  std::int64_t devices = 0;
  std::int64_t kernel_calls = 0;
  std::int64_t collectives = 0;
  void after(const PassReport& report, const Graph&) {
    for (const Statistic& s : report.statistics) {
      if (s.key == "rewrite_count") devices += s.value;
      if (s.key == "kernel_call_count") kernel_calls += s.value;
      if (s.key == "resolved_count") collectives += s.value;
    }
  }
};

void gives_the_same(std::string_view what, const Graph& graph) {
  const PassOptions options{.target_device = "xla", .kernels = &registry, .groups = &groups};
  const auto passes = get_default_pass_manager(options);
  const auto done = passes(Module<>(graph));
  Graph by_hand = graph;
  expect(done && rewrite_everything(by_hand, registry, groups) && done->graph() == by_hand, what);

  Context context;
  Counts counts;
  const auto observed = passes.run_passes(Module<>(graph), context, counts);
  by_hand = graph;
  NodeLocalRewriter local(by_hand, registry, groups);
  expect(observed && local.run() && local.devices() == counts.devices && local.kernel_calls() == counts.kernel_calls &&
             local.collectives() == counts.collectives,
         what);
}

/// Whether both refuse, with one error, and the same sentence behind the name of the pass.
void refuses_the_same(std::string_view what, const Graph& graph, const KernelRegistry& known_kernels,
                      const ProcessGroups& known_groups) {
  const PassOptions options{.target_device = "xla", .kernels = &known_kernels, .groups = &known_groups};
  const auto done = get_default_pass_manager(options)(Module<>(graph));
  Graph copy = graph;
  const Status by_hand = rewrite_everything(copy, known_kernels, known_groups);
  expect(!done && !by_hand && done.error().size() == 1 && by_hand.error().size() == 1 &&
             done.error().front().code == by_hand.error().front().code &&
             done.error().front().node == by_hand.error().front().node &&
             done.error().front().message.view().ends_with(by_hand.error().front().message.view()),
         what);
}

/// x.add_(y), where `read` makes y of x.
template <class Read>
auto write_of(Read&& read) -> Graph {
  GraphMaker make;
  const NodeId x = make.builder().placeholder("x", make.matrix());
  const NodeId y = read(make, x);
  make.builder().call_function("torch.ops.aten.add_.Tensor", {x, y}, make.matrix());
  return std::move(make).finish(x);
}

}  // namespace
}  // namespace fxpass::bench

auto main() -> int {
  using namespace fxpass;
  using namespace fxpass::bench;
  for (const std::uint32_t size : {20U, 333U, 2'000U}) {
    gives_the_same("chain", elementwise_chain(size));
    gives_the_same("writes to one input", in_place_writes<Writes::to_one_input>(size));
    gives_the_same("writes through views of one", in_place_writes<Writes::through_views_of_one>(size));
    gives_the_same("writes through views of many", in_place_writes<Writes::through_views_of_many>(size));
    gives_the_same("decode step", decode_step(size));
    gives_the_same("kernels", kernels_and_collectives<1>(size));
    gives_the_same("kernels that write", kernels_and_collectives<0>(size));
  }
  refuses_the_same("an unknown group", kernels_and_collectives<1>(50), registry, ProcessGroups());
  refuses_the_same("an operand that does not broadcast", write_of([](GraphMaker& make, NodeId) {
                     return make.builder().placeholder("y", make.builder().tensor(DType::f32, {3}, "cuda:0"));
                   }),
                   registry, groups);
  refuses_the_same("a part of what is written", write_of([](GraphMaker& make, NodeId x) {
                     return make.builder().call_function("torch.ops.aten.select.int", {x, 0, 1}, make.row_at(1));
                   }),
                   registry, groups);
  return all_right ? EXIT_SUCCESS : EXIT_FAILURE;
}

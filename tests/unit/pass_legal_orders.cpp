// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/emit/fx_text.hpp>
#include <fxpass/emit/hlo_proto.hpp>
#include <fxpass/lower/lower.hpp>
#include <fxpass/pass/auto_order.hpp>
#include <fxpass/pass/verify_each.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <doctest/doctest.h>

#include "whole_program.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

// The contracts of the passes say in which orders they may run. They say all of it: in each of these orders, the passes in
// one traversal and one by one, a program becomes the same program.

namespace {

using namespace fxpass;
using fxpass::testing::RandomProgram;
using fxpass::testing::Registries;

using Passes = detail::types<DeviceRewriterPass, AliasingOutputRewritePass, InPlaceToOutOfPlacePass,
                             NkiKernelWriteBackendConfigPass, CollectiveReplicaGroupsPass>;
constexpr std::size_t pass_count = detail::size_of<Passes>;
using Order = std::array<std::size_t, pass_count>;

template <class... P>
constexpr auto contracts_of(detail::types<P...>) {
  return detail::contracts_of<P...>;
}
// One alone is fixed: aliasing comes before in-place, which needs what it found, and whose result it forbids. So half of
// the 5! orders are legal.
constexpr std::size_t order_count = 60;
constexpr std::array<Order, order_count> orders = [] {
  std::array<Order, order_count> result{};
  std::size_t count = 0;
  for_each_legal_order(contracts_of(Passes()), [&](Span<const std::uint32_t> order) {
    for (std::size_t i = 0; i < pass_count; ++i) result[count][i] = order[i];
    ++count;
  });
  return count == order_count ? result : std::array<Order, order_count>{};
}();
static_assert(orders.front() == Order{0, 1, 2, 3, 4} && orders.back() == Order{4, 3, 1, 2, 0});

template <std::size_t O, std::size_t... I>
auto pipeline_in_order(std::index_sequence<I...>) -> Pipeline<detail::at<orders[O][I], Passes>...>;
template <std::size_t O>
using PipelineInOrder = decltype(pipeline_in_order<O>(std::make_index_sequence<pass_count>()));
static_assert(std::same_as<PipelineInOrder<0>, decltype(get_default_pass_manager())>);

using Done = decltype(get_default_pass_manager()(Module<>()));

/// The pipeline of order `O`, with the options of the default one.
template <std::size_t O>
auto make(const PassOptions& options) -> PipelineInOrder<O> {
  const auto passes = get_default_pass_manager(options);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return PipelineInOrder<O>(passes.get<detail::at<orders[O][I], Passes>>()...);
  }(std::make_index_sequence<pass_count>());
}
template <std::size_t O>
auto run(const Graph& graph, const PassOptions& options) -> Done {
  return make<O>(options)(Module<>(graph));
}
template <std::size_t O>
auto run_observed(const Graph& graph, const PassOptions& options) -> Done {
  Context context;
  VerifyEach verify;
  return make<O>(options).run_passes(Module<>(graph), context, verify);
}
using Run = Done (*)(const Graph&, const PassOptions&);
constexpr auto runs = []<std::size_t... O>(std::index_sequence<O...>) {
  return std::array<Run, 2 * order_count>{&run<O>..., &run_observed<O>...};
}(std::make_index_sequence<order_count>());

/// All there is to see of a result.
struct Outputs {
  Text fx;
  Text hlo;  ///< the bytes of the proto; empty where the program does not lower
  friend auto operator==(const Outputs&, const Outputs&) -> bool = default;
};
auto outputs_of(const Done& done) -> Outputs {
  Outputs outputs;
  if (const Expected<Text> text = emit<FxText>(done->graph())) outputs.fx = *text;
  if (const auto lowered = done.and_then(lower(xla))) outputs.hlo = emit<HloProto>(*lowered);
  return outputs;
}

TEST_CASE("every legal order of the default passes gives the same program") {
  const Registries registries;
  const PassOptions options = registries.options();
  int graphs = 0;
  int lowered = 0;
  int errors = 0;
  int kernels = 0;
  int collectives = 0;
  int moves = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomProgram(seed).make(1 + static_cast<std::uint32_t>(seed % 24));
    const Done expected = get_default_pass_manager(options)(Module<>(graph));
    const Outputs outputs = expected ? outputs_of(expected) : Outputs();
    for (std::size_t r = 0; r < runs.size(); ++r) {
      CAPTURE(r);
      const Done done = runs[r](graph, options);
      REQUIRE(done.has_value() == expected.has_value());
      if (done) REQUIRE(outputs_of(done) == outputs);
    }
    const auto holds = [&](std::string_view part) { return outputs.fx.view().find(part) != std::string_view::npos; };
    graphs += expected ? 1 : 0;
    errors += expected ? 0 : 1;
    lowered += outputs.hlo.empty() ? 0 : 1;
    kernels += holds("nki_kernel_wrapper") ? 1 : 0;
    collectives += holds("all_reduce") ? 1 : 0;
    moves += holds("target=to]") ? 1 : 0;
  }
  // What the passes are there for is met often, and so are programs that they refuse.
  CHECK(graphs > 100);
  CHECK(lowered > 100);
  CHECK(errors > 20);
  CHECK(kernels > 20);
  CHECK(collectives > 20);
  CHECK(moves > 20);
}

}  // namespace

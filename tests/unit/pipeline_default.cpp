// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/verify_each.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include "twice.hpp"
#include "whole_program.hpp"

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>

namespace {

using namespace fxpass;

static_assert(std::same_as<needs_of<decltype(get_default_pass_manager())>, facts<>>);
static_assert(std::same_as<decltype(get_default_pass_manager()(Module<>())),
                           Expected<Module<OnTargetDevice, MutationsSurfaced, OutOfPlace, KernelsConfigured,
                                           ReplicaGroupsResolved>>>);

using fxpass::testing::RandomProgram;
using fxpass::testing::Registries;

enum class Outcome { equal_graphs, equal_errors, different };

/// The default pipeline at once, and each pass by itself with everything verified in between.
constexpr auto compare(const Graph& graph) -> Outcome {
  const Registries registries;
  const auto passes = get_default_pass_manager(registries.options());
  Context together;
  Context apart;
  const auto fused = passes.run_passes(Module<>(graph), together);
  const auto observed = passes.run_passes(Module<>(graph), apart, VerifyEach());
  if (!(together.warnings() == apart.warnings()) || fused.has_value() != observed.has_value())
    return Outcome::different;
  if (!fused) return fused.error() == observed.error() ? Outcome::equal_errors : Outcome::different;
  return *fused == *observed && verify(fused->graph()) ? Outcome::equal_graphs : Outcome::different;
}

constexpr auto observers_change_nothing() -> bool {
  return compare(RandomProgram(0).make(3)) == Outcome::equal_graphs;
}
FXPASS_TEST_TWICE(observers_change_nothing)

TEST_CASE("the passes in one traversal do what they do one after the other, on random programs") {
  int graphs = 0;
  int errors = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomProgram(seed).make(1 + static_cast<std::uint32_t>(seed % 30));
    REQUIRE(verify(graph).has_value());
    const Outcome outcome = compare(graph);
    REQUIRE(outcome != Outcome::different);
    ++(outcome == Outcome::equal_graphs ? graphs : errors);
  }
  // Both kinds are met often: the programs hold unknown kernels and groups, but not all of them.
  CHECK(graphs > 500);
  CHECK(errors > 500);
}

/// Counts, for each pass, the programs that it left as they were, and those of which it said so.
struct Claims {
  std::array<int, 5> unchanged{};
  std::array<int, 5> claimed{};
  Graph graph;
  void before(std::string_view, const Graph& g) { graph = g; }
  void after(const PassReport& report, const Graph& g) {
    unchanged[report.index] += g == graph ? 1 : 0;
    claimed[report.index] += report.claims_unchanged ? 1 : 0;
  }
};
TEST_CASE("a pass that finds nothing to change says so, and another one does not") {
  const Registries registries;
  const auto passes = get_default_pass_manager(registries.options());
  Claims claims;
  Context context;
  VerifyEach verify;
  int programs = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed)
    if (passes.run_passes(Module<>(RandomProgram(seed).make(4)), context, claims, verify)) ++programs;
  CHECK(claims.claimed == claims.unchanged);
  for (const int count : claims.claimed) {
    CHECK(count > 50);
    CHECK(count < programs - 50);
  }
}

TEST_CASE("the default pipeline proves what it establishes") {
  const Registries registries;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const auto module =
        get_default_pass_manager(registries.options())(Module<>(RandomProgram(seed).make(12)));
    if (!module) continue;
    const auto proved = check_facts<OnTargetDevice, MutationsSurfaced, OutOfPlace, KernelsConfigured,
                                    ReplicaGroupsResolved>(Module<>(module->graph()));
    REQUIRE(proved.has_value());
    REQUIRE(*proved == *module);
  }
}

TEST_CASE("a graph as traced is none of what the passes establish") {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 3}));
  b.call_method("add_", {x, 1}, b.tensor(DType::f32, {4, 3}));
  b.output({x});
  const auto proved = check_facts<MutationsSurfaced, OutOfPlace>(Module<>(std::move(b).finish()));
  REQUIRE_FALSE(proved.has_value());
  CHECK(proved.error().size() == 2);
}

}  // namespace

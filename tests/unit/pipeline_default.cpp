// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/verify_each.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include "twice.hpp"

#include <concepts>
#include <cstdint>

namespace {

using namespace fxpass;

static_assert(std::same_as<needs_of<decltype(get_default_pass_manager())>, facts<>>);
static_assert(std::same_as<decltype(get_default_pass_manager()(Module<>())),
                           Expected<Module<OnTargetDevice, MutationsSurfaced, OutOfPlace, KernelsConfigured,
                                           ReplicaGroupsResolved>>>);

/// Programs that touch every pass: writes through views, kernels that write, collectives, devices.
class RandomProgram {
 public:
  constexpr explicit RandomProgram(std::uint64_t seed) : state_(seed * 2862933555777941757ULL + 3037000493ULL) {}

  constexpr auto make(std::uint32_t calls) -> Graph {
    InputSpec buffer;
    buffer.kind = InputKind::buffer;
    buffer.target = builder_.text("state");
    matrices_.push_back(builder_.placeholder("x", matrix()));
    matrices_.push_back(builder_.placeholder("state", "state", matrix(), buffer));
    rows_.push_back(builder_.placeholder("row", vector(0)));
    for (std::uint32_t i = 0; i < calls; ++i) add_call();
    builder_.output({any(matrices_), any(rows_)});
    return std::move(builder_).finish();
  }

 private:
  constexpr auto below(std::uint32_t bound) -> std::uint32_t {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state_ >> 33U) % bound;
  }
  constexpr auto any(const Pool<NodeId>& nodes) -> NodeId { return nodes[below(nodes.size())]; }
  constexpr auto matrix() -> ValueSpec { return builder_.tensor(DType::f32, {4, 3}); }
  /// Row `index` of a matrix; a vector of its own is like row 0.
  constexpr auto vector(std::uint32_t index) -> ValueSpec {
    TensorMeta meta;
    meta.device = builder_.mutable_graph().add_device("cpu");
    meta.storage_offset = 3 * std::int64_t{index};
    const SymInt sizes[] = {3};
    const SymInt strides[] = {1};
    return builder_.tensor(meta, sizes, strides);
  }

  constexpr void add_call() {
    GraphBuilder& b = builder_;
    switch (below(10)) {
      case 0: matrices_.push_back(b.call_method("add_", {any(matrices_), 1}, matrix())); return;
      case 1: matrices_.push_back(b.call_function("torch.relu", {any(matrices_)}, matrix())); return;
      case 2: {
        const std::uint32_t row = below(4);
        rows_.push_back(b.call_function("operator.getitem", {any(matrices_), row}, vector(row)));
        return;
      }
      case 3: b.call_function("operator.setitem", {any(matrices_), below(4), any(rows_)}); return;
      case 4: rows_.push_back(b.call_function("torch.mul", {any(rows_), any(rows_)}, vector(0))); return;
      case 5: b.call_method("copy_", {any(matrices_), any(matrices_)}, matrix()); return;
      case 6: matrices_.push_back(kernel(any(matrices_))); return;
      case 7:
        matrices_.push_back(b.call_function("torch.ops._c10d_functional.all_reduce.default",
                                            {any(matrices_), b.string("sum"), b.string(below(8) == 0 ? "dp" : "tp")},
                                            matrix()));
        return;
      case 8:
        matrices_.push_back(b.call_function(
            "torch.zeros", {b.list({4, 3}), b.keyword("device", b.device(below(2) == 0 ? "cpu" : "xla:0"))}, matrix()));
        return;
      default: rows_.push_back(b.call_method("mul_", {any(rows_), 2}, vector(0))); return;
    }
  }
  constexpr auto kernel(NodeId operand) -> NodeId {
    GraphBuilder& b = builder_;
    // Now and then one that no registry knows.
    const Argument keywords[] = {b.keyword("kernel_idx", below(8) == 0 ? 4 : 3),
                                 b.keyword("grid", b.tuple_of({Argument(2)})),
                                 b.keyword("backend_config", b.string("")),
                                 b.keyword("operand_output_aliases", b.group(ArgumentKind::dict, {})),
                                 b.keyword("args", b.tuple_of({Argument(operand)})),
                                 b.keyword("arg_names", b.list({b.string("a")})),
                                 b.keyword("constant_args_key", -1)};
    return b.call_function("torch.ops.higher_order.nki_kernel_wrapper", keywords, matrix(), "k");
  }

  std::uint64_t state_;
  GraphBuilder builder_;
  Pool<NodeId> matrices_;
  Pool<NodeId> rows_;
};

struct Registries {
  KernelRegistry kernels;
  ProcessGroups groups;

  constexpr Registries() {
    KernelEntry entry;
    entry.kernel_idx = 3;
    entry.backend_config = "eyJ9";
    entry.aliases.push_back({0, 0});
    kernels.add(std::move(entry));
    groups.set_world_size(4);
    static_cast<void>(groups.add("tp", {{0, 1}, {2, 3}}));
  }
  [[nodiscard]] constexpr auto options() const -> PassOptions { return {.kernels = &kernels, .groups = &groups}; }
};

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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/builder.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace fxpass::testing {

/// Programs that touch every pass: writes through views, kernels that write, collectives, moves from device to device.
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
    builder_.output({any(matrices_), any(rows_), any(moved_.empty() ? matrices_ : moved_)});
    return std::move(builder_).finish();
  }

 private:
  constexpr auto below(std::uint32_t bound) -> std::uint32_t {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state_ >> 33U) % bound;
  }
  constexpr auto any(const Pool<NodeId>& nodes) -> NodeId { return nodes[below(nodes.size())]; }
  constexpr auto matrix(std::string_view device = "cpu") -> ValueSpec {
    return builder_.tensor(DType::f32, {4, 3}, device);
  }
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
    switch (below(13)) {
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
      case 9: move(); return;
      case 10:
        if (!moved_.empty()) moved_.push_back(b.call_method("add_", {any(moved_), 1}, matrix("cuda:0")));
        return;
      case 11:
        if (!moved_.empty()) matrices_.push_back(b.call_method("copy_", {any(matrices_), any(moved_)}, matrix()));
        return;
      default: rows_.push_back(b.call_method("mul_", {any(rows_), 2}, vector(0))); return;
    }
  }
  /// To the device of the trace, which is no move, or to another one, which is a copy: what is written into it later does
  /// not concern the original.
  constexpr void move() {
    GraphBuilder& b = builder_;
    const NodeId from = any(matrices_);
    switch (below(4)) {
      case 0: matrices_.push_back(b.call_method("to", {from, b.string("cpu")}, matrix())); return;
      case 1: moved_.push_back(b.call_method("to", {from, b.string("cuda")}, matrix("cuda:0"))); return;
      case 2: moved_.push_back(b.call_method("to", {from, b.device("cuda:0")}, matrix("cuda:0"))); return;
      default:
        if (!moved_.empty()) matrices_.push_back(b.call_method("to", {any(moved_), b.device("cpu")}, matrix()));
        return;
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
  Pool<NodeId> moved_;  ///< matrices on another device
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

}  // namespace fxpass::testing

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/builder.hpp>
#include <fxpass/pass/kernel_registry.hpp>
#include <fxpass/pass/process_groups.hpp>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// The graphs that are measured. `size` is about the number of nodes; the graph says how many it has.

namespace fxpass::bench {

inline constexpr std::int64_t rows = 64;
inline constexpr std::int64_t columns = 16;

/// Makes nodes of one shape, as tracing does: names counted, a stack trace of its own for each tenth.
class GraphMaker {
 public:
  [[nodiscard]] auto matrix() -> ValueSpec { return builder_.tensor(DType::f32, {rows, columns}, "cuda:0"); }
  [[nodiscard]] auto row() -> ValueSpec { return builder_.tensor(DType::f32, {columns}, "cuda:0"); }
  /// Row `index` of a matrix, as a view has it.
  [[nodiscard]] auto row_at(std::int64_t index) -> ValueSpec {
    TensorMeta meta;
    meta.device = builder_.mutable_graph().add_device("cuda:0");
    meta.storage_offset = index * columns;
    const SymInt sizes[] = {columns};
    const SymInt strides[] = {1};
    return builder_.tensor(meta, sizes, strides);
  }

  [[nodiscard]] auto builder() -> GraphBuilder& { return builder_; }
  [[nodiscard]] auto node_count() const -> std::uint32_t { return builder_.graph().node_count(); }
  void next_line() {
    if (++line_ % 10 == 0)
      builder_.set_stack_trace(text_of("  File \"model.py\", line ", line_, ", in forward\n    x = f(x)\n"));
  }
  [[nodiscard]] auto finish(NodeId result) && -> Graph {
    builder_.set_stack_trace("");
    builder_.output({result});
    return std::move(builder_).finish();
  }

 private:
  GraphBuilder builder_;
  std::int64_t line_ = 0;
};

/// A chain of elementwise operators; each sixteenth names a device.
[[nodiscard]] inline auto elementwise_chain(std::uint32_t size) -> Graph {
  GraphMaker make;
  GraphBuilder& b = make.builder();
  const NodeId y = b.placeholder("y", make.matrix());
  NodeId x = b.placeholder("x", make.matrix());
  for (std::uint32_t i = 0; make.node_count() < size; ++i) {
    make.next_line();
    switch (i % 16) {
      case 3:
      case 7:
      case 11: x = b.call_function("torch.ops.aten.mul.Tensor", {x, y}, make.matrix()); break;
      case 5: x = b.call_function("torch.ops.aten.tanh.default", {x}, make.matrix()); break;
      case 9: x = b.call_function("torch.ops.aten.relu.default", {x}, make.matrix()); break;
      case 15:
        x = b.call_function("torch.ops.aten._to_copy.default",
                            {x, b.keyword("dtype", DType::f32), b.keyword("device", b.device("cuda:0"))},
                            make.matrix());
        break;
      default: x = b.call_function("torch.ops.aten.add.Tensor", {x, y}, make.matrix()); break;
    }
  }
  return std::move(make).finish(x);
}

/// How writes are spread.
enum class Writes : std::uint8_t {
  to_one_input,              ///< x.add_(y), again and again
  to_many_inputs,            ///< the same, to an input of its own for each write
  through_views_of_one,      ///< x[i].add_(r), a new view each time, other rows read now and then
  through_views_of_many,     ///< the same, to an input of its own for each write
};

/// In-place writes, one for each two or three nodes.
template <Writes writes>
[[nodiscard]] auto in_place_writes(std::uint32_t size) -> Graph {
  GraphMaker make;
  GraphBuilder& b = make.builder();
  const bool is_direct = writes == Writes::to_one_input || writes == Writes::to_many_inputs;
  const bool to_many = writes == Writes::through_views_of_many || writes == Writes::to_many_inputs;
  const std::uint32_t input_count = to_many ? size / (is_direct ? 2 : 4) + 1 : 1;
  const NodeId r = b.placeholder("r", make.row());
  NodeId last = r;
  for (std::uint32_t i = 0; i < input_count; ++i) last = b.placeholder("x", make.matrix());
  const std::uint32_t first_input = last.index + 1 - input_count;
  for (std::uint32_t i = 0; make.node_count() < size; ++i) {
    make.next_line();
    const NodeId x{first_input + i % input_count};
    if (is_direct) {
      last = b.call_function("torch.ops.aten.add_.Tensor", {x, r}, make.matrix());
      continue;
    }
    const std::int64_t row = i % rows;
    const NodeId view = b.call_function("torch.ops.aten.select.int", {x, 0, row}, make.row_at(row));
    switch (i % 4) {
      case 0: last = b.call_function("torch.ops.aten.mul_.Tensor", {view, r}, make.row_at(row)); break;
      case 1: last = b.call_function("torch.ops.aten.copy_.default", {view, r}, make.row_at(row)); break;
      default: last = b.call_function("torch.ops.aten.add_.Tensor", {view, r}, make.row_at(row)); break;
    }
    if (i % 4 == 2) last = b.call_function("torch.ops.aten.add.Tensor", {view, r}, make.row());
  }
  return std::move(make).finish(last);
}

/// One list of inputs, written by a few calls.
[[nodiscard]] inline auto lists_of_inputs(std::uint32_t size) -> Graph {
  GraphMaker make;
  GraphBuilder& b = make.builder();
  std::vector<Argument> inputs;
  for (std::uint32_t i = 0; i < size; ++i) inputs.push_back(b.placeholder("x", make.matrix()));
  const Span<const Argument> all(inputs.data(), inputs.size());
  b.call_function("torch.ops.aten._foreach_mul_.Scalar", {b.list(all), 2});
  b.call_function("torch.ops.aten._foreach_add_.List", {b.list(all), b.list(all)});
  return std::move(make).finish(inputs.front().node());
}

/// A tensor that changes its shape again and again, and is written in between.
[[nodiscard]] inline auto rebindings(std::uint32_t size) -> Graph {
  GraphMaker make;
  GraphBuilder& b = make.builder();
  const NodeId x = b.placeholder("x", make.matrix());
  const NodeId y = b.call_function("torch.ops.aten.clone.default", {x}, make.matrix());
  NodeId last = y;
  while (make.node_count() < size) {
    make.next_line();
    for (int i = 0; i < 2; ++i) b.call_function("torch.ops.aten.transpose_.default", {y, 0, 0}, make.matrix());
    last = b.call_function("torch.ops.aten.mul_.Tensor", {y, x}, make.matrix());
  }
  return std::move(make).finish(last);
}

/// A decode step over a KV cache: each layer writes the new token's row into two caches of its own, reads them whole, and
/// does a dozen elementwise operations besides.
[[nodiscard]] inline auto decode_step(std::uint32_t size) -> Graph {
  constexpr std::uint32_t layer_size = 20;
  constexpr std::int64_t token = 17;
  GraphMaker make;
  GraphBuilder& b = make.builder();
  const std::uint32_t layers = size / layer_size + 1;
  const NodeId y = b.placeholder("y", make.matrix());
  const NodeId row = b.placeholder("row", make.row());
  NodeId x = b.placeholder("x", make.matrix());
  const std::uint32_t first_cache = x.index + 1;
  for (std::uint32_t i = 0; i < layers; ++i)
    for (const char* cache : {"k_cache", "v_cache"}) b.placeholder(cache, make.matrix());
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    make.next_line();
    for (const std::uint32_t i : {0U, 1U}) {
      const NodeId cache{first_cache + 2 * layer + i};
      const NodeId slot = b.call_function("torch.ops.aten.select.int", {cache, 0, token}, make.row_at(token));
      b.call_function("torch.ops.aten.copy_.default", {slot, row}, make.row_at(token));
      x = b.call_function("torch.ops.aten.mul.Tensor", {x, cache}, make.matrix());
    }
    for (std::uint32_t i = 0; i < 12; ++i) {
      make.next_line();
      if (i % 4 == 0)
        x = b.call_function("torch.ops.aten.tanh.default", {x}, make.matrix());
      else
        x = b.call_function("torch.ops.aten.add.Tensor", {x, y}, make.matrix());
    }
  }
  return std::move(make).finish(x);
}

/// Inputs that say which storage they have, each read once.
[[nodiscard]] inline auto inputs_with_storages(std::uint32_t size) -> Graph {
  GraphMaker make;
  GraphBuilder& b = make.builder();
  InputSpec spec;
  for (spec.storage = 0; spec.storage < size / 2; ++spec.storage) b.placeholder("x", make.matrix(), spec);
  NodeId sum{0};
  for (std::uint32_t i = 1; i < size / 2; ++i)
    sum = b.call_function("torch.ops.aten.add.Tensor", {sum, NodeId{i}}, make.matrix());
  return std::move(make).finish(sum);
}

/// The kernels that `kernels_and_collectives` calls. Kernel 0 writes its first operand, kernel 1 nothing.
[[nodiscard]] inline auto kernels() -> KernelRegistry {
  KernelRegistry registry;
  KernelEntry writes{0, "config of kernel 0", {}};
  writes.aliases.push_back({0, 0});
  registry.add(std::move(writes));
  registry.add({1, "config of kernel 1", {}});
  return registry;
}
/// The groups that its collectives name, of 8 ranks.
[[nodiscard]] inline auto process_groups() -> ProcessGroups {
  ProcessGroups groups(8);
  static_cast<void>(groups.add("tp", {{0, 1, 2, 3}, {4, 5, 6, 7}}));
  static_cast<void>(groups.add("dp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  return groups;
}

/// Of sixteen nodes one calls a kernel, two are a collective and its wait, one names a device; the others are
/// elementwise. `kernel_idx` 0 or 1: which kernel of `kernels()` is called.
template <std::int64_t kernel_idx>
[[nodiscard]] auto kernels_and_collectives(std::uint32_t size) -> Graph {
  GraphMaker make;
  GraphBuilder& b = make.builder();
  const auto empty_dict = [&] { return b.group(ArgumentKind::dict, fxpass::Span<const Argument>()); };
  const NodeId y = b.placeholder("y", make.matrix());
  const NodeId state = b.placeholder("state", make.matrix());
  NodeId x = b.placeholder("x", make.matrix());
  for (std::uint32_t i = 0; make.node_count() < size; ++i) {
    make.next_line();
    switch (i % 16) {
      case 3:
        x = b.call_function("torch.ops.higher_order.nki_kernel_wrapper",
                            {b.keyword("kernel_idx", kernel_idx), b.keyword("grid", b.list({1})),
                             b.keyword("backend_config", b.string("")),
                             b.keyword("operand_output_aliases", empty_dict()),
                             b.keyword("args", b.list({state, x})),
                             b.keyword("arg_names", b.list({b.string("state"), b.string("x")})),
                             b.keyword("constant_args_key", 0)},
                            make.matrix());
        break;
      case 7:
        x = b.call_function("torch.ops._c10d_functional.all_reduce.default",
                            {x, b.string("sum"), b.string(i % 32 == 7 ? "tp" : "dp")}, make.matrix());
        break;
      case 8:
        x = b.call_function("torch.ops._c10d_functional.wait_tensor.default", {x}, make.matrix());
        break;
      case 15:
        x = b.call_function("torch.ops.aten._to_copy.default", {x, b.keyword("device", b.device("cuda:0"))},
                            make.matrix());
        break;
      default: x = b.call_function("torch.ops.aten.add.Tensor", {x, y}, make.matrix()); break;
    }
  }
  return std::move(make).finish(x);
}

}  // namespace fxpass::bench

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lower.hpp>
#include <fxpass/neuron/target.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <string_view>
#include <utility>

// Six programs that between them need every pass, and their way to HLO, in constant evaluation.

namespace programs {

using namespace fxpass;

/// sum(exp(x * w + 1.5), dim=-1)
constexpr auto arithmetic() -> Graph {
  GraphBuilder b;
  const ValueSpec matrix = b.tensor(DType::f32, {4, 3});
  const NodeId x = b.placeholder("x", matrix);
  const NodeId w = b.placeholder("w", b.tensor(DType::f32, {3}));
  const NodeId product = b.call_function("torch.ops.aten.mul.Tensor", {x, w}, matrix);
  const NodeId sum = b.call_function("torch.ops.aten.add.Tensor", {product, 1.5}, matrix);
  const NodeId y = b.call_function("torch.ops.aten.exp.default", {sum}, matrix);
  b.output({b.call_function("torch.ops.aten.sum.dim_IntList", {y, b.list({-1})}, b.tensor(DType::f32, {4}))});
  return std::move(b).finish();
}

/// cache[2].copy_(x), sum(cache): a buffer is written through a view.
constexpr auto cache_write() -> Graph {
  GraphBuilder b;
  const NodeId cache = b.placeholder("cache", b.tensor(DType::f32, {8, 4}), {.kind = InputKind::buffer});
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4}));
  TensorMeta third;
  third.device = b.mutable_graph().add_device("cpu");
  third.storage_offset = 8;
  const SymInt sizes[] = {4};
  const SymInt strides[] = {1};
  const ValueSpec row = b.tensor(third, sizes, strides);
  const NodeId view = b.call_function("torch.ops.aten.select.int", {cache, 0, 2}, row);
  b.call_function("torch.ops.aten.copy_.default", {view, x}, row);
  b.output({b.call_function("torch.ops.aten.sum.default", {cache}, b.tensor(DType::f32, {}))});
  return std::move(b).finish();
}

/// kernel 3 of x and y, which writes into x, plus y
constexpr auto kernel_call() -> Graph {
  GraphBuilder b;
  const ValueSpec matrix = b.tensor(DType::f32, {4, 3});
  const NodeId x = b.placeholder("x", matrix);
  const NodeId y = b.placeholder("y", matrix);
  const Argument keywords[] = {b.keyword("kernel_idx", 3),
                               b.keyword("grid", b.tuple_of({Argument(2)})),
                               b.keyword("backend_config", b.string("")),
                               b.keyword("operand_output_aliases", b.group(ArgumentKind::dict, {})),
                               b.keyword("args", b.tuple_of({Argument(x), Argument(y)})),
                               b.keyword("arg_names", b.list({b.string("a"), b.string("b")})),
                               b.keyword("constant_args_key", -1)};
  const NodeId result =
      b.call_function("torch.ops.higher_order.nki_kernel_wrapper", keywords, matrix, "kernel");
  b.output({b.call_function("torch.ops.aten.add.Tensor", {result, y}, matrix)});
  return std::move(b).finish();
}

/// all_reduce(x) in process group "tp"
constexpr auto collective() -> Graph {
  GraphBuilder b;
  const ValueSpec matrix = b.tensor(DType::f32, {4, 3});
  const NodeId x = b.placeholder("x", matrix);
  const NodeId sum = b.call_function("torch.ops._c10d_functional.all_reduce.default",
                                     {x, b.string("sum"), b.string("tp")}, matrix);
  b.output({b.call_function("torch.ops._c10d_functional.wait_tensor.default", {sum}, matrix)});
  return std::move(b).finish();
}

/// y = x.to("cuda:0"), y *= 2: the write goes into a copy.
constexpr auto cross_device() -> Graph {
  GraphBuilder b;
  const ValueSpec there = b.tensor(DType::f32, {4}, "cuda:0");
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4}));
  const NodeId y = b.call_method("to", {x, b.device("cuda:0")}, there);
  b.call_method("mul_", {y, 2}, there);
  b.output({y, x});
  return std::move(b).finish();
}

/// softmax(linear(x, w, bias) @ x^T)
constexpr auto attention() -> Graph {
  GraphBuilder b;
  const ValueSpec x_like = b.tensor(DType::f32, {2, 4});
  const ValueSpec scores_like = b.tensor(DType::f32, {2, 2});
  const NodeId x = b.placeholder("x", x_like);
  const NodeId w = b.placeholder("w", b.tensor(DType::f32, {4, 4}));
  const NodeId bias = b.placeholder("bias", b.tensor(DType::f32, {4}));
  const NodeId query = b.call_function("torch.ops.aten.linear.default", {x, w, bias}, x_like);
  const NodeId key =
      b.call_function("torch.ops.aten.permute.default", {x, b.list({1, 0})}, b.tensor(DType::f32, {4, 2}));
  const NodeId scores = b.call_function("torch.ops.aten.matmul.default", {query, key}, scores_like);
  b.output({b.call_function("torch.ops.aten.softmax.int", {scores, -1}, scores_like)});
  return std::move(b).finish();
}

/// What the passes are told: kernel 3, which writes into its first operand, and process group "tp".
struct Registries {
  KernelRegistry kernels;
  ProcessGroups groups{4};

  constexpr Registries() {
    KernelEntry entry;
    entry.kernel_idx = 3;
    entry.backend_config = "eyJ9";
    entry.aliases.push_back({0, 0});
    kernels.add(std::move(entry));
    static_cast<void>(groups.add("tp", {{0, 1}, {2, 3}}));
  }
};

/// `graph` behind the default pipeline.
constexpr auto prepared(Graph graph) {
  const Registries registries;
  const auto pipeline =
      get_default_pass_manager({.kernels = &registries.kernels, .groups = &registries.groups});
  return pipeline(Module<>(std::move(graph)));
}
/// The HLO of `graph`. Needs one that compiles.
constexpr auto lowered(Graph graph) -> LoweredModule {
  return *prepared(std::move(graph)).and_then(lower(neuron::trn2));
}

}  // namespace programs

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/builder.hpp>
#include <fxpass/hlo/verify.hpp>
#include <fxpass/lower/lower.hpp>

#include "twice.hpp"

#include <initializer_list>
#include <string_view>

// What HLO small programs become. That the numbers are right is shown with real XLA by tests/interop/test_lowering.py.

namespace {

using namespace fxpass;
using enum hlo::Opcode;

/// The module of a graph, which `hlo::verify` accepts; an empty one if there is none.
constexpr auto lowered(const Graph& graph) -> hlo::Module {
  const auto result = lower_graph(graph, xla);
  if (!result || !hlo::verify(result->module)) return {};
  return result->module;
}

/// Whether the entry computes with exactly these operations, besides parameters and the tuple of results.
constexpr auto computes(const hlo::Module& module, std::initializer_list<hlo::Opcode> expected) -> bool {
  if (module.computations.empty()) return false;
  std::size_t at = 0;
  const hlo::Computation& entry = module.entry();
  for (std::uint32_t i = entry.instructions.begin; i < entry.instructions.end(); ++i) {
    const hlo::Opcode code = module.instructions[i].opcode;
    if (code == parameter || code == tuple) continue;
    if (at == expected.size() || code != expected.begin()[at++]) return false;
  }
  return at == expected.size();
}

constexpr auto equal_operands_need_no_moves() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 3}));
  const NodeId y = b.placeholder("y", b.tensor(DType::f32, {4, 3}));
  b.output({b.call_function("torch.ops.aten.add.Tensor", {x, y}, b.tensor(DType::f32, {4, 3}))});
  return computes(lowered(std::move(b).finish()), {add});
}
FXPASS_TEST_TWICE(equal_operands_need_no_moves)

constexpr auto operands_broadcast_and_promote() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 3}));
  const NodeId y = b.placeholder("y", b.tensor(DType::i64, {3}));
  b.output({b.call_function("operator.mul", {x, y}, b.tensor(DType::f32, {4, 3}))});
  return computes(lowered(std::move(b).finish()), {convert, broadcast, multiply});
}
FXPASS_TEST_TWICE(operands_broadcast_and_promote)

constexpr auto a_stretched_dimension_is_reshaped_away() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 1, 3}));
  b.output({b.call_method("expand", {x, 4, 5, -1}, b.tensor(DType::f32, {4, 5, 3}))});
  return computes(lowered(std::move(b).finish()), {reshape, broadcast});
}
FXPASS_TEST_TWICE(a_stretched_dimension_is_reshaped_away)

constexpr auto a_number_is_not_rounded_to_a_half() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::bf16, {4}));
  b.output({b.call_function("torch.ops.aten.mul.Tensor", {x, 0.1}, b.tensor(DType::bf16, {4}))});
  const hlo::Module module = lowered(std::move(b).finish());
  return computes(module, {convert, constant, broadcast, multiply, convert});
}
FXPASS_TEST_TWICE(a_number_is_not_rounded_to_a_half)

constexpr auto halves_meet_as_halves() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::bf16, {4}));
  b.output({b.call_function("torch.ops.aten.mul.Tensor", {x, x}, b.tensor(DType::bf16, {4}))});
  return computes(lowered(std::move(b).finish()), {multiply});
}
FXPASS_TEST_TWICE(halves_meet_as_halves)

constexpr auto has(const hlo::Module& module, hlo::Opcode code) -> bool {
  for (const hlo::Instruction& i : module.instructions)
    if (i.opcode == code) return true;
  return false;
}

/// A cache written at a position that is a tensor: one slice is updated, in the operand's own buffer.
constexpr auto writes_at(std::string_view target, std::initializer_list<SymInt> position) -> hlo::Module {
  GraphBuilder b;
  const NodeId cache = b.placeholder("cache", b.tensor(DType::f32, {2, 16, 8}));
  const NodeId at = b.placeholder("at", b.tensor(DType::i64, position));
  const NodeId row = b.placeholder("row", b.tensor(DType::f32, {2, 1, 8}));
  const bool is_put = target.ends_with("index_put.default");
  const Argument indices = b.list({Argument{}, at});
  b.output({is_put ? b.call_function(target, {cache, indices, row}, b.tensor(DType::f32, {2, 16, 8}))
                   : b.call_function(target, {cache, 1, at, row}, b.tensor(DType::f32, {2, 16, 8}))});
  return lowered(std::move(b).finish());
}
constexpr auto one_position_updates_a_slice() -> bool {
  const hlo::Module copied = writes_at("torch.ops.aten.index_copy.default", {1});
  if (!computes(copied, {constant, reshape, dynamic_update_slice})) return false;
  // index_put takes negative positions too.
  const hlo::Module put = writes_at("torch.ops.aten.index_put.default", {1});
  return has(put, dynamic_update_slice) && has(put, compare) && !has(put, scatter);
}
FXPASS_TEST_TWICE(one_position_updates_a_slice)

constexpr auto constant_places_update_slices_too() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 3}));
  const NodeId row = b.placeholder("row", b.tensor(DType::f32, {3}));
  const NodeId rows = b.placeholder("rows", b.tensor(DType::f32, {2, 3}));
  const NodeId first = b.call_function("torch.ops.aten.select_scatter.default", {x, row, 0, -1},
                                       b.tensor(DType::f32, {4, 3}));
  b.output({b.call_function("torch.ops.aten.slice_scatter.default", {first, rows, 0, 1, 3},
                            b.tensor(DType::f32, {4, 3}))});
  const hlo::Module module = lowered(std::move(b).finish());
  return computes(module, {reshape, constant, constant, dynamic_update_slice, constant, dynamic_update_slice});
}
FXPASS_TEST_TWICE(constant_places_update_slices_too)

constexpr auto a_write_of_everything_is_the_source() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 3}));
  const NodeId y = b.placeholder("y", b.tensor(DType::f32, {4, 3}));
  b.output({b.call_function("torch.ops.aten.slice_scatter.default", {x, y}, b.tensor(DType::f32, {4, 3}))});
  return computes(lowered(std::move(b).finish()), {});
}
FXPASS_TEST_TWICE(a_write_of_everything_is_the_source)

constexpr auto python_indexes_like_views() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {5, 4}));
  const Argument index = b.tuple_of({b.slice({}, {}), Argument{}, 1});
  b.output({b.call_function("operator.getitem", {x, index}, b.tensor(DType::f32, {5, 1}))});
  return computes(lowered(std::move(b).finish()), {reshape, slice, reshape});
}
FXPASS_TEST_TWICE(python_indexes_like_views)

constexpr auto linear_in_halves_is_summed_in_float() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::bf16, {2, 4}));
  const NodeId w = b.placeholder("w", b.tensor(DType::bf16, {3, 4}));
  b.output({b.call_function("torch._C._nn.linear", {x, w, Argument{}}, b.tensor(DType::bf16, {2, 3}))});
  const hlo::Module module = lowered(std::move(b).finish());
  if (!computes(module, {dot, convert})) return false;
  for (const hlo::Instruction& i : module.instructions)
    if (i.opcode == dot && module.shapes.dtype(i.shape) != DType::f32) return false;
  return true;
}
FXPASS_TEST_TWICE(linear_in_halves_is_summed_in_float)

constexpr auto instructions_tell_where_they_come_from() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  b.set_stack_trace("  File \"net.py\", line 7, in forward\n    File \"layer.py\", line 12, in forward\n    x.exp()\n");
  b.output({b.call_method("exp", {x}, b.tensor(DType::f32, {2}), "grown")});
  const hlo::Module module = lowered(std::move(b).finish());
  for (const hlo::Instruction& i : module.instructions) {
    if (i.opcode != exponential) continue;
    const hlo::Metadata& m = module.metadata[i.metadata];
    return module.text(m.op_type) == "aten.exp.default" && module.text(m.op_name) == "grown" &&
           module.text(m.source_file) == "layer.py" && m.source_line == 12;
  }
  return false;
}
FXPASS_TEST_TWICE(instructions_tell_where_they_come_from)

constexpr auto noise_of_tracing_is_nothing() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  b.call_function("torch._C._log_api_usage_once", {b.string("python.nn_module")});
  b.call_function("torch.ops.aten._assert_tensor_metadata.default", {x, b.keyword("dtype", DType::f32)});
  const NodeId kept = b.call_function("torch.nn.functional.dropout",
                                      {x, b.keyword("p", 0.5), b.keyword("training", false)},
                                      b.tensor(DType::f32, {2}));
  b.output({b.call_method("contiguous", {kept}, b.tensor(DType::f32, {2}))});
  return computes(lowered(std::move(b).finish()), {});
}
FXPASS_TEST_TWICE(noise_of_tracing_is_nothing)

/// Four ranks in two groups.
constexpr auto collective(std::string_view target, std::initializer_list<Argument> arguments,
                          std::initializer_list<SymInt> result) -> hlo::Module {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 2}));
  Pool<Argument> all;
  all.push_back(x);
  for (const Argument& a : arguments) all.push_back(a.is(ArgumentKind::string) ? b.string("sum") : a);
  all.push_back(b.string("group"));
  const NodeId y = b.call_function(target, all.view(), b.tensor(DType::f32, result));
  const std::int64_t ranks[] = {0, 2, 1, 3};
  b.mutable_graph().mutable_node(y).replica_groups = b.mutable_graph().add_partition(ranks, 2);
  b.output({b.call_function("torch.ops._c10d_functional.wait_tensor.default", {y}, b.tensor(DType::f32, result))});
  return lowered(std::move(b).finish());
}
constexpr auto collectives_carry_the_whole_partition() -> bool {
  const Argument sum = Argument::string({});
  const hlo::Module reduced = collective("torch.ops._c10d_functional.all_reduce.default", {sum}, {4, 2});
  const hlo::Module gathered = collective("torch.ops._c10d_functional.all_gather_into_tensor.default", {2}, {8, 2});
  const hlo::Module scattered = collective("torch.ops._c10d_functional.reduce_scatter_tensor.default", {sum, 2}, {2, 2});
  if (!computes(reduced, {all_reduce}) || !computes(gathered, {all_gather}) || !computes(scattered, {reduce_scatter}))
    return false;
  for (const hlo::Module* module : {&reduced, &gathered, &scattered}) {
    if (module->replica_count != 4) return false;
    for (const hlo::Instruction& i : module->instructions) {
      if (hlo::opcode_info(i.opcode).category != hlo::Category::collective) continue;
      const auto groups = module->list(i, hlo::AttributeKey::replica_groups);
      const std::int64_t expected[] = {2, 0, 2, 2, 1, 3};
      for (std::size_t n = 0; n < std::size(expected); ++n)
        if (groups.size() != std::size(expected) || groups[n] != expected[n]) return false;
      if (module->number(i, hlo::AttributeKey::channel_id) != 1) return false;
    }
  }
  return true;
}
FXPASS_TEST_TWICE(collectives_carry_the_whole_partition)

/// A kernel of two results, of which the second is the new value of its second tensor argument.
constexpr auto kernels_become_custom_calls() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4}));
  const NodeId y = b.placeholder("y", b.tensor(DType::bf16, {2, 2}));
  const Argument aliases = b.group(ArgumentKind::dict, {2, 1});
  const NodeId kernel = b.call_function(
      "torch.ops.higher_order.nki_kernel_wrapper",
      {b.keyword("kernel_idx", 3), b.keyword("grid", b.tuple_of({1})), b.keyword("backend_config", b.string("config")),
       b.keyword("operand_output_aliases", aliases), b.keyword("args", b.list({x, 7, y})),
       b.keyword("arg_names", b.list({b.string("a"), b.string("n"), b.string("b")})),
       b.keyword("constant_args_key", -1)},
      b.tuple({b.tensor(DType::i32, {3}), b.tensor(DType::bf16, {2, 2})}));
  b.output({b.call_function("operator.getitem", {kernel, 1}, b.tensor(DType::bf16, {2, 2}))});
  const hlo::Module module = lowered(std::move(b).finish());
  if (!computes(module, {custom_call, get_tuple_element})) return false;
  for (const hlo::Instruction& i : module.instructions) {
    if (i.opcode != custom_call) continue;
    const auto aliasing = module.list(i, hlo::AttributeKey::output_operand_aliasing);
    return module.text(i, hlo::AttributeKey::custom_call_target) == native_kernel_target &&
           module.text(i, hlo::AttributeKey::backend_config) == "config" && i.operands.count == 2 &&
           aliasing.size() == 2 && aliasing[0] == 1 && aliasing[1] == 1;
  }
  return false;
}
FXPASS_TEST_TWICE(kernels_become_custom_calls)

}  // namespace

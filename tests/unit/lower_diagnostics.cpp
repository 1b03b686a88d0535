// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/builder.hpp>
#include <fxpass/lower/compile.hpp>
#include <fxpass/neuron/target.hpp>

#include "twice.hpp"

#include <string_view>

// What cannot be lowered is said, all of it, at its node.

namespace {

using namespace fxpass;

/// The diagnostics of lowering a graph, a line each; empty if it was lowered.
template <LoweringTarget Target = XlaTarget>
constexpr auto refusal(const Graph& graph, const Target& target = {}) -> Text {
  Text text;
  if (const auto lowered = lower_graph(graph, target); !lowered) append_to(text, lowered.error());
  return text;
}

constexpr auto all_missing_lowerings_are_named_at_once() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  b.set_stack_trace("  File \"net.py\", line 7, in forward\n");
  const NodeId y = b.call_method("bernoulli", {x}, b.tensor(DType::f32, {2}));
  const NodeId z = b.call_function("torch.bernoulli", {y}, b.tensor(DType::f32, {2}));
  b.output({b.call_function("mylib.strange", {z}, b.tensor(DType::f32, {2}))});
  return refusal(std::move(b).finish()) ==
         "bernoulli (net.py:7): error: no lowering for aten.bernoulli.default, called 2 times: bernoulli, bernoulli_1; "
         "it draws random numbers, which have to be an input [missing-lowering]\n"
         "strange (net.py:7): error: no lowering for mylib.strange, called 1 time: strange [missing-lowering]\n";
}
FXPASS_TEST_TWICE(all_missing_lowerings_are_named_at_once)

constexpr auto what_nobody_needs_need_not_be_lowerable() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  const NodeId y = b.call_method("bernoulli", {x}, b.tensor(DType::f32, {2}));
  const NodeId number = b.call_function("torch.ops.aten.item.default", {y}, b.scalar());
  b.call_function("torch.ops.aten._assert_scalar.default", {number, b.string("must not be 0")});
  b.output({b.call_function("operator.add", {x, x}, b.tensor(DType::f32, {2}))});
  return refusal(std::move(b).finish()).empty();
}
FXPASS_TEST_TWICE(what_nobody_needs_need_not_be_lowerable)

constexpr auto a_write_is_never_passed_over() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  b.call_function("torch.ops.aten.add_.Tensor", {x, x}, b.tensor(DType::f32, {2}));
  b.output({x});
  return refusal(std::move(b).finish()).view().find("no lowering for aten.add_.Tensor") != std::string_view::npos;
}
FXPASS_TEST_TWICE(a_write_is_never_passed_over)

constexpr auto each_symbol_is_named_once() -> bool {
  GraphBuilder b;
  const SymInt s = b.add_expression("s0"), t = b.add_expression("s1");
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {s, 4}));
  const NodeId y = b.placeholder("y", b.tensor(DType::f32, {s, t}));
  b.output({x, y});
  return refusal(std::move(b).finish()) ==
         "x: error: a size is s0, but HLO needs a number; bind its symbols [symbolic-size]\n"
         "y: error: a size is s1, but HLO needs a number; bind its symbols [symbolic-size]\n";
}
FXPASS_TEST_TWICE(each_symbol_is_named_once)

constexpr auto one_mistake_is_told_once() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2, 3}));
  const NodeId wrong = b.call_function("torch.ops.aten.add.Tensor", {x, x}, b.tensor(DType::f32, {3}));
  const NodeId range = b.call_function("torch.ops.aten.select.int", {x, 0, 5}, b.tensor(DType::f32, {3}));
  // What follows from a failure is not a failure of its own.
  const NodeId behind = b.call_function("torch.ops.aten.neg.default", {range}, b.tensor(DType::f32, {3}));
  b.output({wrong, behind});
  return refusal(std::move(b).finish()) ==
         "add: error: aten.add.Tensor: the lowering gives f32[2,3], the program says f32[3] [invalid-hlo]\n"
         "select: error: aten.select.int: index 5 is out of range [eager-would-raise]\n";
}
FXPASS_TEST_TWICE(one_mistake_is_told_once)

constexpr auto attributes_have_to_be_inputs() -> bool {
  GraphBuilder b;
  b.output({b.get_attr("layer.weight", b.tensor(DType::f32, {2}))});
  return refusal(std::move(b).finish()) ==
         "layer_weight: error: tensor attribute layer.weight is not an input of the graph [unsupported]\n";
}
FXPASS_TEST_TWICE(attributes_have_to_be_inputs)

constexpr auto doubled(DType dtype) -> Graph {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(dtype, {2}));
  b.output({b.call_function("operator.add", {x, x}, b.tensor(dtype, {2}))});
  return std::move(b).finish();
}
constexpr auto targets_refuse_types() -> bool {
  return refusal(doubled(DType::f64)).empty() && refusal(doubled(DType::f32), neuron::trn2).empty() &&
         refusal(doubled(DType::f64), neuron::trn2) ==
             "x: error: a value is float64; trn2 has no 64-bit floating point [illegal-for-target]\n" &&
         !refusal(doubled(DType::f8e4m3fn), neuron::trn1).empty() &&
         refusal(doubled(DType::f8e4m3fn), neuron::trn3).empty();
}
FXPASS_TEST_TWICE(targets_refuse_types)

constexpr auto written_in_place() -> Module<> {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  b.call_method("add_", {x, 1}, b.tensor(DType::f32, {2}));
  b.output({});
  return Module<>(std::move(b).finish());
}
constexpr auto passes_may_be_switched_off_for_functional_programs_only() -> bool {
  CompileOptions options;
  const auto lowered = compile(written_in_place(), options);
  if (!lowered || lowered->signature.io_map.size() != 1 || lowered->module.aliases.size() != 1) return false;
  options.enable_fx_passes = false;
  const auto refused = compile(written_in_place(), options);
  return !refused && refused.error().front().code == DiagnosticCode::fact_violated &&
         compile(Module<>(doubled(DType::f32)), options).has_value();
}
TEST_CASE("passes may be switched off for functional programs only") {
  CHECK(passes_may_be_switched_off_for_functional_programs_only());
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/builder.hpp>
#include <fxpass/graph/call.hpp>

#include "twice.hpp"

namespace {

using namespace fxpass;

/// A graph with inputs to call things on: float tensors x and y, an integer tensor i, a boolean tensor m, an
/// int n.
struct Bench : GraphBuilder {
  constexpr Bench() {
    x = placeholder("x", tensor(DType::f32, {4, 3}));
    y = placeholder("y", tensor(DType::f32, {4, 3}));
    i = placeholder("i", tensor(DType::i64, {2}));
    m = placeholder("m", tensor(DType::boolean, {4, 3}));
    n = placeholder("n", sym_int());
  }
  [[nodiscard]] constexpr auto name_of(NodeId id) const -> std::string_view {
    return Call(graph(), id).name();
  }
  [[nodiscard]] constexpr auto method(std::string_view target, std::initializer_list<Argument> arguments)
      -> std::string_view {
    return name_of(call_method(target, arguments));
  }
  [[nodiscard]] constexpr auto function(std::string_view target, std::initializer_list<Argument> arguments)
      -> std::string_view {
    return name_of(call_function(target, arguments));
  }
  NodeId x, y, i, m, n;
};

constexpr auto methods_mean_their_overloads() -> bool {
  Bench b;
  return b.method("add_", {b.x, b.y}) == "aten.add_.Tensor" &&
         b.method("add_", {b.x, 1}) == "aten.add_.Scalar" &&
         b.method("copy_", {b.x, b.y}) == "aten.copy_.default" &&
         b.method("zero_", {b.x}) == "aten.zero_.default" &&
         b.method("fill_", {b.x, 0.5}) == "aten.fill_.Scalar" &&
         b.method("fill_", {b.x, b.y}) == "aten.fill_.Tensor" &&
         b.method("masked_fill_", {b.x, b.m, 0.0}) == "aten.masked_fill_.Scalar" &&
         b.method("index_copy_", {b.x, 0, b.i, b.y}) == "aten.index_copy_.default" &&
         b.method("t", {b.x}) == "aten.t.default" && b.method("no_such_method", {b.x}) == "no_such_method" &&
         b.method("sum", {b.x}) == "aten.sum.default" &&
         b.method("sum", {b.x, b.list({0})}) == "aten.sum.dim_IntList" &&
         b.method("mean", {b.x, -1, b.keyword("keepdim", true)}) == "aten.mean.dim" &&
         b.method("max", {b.x, 1}) == "aten.max.dim" &&
         b.method("pow", {b.x, 2}) == "aten.pow.Tensor_Scalar" &&
         b.method("unsqueeze", {b.x, 0}) == "aten.unsqueeze.default" &&
         b.method("squeeze", {b.x}) == "aten.squeeze.default" &&
         b.method("squeeze", {b.x, 0}) == "aten.squeeze.dim" &&
         b.method("split", {b.x, 2}) == "aten.split.Tensor";
}
FXPASS_TEST_TWICE(methods_mean_their_overloads)

constexpr auto sizes_may_be_given_one_by_one() -> bool {
  Bench b;
  const NodeId plain = b.call_method("view", {b.x, 2, -1});
  const NodeId list = b.call_method("view", {b.x, b.list({2, -1})});
  const NodeId single = b.call_method("view", {b.x, -1});
  const NodeId keyword = b.call_method("view", {b.x, b.keyword("size", b.tuple_of({12}))});
  const NodeId dtype = b.call_method("view", {b.x, DType::i32});
  const NodeId permuted = b.call_method("permute", {b.x, 1, 0});
  const NodeId expanded = b.call_method("expand", {b.x, b.n, -1, -1});
  const Graph& g = b.graph();
  const auto sizes = [&](NodeId id, std::string_view name, std::initializer_list<std::int64_t> expected) {
    const auto given = Call(g, id).integers(name);
    if (!given || given->size() != expected.size()) return false;
    std::uint32_t k = 0;
    for (const std::int64_t e : expected)
      if ((*given)[k++] != SymInt(e)) return false;
    return true;
  };
  return b.name_of(plain) == "aten.view.default" && sizes(plain, "size", {2, -1}) &&
         sizes(list, "size", {2, -1}) && sizes(single, "size", {-1}) && sizes(keyword, "size", {12}) &&
         b.name_of(dtype) == "aten.view.dtype" && Call(g, dtype).dtype("dtype") == DType::i32 &&
         b.name_of(permuted) == "aten.permute.default" && sizes(permuted, "dims", {1, 0}) &&
         b.name_of(expanded) == "aten.expand.default" && !Call(g, expanded).integers("size").has_value();
}
FXPASS_TEST_TWICE(sizes_may_be_given_one_by_one)

constexpr auto a_call_reads_the_same_in_every_spelling() -> bool {
  Bench b;
  const NodeId calls[] = {
      b.call_function("torch.ops.aten.add.Tensor", {b.x, b.y, b.keyword("alpha", 2)}),
      b.call_function("torch.add", {b.x, b.y, b.keyword("alpha", 2)}),
      b.call_function("torch.add", {b.x, b.keyword("alpha", 2), b.keyword("other", b.y)}),
      b.call_function("torch.add", {b.keyword("input", b.x), b.keyword("other", b.y), b.keyword("alpha", 2)}),
      b.call_method("add", {b.x, b.y, b.keyword("alpha", 2)}),
  };
  for (const NodeId id : calls) {
    const Call call(b.graph(), id);
    if (call.name() != "aten.add.Tensor" || call.operand("self") != b.x || call.operand("other") != b.y ||
        call.integer("alpha") != 2 || call.real("alpha") != 2.0)
      return false;
  }
  return true;
}
FXPASS_TEST_TWICE(a_call_reads_the_same_in_every_spelling)

constexpr auto operators_of_python_are_atens() -> bool {
  Bench b;
  return b.function("operator.iadd", {b.x, b.y}) == "aten.add_.Tensor" &&
         b.function("operator.iadd", {b.x, 1}) == "aten.add_.Scalar" &&
         b.function("operator.add", {b.x, b.y}) == "aten.add.Tensor" &&
         b.function("operator.truediv", {b.x, 2}) == "aten.div.Scalar" &&
         b.function("operator.imatmul", {b.x, b.y}) == "aten.matmul.default" &&
         b.function("operator.setitem", {b.x, 0, 1.0}) == "operator.setitem.default" &&
         b.function("operator.getitem", {b.x, b.slice(1, 3)}) == "operator.getitem.default" &&
         b.method("__setitem__", {b.x, 0, 1.0}) == "operator.setitem.default" &&
         b.method("__getitem__", {b.x, b.slice(1, 3)}) == "operator.getitem.default" &&
         b.method("__iadd__", {b.x, b.y}) == "aten.add_.Tensor" &&
         b.method("__and__", {b.m, b.m}) == "aten.bitwise_and.Tensor" &&
         b.method("__add__", {b.x, 1}) == "aten.add.Scalar" &&
         b.method("__neg__", {b.x}) == "aten.neg.default";
}
FXPASS_TEST_TWICE(operators_of_python_are_atens)

constexpr auto in_place_may_be_an_argument() -> bool {
  Bench b;
  const NodeId by_keyword = b.call_function("torch.nn.functional.relu", {b.x, b.keyword("inplace", true)});
  return b.name_of(by_keyword) == "aten.relu_.default" && b.graph().op(by_keyword).writes &&
         Call(b.graph(), by_keyword).operand("self") == b.x &&
         b.function("torch.nn.functional.relu", {b.x, true}) == "aten.relu_.default" &&
         b.function("torch.nn.functional.relu", {b.x, false}) == "aten.relu.default" &&
         b.function("torch.nn.functional.relu", {b.x}) == "aten.relu.default" &&
         b.function("torch.nn.functional.relu", {b.keyword("input", b.x), b.keyword("inplace", false)}) ==
             "aten.relu.default" &&
         b.function("torch.nn.functional.leaky_relu", {b.x, 0.1, true}) == "aten.leaky_relu_.default" &&
         b.function("torch.relu_", {b.x}) == "aten.relu_.default";
}
FXPASS_TEST_TWICE(in_place_may_be_an_argument)

constexpr auto conversions_imply_a_dtype() -> bool {
  Bench b;
  const NodeId as_float = b.call_method("float", {b.i});
  const NodeId as_bool = b.call_method("bool", {b.x});
  const NodeId to = b.call_method("to", {b.x, DType::f16});
  const NodeId to_device = b.call_method("to", {b.x, b.string("cpu")});
  const NodeId to_other = b.call_method("to", {b.x, b.y});
  const Graph& g = b.graph();
  return b.name_of(as_float) == "aten.to.dtype" && Call(g, as_float).dtype("dtype") == DType::f32 &&
         Call(g, as_bool).dtype("dtype") == DType::boolean && b.name_of(to) == "aten.to.dtype" &&
         Call(g, to).dtype("dtype") == DType::f16 && b.name_of(to_device).starts_with("aten.to.") &&
         b.name_of(to_other) == "aten.to.other" && g.op(as_float).view == ops::ViewRule::maybe_cast;
}
FXPASS_TEST_TWICE(conversions_imply_a_dtype)

constexpr auto defaults_stand_in() -> bool {
  Bench b;
  const Call add(b.graph(), b.call_function("torch.ops.aten.add.Tensor", {b.x, b.y}));
  const Call flatten(b.graph(), b.call_method("flatten", {b.x, 1}));
  const Call norm(b.graph(), b.call_function("torch.ops.aten.layer_norm.default", {b.x, b.list({3})}));
  const Call batch(b.graph(), b.call_function("torch.nn.functional.batch_norm", {b.x, b.y, b.y}));
  return add.integer("alpha") == 1 && !add.given("alpha") && !add.has("alpha") &&
         flatten.integer("start_dim") == 1 && flatten.integer("end_dim") == -1 && norm.real("eps") == 1e-05 &&
         !norm.has("weight") && norm.operand("weight") == no_node && batch.boolean("training") == false &&
         batch.real("momentum") == 0.1 && batch.real("eps") == 1e-05 && batch.operand("running_var") == b.y;
}
FXPASS_TEST_TWICE(defaults_stand_in)

constexpr auto a_wrong_kind_is_no_value() -> bool {
  Bench b;
  const Call add(b.graph(),
                 b.call_function("torch.ops.aten.add.Tensor", {b.x, b.y, b.keyword("alpha", b.string("a"))}));
  return !add.integer("alpha") && !add.real("alpha") && !add.boolean("alpha") && !add.integers("alpha") &&
         !add.given("no_such_parameter") && !add.integer("no_such_parameter") && add.operand("other") == b.y;
}
FXPASS_TEST_TWICE(a_wrong_kind_is_no_value)

constexpr auto out_is_a_write() -> bool {
  Bench b;
  const NodeId id = b.call_function("torch.add", {b.x, 1, b.keyword("out", b.y)});
  const NodeId two = b.call_function("torch.max", {b.x, 0, b.keyword("out", b.tuple_of({b.y, b.x}))});
  const NodeId none = b.call_function("torch.add", {b.x, b.y, b.keyword("out", Argument())});
  const NodeId unknown = b.call_function("mylib.f", {b.x, b.keyword("out", b.y)});
  const auto is = [&](NodeId call, std::string_view name) { return b.graph().schema(b.graph().op(call)).name() == name; };
  return is(id, "aten.add.Scalar_out") && b.graph().op(id).write_rule == ops::WriteRule::out &&
         is(two, "aten.max.dim_max") && b.graph().op(two).write_rule == ops::WriteRule::out &&
         is(none, "aten.add.Tensor") && !b.graph().op(none).writes && b.graph().op(unknown).writes &&
         b.graph().op(unknown).write_rule == ops::WriteRule::unknown;
}
FXPASS_TEST_TWICE(out_is_a_write)

constexpr auto diagnostics_name_node_and_model_line() -> bool {
  GraphBuilder b;
  b.set_stack_trace("  File \"/lib/module.py\", line 1, in call\n    f()\n  File \"/p/model.py\", line 12, "
                    "in forward\n    x\n");
  const NodeId x = b.placeholder("x", {});
  b.set_stack_trace("no frame here");
  const NodeId y = b.placeholder("y", {});
  const Diagnostic d = error_at(b.graph(), x, DiagnosticCode::unsupported, "not this");
  return text_of(d) == "x (/p/model.py:12): error: not this [unsupported]" &&
         model_line(b.graph(), y).file.empty() &&
         text_of(error_at(b.graph(), y, DiagnosticCode::unsupported, "nor this")) ==
             "y: error: nor this [unsupported]";
}
FXPASS_TEST_TWICE(diagnostics_name_node_and_model_line)

}  // namespace

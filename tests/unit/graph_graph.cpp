// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/builder.hpp>
#include <fxpass/graph/verify.hpp>

#include "twice.hpp"

namespace {

using namespace fxpass;

/// x.add_(1); return [x, (add_, slice(None, 2, None))]
constexpr auto sample(std::string_view unrelated = "") -> Graph {
  GraphBuilder b;
  b.text(unrelated);  // shifts every text id
  const NodeId x = b.placeholder("x", "L_x_", b.tensor(DType::f32, {4, 3}), {});
  const NodeId added = b.call_method("add_", {x, 1}, b.tensor(DType::f32, {4, 3}));
  const Argument cut = b.slice({}, 2);
  b.output({b.list({x, b.tuple_of({added, cut})})});
  return std::move(b).finish();
}

constexpr auto a_graph_holds_what_was_built() -> bool {
  const Graph g = sample();
  const NodeId x{0}, added{1};
  const auto list = g.children(g.arguments(g.output_node())[0]);
  const auto tuple = g.children(list[1]);
  return verify(g).has_value() && g.node_count() == 3 && g.output_node() == NodeId{2} && g.name(x) == "x" &&
         g.target(x) == "L_x_" && g.name(added) == "add_" &&
         g.schema(g.op(added)).name() == "aten.add_.Scalar" && g.op(added).writes && g.inputs().size() == 1 &&
         g.input_of(x) == 0 && g.input_of(added) == no_input && g.outputs().size() == 1 &&
         g.original_output_count() == 1 && list[0].node() == x && tuple[0].node() == added &&
         tuple[1].is(ArgumentKind::slice) && g.children(tuple[1])[0].is_none() &&
         g.children(tuple[1])[1].integer() == 2 && g.tensor(added)->dtype == DType::f32 &&
         g.sizes(*g.tensor(added))[1] == SymInt(3) && g.strides(*g.tensor(added))[0] == SymInt(3) &&
         g.device(g.tensor(x)->device) == "cpu" && g.tensor(g.output_node()) == nullptr;
}
FXPASS_TEST_TWICE(a_graph_holds_what_was_built)

constexpr auto operands_are_found_in_nested_arguments() -> bool {
  const Graph g = sample();
  Pool<NodeId> operands;
  g.for_each_operand(g.output_node(), [&](NodeId id) { operands.push_back(id); });
  return operands.size() == 2 && operands[0] == NodeId{0} && operands[1] == NodeId{1};
}
FXPASS_TEST_TWICE(operands_are_found_in_nested_arguments)

constexpr auto equality_is_blind_to_pool_order() -> bool {
  Graph a = sample();
  const Graph b = sample("some other text");
  a.add_device("xla:3");
  a.add_expression("s0");
  a.set_arguments(NodeId{1}, a.arguments(NodeId{1}));  // the same arguments elsewhere in the pool
  return a == b && a.node(NodeId{0}).target != b.node(NodeId{0}).target;
}
FXPASS_TEST_TWICE(equality_is_blind_to_pool_order)

enum class Change { target, name, number, keyword, dtype, size, device, output_kind, storage, trace, groups };

constexpr auto changed(Change change) -> Graph {
  GraphBuilder b;
  InputSpec spec;
  if (change == Change::storage) spec.storage = 0;
  if (change == Change::trace) b.set_stack_trace("File \"m.py\", line 1, in f");
  const NodeId x =
      b.placeholder(change == Change::name ? "y" : "x", "x",
                    b.tensor(change == Change::dtype ? DType::f16 : DType::f32,
                             {change == Change::size ? 5 : 4}, change == Change::device ? "xla" : "cpu"),
                    spec);
  const Argument one = change == Change::number ? Argument(1.0) : Argument(1);
  const NodeId y = b.call_function(change == Change::target ? "torch.sub" : "torch.add",
                                   {x, change == Change::keyword ? b.keyword("other", one) : one});
  const Argument values[] = {y};
  OutputSpec output;
  if (change == Change::output_kind) output = {OutputKind::user_input_mutation, 0, {}};
  b.output(values, fxpass::Span<const OutputSpec>(&output, 1));
  Graph g = std::move(b).finish();
  if (change == Change::groups) {
    const std::int64_t ranks[] = {0, 1};
    g.mutable_node(y).replica_groups = g.add_partition(ranks, 2);
  }
  return g;
}

constexpr auto equality_sees_every_part() -> bool {
  const Graph original = changed(Change{99});
  for (const Change change :
       {Change::target, Change::name, Change::number, Change::keyword, Change::dtype, Change::size,
        Change::device, Change::output_kind, Change::storage, Change::trace, Change::groups})
    if (changed(change) == original) return false;
  return changed(Change{99}) == original && original != Graph();
}
FXPASS_TEST_TWICE(equality_sees_every_part)

constexpr auto the_first_difference_is_a_node() -> bool {
  const Graph original = changed(Change{99});
  const auto first = [&](Change change) { return changed(change).first_difference(original); };
  const Graph longer = [] {
    GraphBuilder b;
    const NodeId x = b.placeholder("x", "L_x_", b.tensor(DType::f32, {4, 3}), {});
    b.output({x});
    Graph g = std::move(b).finish();
    g.add_node(g.node(NodeId{0}));
    return g;
  }();
  Graph shorter = longer;
  shorter.replace_nodes([&] {
    Pool<Node> nodes;
    nodes.push_back(longer.node(NodeId{0}));
    nodes.push_back(longer.node(NodeId{1}));
    return nodes;
  }());
  return first(Change{99}) == no_node && first(Change::dtype) == NodeId{0} && first(Change::number) == NodeId{1} &&
         first(Change::groups) == NodeId{1} && first(Change::storage) == NodeId{0} &&
         first(Change::output_kind) == NodeId{2} && longer.first_difference(shorter) == NodeId{2} &&
         shorter.first_difference(longer) == NodeId{1};
}
FXPASS_TEST_TWICE(the_first_difference_is_a_node)

constexpr auto copies_are_independent() -> bool {
  const Graph original = sample();
  Graph copy = original;
  copy.mutable_arguments(NodeId{1})[1] = Argument(7);
  copy.mutable_node(NodeId{0}).name.base = copy.add_text("renamed");
  if (copy == original || original.arguments(NodeId{1})[1].integer() != 1) return false;
  if (original != sample() || original.name(NodeId{0}) != "x") return false;
  copy = original;
  const Graph& itself = copy;
  copy = itself;
  Graph moved = std::move(copy);
  copy = sample("reused");
  return moved == original && copy == original;
}
FXPASS_TEST_TWICE(copies_are_independent)

constexpr auto a_default_graph_is_empty() -> bool {
  const Graph g;
  return g.node_count() == 0 && g.text(TextId{}).empty() && g.device(DeviceId{}).empty() && g == Graph() &&
         g.schema(Operator{}).empty();
}
FXPASS_TEST_TWICE(a_default_graph_is_empty)

constexpr auto every_kind_of_argument_survives() -> bool {
  GraphBuilder b;
  const SymInt symbol = b.add_expression("2*s0 + 1");
  Graph inner = sample();
  const Argument subgraph = b.add_subgraph(inner);
  const Argument list = b.list({{},
                                std::int64_t{-9223372036854775807} - 1,
                                symbol,
                                -0.0,
                                true,
                                b.string("a"),
                                b.group(ArgumentKind::complex, {1.0, -2.0}),
                                DType::bf16,
                                b.device("cuda:1"),
                                Layout::sparse_csr,
                                MemoryFormat::channels_last,
                                Argument::ellipsis(),
                                subgraph,
                                Argument::operation(b.text("torch.ops.aten.add.Tensor"))});
  const NodeId id =
      b.call_function("torch.f", {list, b.group(ArgumentKind::dict, {b.string("k"), b.list({})})});
  b.output({id});
  const Graph g = std::move(b).finish();
  const auto items = g.children(g.arguments(id)[0]);
  return verify(g).has_value() && items[0].is_none() &&
         items[1].integer() == std::int64_t{-9223372036854775807} - 1 &&
         g.expression(items[2].sym_int()) == "2*s0 + 1" &&
         std::bit_cast<std::uint64_t>(items[3].real()) == std::uint64_t{1} << 63U && items[4].boolean() &&
         g.text(items[5].text()) == "a" && g.children(items[6])[1].real() == -2.0 &&
         items[7].dtype() == DType::bf16 && g.device(items[8].device()) == "cuda:1" &&
         items[9].layout() == Layout::sparse_csr &&
         items[10].memory_format() == MemoryFormat::channels_last && items[11].is(ArgumentKind::ellipsis) &&
         g.subgraphs()[items[12].subgraph()] == inner &&
         g.text(items[13].text()) == "torch.ops.aten.add.Tensor" &&
         g.children(g.children(g.arguments(id)[1])[1]).empty();
}
FXPASS_TEST_TWICE(every_kind_of_argument_survives)

constexpr auto integers_stay_what_they_are() -> bool {
  // The open end of a slice is a number like any other.
  constexpr std::int64_t open_end = 9223372036854775807;
  return Argument(open_end).integer() == open_end && Argument(SymInt(open_end)).is(ArgumentKind::integer) &&
         Argument(true).is(ArgumentKind::boolean) && Argument(1).is(ArgumentKind::integer) &&
         Argument(1.0).is(ArgumentKind::real) && Argument(1.0F).real() == 1.0 && !SymInt(-1).is_symbolic() &&
         SymInt::expression(3).is_symbolic() && SymInt::expression(3).expression() == 3;
}
FXPASS_TEST_TWICE(integers_stay_what_they_are)

// GraphBuilder ----------------------------------------------------------------------------------------------

constexpr auto a_list_used_twice_has_two_owners() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 3}));
  const Argument index = b.tuple_of({x, b.list({x, 1})});
  const NodeId read = b.call_function("operator.getitem", {x, index});
  const NodeId write = b.call_function("operator.setitem", {x, index, b.list({index, index})});
  b.output({read, index});
  Graph g = std::move(b).finish();
  const Range first = g.arguments(read)[1].children();
  const Range second = g.arguments(write)[1].children();
  return verify(g).has_value() && first.begin != second.begin &&
         g.children(g.arguments(write)[1]).size() == 2;
}
FXPASS_TEST_TWICE(a_list_used_twice_has_two_owners)

constexpr auto own_outputs_come_first() -> bool {
  GraphBuilder b;
  InputSpec buffer;
  buffer.kind = InputKind::buffer;
  const NodeId x = b.placeholder("b_k", b.tensor(DType::f32, {2}), buffer);
  const NodeId y = b.call_function("torch.ops.aten.add.Tensor", {x, x}, b.tensor(DType::f32, {2}));
  const NodeId z = b.call_function("torch.ops.aten.sum.default", {x}, b.tensor(DType::f32, {}));
  const Argument values[] = {y, z};
  const OutputSpec specs[] = {{OutputKind::buffer_mutation, 0, b.text("k")}, {}};
  b.output(values, specs);
  const Graph g = std::move(b).finish();
  return verify(g).has_value() && g.original_output_count() == 1 &&
         g.arguments(g.output_node())[0].node() == z && g.outputs()[1].kind == OutputKind::buffer_mutation &&
         g.text(g.outputs()[1].target) == "k";
}
FXPASS_TEST_TWICE(own_outputs_come_first)

constexpr auto a_graph_without_output_gets_an_empty_one() -> bool {
  const Graph g = GraphBuilder().finish();
  return verify(g).has_value() && g.node_count() == 1 && g.outputs().empty();
}
FXPASS_TEST_TWICE(a_graph_without_output_gets_an_empty_one)

constexpr auto contiguous_strides_are_pytorchs() -> bool {
  GraphBuilder b;
  const auto strides_are = [&](std::initializer_list<SymInt> sizes, std::initializer_list<SymInt> expected) {
    const TensorMeta& meta = b.graph().meta(b.tensor(DType::f32, sizes).values.begin);
    const auto strides = b.graph().strides(meta);
    std::size_t i = 0;
    for (const SymInt stride : expected)
      if (strides[i++] != stride) return false;
    return i == strides.size();
  };
  return strides_are({}, {}) && strides_are({2, 3, 4}, {12, 4, 1}) && strides_are({2, 0, 4}, {4, 4, 1}) &&
         strides_are({2, 1, 1}, {1, 1, 1});
}
FXPASS_TEST_TWICE(contiguous_strides_are_pytorchs)

// Names -----------------------------------------------------------------------------------------------------

constexpr auto names_are_unique_as_in_fx() -> bool {
  Graph g;
  TextInterner texts;
  NameTable names;
  const auto give = [&](std::string_view wanted) {
    Text t;
    g.append_name(t, names.unique(g, texts, wanted));
    return t;
  };
  return give("add") == "add" && give("add") == "add_1" && give("add") == "add_2" &&
         give("add_2") == "add_3" && give("add_5") == "add_5" && give("add") == "add_4" &&
         give("add") == "add_6" && give("relu_") == "relu_" && give("relu_") == "relu__1" &&
         give("x_03") == "x_03" && give("x_3") == "x_3" && give("x_0") == "x_0" && give("x_0") == "x_1" &&
         give("_3") == "_3" && give("7") == "7" && give("x_12345678901") == "x_12345678901" &&
         give("input") == "input" && give("input") == "input_1";
}
FXPASS_TEST_TWICE(names_are_unique_as_in_fx)

constexpr auto reserved_names_are_sorted() -> bool {
  for (std::size_t i = 1; i < std::size(reserved_names); ++i)
    if (!(reserved_names[i - 1] < reserved_names[i])) return false;
  return is_reserved_name("Ellipsis") && is_reserved_name("zip") && is_reserved_name("torch") &&
         !is_reserved_name("");
}
FXPASS_TEST_TWICE(reserved_names_are_sorted)

constexpr auto nodes_are_named_after_their_operators() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  const NodeId a = b.call_function("torch.ops.aten.add.Tensor", {x, x});
  const NodeId f = b.call_function("torch.nn.functional.relu", {x});
  const NodeId m = b.call_method("sum", {x});
  const NodeId m2 = b.call_function("torch.sum", {x});
  const NodeId s = b.call_function("operator.setitem", {x, 0, 1.0});
  const NodeId p = b.call_function("torch.ops._c10d_functional.wait_tensor", {x});
  const NodeId g = b.get_attr("layers.0.weight", {});
  const NodeId i = b.call_method("__iadd__", {x, x});
  const Graph& graph = b.graph();
  return graph.name(a) == "add" && graph.name(f) == "relu" && graph.name(m) == "sum_1" &&
         graph.name(m2) == "sum_2" && graph.name(s) == "setitem" && graph.name(p) == "wait_tensor" &&
         graph.name(g) == "layers_0_weight" && graph.name(i) == "iadd";
}
FXPASS_TEST_TWICE(nodes_are_named_after_their_operators)

constexpr auto operators_are_interned_by_meaning() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  const NodeId tensor = b.call_method("add_", {x, x});
  const NodeId again = b.call_method("add_", {x, x});
  const NodeId number = b.call_method("mul_", {x, 2});
  const NodeId function = b.call_function("torch.ops.aten.add_.Tensor", {x, x});
  const NodeId by_mask = b.call_function("torch.ops.aten.masked_fill", {x, x, 1.0});
  const NodeId by_tensor = b.call_function("torch.ops.aten.masked_fill", {x, x, x});
  const Graph& g = b.graph();
  return g.node(tensor).op == g.node(again).op && g.node(tensor).op != g.node(function).op &&
         g.op(tensor).row == g.op(function).row && g.schema(g.op(number)).name() == "aten.mul_.Scalar" &&
         g.schema(g.op(by_mask)).name() == "aten.masked_fill.Scalar" &&
         g.schema(g.op(by_tensor)).name() == "aten.masked_fill.Tensor";
}
FXPASS_TEST_TWICE(operators_are_interned_by_meaning)

constexpr auto custom_operators_are_declared() -> bool {
  GraphBuilder b;
  b.declare_operator("torch.ops.mylib.scale_.default", "mylib.scale_.default(Tensor(a!) x, float by) -> ()");
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  const NodeId scaled = b.call_function("torch.ops.mylib.scale_.default", {x, 2.0});
  const NodeId unknown = b.call_function("torch.ops.mylib.other.default", {x, 2.0});
  const NodeId suspicious = b.call_function("torch.ops.mylib.other_.default", {x, 2.0});
  const Graph& g = b.graph();
  return g.op(scaled).row == ops::no_row && g.schema(g.op(scaled)).name() == "mylib.scale_.default" &&
         g.op(scaled).writes && !g.op(unknown).writes && g.schema(g.op(unknown)).empty() &&
         g.op(suspicious).writes;
}
FXPASS_TEST_TWICE(custom_operators_are_declared)

TEST_CASE("names of a hundred thousand nodes are unique in linear time") {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", {});
  NodeId last = x;
  for (int i = 0; i < 100'000; ++i) last = b.call_function("torch.ops.aten.add.Tensor", {last, x});
  b.output({last});
  const Graph g = std::move(b).finish();
  CHECK(g.name(last) == "add_99999");
  CHECK(verify(g).has_value());
  CHECK(Graph(g) == g);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/print.hpp>
#include <fxpass/lower/lower.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "rewriting.hpp"
#include "twice.hpp"

// Operators outside of PyTorch's own that write: what calls of them become, what is refused, and how they are lowered. Whether
// the values are those of eager is the affair of the interop tests.

namespace {

using namespace fxpass;
using namespace fxpass::testing;

constexpr std::string_view axpy = "torch.ops.mylib.axpy.default";
constexpr std::string_view pair = "torch.ops.mylib.pair.default";
constexpr std::string_view each = "torch.ops.mylib.each.default";
constexpr std::string_view into = "torch.ops.mylib.into.default";
constexpr std::string_view same = "torch.ops.mylib.same_.default";

/// A graph under construction with `x`, an input of f32[4, 3], and `y`, one of f32[3].
struct Program {
  GraphBuilder b;
  ValueSpec m43 = b.tensor(DType::f32, {4, 3});
  ValueSpec m3 = b.tensor(DType::f32, {3});
  NodeId x = b.placeholder("x", m43);
  NodeId y = b.placeholder("y", m3);

  constexpr Program() {
    declare("mylib.axpy.default(Tensor(a!) x, Tensor y, *, float alpha=1.0) -> ()");
    declare("mylib.pair.default(Tensor(a!) x, Tensor(b!)? y, Tensor z) -> (Tensor sum, Tensor)");
    declare("mylib.each.default(Tensor(a!)[] xs, Tensor y) -> Tensor");
    declare("mylib.into.default(Tensor y, *, Tensor(a!) out) -> ()");
    declare("mylib.same_.default(Tensor(a!) x, float by) -> Tensor(a!)");
  }
  constexpr void declare(std::string_view schema) {
    b.declare_operator(text_of("torch.ops.", ops::Schema(schema).name()), schema);
  }
  constexpr auto row(std::int64_t index) -> NodeId {
    return b.call_function("torch.ops.aten.select.int", {x, 0, index}, m3, "row");
  }
  constexpr auto column(std::int64_t index) -> NodeId {
    return b.call_function("torch.ops.aten.select.int", {x, 1, index}, b.tensor(DType::f32, {4}), "column");
  }
};

constexpr auto refused(GraphBuilder&& builder, std::string_view part) -> bool {
  return testing::refused(std::move(builder), DiagnosticCode::unsupported_mutation, part);
}

constexpr auto a_call_gives_the_new_value_of_what_it_writes() -> bool {
  Program p;
  p.b.call_function(axpy, {p.row(1), p.y, p.b.keyword("alpha", 2.0)}, {}, "axpy");
  p.b.output({p.x});
  return rewritten(std::move(p.b)) ==
         "graph():\n"
         "    %x : [num_users=2] = placeholder[target=x]\n"
         "    %y : [num_users=1] = placeholder[target=y]\n"
         "    %row : [num_users=1] = call_function[target=torch.ops.aten.select.int](args = (%x, 0, 1), kwargs = {})\n"
         "    %auto_functionalized : [num_users=1] = call_function[target=torch.ops.higher_order.auto_functionalized]"
         "(args = (mylib.axpy.default,), kwargs = {x: %row, y: %y, alpha: 2.0})\n"
         "    %x_modified : [num_users=1] = call_function[target=operator.getitem](args = (%auto_functionalized, 1), kwargs = {})\n"
         "    %x_modified_1 : [num_users=1] = call_function[target=torch.ops.aten.select_scatter.default]"
         "(args = (%x, %x_modified, 0, 1), kwargs = {})\n"
         "    return (x_modified_1, x_modified_1)\n";
}
FXPASS_TEST_TWICE(a_call_gives_the_new_value_of_what_it_writes)

constexpr auto results_come_before_new_values() -> bool {
  Program p;
  const NodeId call = p.b.call_function(pair, {p.row(0), p.row(2), p.y}, p.b.tuple({p.m3, p.m3}), "pair");
  const NodeId second = p.b.call_function("operator.getitem", {call, 1}, p.m3, "second");
  const NodeId none = p.b.call_function(pair, {p.row(3), Argument(), second}, p.b.tuple({p.m3, p.m3}), "none");
  p.b.output({second, p.b.call_function("operator.getitem", {none, 0}, p.m3, "first")});
  const Text text = rewritten(std::move(p.b));
  return contains(text, "kwargs = {x: %row, y: %row_1, z: %y})") &&
         contains(text, "%x_modified : [num_users=1] = call_function[target=operator.getitem](args = (%auto_functionalized, 2)") &&
         contains(text, "%x_modified_1 : [num_users=1] = call_function[target=operator.getitem](args = (%auto_functionalized, 3)") &&
         contains(text, "%second : [num_users=2] = call_function[target=operator.getitem](args = (%auto_functionalized, 1)") &&
         contains(text, "y: None, z: %second})") && contains(text, "args = (%auto_functionalized_1, 0)");
}
FXPASS_TEST_TWICE(results_come_before_new_values)

constexpr auto each_member_of_a_list_is_written() -> bool {
  Program p;
  const NodeId z = p.b.call_method("clone", {p.y}, p.m3);
  const NodeId minus = p.b.call_function(each, {p.b.list({p.row(0), z}), p.y}, p.m3, "minus");
  p.b.output({minus, z});
  const Text text = rewritten(std::move(p.b));
  return contains(text, "kwargs = {xs: [%row, %clone], y: %y})") &&
         contains(text, "%getitem : [num_users=2] = call_function[target=operator.getitem](args = (%auto_functionalized, 1)") &&
         contains(text, "%x_modified : [num_users=1] = call_function[target=operator.getitem](args = (%getitem, 0)") &&
         contains(text, "%clone_modified : [num_users=1] = call_function[target=operator.getitem](args = (%getitem, 1)") &&
         contains(text, "%getitem_1 : [num_users=1] = call_function[target=operator.getitem](args = (%auto_functionalized, 0)");
}
FXPASS_TEST_TWICE(each_member_of_a_list_is_written)

constexpr auto a_list_of_views_is_written_member_by_member() -> bool {
  Program p;
  const NodeId rows = p.b.call_method("unbind", {p.x}, p.b.tuple({p.m3, p.m3, p.m3, p.m3}));
  p.b.call_function(each, {rows, p.y}, p.m3, "minus");
  p.b.output({p.x});
  const Text text = rewritten(std::move(p.b));
  return contains(text, "xs: [%select, %select_1, %select_2, %select_3]") && contains(text, "args = (%getitem, 3)");
}
FXPASS_TEST_TWICE(a_list_of_views_is_written_member_by_member)

constexpr auto a_call_that_returns_its_operand_is_that() -> bool {
  Program p;
  const NodeId row = p.b.call_function(same, {p.row(1), 2.0}, p.m3, "row_too");
  p.b.call_method("add_", {row, 1}, p.m3);
  p.b.output({row});
  const Text text = rewritten(std::move(p.b));
  return contains(text, "%x_modified : [num_users=1] = call_function[target=operator.getitem](args = (%auto_functionalized, 1)") &&
         contains(text, "%x_modified_1 : [num_users=2] = call_function[target=torch.ops.aten.add.Scalar](args = (%x_modified, 1)") &&
         contains(text, "return (x_modified_1, x_modified_2)");
}
FXPASS_TEST_TWICE(a_call_that_returns_its_operand_is_that)

constexpr auto a_tensor_without_elements_is_not_written() -> bool {
  Program p;
  const ValueSpec empty = p.b.tensor(DType::f32, {0, 3});
  const NodeId none = p.b.call_function("torch.ops.aten.slice.Tensor", {p.x, 0, 0, 0}, empty);
  const NodeId too = p.b.call_function(same, {none, 2.0}, empty, "too");
  p.b.output({too});
  const auto graph = run(std::move(p.b));
  return graph && graph->outputs().size() == 1 && contains(text_of(*graph), "return (getitem,)");
}
FXPASS_TEST_TWICE(a_tensor_without_elements_is_not_written)

constexpr auto results_are_tensors_of_their_own() -> bool {
  Program p;
  const NodeId minus = p.b.call_function(each, {p.b.list({p.row(0)}), p.y}, p.m3, "minus");
  p.b.call_method("add_", {minus, 1}, p.m3);
  p.b.call_function(into, {minus, p.b.keyword("out", p.row(2))}, {}, "into");
  p.b.output({minus});
  const Text text = rewritten(std::move(p.b));
  return contains(text, "aten.add.Scalar](args = (%getitem_1, 1)") && contains(text, "kwargs = {y: %minus_modified, out: %row_1})");
}
FXPASS_TEST_TWICE(results_are_tensors_of_their_own)

// Refusals, each beside a program that differs in the one thing and is accepted --------------------------------------------
constexpr auto operands_that_share_memory_are_refused() -> bool {
  const auto calls = [](auto&& call) {
    Program p;
    call(p);
    return std::move(p.b);
  };
  const auto reads_row = [](std::int64_t index) {
    return [index](Program& p) { p.b.call_function(axpy, {p.row(1), p.row(index)}); };
  };
  const auto writes_columns = [](std::int64_t index) {
    return [index](Program& p) { p.b.call_function(pair, {p.column(0), p.column(index), p.y}, p.b.tuple({p.m3, p.m3})); };
  };
  const auto reads_whole = [](bool copied) {
    return [copied](Program& p) {
      const NodeId whole = copied ? p.b.call_method("clone", {p.x}, p.m43) : p.x;
      p.b.call_function(axpy, {p.row(1), whole});
    };
  };
  constexpr std::string_view why = "another of its operands may be part of the same tensor";
  return refused(calls(reads_row(1)), why) && accepted(calls(reads_row(2))) && refused(calls(writes_columns(0)), why) &&
         accepted(calls(writes_columns(2))) && refused(calls(reads_whole(false)), why) && accepted(calls(reads_whole(true)));
}
FXPASS_TEST_TWICE(operands_that_share_memory_are_refused)

constexpr auto declared_as(std::string_view schema, std::string_view target, bool has_schema = true) -> GraphBuilder {
  Program p;
  if (has_schema) p.declare(schema);
  p.b.call_function(target, {p.x, p.y}, p.m43);
  return std::move(p.b);
}
constexpr auto operators_without_a_functional_form_are_refused() -> bool {
  constexpr std::string_view f = "torch.ops.mylib.f.default";
  return refused(declared_as("mylib.f.default(Tensor(a!) x, Tensor y) -> Tensor[]", f), "returns something else than tensors") &&
         accepted(declared_as("mylib.f.default(Tensor(a!) x, Tensor y) -> Tensor", f)) &&
         refused(declared_as("mylib.f.default(Tensor(a!) x, Tensor y) -> (Tensor(a!), Tensor)", f), "one of several results") &&
         refused(declared_as("mylib.f.default(Tensor(a!) x, Tensor(b) y) -> Tensor(b)", f), "returns part of an operand") &&
         accepted(declared_as("mylib.f.default(Tensor(a!) x, Tensor y) -> Tensor(a!)", f)) &&
         refused(declared_as("mylib.f.default(int[](a!) x, Tensor y) -> ()", f), "writes into what is no tensor") &&
         refused(declared_as("mylib.f.default(Tensor(a!)[] x, Tensor(b!)[] y) -> int", f), "returns something else") &&
         refused(declared_as({}, f, false), "state it (--custom-op)") &&
         refused(declared_as({}, "torch.ops.mylib.f_.default", false), "state it (--custom-op)");
}
FXPASS_TEST_TWICE(operators_without_a_functional_form_are_refused)

constexpr auto what_is_written_has_to_be_a_tensor_of_the_graph() -> bool {
  const auto list = [](bool has_none) {
    Program p;
    p.b.call_function(each, {p.b.list({p.x, has_none ? Argument() : Argument(p.row(0))}), p.y}, p.m3);
    return std::move(p.b);
  };
  const auto copy = [](bool is_expanded) {
    Program p;
    const NodeId wide = p.b.call_method(is_expanded ? "expand" : "repeat", {p.y, 2, 3}, p.b.tensor(DType::f32, {2, 3}));
    if (is_expanded) {
      const SymInt sizes[] = {2, 3};
      const SymInt strides[] = {0, 1};
      p.b.mutable_graph().mutable_node(wide).values = p.b.tensor(TensorMeta{}, sizes, strides).values;
    }
    p.b.call_function(axpy, {wide, p.x});
    return std::move(p.b);
  };
  return refused(list(true), "which is no tensor of this graph") && refused(list(false), "another of its operands") &&
         refused(copy(true), "expanded view") && accepted(copy(false));
}
FXPASS_TEST_TWICE(what_is_written_has_to_be_a_tensor_of_the_graph)

// The second form -----------------------------------------------------------------------------------------------------------
/// Two rows of one base, given by what they are called in the call.
constexpr auto of_bases(std::int64_t first, std::int64_t second, bool is_contiguous) -> GraphBuilder {
  Program p;
  const SymInt sizes[] = {4, 3};
  const SymInt strides[] = {1, 4};
  const NodeId base =
      is_contiguous ? p.x : p.b.placeholder("t", p.b.tensor(TensorMeta{}, sizes, strides));
  const auto row = [&](std::string_view name, std::int64_t index, Pool<Argument>& arguments) {
    arguments.push_back(p.b.keyword(text_of('_', name, "_base_index"), 0));
    arguments.push_back(p.b.keyword(text_of('_', name, "_size"), p.b.list({3})));
    arguments.push_back(p.b.keyword(text_of('_', name, "_stride"), p.b.list({1})));
    arguments.push_back(p.b.keyword(text_of('_', name, "_storage_offset"), index * 3));
  };
  Pool<Argument> arguments;
  arguments.push_back(Argument::operation(p.b.text("torch.ops.other.pair.default")));
  arguments.push_back(p.b.keyword("z", p.y));
  row("x", first, arguments);
  row("y", second, arguments);
  arguments.push_back(p.b.keyword("_all_bases", p.b.list({base})));
  const NodeId call = p.b.call_function(functional_form_of_bases, arguments.view(), p.b.tuple({p.m3, p.m3, p.m43}), "f");
  p.b.output({p.b.call_function("operator.getitem", {call, 1}, p.m3, "result"),
              p.b.call_function("operator.getitem", {call, 2}, p.m43, "base")});
  return std::move(p.b);
}
constexpr auto the_second_form_becomes_the_first() -> bool {
  return rewritten(of_bases(0, 2, true)) ==
         "graph():\n"
         "    %x : [num_users=3] = placeholder[target=x]\n"
         "    %y : [num_users=1] = placeholder[target=y]\n"
         "    %as_strided : [num_users=1] = call_function[target=torch.ops.aten.as_strided.default](args = (%x, [3], [1], 0), kwargs = {})\n"
         "    %as_strided_1 : [num_users=1] = call_function[target=torch.ops.aten.as_strided.default](args = (%x, [3], [1], 6), kwargs = {})\n"
         "    %auto_functionalized : [num_users=3] = call_function[target=torch.ops.higher_order.auto_functionalized]"
         "(args = (other.pair.default,), kwargs = {z: %y, x: %as_strided, y: %as_strided_1})\n"
         "    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%auto_functionalized, 2), kwargs = {})\n"
         "    %as_strided_scatter : [num_users=1] = call_function[target=torch.ops.aten.as_strided_scatter.default]"
         "(args = (%x, %getitem, [3], [1], 0), kwargs = {})\n"
         "    %getitem_1 : [num_users=1] = call_function[target=operator.getitem](args = (%auto_functionalized, 3), kwargs = {})\n"
         "    %as_strided_scatter_1 : [num_users=1] = call_function[target=torch.ops.aten.as_strided_scatter.default]"
         "(args = (%as_strided_scatter, %getitem_1, [3], [1], 6), kwargs = {})\n"
         "    %result : [num_users=1] = call_function[target=operator.getitem](args = (%auto_functionalized, 1), kwargs = {})\n"
         "    return (result, as_strided_scatter_1)\n";
}
FXPASS_TEST_TWICE(the_second_form_becomes_the_first)

constexpr auto what_is_not_the_same_in_the_first_form_stays() -> bool {
  const auto stays = [](GraphBuilder&& b) {
    const Text text = rewritten(std::move(b));
    return contains(text, "%f : [num_users=2] = call_function[target=torch.ops.higher_order.auto_functionalized_v2]") &&
           contains(text, "return (result, base)");
  };
  // Writes into one place one after the other, and a window into memory that is not that of the value.
  return stays(of_bases(1, 1, true)) && stays(of_bases(0, 2, false));
}
FXPASS_TEST_TWICE(what_is_not_the_same_in_the_first_form_stays)

// Lowering -------------------------------------------------------------------------------------------------------------------
struct LowerPair {
  static constexpr std::string_view op = "mylib.pair";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value x = c.tensor(call, "x"), z = c.tensor(call, "z");
    Pool<hlo::Value> values;
    for (const hlo::Value value : {c.builder().negate(z), z, c.builder().add(x, z)}) values.push_back(value);
    if (call.has("y")) values.push_back(c.tensor(call, "y"));
    return values;
  }
};
struct LowerAxpy {
  static constexpr std::string_view op = "mylib.axpy.default";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value y = c.tensor(call, "y");
    return c.builder().add(c.tensor(call, "x"), c.builder().multiply(y, c.full_like(y, c.number(call, "alpha"))));
  }
};
struct LowerSame {
  static constexpr std::string_view op = "mylib.same_";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "x");
    return c.builder().multiply(x, c.full_like(x, c.number(call, "by")));
  }
};
struct LowerEach {
  static constexpr std::string_view op = "mylib.each";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    Pool<hlo::Value> values;
    values.push_back(c.tensor(call, "y"));
    for (const hlo::Value x : c.tensors(call, "xs")) values.push_back(c.builder().negate(x));
    return values;
  }
};
struct LowerInto {  // which forgets the new value
  static constexpr std::string_view op = "mylib.into";
  static constexpr void lower(auto&, const Call&) {}
};
constexpr auto mine = lowerings<LowerPair, LowerAxpy, LowerSame, LowerEach, LowerInto, LowerGetItem>{};

/// Operations of the program's own computation, in order.
constexpr auto operations(GraphBuilder&& builder) -> Text {
  const auto module = get_default_pass_manager()(Module<>(std::move(builder).finish())).and_then(lower(xla, mine));
  if (!module) return text_of(module.error());
  Text list;
  const hlo::Computation& entry = module->module.entry();
  for (const hlo::Instruction& i : module->module.instructions.view(entry.instructions)) append_all(list, to_string(i.opcode), ' ');
  return list;
}
constexpr auto a_lowering_gives_results_and_new_values() -> bool {
  Program p;
  const NodeId w = p.b.call_function("torch.ops.mylib.axpy.default", {p.x, p.b.placeholder("v", p.m43)});
  const NodeId x = p.b.call_function(same, {p.x, 3.0}, p.m43);
  p.b.output({x});
  return w != no_node && operations(std::move(p.b)) == "parameter parameter parameter constant broadcast multiply add constant broadcast multiply tuple ";
}
FXPASS_TEST_TWICE(a_lowering_gives_results_and_new_values)

constexpr auto none_has_no_value_and_a_list_has_many() -> bool {
  Program p;
  const NodeId z = p.b.placeholder("z", p.m3), w = p.b.placeholder("w", p.m3);
  const NodeId call = p.b.call_function(pair, {p.y, Argument(), z}, p.b.tuple({p.m3, p.m3}));
  const NodeId minus = p.b.call_function("operator.getitem", {call, 0}, p.m3);
  const NodeId same_y = p.b.call_function(each, {p.b.list({p.y, w}), minus}, p.m3);
  p.b.output({minus, same_y});
  return operations(std::move(p.b)) == "parameter parameter parameter parameter negate add negate negate tuple ";
}
FXPASS_TEST_TWICE(none_has_no_value_and_a_list_has_many)

constexpr auto a_lowering_that_forgets_a_value_is_found_out() -> bool {
  Program p;
  p.b.call_function(into, {p.y, p.b.keyword("out", p.x)}, {}, "into");
  p.b.output({p.x});
  return contains(operations(std::move(p.b)), "auto_functionalized: error: mylib.into.default: the lowering gives 0 values, and "
                                              "what the operator returns and the new values of what it writes are 1");
}
FXPASS_TEST_TWICE(a_lowering_that_forgets_a_value_is_found_out)

// Schemas --------------------------------------------------------------------------------------------------------------------
constexpr auto mistake(std::string_view schema) -> Text {
  CustomOperators operators;
  const Status added = operators.add(schema);
  if (added) return {};
  return added.error().front().message;
}
constexpr auto schemas_are_read_as_pytorch_writes_them() -> bool {
  CustomOperators operators;
  for (const std::string_view schema :
       {"mylib::f(Tensor(a!)[] xs, Tensor? y=None, *, str mode=\"a(b\", int[2] n=[1, 2]) -> (Tensor out, Tensor)",
        "mylib::f.overload(Tensor x) -> Tensor", " mylib::g() -> () "})
    if (!operators.add(schema)) return false;
  const ops::Schema f = operators.find("mylib.f.default");
  return operators.schemas().size() == 3 && f.return_count() == 2 && f.writes() && f.find("n")->parameter.default_value == "[1, 2]" &&
         operators.find("mylib.f.overload").find("x") && operators.find("mylib.g.default").returns() == "()" &&
         operators.find("mylib.g").empty();
}
FXPASS_TEST_TWICE(schemas_are_read_as_pytorch_writes_them)

constexpr auto what_is_no_schema_is_refused() -> bool {
  return contains(mistake("f(Tensor x) -> ()"), "begins with the operator's name") &&
         contains(mistake("mylib::f"), "parameters in brackets are missing") &&
         contains(mistake("mylib::1(Tensor x) -> ()"), "is no name of an operator") &&
         contains(mistake("mylib::f(Tensor x -> ()"), "opened or closed alone") &&
         contains(mistake("mylib::f(str x=\"a) -> ()"), "opened or closed alone") &&
         contains(mistake("mylib::f(x) -> ()"), "parameter 1 is not") &&
         contains(mistake("mylib::f(Tensor x, Tensor x) -> ()"), "two parameters are called 'x'") &&
         contains(mistake("mylib::f(Tensor(!) x) -> ()"), "names no alias") &&
         contains(mistake("mylib::f(Tensor x)"), "the results are missing") &&
         contains(mistake("prims::f(Tensor x) -> ()"), "PyTorch's own") && mistake("mylib::f(Tensor(a!) x) -> ()").empty();
}
FXPASS_TEST_TWICE(what_is_no_schema_is_refused)

constexpr auto an_operator_has_one_schema() -> bool {
  const auto both = [](std::string_view first, std::string_view second) {
    CustomOperators operators;
    return operators.add(first).has_value() && operators.add(second).has_value() && operators.schemas().size() == 1;
  };
  constexpr std::string_view f = "mylib::f(Tensor(a!) x, float by=1.0) -> Tensor(a!)";
  return both(f, "mylib::f.default(Tensor(b!) x, float by=1.) -> Tensor(b!)") && !both(f, "mylib::f(Tensor x, float by=1.0) -> Tensor(a!)") &&
         !both(f, "mylib::f(Tensor(a!) x, float by) -> Tensor(a!)") && !both(f, "mylib::f(Tensor(a!) x, float by=1.0) -> ()") &&
         !both(f, "mylib::f(Tensor(a!) x) -> Tensor(a!)");
}
FXPASS_TEST_TWICE(an_operator_has_one_schema)

}  // namespace

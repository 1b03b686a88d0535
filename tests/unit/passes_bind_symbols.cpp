// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/builder.hpp>
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/symbolic.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/pipeline.hpp>
#include <fxpass/passes/bind_symbols.hpp>

#include "twice.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace fxpass;

// Expressions ----------------------------------------------------------------------------------------------
constexpr SymbolBinding six_and_five[] = {{"s0", 6}, {"s1", 5}};

constexpr auto is(std::string_view expression, std::int64_t value) -> bool {
  const auto result = evaluate_symbolic(expression, six_and_five);
  return result && *result && **result == value;
}
constexpr auto says(std::string_view expression, std::string_view part) -> bool {
  const auto result = evaluate_symbolic(expression, six_and_five);
  return !result && result.error().front().code == DiagnosticCode::symbolic_size &&
         result.error().front().message.view().find(part) != std::string_view::npos;
}

constexpr auto expressions_are_pythons() -> bool {
  return is("7", 7) && is("s0", 6) && is("2*s0 + 1", 13) && is("s0 - s1*2", -4) && is("-(s0 + 1)", -7) &&
         is("s0//4", 1) && is("-s0//4", -2) && is("(s0 - 20)//4", -4) && is("s0 % 4", 2) && is("-s1 % 4", 3) &&
         is("s0**2", 36) && is("-s0**2", -36) && is("2**s1", 32) &&
         is("(-1)**1000000000001", -1) && is("s0*1/2", 3) && is("s1/5 - 1", 0) && is("s0**-1*6", 1);
}
FXPASS_TEST_TWICE(expressions_are_pythons)

constexpr auto functions_are_those_of_pytorchs_sizes() -> bool {
  return is("Max(7, s0, s1)", 7) && is("Min(7, s0, s1)", 5) && is("Mod(s0, 4)", 2) && is("PythonMod(-s0, 4)", 2) &&
         is("FloorDiv(s0 + 1, 2)", 3) && is("CeilDiv(s0 + 1, 2)", 4) && is("CleanDiv(s0, 3)", 2) &&
         is("CeilToInt(IntTrueDiv(s0, 4))", 2) && is("FloorToInt(IntTrueDiv(-s0, 4))", -2) &&
         is("TruncToInt(IntTrueDiv(-s0, 4))", -1) && is("ceiling(s1/2)", 3) && is("floor(s1/2)", 2) &&
         is("ModularIndexing(s0*s1, 4, 3)", 1) && is("PowByNatural(s0, 3)", 216) && is("Abs(s1 - s0)", 1) &&
         is("Identity(s0)", 6);
}
FXPASS_TEST_TWICE(functions_are_those_of_pytorchs_sizes)

constexpr auto what_is_no_size_is_told() -> bool {
  return says("s0/4", "is 3/2, no whole number") && says("s0//(s1 - 5)", "divides by 0") &&
         says("s0**30", "is too large") && says("9223372036854775808", "is too large") &&
         says("Where(s0, 1, 2)", "calls 'Where'") && says("s0 +", "is no expression of sizes") &&
         says("s0 s1", "is no expression of sizes") && says("(s0", "is no expression of sizes") &&
         says("Max(s0 s1)", "is no expression of sizes") && says("", "is no expression of sizes") &&
         says("2**(s0/4)", "exponent");
}
FXPASS_TEST_TWICE(what_is_no_size_is_told)

constexpr auto unbound_symbols_leave_an_expression() -> bool {
  const auto result = evaluate_symbolic("s0//(s7 - s7)", six_and_five);
  return result && !*result;
}
FXPASS_TEST_TWICE(unbound_symbols_leave_an_expression)

TEST_CASE("nesting without end does not exhaust the stack") {
  const std::string deep(100000, '(');
  const auto result = evaluate_symbolic(deep, {});
  CHECK(!result);
  if (!result) CHECK(result.error().front().message.view().find("nested too deeply") != std::string_view::npos);
}

// Programs -------------------------------------------------------------------------------------------------
/// x of [s0, 2*s0]; y = relu(x).view(numel(x) // 2, 2), asserted to be of more than 3 rows; returns y and s0 + 1
struct Program {
  GraphBuilder b;
  NodeId x;

  constexpr explicit Program(std::string_view target = "operator.floordiv") {
    const SymInt s0 = b.add_expression("s0");
    const SymInt twice = b.add_expression("2*s0");
    const SymInt area = b.add_expression("s0**2");
    const SymInt shape[] = {s0, twice};
    const SymInt pairs[] = {area, SymInt(2)};
    TensorMeta meta;
    meta.device = b.device("cpu").device();
    const SymInt strides[] = {twice, SymInt(1)};
    const SymInt pair_strides[] = {SymInt(2), SymInt(1)};
    const ValueSpec square = b.tensor(meta, shape, strides);
    x = b.placeholder("x", square);
    const NodeId rows = b.call_function("torch.ops.aten.sym_size.int", {x, 0}, b.sym_int());
    const NodeId all = b.call_function("torch.ops.aten.sym_numel.default", {x}, b.sym_int());
    const NodeId half = b.call_function(target, {all, 2}, b.sym_int());
    const NodeId is_more = b.call_function("operator.gt", {half, 3}, b.scalar());
    b.call_function("torch.ops.aten._assert_scalar.default", {is_more, b.string("too few")});
    const NodeId y = b.call_function("torch.ops.aten.relu.default", {x}, square);
    const NodeId z = b.call_function("torch.ops.aten.view.default", {y, b.list({half, 2})},
                                     b.tensor(meta, pairs, pair_strides));
    const NodeId next = b.call_function("operator.add", {rows, 1}, b.sym_int());
    b.output({z, next});
    b.add_size_range("2*s0", 4, 64);
  }
};

template <std::size_t N>
constexpr auto bound(Graph graph, const SymbolBinding (&bindings)[N]) {
  return pipeline(BindSymbolsPass{bindings})(Module<>(std::move(graph)));
}

constexpr auto sizes_become_numbers() -> bool {
  const SymbolBinding four[] = {{"s0", 4}};
  const auto module = bound(std::move(Program().b).finish(), four);
  return module && verify(module->graph()) && module->graph().size_ranges().empty() &&
         text_of(module->graph()) == "graph():\n"
                                     "    %x : [num_users=1] = placeholder[target=x]\n"
                                     "    %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default]"
                                     "(args = (%x,), kwargs = {})\n"
                                     "    %view : [num_users=1] = call_function[target=torch.ops.aten.view.default]"
                                     "(args = (%relu, [16, 2]), kwargs = {})\n"
                                     "    return (view, 5)\n" &&
         module->graph().sizes(*module->graph().tensor(NodeId{0}))[1] == SymInt(8);
}
FXPASS_TEST_TWICE(sizes_become_numbers)

template <std::size_t N>
constexpr auto error_for(Graph graph, const SymbolBinding (&bindings)[N]) -> Text {
  const auto module = bound(std::move(graph), bindings);
  if (module) return {};
  return text_of(module.error().front().message, " [", to_string(module.error().front().code), ']');
}
constexpr auto wrong_sizes_are_refused() -> bool {
  const SymbolBinding large[] = {{"s0", 33}};
  const SymbolBinding unknown[] = {{"s1", 4}};
  const SymbolBinding again[] = {{"s0", 4}, {"s0", 4}};
  const SymbolBinding few[] = {{"s0", 2}};
  const auto graph = [](std::string_view target) { return std::move(Program(target).b).finish(); };
  return error_for(graph("operator.floordiv"), large) ==
             "in pass 'bind_symbols': 2*s0 would be 66, but the program was exported for at least 4 and at most 64 "
             "[invalid-option]" &&
         error_for(graph("operator.floordiv"), unknown) ==
             "in pass 'bind_symbols': no size of the program is called s1; it has s0 [invalid-option]" &&
         error_for(graph("operator.floordiv"), again) ==
             "in pass 'bind_symbols': s0 is bound twice [invalid-option]" &&
         // mod instead of floordiv: 8 % 2 is not more than 3
         error_for(graph("operator.mod"), few) ==
             "in pass 'bind_symbols': what the program asserts of its sizes does not hold for these symbols "
             "[eager-would-raise]";
}
FXPASS_TEST_TWICE(wrong_sizes_are_refused)

constexpr auto nothing_to_bind_changes_nothing() -> bool {
  const Graph before = std::move(Program().b).finish();
  Graph after = before;
  Context context;
  return BindSymbolsPass{}.run(after, context) && after == before && context.claims_unchanged();
}
FXPASS_TEST_TWICE(nothing_to_bind_changes_nothing)

/// What a call of `target` on sizes gives, as it is printed where it is used.
constexpr auto computed(std::string_view target, std::initializer_list<Argument> operands) -> Text {
  GraphBuilder b;
  const SymInt s0[] = {b.add_expression("s0")};
  const SymInt one[] = {SymInt(1)};
  TensorMeta meta;
  meta.device = b.device("cpu").device();
  b.placeholder("x", b.tensor(meta, s0, one));
  const NodeId value = b.call_function(target, operands, b.scalar());
  b.output({value});
  const SymbolBinding seven[] = {{"s0", 7}};
  const auto module = bound(std::move(b).finish(), seven);
  if (!module) return module.error().front().message;
  Text text = text_of(module->graph());
  const std::string_view all = text.view();
  const auto at = all.rfind("return ") + 7;
  return Text(all.substr(at, all.size() - at - 1));
}
constexpr auto arithmetic_is_pythons() -> bool {
  return computed("operator.floordiv", {-7, 2}) == "(-4,)" && computed("operator.mod", {-7, 2}) == "(1,)" &&
         computed("operator.mod", {7, -2}) == "(-1,)" && computed("operator.truediv", {7, 2}) == "(3.5,)" &&
         computed("operator.pow", {3, 4}) == "(81,)" && computed("operator.eq", {3, 3.0}) == "(True,)" &&
         computed("operator.and_", {true, false}) == "(False,)" && computed("operator.neg", {3}) == "(-3,)" &&
         computed("torch.sym_max", {3, 5}) == "(5,)" && computed("torch.sym_min", {3, 5}) == "(3,)" &&
         computed("torch.sym_float", {3}) == "(3.0,)" && computed("torch.sym_int", {-3.5}) == "(-3,)" &&
         computed("math.floor", {-3.5}) == "(-4,)" && computed("math.ceil", {-3.5}) == "(-3,)" &&
         computed("torch.sym_not", {true}) == "(False,)" && computed("torch.sym_ite", {true, 1, 2}) == "(1,)" &&
         computed("operator.floordiv", {7, 0}) ==
             "in pass 'bind_symbols': divides by zero; PyTorch raises here";
}
FXPASS_TEST_TWICE(arithmetic_is_pythons)

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/builder.hpp>
#include <fxpass/graph/print.hpp>

#include "twice.hpp"

namespace {

using namespace fxpass;

/// The value as an argument of a call.
template <class Make>
constexpr auto prints(std::string_view expected, Make make) -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", {});
  const NodeId f = b.call_function("torch.f", {make(b, x)}, {}, "f");
  b.output({f});
  return node_line(std::move(b).finish(), f) ==
         text_of("%f : [num_users=1] = call_function[target=torch.f](args = (", expected, ",), kwargs = {})");
}

// The expectations were printed by PyTorch 2.13.
constexpr auto every_kind_of_value_prints_as_in_a_call() -> bool {
  using B = GraphBuilder&;
  return prints("None", [](B, NodeId) { return Argument(); }) &&
         prints("%x", [](B, NodeId x) { return Argument(x); }) &&
         prints("-9223372036854775808",
                [](B, NodeId) { return Argument(std::int64_t{-9223372036854775807} - 1); }) &&
         prints("True", [](B, NodeId) { return Argument(true); }) &&
         prints("2*s0 + 1", [](B b, NodeId) { return Argument(b.add_expression("2*s0 + 1")); }) &&
         prints("a, b)", [](B b, NodeId) { return b.string("a, b)"); }) &&
         prints("(1-2j)", [](B b, NodeId) { return b.group(ArgumentKind::complex, {1, -2.0}); }) &&
         prints("torch.bfloat16", [](B, NodeId) { return Argument(DType::bf16); }) &&
         prints("cuda:1", [](B b, NodeId) { return b.device("cuda:1"); }) &&
         prints("torch._mkldnn", [](B, NodeId) { return Argument(Layout::mkldnn); }) &&
         prints("torch.channels_last", [](B, NodeId) { return Argument(MemoryFormat::channels_last); }) &&
         prints("Ellipsis", [](B, NodeId) { return Argument::ellipsis(); });
}
FXPASS_TEST_TWICE(every_kind_of_value_prints_as_in_a_call)

constexpr auto containers_print_as_in_a_call() -> bool {
  using B = GraphBuilder&;
  return prints("[%x, s]", [](B b, NodeId x) { return b.list({x, b.string("s")}); }) &&
         prints("[]", [](B b, NodeId) { return b.list({}); }) &&
         prints("()", [](B b, NodeId) { return b.tuple_of({}); }) &&
         prints("(%x,)", [](B b, NodeId x) { return b.tuple_of({x}); }) &&
         prints("{a: [%x, s], 1: (%x,)}",
                [](B b, NodeId x) {
                  return b.group(ArgumentKind::dict,
                                 {b.string("a"), b.list({x, b.string("s")}), 1, b.tuple_of({x})});
                }) &&
         prints("slice(x, 'q', device(type='cpu'))",
                [](B b, NodeId x) { return b.slice(x, b.string("q"), b.device("cpu")); }) &&
         prints("aten.add.Tensor",
                [](B b, NodeId) { return Argument::operation(b.text("torch.ops.aten.add.Tensor")); }) &&
         prints("cond",
                [](B b, NodeId) { return Argument::operation(b.text("torch.ops.higher_order.cond")); });
}
FXPASS_TEST_TWICE(containers_print_as_in_a_call)

constexpr auto a_graph_prints_as_in_pytorch() -> bool {
  GraphBuilder b;
  const Argument pair = b.tuple_of({b.string("a"), 1});
  const NodeId x = b.placeholder("l_x_", "L_x_", {}, {});
  Graph graph = [&] {
    const NodeId w = b.get_attr("fc.weight", {});
    const NodeId twice = b.call_function("operator.add", {x, x});
    const NodeId method = b.call_method("add_", {twice, b.keyword("alpha", 2.0), b.keyword("other", w)});
    const NodeId nothing = b.call(NodeKind::call_module, "layers.0", {}, {});
    b.output({b.list({x, b.string("s"), b.device("cpu")}), method,
              b.group(ArgumentKind::dict, {b.string("a"), nothing, b.string("q"),
                                           Argument::operation(b.text("torch.ops.aten.add.Tensor"))}),
              Argument::operation(b.text("torch.ops.aten.add"))});
    return std::move(b).finish();
  }();
  const Argument default_value[] = {pair};
  graph.set_arguments(x, default_value);
  return text_of(graph) ==
         "graph():\n"
         "    %l_x_ : [num_users=2] = placeholder[target=L_x_](default=('a', 1))\n"
         "    %fc_weight : [num_users=1] = get_attr[target=fc.weight]\n"
         "    %add : [num_users=1] = call_function[target=operator.add](args = (%l_x_, %l_x_), kwargs = {})\n"
         "    %add_ : [num_users=1] = call_method[target=add_](args = (%add,), kwargs = {alpha: 2.0, other: "
         "%fc_weight})\n"
         "    %layers_0 : [num_users=1] = call_module[target=layers.0](args = (), kwargs = {})\n"
         "    return ([l_x_, 's', device(type='cpu')], add_, {'a': layers_0, 'q': <OpOverload(op='aten.add', "
         "overload='Tensor')>}, <OpOverloadPacket(op='aten.add')>)\n";
}
FXPASS_TEST_TWICE(a_graph_prints_as_in_pytorch)

constexpr auto real(double value) -> Text {
  Text t;
  append_python_float(t, value);
  return t;
}
constexpr auto floats_print_by_repr() -> bool {
  return real(1) == "1.0" && real(0.1) == "0.1" && real(-0.0) == "-0.0" && real(100) == "100.0" &&
         real(12345.678) == "12345.678" && real(1e-4) == "0.0001" && real(1e-5) == "1e-05" &&
         real(1.5e-7) == "1.5e-07" && real(1e15) == "1000000000000000.0" && real(1e16) == "1e+16" &&
         real(123456789012345680.0) == "1.2345678901234568e+17" &&
         real(9999999999999998.0) == "9999999999999998.0" && real(1e22) == "1e+22" &&
         real(std::numeric_limits<double>::infinity()) == "inf" &&
         real(-std::numeric_limits<double>::infinity()) == "-inf" &&
         real(std::numeric_limits<double>::quiet_NaN()) == "nan";
}
FXPASS_TEST_TWICE(floats_print_by_repr)

constexpr auto extreme_floats_print_by_repr() -> bool {
  return real(5e-324) == "5e-324" && real(1.7976931348623157e308) == "1.7976931348623157e+308";
}
FXPASS_TEST_TWICE(extreme_floats_print_by_repr)

constexpr auto complex(double re, double im) -> Text {
  Text t;
  append_python_complex(t, re, im);
  return t;
}
constexpr auto complex_numbers_print_by_repr() -> bool {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return complex(1, 2) == "(1+2j)" && complex(0, 2) == "2j" && complex(-0.0, -1) == "(-0-1j)" &&
         complex(0, -0.0) == "-0j" && complex(1e16, -0.0) == "(1e+16-0j)" && complex(0, 1e-5) == "1e-05j" &&
         complex(std::numeric_limits<double>::quiet_NaN(), -infinity) == "(nan-infj)" &&
         complex(0.5, infinity) == "(0.5+infj)";
}
FXPASS_TEST_TWICE(complex_numbers_print_by_repr)

constexpr auto quoted(std::string_view value) -> Text {
  Text t;
  append_python_string(t, value);
  return t;
}
constexpr auto strings_print_by_repr() -> bool {
  return quoted("") == "''" && quoted("plain") == "'plain'" && quoted("a'b") == "\"a'b\"" &&
         quoted("a\"b") == "'a\"b'" && quoted("a'\"b") == R"('a\'"b')" &&
         quoted("\n\t\r\\") == R"('\n\t\r\\')" &&
         quoted(std::string_view("\x00\x1f\x7f", 3)) == R"('\x00\x1f\x7f')" &&
         quoted("\u00e9\u65e5") == "'\u00e9\u65e5'" &&
         quoted("\xc2\x80\xc2\xa0\xc2\xad") == R"('\x80\xa0\xad')" &&
         quoted("\U0001f600") == "'\U0001f600'" && quoted("\xff") == R"('\udcff')" &&
         quoted("\xe6\x97") == R"('\udce6\udc97')" && quoted("\xed\xa0\x80") == R"('\udced\udca0\udc80')" &&
         quoted("\xc0\xaf") == R"('\udcc0\udcaf')";
}
FXPASS_TEST_TWICE(strings_print_by_repr)

constexpr auto users_are_nodes_that_use_it_once_or_often() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", {});
  const NodeId unused = b.placeholder("unused", {});
  const NodeId y = b.call_function("torch.f", {x, b.list({x}), b.keyword("k", x)});
  b.output({y, x, y});
  const Graph graph = std::move(b).finish();
  return node_line(graph, x) == "%x : [num_users=2] = placeholder[target=x]" &&
         node_line(graph, unused) == "%unused : [num_users=0] = placeholder[target=unused]" &&
         node_line(graph, y).view().starts_with("%f : [num_users=1]");
}
FXPASS_TEST_TWICE(users_are_nodes_that_use_it_once_or_often)

}  // namespace

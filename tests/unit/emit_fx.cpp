// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/emit/fx_python.hpp>
#include <fxpass/emit/fx_text.hpp>
#include <fxpass/graph/builder.hpp>

#include "twice.hpp"

namespace {

using namespace fxpass;

constexpr auto python_is_one_statement_a_node() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("l_x_", "L_x_", {}, {});
  const NodeId y = b.placeholder("y", {});
  const NodeId added = b.call_method("add_", {x, y, b.keyword("alpha", 2.0)});
  const NodeId method_of_number = b.call_method("bit_length", {3});
  b.call_function("operator.setitem", {x, b.tuple_of({Argument::ellipsis(), b.slice({}, 2)}), 0});
  const NodeId reduced =
      b.call_function("torch.ops._c10d_functional.all_reduce.default", {added, b.string("sum")});
  const NodeId other = b.call_function("einops.rearrange", {reduced}, {}, "einops");
  b.output({other, {}, b.list({method_of_number, x})});
  const auto text = emit<FxPython>(std::move(b).finish());
  return text && *text == "import operator\n"
                          "\n"
                          "import torch\n"
                          "import torch.distributed._functional_collectives\n"
                          "import einops\n"
                          "\n"
                          "\n"
                          "def forward(l_x_, y):\n"
                          "    add_ = l_x_.add_(y, alpha=2.0)\n"
                          "    bit_length = (3).bit_length()\n"
                          "    setitem = operator.setitem(l_x_, (Ellipsis, slice(None, 2, None)), 0)\n"
                          "    all_reduce = torch.ops._c10d_functional.all_reduce.default(add_, 'sum')\n"
                          "    einops_6 = einops.rearrange(all_reduce)\n"
                          "    return (einops_6, None, [bit_length, l_x_])\n";
}
FXPASS_TEST_TWICE(python_is_one_statement_a_node)

template <class Make>
constexpr auto writes(std::string_view expected, Make make) -> bool {
  GraphBuilder b;
  b.output({make(b)});
  const auto text = emit<FxPython>(std::move(b).finish());
  return text && text->view().ends_with(text_of("    return (", expected, ",)\n").view());
}

constexpr auto values_are_what_python_reads() -> bool {
  using B = GraphBuilder&;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return writes("float('inf')", [](B) { return Argument(infinity); }) &&
         writes("float('-inf')", [](B) { return Argument(-infinity); }) &&
         writes("float('nan')", [](B) { return Argument(std::numeric_limits<double>::quiet_NaN()); }) &&
         writes("-0.0", [](B) { return Argument(-0.0); }) &&
         writes("1e-05", [](B) { return Argument(1e-5); }) &&
         writes("complex(-0.0, float('inf'))",
                [](B b) { return b.group(ArgumentKind::complex, {-0.0, infinity}); }) &&
         writes("'it\\'s \"\\n'", [](B b) { return b.string("it's \"\n"); }) &&
         writes("torch.device('cuda:1')", [](B b) { return b.device("cuda:1"); }) &&
         writes("torch.bfloat16", [](B) { return Argument(DType::bf16); }) &&
         writes("torch.bool", [](B) { return Argument(DType::boolean); }) &&
         writes("torch.strided", [](B) { return Argument(Layout::strided); }) &&
         writes("torch.channels_last", [](B) { return Argument(MemoryFormat::channels_last); }) &&
         writes("{'a': [1, (2,)], 3: {}}",
                [](B b) {
                  return b.group(ArgumentKind::dict, {b.string("a"), b.list({1, b.tuple_of({2})}), 3,
                                                      b.group(ArgumentKind::dict, {})});
                }) &&
         writes("torch.ops.aten.add.Tensor",
                [](B b) { return Argument::operation(b.text("torch.ops.aten.add.Tensor")); });
}
FXPASS_TEST_TWICE(values_are_what_python_reads)

constexpr auto names_that_python_needs_are_changed() -> bool {
  GraphBuilder b;
  const NodeId slice = b.placeholder("slice", {});
  const NodeId dotted = b.placeholder("a.b", {});
  b.placeholder("value_1", {});
  b.output({slice, dotted});
  const auto text = emit<FxPython>(std::move(b).finish());
  return text &&
         text->view().ends_with("def forward(slice_0, value_1_, value_1):\n    return (slice_0, value_1_)\n");
}
FXPASS_TEST_TWICE(names_that_python_needs_are_changed)

constexpr auto graphs_that_calls_run_are_functions() -> bool {
  GraphBuilder condition;
  const NodeId a = condition.placeholder("a", {});
  condition.output({condition.call_method("any", {a})});
  GraphBuilder inner;
  inner.output({inner.placeholder("run_subgraph_0", {})});
  GraphBuilder body;
  const NodeId c = body.placeholder("c", {});
  const Argument identity = body.add_subgraph(std::move(inner).finish());
  body.output({body.call_function("torch.ops.higher_order.map_impl", {identity, body.list({c}), body.list({})}, {}, "m")});
  GraphBuilder b;
  const NodeId x = b.placeholder("x", {});
  const Argument holds = b.add_subgraph(std::move(condition).finish());
  const Argument repeated = b.add_subgraph(std::move(body).finish());
  b.output({b.call_function("torch.ops.higher_order.while_loop", {holds, repeated, b.tuple_of({x}), b.tuple_of({})})});
  const auto text = emit<FxPython>(std::move(b).finish());
  return text && *text ==
                     "import operator\n\nimport torch\n"
                     "\n\ndef run_subgraph_0(a):\n    any_1 = a.any()\n    return (any_1,)\n"
                     "\n\ndef run_subgraph_1_0(value_0):\n    return (value_0,)\n"
                     "\n\ndef run_subgraph_1(c):\n"
                     "    m = torch.ops.higher_order.map_impl(run_subgraph_1_0, [c], [])\n    return (m,)\n"
                     "\n\ndef forward(x):\n"
                     "    while_loop = torch.ops.higher_order.while_loop("
                     "lambda *operands: run_subgraph_0(*operands)[0], run_subgraph_1, (x,), ())\n"
                     "    return (while_loop,)\n";
}
FXPASS_TEST_TWICE(graphs_that_calls_run_are_functions)

constexpr auto everything_that_python_cannot_say_is_reported() -> bool {
  GraphBuilder b;
  b.get_attr("w", {});
  b.call(NodeKind::call_module, "fc", {}, {});
  b.call_function("f; import os", {}, {}, "evil");
  b.call_method("m()", {1}, {}, "method");
  GraphBuilder inside;
  inside.get_attr("inner", {});
  inside.output({});
  b.call_function("torch.f",
                  {b.add_subgraph(std::move(inside).finish()), b.keyword("a b", b.add_expression("s0")), Layout::unknown});
  const auto text = emit<FxPython>(std::move(b).finish());
  if (text) return false;
  std::string_view nodes[] = {"inner", "w", "fc", "evil", "method", "f", "f", "f"};
  std::size_t i = 0;
  for (const Diagnostic& d : text.error())
    if (i == std::size(nodes) || d.node != nodes[i++] || d.code != DiagnosticCode::unsupported) return false;
  return i == std::size(nodes);
}
FXPASS_TEST_TWICE(everything_that_python_cannot_say_is_reported)

constexpr auto text_is_the_printed_graph() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", {});
  b.output({x});
  const auto text = emit<FxText>(std::move(b).finish());
  return text && *text == "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    return (x,)\n";
}
FXPASS_TEST_TWICE(text_is_the_printed_graph)

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/emit/fx_json.hpp>
#include <fxpass/emit/fx_text.hpp>
#include <fxpass/read/fx_text.hpp>

#include "read_test.hpp"

#include <string>
#include <string_view>

namespace {

using namespace fxpass;

auto read(std::string_view text) { return parse_fx_text(text, "g.txt"); }

constexpr std::string_view all_values = R"py(graph():
    %x : [num_users=3] = placeholder[target=x]
    %flag : [num_users=0] = placeholder[target=flag]
    %a : [num_users=1] = call_function[target=operator.getitem](args = (%x, (slice(None, x, -1), None, Ellipsis, True, ())), kwargs = {})
    %b : [num_users=0] = call_method[target=f_](args = (%x, [1, (2,), %a], -1.5, 1e-05, inf, -inf, nan, (1+2j), [(3,)]), kwargs = {dtype: torch.bfloat16, device: cuda:1, layout: torch.strided, format: torch.channels_last, op: aten.add.Tensor, text: it's so, empty: , d: {k: [%x], 1: None}})
    %c : [num_users=1] = call_module[target=layers.0](args = (), kwargs = {})
    %d : [num_users=1] = call_function[target=torch.ops.higher_order.nki_kernel_wrapper](args = (), kwargs = {kernel_idx: 3, grid: [2], backend_config: , operand_output_aliases: {0: 1}, args: (%x, 128), arg_names: [hidden, BLOCK_M], constant_args_key: -1})
    return (c, None, "it's", 2.5, d)
)py";

TEST_CASE("what is printed is read as it was") { CHECK(printed(read(all_values)) == all_values); }

TEST_CASE("spellings of other releases, and of Inductor's fragments") {
  CHECK(printed(read(R"py(Replica Groups
--------------
graph(x):
    %x : torch.Tensor [#users=1] = placeholder[target=x]
    %y : [users=1] = get_attr[target=layers.0.weight]
    %add := call_function[target=_operator.add](args = (%x, %y), kwargs = {})
    return add

def forward(self, x):
    return x
)py")) == R"py(graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=layers.0.weight]
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})
    return (add,)
)py");
  const auto fragment = read(R"py(# Topologically Sorted Source Nodes: [add], Original ATen: [aten.add]
#   %primals_1 : Tensor "f32[8, 4][4, 1]cuda:0" = PlaceHolder[target=primals_1]
#   %add : Tensor "f32[8, 4][4, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%primals_1, 1), kwargs = {})
#   return %add
)py");
  CHECK(mistake(fragment).find("g.txt:4:12: error: ") == 0);
}

TEST_CASE("example inputs describe the placeholders, whatever is read before them") {
  const auto examples = parse_example_inputs("Input 0:\n Shape: (2,)\n Dtype: float32\n Storage: 7\n", "inputs.txt");
  REQUIRE(examples.has_value());
  constexpr std::string_view text = R"py(graph():
    %w : [num_users=1] = get_attr[target=w]
    %x : [num_users=1] = placeholder[target=x]
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %w), kwargs = {})
    return (add,)
)py";
  const auto program = parse_fx_text(text, "g.txt", &*examples);
  REQUIRE(program.has_value());
  const Graph& graph = program->graph();
  CHECK(graph.name(NodeId{0}) == "x");
  CHECK(graph.inputs()[0].storage == 7);
  CHECK(graph.sizes(*graph.tensor(NodeId{0}))[0].value() == 2);
  CHECK(graph.inputs()[1].kind == InputKind::buffer);
  CHECK(mistake(parse_fx_text(with(std::string(text), "    %x : [num_users=1] = placeholder[target=x]\n", ""), "g.txt"))
            .find("node 'x' is used") != std::string::npos);
  const ExampleInputs none;
  CHECK(mistake(parse_fx_text(text, "g.txt", &none)).find("g.txt:5:5: error: the graph has 1 inputs, and 0") == 0);
}

TEST_CASE("mistakes are told with their place") {
  const std::string text(all_values);
  const auto told = [&](std::string_view from, std::string_view to, std::string_view message) {
    const std::string said = mistake(read(with(text, from, to)));
    CHECK_MESSAGE(said.find(message) == 0, said);
  };
  told("(%x, [1", "(%z, [1", "g.txt:5:58: error: node 'z' is used");
  told("call_module[", "call_nothing[", "g.txt:6:46: error: a node is of unknown kind 'call_nothing'");
  told("%flag :", "%x :", "g.txt:3:5: error: two nodes are called 'x'");
  told("    return (c, None, \"it's\", 2.5, d)\n", "", "g.txt:1:1: error: the graph has no line 'return ...'");
  told("return (c", "return (z", "g.txt:8:13: error: 'z' is not defined");
  told("-1})\n", "-1}\n", "g.txt:7:");
  CHECK(mistake(read("")).find("g.txt:1:1: error: there is no line 'graph():'") == 0);
  CHECK(mistake(read(R"py(graph():
    %p : [num_users=1] = placeholder[target=p]
    %true_graph_0 : [num_users=1] = get_attr[target=true_graph_0]
    %cond : [num_users=1] = call_function[target=torch.ops.higher_order.cond](args = (%p, %true_graph_0, %true_graph_0, ()), kwargs = {})
    return (cond,)
)py")).find("'true_graph_0' is a graph of its own") != std::string::npos);
}

TEST_CASE("a text that is cut off anywhere is refused or read, and nothing worse") {
  const std::string text(all_values);
  std::size_t refused = 0;
  for (std::size_t length = 0; length < text.size(); ++length)
    refused += read(text.substr(0, length)).has_value() ? 0 : 1;
  CHECK(refused > text.size() - 40);  // inside the last line some are complete
}

TEST_CASE("FX JSON holds all that a graph does") {
  const auto program = parse_fx_json(R"py({"format": "fxpass.fx", "version": 1,
 "operators": {"torch.ops.mylib.foo.default": "mylib::foo(Tensor(a!) x, int n=1) -> Tensor(a!)"},
 "graph": {"nodes": [
  {"op": "placeholder", "name": "w", "target": "w.weight", "args": [], "kwargs": {}, "input": {"kind": "parameter", "storage": 3},
   "value": {"dtype": "bfloat16", "shape": [4, "s0"], "stride": ["s0", 1], "offset": 2, "device": "cuda:1"}},
  {"op": "placeholder", "name": "k", "target": "b_k", "args": [], "kwargs": {}, "input": {"kind": "buffer", "target": "k", "persistent": false}},
  {"op": "placeholder", "name": "n", "target": "n", "args": [], "kwargs": {}, "input": {"kind": "constant_input", "constant": 3}},
  {"op": "call_function", "name": "foo", "target": "torch.ops.mylib.foo.default", "args": [{"node": "w"}],
   "kwargs": {"n": {"symint": "s0"}}, "value": [{"symint": "s0"}, {"dtype": "bool", "shape": [], "stride": [], "offset": 0, "device": "cpu"}],
   "stack_trace": "  File \"a.py\", line 1, in f\n    \"x\"\n"},
  {"op": "call_function", "name": "cond", "target": "torch.ops.higher_order.cond",
   "args": [{"node": "k"}, {"subgraph": "g"}, {"subgraph": "g"}, {"tuple": [{"node": "w"}, {"float": "-inf"}, {"complex": [1.5, "nan"]}]}], "kwargs": {}},
  {"op": "output", "name": "output", "target": "output", "args": [{"tuple": [{"node": "foo"}, {"node": "cond"}, 2]}], "kwargs": {}}],
  "outputs": [{"kind": "user_output"}, {"kind": "buffer_mutation", "input": 1}, {"kind": "user_output"}],
  "subgraphs": {"g": {"nodes": [
   {"op": "placeholder", "name": "x", "target": "x", "args": [], "kwargs": {}},
   {"op": "output", "name": "output", "target": "output", "args": [{"tuple": [{"node": "x"}]}], "kwargs": {}}]}}}})py",
                                     "g.json");
  REQUIRE(program.has_value());
  const auto text = emit<FxJson>(program->graph());
  REQUIRE(text.has_value());
  const auto again = parse_fx_json(text->view(), "again.json");
  REQUIRE(again.has_value());
  CHECK(again->graph() == program->graph());
  CHECK(*emit<FxJson>(again->graph()) == *text);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/read/fx_code.hpp>

#include "read_test.hpp"

#include <string>
#include <string_view>

namespace {

using namespace fxpass;

/// A graph with `body` as its statements.
auto forward(std::string_view body, std::string_view parameters = "x: \"f32[4, 3][3, 1]cpu\"")
    -> std::string {
  std::string text = "class GraphModule(torch.nn.Module):\n    def forward(self, ";
  text.append(parameters).append("):\n");
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    text.append("        ").append(line).append("\n");
    body.remove_prefix(std::min(body.size(), line.size() + 1));
  }
  return text;
}
auto read(std::string_view text) { return parse_fx_code(text, "g.txt"); }
auto lines(std::string_view body) -> std::string { return printed(read(forward(body))); }

TEST_CASE("every form of statement makes its node") {
  CHECK(lines(R"py(a: "f32[4, 3][3, 1]cpu" = torch.ops.aten.add.Tensor(x, 1);  x = None
b = a.mul(2.5, other = -1e-05);  a = None
c = b[(slice(None, 2, None), 0)]
d = b[0]
e = b @ c
f = -e
g = f ** 2
h = g.shape
i = g < 3
return (h, [i, None], {'k': d, 'e': e}))py") == R"py(graph():
    %x : [num_users=1] = placeholder[target=x]
    %a : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, 1), kwargs = {})
    %b : [num_users=3] = call_method[target=mul](args = (%a, 2.5), kwargs = {other: -1e-05})
    %c : [num_users=1] = call_function[target=operator.getitem](args = (%b, (slice(None, 2, None), 0)), kwargs = {})
    %d : [num_users=1] = call_function[target=operator.getitem](args = (%b, 0), kwargs = {})
    %e : [num_users=2] = call_function[target=operator.matmul](args = (%b, %c), kwargs = {})
    %f : [num_users=1] = call_function[target=operator.neg](args = (%e,), kwargs = {})
    %g : [num_users=2] = call_function[target=operator.pow](args = (%f, 2), kwargs = {})
    %h : [num_users=1] = call_function[target=builtins.getattr](args = (%g, shape), kwargs = {})
    %i : [num_users=1] = call_function[target=operator.lt](args = (%g, 3), kwargs = {})
    return (h, i, None, d, e)
)py");
}

TEST_CASE("statements that work in place are named by what follows, on the same line or the next") {
  CHECK(lines(R"py(x[0] = 1.0;  setitem = x;  setitem = None
x += 2
iadd = x;  x = None
iadd <<= 1
return iadd)py") == R"py(graph():
    %x : [num_users=2] = placeholder[target=x]
    %setitem : [num_users=0] = call_function[target=operator.setitem](args = (%x, 0, 1.0), kwargs = {})
    %iadd : [num_users=2] = call_function[target=operator.iadd](args = (%x, 2), kwargs = {})
    %ilshift : [num_users=0] = call_function[target=operator.ilshift](args = (%iadd, 1), kwargs = {})
    return (iadd,)
)py");
}

TEST_CASE("arguments of every kind") {
  CHECK(
      lines(
          R"py(a = f(None, True, 3, -4, 0x10, 1_000, 2.5, -inf, nan, (1-2j), 'it\'s', "\t\x41\u00e9", [1, (2,), ()])
b = g(torch.float32, torch.strided, torch.channels_last, device(type='cuda', index=1), torch.device('cpu'), Ellipsis)
c = h(slice(3), slice(1, x), {'k': [x], 1: None}, torch.ops.aten.add.Tensor, float('inf'), torch.Size([2, 3]))
return (a, b, c))py") ==
      "graph():\n"
      "    %x : [num_users=1] = placeholder[target=x]\n"
      "    %a : [num_users=1] = call_function[target=builtins.f](args = (None, True, 3, -4, 16, 1000, 2.5, "
      "-inf, nan, (1-2j), it's, \tA\xc3\xa9, [1, (2,), ()]), kwargs = {})\n"
      "    %b : [num_users=1] = call_function[target=builtins.g](args = (torch.float32, torch.strided, "
      "torch.channels_last, cuda:1, cpu, Ellipsis), kwargs = {})\n"
      "    %c : [num_users=1] = call_function[target=builtins.h](args = (slice(None, 3, None), "
      "slice(1, x, None), {k: [%x], 1: None}, aten.add.Tensor, inf, [2, 3]), kwargs = {})\n"
      "    return (a, b, c)\n");
}

TEST_CASE("names, modules and nested graphs") {
  const std::string text = R"py(class GraphModule(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, L_x_: "f32[3][1]cpu", p : torch.Tensor = None):
        l_x_ = L_x_
        fc = self.fc(l_x_)
        layers_0 = getattr(self.layers, "0")(fc)
        weight: "f32[3][1]cpu" = getattr(self.layers, "1").weight
        again = getattr(self.layers, "1").weight
        true_graph_0 = self.true_graph_0
        cond = torch.ops.higher_order.cond(p, true_graph_0, true_graph_0, (l_x_, weight, again))
        getitem: "f32[3][1]cpu" = cond[0];  cond = None
        return (getitem, layers_0)

    class true_graph_0(torch.nn.Module):
        def forward(self, x, y):
            return (x,)
)py";
  CHECK(printed(read(text)) == R"py(graph():
    %l_x_ : [num_users=2] = placeholder[target=L_x_]
    %p : [num_users=1] = placeholder[target=p]
    %weight : [num_users=1] = placeholder[target=layers.1.weight]
    %fc : [num_users=1] = call_module[target=fc](args = (%l_x_,), kwargs = {})
    %layers_0 : [num_users=1] = call_module[target=layers.0](args = (%fc,), kwargs = {})
    %cond : [num_users=1] = call_function[target=torch.ops.higher_order.cond](args = (%p, %subgraph_0, %subgraph_0, (%l_x_, %weight, %weight)), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%cond, 0), kwargs = {})
    return (getitem, layers_0)
)py");
}

TEST_CASE("annotations say what values are") {
  const auto program = read(forward(R"py(split = torch.split(x, 2)
a: "bf16[2, 3][1, 2]cuda:1" = split[1];  split = None
b: "i64[]" = a.sum()
c: "f32[s0, 2*s0]" = a.view(s0, -1)
d: "Sym(s0 + 1)" = s0 + 1
e: "Parameter(f32[1, 1])" = a.foo()
return (a, b, c, d, e))py", "x: \"f32[4, 3]\", s0: \"Sym(s0)\""));
  REQUIRE(program.has_value());
  const Graph& graph = program->graph();
  const auto value = [&](std::uint32_t node) { return *graph.tensor(NodeId{node}); };
  CHECK(graph.node(NodeId{1}).value_kind == ValueKind::sym_int);
  CHECK(graph.strides(value(0))[0].is_symbolic());  // not shown, so not known
  CHECK(graph.node(NodeId{2}).value_kind == ValueKind::tuple);
  CHECK_FALSE(graph.values(NodeId{2})[0].known);
  CHECK(graph.values(NodeId{2})[1].dtype == DType::bf16);
  CHECK(graph.device(value(3).device) == "cuda:1");
  CHECK(graph.strides(value(3))[1].value() == 2);
  CHECK(value(4).rank == 0);
  CHECK(value(4).dtype == DType::i64);
  CHECK(graph.expression(graph.sizes(value(5))[1]) == "2*s0");
  CHECK(graph.node(NodeId{6}).value_kind == ValueKind::sym_int);
  CHECK(graph.strides(value(7))[0].value() == 1);  // of one element any stride will do
}

TEST_CASE("comments say where nodes come from") {
  const auto program = read(forward(R"py(# File: /p/m.py:12 in forward, code: y = f(x) # twice
a = x + 1
b = a + 1

# No stacktrace found for following nodes
c = b + 1
return c)py"));
  REQUIRE(program.has_value());
  const auto trace = [&](std::uint32_t node) {
    return program->graph().text(program->graph().node(NodeId{node}).stack_trace);
  };
  CHECK(trace(1) == "  File \"/p/m.py\", line 12, in forward\n    y = f(x) # twice\n");
  CHECK(trace(2) == trace(1));
  CHECK(trace(3).empty());
}

TEST_CASE("code without a class, and code of an exported module") {
  CHECK(printed(read(R"py(
def forward(self, x, y = None):
    x, y, = fx_pytree.tree_flatten_spec(([x, y], {}), self._in_spec)
    _guards_fn = self._guards_fn(x);  _guards_fn = None
    _rf = torch._C._profiler._RecordFunctionFast('## 1 ##'); _rf.__enter__()
    add = x + y;  x = y = None
    return pytree.tree_unflatten((add,), self._out_spec)
    )py")) == R"py(graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y]
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})
    return (add,)
)py");
}

TEST_CASE("what a printed export says of inputs and outputs") {
  const std::string body = forward(R"py(add = b_k + x
return (add, add))py", "p_w, b_k, c_0, x");
  constexpr std::string_view lines_form = R"py(
Graph signature:
    # inputs
    p_w: PARAMETER target='w.weight'
    b_k: BUFFER target='k' persistent=True
    c_0: CONSTANT_TENSOR target='c'
    x: USER_INPUT

    # outputs
    add: BUFFER_MUTATION target='k'
    add: USER_OUTPUT

Range constraints: {}
)py";
  constexpr std::string_view repr_form =
      "Graph signature: ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.PARAMETER: 2>, "
      "arg=TensorArgument(name='p_w'), target='w.weight', persistent=None), InputSpec(kind=<InputKind.BUFFER: 3>, "
      "arg=TensorArgument(name='b_k'), target='k', persistent=True), InputSpec(kind=<InputKind.CONSTANT_TENSOR: 4>, "
      "arg=TensorArgument(name='c_0'), target='c', persistent=None), InputSpec(kind=<InputKind.USER_INPUT: 1>, "
      "arg=TensorArgument(name='x'), target=None, persistent=None)], output_specs=[OutputSpec(kind=<OutputKind."
      "BUFFER_MUTATION: 3>, arg=TensorArgument(name='add'), target='k'), OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, "
      "arg=TensorArgument(name='add'), target=None)])\n";
  for (const std::string_view signature : {lines_form, repr_form}) {
    const auto program = read(body + std::string(signature));
    REQUIRE(program.has_value());
    const Graph& graph = program->graph();
    constexpr InputKind kinds[] = {InputKind::parameter, InputKind::buffer, InputKind::tensor_constant,
                                   InputKind::user_input};
    for (std::size_t i = 0; i < 4; ++i) CHECK(graph.inputs()[i].kind == kinds[i]);
    CHECK(graph.text(graph.inputs()[0].target) == "w.weight");
    REQUIRE(graph.outputs().size() == 2);
    CHECK(graph.outputs()[0].kind == OutputKind::user_output);  // the program's own come first
    CHECK(graph.outputs()[1].kind == OutputKind::buffer_mutation);
    CHECK(graph.outputs()[1].input == 1);
  }
}

TEST_CASE("load_args describes the inputs") {
  const std::string text = forward("return (x + y,)", "x, y, n") + R"py(
def load_args(reader):
    buf0 = reader.storage('abc', 96, device=device(type='cuda', index=0))
    reader.tensor(buf0, (4, 3), is_leaf=True)  # x
    reader.tensor(buf0, (3, 4), (1, 3), storage_offset=2, dtype=torch.float16, is_leaf=True)  # y
    reader.symint(4)  # n
load_args._version = 0
)py";
  const auto program = read(with(text, "return (x + y,)", "add = x + y\n        return (add,)"));
  REQUIRE(program.has_value());
  const Graph& graph = program->graph();
  CHECK(graph.inputs()[0].storage == graph.inputs()[1].storage);
  CHECK(graph.strides(*graph.tensor(NodeId{0}))[0].value() == 3);
  CHECK(graph.device(graph.tensor(NodeId{0})->device) == "cuda:0");
  CHECK(graph.tensor(NodeId{1})->dtype == DType::f16);
  CHECK(graph.tensor(NodeId{1})->storage_offset.value() == 2);
  CHECK(graph.node(NodeId{2}).value_kind == ValueKind::sym_int);
  CHECK(mistake(read(with(text, "reader.symint(4)", "reader.other(4)"))).find("g.txt:9:5:") == 0);
  CHECK(mistake(read(with(text, "    reader.symint(4)  # n\n", ""))).find("3 inputs, and 2 example inputs") !=
        std::string::npos);
}

TEST_CASE("input blocks describe the inputs") {
  const auto inputs = parse_example_inputs("Input 0:\n  Shape: (4, 3)\n  Dtype: float32\n  Device: cuda:0\n\n"
                                           "Input 1:\n  Shape: ()\n  Dtype: torch.int64\n",
                                           "inputs.txt");
  REQUIRE(inputs.has_value());
  REQUIRE(inputs->size() == 2);
  CHECK((*inputs)[0].value ==
        R"py({"dtype": "float32", "shape": [4, 3], "stride": [3, 1], "offset": 0, "device": "cuda:0"})py");
  CHECK((*inputs)[1].value ==
        R"py({"dtype": "int64", "shape": [], "stride": [], "offset": 0, "device": "cpu"})py");
  const auto refused = [](std::string_view text) {
    const auto result = parse_example_inputs(text, "inputs.txt");
    REQUIRE_FALSE(result.has_value());
    Text message;
    append_to(message, result.error());
    return std::string(message.view());
  };
  CHECK(refused("Input 1:\n").find("inputs.txt:1:1: error: 'Input 0:' is expected") == 0);
  CHECK(refused("Input 0:\n  Shape: (4, 3)\n")
            .find("inputs.txt:1:1: error: an input has a Shape and a Dtype") == 0);
  CHECK(refused("Input 0:\n  Shape: four\n").find("inputs.txt:2:3: error: Shape should be integers") == 0);
  CHECK(refused("Input 0:\n  Dtype: float33\n").find("inputs.txt:2:3: error: 'float33' is no dtype") == 0);
  CHECK(refused("Input 0:\n  Colour: red\n").find("inputs.txt:2:3: error: 'Colour' is none of") == 0);
  CHECK(
      refused("Input 0:\n Shape: (2, 2)\n Dtype: float32\n Strides: (1,)\n").find("2 sizes and 1 strides") !=
      std::string::npos);
}

TEST_CASE("mistakes are told with their place") {
  const auto told = [](std::string_view body, std::string_view message) {
    const std::string text = mistake(read(forward(body)));
    CHECK_MESSAGE(text.find(message) == 0, text);
  };
  told("return (y,)", "g.txt:3:17: error: 'y' is not defined");
  told("a = x + 1\na = x + 2\nreturn a", "g.txt:4:9: error: 'a' is defined twice");
  told("a = x.f(\n    1, 2", "g.txt:5:1: error: ");
  told("a = x.f('open)\nreturn a", "g.txt:3:17: error: the string is not closed");
  told("a = x.f(99999999999999999999)\nreturn a", "g.txt:3:17: error: '99999999999999999999' is no number");
  told("a = x.f(x + 1)\nreturn a", "g.txt:3:17: error: an argument is expected");
  told("a = x.f(k = 1, 2)\nreturn a", "g.txt:3:24: error: a positional argument follows");
  told("a, b = x\nreturn a", "g.txt:3:9: error: only variables and their elements can be assigned to");
  told("a = b = x\nreturn a", "g.txt:3:9: error: several variables get one value");
  told("a = 3\nreturn a", "g.txt:3:13: error: a call, an operator");
  told("a = x + 1", "g.txt:4:1: error: 'forward' ends without 'return'");
  told("a = x.f(b'bytes')\nreturn a", "g.txt:3:17: error: bytes and f-strings");
  CHECK(mistake(read("class A(torch.nn.Module):\n    pass\n")).find("class 'A' has no method 'forward'") !=
        std::string::npos);
  CHECK(mistake(read("nothing")).find("g.txt:1:1: error: there is no class") == 0);
  CHECK(mistake(read(forward("return x", "*args"))).find("a variable number of arguments") !=
        std::string::npos);
  const std::string deep = "a = x.f(" + std::string(1000, '[') + std::string(1000, ']') + ")\nreturn a";
  CHECK(mistake(read(forward(deep))).find("nested too deeply") != std::string::npos);
}

TEST_CASE("a text that is cut off anywhere is refused or read, and nothing worse") {
  const std::string text = forward(R"py(# File: a.py:1 in f, code: x
a: "f32[4, 3][3, 1]cpu" = torch.f(x, [1, (2.5,)], k = {'a\x41': slice(None, 3)});  a = None
x[(0, Ellipsis)] += -1e3
return (a,))py") + "\nGraph signature:\n    # inputs\n    x: USER_INPUT\n";
  std::size_t refused = 0;
  for (std::size_t length = 0; length <= text.size(); ++length)
    refused += read(text.substr(0, length)).has_value() ? 0 : 1;
  CHECK(refused > text.size() / 2);
}

}  // namespace

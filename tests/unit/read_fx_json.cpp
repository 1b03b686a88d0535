// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/call.hpp>
#include <fxpass/read/fx_json.hpp>

#include "read_test.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace {

using namespace fxpass;

constexpr std::string_view tensor =
    R"({"dtype": "float32", "shape": [4, 3], "stride": [3, 1], "offset": 0, "device": "cpu"})";

auto node(std::string_view op, std::string_view name, std::string_view target, std::string_view args,
          std::string_view more = "") -> std::string {
  std::string text = R"({"op": ")";
  text.append(op).append(R"(", "name": ")").append(name).append(R"(", "target": ")").append(target);
  text.append(R"(", "args": [)").append(args).append(R"(], "kwargs": {})").append(more);
  return text +
         R"(, "stack_trace": "  File \"a.py\", line 1, in g\n    f(x)\n  File \"m.py\", line 5, in f\n    y\n    ^^\n"})";
}
auto call(std::string_view name, std::string_view target, std::string_view args) -> std::string {
  return node("call_function", name, target, args, std::string(", \"value\": ").append(tensor));
}
/// A file with inputs `x` and `k`, `calls`, and what it returns.
auto file(std::string_view calls, std::string_view returned, std::string_view more_of_graph = "",
          std::string_view operators = "") -> std::string {
  const std::string value = std::string(", \"value\": ").append(tensor);
  std::string text = R"({"format": "fxpass.fx", "version": 1, "operators": {)";
  text.append(operators).append(R"(}, "graph": {"nodes": [)");
  text.append(node("placeholder", "x", "L_x_", "", value)).append(", ");
  text.append(node("placeholder", "k", "cache.k", "", value + R"(, "input": {"kind": "buffer", "storage": 3})"));
  text.append(", ").append(calls).append(calls.empty() ? "" : ", ");
  text.append(node("output", "output", "output", returned)).append("]").append(more_of_graph);
  return text + "}}";
}
auto read(std::string_view json) -> Expected<Module<>> { return parse_fx_json(json, "f.json"); }

auto argument_printed(std::string_view argument) -> std::string {
  const auto module =
      read(file(call("f", "torch.f", argument), R"({"node": "f"})",
                R"(, "subgraphs": {"g": {"nodes": [{"op": "output", "name": "output", "target": "output",
                                   "args": [null], "kwargs": {}}]}})"));
  if (!module) return printed(module);
  const std::string line(node_line(module->graph(), NodeId{2}).view());
  const std::string_view before = "%f : [num_users=1] = call_function[target=torch.f](args = (";
  const std::string_view after = ",), kwargs = {})";
  REQUIRE(line.starts_with(before));
  REQUIRE(line.ends_with(after));
  return line.substr(before.size(), line.size() - before.size() - after.size());
}

}  // namespace

TEST_CASE("a graph: nodes, inputs, values, stack traces") {
  const auto module =
      read(file(node("call_method", "add_", "add_", R"({"node": "x"}, 1)") + ", " +
                    node("call_function", "s", "operator.setitem", R"({"node": "k"}, 0, 1.5)"),
                R"({"tuple": [{"node": "x"}, [null, {"node": "k"}], {"dict": [["a", {"node": "x"}]]}]})"));
  CHECK(printed(module) ==
        "graph():\n"
        "    %x : [num_users=2] = placeholder[target=L_x_]\n"
        "    %k : [num_users=2] = placeholder[target=cache.k]\n"
        "    %add_ : [num_users=0] = call_method[target=add_](args = (%x, 1), kwargs = {})\n"
        "    %s : [num_users=0] = call_function[target=operator.setitem](args = (%k, 0, 1.5), kwargs = {})\n"
        "    return (x, None, k, x)\n");
  const Graph& g = module->graph();
  CHECK(g.inputs()[0].kind == InputKind::user_input);
  CHECK(g.inputs()[0].storage == own_storage);
  CHECK(g.inputs()[1].kind == InputKind::buffer);
  CHECK(g.text(g.inputs()[1].target) == "cache.k");
  CHECK(g.inputs()[1].storage == 3);
  CHECK(model_line(g, NodeId{2}) == SourcePlace{"m.py", 5, 0});
  CHECK(g.schema(g.op(NodeId{2})).name() == "aten.add_.Scalar");
  const TensorMeta* x = g.tensor(NodeId{0});
  REQUIRE(x != nullptr);
  CHECK(g.sizes(*x)[1] == SymInt(3));
  CHECK(g.original_output_count() == 4);
}

TEST_CASE("every kind of argument") {
  const auto check = [](std::string_view json, std::string_view text) { CHECK(argument_printed(json) == text); };
  check("null", "None");
  check("true", "True");
  check("-9223372036854775807", "-9223372036854775807");
  check("1.0", "1.0");
  check("-0.0", "-0.0");
  check("1e5", "100000.0");
  check(R"("a\"b")", "a\"b");
  check(R"([1, [{"node": "x"}]])", "[1, [%x]]");
  check(R"({"tuple": [{"node": "x"}, 2]})", "(%x, 2)");
  check(R"({"tuple": []})", "()");
  check(R"({"dict": [["k", 1], [2, {"node": "x"}]]})", "{k: 1, 2: %x}");
  check(R"({"slice": [null, {"node": "x"}, -1]})", "slice(None, x, -1)");
  check(R"({"ellipsis": true})", "Ellipsis");
  check(R"({"float": "-inf"})", "-inf");
  check(R"({"float": "nan"})", "nan");
  check(R"({"complex": [1.0, "inf"]})", "(1+infj)");
  check(R"({"dtype": "bfloat16"})", "torch.bfloat16");
  check(R"({"device": "cuda:0"})", "cuda:0");
  check(R"({"layout": "strided"})", "torch.strided");
  check(R"({"memory_format": "channels_last_3d"})", "torch.channels_last_3d");
  check(R"({"symint": "2*s0 + 1"})", "2*s0 + 1");
  check(R"({"subgraph": "g"})", "%subgraph_0");
  check(R"({"operator": "torch.ops.mylib.foo.default"})", "mylib.foo.default");
}

TEST_CASE("values of every kind") {
  const auto value_of = [](std::string_view value) {
    const auto module =
        read(file(node("call_function", "f", "torch.f", "", std::string(", \"value\": ").append(value)), "null"));
    REQUIRE(module.has_value());
    return module->graph().node(NodeId{2});
  };
  CHECK(value_of(tensor).value_kind == ValueKind::tensor);
  CHECK(value_of(R"({"symint": "s0"})").value_kind == ValueKind::sym_int);
  CHECK(value_of("3").value_kind == ValueKind::sym_int);
  CHECK(value_of(R"({"symfloat": "zf0"})").value_kind == ValueKind::scalar);
  CHECK(value_of(R"({"symbool": "u0 > 3"})").value_kind == ValueKind::scalar);
  CHECK(value_of("2.5").value_kind == ValueKind::scalar);
  CHECK(value_of("null").value_kind == ValueKind::none);
  const auto module =
      read(file(node("call_function", "f", "torch.f", "",
                     R"(, "value": [{"dtype": "int64", "shape": ["s0", 2], "stride": [2, 1], "offset": "s1",
                                         "device": "xla:0"}, null, 4])"),
                "null"));
  CHECK(printed(module).find("error") == std::string::npos);
  const Graph& g = module->graph();
  const auto members = g.values(NodeId{2});
  REQUIRE(members.size() == 3);
  CHECK(g.node(NodeId{2}).value_kind == ValueKind::tuple);
  CHECK(members[0].dtype == DType::i64);
  CHECK(g.expression(g.sizes(members[0])[0]) == "s0");
  CHECK(g.expression(members[0].storage_offset) == "s1");
  CHECK(g.device(members[0].device) == "xla:0");
  CHECK_FALSE(members[1].known);
}

TEST_CASE("outputs that are new values of inputs come last") {
  const auto module =
      read(file("", R"({"tuple": [{"node": "k"}, {"node": "x"}]})",
                R"(, "outputs": [{"kind": "buffer_mutation", "input": 1}, {"kind": "user_output", "view_of": 0}])"));
  CHECK(printed(module).find("return (x, k)") != std::string::npos);
  const Graph& g = module->graph();
  CHECK(g.outputs()[1].kind == OutputKind::buffer_mutation);
  CHECK(g.outputs()[1].input == 1);
  CHECK(g.text(g.outputs()[1].target) == "cache.k");
}

TEST_CASE("declared operators have a schema") {
  const auto module = read(file(call("f", "torch.ops.mylib.scale_.default", R"({"node": "x"}, 2.0)") + ", " +
                                    call("h", "torch.ops.mylib.scale_", R"({"node": "x"}, 3.0)"),
                                "null", "",
                                R"-("torch.ops.mylib.scale_.default": "mylib::scale_(Tensor(a!) x, float by) -> ()",
                                   "torch.ops.mylib.scale_": "mylib::scale_(Tensor(a!) x, float by) -> ()")-"));
  REQUIRE(module.has_value());
  for (const NodeId id : {NodeId{2}, NodeId{3}}) {
    const Call f(module->graph(), id);
    CHECK(f.schema().name() == "mylib.scale_.default");
    CHECK(f.op().writes);
    CHECK(f.operand("x") == NodeId{0});
    CHECK(f.given("by").has_value());
  }
}

TEST_CASE("bookkeeping of with blocks is left out") {
  const std::string enter = node("call_function", "_enter_autocast", "torch.amp.autocast_mode._enter_autocast",
                                 R"("cpu", null, false, null)");
  const std::string calls =
      enter + ", " + call("f", "torch.f", R"({"node": "x"})") + ", " +
      node("call_function", "_exit", "torch.amp.autocast_mode._exit_autocast", R"({"node": "_enter_autocast"})") +
      ", " + node("call_function", "g", "torch._C._set_grad_enabled", "false") + ", " +
      node("call_function", "l", "torch._C._log_api_usage_once", R"("python.nn_module")");
  const auto module = read(file(calls, R"({"node": "f"})"));
  REQUIRE(module.has_value());
  CHECK(module->graph().node_count() == 4);
  CHECK(mistake(read(file(with(calls, "false", "true"), R"({"node": "f"})")))
            .starts_with("f.json: _enter_autocast (m.py:5): error: automatic casts (torch.autocast) are on here"));
}

namespace {

/// A subgraph `g`: f = torch.f(a); returns `returned`.
auto with_subgraph(std::string_view calls, std::string_view returned_by_program, std::string_view returned)
    -> std::string {
  return file(calls, returned_by_program,
              R"(, "subgraphs": {"g": {"nodes": [)" + node("placeholder", "a", "a", "") + ", " +
                  call("f", "torch.f", R"({"node": "a"})") + ", " + node("output", "output", "output", returned) +
                  "]}}");
}

}  // namespace

TEST_CASE("regions and calls of modules are read as part of the program") {
  const auto text = [](const std::string& json) { return printed(read(json)); };
  const std::string expected = "graph():\n"
                               "    %x : [num_users=1] = placeholder[target=L_x_]\n"
                               "    %k : [num_users=0] = placeholder[target=cache.k]\n"
                               "    %f : [num_users=1] = call_function[target=torch.f](args = (%x,), kwargs = {})\n"
                               "    return (f,)\n";
  const std::string module_call = node("call_module", "f", "g", R"({"node": "x"})");
  CHECK(text(with_subgraph(module_call, R"({"node": "f"})", R"({"node": "f"})")) == expected);
  const std::string grad = node("call_function", "w", "torch.ops.higher_order.wrap_with_set_grad_enabled",
                                R"(false, {"subgraph": "g"}, {"node": "x"})");
  const std::string getitem = call("y", "operator.getitem", R"({"node": "w"}, -1)");
  const std::string tuple = R"({"tuple": [null, {"node": "f"}]})";
  CHECK(text(with_subgraph(grad + ", " + getitem, R"({"node": "y"})", tuple)) == expected);
  const std::string invoked = node("call_function", "w", "torch.ops.higher_order.invoke_subgraph",
                                   R"({"subgraph": "g"}, "subgraph_0", {"node": "x"})");
  CHECK(text(with_subgraph(invoked + ", " + getitem, R"({"node": "y"})", tuple)) == expected);
  const std::string checkpoint = node("call_function", "w", "torch.ops.higher_order.tag_activation_checkpoint",
                                      R"({"subgraph": "g"}, {"node": "x"})");
  CHECK(text(with_subgraph(checkpoint + ", " + getitem, R"({"node": "y"})", tuple)) == expected);
  CHECK(mistake(read(with_subgraph(node("call_function", "w", "torch.ops.higher_order.invoke_subgraph",
                                        R"({"subgraph": "g"})"),
                                   "null", "null")))
            .find("a region has too few operands") != std::string::npos);
  // Handed on as a whole.
  CHECK(text(with_subgraph(grad, R"({"node": "w"})", R"({"tuple": [{"node": "f"}]})")) == expected);
  // Called twice: every copy has names of its own.
  CHECK(text(with_subgraph(module_call + ", " + with(module_call, "\"f\"", "\"f2\""),
                           R"([{"node": "f"}, {"node": "f2"}])", R"({"node": "f"})"))
            .find("return (f, f_1)") != std::string::npos);
  CHECK(mistake(read(with_subgraph(grad + ", " + call("z", "torch.z", R"({"node": "w"})"), "null", tuple))) ==
        "f.json: z (m.py:5): error: the several results of 'w' are used as one value [unsupported]");
  CHECK(mistake(read(with_subgraph(node("call_module", "f", "g", ""), "null", "null"))) ==
        "f.json: f (m.py:5): error: a subgraph with 1 inputs gets 0 operands [file-malformed]");
}

TEST_CASE("graphs that double with each level are refused, not unrolled") {
  std::string graph =
      R"({"nodes": [{"op": "output", "name": "output", "target": "output", "args": [null], "kwargs": {}}]})";
  for (int level = 0; level < 60; ++level)
    graph = R"({"nodes": [{"op": "call_module", "name": "a", "target": "g", "args": [], "kwargs": {}},
                          {"op": "call_module", "name": "b", "target": "g", "args": [], "kwargs": {}},
                          {"op": "output", "name": "output", "target": "output", "args": [null], "kwargs": {}}],
                "subgraphs": {"g": )" +
            graph + "}}";
  const std::string message = mistake(read(R"({"format": "fxpass.fx", "version": 1, "graph": )" + graph + "}"));
  CHECK(message.find("inlining subgraphs makes the graph too large [unsupported]") != std::string::npos);
}

TEST_CASE("one mistake, one diagnostic with its place") {
  const std::string good = file(call("f", "torch.f", R"({"node": "x"}, 7)"), R"({"node": "f"})");
  REQUIRE(read(good).has_value());
  const auto check = [&](std::string_view from, std::string_view to, std::string_view expected) {
    CHECK(mistake(read(with(good, from, to))) == expected);
  };
  const std::string at_f = "f.json: f (m.py:5): error: ";
  const std::string bad = " [file-malformed]";
  check(R"("version": 1)", R"("version": 2)",
        "f.json: error: version 2 of FX JSON is not supported: fxpass reads 1 [schema-unsupported]");
  check(R"("fxpass.fx")", R"("other")", "f.json: error: the format is 'other', not 'fxpass.fx'" + bad);
  check(R"("graph")", R"("graf")", "f.json: error: member 'graph' is missing" + bad);
  check(R"("nodes")", R"("nods")", "f.json: error: member 'nodes' is missing" + bad);
  check(R"("name": "f")", R"("name": "x")", "f.json: x (m.py:5): error: two nodes are called 'x'" + bad);
  check(R"("name": "f")", R"("name": "")", "f.json: error: a node has an empty name" + bad);
  check(R"("name": "f")", R"("nam": "f")", "f.json: error: member 'name' is missing" + bad);
  check(R"("op": "call_function")", R"("op": "call")", at_f + "a node is of unknown kind 'call'" + bad);
  check(R"("op": "call_function")", R"("op": "placeholder", "input": {"kind": "token"})",
        at_f + "an input is of unknown kind 'token'" + bad);
  check(R"("storage": 3)", R"("storage": -1)",
        "f.json: k (m.py:5): error: the storage number -1 is out of range" + bad);
  check("7", R"({"node": "f"})", at_f + "node 'f' is used, but none before has this name" + bad);
  check("7", R"({"surprise": "f"})", at_f + "an argument is of unknown kind 'surprise'" + bad);
  check("7", "{}", at_f + "an argument is an empty object" + bad);
  check("7", R"({"node": "x", "tuple": []})", at_f + "an argument has members beside 'node'" + bad);
  check("7", R"({"slice": [1, 2]})", at_f + "a slice should have start, stop and step" + bad);
  check("7", R"({"dict": [[1]]})", at_f + "a dict's member should be a key and a value" + bad);
  check("7", R"({"dtype": "float7"})", at_f + "dtype 'float7' is not known [unknown-dtype]");
  check("7", R"({"layout": "round"})", at_f + "layout 'round' is not known" + bad);
  check("7", R"({"float": "big"})", at_f + "a float should be a number, not \"big\"" + bad);
  check("7", R"({"subgraph": "g"})", at_f + "the graph has no subgraph 'g'" + bad);
  check("7", "9223372036854775808", at_f + "an argument does not fit 64 bits" + bad);
  check(R"("shape": [4, 3])", R"("shape": [4])", "f.json: x (m.py:5): error: a tensor has 1 sizes and 2 strides" + bad);
  check(R"("shape": [4, 3])", R"("shape": [4, -3])", "f.json: x (m.py:5): error: a size is -3" + bad);
  check(R"("shape": [4, 3])", R"("shape": [4, 3.5])", "f.json: x (m.py:5): error: a size should be an integer" + bad);
  check(R"("op": "output")", R"("op": "get_attr")", "f.json: error: the graph has no output node" + bad);
  check(R"({"op": "output")",
        R"({"op": "output", "name": "o", "target": "o", "args": [null], "kwargs": {}}, {"op": "output")",
        "f.json: o: error: a node follows the output node" + bad);
  check(R"(]}})", R"(], "outputs": []}})",
        "f.json: output (m.py:5): error: the program returns 1 values, 'outputs' describes 0" + bad);
  check(R"(]}})", R"(], "outputs": [{"kind": "buffer_mutation", "input": 2}]}})",
        "f.json: output (m.py:5): error: an output is the new value of input 2, but there are 2" + bad);
  check(R"("operators": {)", R"("operators": {"torch.ops.a.b": "nonsense")",
        "f.json: error: the schema of 'torch.ops.a.b' is not in PyTorch's notation: \"nonsense\": a schema begins with the operator's "
        "name, as in 'mylib::foo('" + bad);
}

TEST_CASE("schemas may be given beside the file, and have to be those of the file") {
  const auto with_schema = [](std::string_view schema, std::string_view operators) {
    CustomOperators given;
    CHECK(given.add(schema));
    return parse_fx_json(file(call("f", "torch.ops.mylib.scale_", R"({"node": "x"}, 2.0)") + ", " +
                                  call("g", "torch.ops.mylib.scale_.default", R"({"node": "x"}, 2.0)"),
                              "null", "", operators),
                         "f.json", &given);
  };
  const std::string_view schema = "mylib::scale_(Tensor(a!) x, float by) -> ()";
  for (const std::string_view operators : {"", R"-("torch.ops.mylib.scale_": "mylib::scale_(Tensor(b!) x, float by) -> ()")-"}) {
    const auto module = with_schema(schema, operators);
    REQUIRE(module);
    for (const NodeId id : {NodeId{2}, NodeId{3}}) CHECK(Call(module->graph(), id).schema().name() == "mylib.scale_.default");
    CHECK(module->graph().op(NodeId{2}).write_rule == ops::WriteRule::custom);
  }
  CHECK(mistake(with_schema("mylib::scale_(Tensor x, float by) -> ()",
                            R"-("torch.ops.mylib.scale_": "mylib::scale_(Tensor(a!) x, float by) -> ()")-")) ==
        "f.json: error: the file says \"mylib::scale_(Tensor(a!) x, float by) -> ()\", but the schema that was given is "
        "\"mylib::scale_.default(Tensor x, float by) -> ()\" [invalid-option]");
  CHECK(mistake(with_schema("mylib::scale_(Tensor(a!) x, Tensor by) -> ()", "")) ==
        "f (m.py:5): error: the call does not fit the schema that was given for mylib.scale_.default: "
        "\"mylib::scale_.default(Tensor(a!) x, Tensor by) -> ()\" [invalid-option]");
}

TEST_CASE("a call before a placeholder") {
  const std::string json = file(call("f", "torch.f", "1") + ", " + node("placeholder", "z", "z", ""), "null");
  CHECK(mistake(read(json)) == "f.json: z (m.py:5): error: a placeholder follows a call [file-malformed]");
}

TEST_CASE("arguments that nest without end") {
  std::string nested = "1";
  for (int i = 0; i < 1000; ++i) nested = "[" + nested + "]";
  CHECK(mistake(read(file(call("f", "torch.f", nested), "null"))).find("nested deeper than 512 levels") !=
        std::string::npos);
}

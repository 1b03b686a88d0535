// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/read/exported_program.hpp>

#include "read_test.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace {

using namespace fxpass;

constexpr std::string_view meta =
    R"({"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": false, "device": {"type": "cpu", "index": null},
        "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})";

/// A file with the buffer `b_k` of FQN "cache.k", the input `x`, `nodes`, the result `out`, and metadata for the names
/// in `values`.
auto program(std::string_view nodes, std::initializer_list<std::string_view> values) -> std::string {
  std::string text = R"({"schema_version": {"major": 8, "minor": 20}, "graph_module": {
    "signature": {
      "input_specs": [{"buffer": {"arg": {"name": "b_k"}, "buffer_name": "cache.k", "persistent": false}},
                      {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
      "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "out"}}}}]},
    "graph": {
      "inputs": [{"as_tensor": {"name": "b_k"}}, {"as_tensor": {"name": "x"}}],
      "outputs": [{"as_tensor": {"name": "out"}}],
      "nodes": [)";
  text.append(nodes).append("], \"tensor_values\": {");
  for (const std::string_view name : {std::string_view("b_k"), std::string_view("x")})
    text.append(1, '"').append(name).append("\": ").append(meta).append(", ");
  for (const std::string_view name : values) text.append(1, '"').append(name).append("\": ").append(meta).append(", ");
  text.append("\"out\": ").append(meta);
  return text + "}, \"sym_int_values\": {}, \"sym_bool_values\": {}, \"is_single_tensor_return\": false}}}";
}

/// A node `target(inputs) -> out`.
auto node(std::string_view target, std::string_view inputs,
          std::string_view outputs = R"({"as_tensor": {"name": "out"}})") -> std::string {
  std::string text = R"({"target": ")";
  text.append(target).append(R"(", "inputs": [)").append(inputs).append(R"(], "outputs": [)").append(outputs);
  return text + R"(], "metadata": {"stack_trace": "File \"model.py\", line 7, in forward\n    x + k"}})";
}
auto positional(std::string_view name, std::string_view argument) -> std::string {
  return std::string(R"({"name": ")").append(name).append(R"(", "arg": )").append(argument) + R"(, "kind": 1})";
}
constexpr std::string_view x = R"({"as_tensor": {"name": "x"}})";
constexpr std::string_view k = R"({"as_tensor": {"name": "b_k"}})";

auto addition() -> std::string {
  return program(node("torch.ops.aten.add.Tensor", positional("self", x) + ", " + positional("other", k)), {});
}
auto read(std::string_view json) -> Expected<Module<>> { return parse_exported_program(json, "model.json"); }

/// The call of `out` in a program where it is `torch.f(<argument>)`.
auto call_of(std::string_view argument) -> std::string {
  const auto module = read(program(node("torch.f", positional("a", argument)), {}));
  if (!module) return printed(module);
  return std::string(node_line(module->graph(), NodeId{2}).view());
}
auto calls_f_with(std::string_view argument) -> std::string {
  return std::string("%out : [num_users=1] = call_function[target=torch.f](args = (").append(argument) +
         ",), kwargs = {})";
}

}  // namespace

TEST_CASE("a program: nodes, inputs, outputs, metadata, stack traces") {
  const auto module = read(addition());
  CHECK(printed(module) ==
        "graph():\n"
        "    %b_k : [num_users=1] = placeholder[target=b_k]\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %out : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %b_k), kwargs = {})\n"
        "    return (out,)\n");
  const Graph& g = module->graph();
  CHECK(g.inputs()[0].kind == InputKind::buffer);
  CHECK(g.text(g.inputs()[0].target) == "cache.k");
  CHECK_FALSE(g.inputs()[0].persistent);
  CHECK(g.inputs()[1].kind == InputKind::user_input);
  CHECK(g.inputs()[0].storage == own_storage);
  CHECK(model_line(g, NodeId{2}) == SourcePlace{"model.py", 7, 0});
  const TensorMeta* out = g.tensor(NodeId{2});
  REQUIRE(out != nullptr);
  CHECK(out->dtype == DType::f32);
  CHECK(g.sizes(*out)[0] == SymInt(2));
  CHECK(g.device(out->device) == "cpu");
}

TEST_CASE("every kind of argument") {
  const auto check = [](std::string_view json, std::string_view text) { CHECK(call_of(json) == calls_f_with(text)); };
  check(R"({"as_none": true})", "None");
  check(R"({"as_none": []})", "None");
  check(R"({"as_int": 9223372036854775807})", "9223372036854775807");
  check(R"({"as_ints": []})", "[]");
  check(R"({"as_ints": [1, -2]})", "[1, -2]");
  check(R"({"as_float": 1})", "1.0");
  check(R"({"as_float": "-Infinity"})", "-inf");
  check(R"({"as_float": NaN})", "nan");
  check(R"({"as_floats": [0.5, -Infinity]})", "[0.5, -inf]");
  check(R"({"as_string": "NaN and \" Infinity"})", "NaN and \" Infinity");
  check(R"({"as_bool": true})", "True");
  check(R"({"as_bools": [false]})", "[False]");
  check(R"({"as_strings": ["a"]})", "[a]");
  check(R"({"as_sym_ints": [{"as_int": 3}]})", "[3]");
  check(R"({"as_sym_float": {"as_float": 2.5}})", "2.5");
  check(R"({"as_sym_bool": {"as_bool": true}})", "True");
  check(R"({"as_scalar_type": 13})", "torch.bfloat16");
  check(R"({"as_memory_format": 2})", "torch.channels_last");
  check(R"({"as_layout": 7})", "torch.strided");
  check(R"({"as_device": {"type": "cuda", "index": 1}})", "cuda:1");
  check(R"({"as_tensors": [{"name": "x"}, {"name": "b_k"}]})", "[%x, %b_k]");
  check(R"({"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "x"}}]})", "[None, %x]");
  check(R"({"as_optional_tensor": {"as_tensor": {"name": "x"}}})", "%x");
  check(R"({"as_nested_tensors": [[{"name": "x"}], []]})", "[[%x], []]");
  check(R"({"as_int_lists": [[1], [2, 3]]})", "[[1], [2, 3]]");
  check(R"({"as_complex": {"real": 1.0, "imag": -2.0}})", "(1-2j)");
  check(R"({"as_operator": "torch.ops.aten.add.Tensor"})", "aten.add.Tensor");
  check(R"({"as_string_to_argument": {"a": {"as_int": 1}}})", "{a: 1}");
}

TEST_CASE("arguments find their place by name where the file does not say") {
  const auto alpha = R"({"name": "alpha", "arg": {"as_int": 2}})";
  const auto other = R"({"name": "other", "arg": {"as_tensor": {"name": "b_k"}}, "kind": null})";
  const auto self = R"({"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 0})";
  const auto inputs = std::string(self) + ", " + other + ", " + alpha;
  const auto module = read(program(node("torch.ops.aten.add.Tensor", inputs), {}));
  CHECK(printed(module).find("args = (%x, %b_k), kwargs = {alpha: 2}") != std::string::npos);
  // A default that was left out in between: what follows can only be given by name.
  const auto gap = read(program(
      node("torch.ops.aten.slice.Tensor", positional("self", x) + ", " + positional("end", R"({"as_int": 4})")), {}));
  CHECK(printed(gap).find("args = (%x,), kwargs = {end: 4}") != std::string::npos);
}

TEST_CASE("several results are taken apart, unused ones are not") {
  const std::string_view results = R"({"as_tensor": {"name": "out"}}, {"as_tensor": {"name": "max_1_unused_1"}})";
  std::string json = program(
      node("torch.ops.aten.max.dim", positional("self", x) + ", " + positional("dim", R"({"as_int": 0})"), results),
      {"max_1_unused_1"});
  const auto module = read(with(json, R"("metadata")", R"("name": "max_1", "metadata")"));
  CHECK(printed(module) ==
        "graph():\n"
        "    %b_k : [num_users=0] = placeholder[target=b_k]\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %max_1 : [num_users=1] = call_function[target=torch.ops.aten.max.dim](args = (%x, 0), kwargs = {})\n"
        "    %out : [num_users=1] = call_function[target=operator.getitem](args = (%max_1, 0), kwargs = {})\n"
        "    return (out,)\n");
  CHECK(module->graph().values(NodeId{2}).size() == 2);
  CHECK(module->graph().tensor(NodeId{3}) != nullptr);
}

TEST_CASE("a list result is a tuple, also with one member, also inside a tuple") {
  const auto one = read(
      program(node("torch.ops.aten.chunk.default", positional("self", x), R"({"as_tensors": [{"name": "out"}]})"), {}));
  CHECK(printed(one).find("%out : [num_users=1] = call_function[target=operator.getitem](args = (%chunk, 0)") !=
        std::string::npos);
  const std::string_view nested = R"({"as_none": true}, {"as_tensors": [{"name": "a"}, {"name": "out"}]})";
  const auto two = read(program(node("torch.ops.mylib.f.default", positional("self", x), nested), {"a"}));
  const std::string text = printed(two);
  CHECK(text.find("%getitem : [num_users=2] = call_function[target=operator.getitem](args = (%f, 1)") !=
        std::string::npos);
  CHECK(text.find("%out : [num_users=1] = call_function[target=operator.getitem](args = (%getitem, 1)") !=
        std::string::npos);
}

TEST_CASE("an export's custom operators have the schemas that are given") {
  const std::string json = program(node("torch.ops.mylib.f.default", positional("x", x) + ", " + positional("by", k)), {});
  const auto with_schema = [&](std::string_view schema) {
    CustomOperators given;
    CHECK(given.add(schema));
    return parse_exported_program(json, "model.json", &given);
  };
  const auto module = with_schema("mylib::f(Tensor(a!) x, *, Tensor by) -> Tensor");
  REQUIRE(module);
  CHECK(printed(module).find("mylib.f.default](args = (%x,), kwargs = {by: %b_k})") != std::string::npos);
  CHECK(module->graph().op(NodeId{2}).write_rule == ops::WriteRule::custom);
  CHECK(mistake(with_schema("mylib::f(Tensor(a!) x, Tensor other) -> Tensor")).find(
            "argument 'by' is no parameter of the schema that was given: \"mylib::f.default(Tensor(a!) x, Tensor other) -> "
            "Tensor\" [invalid-option]") != std::string::npos);
}

TEST_CASE("mutations come behind the program's own outputs") {
  std::string json = with(addition(), R"("output_specs": [)",
                          R"("output_specs": [{"buffer_mutation": {"arg": {"name": "out"}, "buffer_name": "cache.k"}},
                             {"user_input_mutation": {"arg": {"name": "out"}, "user_input_name": "x"}}, )");
  json =
      with(json, R"("outputs": [)", R"("outputs": [{"as_tensor": {"name": "out"}}, {"as_tensor": {"name": "b_k"}}, )");
  const auto module = read(json);
  CHECK(printed(module).find("return (out, out, b_k)") != std::string::npos);
  const Graph& g = module->graph();
  REQUIRE(g.outputs().size() == 3);
  CHECK(g.original_output_count() == 1);
  CHECK(g.outputs()[1].kind == OutputKind::buffer_mutation);
  CHECK(g.outputs()[1].input == 0);
  CHECK(g.text(g.outputs()[1].target) == "cache.k");
  CHECK(g.outputs()[2].kind == OutputKind::user_input_mutation);
  CHECK(g.outputs()[2].input == 1);
}

TEST_CASE("constant inputs keep their place") {
  std::string json = with(addition(), R"("input_specs": [)",
                          R"("input_specs": [{"constant_input": {"name": "scale", "value": {"as_float": 2.5}}},
                             {"user_input": {"arg": {"as_none": true}}}, )");
  json = with(json, R"("inputs": [{"as_tensor")", R"("inputs": [{"as_float": 2.5}, {"as_none": true}, {"as_tensor")");
  const auto module = read(json);
  REQUIRE(module.has_value());
  const Graph& g = module->graph();
  CHECK(g.name(NodeId{0}) == "scale");
  CHECK(g.inputs()[0].kind == InputKind::constant_input);
  CHECK(g.inputs()[0].constant.real() == 2.5);
  CHECK(g.node(NodeId{0}).value_kind == ValueKind::none);
  CHECK(g.inputs()[1].constant.is_none());
  CHECK(g.inputs()[2].kind == InputKind::buffer);
}

TEST_CASE("symbolic sizes and symbolic arithmetic") {
  const std::string sym =
      node("torch.ops.aten.sym_size.int", positional("self", x) + ", " + positional("dim", R"({"as_int": 0})"),
           R"({"as_sym_int": {"as_name": "n"}})");
  const std::string mul =
      node("_operator.mul",
           positional("a", R"({"as_sym_int": {"as_name": "n"}})") + ", " + positional("b", R"({"as_int": 2})"),
           R"({"as_sym_int": {"as_name": "m"}})");
  const std::string full =
      node("torch.ops.aten.zeros.default", positional("size", R"({"as_sym_ints": [{"as_name": "m"}]})"));
  std::string json = program(sym + ", " + mul + ", " + full, {});
  json = with(json, R"("out": {"dtype": 7, "sizes": [{"as_int": 2}])",
              R"-("out": {"dtype": 7, "sizes": [{"as_expr": {"hint": {"as_int": 4},
                  "expr_str": "Mul(Integer(2), Symbol('s0', integer=True))"}}])-");
  const auto module = read(json);
  CHECK(printed(module).find("%m : [num_users=1] = call_function[target=operator.mul](args = (%n, 2), kwargs = {})") !=
        std::string::npos);
  const Graph& g = module->graph();
  const TensorMeta* out = g.tensor(NodeId{4});
  REQUIRE(out != nullptr);
  REQUIRE(g.sizes(*out)[0].is_symbolic());
  CHECK(g.expression(g.sizes(*out)[0]) == "2*s0");
  CHECK(g.node(NodeId{2}).value_kind == ValueKind::sym_int);
}

namespace {

/// A region around `y = sin(a); b = y + y` that is called with `x` and whose result is `out`.
auto region(std::string_view operands, std::string_view target) -> std::string {
  const std::string sin = node("torch.ops.aten.sin.default", positional("self", R"({"as_tensor": {"name": "a"}})"),
                               R"({"as_tensor": {"name": "x"}})");
  const std::string graph = R"({"as_graph": {"name": "g", "graph": {"inputs": [{"as_tensor": {"name": "a"}}],
      "outputs": [{"as_tensor": {"name": "x"}}], "nodes": [)" +
                            sin + R"(], "tensor_values": {"a": )" + std::string(meta) + R"(, "x": )" +
                            std::string(meta) + "}}}}";
  return program(node(target, std::string(operands) + positional("", graph) + ", " + positional("", x)), {});
}

}  // namespace

TEST_CASE("regions are read as part of the program around them") {
  const auto grad =
      read(region(positional("", R"({"as_bool": false})") + ", ", "torch.ops.higher_order.wrap_with_set_grad_enabled"));
  CHECK(printed(grad) ==
        "graph():\n"
        "    %b_k : [num_users=0] = placeholder[target=b_k]\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %x_1 : [num_users=1] = call_function[target=torch.ops.aten.sin.default](args = (%x,), kwargs = {})\n"
        "    return (x_1,)\n");
  const auto autocast = [](std::string_view enabled) {
    return region(positional("", R"({"as_string": "cpu"})") + ", " + positional("", R"({"as_none": true})") + ", " +
                      positional("", enabled) + ", " + positional("", R"({"as_none": true})") + ", ",
                  "torch.ops.higher_order.wrap_with_autocast");
  };
  CHECK(printed(read(autocast(R"({"as_bool": false})"))) == printed(grad));
  const std::string message = mistake(read(autocast(R"({"as_bool": true})")));
  CHECK(message.starts_with("model.json: out (model.py:7): error: automatic casts (torch.autocast) are on here"));
  CHECK(message.ends_with("[unsupported]"));
}

TEST_CASE("other graph operands stay graphs") {
  const auto module = read(region(positional("", x) + ", ", "torch.ops.higher_order.mine"));
  REQUIRE(module.has_value());
  REQUIRE(module->graph().subgraphs().size() == 1);
  const Graph& inner = module->graph().subgraphs()[0];
  CHECK(verify(inner).has_value());
  CHECK(inner.node_count() == 3);
  CHECK(inner.inputs().size() == 1);
  CHECK(inner.outputs().size() == 1);
}

TEST_CASE("one mistake, one diagnostic with its place") {
  const std::string good = addition();
  const auto check = [&](std::string_view from, std::string_view to, std::string_view expected) {
    CHECK(mistake(read(with(good, from, to))) == expected);
  };
  const std::string at = "model.json: error: ";
  const std::string at_out = "model.json: out (model.py:7): error: ";
  const std::string bad = " [file-malformed]";
  check(R"("major": 8)", R"("major": 9)",
        at + "export schema 9.20 is not supported: fxpass reads 8.x (PyTorch 2.6 and later) [schema-unsupported]");
  check(R"("schema_version")", R"("version")", at + "member 'schema_version' is missing" + bad);
  check(R"("tensor_values")", R"("values")", at + "member 'tensor_values' is missing" + bad);
  check(R"("inputs": [{"as_tensor")", R"("inputs": [{"as_none": true}, {"as_tensor")",
        at + "the graph has 3 inputs, its signature 2" + bad);
  check(R"("arg": {"name": "b_k"})", R"("arg": {"name": "b_v"})",
        "model.json: b_k: error: the input is called 'b_v' in the signature" + bad);
  check(R"({"user_input")", R"({"surprise")", at + "an input of the signature is of unknown kind 'surprise'" + bad);
  check(R"({"user_output")", R"({"surprise")", at + "an output of the signature is of unknown kind 'surprise'" + bad);
  check(R"("outputs": [{"as_tensor": {"name": "out"}}], "metadata")",
        R"("outputs": [{"as_tensor": {"name": "x"}}], "metadata")",
        "model.json: x (model.py:7): error: value 'x' is given twice" + bad);
  check(R"("arg": {"as_tensor": {"name": "x"}}, "kind")", R"("arg": {"as_tensor": {"name": "z"}}, "kind")",
        at_out + "value 'z' is used, but nothing before gives it" + bad);
  check(R"("arg": {"as_tensor": {"name": "x"}}, "kind")", R"("arg": {"as_surprise": 1}, "kind")",
        at_out + "an argument is of unknown kind 'as_surprise'" + bad);
  check(R"("arg": {"as_tensor": {"name": "x"}}, "kind")", R"("arg": {}, "kind")",
        at_out + "an argument is an empty object" + bad);
  check(R"("arg": {"as_tensor": {"name": "x"}}, "kind")", R"("arg": {"as_int": 1.5}, "kind")",
        at_out + "an argument should be an integer" + bad);
  check(R"("arg": {"as_tensor": {"name": "x"}}, "kind")", R"("arg": {"as_int": 9223372036854775808}, "kind")",
        at_out + "an argument does not fit 64 bits" + bad);
  check(R"("arg": {"as_tensor": {"name": "x"}}, "kind")", R"("arg": {"as_int": -4611686018427387904}, "kind")",
        at_out + "an argument is the integer -4611686018427387904 [unsupported]");
  check(R"("arg": {"as_tensor": {"name": "x"}}, "kind")", R"("arg": {"as_scalar_type": 99}, "kind")",
        at_out + "dtype 99 of the export schema is not known [unknown-dtype]");
  check(R"("out": {"dtype": 7)", R"("out": {"dtype": 0)",
        at_out + "dtype 0 of the export schema is not known [unknown-dtype]");
  check(R"("out": {"dtype": 7, "sizes": [{"as_int": 2}])", R"("out": {"dtype": 7, "sizes": [])",
        at_out + "a tensor has 0 sizes and 1 strides" + bad);
  check(R"("out": {"dtype": 7, "sizes": [{"as_int": 2}])", R"("out": {"dtype": 7, "sizes": [{"as_int": -2}])",
        at_out + "a size is -2" + bad);
  check(R"("out": {"dtype": 7, "sizes": [{"as_int": 2}])",
        R"("out": {"dtype": 7, "sizes": [{"as_int": 4611686018427387904}])",
        at_out + "a tensor is too large for any memory" + bad);
  check(R"("out": {)", R"("in": {)", at_out + "'tensor_values' has no entry for 'out'" + bad);
  check(R"("target": "torch.ops.aten.add.Tensor")", R"("target": 7)", at + "member 'target' should be text" + bad);
  check(R"("metadata": {)", R"("metadata": 3, "was": {)",
        "model.json: torch.ops.aten.add.Tensor: error: member 'metadata' should be an object" + bad);
  check(R"("outputs": [{"as_tensor": {"name": "out"}}],
)",
        R"("outputs": [],
)",
        at + "the graph has 0 outputs, its signature 1" + bad);
}

TEST_CASE("text that is no JSON") {
  CHECK(mistake(read("")) == "model.json: error: the file is empty [file-unreadable]");
  CHECK(mistake(read("[]")) == "model.json: error: the file should be an object [file-malformed]");
  CHECK(mistake(read("\xff{}")) == "model.json: error: the file is not UTF-8 text [file-malformed]");
  CHECK(mistake(read("junk")) == "model.json:1:1: error: this is not JSON [file-malformed]");
  CHECK(mistake(read("{\"a\": 1,\n \"b\": }")) == "model.json:2:7: error: this is not JSON [file-malformed]");
  CHECK(mistake(read("{\"a\": [1, 2}")) == "model.json:1:12: error: this is not JSON [file-malformed]");
  CHECK(mistake(read("{\"a\": 1} 2")) == "model.json:1:10: error: this is not JSON [file-malformed]");
  CHECK(mistake(read("{\"a\": 1,}")) == "model.json:1:9: error: this is not JSON [file-malformed]");
  CHECK(mistake(read("{\"a\":\n123456789012345678901}")) ==
        "model.json:2:1: error: a number is malformed or does not fit 64 bits [file-malformed]");
  const std::string good = addition();
  for (std::size_t size = 1; size < good.size(); size += 7)
    CHECK(mistake(read(good.substr(0, size))) == "model.json: error: the file is cut short [file-unreadable]");
  const std::string open(100'000, '[');
  const std::string close(100'000, ']');
  CHECK(mistake(read("{\"a\": " + open + close + "}")) ==
        "model.json: error: the file is nested deeper than 512 levels [file-malformed]");
}

TEST_CASE("a file that is not there") {
  CHECK(mistake(read_exported_program("no/such/file.json")) ==
        "no/such/file.json: error: cannot be opened: No such file or directory [file-unreadable]");
}

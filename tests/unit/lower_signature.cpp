// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/builder.hpp>
#include <fxpass/lower/signature.hpp>

#include "twice.hpp"

#include <initializer_list>

namespace {

using namespace fxpass;

/// A program with a weight, a buffer that it writes, a constant, an input that it returns, and a None output.
constexpr auto program() -> Graph {
  GraphBuilder b;
  const auto input = [&](InputKind kind, std::string_view target) {
    InputSpec spec;
    spec.kind = kind;
    spec.target = b.text(target);
    return spec;
  };
  b.placeholder("p_w", b.tensor(DType::bf16, {3}), input(InputKind::parameter, "layer.\"w\""));
  const NodeId k = b.placeholder("b_k", b.tensor(DType::f32, {8, 4}), input(InputKind::buffer, "k"));
  b.placeholder("flag", {}, input(InputKind::constant_input, ""));
  const NodeId x = b.placeholder("x", b.tensor(DType::i64, {}), input(InputKind::user_input, ""));
  const NodeId y = b.call_function("torch.ops.aten.neg.default", {k}, b.tensor(DType::f32, {8, 4}));
  OutputSpec mutation;
  mutation.kind = OutputKind::buffer_mutation;
  mutation.input = 1;
  mutation.target = b.text("k");
  const Argument values[] = {y, Argument{}, x, x, y};
  const OutputSpec specs[] = {mutation, {}, {}, {}, {}};
  b.output(values, specs);
  return std::move(b).finish();
}

constexpr auto signatures_tell_how_to_run_a_module() -> bool {
  const auto signature = signature_of(program());
  if (!signature) return false;
  Text json;
  write_json(json, *signature);
  return json ==
         R"({"inputs": [
  {"index": 0, "name": "p_w", "kind": "parameter", "target": "layer.\"w\"", "dtype": "bf16", "shape": [3], "hlo_parameter": 0},
  {"index": 1, "name": "b_k", "kind": "buffer", "target": "k", "dtype": "f32", "shape": [8,4], "hlo_parameter": 1},
  {"index": 2, "name": "flag", "kind": "constant_input", "target": null, "dtype": null, "shape": null, "hlo_parameter": null},
  {"index": 3, "name": "x", "kind": "user_input", "target": null, "dtype": "s64", "shape": [], "hlo_parameter": 2}],
 "outputs": [
  {"index": 0, "name": null, "kind": "user_output", "target": null, "dtype": null, "shape": null, "hlo_output": null},
  {"index": 1, "name": "x", "kind": "user_output", "target": null, "dtype": "s64", "shape": [], "hlo_output": 0},
  {"index": 2, "name": "x", "kind": "user_output", "target": null, "dtype": "s64", "shape": [], "hlo_output": 1},
  {"index": 3, "name": "neg", "kind": "user_output", "target": null, "dtype": "f32", "shape": [8,4], "hlo_output": 2},
  {"index": 4, "name": "neg", "kind": "buffer_mutation", "target": "k", "dtype": "f32", "shape": [8,4], "hlo_output": 3}],
 "original_output_count": 4,
 "io_map": {"1": 3, "4": 1},
 "hlo_input_output_alias": {"3": 1},
 "has_rng_seed_parameter": false}
)";
}
FXPASS_TEST_TWICE(signatures_tell_how_to_run_a_module)

/// A graph whose outputs are `values` of input `x` or `y`, each the new value of an input.
constexpr auto fails(std::initializer_list<std::uint32_t> written, bool wrong_shape) -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  const NodeId y = b.call_method("neg", {x}, b.tensor(wrong_shape ? DType::f16 : DType::f32, {2}));
  Pool<Argument> values;
  Pool<OutputSpec> specs;
  for (const std::uint32_t input : written) {
    OutputSpec spec;
    spec.kind = OutputKind::user_input_mutation;
    spec.input = input;
    values.push_back(y);
    specs.push_back(spec);
  }
  b.output(values.view(), specs.view());
  const auto signature = signature_of(std::move(b).finish());
  return !signature && signature.error().front().code == DiagnosticCode::invalid_graph;
}
constexpr auto a_new_value_fits_its_input() -> bool {
  return !fails({0}, false) && fails({0}, true) && fails({0, 0}, false) && fails({1}, false);
}
FXPASS_TEST_TWICE(a_new_value_fits_its_input)

/// An input that is written and whose old value is returned: the output is not stored in it.
constexpr auto an_old_value_is_not_written_back() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  const NodeId y = b.call_method("neg", {x}, b.tensor(DType::f32, {2}));
  OutputSpec mutation;
  mutation.kind = OutputKind::user_input_mutation;
  mutation.input = 0;
  const Argument values[] = {x, y};
  const OutputSpec specs[] = {{}, mutation};
  b.output(values, specs);
  const auto signature = signature_of(std::move(b).finish());
  return signature && signature->io_map.size() == 1 && signature->io_map[0] == WriteBack{1, 0};
}
FXPASS_TEST_TWICE(an_old_value_is_not_written_back)

/// Of what is no tensor nothing can be missing; of a value that a printed graph does not describe, all is.
constexpr auto an_output_without_a_shape_says_why() -> bool {
  const auto error_of = [](ValueKind kind) {
    GraphBuilder b;
    ValueSpec value;
    value.kind = kind;
    b.output({b.call_function("torch.ops.mylib.f.default", {b.placeholder("x", value)}, value)});
    return signature_of(std::move(b).finish()).error().front().code;
  };
  return error_of(ValueKind::none) == DiagnosticCode::missing_metadata &&
         error_of(ValueKind::sym_int) == DiagnosticCode::unsupported;
}
FXPASS_TEST_TWICE(an_output_without_a_shape_says_why)

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/call.hpp>
#include <fxpass/graph/geometry.hpp>
#include <fxpass/hlo/module.hpp>
#include <fxpass/support/decimal.hpp>
#include <fxpass/support/expected.hpp>
#include <fxpass/support/json_text.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// `Signature`: how to run a lowered module. What each parameter and result of the module is, and which results are
/// the new values of which inputs.

namespace fxpass {

/// What is known of an input or output that is a tensor.
struct SignatureTensor {
  hlo::Shape shape;             ///< its dtype and sizes
  std::uint32_t hlo_index = 0;  ///< number of the parameter, or element of the result tuple

  friend constexpr auto operator==(const SignatureTensor&, const SignatureTensor&) -> bool = default;
};

/// An input of the program, a parameter of the module if it is a tensor.
struct SignatureInput {
  InputKind kind = InputKind::user_input;  ///< what it is
  Text name;                               ///< of the placeholder
  Text target;                             ///< qualified name of a parameter, buffer or constant; else empty
  std::optional<SignatureTensor> tensor;   ///< none for None, constants and tokens

  friend constexpr auto operator==(const SignatureInput&, const SignatureInput&) -> bool = default;
};

/// An output of the program, an element of the module's result if it is a tensor.
struct SignatureOutput {
  OutputKind kind = OutputKind::user_output;  ///< what it is
  Text name;                              ///< of the node; empty if the output is None or a constant
  Text target;                            ///< of a mutation: the input's qualified name; else empty
  std::optional<SignatureTensor> tensor;  ///< none for None and constants
  Text value = {};                        ///< of a constant: the JSON of a number, bool or string; else empty

  friend constexpr auto operator==(const SignatureOutput&, const SignatureOutput&) -> bool = default;
};

/// `output` of the module is to be stored in `input`.
struct WriteBack {
  std::uint32_t output = 0;  ///< which output, or result of the module
  std::uint32_t input = 0;   ///< which input, or parameter of the module

  friend constexpr auto operator==(WriteBack, WriteBack) -> bool = default;
};

/// How to run a lowered module. Indices of `io_map` are those of `outputs` and `inputs`; those of
/// `hlo_input_output_alias` are numbers of results and parameters of the module.
struct Signature {
  std::vector<SignatureInput> inputs;       ///< in the order of the placeholders
  std::vector<SignatureOutput> outputs;     ///< in the order of the result tuple
  std::uint32_t original_output_count = 0;  ///< outputs that the program itself returns; they come first
  Pool<WriteBack> io_map;                   ///< mutated inputs, and inputs returned untouched
  Pool<WriteBack> hlo_input_output_alias;   ///< mutated inputs: the result lies in the parameter's buffer
  bool has_rng_seed_parameter = false;      ///< the last parameter is a seed, u64[2]

  friend constexpr auto operator==(const Signature&, const Signature&) -> bool = default;
};

namespace detail {

/// The JSON of a constant that a program returns; empty for one that JSON cannot hold. Numbers that are not finite are
/// strings.
[[nodiscard]] constexpr auto json_of_constant(const Graph& graph, const Argument& constant) -> Text {
  Text json;
  if (constant.is(ArgumentKind::integer)) {
    append_to(json, constant.integer());
  } else if (constant.is(ArgumentKind::boolean)) {
    append_to(json, constant.boolean() ? "true" : "false");
  } else if (constant.is(ArgumentKind::string)) {
    append_json_string(json, graph.text(constant.text()));
  } else if (constant.is(ArgumentKind::real)) {
    const double value = constant.real();
    const bool is_finite = value - value == 0;
    if (!is_finite) append_to(json, '"');
    append_decimal(json, value);
    if (!is_finite) append_to(json, '"');
  }
  return json;
}

/// Writes JSON with one member of a list a line.
template <TextSink Sink>
class SignatureWriter {
 public:
  constexpr explicit SignatureWriter(Sink& sink) : sink_(sink) {}

  constexpr void write(const Signature& s) {
    append_to(sink_, "{\"inputs\": [");
    for (std::size_t i = 0; i < s.inputs.size(); ++i) write_entry(i, s.inputs[i], "hlo_parameter", {});
    append_to(sink_, "],\n \"outputs\": [");
    for (std::size_t i = 0; i < s.outputs.size(); ++i) write_entry(i, s.outputs[i], "hlo_output", s.outputs[i].value);
    append_all(sink_, "],\n \"original_output_count\": ", s.original_output_count, ",\n \"io_map\": ");
    write_map(s.io_map);
    append_to(sink_, ",\n \"hlo_input_output_alias\": ");
    write_map(s.hlo_input_output_alias);
    append_all(sink_, ",\n \"has_rng_seed_parameter\": ", s.has_rng_seed_parameter ? "true" : "false", "}\n");
  }

 private:
  template <class Entry>
  constexpr void write_entry(std::size_t index, const Entry& entry, std::string_view hlo_index, std::string_view value) {
    append_all(sink_, index == 0 ? "\n  " : ",\n  ", "{\"index\": ", index, ", \"name\": ");
    write_text(entry.name);
    append_to(sink_, ", \"kind\": ");
    write_text(to_string(entry.kind));
    append_to(sink_, ", \"target\": ");
    write_text(entry.target);
    append_to(sink_, ", \"dtype\": ");
    write_text(entry.tensor ? dtype_info(entry.tensor->shape.dtype).xla_name : std::string_view());
    append_to(sink_, ", \"shape\": ");
    if (entry.tensor) {
      append_to(sink_, '[');
      const hlo::Dims& dims = entry.tensor->shape.dims;
      for (std::size_t d = 0; d < dims.size(); ++d) append_all(sink_, d == 0 ? "" : ",", dims[d]);
      append_all(sink_, "], \"", hlo_index, "\": ", entry.tensor->hlo_index, '}');
    } else {
      append_all(sink_, "null, \"", hlo_index, "\": null");
      if (!value.empty()) append_all(sink_, ", \"value\": ", value);
      append_to(sink_, '}');
    }
  }
  constexpr void write_map(const Pool<WriteBack>& map) {
    append_to(sink_, '{');
    for (std::uint32_t i = 0; i < map.size(); ++i)
      append_all(sink_, i == 0 ? "\"" : ", \"", map[i].output, "\": ", map[i].input);
    append_to(sink_, '}');
  }
  /// A JSON string; null for what is empty.
  constexpr void write_text(std::string_view text) {
    if (text.empty())
      append_to(sink_, "null");
    else
      append_json_string(sink_, text);
  }

  Sink& sink_;
};

}  // namespace detail

/// Writes the signature as a JSON object, which docs/fxpassc.md describes. O(inputs + outputs).
///
///     Text json;
///     write_json(json, lowered.signature);
template <TextSink Sink>
constexpr void write_json(Sink& sink, const Signature& signature) {
  detail::SignatureWriter<Sink>(sink).write(signature);
}

namespace detail {

/// Works out the signature of a graph.
class SignatureMaker {
 public:
  constexpr explicit SignatureMaker(const Graph& graph) : graph_(graph) {}

  [[nodiscard]] constexpr auto make() -> Expected<Signature> {
    add_inputs();
    add_outputs();
    add_mutations();
    add_untouched_inputs();
    if (!errors_.empty()) return std::move(errors_);
    return std::move(signature_);
  }

 private:
  [[nodiscard]] constexpr auto shape_of(NodeId id) -> std::optional<hlo::Shape> {
    const TensorMeta* meta = graph_.tensor(id);
    if (meta == nullptr) return std::nullopt;
    hlo::Shape shape{meta->dtype, {}};
    for (const SymInt& size : graph_.sizes(*meta)) {
      if (size.is_symbolic())
        errors_.add(error_at(graph_, id, DiagnosticCode::symbolic_size,
                             text_of("a size is ", graph_.expression(size),
                                     ", but the signature needs a number; bind its symbols")));
      shape.dims.push_back(size.is_symbolic() ? 0 : size.value());
    }
    return shape;
  }
  constexpr void add_inputs() {
    std::uint32_t parameters = 0;
    for (const InputSpec& spec : graph_.inputs()) {
      SignatureInput input{spec.kind, graph_.name(spec.node), graph_.text(spec.target), {}};
      if (const auto shape = shape_of(spec.node)) input.tensor = SignatureTensor{*shape, parameters++};
      signature_.inputs.push_back(std::move(input));
    }
  }
  constexpr void add_outputs() {
    signature_.original_output_count = graph_.original_output_count();
    std::uint32_t results = 0;
    const auto values = graph_.arguments(graph_.output_node());
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const OutputSpec& spec = graph_.outputs()[i];
      SignatureOutput output{spec.kind, {}, graph_.text(spec.target), {}, {}};
      if (values[i].is_node()) {
        output.name = graph_.name(values[i].node());
        if (const auto shape = shape_of(values[i].node()))
          output.tensor = SignatureTensor{*shape, results++};
        else
          errors_.add(output_error(i, values[i].node()));
      } else if (!values[i].is_none()) {
        output.value = json_of_constant(graph_, values[i]);
        if (output.value.empty())
          errors_.add(error_at(graph_, graph_.output_node(), DiagnosticCode::unsupported,
                               text_of("output ", i, " is a constant that the signature cannot hold")));
      }
      signature_.outputs.push_back(std::move(output));
    }
  }
  /// For an output without a tensor's metadata: what is known of it, or that nothing is.
  [[nodiscard]] constexpr auto output_error(std::size_t i, NodeId id) const -> Diagnostic {
    if (graph_.node(id).value_kind == ValueKind::none)
      return error_at(graph_, id, DiagnosticCode::missing_metadata,
                      text_of("the signature needs the shape of output ", i, ": ", why_no_geometry(graph_, id)));
    return error_at(graph_, id, DiagnosticCode::unsupported,
                    text_of("output ", i, " is no tensor, and the signature holds tensors and constants alone"));
  }
  constexpr void add_mutations() {
    is_written_.resize(static_cast<std::uint32_t>(signature_.inputs.size()), 0);
    for (std::uint32_t o = 0; o < signature_.outputs.size(); ++o) {
      const OutputSpec& spec = graph_.outputs()[o];
      if (!is_mutation(spec.kind)) continue;
      const auto fail = [&](std::string_view what) {
        errors_.add(error_at(graph_, graph_.output_node(), DiagnosticCode::invalid_graph,
                             text_of("output ", o, ", the new value of an input, ", what)));
      };
      if (spec.input >= signature_.inputs.size() || !signature_.inputs[spec.input].tensor) {
        fail("names no tensor input");
      } else if (!signature_.outputs[o].tensor) {
        fail("is no tensor");
      } else if (is_written_[spec.input] != 0) {
        fail("is not the only one of that input");
      } else if (!(signature_.outputs[o].tensor->shape == signature_.inputs[spec.input].tensor->shape)) {
        fail("differs from that input in shape or dtype");
      } else {
        is_written_[spec.input] = 1;
        signature_.io_map.push_back({o, spec.input});
        signature_.hlo_input_output_alias.push_back(
            {signature_.outputs[o].tensor->hlo_index, signature_.inputs[spec.input].tensor->hlo_index});
      }
    }
  }
  /// An input that the program returns as it is; the first output that does so counts.
  constexpr void add_untouched_inputs() {
    Pool<WriteBack> untouched;
    const auto values = graph_.arguments(graph_.output_node());
    for (std::uint32_t o = 0; o < signature_.outputs.size(); ++o) {
      if (!is_returned(signature_.outputs[o].kind) || !values[o].is_node()) continue;
      const std::uint32_t input = graph_.input_of(values[o].node());
      if (input == no_input || is_written_[input] != 0 || !signature_.inputs[input].tensor) continue;
      is_written_[input] = 1;
      untouched.push_back({o, input});
    }
    // In the order of the outputs, the program's own first.
    untouched.append(signature_.io_map.view());
    signature_.io_map = std::move(untouched);
  }

  const Graph& graph_;
  Signature signature_;
  Diagnostics errors_;
  Pool<std::uint8_t> is_written_;  ///< by input
};

}  // namespace detail

/// The signature of `graph`, whose tensor inputs become the parameters of a module and whose tensor outputs
/// its results, both in order. Errors: `symbolic_size` where a size of theirs is symbolic, `missing_metadata` for
/// an output of which nothing is known, `unsupported` for one that is no tensor and no constant of JSON,
/// `invalid_graph` for a mutation that does not fit its input. O(inputs + outputs).
[[nodiscard]] constexpr auto signature_of(const Graph& graph) -> Expected<Signature> {
  return detail::SignatureMaker(graph).make();
}

}  // namespace fxpass

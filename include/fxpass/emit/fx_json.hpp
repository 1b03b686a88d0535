// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/emit/graph_emitter.hpp>
#include <fxpass/graph/call.hpp>
#include <fxpass/graph/functional_form.hpp>
#include <fxpass/graph/print.hpp>
#include <fxpass/support/json_text.hpp>
#include <fxpass/support/python_literal.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

/// @file
/// A graph as FX JSON, which read/fx_json.hpp reads. docs/fx-json.md describes the format; the names ARG,
/// VALUE, INPUT and SPEC below are that page's.

namespace fxpass {

namespace detail {

/// Writes one graph, and those that it calls.
template <TextSink Sink>
class FxJsonWriter {
 public:
  constexpr FxJsonWriter(Sink& sink, const Graph& graph) : sink_(sink), graph_(graph) {}

  /// `{"nodes": [...], ...}`, one node a line.
  constexpr void write_graph() {
    put("{\"nodes\": [");
    for (NodeId id{0}; id.index < graph_.node_count(); ++id.index) {
      put(id.index == 0 ? "\n" : ",\n");
      write_node(id);
    }
    put("],\n\"outputs\": [");
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      put(i == 0 ? "" : ", ");
      write_output(graph_.outputs()[i]);
    }
    put(']');
    write_size_ranges();
    for (std::size_t i = 0; i < graph_.subgraphs().size(); ++i) {
      append_all(sink_, i == 0 ? ",\n\"subgraphs\": {\"subgraph_" : ",\n\"subgraph_", i, "\": ");
      FxJsonWriter(sink_, graph_.subgraphs()[i]).write_graph();
    }
    put(graph_.subgraphs().empty() ? "}" : "}}");
  }
  /// The schemas of operators outside of PyTorch's own, those of nested graphs included: `"target":
  /// "schema"`.
  constexpr void write_schemas(std::string_view& separator) {
    for (const Operator& op : graph_.operators()) {
      const std::string_view schema = graph_.text(op.schema);
      if (schema.find('(') == std::string_view::npos) continue;
      const bool is_functional = is_either_functional_form(graph_, op);
      Text target(graph_.text(op.spelling));
      if (is_functional) {  // the schema is that of the operator that is called
        target = text_of("torch.ops.", graph_.schema(op).name());
        if (has_operator_before(target, op)) continue;
      }
      put(separator);
      separator = ", ";
      put_string(target);
      put(": ");
      put_string(ops::with_colons(schema));
    }
    for (const Graph& subgraph : graph_.subgraphs()) FxJsonWriter(sink_, subgraph).write_schemas(separator);
  }

 private:
  /// Whether the schema of `target` is written for another record than `op`: for that of its own calls, or for one before `op`.
  [[nodiscard]] constexpr auto has_operator_before(const Text& target, const Operator& op) const -> bool {
    bool is_before = true;
    for (const Operator& other : graph_.operators()) {
      is_before = is_before && &other != &op;
      if (other.schema == TextId{} || &other == &op) continue;
      const bool is_functional = is_either_functional_form(graph_, other);
      if (graph_.text(other.spelling) == target) return true;
      if (is_before && is_functional && text_of("torch.ops.", graph_.schema(other).name()) == target) return true;
    }
    return false;
  }
  template <class... T>
  constexpr void put(const T&... parts) {
    append_all(sink_, parts...);
  }
  constexpr void put_string(std::string_view text) { append_json_string(sink_, text); }
  constexpr void put_tagged(std::string_view form, std::string_view text) {
    put("{\"", form, "\": ");
    put_string(text);
    put('}');
  }

  /// `{"2*s0": [4, 64]}`, null where there is no bound.
  constexpr void write_size_ranges() {
    if (graph_.size_ranges().empty()) return;
    put(",\n\"sizes\": {");
    for (std::size_t i = 0; i < graph_.size_ranges().size(); ++i) {
      const SizeRange& range = graph_.size_ranges()[i];
      put(i == 0 ? "" : ", ");
      put_string(graph_.text(range.expression));
      put(": [");
      write_bound(range.min, std::numeric_limits<std::int64_t>::min());
      put(", ");
      write_bound(range.max, std::numeric_limits<std::int64_t>::max());
      put(']');
    }
    put('}');
  }
  constexpr void write_bound(std::int64_t bound, std::int64_t none) {
    if (bound == none) return put("null");
    put(bound);
  }

  constexpr void write_node(NodeId id) {
    const Node& node = graph_.node(id);
    put("{\"op\": \"", to_string(node.kind), "\", \"name\": ");
    put_string(graph_.name(id));
    put(", \"target\": ");
    put_string(graph_.target(id));
    const auto arguments = graph_.arguments(id);
    std::size_t positional = 0;
    while (positional < arguments.size() && !arguments[positional].is_keyword()) ++positional;
    const bool is_output = node.kind == NodeKind::output;
    put(", \"args\": [", is_output ? "{\"tuple\": [" : "");
    write_arguments(arguments.first(positional));
    put(is_output ? "]}], \"kwargs\": {" : "], \"kwargs\": {");
    for (std::size_t i = positional; i < arguments.size(); ++i) {
      put(i == positional ? "" : ", ");
      put_string(graph_.text(arguments[i].keyword()));
      put(": ");
      write_argument(arguments[i]);
    }
    put('}');
    if (node.value_kind != ValueKind::none) {
      put(", \"value\": ");
      write_value(id);
    }
    if (node.kind == NodeKind::placeholder) write_input(graph_.inputs()[graph_.input_of(id)]);
    if (const std::string_view trace = graph_.text(node.stack_trace); !trace.empty()) {
      put(", \"stack_trace\": ");
      put_string(trace);
    }
    put('}');
  }
  constexpr void write_arguments(Span<const Argument> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      put(i == 0 ? "" : ", ");
      write_argument(arguments[i]);
    }
  }
  constexpr void write_group(std::string_view open, const Argument& a, std::string_view close) {
    put(open);
    write_arguments(graph_.children(a));
    put(close);
  }
  /// A number that JSON can hold, or the text of one that it cannot.
  constexpr void write_real(double value) {
    const bool is_finite = value - value == 0;
    put(is_finite ? "" : "\"");
    append_python_float(sink_, value);
    put(is_finite ? "" : "\"");
  }
  constexpr void write_argument(const Argument& a) {
    switch (a.kind()) {
      case ArgumentKind::none: return put("null");
      case ArgumentKind::node: return put_tagged("node", graph_.name(a.node()));
      case ArgumentKind::integer: return put(a.integer());
      case ArgumentKind::sym_int: return put_tagged("symint", graph_.expression(a.sym_int()));
      case ArgumentKind::boolean: return put(a.boolean() ? "true" : "false");
      case ArgumentKind::string: return put_string(graph_.text(a.text()));
      case ArgumentKind::dtype: return put_tagged("dtype", dtype_info(a.dtype()).torch_name);
      case ArgumentKind::device: return put_tagged("device", graph_.device(a.device()));
      case ArgumentKind::layout: return put_tagged("layout", to_string(a.layout()));
      case ArgumentKind::memory_format: return put_tagged("memory_format", to_string(a.memory_format()));
      case ArgumentKind::ellipsis: return put("{\"ellipsis\": true}");
      case ArgumentKind::subgraph: return put("{\"subgraph\": \"subgraph_", a.subgraph(), "\"}");
      case ArgumentKind::operation: return put_tagged("operator", graph_.text(a.text()));
      case ArgumentKind::list: return write_group("[", a, "]");
      case ArgumentKind::tuple: return write_group("{\"tuple\": [", a, "]}");
      case ArgumentKind::slice: return write_group("{\"slice\": [", a, "]}");
      case ArgumentKind::real: {
        const bool is_finite = a.real() - a.real() == 0;
        put(is_finite ? "" : "{\"float\": ");
        write_real(a.real());
        return put(is_finite ? "" : "}");
      }
      case ArgumentKind::complex:
        put("{\"complex\": [");
        write_real(real_value(graph_.children(a)[0]));
        put(", ");
        write_real(real_value(graph_.children(a)[1]));
        return put("]}");
      case ArgumentKind::dict: {
        const auto items = graph_.children(a);
        put("{\"dict\": [");
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
          put(i == 0 ? "[" : ", [");
          write_arguments(items.subspan(i, 2));
          put(']');
        }
        return put("]}");
      }
    }
  }

  // VALUE --------------------------------------------------------------------------------------------------
  constexpr void write_value(NodeId id) {
    switch (graph_.node(id).value_kind) {
      case ValueKind::none: return put("null");
      case ValueKind::sym_int: return put("{\"symint\": \"\"}");
      case ValueKind::scalar: return put("{\"symfloat\": \"\"}");
      case ValueKind::tensor: return write_tensor(graph_.tensor(id));
      case ValueKind::tuple: break;
    }
    put('[');
    std::string_view separator = "";
    for (const TensorMeta& meta : graph_.values(id)) {
      put(separator);
      separator = ", ";
      write_tensor(meta.known ? &meta : nullptr);
    }
    put(']');
  }
  constexpr void write_tensor(const TensorMeta* meta) {
    if (meta == nullptr) return put("null");
    put("{\"dtype\": \"", dtype_info(meta->dtype).torch_name, "\", \"shape\": ");
    write_sym_ints(graph_.sizes(*meta));
    put(", \"stride\": ");
    write_sym_ints(graph_.strides(*meta));
    put(", \"offset\": ");
    write_sym_int(meta->storage_offset);
    put(", \"device\": ");
    put_string(graph_.device(meta->device));
    put('}');
  }
  constexpr void write_sym_int(SymInt s) {
    if (s.is_symbolic()) return put_string(graph_.expression(s));
    put(s.value());
  }
  constexpr void write_sym_ints(Span<const SymInt> numbers) {
    put('[');
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      put(i == 0 ? "" : ", ");
      write_sym_int(numbers[i]);
    }
    put(']');
  }

  // INPUT and SPEC -----------------------------------------------------------------------------------------
  constexpr void write_input(const InputSpec& input) {
    put(", \"input\": {\"kind\": \"", to_string(input.kind), '"');
    if (input.target != TextId{} && input.target != graph_.node(input.node).target) {
      put(", \"target\": ");
      put_string(graph_.text(input.target));
    }
    if (input.storage != own_storage) put(", \"storage\": ", input.storage);
    if (input.kind == InputKind::buffer && !input.persistent) put(", \"persistent\": false");
    if (input.kind == InputKind::constant_input) {
      put(", \"constant\": ");
      write_argument(input.constant);
    }
    put('}');
  }
  constexpr void write_output(const OutputSpec& output) {
    put("{\"kind\": \"", to_string(output.kind), '"');
    if (output.input != no_input) put(", \"input\": ", output.input);
    put('}');
  }

  Sink& sink_;
  const Graph& graph_;
};

/// What FX JSON has no form for, in a graph or in those that it calls.
constexpr void check_fx_json_form(const Graph& graph, Diagnostics& errors) {
  for (const InputSpec& input : graph.inputs())
    if (input.kind == InputKind::custom_obj || input.kind == InputKind::token)
      errors.add(error_at(
          graph, input.node, DiagnosticCode::unsupported,
          text_of("is an input of kind ", to_string(input.kind), ", which FX JSON has no form for")));
  for (const OutputSpec& output : graph.outputs())
    if (output.kind != OutputKind::user_output && output.kind != OutputKind::buffer_mutation &&
        output.kind != OutputKind::parameter_mutation && output.kind != OutputKind::user_input_mutation)
      errors.add(error_at(
          graph, graph.output_node(), DiagnosticCode::unsupported,
          text_of("has a value of kind ", to_string(output.kind), ", which FX JSON has no form for")));
  for (const Graph& subgraph : graph.subgraphs()) check_fx_json_form(subgraph, errors);
}

}  // namespace detail

/// FX JSON. Reading it back gives an equal graph, but for what passes note beside the nodes: replica groups
/// are resolved anew. Errors: inputs that are custom objects or tokens, and outputs of training. O(nodes +
/// arguments + text).
struct FxJson {
  static constexpr std::string_view name = "fx-json";
  static constexpr std::string_view file_ending = ".json";

  template <TextSink Sink>
  static constexpr auto write(Sink& sink, const Graph& graph) -> Status {
    Diagnostics errors;
    detail::check_fx_json_form(graph, errors);
    if (!errors.empty()) return errors;
    detail::FxJsonWriter<Sink> writer(sink, graph);
    append_to(sink, "{\"format\": \"fxpass.fx\", \"version\": 1, \"producer\": \"fxpass\", \"operators\": {");
    std::string_view separator = "";
    writer.write_schemas(separator);
    append_to(sink, "},\n\"graph\": ");
    writer.write_graph();
    append_to(sink, "}\n");
    return {};
  }
};
static_assert(GraphEmitter<FxJson>);

}  // namespace fxpass

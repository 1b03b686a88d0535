// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/graph.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// The texts that are read: graphs of float tensors whose arguments are nodes, dtypes and devices, as PyTorch
/// exports them.

namespace fxpass::bench {

/// Appends the parts that both formats have in common, for one graph.
class TextWriter {
 public:
  explicit TextWriter(const Graph& graph) : graph_(graph) {}

 protected:
  template <class... Parts>
  void put(const Parts&... parts) {
    append_all(text_, parts...);
  }
  void put_name(NodeId id) {
    put('"');
    graph_.append_name(text_, graph_.node(id).name);
    put('"');
  }
  /// A stack trace with its line feeds escaped.
  void put_trace(NodeId id) {
    put("\"stack_trace\": \"");
    for (const char c : graph_.text(graph_.node(id).stack_trace)) {
      if (c == '"') put('\\');
      if (c == '\n')
        put("\\n");
      else
        put(c);
    }
    put('"');
  }
  /// Calls `item(i)` for each i below `count`, with commas between.
  template <class F>
  void put_list(std::uint32_t count, F item) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i != 0) put(", ");
      item(i);
    }
  }

  const Graph& graph_;
  Text text_;
};

/// FX JSON (docs/fx-json.md).
class FxJsonWriter : TextWriter {
 public:
  using TextWriter::TextWriter;

  [[nodiscard]] auto write() && -> Text {
    put(R"({"format": "fxpass.fx", "version": 1, "graph": {"nodes": [)", '\n');
    put_list(graph_.node_count(), [&](std::uint32_t i) { put_node(NodeId{i}); });
    put("]}}\n");
    return text_;
  }

 private:
  void put_node(NodeId id) {
    const Node& node = graph_.node(id);
    const auto arguments = graph_.arguments(id);
    std::uint32_t positional = 0;
    while (positional < arguments.size() && !arguments[positional].is_keyword()) ++positional;
    put(R"({"op": ")", to_string(node.kind), R"(", "name": )");
    put_name(id);
    put(R"(, "target": ")", graph_.target(id), R"(", "args": [)");
    if (node.kind == NodeKind::output) put(R"({"tuple": [)");
    put_list(positional, [&](std::uint32_t i) { put_argument(arguments[i]); });
    if (node.kind == NodeKind::output) put("]}");
    put("], \"kwargs\": {");
    put_list(static_cast<std::uint32_t>(arguments.size()) - positional, [&](std::uint32_t i) {
      put('"', graph_.text(arguments[positional + i].keyword()), "\": ");
      put_argument(arguments[positional + i]);
    });
    put('}');
    if (const TensorMeta* meta = graph_.tensor(id)) {
      put(R"(, "value": {"dtype": "float32", "shape": [)");
      put_list(meta->rank, [&](std::uint32_t i) { put(graph_.sizes(*meta)[i].value()); });
      put("], \"stride\": [");
      put_list(meta->rank, [&](std::uint32_t i) { put(graph_.strides(*meta)[i].value()); });
      put(R"(], "offset": )", meta->storage_offset.value());
      put(R"(, "device": ")", graph_.device(meta->device), "\"}");
    }
    if (node.stack_trace != TextId{}) {
      put(", ");
      put_trace(id);
    }
    put('}');
  }
  void put_argument(const Argument& a) {
    if (a.is_node()) {
      put("{\"node\": ");
      put_name(a.node());
      put('}');
    } else if (a.is(ArgumentKind::device)) {
      put("{\"device\": \"", graph_.device(a.device()), "\"}");
    } else if (a.is(ArgumentKind::dtype)) {
      put(R"({"dtype": "float32"})");
    }
  }
};

/// The JSON of an ExportedProgram, schema 8, all inputs user inputs.
class ExportedProgramWriter : TextWriter {
 public:
  using TextWriter::TextWriter;

  [[nodiscard]] auto write() && -> Text {
    const auto inputs = static_cast<std::uint32_t>(graph_.inputs().size());
    const NodeId output = graph_.output_node();
    const auto results = static_cast<std::uint32_t>(graph_.arguments(output).size());
    const auto put_input = [&](std::uint32_t i) { put_tensor(NodeId{i}); };
    const auto put_result = [&](std::uint32_t i) { put_tensor(graph_.arguments(output)[i].node()); };
    put(R"({"schema_version": {"major": 8, "minor": 20}, "graph_module": {"signature": {"input_specs": [)");
    put_list(inputs, [&](std::uint32_t i) { put_spec("user_input", [&] { put_input(i); }); });
    put("], \"output_specs\": [");
    put_list(results, [&](std::uint32_t i) { put_spec("user_output", [&] { put_result(i); }); });
    put("]}, \"graph\": {\"inputs\": [");
    put_list(inputs, put_input);
    put("], \"outputs\": [");
    put_list(results, put_result);
    put("], \"nodes\": [\n");
    put_list(output.index - inputs, [&](std::uint32_t i) { put_node(NodeId{inputs + i}); });
    put("], \"tensor_values\": {");
    put_list(output.index, [&](std::uint32_t i) { put_value(NodeId{i}); });
    put(R"(}, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false}}})", '\n');
    return text_;
  }

 private:
  void put_tensor(NodeId id) {
    put(R"({"as_tensor": {"name": )");
    put_name(id);
    put("}}");
  }
  template <class F>
  void put_spec(std::string_view kind, F value) {
    put("{\"", kind, "\": {\"arg\": ");
    value();
    put("}}");
  }
  void put_node(NodeId id) {
    put("{\"target\": \"", graph_.target(id), "\", \"inputs\": [");
    const auto arguments = graph_.arguments(id);
    put_list(static_cast<std::uint32_t>(arguments.size()), [&](std::uint32_t i) {
      const Argument& a = arguments[i];
      const std::string_view positional = i == 0 ? "self" : "other";
      put("{\"name\": \"", a.is_keyword() ? graph_.text(a.keyword()) : positional, "\", \"arg\": ");
      put_argument(a);
      put(", \"kind\": ", a.is_keyword() ? 2 : 1, '}');
    });
    put("], \"outputs\": [");
    put_tensor(id);
    put("], \"metadata\": {");
    put_trace(id);
    put("}}");
  }
  void put_argument(const Argument& a) {
    if (a.is_node()) {
      put_tensor(a.node());
    } else if (a.is(ArgumentKind::device)) {
      put(R"({"as_device": )");
      put_device(graph_.device(a.device()));
      put('}');
    } else if (a.is(ArgumentKind::dtype)) {
      put(R"({"as_scalar_type": 7})");
    }
  }
  void put_device(std::string_view device) {
    const auto colon = device.find(':');
    const std::string_view index = colon == std::string_view::npos ? "null" : device.substr(colon + 1);
    put(R"({"type": ")", device.substr(0, colon), R"(", "index": )", index, '}');
  }
  void put_numbers(fxpass::Span<const SymInt> numbers) {
    put_list(static_cast<std::uint32_t>(numbers.size()),
             [&](std::uint32_t i) { put("{\"as_int\": ", numbers[i].value(), '}'); });
  }
  void put_value(NodeId id) {
    const TensorMeta& meta = *graph_.tensor(id);
    put_name(id);
    put(R"(: {"dtype": 7, "sizes": [)");
    put_numbers(graph_.sizes(meta));
    put(R"(], "requires_grad": false, "device": )");
    put_device(graph_.device(meta.device));
    put(R"(, "strides": [)");
    put_numbers(graph_.strides(meta));
    put(R"(], "storage_offset": {"as_int": )", meta.storage_offset.value(), R"(}, "layout": 7})");
  }
};

}  // namespace fxpass::bench

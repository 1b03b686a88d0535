// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/argument.hpp>
#include <fxpass/read/python_code.hpp>
#include <fxpass/support/json_text.hpp>
#include <fxpass/support/python_literal.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// FX JSON under construction. Printed graphs are translated into it, so that they are made into graphs, with
/// inlined regions, subgraphs and all checks, where every other FX graph is: in read/fx_json.hpp.
/// docs/fx-json.md has the format.

namespace fxpass::detail {

/// The parts of a NODE as JSON; empty ones are left out.
struct FxNodeJson {
  std::string_view op;
  std::string name = {};
  std::string target = {};
  std::string args = {};         ///< members of the list, with commas between
  std::string kwargs = {};       ///< members of the object, with commas between
  std::string value = {};
  std::string stack_trace = {};  ///< as text
  std::string input = {};
};

/// A GRAPH.
struct FxGraphJson {
  std::vector<FxNodeJson> placeholders;
  std::vector<FxNodeJson> nodes;  ///< all others
  std::vector<std::pair<std::string, std::string>> subgraphs;  ///< name and GRAPH
  std::vector<std::string> outputs;                            ///< SPECs; none: all are user outputs

  [[nodiscard]] auto has_subgraph(std::string_view name) const -> bool {
    for (const auto& [known, json] : subgraphs)
      if (known == name) return true;
    return false;
  }

  [[nodiscard]] auto json() const -> std::string {
    std::string json = "{\"nodes\": [";
    std::string_view separator = "\n";
    for (const auto* list : {&placeholders, &nodes})
      for (const FxNodeJson& node : *list) {
        json += std::exchange(separator, ",\n");
        append(node, json);
      }
    json += ']';
    for (std::size_t i = 0; i < outputs.size(); ++i)
      append_all(json, i == 0 ? ", \"outputs\": [" : ", ", outputs[i]);
    if (!outputs.empty()) json += ']';
    separator = ", \"subgraphs\": {";
    for (const auto& [name, graph] : subgraphs) {
      json += std::exchange(separator, ", ");
      append_json_string(json, name);
      append_all(json, ": ", graph);
    }
    return json += subgraphs.empty() ? "}" : "}}";
  }
  /// The whole file.
  [[nodiscard]] auto document() const -> std::string {
    return R"({"format": "fxpass.fx", "version": 1, "graph": )" + json() + "}";
  }

 private:
  static void append(const FxNodeJson& node, std::string& json) {
    append_all(json, "{\"op\": \"", node.op, "\", \"name\": ");
    append_json_string(json, node.name);
    json += ", \"target\": ";
    append_json_string(json, node.target);
    append_all(json, ", \"args\": [", node.args, "], \"kwargs\": {", node.kwargs, '}');
    if (!node.value.empty()) append_all(json, ", \"value\": ", node.value);
    if (!node.input.empty()) append_all(json, ", \"input\": ", node.input);
    if (!node.stack_trace.empty()) {
      json += ", \"stack_trace\": ";
      append_json_string(json, node.stack_trace);
    }
    json += '}';
  }
};

// ARG ------------------------------------------------------------------------------------------------------

/// `{"form": "text"}`
inline void append_tagged(std::string& json, std::string_view form, std::string_view text) {
  append_all(json, "{\"", form, "\": ");
  append_json_string(json, text);
  json += '}';
}
[[nodiscard]] inline auto tagged(std::string_view form, std::string_view text) -> std::string {
  std::string json;
  append_tagged(json, form, text);
  return json;
}
/// A number that JSON can hold, or the text of one that it cannot.
inline void append_json_real(std::string& json, double value) {
  const bool is_finite = value - value == 0;
  if (!is_finite) json += '"';
  append_python_float(json, value);
  if (!is_finite) json += '"';
}
/// A float as an argument.
inline void append_float_argument(std::string& json, double value) {
  if (value - value == 0) return append_json_real(json, value);
  json += "{\"float\": ";
  append_json_real(json, value);
  json += '}';
}

/// What an enumeration of `torch`, named `torch.NAME`, is as an argument: a dtype, a layout or a memory
/// format. Empty if it is none of these.
[[nodiscard]] inline auto torch_constant(std::string_view name) -> std::string {
  if (!name.starts_with("torch.")) return {};
  name.remove_prefix(6);
  if (dtype_from_torch(name)) return tagged("dtype", name);
  for (int i = 1; i <= static_cast<int>(Layout::strided); ++i)
    if (to_string(static_cast<Layout>(i)) == name) return tagged("layout", name);
  for (int i = 1; i <= static_cast<int>(MemoryFormat::preserve_format); ++i)
    if (to_string(static_cast<MemoryFormat>(i)) == name) return tagged("memory_format", name);
  return {};
}

}  // namespace fxpass::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/builder.hpp>
#include <fxpass/graph/call.hpp>
#include <fxpass/graph/functional_form.hpp>
#include <fxpass/graph/resolve.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/ops/custom_operators.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/support/expected.hpp>

#include <string_view>
#include <utility>

/// @file
/// The last step of every reader.

namespace fxpass::detail {

/// Tells the builder of a graph what is said of custom operators, under every name by which a call may mean them.
inline void declare(GraphBuilder& builder, const CustomOperators* operators) {
  if (operators == nullptr) return;
  for (const Text& text : operators->schemas()) {
    const ops::Schema schema(text.view());
    builder.declare_operator(text_of("torch.ops.", schema.name()), text);
    if (schema.overload() == "default") builder.declare_operator(text_of("torch.ops.", schema.base()), text);
  }
}

/// Refuses the first call that does not fit the schema which `operators` gives for it: then what is said of writes is said of
/// some other operator.
[[nodiscard]] inline auto check_custom_calls(const Graph& graph, const CustomOperators& operators) -> Status {
  for (NodeId id; id.index < graph.node_count(); ++id.index) {
    const Operator& op = graph.op(id);
    if (op.schema == TextId{} || is_either_functional_form(graph, op)) continue;
    const ops::Schema schema = operators.find(graph.schema(op).name());
    if (schema.empty() || binds(graph, schema.parameters(), graph.arguments(id), false)) continue;
    return error_at(graph, id, DiagnosticCode::invalid_option,
                    text_of("the call does not fit the schema that was given for ", schema.name(), ": \"",
                            ops::with_colons(schema.text()), '"'));
  }
  for (std::uint32_t i = 0; i < graph.subgraphs().size(); ++i)
    if (Status checked = check_custom_calls(graph.subgraphs()[i], operators); !checked)
      return in_subgraph(i, std::move(checked.error()));
  return {};
}

/// The graph as a module, or what is wrong with it: a file may be well-formed and still describe no sound program.
[[nodiscard]] inline auto finish_reading(Expected<Graph> graph, std::string_view file_name,
                                         const CustomOperators* operators) -> Expected<Module<>> {
  if (!graph) return std::move(graph).error();
  if (Status verified = verify(*graph); !verified) {
    for (Diagnostic& d : verified.error()) d.input.file = file_name;
    return std::move(verified).error();
  }
  if (operators != nullptr)
    if (Status checked = check_custom_calls(*graph, *operators); !checked) return std::move(checked).error();
  return Module<>(*std::move(graph));
}

}  // namespace fxpass::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/graph.hpp>
#include <fxpass/ops/custom_operators.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

/// @file
/// Calls of custom operators that write, in the form in which PyTorch makes them without a write:
/// `auto_functionalized(op, x=x, y=y)`. ops/custom_operators.hpp says what such a call gives. A second form,
/// `auto_functionalized_v2`, gives the new values of the tensors that what is written are views of, and says which views.

namespace fxpass {

/// The targets of calls of either form.
inline constexpr std::string_view functional_form = "torch.ops.higher_order.auto_functionalized";
inline constexpr std::string_view functional_form_of_bases = "torch.ops.higher_order.auto_functionalized_v2";

namespace detail {
/// The operator that a call of either form with these arguments calls, "mylib.foo.default"; empty if it names none.
[[nodiscard]] constexpr auto functional_operator(const Graph& graph, Span<const Argument> arguments) -> std::string_view {
  if (arguments.empty() || !arguments[0].is(ArgumentKind::operation)) return {};
  std::string_view name = graph.text(arguments[0].text());
  if (name.starts_with("torch.ops.")) name.remove_prefix(10);
  return name;
}
}  // namespace detail

/// Whether calls of `op` are of the first form.
[[nodiscard]] constexpr auto is_functional_form(const Graph& graph, const Operator& op) -> bool {
  return op.kind == NodeKind::call_function && op.row == ops::no_row && graph.text(op.spelling) == functional_form;
}
/// Whether calls of `op` are of the second form.
[[nodiscard]] constexpr auto is_functional_form_of_bases(const Graph& graph, const Operator& op) -> bool {
  return op.kind == NodeKind::call_function && op.row == ops::no_row && graph.text(op.spelling) == functional_form_of_bases;
}
/// Whether calls of `op` are of either form.
[[nodiscard]] constexpr auto is_either_functional_form(const Graph& graph, const Operator& op) -> bool {
  return is_functional_form(graph, op) || is_functional_form_of_bases(graph, op);
}

/// Of each result of node `id`, a call of the first form, how many tensors it is that are computed anew: the new value of a
/// list is one for each member; None is none, nor is a result that is the new value of a parameter once more. O(schema length).
[[nodiscard]] constexpr auto tensors_of_results(const Graph& graph, NodeId id) -> Pool<std::uint32_t> {
  const auto metas = graph.values(id);
  const ops::Schema schema = graph.schema(graph.op(id));
  Pool<std::uint32_t> counts;
  for (const TensorMeta& meta : metas) counts.push_back(meta.known ? 1 : 0);
  if (!counts.empty() && ops::returned_parameter(schema)) counts[0] = 0;
  std::uint32_t result = schema.return_count() > 1 ? schema.return_count() : 1;
  ops::ParameterReader reader = schema.parameters();
  for (auto p = reader.next(); p; p = reader.next()) {
    if (!p->written) continue;
    for (const Argument& a : graph.arguments(id))
      if (a.is_keyword() && graph.text(a.keyword()) == p->name && a.is_sequence() && result < counts.size())
        counts[result] = a.children().count;
    ++result;
  }
  return counts;
}

/// Where the tensors of result `member` are among all that are computed anew, and how many they are. O(schema length).
[[nodiscard]] constexpr auto place_of_result(const Graph& graph, NodeId id, std::uint32_t member)
    -> std::pair<std::uint32_t, std::uint32_t> {
  const ops::Schema schema = graph.schema(graph.op(id));
  if (const auto returned = ops::returned_parameter(schema); returned && member == 0) {
    // What is returned is what is written.
    ops::ParameterReader reader = schema.parameters();
    for (auto p = reader.next(); p; p = reader.next()) {
      if (p->written) ++member;
      if (p->name == returned->name) break;
    }
  }
  const Pool<std::uint32_t> counts = tensors_of_results(graph, id);
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < member; ++i) first += counts[i];
  return {first, counts[member]};
}

}  // namespace fxpass

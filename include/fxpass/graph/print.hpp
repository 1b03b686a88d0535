// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/graph.hpp>
#include <fxpass/graph/users.hpp>
#include <fxpass/support/python_literal.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// Graphs as text: what `print(graph_module.graph)` of PyTorch prints, character by character. It differs
/// where the graph does: outputs are flat and the program's own come first, a type annotation is not kept,
/// and a nested graph, which FX holds as an attribute, is called `subgraph_0`.

namespace fxpass {

namespace detail {

/// How FX writes a value: inside a call, where nodes are `%x` and strings bare; as `str` does, for a default;
/// as `repr` does, for what `return` and slices hold, where nodes are bare and strings quoted.
enum class ValueForm : std::uint8_t { in_call, str, repr };

[[nodiscard]] constexpr auto real_value(const Argument& a) -> double {
  return a.is(ArgumentKind::integer) ? static_cast<double>(a.integer()) : a.real();
}

template <TextSink Sink>
constexpr void append_value(Sink& sink, const Graph& graph, const Argument& a, ValueForm form) {
  // Only a call's own containers are written by FX; in others Python writes the members by repr.
  const ValueForm inner = form == ValueForm::in_call ? ValueForm::in_call : ValueForm::repr;
  const auto members = [&](std::string_view open, std::string_view close, ValueForm member_form) {
    append_to(sink, open);
    std::string_view separator = "";
    for (const Argument& member : graph.children(a)) {
      append_to(sink, separator);
      append_value(sink, graph, member, member_form);
      separator = ", ";
    }
    append_to(sink, close);
  };
  switch (a.kind()) {
    case ArgumentKind::none: return append_to(sink, "None");
    case ArgumentKind::node:
      if (form == ValueForm::in_call) append_to(sink, '%');
      if (!graph.holds(a.node())) return append_to(sink, "<erased>");
      return graph.append_name(sink, graph.node(a.node()).name);
    case ArgumentKind::integer: return append_to(sink, a.integer());
    case ArgumentKind::sym_int: return append_to(sink, graph.expression(a.sym_int()));
    case ArgumentKind::real: return append_python_float(sink, a.real());
    case ArgumentKind::boolean: return append_to(sink, a.boolean() ? "True" : "False");
    case ArgumentKind::string:
      if (form == ValueForm::repr) return append_python_string(sink, graph.text(a.text()));
      return append_to(sink, graph.text(a.text()));
    case ArgumentKind::complex:
      return append_python_complex(sink, real_value(graph.children(a)[0]), real_value(graph.children(a)[1]));
    case ArgumentKind::dtype: return append_all(sink, "torch.", dtype_info(a.dtype()).torch_name);
    case ArgumentKind::device:
      if (form == ValueForm::repr) return append_python_device(sink, graph.device(a.device()));
      return append_to(sink, graph.device(a.device()));
    case ArgumentKind::layout: return append_all(sink, "torch.", to_string(a.layout()));
    case ArgumentKind::memory_format: return append_all(sink, "torch.", to_string(a.memory_format()));
    case ArgumentKind::ellipsis: return append_to(sink, "Ellipsis");
    case ArgumentKind::slice: return members("slice(", ")", ValueForm::repr);
    case ArgumentKind::list: return members("[", "]", inner);
    case ArgumentKind::tuple: return members("(", graph.children(a).size() == 1 ? ",)" : ")", inner);
    case ArgumentKind::dict: {
      const auto items = graph.children(a);
      append_to(sink, '{');
      for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
        append_to(sink, i == 0 ? "" : ", ");
        append_value(sink, graph, items[i], form == ValueForm::in_call ? ValueForm::str : ValueForm::repr);
        append_to(sink, ": ");
        append_value(sink, graph, items[i + 1], inner);
      }
      return append_to(sink, '}');
    }
    case ArgumentKind::subgraph:
      return append_all(sink, form == ValueForm::in_call ? "%" : "", "subgraph_", a.subgraph());
    case ArgumentKind::operation: {
      std::string_view name = graph.text(a.text());
      if (name.starts_with("torch.ops.")) name.remove_prefix(10);
      if (name.starts_with("higher_order.")) return append_to(sink, name.substr(13));
      if (form != ValueForm::repr) return append_to(sink, name);
      // An operator with its overload has two dots, a packet of overloads has one.
      const auto last = name.rfind('.');
      if (name.find('.') == last) return append_all(sink, "<OpOverloadPacket(op='", name, "')>");
      return append_all(sink, "<OpOverload(op='", name.substr(0, last), "', overload='",
                        name.substr(last + 1), "')>");
    }
  }
}

template <TextSink Sink>
constexpr void append_call_arguments(Sink& sink, const Graph& graph, NodeId id) {
  const auto arguments = graph.arguments(id);
  std::size_t positional = 0;
  while (positional < arguments.size() && !arguments[positional].is_keyword()) ++positional;
  append_to(sink, "(args = (");
  for (std::size_t i = 0; i < positional; ++i) {
    append_to(sink, i == 0 ? "" : ", ");
    append_value(sink, graph, arguments[i], ValueForm::in_call);
  }
  append_to(sink, positional == 1 ? ",), kwargs = {" : "), kwargs = {");
  for (std::size_t i = positional; i < arguments.size(); ++i) {
    append_all(sink, i == positional ? "" : ", ", graph.text(arguments[i].keyword()), ": ");
    append_value(sink, graph, arguments[i], ValueForm::in_call);
  }
  append_to(sink, "})");
}

template <TextSink Sink>
constexpr void append_node(Sink& sink, const Graph& graph, NodeId id, std::size_t user_count) {
  const Node& n = graph.node(id);
  if (n.kind == NodeKind::output) {
    append_to(sink, "return (");
    const auto values = graph.arguments(id);
    for (std::size_t i = 0; i < values.size(); ++i) {
      append_to(sink, i == 0 ? "" : ", ");
      append_value(sink, graph, values[i], ValueForm::repr);
    }
    return append_to(sink, values.size() == 1 ? ",)" : ")");
  }
  append_to(sink, '%');
  graph.append_name(sink, n.name);
  append_all(sink, " : [num_users=", user_count, "] = ", to_string(n.kind), "[target=", graph.target(id),
             ']');
  if (n.kind == NodeKind::placeholder) {
    if (n.arguments.empty()) return;
    append_to(sink, "(default=");
    append_value(sink, graph, graph.arguments(id)[0], ValueForm::str);
    append_to(sink, ')');
  } else if (n.kind != NodeKind::get_attr) {
    append_call_arguments(sink, graph, id);
  }
}

}  // namespace detail

/// The graph as `print(graph_module.graph)` prints it, last line feed included. A node that is used and not there, in a
/// graph that does not verify, is printed as `<erased>`.
/// O(nodes + arguments + text).
template <TextSink Sink>
constexpr void append_to(Sink& sink, const Graph& graph) {
  const Users users(graph);
  append_to(sink, "graph():\n");
  for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
    append_to(sink, "    ");
    detail::append_node(sink, graph, id, users[id].size());
    append_to(sink, '\n');
  }
}

/// The node's line in the printed graph, for messages. O(nodes + arguments): the number of its users is
/// counted.
[[nodiscard]] constexpr auto node_line(const Graph& graph, NodeId id) -> Text {
  Text line;
  detail::append_node(line, graph, id, Users(graph)[id].size());
  return line;
}

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/emit/graph_emitter.hpp>
#include <fxpass/graph/call.hpp>
#include <fxpass/graph/names.hpp>
#include <fxpass/support/python_literal.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// A graph as a Python module that runs under PyTorch.

namespace fxpass {

namespace detail {

[[nodiscard]] constexpr auto is_identifier(std::string_view text) -> bool {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !is_letter(text[0])) return false;
  for (const char c : text)
    if (!is_letter(c) && (c < '0' || c > '9')) return false;
  return true;
}
/// `a.b.c`, each part an identifier.
[[nodiscard]] constexpr auto is_dotted_name(std::string_view text) -> bool {
  for (auto dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!is_identifier(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return is_identifier(text);
}

/// Every module that functions of a graph, and of those inside it, lie in, once, in the order of first use.
class PythonImports {
 public:
  /// O(nodes x modules). `graph` has to outlive it.
  constexpr explicit PythonImports(const Graph& graph) { find(graph); }

  /// By their names.
  [[nodiscard]] constexpr auto modules() const -> Span<const std::string_view> { return modules_; }
  /// Whether an import makes `name` mean a module.
  [[nodiscard]] constexpr auto binds(std::string_view name) const -> bool {
    for (const std::string_view module : modules_)
      if (module.substr(0, module.find('.')) == name) return true;
    return false;
  }

 private:
  constexpr void find(const Graph& graph) {
    for (const Graph& inner : graph.subgraphs()) find(inner);
    for (const Node& n : graph.nodes()) {
      if (n.kind != NodeKind::call_function) continue;
      const std::string_view module = module_of(graph.text(n.target));
      bool is_known = module.empty();
      for (const std::string_view known : modules_) is_known = is_known || known == module;
      if (!is_known) modules_.push_back(module);
    }
  }
  /// What has to be imported for `target` besides torch and operator; empty if nothing has.
  [[nodiscard]] static constexpr auto module_of(std::string_view target) -> std::string_view {
    if (target.starts_with("torch.ops._c10d_functional.")) return "torch.distributed._functional_collectives";
    if (target.starts_with("torch.ops.quantized_decomposed.")) return "torch.ao.quantization.fx._decomposed";
    const auto dot = target.rfind('.');
    if (dot == std::string_view::npos || target.starts_with("torch.") || target.starts_with("operator.") ||
        !is_dotted_name(target))
      return {};
    return target.substr(0, dot);
  }

  std::vector<std::string_view> modules_;
};

/// Writes one graph as a function, behind the functions of the graphs that it runs. What Python cannot say is reported
/// with its node, and all of it.
template <TextSink Sink>
class PythonWriter {
 public:
  constexpr PythonWriter(Sink& sink, const Graph& graph, const PythonImports& imports, std::string_view function)
      : sink_(sink), graph_(graph), imports_(imports), function_(function) {}

  constexpr auto write() && -> Status {
    for (const std::uint32_t number : graph_.subgraphs_in_use()) {
      const Text function = function_of(number);
      Status written = PythonWriter(sink_, graph_.subgraphs()[number], imports_, function).write();
      if (!written) errors_.add(in_subgraph(number, std::move(written.error())));
    }
    choose_names();
    append_all(sink_, "\n\ndef ", function_, '(');
    for (std::uint32_t i = 0; i < graph_.inputs().size(); ++i) {
      append_to(sink_, i == 0 ? "" : ", ");
      write_name(NodeId{i});
    }
    append_to(sink_, "):\n");
    for (NodeId id{0}; id.index < graph_.node_count(); ++id.index) write_node(id);
    return std::move(errors_);
  }

 private:
  template <class... Parts>
  constexpr void refuse(const Parts&... parts) {
    errors_.add(
        error_at(graph_, node_, DiagnosticCode::unsupported, text_of("Python code cannot hold ", parts...)));
  }

  // Functions -----------------------------------------------------------------------------------------------
  static constexpr std::string_view function_prefix = "run_subgraph_";
  /// The function of a graph inside this one: run_subgraph_0, and inside that one run_subgraph_0_1.
  [[nodiscard]] constexpr auto function_of(std::uint32_t number) const -> Text {
    const bool is_inner = function_.starts_with(function_prefix);
    return text_of(is_inner ? function_ : "run_subgraph", '_', number);
  }
  /// Functions return tuples; that which decides on another round of a loop has to return its one result.
  constexpr void write_function_name(std::uint32_t number, bool is_condition) {
    if (is_condition) append_to(sink_, "lambda *operands: ");
    append_to(sink_, function_of(number));
    if (is_condition) append_to(sink_, "(*operands)[0]");
  }
  [[nodiscard]] constexpr auto decides(const Argument& a) const -> bool {
    return graph_.target(node_) == "torch.ops.higher_order.while_loop" && &a == graph_.arguments(node_).data();
  }

  // Names ---------------------------------------------------------------------------------------------------
  /// Nodes keep their names, but for one that the code needs otherwise (an argument may be called `slice`) or
  /// that is none in Python. Such nodes are few: O(nodes) for each.
  constexpr void choose_names() {
    for (NodeId id{0}; id.index < graph_.node_count(); ++id.index) {
      const Text name = graph_.name(id);
      const bool is_function = name.view().starts_with(function_prefix);
      if (is_identifier(name) && !is_function && !is_reserved_name(name) && !imports_.binds(name)) continue;
      Text other = text_of(is_identifier(name) && !is_function ? name.view() : "value", '_', id.index);
      while (is_name(other)) append_to(other, '_');
      renamed_.push_back({id, std::move(other)});
    }
  }
  [[nodiscard]] constexpr auto is_name(const Text& name) const -> bool {
    for (NodeId id{0}; id.index < graph_.node_count(); ++id.index)
      if (graph_.name(id) == name) return true;
    return false;
  }
  constexpr void write_name(NodeId id) {
    for (const Renamed& r : renamed_)
      if (r.node == id) return append_to(sink_, r.name);
    graph_.append_name(sink_, graph_.node(id).name);
  }

  // Nodes ---------------------------------------------------------------------------------------------------
  constexpr void write_node(NodeId id) {
    node_ = id;
    const Node& n = graph_.node(id);
    const auto arguments = graph_.arguments(id);
    if (n.kind == NodeKind::placeholder) return;
    append_to(sink_, "    ");
    if (n.kind == NodeKind::output) {
      append_to(sink_, "return ");
      write_members("(", arguments, arguments.size() == 1 ? ",)" : ")");
      return append_to(sink_, '\n');
    }
    write_name(id);
    append_to(sink_, " = ");
    const std::string_view target = graph_.text(n.target);
    switch (n.kind) {
      case NodeKind::call_function:
        if (!is_dotted_name(target)) refuse("a call of ", target);
        append_to(sink_, target);
        write_members("(", arguments, ")");
        break;
      case NodeKind::call_method:
        if (!is_identifier(target)) refuse("a call of method ", target);
        // A number needs the parentheses: `1.add()` is no call.
        if (!arguments[0].is_node()) append_to(sink_, '(');
        write_value(arguments[0]);
        append_all(sink_, arguments[0].is_node() ? "." : ").", target);
        write_members("(", arguments.subspan(1), ")");
        break;
      default:
        refuse(n.kind == NodeKind::get_attr ? "attribute " : "a call of module ", target,
               ", which the graph only names");
    }
    append_to(sink_, '\n');
  }

  // Values --------------------------------------------------------------------------------------------------
  constexpr void write_members(std::string_view open, Span<const Argument> members,
                               std::string_view close) {
    append_to(sink_, open);
    for (std::size_t i = 0; i < members.size(); ++i) {
      append_to(sink_, i == 0 ? "" : ", ");
      if (members[i].is_keyword()) write_keyword(graph_.text(members[i].keyword()));
      write_value(members[i]);
    }
    append_to(sink_, close);
  }
  constexpr void write_keyword(std::string_view keyword) {
    if (!is_identifier(keyword)) refuse("keyword ", keyword);
    append_all(sink_, keyword, '=');
  }

  constexpr void write_value(const Argument& a) {
    const auto children = a.is_group() ? graph_.children(a) : Span<const Argument>();
    switch (a.kind()) {
      case ArgumentKind::none: return append_to(sink_, "None");
      case ArgumentKind::node: return write_name(a.node());
      case ArgumentKind::integer: return append_to(sink_, a.integer());
      case ArgumentKind::sym_int: return refuse("the symbolic integer ", graph_.expression(a.sym_int()));
      case ArgumentKind::real: return write_real(a.real());
      case ArgumentKind::boolean: return append_to(sink_, a.boolean() ? "True" : "False");
      case ArgumentKind::string: return append_python_string(sink_, graph_.text(a.text()));
      case ArgumentKind::complex:
        append_to(sink_, "complex(");
        write_value(children[0]);
        append_to(sink_, ", ");
        write_value(children[1]);
        return append_to(sink_, ')');
      case ArgumentKind::dtype: return append_all(sink_, "torch.", dtype_info(a.dtype()).torch_name);
      case ArgumentKind::device:
        append_to(sink_, "torch.device(");
        append_python_string(sink_, graph_.device(a.device()));
        return append_to(sink_, ')');
      case ArgumentKind::layout: return write_torch_name(to_string(a.layout()), "an unknown layout");
      case ArgumentKind::memory_format:
        return write_torch_name(to_string(a.memory_format()), "an unknown memory format");
      case ArgumentKind::ellipsis: return append_to(sink_, "Ellipsis");
      case ArgumentKind::slice: return write_members("slice(", children, ")");
      case ArgumentKind::list: return write_members("[", children, "]");
      case ArgumentKind::tuple: return write_members("(", children, children.size() == 1 ? ",)" : ")");
      case ArgumentKind::dict:
        append_to(sink_, '{');
        for (std::size_t i = 0; i + 1 < children.size(); i += 2) {
          append_to(sink_, i == 0 ? "" : ", ");
          write_value(children[i]);
          append_to(sink_, ": ");
          write_value(children[i + 1]);
        }
        return append_to(sink_, '}');
      case ArgumentKind::subgraph: return write_function_name(a.subgraph(), decides(a));
      case ArgumentKind::operation:
        if (!is_dotted_name(graph_.text(a.text()))) return refuse("the operator ", graph_.text(a.text()));
        return append_to(sink_, graph_.text(a.text()));
    }
  }
  /// By repr, but what repr writes as a bare name Python would not know.
  constexpr void write_real(double value) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const bool is_finite = value > -infinity && value < infinity;
    if (!is_finite) append_to(sink_, "float('");
    append_python_float(sink_, value);
    if (!is_finite) append_to(sink_, "')");
  }
  constexpr void write_torch_name(std::string_view name, std::string_view what) {
    if (name.empty()) return refuse(what);
    append_all(sink_, "torch.", name);
  }

  struct Renamed {
    NodeId node;
    Text name;
  };

  Sink& sink_;
  const Graph& graph_;
  const PythonImports& imports_;
  std::string_view function_;
  Diagnostics errors_;
  std::vector<Renamed> renamed_;
  NodeId node_;  ///< the one being written
};

}  // namespace detail

/// Python code with a function `forward` that takes the graph's inputs in order and returns all its outputs as
/// a tuple, the program's own first. One statement a node; devices are those of the graph. Not expressible,
/// and refused with `unsupported`: symbolic integers as arguments, attributes and modules. A graph that a call runs is a
/// function of its own.
struct FxPython {
  static constexpr std::string_view name = "fx-python";
  static constexpr std::string_view file_ending = ".py";

  /// O(nodes + arguments + text).
  template <TextSink Sink>
  static constexpr auto write(Sink& sink, const Graph& graph) -> Status {
    append_to(sink, "import operator\n\nimport torch\n");
    const detail::PythonImports imports(graph);
    for (const std::string_view module : imports.modules()) append_all(sink, "import ", module, '\n');
    return detail::PythonWriter<Sink>(sink, graph, imports, "forward").write();
  }
};
static_assert(GraphEmitter<FxPython>);

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/names.hpp>
#include <fxpass/graph/resolve.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

/// @file
/// `GraphBuilder`: makes a graph, node after node, as `torch.fx.Graph` does.

namespace fxpass {

/// What a new node's value is: metadata of the graph under construction, or nothing.
struct ValueSpec {
  ValueKind kind = ValueKind::none;  ///< what it is
  Range values;                      ///< its metadata, in the graph
};

/// Makes a graph in program order and keeps its invariants: unique names, operands before users, inputs
/// first. A node costs O(arguments + texts) expected. What the caller has to see to, `verify` finds.
///
///     GraphBuilder b;
///     const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 3}));
///     const NodeId y = b.call_method("add_", {x, 1}, b.tensor(DType::f32, {4, 3}));
///     b.output({y});
///     Graph graph = std::move(b).finish();
class GraphBuilder {
 public:
  /// An empty graph.
  constexpr GraphBuilder() = default;

  // Values -----------------------------------------------------------------------------------------------------------
  /// A contiguous tensor of `sizes` on `device`.
  constexpr auto tensor(DType dtype, std::initializer_list<SymInt> sizes, std::string_view device = "cpu")
      -> ValueSpec {
    return tensor(dtype, Span<const SymInt>(sizes.begin(), sizes.size()), device);
  }
  constexpr auto tensor(DType dtype, Span<const SymInt> sizes, std::string_view device = "cpu") -> ValueSpec {
    Pool<SymInt> strides;
    strides.resize(static_cast<std::uint32_t>(sizes.size()));
    SymInt stride = 1;
    for (auto i = static_cast<std::uint32_t>(sizes.size()); i-- > 0;) {
      strides[i] = stride;
      // Behind a symbolic size the stride is not a number; 0 would claim overlap, so it stays what it was.
      if (!sizes[i].is_symbolic() && sizes[i].value() > 1) stride = stride.value() * sizes[i].value();
    }
    TensorMeta meta;
    meta.dtype = dtype;
    meta.device = graph_.add_device(device);
    return tensor(meta, sizes, strides.view());
  }
  /// A tensor of any layout; `meta` gives dtype, device (of this graph), offset.
  constexpr auto tensor(TensorMeta meta, Span<const SymInt> sizes, Span<const SymInt> strides) -> ValueSpec {
    return {ValueKind::tensor, graph_.add_meta(meta, sizes, strides)};
  }
  /// Several values in a tuple.
  constexpr auto tuple(std::initializer_list<ValueSpec> members) -> ValueSpec {
    return tuple(Span<const ValueSpec>(members.begin(), members.size()));
  }
  constexpr auto tuple(Span<const ValueSpec> members) -> ValueSpec {
    Pool<TensorMeta> metas;
    for (const ValueSpec& member : members)
      metas.push_back(member.kind == ValueKind::tensor ? graph_.meta(member.values.begin) : TensorMeta{});
    return {ValueKind::tuple, graph_.add_metas(metas.view())};
  }

  /// A Python integer, or a float or bool: values without metadata.
  [[nodiscard]] static constexpr auto sym_int() -> ValueSpec { return {ValueKind::sym_int, {}}; }
  [[nodiscard]] static constexpr auto scalar() -> ValueSpec { return {ValueKind::scalar, {}}; }

  // Arguments --------------------------------------------------------------------------------------------------------
  /// A text of the graph, stored once.
  constexpr auto text(std::string_view text) -> TextId { return texts_.intern(graph_, text); }
  /// Python values as arguments. A list or tuple may hold any of them; given to two nodes it is copied.
  constexpr auto string(std::string_view value) -> Argument { return Argument::string(text(value)); }
  constexpr auto device(std::string_view value) -> Argument { return {graph_.add_device(value)}; }
  constexpr auto list(Span<const Argument> items) -> Argument { return group(ArgumentKind::list, items); }
  constexpr auto list(std::initializer_list<Argument> items) -> Argument { return group(ArgumentKind::list, items); }
  constexpr auto tuple_of(std::initializer_list<Argument> items) -> Argument {
    return group(ArgumentKind::tuple, items);
  }
  /// `start:stop:step`; None stands for what is left out.
  constexpr auto slice(Argument start, Argument stop, Argument step = {}) -> Argument {
    return group(ArgumentKind::slice, {start, stop, step});
  }
  /// A list, tuple, dict (key, value, key, value, ...), slice or complex number.
  constexpr auto group(ArgumentKind kind, Span<const Argument> items) -> Argument {
    return Argument::group(kind, adopt(items));
  }
  constexpr auto group(ArgumentKind kind, std::initializer_list<Argument> items) -> Argument {
    return group(kind, Span<const Argument>(items.begin(), items.size()));
  }
  /// `name=value` in a call.
  constexpr auto keyword(std::string_view name, Argument value) -> Argument { return value.with_keyword(text(name)); }

  // Nodes ------------------------------------------------------------------------------------------------------------
  /// An input. `spec` says what it is; its node is filled in. The name is made unique.
  constexpr auto placeholder(std::string_view name, ValueSpec value, InputSpec spec = {}) -> NodeId {
    return placeholder(name, name, value, spec);
  }
  /// An input whose target is not its name, as Dynamo writes them: name `l_x_`, target `L_x_`.
  constexpr auto placeholder(std::string_view name, std::string_view target, ValueSpec value, InputSpec spec)
      -> NodeId {
    Node node = make(NodeKind::placeholder, name, target, value, {});
    spec.node = graph_.add_node(node);
    graph_.add_input(spec);
    return spec.node;
  }
  /// An attribute of the module; the name is its path with underscores unless given.
  constexpr auto get_attr(std::string_view path, ValueSpec value, std::string_view name = {}) -> NodeId {
    const Text own_name = default_name_of_path(path);
    return graph_.add_node(make(NodeKind::get_attr, name.empty() ? own_name.view() : name, path, value, {}));
  }
  /// `target(*args, **kwargs)`; the name is the operator's unless given.
  constexpr auto call_function(std::string_view target, Span<const Argument> arguments, ValueSpec value = {},
                               std::string_view name = {}) -> NodeId {
    return call(NodeKind::call_function, target, arguments, value, name);
  }
  constexpr auto call_function(std::string_view target, std::initializer_list<Argument> arguments,
                               ValueSpec value = {}, std::string_view name = {}) -> NodeId {
    return call_function(target, Span<const Argument>(arguments.begin(), arguments.size()), value, name);
  }
  /// `arguments[0].target(...)`
  constexpr auto call_method(std::string_view target, Span<const Argument> arguments, ValueSpec value = {},
                             std::string_view name = {}) -> NodeId {
    return call(NodeKind::call_method, target, arguments, value, name);
  }
  constexpr auto call_method(std::string_view target, std::initializer_list<Argument> arguments, ValueSpec value = {},
                             std::string_view name = {}) -> NodeId {
    return call_method(target, Span<const Argument>(arguments.begin(), arguments.size()), value, name);
  }
  /// A call of any kind.
  constexpr auto call(NodeKind kind, std::string_view target, Span<const Argument> arguments, ValueSpec value,
                      std::string_view name = {}) -> NodeId {
    Text own_name;
    if (name.empty()) {
      own_name = (kind == NodeKind::call_module ? default_name_of_path : default_name)(target);
      name = own_name.view();
    }
    Node node = make(kind, name, target, value, arguments);
    if (kind != NodeKind::call_module) node.op = operators_.intern(graph_, kind, node.target, arguments);
    return graph_.add_node(node);
  }
  /// The output node; every value is a user output. Call it once, last; `finish` adds an empty one if it is missing.
  constexpr auto output(Span<const Argument> values) -> NodeId {
    for (std::size_t i = 0; i < values.size(); ++i) graph_.add_output({});
    return output_with_specs(values);
  }
  constexpr auto output(std::initializer_list<Argument> values) -> NodeId {
    return output(Span<const Argument>(values.begin(), values.size()));
  }
  /// The output node, with a spec for each value. The program's own outputs are moved to the front, as the graph
  /// demands; the order is otherwise kept. Needs as many specs as values.
  constexpr auto output(Span<const Argument> values, Span<const OutputSpec> specs) -> NodeId {
    Pool<Argument> ordered;
    for (const bool returned : {true, false})
      for (std::size_t i = 0; i < values.size(); ++i)
        if (is_returned(specs[i].kind) == returned) {
          ordered.push_back(values[i]);
          graph_.add_output(specs[i]);
        }
    return output_with_specs(ordered.view());
  }

  // What is said of nodes --------------------------------------------------------------------------------------------
  /// Stack trace of the nodes made from now on, in Python's `File "..", line N` form.
  constexpr void set_stack_trace(std::string_view trace) { stack_trace_ = text(trace); }
  /// Declares the schema of a custom operator, in PyTorch's notation; needed before its first call.
  constexpr void declare_operator(std::string_view target, std::string_view schema) {
    operators_.declare(text(target), text(schema));
  }
  /// Adds a graph that a higher-order operator calls, and returns it as an argument.
  constexpr auto add_subgraph(Graph graph) -> Argument {
    return Argument::subgraph(graph_.add_subgraph(std::move(graph)));
  }
  /// Adds a symbolic expression, `s0 + 1`: as a size, stride or argument.
  constexpr auto add_expression(std::string_view expression) -> SymInt { return graph_.add_expression(expression); }
  /// Says that a symbolic size is from `min` to `max`; the greatest number for `max`: there is no bound.
  constexpr void add_size_range(std::string_view expression, std::int64_t min, std::int64_t max) {
    graph_.add_size_range({text(expression), min, max});
  }

  /// The graph so far: without output node, but every node that was made is in it.
  [[nodiscard]] constexpr auto graph() const -> const Graph& { return graph_; }
  [[nodiscard]] constexpr auto mutable_graph() -> Graph& { return graph_; }

  /// The graph, and the end of the builder. O(1).
  [[nodiscard]] constexpr auto finish() && -> Graph {
    if (!has_output_) output(std::initializer_list<Argument>{});
    return std::move(graph_);
  }

 private:
  constexpr auto make(NodeKind kind, std::string_view name, std::string_view target, ValueSpec value,
                      Span<const Argument> arguments) -> Node {
    Node node;
    node.kind = kind;
    node.value_kind = value.kind;
    node.values = value.values;
    node.target = text(target);
    node.name = names_.unique(graph_, texts_, name);
    node.stack_trace = stack_trace_;
    node.arguments = adopt(arguments);
    return node;
  }
  constexpr auto output_with_specs(Span<const Argument> values) -> NodeId {
    has_output_ = true;
    return graph_.add_node(make(NodeKind::output, "output", "output", {}, values));
  }
  /// `arguments` as a node or group may hold them: a group has one owner, so that editing one node cannot change
  /// another; a group that has an owner already is copied. Groups are made in pool order, so one watermark tells.
  constexpr auto adopt(Span<const Argument> arguments) -> Range {
    bool has_groups = false;
    for (const Argument& a : arguments) has_groups |= a.is_group();
    if (!has_groups) return graph_.add_arguments(arguments);
    Pool<Argument> own;
    own.append(arguments);
    for (Argument& a : own) {
      if (!a.is_group() || a.children().empty()) continue;
      if (a.children().begin < unowned_)
        a = graph_.clone(a);
      else
        unowned_ = a.children().end();
    }
    return graph_.add_arguments(own.view());
  }

  Graph graph_;
  TextInterner texts_;
  NameTable names_;
  OperatorInterner operators_;
  TextId stack_trace_;
  std::uint32_t unowned_ = 0;  ///< groups whose members begin here or later have no owner yet
  bool has_output_ = false;
};

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/names.hpp>
#include <fxpass/ops/mutations.hpp>
#include <fxpass/pass/kernel_registry.hpp>
#include <fxpass/pass/process_groups.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// What pipelines are measured against: the same work on the same `Graph`, written by hand as one loop for
/// the graphs of `graphs.hpp` alone. No pass, no contract, no artifact; graphs it does not expect it gets
/// wrong. The benchmarks compare the resulting graphs before they measure.

namespace fxpass::bench {

/// What an operator is to the loops below, found out once for each operator of a graph.
struct OperatorTraits {
  bool takes_device = false;
  bool is_kernel = false;
  bool is_collective = false;
  bool is_view = false;
  bool writes = false;
};
[[nodiscard]] inline auto traits_of_operators(const Graph& graph) -> std::vector<OperatorTraits> {
  std::vector<OperatorTraits> traits;
  for (const Operator& op : graph.operators()) {
    const ops::Schema schema = graph.schema(op);
    OperatorTraits& t = traits.emplace_back();
    if (schema.empty()) continue;
    t.takes_device = schema.find("device").has_value();
    t.is_kernel = schema.base() == kernel_operator;
    t.is_collective = schema.find("group_name").has_value();
    t.is_view = op.view != ops::ViewRule::none;
    t.writes = op.writes;
  }
  return traits;
}

/// Devices become "xla:0", kernels get their configuration and aliases, collectives their replica groups.
class NodeLocalRewriter {
 public:
  NodeLocalRewriter(Graph& graph, const KernelRegistry& kernels, const ProcessGroups& groups)
      : graph_(graph), kernels_(kernels), groups_(groups), traits_(traits_of_operators(graph)) {}

  void run() {
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) visit(NodeId{i});
  }
  void visit(NodeId id) {
    const OperatorTraits op = traits_[graph_.node(id).op.index];
    if (op.takes_device) rewrite_device(id);
    if (op.is_kernel) configure(id);
    if (op.is_collective) resolve_group(id);
  }

 private:
  void rewrite_device(NodeId id) {
    for (Argument& a : graph_.mutable_arguments(id))
      if (graph_.text(a.keyword()) == "device") replace(a, graph_.add_device("xla:0"));
  }
  void configure(NodeId id) {
    const KernelEntry& entry = *kernels_.find(keyword(id, "kernel_idx").integer());
    Pool<Argument> aliases;
    for (const KernelAlias alias : entry.aliases) {
      aliases.push_back(alias.operand);
      aliases.push_back(alias.result);
    }
    const Argument dict = Argument::group(ArgumentKind::dict, graph_.add_arguments(aliases.view()));
    replace(keyword(id, "operand_output_aliases"), dict);
    replace(keyword(id, "backend_config"), Argument::string(graph_.add_text(entry.backend_config)));
  }
  void resolve_group(NodeId id) {
    const std::string_view name = graph_.text(graph_.arguments(id).back().text());
    for (const Resolved& r : resolved_)
      if (r.name == name) return set_partition(id, r.partition);
    const ProcessGroups::Group& group = *groups_.find(name);
    resolved_.push_back({group.name, graph_.add_partition(group.ranks.view(), group.group_size)});
    set_partition(id, resolved_.back().partition);
  }
  void set_partition(NodeId id, std::uint32_t partition) {
    graph_.mutable_node(id).replica_groups = partition;
  }
  static void replace(Argument& a, Argument by) { a = by.with_keyword(a.keyword()); }
  [[nodiscard]] auto keyword(NodeId id, std::string_view name) -> Argument& {
    const auto arguments = graph_.mutable_arguments(id);
    return *std::find_if(arguments.begin(), arguments.end(),
                         [&](const Argument& a) { return graph_.text(a.keyword()) == name; });
  }

  struct Resolved {
    std::string_view name;
    std::uint32_t partition = 0;
  };
  Graph& graph_;
  const KernelRegistry& kernels_;
  const ProcessGroups& groups_;
  std::vector<OperatorTraits> traits_;
  std::vector<Resolved> resolved_;
};

/// Writes become values and written inputs become outputs, for graphs of float matrices, of `select`, and of
/// writes into a matrix or one of its rows: by `add_`, `mul_`, `copy_`, and by kernels whose only result is
/// their operand's new value. The node table is built anew in one sweep. What is written into a row is put
/// into its matrix when the matrix or another row is asked for.
class WriteRewriter {
 public:
  WriteRewriter(Graph& graph, const KernelRegistry& kernels)
      : graph_(graph),
        kernels_(kernels),
        traits_(traits_of_operators(graph)),
        names_(graph),
        operators_(graph) {
    values_.resize(graph.node_count());
    nodes_.reserve(graph.node_count() + graph.node_count() / 2);
  }

  void run() {
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) visit(NodeId{i});
    finish();
  }
  /// Nodes are to be visited in program order.
  void visit(NodeId id) {
    const OperatorTraits op = traits_[graph_.node(id).op.index];
    if (op.writes && !op.is_kernel) return write(id);
    if (graph_.node(id).kind == NodeKind::output) append_written_inputs(id);
    Value value{id, id, whole, {}};
    if (op.is_view) {
      value.matrix = value_of(graph_.arguments(id)[0].node()).matrix;
      value.row = graph_.arguments(id)[2].integer();
    }
    const NodeId written = op.is_kernel ? written_by_kernel(id) : no_node;
    read_operands(id, graph_.node(id).arguments);
    value.newest = NodeId{nodes_.push_back(graph_.node(id))};
    if (op.is_view) value.version = values_[value.matrix.index].writes;
    values_[id.index] = value;
    if (op.is_kernel) make_functional(nodes_.back());
    if (written != no_node) set_newest(written, value.newest);
  }
  void finish() { graph_.replace_nodes(std::move(nodes_)); }

 private:
  static constexpr std::int64_t whole = -1;

  /// What an old node is: a matrix, or a row of one; and which new node has its value.
  struct Value {
    NodeId same_as;             ///< the node that this one is another name of: itself, or what it wrote into
    NodeId matrix;
    std::int64_t row = whole;
    NodeId newest;              ///< in the new table
    std::uint32_t version = 0;  ///< of the matrix, when `newest` was its value
    // Of a matrix:
    std::uint32_t writes = 0;
    NodeId pending = no_node;  ///< the row that was written last, if the matrix does not have it yet
  };

  [[nodiscard]] auto value_of(NodeId id) -> Value& { return values_[values_[id.index].same_as.index]; }

  void read_operands(NodeId position, Range arguments) {
    for (std::uint32_t i = arguments.begin; i < arguments.end(); ++i) {
      const Argument a = graph_.arguments_in({i, 1})[0];
      if (a.is_group()) read_operands(position, a.children());
      if (!a.is_node()) continue;
      const NodeId newest = up_to_date(position, a.node());
      graph_.mutable_arguments_in({i, 1})[0] = Argument(newest).with_keyword(a.keyword());
    }
  }

  /// The new node with the value of old node `operand`, when old node `position` is reached.
  auto up_to_date(NodeId position, NodeId operand) -> NodeId {
    Value& value = value_of(operand);
    Value& matrix = values_[value.matrix.index];
    if (value.version == matrix.writes) return value.newest;
    put_pending_row(position, matrix);
    if (value.row == whole) return matrix.newest;
    value.newest = insert(position, "torch.ops.aten.select.int", {matrix.newest, 0, value.row}, value, {});
    value.version = matrix.writes;
    return value.newest;
  }
  void put_pending_row(NodeId position, Value& matrix) {
    if (matrix.pending == no_node) return;
    const Value& row = values_[std::exchange(matrix.pending, no_node).index];
    matrix.newest = insert(position, "torch.ops.aten.select_scatter.default",
                           {matrix.newest, row.newest, 0, row.row}, matrix, modified_name(matrix));
    matrix.version = matrix.writes;
  }

  void write(NodeId id) {
    const NodeId target = values_[graph_.arguments(id)[0].node().index].same_as;
    const NodeId source = graph_.arguments(id)[1].node();
    Value& value = values_[target.index];
    Value& matrix = values_[value.matrix.index];
    const ops::CatalogRow row = graph_.op(id).row;
    NodeId written;
    if (ops::schema(row).base() == "aten.copy_") {
      written = up_to_date(id, source);
    } else {
      const NodeId self = up_to_date(id, target);
      written = insert(id, text_of("torch.ops.", ops::schema(ops::functional_twin(row)).name()),
                       {self, up_to_date(id, source)}, value, modified_name(matrix));
    }
    if (value.row != whole && matrix.pending != target) put_pending_row(id, matrix);
    set_newest(target, written);
    values_[id.index].same_as = target;
  }
  void set_newest(NodeId target, NodeId written) {
    Value& value = values_[target.index];
    Value& matrix = values_[value.matrix.index];
    value.newest = written;
    value.version = ++matrix.writes;
    matrix.pending = value.row == whole ? no_node : target;
  }

  /// The matrix that kernel call `id` writes, or none.
  [[nodiscard]] auto written_by_kernel(NodeId id) const -> NodeId {
    std::int64_t kernel_idx = 0;
    Argument operands;
    for (const Argument& a : graph_.arguments(id)) {
      if (graph_.text(a.keyword()) == "kernel_idx") kernel_idx = a.integer();
      if (graph_.text(a.keyword()) == "args") operands = a;
    }
    const KernelEntry& entry = *kernels_.find(kernel_idx);
    return entry.aliases.empty() ? no_node : graph_.children(operands)[entry.aliases[0].operand].node();
  }
  void make_functional(Node& call) {
    call.target = texts_.intern(graph_, text_of("torch.ops.", functional_kernel_operator));
    call.op = operators_.intern(graph_, call.kind, call.target, graph_.arguments_in(call.arguments));
  }

  void append_written_inputs(NodeId output) {
    Pool<Argument> values;
    values.append(graph_.arguments(output));
    for (std::uint32_t i = 0; i < graph_.inputs().size(); ++i) {
      if (values_[graph_.inputs()[i].node.index].writes == 0) continue;
      values.push_back(graph_.inputs()[i].node);
      graph_.add_output({OutputKind::user_input_mutation, i, graph_.inputs()[i].target});
    }
    graph_.set_arguments(output, values.view());
  }

  [[nodiscard]] auto modified_name(const Value& matrix) const -> Text {
    return text_of(graph_.name(matrix.matrix), "_modified");
  }
  auto insert(NodeId position, std::string_view target, std::initializer_list<Argument> arguments,
              const Value& like, std::string_view name) -> NodeId {
    Node node;
    node.value_kind = ValueKind::tensor;
    node.values = like.row == whole ? graph_.node(like.matrix).values : row_metadata(like);
    node.target = texts_.intern(graph_, target);
    node.arguments = graph_.add_arguments(fxpass::Span(arguments.begin(), arguments.size()));
    node.stack_trace = graph_.node(position).stack_trace;
    node.op = operators_.intern(graph_, node.kind, node.target, graph_.arguments_in(node.arguments));
    node.name = names_.unique(graph_, texts_, name.empty() ? std::string_view("select") : name);
    return {nodes_.push_back(node)};
  }
  /// Contiguous, whatever the view was.
  [[nodiscard]] auto row_metadata(const Value& row) -> Range {
    const TensorMeta& matrix = *graph_.tensor(row.matrix);
    TensorMeta meta;
    meta.device = matrix.device;
    const SymInt sizes[] = {graph_.sizes(matrix)[1]};
    const SymInt strides[] = {1};
    return graph_.add_meta(meta, sizes, strides);
  }

  Graph& graph_;
  const KernelRegistry& kernels_;
  std::vector<OperatorTraits> traits_;
  TextInterner texts_;
  NameTable names_;
  OperatorInterner operators_;
  std::vector<Value> values_;
  Pool<Node> nodes_;
};

/// All of it, in one loop.
inline void rewrite_everything(Graph& graph, const KernelRegistry& kernels, const ProcessGroups& groups) {
  NodeLocalRewriter local(graph, kernels, groups);
  WriteRewriter writes(graph, kernels);
  const std::uint32_t count = graph.node_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    local.visit(NodeId{i});
    writes.visit(NodeId{i});
  }
  writes.finish();
}

}  // namespace fxpass::bench

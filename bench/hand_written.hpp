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
/// What pipelines are measured against: the same work on the same `Graph`, written by hand as one loop. No pass, no
/// contract, no artifact, no pass after another; everything that is known of an operator is found out beforehand.

namespace fxpass::bench {

inline constexpr ops::CatalogRow tanh_row = ops::find_overload("aten.tanh.default");

/// What an operator is to the loops below, found out once for each operator of a graph.
struct OperatorTraits {
  static constexpr std::uint8_t nowhere = 0xff;

  bool takes_device = false;
  bool is_kernel = false;
  bool is_collective = false;
  bool is_counted = false;
  bool is_local = false;  ///< one of these four
  bool is_view = false;
  bool writes = false;
  bool is_unknown = false;  ///< not in the catalog
  std::uint8_t device_position = nowhere;  ///< among the positional arguments
  std::uint8_t group_position = nowhere;
  std::uint8_t size_position = nowhere;
};
[[nodiscard]] inline auto traits_of_operators(const Graph& graph) -> std::vector<OperatorTraits> {
  std::vector<OperatorTraits> traits;
  for (const Operator& op : graph.operators()) {
    const ops::Schema schema = graph.schema(op);
    OperatorTraits& t = traits.emplace_back();
    t.is_unknown = schema.empty() && traits.size() > 1;  // record 0 is "no operator"
    if (schema.empty()) continue;
    const auto device = schema.find("device");
    const auto group = schema.find("group_name");
    t.takes_device = device.has_value();
    t.is_kernel = schema.base() == kernel_operator || schema.base() == functional_kernel_operator;
    t.is_collective = group.has_value() && !schema.base().starts_with("aten.");
    t.is_local = t.takes_device || t.is_kernel || t.is_collective;
    t.is_view = op.view != ops::ViewRule::none;
    t.writes = op.writes;
    if (device && !device->parameter.keyword_only) t.device_position = static_cast<std::uint8_t>(device->position);
    if (group && !group->parameter.keyword_only) t.group_position = static_cast<std::uint8_t>(group->position);
    if (const auto size = schema.find("group_size")) t.size_position = static_cast<std::uint8_t>(size->position);
  }
  return traits;
}

/// Devices become "xla", kernels get their configuration and aliases, collectives their replica groups. It does all that
/// the three passes do, and refuses what they refuse in the same words; for graphs all of whose operators are in the
/// catalog and called by ATen's names.
class NodeLocalRewriter {
 public:
  /// Calls of `counted` are counted.
  NodeLocalRewriter(Graph& graph, const KernelRegistry& kernels, const ProcessGroups& groups,
                    ops::CatalogRow counted = ops::no_row)
      : graph_(graph), kernels_(kernels), groups_(groups), traits_(traits_of_operators(graph)) {
    for (std::size_t i = 0; i < traits_.size(); ++i) {
      traits_[i].is_counted = counted != ops::no_row && graph.operators()[i].row == counted;
      traits_[i].is_local = traits_[i].is_local || traits_[i].is_counted;
    }
  }

  [[nodiscard]] auto run() -> Status {
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i)
      if (wants(NodeId{i}))
        if (Status done = visit(NodeId{i}); !done) return done;
    return {};
  }
  [[nodiscard]] auto wants(NodeId id) const -> bool { return traits_[graph_.node(id).op.index].is_local; }
  [[nodiscard]] auto visit(NodeId id) -> Status {
    const OperatorTraits& op = traits_[graph_.node(id).op.index];
    if (op.is_counted) ++counted_;
    if (op.takes_device) rewrite_device(id, op);
    if (op.is_kernel)
      if (Status done = configure(id); !done) return done;
    if (op.is_collective) return resolve_group(id, op);
    return {};
  }

  [[nodiscard]] auto devices() const -> std::int64_t { return devices_; }
  [[nodiscard]] auto kernel_calls() const -> std::int64_t { return kernel_calls_; }
  [[nodiscard]] auto collectives() const -> std::int64_t { return collectives_; }
  [[nodiscard]] auto counted() const -> std::int64_t { return counted_; }

 private:
  void rewrite_device(NodeId id, const OperatorTraits& op) {
    std::uint32_t position = 0;
    for (Argument& a : graph_.mutable_arguments(id)) {
      const bool is_device = a.is_keyword() ? graph_.text(a.keyword()) == "device"
                             : a.is(ArgumentKind::device) ||
                                   (a.is(ArgumentKind::string) && position == op.device_position);
      if (is_device) rewrite_device(a);
      ++position;
    }
  }
  void rewrite_device(Argument& a) {
    ++devices_;
    if (a.is(ArgumentKind::device)) {
      const std::string_view old = graph_.device(a.device());
      if (old.substr(0, old.find(':')) == "xla") return;
      if (device_ == DeviceId{}) device_ = graph_.add_device("xla:0");
      replace(a, Argument(device_));
    } else if (!a.is(ArgumentKind::string) || graph_.text(a.text()) != "xla") {
      if (string_ == TextId{}) string_ = graph_.add_text("xla");
      replace(a, Argument::string(string_));
    }
  }

  auto configure(NodeId id) -> Status {
    ++kernel_calls_;
    Argument kernel_idx;
    Argument operands;
    Argument* aliases = nullptr;
    Argument* config = nullptr;
    for (Argument& a : graph_.mutable_arguments(id)) {
      const std::string_view keyword = graph_.text(a.keyword());
      if (keyword == "kernel_idx") kernel_idx = a;
      if (keyword == "args") operands = a;
      if (keyword == "operand_output_aliases") aliases = &a;
      if (keyword == "backend_config") config = &a;
    }
    const bool is_configured = config->is(ArgumentKind::string) && config->text() != TextId{};
    const KernelEntry* entry = kernels_.find(kernel_idx.integer());
    if (entry == nullptr && is_configured) return {};
    if (entry == nullptr)
      return error_at(graph_, id, DiagnosticCode::unknown_kernel,
                      text_of("kernel ", kernel_idx.integer(), " is in no kernel registry, so it has no "
                              "backend_config; register it (--nki-kernels)"));
    replace(*config, Argument::string(config_of(*entry)));
    return set_aliases(id, *entry, operands, aliases);
  }
  auto config_of(const KernelEntry& entry) -> TextId {
    for (const Configured& c : configured_)
      if (c.entry == &entry) return c.config;
    configured_.push_back({&entry, graph_.add_text(entry.backend_config)});
    return configured_.back().config;
  }
  /// A call that declares its aliases keeps them.
  auto set_aliases(NodeId id, const KernelEntry& entry, const Argument& operands, Argument* aliases) -> Status {
    if (!aliases->is(ArgumentKind::dict))
      return error_at(graph_, id, DiagnosticCode::unsupported,
                      "operand_output_aliases is not a dict of integers to integers");
    if (!graph_.children(*aliases).empty()) return check_declared(id, operands, *aliases);
    if (entry.aliases.empty()) return {};
    items_.clear();
    for (const KernelAlias alias : entry.aliases) {
      const auto position = tensor_position(operands, alias.operand);
      if (position < 0)
        return error_at(graph_, id, DiagnosticCode::unknown_kernel,
                        text_of("kernel ", entry.kernel_idx, " is registered with an alias of tensor argument ",
                                alias.operand, ", which the call does not have"));
      items_.push_back(position);
      items_.push_back(alias.result);
    }
    const std::ptrdiff_t at = aliases - graph_.mutable_arguments(id).data();
    const Range items = graph_.add_arguments(items_.view());
    replace(graph_.mutable_arguments(id)[static_cast<std::size_t>(at)], Argument::group(ArgumentKind::dict, items));
    return {};
  }
  [[nodiscard]] auto check_declared(NodeId id, const Argument& operands, const Argument& aliases) const -> Status {
    const auto items = graph_.children(aliases);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (!items[i].is(ArgumentKind::integer))
        return error_at(graph_, id, DiagnosticCode::unsupported,
                        "operand_output_aliases is not a dict of integers to integers");
    for (std::size_t i = 0; i < items.size(); i += 2)
      if (!is_tensor(operands, items[i].integer()))
        return error_at(graph_, id, DiagnosticCode::unsupported,
                        text_of("operand_output_aliases names argument ", items[i].integer(), ", which is no tensor"));
    return {};
  }
  [[nodiscard]] auto is_tensor(const Argument& operands, std::int64_t position) const -> bool {
    const auto all = graph_.children(operands);
    if (position < 0 || position >= static_cast<std::int64_t>(all.size())) return false;
    const Argument& a = all[static_cast<std::size_t>(position)];
    return a.is_node() && graph_.node(a.node()).value_kind == ValueKind::tensor;
  }
  /// Position among all operands of the `k`-th tensor; -1 if there is none.
  [[nodiscard]] auto tensor_position(const Argument& operands, std::uint32_t k) const -> std::int64_t {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(operands.children().count); ++i)
      if (is_tensor(operands, i) && k-- == 0) return i;
    return -1;
  }

  auto resolve_group(NodeId id, const OperatorTraits& op) -> Status {
    ++collectives_;
    const Argument* group = nullptr;
    const Argument* size = nullptr;
    std::uint32_t position = 0;
    for (const Argument& a : graph_.arguments(id)) {
      if (a.is_keyword() ? graph_.text(a.keyword()) == "group_name" : position == op.group_position) group = &a;
      if (a.is_keyword() ? graph_.text(a.keyword()) == "group_size" : position == op.size_position) size = &a;
      ++position;
    }
    if (group == nullptr || !group->is(ArgumentKind::string))
      return error_at(graph_, id, DiagnosticCode::unresolved_group, "names no process group");
    const std::string_view name = graph_.text(group->text());
    for (const Resolved& r : resolved_)
      if (r.name == name) return set_partition(id, r.partition);
    const std::int64_t world = groups_.world_size();
    std::uint32_t partition = 0;
    if (const ProcessGroups::Group* known = groups_.find(name)) {
      partition = graph_.add_partition(known->ranks.view(), known->group_size);
    } else if (world > 0 && (name == "0" || (size != nullptr && size->is(ArgumentKind::integer) && size->integer() == world))) {
      Pool<std::int64_t> ranks;
      for (std::int64_t rank = 0; rank < world; ++rank) ranks.push_back(rank);
      partition = graph_.add_partition(ranks.view(), static_cast<std::uint32_t>(world));
    } else {
      return error_at(graph_, id, DiagnosticCode::unresolved_group,
                      text_of("names process group '", name, "', of which no partition of all ranks is registered "
                              "(--process-group ", name, "=0,1;2,3)"));
    }
    resolved_.push_back({Text(name), partition});
    return set_partition(id, partition);
  }
  auto set_partition(NodeId id, std::uint32_t partition) -> Status {
    graph_.mutable_node(id).replica_groups = partition;
    return {};
  }
  static void replace(Argument& a, Argument by) { a = by.with_keyword(a.keyword()); }

  struct Configured {
    const KernelEntry* entry = nullptr;
    TextId config;
  };
  struct Resolved {
    Text name;
    std::uint32_t partition = 0;
  };
  Graph& graph_;
  const KernelRegistry& kernels_;
  const ProcessGroups& groups_;
  std::vector<OperatorTraits> traits_;
  DeviceId device_;  ///< the target, once it has been used
  TextId string_;    ///< and as a text
  std::vector<Configured> configured_;
  std::vector<Resolved> resolved_;
  Pool<Argument> items_;
  std::int64_t devices_ = 0;
  std::int64_t kernel_calls_ = 0;
  std::int64_t collectives_ = 0;
  std::int64_t counted_ = 0;
};

/// Writes become values and written inputs become outputs, for graphs of float tensors in which what is written is a
/// matrix or one of its rows: by `add_`, `mul_`, `copy_`, and by kernels whose only result is their operand's new value.
/// The node table is built anew in one sweep. What is written into a row is put into its matrix when the matrix or another
/// row is asked for. It refuses what PyTorch refuses; of what else it does not carry out, it says no more than that.
class WriteRewriter {
 public:
  WriteRewriter(Graph& graph, const KernelRegistry& kernels)
      : graph_(graph), kernels_(kernels), traits_(traits_of_operators(graph)) {
    for (const OperatorTraits& op : traits_) has_work_ = has_work_ || op.writes || op.is_view || op.is_unknown;
    if (!has_work_) return;
    names_ = NameTable(graph);
    operators_ = OperatorInterner(graph);
    twins_.resize(traits_.size());
    values_.resize(graph.node_count());
    nodes_.reserve(graph.node_count() + graph.node_count() / 2);
  }

  /// Whether there is anything to visit: a graph without views and writes stays as it is.
  [[nodiscard]] auto has_work() const -> bool { return has_work_; }
  [[nodiscard]] auto run() -> Status {
    if (!has_work_) return {};
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i)
      if (Status done = visit(NodeId{i}); !done) return done;
    finish();
    return {};
  }
  /// Nodes are to be visited in program order.
  [[nodiscard]] auto visit(NodeId id) -> Status {
    const OperatorTraits& op = traits_[graph_.node(id).op.index];
    if (op.is_unknown) return refuse(id);
    if (op.writes && !op.is_kernel) return write(id);
    if (op.is_view) return view(id);
    if (op.is_kernel) return kernel(id);
    switch (graph_.node(id).kind) {
      case NodeKind::placeholder:
        if (graph_.inputs()[id.index].storage != own_storage) return refuse(id);
        break;
      case NodeKind::call_module: return refuse(id);
      case NodeKind::output: append_written_inputs(id); break;
      default: break;
    }
    keep(id, Value{id, id, whole, {}});
    return {};
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
  /// What computes the value that an in-place operator writes.
  struct Twin {
    bool is_known = false;
    bool is_copy = false;
    TextId target;  ///< empty: none
  };

  [[nodiscard]] auto refuse(NodeId id) const -> Status {
    return error_at(graph_, id, DiagnosticCode::unsupported, text_of(graph_.target(id), " is not carried out"));
  }
  [[nodiscard]] auto value_of(NodeId id) -> Value& { return values_[values_[id.index].same_as.index]; }

  /// The node stays, and reads newest values.
  void keep(NodeId id, Value value) {
    read_operands(id, graph_.node(id).arguments);
    value.newest = NodeId{nodes_.push_back(graph_.node(id))};
    values_[id.index] = value;
  }
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

  /// A tensor itself, or row `index` of a matrix, `select(matrix, 0, index)`; no other views.
  [[nodiscard]] auto view(NodeId id) -> Status {
    const auto arguments = graph_.arguments(id);
    if (graph_.op(id).view == ops::ViewRule::identity && arguments[0].is_node()) {
      const Value viewed = value_of(arguments[0].node());
      keep(id, Value{id, viewed.matrix, viewed.row, {}});
      values_[id.index].version = values_[viewed.matrix.index].writes;
      return {};
    }
    if (graph_.op(id).view != ops::ViewRule::select || arguments.size() != 3 || !arguments[0].is_node() ||
        !arguments[1].is(ArgumentKind::integer) || !arguments[2].is(ArgumentKind::integer))
      return refuse(id);
    const Value& viewed = value_of(arguments[0].node());
    const TensorMeta* matrix = graph_.tensor(viewed.matrix);
    if (viewed.row != whole || !is_contiguous_floats(matrix) || matrix->rank != 2 || arguments[1].integer() != 0)
      return refuse(id);
    const std::int64_t size = graph_.sizes(*matrix)[0].value();
    const std::int64_t row = arguments[2].integer() + (arguments[2].integer() < 0 ? size : 0);
    if (row < 0 || row >= size) return refuse(id);
    keep(id, Value{id, viewed.matrix, row, {}});
    values_[id.index].version = values_[viewed.matrix.index].writes;
    return {};
  }

  [[nodiscard]] auto write(NodeId id) -> Status {
    const auto arguments = graph_.arguments(id);
    const Twin twin = twin_of(graph_.node(id).op);
    const bool is_binary = arguments.size() == 2 && arguments[0].is_node() && arguments[1].is_node();
    if (!is_binary || (twin.target == TextId{} && !twin.is_copy)) return refuse(id);
    NodeId target = values_[arguments[0].node().index].same_as;
    if (values_[target.index].row == whole) target = values_[target.index].matrix;
    const NodeId source = arguments[1].node();
    if (Status refused = check(id, target, source, twin); !refused) return refused;
    Value& value = values_[target.index];
    Value& matrix = values_[value.matrix.index];
    NodeId written;
    if (twin.is_copy) {
      written = up_to_date(id, source);
    } else {
      const NodeId self = up_to_date(id, target);
      written = insert(id, graph_.text(twin.target), {self, up_to_date(id, source)}, value, modified_name(matrix));
    }
    if (value.row != whole && matrix.pending != target) put_pending_row(id, matrix);
    set_newest(target, written);
    values_[id.index].same_as = target;
    return {};
  }
  /// Whether `source` can be written into `target`: floats both, of a shape that broadcasts, and not another part of the
  /// same matrix.
  [[nodiscard]] auto check(NodeId id, NodeId target, NodeId source, const Twin& twin) -> Status {
    const Value& to = values_[target.index];
    const Value& from = value_of(source);
    const TensorMeta* written = graph_.tensor(target);
    const TensorMeta* read = graph_.tensor(source);
    if (!is_contiguous_floats(written) || !is_contiguous_floats(read) || graph_.node(to.matrix).kind == NodeKind::get_attr)
      return refuse(id);
    const bool covers = to.row == whole || from.row == whole;
    if (to.matrix == from.matrix && to.row != from.row && covers)
      return error_at(graph_, id, DiagnosticCode::eager_would_raise,
                      text_of("writes into part of '", graph_.name(to.matrix), "' while it reads an overlapping part; "
                              "PyTorch raises here, clone() the operand first"));
    if (!broadcasts(*read, *written))
      return error_at(graph_, id, DiagnosticCode::eager_would_raise,
                      text_of("'", graph_.name(source), "' does not broadcast to the shape of what is written; PyTorch "
                              "raises here"));
    return twin.is_copy && read->rank != written->rank ? refuse(id) : Status();
  }
  [[nodiscard]] auto is_contiguous_floats(const TensorMeta* meta) const -> bool {
    if (meta == nullptr || meta->dtype != DType::f32 || meta->storage_offset.is_symbolic()) return false;
    std::int64_t expected = 1;
    for (std::uint32_t i = meta->rank; i-- > 0;) {
      const SymInt size = graph_.sizes(*meta)[i];
      if (size.is_symbolic() || size.value() == 0 || !(graph_.strides(*meta)[i] == SymInt(expected))) return false;
      expected *= size.value();
    }
    return true;
  }
  [[nodiscard]] auto broadcasts(const TensorMeta& from, const TensorMeta& to) const -> bool {
    if (from.rank > to.rank) return false;
    for (std::uint32_t i = 1; i <= from.rank; ++i) {
      const std::int64_t size = graph_.sizes(from)[from.rank - i].value();
      if (size != 1 && size != graph_.sizes(to)[to.rank - i].value()) return false;
    }
    return true;
  }
  void set_newest(NodeId target, NodeId written) {
    Value& value = values_[target.index];
    Value& matrix = values_[value.matrix.index];
    value.newest = written;
    value.version = ++matrix.writes;
    matrix.pending = value.row == whole ? no_node : target;
  }
  [[nodiscard]] auto twin_of(OpId op) -> const Twin& {
    Twin& twin = twins_[op.index];
    if (twin.is_known) return twin;
    twin.is_known = true;
    const ops::CatalogRow row = graph_.op(op).row;
    twin.is_copy = graph_.op(op).write_rule == ops::WriteRule::copy;
    if (graph_.op(op).write_rule != ops::WriteRule::promoting) return twin;
    const ops::CatalogRow functional = ops::functional_twin(row);
    if (functional != ops::no_row)
      twin.target = texts_.intern(graph_, text_of("torch.ops.", ops::schema(functional).name()));
    return twin;
  }

  [[nodiscard]] auto kernel(NodeId id) -> Status {
    std::int64_t kernel_idx = -1;
    Argument operands;
    for (const Argument& a : graph_.arguments(id)) {
      const std::string_view keyword = graph_.text(a.keyword());
      if (keyword == "kernel_idx") kernel_idx = a.integer();
      if (keyword == "args") operands = a;
    }
    const KernelEntry* entry = kernels_.find(kernel_idx);
    if (entry == nullptr)
      return error_at(graph_, id, DiagnosticCode::unknown_kernel,
                      text_of("kernel ", kernel_idx, " declares no aliases and is in no kernel registry, so what it "
                              "writes is not known; register it (--nki-kernels)"));
    NodeId written = no_node;
    if (!entry->aliases.empty()) {
      const KernelAlias alias = entry->aliases[0];
      if (entry->aliases.size() != 1 || alias.result != 0 || alias.operand >= operands.children().count) return refuse(id);
      const Argument operand = graph_.children(operands)[alias.operand];
      if (!operand.is_node() || value_of(operand.node()).row != whole || !is_like(id, operand.node())) return refuse(id);
      written = value_of(operand.node()).matrix;
    }
    keep(id, Value{id, id, whole, {}});
    make_functional(nodes_.back());
    if (written != no_node) set_newest(written, values_[id.index].newest);
    return {};
  }
  /// Whether two nodes have one dtype and shape.
  [[nodiscard]] auto is_like(NodeId a, NodeId b) const -> bool {
    const TensorMeta* x = graph_.tensor(a);
    const TensorMeta* y = graph_.tensor(b);
    return is_contiguous_floats(x) && is_contiguous_floats(y) && x->rank == y->rank && broadcasts(*x, *y);
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
  bool has_work_ = false;
  TextInterner texts_;
  NameTable names_;
  OperatorInterner operators_;
  std::vector<Twin> twins_;  ///< by operator
  std::vector<Value> values_;
  Pool<Node> nodes_;
};

/// All of it, in one loop.
[[nodiscard]] inline auto rewrite_everything(Graph& graph, const KernelRegistry& kernels, const ProcessGroups& groups)
    -> Status {
  NodeLocalRewriter local(graph, kernels, groups);
  WriteRewriter writes(graph, kernels);
  if (!writes.has_work()) return local.run();
  const std::uint32_t count = graph.node_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (local.wants(NodeId{i}))
      if (Status done = local.visit(NodeId{i}); !done) return done;
    if (Status done = writes.visit(NodeId{i}); !done) return done;
  }
  writes.finish();
  return {};
}

}  // namespace fxpass::bench

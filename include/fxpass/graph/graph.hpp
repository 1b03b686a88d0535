// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/node.hpp>
#include <fxpass/support/span.hpp>
#include <fxpass/support/text.hpp>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// `Graph`: a PyTorch FX graph as a value.

namespace fxpass {

/// A PyTorch FX graph: nodes in program order, their arguments, metadata, and what its inputs and outputs are.
///
/// Regular: copies are independent and cost about a `memcpy`, `==` compares program and content, never pool indices.
/// Usable in constant evaluation. Made by `GraphBuilder` or a reader, changed by `Editor` and by the setters below,
/// checked by `verify(graph)`.
///
/// Invariants (`graph/verify.hpp` checks them): placeholders come first and correspond one to one to `inputs()`; one
/// output node, the last, whose arguments correspond one to one to `outputs()`; a node's operands precede it; names
/// are unique.
class Graph {
 public:
  /// A graph without nodes.
  constexpr Graph() {
    // Record 0 of each table means "none", so that a zeroed record refers to nothing.
    texts_.push_back(Range{});
    operators_.push_back(Operator{});
    devices_.push_back(TextId{});
  }

  // Nodes ------------------------------------------------------------------------------------------------------------
  /// The node table, in program order; a record by its id. Needs `holds(id)`. O(1).
  [[nodiscard]] constexpr auto node_count() const -> std::uint32_t { return nodes_.size(); }
  [[nodiscard]] constexpr auto nodes() const -> Span<const Node> { return nodes_.view(); }
  [[nodiscard]] constexpr auto node(NodeId id) const -> const Node& { return nodes_[id.index]; }
  [[nodiscard]] constexpr auto mutable_node(NodeId id) -> Node& { return nodes_[id.index]; }
  /// The output node. Needs a finished graph.
  [[nodiscard]] constexpr auto output_node() const -> NodeId { return {nodes_.size() - 1}; }
  /// The operator that the node calls; record 0 for one that calls none.
  [[nodiscard]] constexpr auto op(NodeId id) const -> const Operator& { return operators_[node(id).op.index]; }
  [[nodiscard]] constexpr auto op(OpId id) const -> const Operator& { return operators_[id.index]; }
  /// All operators that nodes call, by `OpId`; record 0 is "no operator".
  [[nodiscard]] constexpr auto operators() const -> Span<const Operator> { return operators_.view(); }
  /// The schema of the node's operator; empty if unknown. Valid while the graph is.
  [[nodiscard]] constexpr auto schema(const Operator& o) const -> ops::Schema {
    if (o.row != ops::no_row) return ops::schema(o.row);
    return o.schema == TextId{} ? ops::Schema() : ops::Schema(text(o.schema));
  }

  // Texts ------------------------------------------------------------------------------------------------------------
  /// The characters of a text. Valid until the next text is added.
  [[nodiscard]] constexpr auto text(TextId id) const -> std::string_view {
    const Range r = texts_[id.index];
    return {chars_.data() + r.begin, r.count};
  }
  /// The node's target, as FX has it.
  [[nodiscard]] constexpr auto target(NodeId id) const -> std::string_view { return text(node(id).target); }
  /// Writes a node's name.
  template <TextSink Sink>
  constexpr void append_name(Sink& sink, Name n) const {
    append_to(sink, text(n.base));
    if (n.ordinal != 0) append_all(sink, '_', n.ordinal - 1);
  }
  /// The node's name: "add_3".
  [[nodiscard]] constexpr auto name(NodeId id) const -> Text {
    Text t;
    append_name(t, node(id).name);
    return t;
  }
  /// The device as PyTorch writes it: "xla:0".
  [[nodiscard]] constexpr auto device(DeviceId id) const -> std::string_view { return text(devices_[id.index]); }

  // Arguments --------------------------------------------------------------------------------------------------------
  /// The arguments of a node, positional ones first; or those in a range of the graph. Valid until arguments are
  /// added.
  [[nodiscard]] constexpr auto arguments(NodeId id) const -> Span<const Argument> {
    return arguments_.view(node(id).arguments);
  }
  [[nodiscard]] constexpr auto arguments_in(Range range) const -> Span<const Argument> {
    return arguments_.view(range);
  }
  /// Members of a list, tuple, dict, slice or complex argument.
  [[nodiscard]] constexpr auto children(const Argument& a) const -> Span<const Argument> {
    return arguments_.view(a.children());
  }
  /// The text of a symbolic expression. Needs `s.is_symbolic()`.
  [[nodiscard]] constexpr auto expression(SymInt s) const -> std::string_view {
    return text(expressions_[s.expression()]);
  }
  /// Calls `visit(NodeId)` for each operand of `a`, nested ones included, in order.
  template <class F>
  constexpr void for_each_operand(const Argument& a, F&& visit) const {
    if (a.is_node()) {
      visit(a.node());
    } else if (a.is_group()) {
      for (const Argument& child : children(a)) for_each_operand(child, visit);
    }
  }
  /// Calls `visit(NodeId)` for each operand of node `id`, in order.
  template <class F>
  constexpr void for_each_operand(NodeId id, F&& visit) const {
    for (const Argument& a : arguments(id)) for_each_operand(a, visit);
  }

  // Metadata ---------------------------------------------------------------------------------------------------------
  /// Metadata of the node's values: one for a tensor, one a member for a tuple.
  [[nodiscard]] constexpr auto values(NodeId id) const -> Span<const TensorMeta> {
    return metas_.view(node(id).values);
  }
  /// Metadata of the tensor that the node is; null if it is none or nothing is known of it.
  [[nodiscard]] constexpr auto tensor(NodeId id) const -> const TensorMeta* {
    const Node& n = node(id);
    if (n.value_kind != ValueKind::tensor || n.values.empty()) return nullptr;
    const TensorMeta& meta = metas_[n.values.begin];
    return meta.known ? &meta : nullptr;
  }
  /// A record by its index, as ranges of values have it.
  [[nodiscard]] constexpr auto meta(std::uint32_t index) const -> const TensorMeta& { return metas_[index]; }
  /// Sizes, or strides in elements, of a tensor: `rank` numbers or expressions.
  [[nodiscard]] constexpr auto sizes(const TensorMeta& m) const -> Span<const SymInt> {
    return dims_.view(Range{m.dims, m.rank});
  }
  [[nodiscard]] constexpr auto strides(const TensorMeta& m) const -> Span<const SymInt> {
    return dims_.view(Range{m.dims + m.rank, m.rank});
  }

  // Inputs and outputs -----------------------------------------------------------------------------------------------
  /// What the placeholders and the output's arguments are, one for one.
  [[nodiscard]] constexpr auto inputs() const -> Span<const InputSpec> { return inputs_.view(); }
  [[nodiscard]] constexpr auto outputs() const -> Span<const OutputSpec> { return outputs_.view(); }
  /// How many outputs the program itself returns; they come first.
  [[nodiscard]] constexpr auto original_output_count() const -> std::uint32_t {
    std::uint32_t count = 0;
    while (count < outputs_.size() && is_returned(outputs_[count].kind)) ++count;
    return count;
  }
  /// Which input `id` is; `no_input` if it is none. O(1): placeholders come first.
  [[nodiscard]] constexpr auto input_of(NodeId id) const -> std::uint32_t {
    return id.index < inputs_.size() && inputs_[id.index].node == id ? id.index : no_input;
  }

  // Symbolic sizes ---------------------------------------------------------------------------------------------------
  /// What is known of symbolic sizes, as the export states it.
  [[nodiscard]] constexpr auto size_ranges() const -> Span<const SizeRange> { return size_ranges_.view(); }
  /// How many symbolic expressions there are; each is `SymInt::expression(i)`.
  [[nodiscard]] constexpr auto expression_count() const -> std::uint32_t { return expressions_.size(); }

  // Partitions and subgraphs -----------------------------------------------------------------------------------------
  /// The replica groups of a collective; null where none are resolved.
  [[nodiscard]] constexpr auto replica_groups(NodeId id) const -> const Partition* {
    const std::uint32_t p = node(id).replica_groups;
    return p == 0 ? nullptr : &partitions_[p - 1];
  }
  /// The ranks of a partition, group by group.
  [[nodiscard]] constexpr auto ranks(const Partition& p) const -> Span<const std::int64_t> {
    return ranks_.view(p.ranks);
  }
  /// All partitions that collectives of the graph name.
  [[nodiscard]] constexpr auto partitions() const -> Span<const Partition> { return partitions_.view(); }
  /// The graphs that higher-order operators run, by their number; and one of them, to be changed.
  [[nodiscard]] constexpr auto subgraphs() const -> Span<const Graph> { return subgraphs_; }
  [[nodiscard]] constexpr auto mutable_subgraph(std::uint32_t number) -> Graph& { return subgraphs_[number]; }
  /// Calls `visit(number)` for each subgraph among some arguments, or those of node `id`, nested ones included, in order.
  template <class F>
  constexpr void for_each_subgraph(Span<const Argument> arguments, F&& visit) const {
    for (const Argument& a : arguments) {
      if (a.is(ArgumentKind::subgraph)) visit(a.subgraph());
      if (a.is_group()) for_each_subgraph(children(a), visit);
    }
  }
  template <class F>
  constexpr void for_each_subgraph(NodeId id, F&& visit) const {
    if (!subgraphs_.empty()) for_each_subgraph(arguments(id), visit);
  }
  /// Whether node `id` has a graph among its arguments. O(arguments), or O(1) if there are no subgraphs. Kept out of line:
  /// few nodes do, and a traversal that asks each of them is to stay small.
  [[nodiscard, gnu::noinline]] constexpr auto runs_graphs(NodeId id) const -> bool {
    bool found = false;
    for_each_subgraph(id, [&](std::uint32_t) { found = true; });
    return found;
  }
  /// The subgraphs that nodes have as arguments, each once, in ascending order. O(arguments), or O(1) if there are none.
  [[nodiscard]] constexpr auto subgraphs_in_use() const -> Pool<std::uint32_t> {
    Pool<std::uint8_t> is_used;
    is_used.resize(static_cast<std::uint32_t>(subgraphs_.size()), 0);
    if (!subgraphs_.empty())
      for (NodeId id; id.index < node_count(); ++id.index)
        for_each_subgraph(id, [&](std::uint32_t number) { is_used[number] = 1; });
    Pool<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < is_used.size(); ++i)
      if (is_used[i] != 0) numbers.push_back(i);
    return numbers;
  }

  // Whether a record refers to something that this graph has. The readings above need it; `verify` asks for it. -----------
  /// Whether the graph has what is named.
  [[nodiscard]] constexpr auto holds(NodeId id) const -> bool { return id.index < nodes_.size(); }
  [[nodiscard]] constexpr auto holds(TextId id) const -> bool { return id.index < texts_.size(); }
  [[nodiscard]] constexpr auto holds(DeviceId id) const -> bool { return id.index < devices_.size(); }
  [[nodiscard]] constexpr auto holds(OpId id) const -> bool { return id.index < operators_.size(); }
  [[nodiscard]] constexpr auto holds(SymInt s) const -> bool {
    return !s.is_symbolic() || s.expression() < expressions_.size();
  }
  [[nodiscard]] constexpr auto holds_arguments(Range r) const -> bool { return within(r, arguments_.size()); }
  [[nodiscard]] constexpr auto holds_values(Range r) const -> bool { return within(r, metas_.size()); }
  [[nodiscard]] constexpr auto holds_dims(const TensorMeta& m) const -> bool {
    return m.rank <= dims_.size() / 2 && within(Range{m.dims, 2 * m.rank}, dims_.size());
  }
  [[nodiscard]] constexpr auto holds_ranks(const Partition& p) const -> bool { return within(p.ranks, ranks_.size()); }
  /// Records in the pool of arguments, those that nothing refers to any more included.
  [[nodiscard]] constexpr auto argument_count() const -> std::uint32_t { return arguments_.size(); }

  // Growing the pools; each returns what a record stores. Amortised O(size of the argument). ----------------------------
  /// A text as a record stores it. Each call stores one: whoever adds many uses a `TextInterner`.
  constexpr auto add_text(std::string_view text) -> TextId {
    if (text.empty()) return {};
    return {texts_.push_back(chars_.append(Span<const char>(text.data(), text.size())))};
  }
  /// A device, stored once. O(devices).
  constexpr auto add_device(std::string_view device) -> DeviceId {
    for (std::uint32_t i = 0; i < devices_.size(); ++i)
      if (text(devices_[i]) == device) return {i};
    return {devices_.push_back(add_text(device))};
  }
  /// A symbolic expression.
  constexpr auto add_expression(std::string_view expression) -> SymInt {
    return SymInt::expression(expressions_.push_back(add_text(expression)));
  }
  /// Between which numbers a symbolic size is.
  constexpr void add_size_range(SizeRange range) { size_ranges_.push_back(range); }
  /// Forgets all ranges.
  constexpr void clear_size_ranges() { size_ranges_.clear(); }
  /// Arguments, one behind the other; `arguments` may lie in this graph.
  constexpr auto add_arguments(Span<const Argument> arguments) -> Range { return arguments_.append(arguments); }
  /// `a` with members of its own: a group belongs to one node, so that renumbering it once is right.
  /// By value: `a` may lie in the pool, which grows.
  constexpr auto clone(Argument a) -> Argument {
    if (!a.is_group()) return a;
    Pool<Argument> members;
    for (std::uint32_t i = 0; i < a.children().count; ++i) members.push_back(clone(children(a)[i]));
    return Argument::group(a.kind(), add_arguments(members.view())).with_keyword(a.keyword());
  }
  /// Metadata of a tensor of `sizes` and `strides` (in elements), as many; `meta` gives the rest.
  constexpr auto add_meta(TensorMeta meta, Span<const SymInt> sizes, Span<const SymInt> strides) -> Range {
    meta.known = true;
    meta.rank = static_cast<std::uint32_t>(sizes.size());
    // Neighbours in a program mostly are alike: they share one record, which nobody changes.
    if (!metas_.empty() && is_same(meta, sizes, strides, metas_.back())) return {metas_.size() - 1, 1};
    meta.dims = dims_.append(sizes).begin;
    dims_.append(strides);
    return {metas_.push_back(meta), 1};
  }
  /// Metadata of the members of a tuple.
  constexpr auto add_metas(Span<const TensorMeta> metas) -> Range { return metas_.append(metas); }
  /// An operator; `OperatorInterner` keeps each once.
  constexpr auto add_operator(Operator o) -> OpId { return {operators_.push_back(o)}; }
  /// Replica groups: ranks group by group. Returns what `Node::replica_groups` stores.
  constexpr auto add_partition(Span<const std::int64_t> ranks, std::uint32_t group_size) -> std::uint32_t {
    return partitions_.push_back({ranks_.append(ranks), group_size}) + 1;
  }
  /// A graph that a higher-order operator calls. Returns its number.
  constexpr auto add_subgraph(Graph graph) -> std::uint32_t {
    subgraphs_.push_back(std::move(graph));
    return static_cast<std::uint32_t>(subgraphs_.size() - 1);
  }
  /// Appends a node. Its place in program order is the end; `Editor` inserts elsewhere.
  constexpr auto add_node(const Node& node) -> NodeId { return {nodes_.push_back(node)}; }
  /// What the next placeholder, or argument of the output, is. Returns its index.
  constexpr auto add_input(InputSpec spec) -> std::uint32_t { return inputs_.push_back(spec); }
  constexpr auto add_output(OutputSpec spec) -> std::uint32_t { return outputs_.push_back(spec); }

  // Changing records in place ----------------------------------------------------------------------------------------
  /// The arguments of a node, or others of the graph, to be changed. Valid until arguments are added.
  [[nodiscard]] constexpr auto mutable_arguments(NodeId id) -> Span<Argument> {
    return arguments_.view(node(id).arguments);
  }
  [[nodiscard]] constexpr auto mutable_arguments_in(Range range) -> Span<Argument> {
    return arguments_.view(range);
  }
  [[nodiscard]] constexpr auto mutable_children(const Argument& a) -> Span<Argument> {
    return arguments_.view(a.children());
  }
  /// Gives a node other arguments.
  constexpr void set_arguments(NodeId id, Span<const Argument> arguments) {
    mutable_node(id).arguments = add_arguments(arguments);
  }
  /// Puts `numbers[i]` wherever expression i stands, in metadata and in arguments: a number, or the expression again.
  /// O(size of the graph).
  constexpr void replace_expressions(Span<const SymInt> numbers) {
    const auto replace = [&](SymInt& s) {
      if (s.is_symbolic()) s = numbers[s.expression()];
    };
    for (SymInt& s : dims_) replace(s);
    for (TensorMeta& meta : metas_) replace(meta.storage_offset);
    for (Argument& a : arguments_)
      if (a.is(ArgumentKind::sym_int)) a = Argument(numbers[a.sym_int().expression()]).with_keyword(a.keyword());
  }
  /// The specs of outputs and inputs, to be changed.
  [[nodiscard]] constexpr auto mutable_outputs() -> Span<OutputSpec> {
    return outputs_.view(Range{0, outputs_.size()});
  }
  [[nodiscard]] constexpr auto mutable_inputs() -> Span<InputSpec> {
    return inputs_.view(Range{0, inputs_.size()});
  }
  /// Replaces the node table by `nodes`, whose operands, and those of the specs, the caller has renumbered.
  constexpr void replace_nodes(Pool<Node> nodes) { nodes_ = std::move(nodes); }

  /// Equal programs: nodes in order, names, targets, arguments, metadata, specs. O(nodes + arguments + texts).
  friend constexpr auto operator==(const Graph& a, const Graph& b) -> bool { return a.equals(b); }
  /// The first node of this graph, in program order, in which it differs from `b`; a difference in the specs is one of
  /// the input's or the output's node. `no_node` if the graphs are equal. For messages: `==` is quicker to say no.
  [[nodiscard]] constexpr auto first_difference(const Graph& b) const -> NodeId {
    const std::uint32_t common = nodes_.size() < b.nodes_.size() ? nodes_.size() : b.nodes_.size();
    for (std::uint32_t i = 0; i < common; ++i)
      if (!same(NodeId{i}, b)) return NodeId{i};
    if (nodes_.size() > common) return NodeId{common};
    for (std::uint32_t i = 0; i < inputs_.size() && i < b.inputs_.size(); ++i)
      if (!same(inputs_[i], b, b.inputs_[i])) return inputs_[i].node;
    return equals(b) ? no_node : output_node();
  }

 private:
  [[nodiscard]] constexpr auto is_same(const TensorMeta& a, Span<const SymInt> sizes,
                                       Span<const SymInt> strides, const TensorMeta& b) const -> bool {
    return b.known && a.dtype == b.dtype && a.layout == b.layout && a.requires_grad == b.requires_grad &&
           a.device == b.device && a.storage_offset == b.storage_offset && same_elements(sizes, this->sizes(b)) &&
           same_elements(strides, this->strides(b));
  }
  [[nodiscard]] static constexpr auto within(Range r, std::uint32_t size) -> bool {
    return r.begin <= size && r.count <= size - r.begin;
  }
  constexpr auto same(TextId mine, const Graph& b, TextId theirs) const -> bool { return text(mine) == b.text(theirs); }
  constexpr auto same(SymInt mine, const Graph& b, SymInt theirs) const -> bool {
    if (mine.is_symbolic() != theirs.is_symbolic()) return false;
    return mine.is_symbolic() ? expression(mine) == b.expression(theirs) : mine.value() == theirs.value();
  }
  constexpr auto same(const Argument& mine, const Graph& b, const Argument& theirs) const -> bool {
    if (mine.kind() != theirs.kind() || !same(mine.keyword(), b, theirs.keyword())) return false;
    switch (mine.kind()) {
      case ArgumentKind::string:
      case ArgumentKind::operation: return same(mine.text(), b, theirs.text());
      case ArgumentKind::device: return device(mine.device()) == b.device(theirs.device());
      case ArgumentKind::sym_int: return same(mine.sym_int(), b, theirs.sym_int());
      case ArgumentKind::subgraph: return subgraphs_[mine.subgraph()] == b.subgraphs_[theirs.subgraph()];
      case ArgumentKind::list:
      case ArgumentKind::tuple:
      case ArgumentKind::dict:
      case ArgumentKind::slice:
      case ArgumentKind::complex: return same(children(mine), b, b.children(theirs));
      default: return mine.bits() == theirs.bits();
    }
  }
  constexpr auto same(Span<const Argument> mine, const Graph& b, Span<const Argument> theirs) const -> bool {
    if (mine.size() != theirs.size()) return false;
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (!same(mine[i], b, theirs[i])) return false;
    return true;
  }
  constexpr auto same(const TensorMeta& mine, const Graph& b, const TensorMeta& theirs) const -> bool {
    if (mine.known != theirs.known) return false;
    if (!mine.known) return true;
    if (mine.dtype != theirs.dtype || mine.layout != theirs.layout || mine.rank != theirs.rank ||
        mine.requires_grad != theirs.requires_grad || device(mine.device) != b.device(theirs.device) ||
        !same(mine.storage_offset, b, theirs.storage_offset))
      return false;
    for (std::uint32_t i = 0; i < 2 * mine.rank; ++i)
      if (!same(dims_[mine.dims + i], b, b.dims_[theirs.dims + i])) return false;
    return true;
  }
  constexpr auto same(const Partition* mine, const Graph& b, const Partition* theirs) const -> bool {
    if (mine == nullptr || theirs == nullptr) return mine == theirs;
    if (mine->group_size != theirs->group_size || mine->ranks.count != theirs->ranks.count) return false;
    for (std::uint32_t i = 0; i < mine->ranks.count; ++i)
      if (ranks_[mine->ranks.begin + i] != b.ranks_[theirs->ranks.begin + i]) return false;
    return true;
  }
  constexpr auto same(const InputSpec& mine, const Graph& b, const InputSpec& theirs) const -> bool {
    return mine.kind == theirs.kind && mine.persistent == theirs.persistent && mine.node == theirs.node &&
           mine.storage == theirs.storage && same(mine.target, b, theirs.target) &&
           same(mine.constant, b, theirs.constant);
  }
  constexpr auto same(NodeId id, const Graph& b) const -> bool {
    const Node& mine = node(id);
    const Node& theirs = b.node(id);
    if (mine.kind != theirs.kind || mine.value_kind != theirs.value_kind || mine.name.ordinal != theirs.name.ordinal ||
        !same(mine.name.base, b, theirs.name.base) || !same(mine.target, b, theirs.target) ||
        op(id).row != b.op(id).row || !same(op(id).schema, b, b.op(id).schema) ||
        !same(mine.stack_trace, b, theirs.stack_trace) || mine.values.count != theirs.values.count ||
        !same(replica_groups(id), b, b.replica_groups(id)))
      return false;
    for (std::uint32_t i = 0; i < mine.values.count; ++i)
      if (!same(metas_[mine.values.begin + i], b, b.metas_[theirs.values.begin + i])) return false;
    return same(arguments(id), b, b.arguments(id));
  }
  constexpr auto equals(const Graph& b) const -> bool {
    if (nodes_.size() != b.nodes_.size() || inputs_.size() != b.inputs_.size() || outputs_.size() != b.outputs_.size())
      return false;
    for (std::uint32_t i = 0; i < inputs_.size(); ++i)
      if (!same(inputs_[i], b, b.inputs_[i])) return false;
    for (std::uint32_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].kind != b.outputs_[i].kind || outputs_[i].input != b.outputs_[i].input ||
          !same(outputs_[i].target, b, b.outputs_[i].target))
        return false;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      if (!same(NodeId{i}, b)) return false;
    if (size_ranges_.size() != b.size_ranges_.size()) return false;
    for (std::uint32_t i = 0; i < size_ranges_.size(); ++i)
      if (size_ranges_[i].min != b.size_ranges_[i].min || size_ranges_[i].max != b.size_ranges_[i].max ||
          !same(size_ranges_[i].expression, b, b.size_ranges_[i].expression))
        return false;
    return true;
  }

  Pool<Node> nodes_;
  Pool<Argument> arguments_;
  Pool<TensorMeta> metas_;
  Pool<SymInt> dims_;
  Pool<char> chars_;
  Pool<Range> texts_;
  Pool<TextId> devices_;
  Pool<TextId> expressions_;
  Pool<SizeRange> size_ranges_;
  Pool<Operator> operators_;
  Pool<InputSpec> inputs_;
  Pool<OutputSpec> outputs_;
  Pool<std::int64_t> ranks_;
  Pool<Partition> partitions_;
  std::vector<Graph> subgraphs_;
};

}  // namespace fxpass

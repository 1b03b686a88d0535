// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/builder.hpp>

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

/// @file
/// `Editor`: insertions, replacements and erasures on a graph, carried out together.

namespace fxpass {

/// Where each node of the graph before an edit is after it; `no_node` for erased ones.
class Renumbering {
 public:
  constexpr explicit Renumbering(Pool<NodeId> map) : map_(std::move(map)) {}
  [[nodiscard]] constexpr auto operator[](NodeId before) const -> NodeId { return map_[before.index]; }
  [[nodiscard]] constexpr auto size() const -> std::uint32_t { return map_.size(); }

 private:
  Pool<NodeId> map_;
};

/// Edits a graph. Node ids stay what they are until `commit`, new nodes have ids behind all old ones, so tables keyed by
/// node remain valid during the edit. `commit` brings nodes into program order in O(nodes + arguments).
///
///     Editor edit(graph);
///     const NodeId twin = edit.insert_before(id, "torch.ops.aten.relu.default", {x}, value);
///     edit.replace_uses(id, twin);
///     edit.erase(id);
///     const Renumbering moved = edit.commit();
class Editor {
 public:
  constexpr explicit Editor(Graph& graph)
      : graph_(&graph), operators_(graph), old_count_(graph.node_count()) {}

  [[nodiscard]] constexpr auto graph() const -> const Graph& { return *graph_; }
  [[nodiscard]] constexpr auto mutable_graph() -> Graph& { return *graph_; }

  /// Inserts `target(arguments)` before node `position` of the graph as it was, behind what was inserted there
  /// earlier. It takes over the stack trace of `position`. The name is made unique.
  constexpr auto insert_before(NodeId position, std::string_view target, std::span<const Argument> arguments,
                               ValueSpec value, std::string_view name = {}) -> NodeId {
    Node node;
    node.kind = NodeKind::call_function;
    node.value_kind = value.kind;
    node.values = value.values;
    node.target = texts_.intern(*graph_, target);
    // Copied first: `arguments` may lie in the pool that cloning makes grow.
    Pool<Argument> own;
    own.append(arguments);
    for (Argument& a : own) a = graph_->clone(a);
    node.arguments = graph_->add_arguments(own.view());
    node.stack_trace = graph_->node(position).stack_trace;
    node.op = operators_.intern(*graph_, node.kind, node.target, graph_->arguments_in(node.arguments));
    node.name = unique_name(name.empty() ? default_name(graph_->text(node.target)) : name);
    positions_.push_back(position);
    if (positions_.size() > 1 && position < positions_[positions_.size() - 2]) sorted_ = false;
    return graph_->add_node(node);
  }
  constexpr auto insert_before(NodeId position, std::string_view target, std::initializer_list<Argument> arguments,
                               ValueSpec value, std::string_view name = {}) -> NodeId {
    return insert_before(position, target, std::span<const Argument>(arguments.begin(), arguments.size()), value,
                         name);
  }

  /// Lets users of `of` in the graph as it was use `by` instead, from `commit` on; `by` itself may use `of`. The last
  /// word on a node holds; chains are followed, and one that would come back to `of` ends at it. O(length of the chain).
  constexpr void replace_uses(NodeId of, NodeId by) {
    ensure_tables();
    replacements_[of.index] = by == of ? no_node : by;
    for (NodeId id = by; id != of && replacements_[id.index] != no_node; id = replacements_[id.index])
      if (replacements_[id.index] == of) {
        replacements_[id.index] = no_node;
        break;
      }
  }
  /// Removes a node that nothing uses any more at `commit`. Erasing twice is erasing once.
  constexpr void erase(NodeId id) {
    ensure_tables();
    erased_[id.index] = 1;
  }

  constexpr auto text(std::string_view text) -> TextId { return texts_.intern(*graph_, text); }
  constexpr auto unique_name(std::string_view name) -> Name {
    if (!knows_names_) {
      names_ = NameTable(*graph_);
      knows_names_ = true;
    }
    return names_.unique(*graph_, texts_, name);
  }

  /// Carries everything out and says where nodes went. The editor is then spent.
  constexpr auto commit() -> Renumbering {
    ensure_tables();
    const std::uint32_t count = graph_->node_count();
    while (replacements_.size() < count) replacements_.push_back(no_node);
    while (erased_.size() < count) erased_.push_back(0);
    if (!sorted_) sort_insertions();

    Pool<NodeId> map;
    map.resize(count, no_node);
    Pool<Node> ordered;
    ordered.reserve(count);
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < old_count_; ++i) {
      for (; next < positions_.size() && positions_[next].index == i; ++next) place(inserted(next), map, ordered);
      place(NodeId{i}, map, ordered);
    }
    remap(map);
    graph_->replace_nodes(std::move(ordered));
    return Renumbering(std::move(map));
  }

 private:
  constexpr void ensure_tables() {
    if (replacements_.size() < graph_->node_count()) replacements_.resize(graph_->node_count(), no_node);
    if (erased_.size() < graph_->node_count()) erased_.resize(graph_->node_count(), 0);
  }
  [[nodiscard]] constexpr auto inserted(std::uint32_t k) const -> NodeId {
    return order_.empty() ? NodeId{old_count_ + k} : order_[k];
  }
  constexpr void place(NodeId id, Pool<NodeId>& map, Pool<Node>& ordered) const {
    if (erased_[id.index] != 0) return;
    map[id.index] = NodeId{ordered.push_back(graph_->node(id))};
  }
  /// Counting sort of the insertions by position; those at one position keep their order.
  constexpr void sort_insertions() {
    Pool<std::uint32_t> first;
    first.resize(old_count_ + 1, 0);
    for (const NodeId p : positions_) ++first[p.index + 1];
    for (std::uint32_t i = 0; i < old_count_; ++i) first[i + 1] += first[i];
    order_.resize(positions_.size(), no_node);
    Pool<NodeId> positions;
    positions.resize(positions_.size(), no_node);
    for (std::uint32_t k = 0; k < positions_.size(); ++k) {
      const std::uint32_t slot = first[positions_[k].index]++;
      order_[slot] = NodeId{old_count_ + k};
      positions[slot] = positions_[k];
    }
    positions_ = std::move(positions);
  }
  /// What users of `id` use instead. Shortens the chain it walked, so that all users together cost O(nodes).
  constexpr auto resolved(NodeId id) -> NodeId {
    NodeId last = id;
    while (replacements_[last.index] != no_node) last = replacements_[last.index];
    while (id != last) {
      const NodeId next = replacements_[id.index];
      replacements_[id.index] = last;
      id = next;
    }
    return last;
  }
  constexpr void remap(const Pool<NodeId>& map) {
    for (std::uint32_t i = 0; i < graph_->node_count(); ++i)
      if (erased_[i] == 0) remap(graph_->mutable_arguments(NodeId{i}), map, i >= old_count_);
    for (InputSpec& input : graph_->mutable_inputs()) input.node = map[input.node.index];
  }
  constexpr void remap(std::span<Argument> arguments, const Pool<NodeId>& map, bool is_new) {
    for (Argument& a : arguments) {
      if (a.is_node()) {
        const NodeId used = is_new ? a.node() : resolved(a.node());
        a = Argument(map[used.index]).with_keyword(a.keyword());
      } else if (a.is_group()) {
        remap(graph_->mutable_children(a), map, is_new);
      }
    }
  }

  Graph* graph_;
  TextInterner texts_;
  NameTable names_;
  OperatorInterner operators_;
  std::uint32_t old_count_;
  Pool<NodeId> positions_;  ///< of the k-th insertion, whose id is old_count_ + k
  Pool<NodeId> order_;      ///< insertions in order of position, once sorted
  Pool<NodeId> replacements_;
  Pool<std::uint8_t> erased_;
  bool sorted_ = true;
  bool knows_names_ = false;
};

}  // namespace fxpass

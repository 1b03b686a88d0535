// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/builder.hpp>
#include <fxpass/support/span.hpp>

#include <initializer_list>
#include <string_view>
#include <utility>

/// @file
/// `Editor`: insertions, replacements and erasures on a graph, carried out together.

namespace fxpass {

/// Where each node of the graph before an edit is after it; `no_node` for erased ones.
class Renumbering {
 public:
  /// `map` has a row for each node that there was.
  constexpr explicit Renumbering(Pool<NodeId> map) : map_(std::move(map)) {}
  /// Where node `before` is now.
  [[nodiscard]] constexpr auto operator[](NodeId before) const -> NodeId { return map_[before.index]; }
  /// How many nodes there were before, those inserted during the edit included.
  [[nodiscard]] constexpr auto size() const -> std::uint32_t { return map_.size(); }

 private:
  Pool<NodeId> map_;
};

/// Which nodes are used in place of which.
class Replacements {
 public:
  /// Whether nothing is replaced.
  [[nodiscard]] constexpr auto empty() const -> bool { return said_.empty(); }

  /// Users of `of` are to use `by`. The last word on a node holds; chains are followed, and one that would come back to
  /// `of` ends at it. O(length of the chain).
  constexpr void add(NodeId of, NodeId by) {
    const std::uint32_t size = (of < by ? by.index : of.index) + 1;
    if (by_.size() < size) by_.resize(size, no_node);
    said_.push_back(of);
    by_[of.index] = by == of ? no_node : by;
    for (NodeId id = by; id != of && next(id) != no_node; id = next(id))
      if (next(id) == of) {
        by_[id.index] = no_node;
        break;
      }
  }
  /// What users of `id` use. Shortens the chain it walked, so that all users together cost O(nodes).
  [[nodiscard]] constexpr auto operator[](NodeId id) -> NodeId {
    NodeId last = id;
    while (next(last) != no_node) last = next(last);
    while (id != last) {
      const NodeId after = by_[id.index];
      by_[id.index] = last;
      id = after;
    }
    return last;
  }
  /// Tells `other` what this was told, and forgets it.
  constexpr void move_to(Replacements& other) {
    for (const NodeId of : said_) {
      other.add(of, next(of) == no_node ? of : next(of));
      by_[of.index] = no_node;
    }
    said_.clear();
  }

 private:
  [[nodiscard]] constexpr auto next(NodeId id) const -> NodeId {
    return id.index < by_.size() ? by_[id.index] : no_node;
  }

  Pool<NodeId> by_;
  Pool<NodeId> said_;  ///< the replaced nodes, in the order of the calls
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
  /// Begins an edit; `graph` has to outlive it. O(operators).
  constexpr explicit Editor(Graph& graph)
      : graph_(&graph), operators_(graph), old_count_(graph.node_count()) {}

  /// The graph as it is during the edit: old nodes in their places, inserted ones behind them.
  [[nodiscard]] constexpr auto graph() const -> const Graph& { return *graph_; }
  [[nodiscard]] constexpr auto mutable_graph() -> Graph& { return *graph_; }

  /// Inserts `target(arguments)` before node `position`, an old or an inserted one, behind what was inserted there
  /// earlier. It takes over the stack trace of `position`. The name is made unique.
  constexpr auto insert_before(NodeId position, std::string_view target, Span<const Argument> arguments,
                               ValueSpec value, std::string_view name = {}) -> NodeId {
    return insert_before(position, text(target), arguments, value, text(name));
  }
  /// The same with texts of the graph, as `text` gives them: for those who insert many alike.
  constexpr auto insert_before(NodeId position, TextId target, Span<const Argument> arguments, ValueSpec value,
                               TextId name) -> NodeId {
    Node node;
    node.kind = NodeKind::call_function;
    node.value_kind = value.kind;
    node.values = value.values;
    node.target = target;
    node.arguments = graph_->add_arguments(arguments);
    for (std::uint32_t i = node.arguments.begin; i < node.arguments.end(); ++i)
      if (const Argument a = graph_->arguments_in({i, 1})[0]; a.is_group()) {
        const Argument own = graph_->clone(a);
        graph_->mutable_arguments_in({i, 1})[0] = own;
      }
    node.stack_trace = graph_->node(position).stack_trace;
    node.op = operators_.intern(*graph_, node.kind, node.target, graph_->arguments_in(node.arguments));
    const TextId wanted = name == TextId{} ? default_name_of(target) : name;
    learn_names();
    node.name = names_.unique(*graph_, texts_, wanted);
    const NodeId id = graph_->add_node(node);
    inserted_by_.push_back(author_);
    namings_.push_back({author_, false, wanted, id, {}});
    // The new node comes between `position` and what stood directly before it.
    before_.resize(graph_->node_count(), no_node);
    before_[id.index] = before_[position.index];
    before_[position.index] = id;
    return id;
  }
  constexpr auto insert_before(NodeId position, std::string_view target, std::initializer_list<Argument> arguments,
                               ValueSpec value, std::string_view name = {}) -> NodeId {
    return insert_before(position, target, Span<const Argument>(arguments.begin(), arguments.size()), value,
                         name);
  }

  /// Lets users of `of` in the graph as it was use `by` instead, from `commit` on; `by` itself may use `of`. The last
  /// word on a node holds; chains are followed, and one that would come back to `of` ends at it. O(length of the chain).
  constexpr void replace_uses(NodeId of, NodeId by) { replacements_.add(of, by); }
  /// Lets node `id` call `target` instead, with the arguments and the value it has.
  constexpr void retarget(NodeId id, std::string_view target) {
    const TextId interned = texts_.intern(*graph_, target);
    Node& node = graph_->mutable_node(id);
    node.kind = NodeKind::call_function;
    node.target = interned;
    const OpId op = operators_.intern(*graph_, NodeKind::call_function, interned, graph_->arguments(id));
    graph_->mutable_node(id).op = op;
  }
  /// Gives node `id` another name, `name` made unique. What it was called is not free before `commit`.
  constexpr void rename(NodeId id, std::string_view name) {
    learn_names();
    const TextId wanted = text(name);
    namings_.push_back({author_, true, wanted, id, graph_->node(id).name});
    graph_->mutable_node(id).name = names_.unique(*graph_, texts_, wanted);
  }
  /// Removes a node that nothing uses any more at `commit`. Erasing twice is erasing once.
  constexpr void erase(NodeId id) {
    erased_by_.resize(graph_->node_count(), nobody);
    if (erased_by_[id.index] == nobody) erased_by_[id.index] = author_;
    if (author_ < first_eraser_) first_eraser_ = author_;
  }
  /// Whether `erase` was called for the node.
  [[nodiscard]] constexpr auto is_erased(NodeId id) const -> bool {
    return id.index < erased_by_.size() && erased_by_[id.index] != nobody;
  }

  /// Says the schema of a custom operator, in PyTorch's notation, for calls without a write that are inserted from now on.
  constexpr void declare_operator(std::string_view schema) {
    operators_.declare(text(text_of("torch.ops.", ops::Schema(schema).name())), text(schema));
  }
  /// A text of the graph, stored once.
  constexpr auto text(std::string_view text) -> TextId { return texts_.intern(*graph_, text); }

  // Several authors may share an editor and take turns, as fused passes do (pass/forward.hpp). --------------------------
  /// Who edits from now on. At `commit` the nodes of each author get the names they would have got if the authors had
  /// edited one after the other, in the order of their numbers.
  constexpr void set_author(std::uint16_t author) { author_ = author; }
  /// The authors, by their bits, who put nodes in or took some out: all others have left every node in its place.
  /// O(nodes).
  [[nodiscard]] constexpr auto movers() const -> std::uint64_t {
    std::uint64_t set = 0;
    for (const std::uint16_t author : inserted_by_) set |= std::uint64_t{1} << author;
    for (const std::uint16_t author : erased_by_)
      if (author != nobody) set |= std::uint64_t{1} << author;
    return set;
  }
  /// Whether replacements have been said that nobody has taken.
  [[nodiscard]] constexpr auto has_replacements() const -> bool { return !replacements_.empty(); }
  /// Hands the replacements said so far to the caller, who carries them out in the editor's stead.
  constexpr void take_replacements(Replacements& to) {
    if (!replacements_.empty()) replacements_.move_to(to);
  }

  /// Carries everything out and says where nodes went. The editor is then spent.
  constexpr auto commit() -> Renumbering {
    const std::uint32_t count = graph_->node_count();
    before_.resize(count, no_node);
    erased_by_.resize(count, nobody);
    if (!has_final_names()) name_by_author();

    Pool<NodeId> map;
    map.resize(count, no_node);
    Pool<Node> ordered;
    ordered.reserve(count);
    Pool<NodeId> chain;
    for (std::uint32_t i = 0; i < old_count_; ++i) {
      if (before_[i] == no_node) {
        place(NodeId{i}, map, ordered);
        continue;
      }
      for (NodeId id{i}; id != no_node; id = before_[id.index]) chain.push_back(id);
      for (std::uint32_t k = chain.size(); k-- > 0;) place(chain[k], map, ordered);
      chain.clear();
    }
    remap(map);
    graph_->replace_nodes(std::move(ordered));
    return Renumbering(std::move(map));
  }

 private:
  static constexpr std::uint16_t nobody = 0xffff;
  /// A name that was given to a node, inserted or renamed.
  struct Naming {
    std::uint16_t author = 0;
    bool renames = false;
    TextId wanted;
    NodeId node;
    Name before;  ///< of a renamed one
  };
  struct DefaultName {
    TextId target;
    TextId name;
  };

  constexpr void learn_names() {
    if (knows_names_) return;
    names_ = NameTable(*graph_);
    knows_names_ = true;
  }
  constexpr auto default_name_of(TextId target) -> TextId {
    for (const DefaultName& known : default_names_)
      if (known.target == target) return known.name;
    default_names_.push_back({target, text(default_name(graph_->text(target)))});
    return default_names_.back().name;
  }
  constexpr void place(NodeId id, Pool<NodeId>& map, Pool<Node>& ordered) const {
    if (is_erased(id)) return;
    map[id.index] = NodeId{ordered.push_back(graph_->node(id))};
  }
  /// Names were given in the order of insertion. That is final unless authors took turns, or one came behind another
  /// whose erasures set names free.
  [[nodiscard]] constexpr auto has_final_names() const -> bool {
    for (const Naming& naming : namings_)
      if (naming.author != namings_[0].author || first_eraser_ < naming.author) return false;
    return true;
  }
  /// O(inserting authors x nodes).
  constexpr void name_by_author() {
    Pool<std::uint16_t> authors;
    for (const Naming& naming : namings_) {
      while (authors.size() <= naming.author) authors.push_back(0);
      authors[naming.author] = 1;
    }
    for (std::uint32_t k = namings_.size(); k-- > 0;)
      if (namings_[k].renames) graph_->mutable_node(namings_[k].node).name = namings_[k].before;
    for (std::uint32_t author = 0; author < authors.size(); ++author)
      if (authors[author] != 0) name_nodes_of(static_cast<std::uint16_t>(author));
  }
  constexpr void name_nodes_of(std::uint16_t author) {
    names_ = NameTable();
    for (std::uint32_t i = 0; i < graph_->node_count(); ++i) {
      const bool is_there = i < old_count_ || inserted_by_[i - old_count_] < author;
      const bool is_gone = is_erased({i}) && erased_by_[i] < author;
      if (is_there && !is_gone) names_.add(*graph_, graph_->node({i}).name);
    }
    for (const Naming& naming : namings_)
      if (naming.author == author)
        graph_->mutable_node(naming.node).name = names_.unique(*graph_, texts_, naming.wanted);
  }
  constexpr void remap(const Pool<NodeId>& map) {
    for (std::uint32_t i = 0; i < graph_->node_count(); ++i)
      if (!is_erased({i})) remap(graph_->mutable_arguments(NodeId{i}), map, i >= old_count_);
    for (InputSpec& input : graph_->mutable_inputs()) input.node = map[input.node.index];
  }
  constexpr void remap(Span<Argument> arguments, const Pool<NodeId>& map, bool is_new) {
    for (Argument& a : arguments) {
      if (a.is_node()) {
        const NodeId used = is_new || replacements_.empty() ? a.node() : replacements_[a.node()];
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
  Pool<DefaultName> default_names_;  ///< of the targets inserted without a name; few
  Pool<NodeId> before_;         ///< of each node, the inserted node directly before it
  Pool<std::uint16_t> inserted_by_;  ///< of the k-th inserted node, which is node old_count_ + k
  Pool<Naming> namings_;             ///< in the order in which they were made
  Replacements replacements_;
  Pool<std::uint16_t> erased_by_;
  std::uint16_t author_ = 0;
  std::uint16_t first_eraser_ = nobody;
  bool knows_names_ = false;
};

}  // namespace fxpass

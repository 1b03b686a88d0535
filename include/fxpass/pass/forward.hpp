// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that errors are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/graph/call.hpp>
#include <fxpass/graph/editor.hpp>
#include <fxpass/pass/artifacts.hpp>
#include <fxpass/pass/context.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// Forward passes, and the sweep that runs several of them in one traversal of the graph.
///
///     struct CountDropout {
///       static constexpr std::string_view name = "count_dropout";
///       struct State { Context* context; };
///       constexpr auto begin(Graph&, Artifacts<CountDropout>&, Context& context) const -> State { return {&context}; }
///       static constexpr auto wants(const Operator& op) -> bool { return is_dropout(op); }
///       constexpr auto visit(State& state, Sweep&) const -> Status { state.context->count("dropouts"); return {}; }
///       constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
///     };
///
/// `begin` makes the state of one run. `wants` says for which nodes `visit` is called, by what they call; of a node that
/// calls nothing the operator says the kind, and no more: `op.kind == NodeKind::output`. It is asked once for each
/// operator of the graph, not for each node, so that a node that nobody wants costs one look at a table. What tells nodes
/// of one operator apart is for `visit` to look at; and `visit` may say, once the pass has done something, that it wants
/// every node from then on. `finish` is called when all edits are committed.
///
/// A pass must not be able to tell whether it shares the traversal with others. So these are the laws:
///   * `begin` reads inputs, options and needed artifacts' addresses; the nodes are looked at in `visit`.
///   * `visit` looks at, and changes, the node it is called for. What it wants to know of what earlier nodes call, and of
///     their arguments, it keeps in its state; later nodes it leaves alone, and so it does with what artifacts may tell
///     of them.
///   * It inserts before the node it is called for, and renames it by `editor().rename`. `editor().replace_uses(of, by)`
///     holds for the nodes behind it; the pass itself sees their operands as they were, and asks `replacement` where it
///     inserts users of its own.
///   * `finish` leaves the nodes alone, and knows that ids of the sweep are no longer those of the graph.
///
/// A call may run graphs inside the graph: the branches of `cond`. A forward pass visits these too, each in a traversal of
/// its own behind that of the graph around it, with a state of its own; counts are added up. Artifacts are of one graph:
/// a pass that has some sees to the graphs inside itself, at the node that runs them.

namespace fxpass {

namespace detail {
template <class... P>
class SweepRunner;
}

/// The place of a traversal: the node that is visited, and the editor that all passes of the traversal share.
class Sweep {
 public:
  /// The graph, in which only the node visited may be changed.
  [[nodiscard]] constexpr auto graph() const -> Graph& { return *graph_; }
  /// The node visited: one of the graph before the traversal, or one that an earlier pass inserted.
  [[nodiscard]] constexpr auto id() const -> NodeId { return id_; }
  /// The node visited, and its operator. Valid until the next insertion.
  [[nodiscard]] constexpr auto node() const -> const Node& { return graph_->node(id_); }
  [[nodiscard]] constexpr auto op() const -> const Operator& { return graph_->op(id_); }

  /// The editor of the traversal. Ids of nodes stay what they are until all nodes have been visited. O(operators) at
  /// the first call of a traversal.
  [[nodiscard]] constexpr auto editor() -> Editor& {
    if (!editor_) {
      editor_.emplace(*graph_);
      editor_->set_author(author_);
    }
    return *editor_;
  }
  /// Has the pass visit every node from here on, whatever it wants: for one that has done something which later nodes are
  /// to know of.
  constexpr void want_every_node() { wants_every_node_ = true; }
  /// What stands for `id` from here on: `id` itself, unless this pass replaced it. O(length of the chain).
  [[nodiscard]] constexpr auto replacement(NodeId id) -> NodeId {
    take_replacements();
    return replaced_[author_][id];
  }

 private:
  template <class... P>
  friend class detail::SweepRunner;
  constexpr Sweep(Graph& graph, Replacements* replaced) : graph_(&graph), replaced_(replaced) {}
  constexpr void take_replacements() {
    if (editor_) editor_->take_replacements(replaced_[author_]);
  }

  Graph* graph_;
  NodeId id_;
  std::uint16_t author_ = 0;       ///< the pass at work
  Replacements* replaced_;         ///< what each pass replaced
  bool wants_every_node_ = false;  ///< whether it has just said so
  std::optional<Editor> editor_;
};

namespace detail {

/// The facts whose artifacts `P` may fill in: what it establishes, and what a wrapper of it does not promise.
template <class P>
using filled_in_by = establishes_of<typename ProtocolOf<P>::type>;

template <class P>
using sweep_state = decltype(std::declval<const P&>().begin(std::declval<Graph&>(), std::declval<artifacts_for<P>&>(),
                                                            std::declval<Context&>()));

}  // namespace detail

namespace detail {

template <class... F>
[[nodiscard]] consteval auto any_has_artifact(facts<F...>) -> bool {
  return (FactWithArtifact<F> || ...);
}
/// Whether the contract of `P` speaks of artifacts.
template <class P>
inline constexpr bool has_artifacts =
    any_has_artifact(needs_of<typename ProtocolOf<P>::type>()) || any_has_artifact(filled_in_by<P>());

}  // namespace detail

/// A pass that visits nodes in program order and finishes at the output; see above for its laws.
template <class P>
concept ForwardPass =
    detail::NamedByConstant<P> && requires { typename detail::sweep_state<P>; } &&
    requires(const P& pass, detail::sweep_state<P>& state, Sweep& sweep, Graph& graph, Context& context,
             const Operator& op) {
      { P::wants(op) } -> std::same_as<bool>;
      { pass.visit(state, sweep) } -> std::same_as<Status>;
      { pass.finish(state, graph, context) } -> std::same_as<Status>;
    };

namespace detail {

inline constexpr std::size_t no_pass = static_cast<std::size_t>(-1);

/// How a traversal went: the first failing pass in pipeline order, as it would be if each had run by itself.
struct SweepOutcome {
  std::size_t failed = no_pass;
  Diagnostics errors;
  std::optional<Renumbering> moved;  ///< where nodes went, if the graph was edited
  std::uint64_t movers = 0;          ///< the passes that put nodes in or took some out, by their bits
};

/// A set of the passes of one traversal, by their bits.
using PassSet = std::uint64_t;
inline constexpr std::size_t max_passes_in_sweep = 64;

/// Which passes want which nodes: `wants` of all passes, asked once for each operator.
template <class... P>
class WantTable {
 public:
  constexpr explicit WantTable(const Graph& graph) {
    for (std::size_t kind = 0; kind < by_kind_.size(); ++kind) {
      Operator none;
      none.kind = static_cast<NodeKind>(kind);
      none.takes_device = none.kind != NodeKind::placeholder && none.kind != NodeKind::get_attr &&
                          none.kind != NodeKind::output;
      by_kind_[kind] = set_of(none);
    }
    by_operator_.reserve(static_cast<std::uint32_t>(graph.operators().size()));
    by_operator_.push_back(static_cast<PassSet>(-1));  // "no operator": `by_kind_` says more
    grow(graph);
  }
  /// Takes in the operators that edits have added.
  constexpr void grow(const Graph& graph) {
    while (by_operator_.size() < graph.operators().size())
      by_operator_.push_back(set_of(graph.operators()[by_operator_.size()]));
  }
  /// Pass `bit` wants every node.
  constexpr void add_every_node(PassSet bit) { every_ |= bit; }
  /// The first of `nodes` from `begin` on that one of `passes` may want: a call that one wants, or a node that calls
  /// nothing. As many as there are if there is none.
  [[nodiscard]] constexpr auto find(Span<const Node> nodes, std::uint32_t begin, PassSet passes) const -> std::uint32_t {
    if ((every_ & passes) != 0) return begin;
    const PassSet* const by_operator = by_operator_.data();
    const Node* const end = nodes.end();
    const Node* node = nodes.data() + begin;
    while (node != end && (by_operator[node->op.index] & passes) == 0) ++node;
    return static_cast<std::uint32_t>(node - nodes.data());
  }
  [[nodiscard]] constexpr auto operator[](const Node& node) const -> PassSet {
    return every_ |
           (node.op == OpId{} ? by_kind_[static_cast<std::size_t>(node.kind)] : by_operator_[node.op.index]);
  }

 private:
  [[nodiscard]] static constexpr auto set_of(const Operator& op) -> PassSet {
    PassSet set = 0;
    PassSet bit = 1;
    ((set |= P::wants(op) ? bit : 0, bit <<= 1U), ...);
    return set;
  }

  Pool<PassSet> by_operator_;         ///< of calls
  std::array<PassSet, 6> by_kind_{};  ///< of nodes without an operator
  PassSet every_ = 0;                 ///< who wants all of them
};

template <std::size_t I, class State>
struct SweepState {
  State value;
};
template <class Indices, class... P>
struct SweepStates;
template <std::size_t... I, class... P>
struct SweepStates<std::index_sequence<I...>, P...> : SweepState<I, sweep_state<P>>... {};

/// Runs forward passes in one traversal, so that graph, artifacts, warnings and errors are what they would be if each pass
/// had run by itself.
///
/// How: at each node of the graph as it was, passes take turns in pipeline order. A turn visits the nodes that earlier
/// passes inserted at this place, then the node itself, and then carries out the pass's replacements in what later
/// passes will see there. A pass that fails is left out from then on, and those behind it; those before it go on.
template <class... P>
class SweepRunner {
  static constexpr std::size_t count = sizeof...(P);
  static_assert(count <= max_passes_in_sweep);
  using Indices = std::index_sequence_for<P...>;

 public:
  /// `contexts` has a context for each pass.
  [[nodiscard]] static constexpr auto run(Graph& graph, std::array<Context, count>& contexts, artifacts_for<P>... artifacts,
                                          const P&... passes) -> SweepOutcome {
    return SweepRunner(graph).sweep(Indices(), contexts, artifacts..., passes...);
  }

 private:
  constexpr explicit SweepRunner(Graph& graph) : sweep_(graph, replaced_.data()), wants_(graph) {}

  template <std::size_t... I>
  constexpr auto sweep(std::index_sequence<I...>, std::array<Context, count>& contexts, artifacts_for<P>&... artifacts,
                       const P&... passes) -> SweepOutcome {
    Graph& graph = *sweep_.graph_;
    SweepStates<Indices, P...> states{{passes.begin(graph, artifacts, contexts[I])}...};
    const std::uint32_t old_count = graph.node_count();
    for (std::uint32_t i = 0; i < old_count; ++i) {
      if (!has_replaced_) i = wants_.find(graph.nodes().first(old_count), i, running_);
      if (i == old_count) break;
      wanted_ = wants_[graph.node(NodeId{i})] & running_;
      if (wanted_ == 0 && !uses_replaced(NodeId{i})) continue;
      place_ = NodeId{i};
      here_.clear();
      has_changed_ = false;
      (turn<I>(passes, static_cast<SweepState<I, sweep_state<P>>&>(states).value), ...);
      if (running_ == 0) break;
    }
    if (sweep_.editor_ && running_ != 0) {
      outcome_.movers = sweep_.editor_->movers();
      outcome_.moved = sweep_.editor_->commit();
    }
    (finish<I>(passes, static_cast<SweepState<I, sweep_state<P>>&>(states).value, contexts[I]), ...);
    return std::move(outcome_);
  }

  template <std::size_t I>
  static constexpr PassSet bit = PassSet{1} << I;

  template <std::size_t I, class Pass, class State>
  constexpr void turn(const Pass& pass, State& state) {
    if ((wanted_ & bit<I>) == 0 && (replaced_[I].empty() || (running_ & bit<I>) == 0)) return;
    if (here_.empty()) {
      take<I>(pass, state, place_, wanted_, here_);
    } else {
      behind_.clear();
      for (std::uint32_t k = 0; k < here_.size(); ++k) {
        const NodeId id = here_[k];
        if (!take<I>(pass, state, id, wants_[sweep_.graph_->node(id)], behind_)) return;
        if (behind_.empty() || behind_.back() != id) behind_.push_back(id);
      }
      std::swap(here_, behind_);
    }
    if constexpr (I + 1 < count)
      if (has_changed_) look_again();
  }
  /// Who, of the passes that follow, wants the nodes that are here now, and call what they call now.
  constexpr void look_again() {
    has_changed_ = false;
    wanted_ = here_.empty() ? wants_[sweep_.graph_->node(place_)] : 0;
    for (const NodeId id : here_) wanted_ |= wants_[sweep_.graph_->node(id)];
    wanted_ &= running_;
  }
  /// Pass `I` at one node, which the passes in `wanted` want. Appends to `behind` what it inserted, and then the node, if
  /// it inserted anything. False if it failed.
  template <std::size_t I, class Pass, class State>
  constexpr auto take(const Pass& pass, State& state, NodeId id, PassSet wanted, Pool<NodeId>& behind) -> bool {
    Graph& graph = *sweep_.graph_;
    if (sweep_.editor_) {
      if (sweep_.editor_->is_erased(id)) return true;
      sweep_.editor_->set_author(I);
    }
    if ((wanted & bit<I>) != 0) {
      const std::uint32_t before = graph.node_count();
      const OpId op = graph.node(id).op;
      sweep_.id_ = id;
      sweep_.author_ = I;
      Status status = pass.visit(state, sweep_);
      if (!status) {
        fail(I, std::move(status.error()));
        return false;
      }
      const bool has_edited = graph.node_count() != before || (sweep_.editor_ && sweep_.editor_->has_replacements());
      if (has_edited || sweep_.wants_every_node_ || graph.node(id).op != op) {
        take_note<I>();
        take_insertions(id, before, behind);
      }
    }
    if (!replaced_[I].empty()) replace_operands(graph.mutable_arguments(id), replaced_[I]);
    return true;
  }
  /// Appends to `behind` what was inserted before node `id` since there were `before` nodes, and then the node.
  constexpr void take_insertions(NodeId id, std::uint32_t before, Pool<NodeId>& behind) {
    const std::uint32_t after = sweep_.graph_->node_count();
    for (std::uint32_t n = before; n < after; ++n) behind.push_back(NodeId{n});
    if (after != before) behind.push_back(id);
  }
  /// Of what pass `I` has done at a node.
  template <std::size_t I>
  constexpr void take_note() {
    if (sweep_.wants_every_node_) wants_.add_every_node(bit<I>);
    sweep_.wants_every_node_ = false;
    // The node may call another operator now, and one that is new to the graph.
    wants_.grow(*sweep_.graph_);
    has_changed_ = true;
    if (!sweep_.editor_) return;
    sweep_.take_replacements();
    has_replaced_ = has_replaced_ || !replaced_[I].empty();
  }
  template <std::size_t I, class Pass, class State>
  constexpr void finish(const Pass& pass, State& state, Context& context) {
    if ((running_ & bit<I>) == 0) return;
    Status status = pass.finish(state, *sweep_.graph_, context);
    if constexpr (!has_artifacts<Pass>)
      if (status && !sweep_.graph_->subgraphs().empty()) status = sweep_nested(pass, *sweep_.graph_, context);
    if (!status) fail(I, std::move(status.error()));
  }
  /// Has a pass visit the graphs inside the graph, and those inside them.
  template <class Pass>
  static constexpr auto sweep_nested(const Pass& pass, Graph& graph, Context& context) -> Status {
    for (const std::uint32_t number : graph.subgraphs_in_use()) {
      ArtifactSlots<> none;
      std::array<Context, 1> contexts;
      SweepOutcome outcome = SweepRunner<Pass>::run(graph.mutable_subgraph(number), contexts, artifacts_for<Pass>(none), pass);
      context.add_nested(contexts[0]);
      if (outcome.failed != no_pass) return in_subgraph(number, std::move(outcome.errors));
    }
    return {};
  }
  constexpr void fail(std::size_t pass, Diagnostics errors) {
    running_ &= (PassSet{1} << pass) - 1;
    wanted_ &= running_;
    outcome_.failed = pass;
    outcome_.errors = std::move(errors);
  }

  [[nodiscard]] constexpr auto uses_replaced(NodeId id) -> bool {
    for (Replacements& replaced : replaced_) {
      if (replaced.empty()) continue;
      bool found = false;
      sweep_.graph_->for_each_operand(id, [&](NodeId used) { found = found || replaced[used] != used; });
      if (found) return true;
    }
    return false;
  }
  constexpr void replace_operands(Span<Argument> arguments, Replacements& replaced) {
    for (Argument& a : arguments) {
      if (a.is_node()) {
        a = Argument(replaced[a.node()]).with_keyword(a.keyword());
      } else if (a.is_group()) {
        replace_operands(sweep_.graph_->mutable_children(a), replaced);
      }
    }
  }

  std::array<Replacements, count> replaced_;  ///< by pass: it does not see its own before the next traversal
  bool has_replaced_ = false;                 ///< any of them
  Sweep sweep_;
  WantTable<P...> wants_;
  NodeId place_;         ///< the node of the graph as it was
  Pool<NodeId> here_;    ///< the nodes at this place, as the pass whose turn it is sees them; empty: that one alone
  Pool<NodeId> behind_;  ///< as the next one will
  PassSet wanted_ = 0;           ///< who wants one of them
  bool has_changed_ = false;     ///< whether they have, since that was found out
  PassSet running_ = static_cast<PassSet>(-1);  ///< who has not failed, and stands before all who have
  SweepOutcome outcome_;
};

}  // namespace detail

}  // namespace fxpass

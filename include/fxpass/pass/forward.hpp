// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that errors are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/graph/editor.hpp>
#include <fxpass/pass/artifacts.hpp>
#include <fxpass/pass/context.hpp>
#include <fxpass/support/diagnostic.hpp>
#include <fxpass/support/pool.hpp>
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
/// its own when it comes to the first call that runs it, with a state of its own; counts are added up. Artifacts are of
/// one graph: a pass that has some sees to the graphs inside itself, at the node that runs them.

namespace fxpass {

namespace detail {
class SweepCourse;
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
  friend class detail::SweepCourse;
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
class WantTable {
 public:
  /// `set_of` asks all passes.
  constexpr WantTable(const Graph& graph, auto (*set_of)(const Operator&)->PassSet) : set_of_(set_of) {
    for (std::size_t kind = 0; kind < by_kind_.size(); ++kind) {
      Operator none;
      none.kind = static_cast<NodeKind>(kind);
      none.takes_device = none.kind != NodeKind::placeholder && none.kind != NodeKind::get_attr &&
                          none.kind != NodeKind::output;
      by_kind_[kind] = set_of_(none);
    }
    by_operator_.reserve(static_cast<std::uint32_t>(graph.operators().size()));
    by_operator_.push_back(static_cast<PassSet>(-1));  // "no operator": `by_kind_` says more
    grow(graph);
  }
  /// Takes in the operators that edits have added.
  constexpr void grow(const Graph& graph) {
    while (by_operator_.size() < graph.operators().size())
      by_operator_.push_back(set_of_(graph.operators()[by_operator_.size()]));
  }
  /// The passes in `bit` want every node.
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
  auto (*set_of_)(const Operator&) -> PassSet;
  Pool<PassSet> by_operator_;         ///< of calls
  std::array<PassSet, 6> by_kind_{};  ///< of nodes without an operator
  PassSet every_ = 0;                 ///< who wants all of them
};

/// What a traversal does without knowing the types of its passes, so that it is compiled once.
///
/// At each node of the graph as it was, passes take turns in pipeline order. A turn visits the nodes that earlier
/// passes inserted at this place, then the node itself, each after the graphs that it runs; and then carries out the
/// pass's replacements in what later passes will see there. A pass that fails is left out from then on, and those behind
/// it; those before it go on.
class SweepCourse {
 protected:
  constexpr SweepCourse(Graph& graph, std::size_t passes, auto (*set_of)(const Operator&)->PassSet)
      : replaced_(passes),
        sweep_(graph, replaced_.data()),
        wants_(graph, set_of),
        may_run_graphs_(!graph.subgraphs().empty()),
        only_wanted_(!may_run_graphs_) {}

  [[nodiscard]] static constexpr auto bit(std::size_t pass) -> PassSet { return PassSet{1} << pass; }
  [[nodiscard]] constexpr auto is_running(std::size_t pass) const -> bool { return (running_ & bit(pass)) != 0; }

  /// Goes on to the first place from node `i` on where something is to be done; false if there is none among the `count`
  /// nodes of the graph as it was.
  [[nodiscard, gnu::always_inline]] constexpr auto find_place(std::uint32_t& i, std::uint32_t count) -> bool {
    const Graph& graph = sweep_.graph();
    for (;; ++i) {
      if (only_wanted_) i = wants_.find(graph.nodes().first(count), i, running_);
      if (i >= count) return false;
      place_ = NodeId{i};
      wanted_ = wants_[graph.node(place_)] & running_;
      if (wanted_ == 0 && !uses_replaced(place_) && !(may_run_graphs_ && sweep_.graph().runs_graphs(place_))) continue;
      here_.clear();
      has_changed_ = false;
      return true;
    }
  }
  /// Whether the turn of a pass is an empty one.
  [[nodiscard, gnu::always_inline]] constexpr auto has_nothing_to_do(std::size_t pass) const -> bool {
    return (wanted_ & bit(pass)) == 0 &&
           (only_wanted_ || !is_running(pass) || (!may_run_graphs_ && replaced_[pass].empty()));
  }
  [[gnu::always_inline]] constexpr void go_to(std::size_t pass, NodeId id) {
    sweep_.id_ = id;
    sweep_.author_ = static_cast<std::uint16_t>(pass);
  }
  [[gnu::always_inline]] constexpr void tell_editor_who(std::size_t pass) {
    if (sweep_.editor_) sweep_.editor_->set_author(static_cast<std::uint16_t>(pass));
  }
  /// Whether the visit has put nodes in, taken some out, or changed what the node calls: there were `count` nodes before,
  /// and it called `op`.
  [[nodiscard, gnu::always_inline]] constexpr auto has_edited(std::uint32_t count, OpId op) const -> bool {
    return sweep_.graph().node_count() != count || (sweep_.editor_ && sweep_.editor_->has_replacements()) ||
           sweep_.wants_every_node_ || sweep_.graph().node(sweep_.id_).op != op;
  }
  /// Of what the pass has done at a node, before which there were `count` nodes. Appends to `behind` what it inserted, and
  /// then the node, if it inserted anything.
  constexpr void take_note(std::size_t pass, std::uint32_t count, Pool<NodeId>& behind) {
    if (sweep_.wants_every_node_) wants_.add_every_node(bit(pass));
    sweep_.wants_every_node_ = false;
    // The node may call another operator now, and one that is new to the graph.
    wants_.grow(sweep_.graph());
    has_changed_ = true;
    if (sweep_.editor_) {
      sweep_.take_replacements();
      has_replaced_ = has_replaced_ || !replaced_[pass].empty();
    }
    may_run_graphs_ = !sweep_.graph().subgraphs().empty();
    only_wanted_ = !may_run_graphs_ && !has_replaced_;
    const std::uint32_t after = sweep_.graph().node_count();
    for (std::uint32_t n = count; n < after; ++n) behind.push_back(NodeId{n});
    if (after != count) behind.push_back(sweep_.id_);
  }
  [[nodiscard, gnu::always_inline]] constexpr auto is_erased(NodeId id) const -> bool {
    return sweep_.editor_ && sweep_.editor_->is_erased(id);
  }
  /// Carries out in node `id` what the pass has replaced.
  [[gnu::always_inline]] constexpr void replace_operands(std::size_t pass, NodeId id) {
    if (has_replaced_ && !replaced_[pass].empty())
      replace_operands(sweep_.graph().mutable_arguments(id), replaced_[pass], id);
  }
  /// Who, of the passes that follow, wants the nodes that are here now, and call what they call now.
  constexpr void look_again() {
    has_changed_ = false;
    wanted_ = here_.empty() ? wants_[sweep_.graph().node(place_)] : 0;
    for (const NodeId id : here_) wanted_ |= wants_[sweep_.graph().node(id)];
    wanted_ &= running_;
  }
  /// The graphs that node `id` runs and the pass has not visited.
  [[nodiscard]] constexpr auto take_graphs_due(std::size_t pass, NodeId id) -> Pool<std::uint32_t> {
    Pool<std::uint32_t> due;
    sweep_.graph().for_each_subgraph(id, [&](std::uint32_t number) {
      if (has_visited_.size() <= number) has_visited_.resize(number + 1, 0);
      if ((has_visited_[number] & bit(pass)) == 0) due.push_back(number);
      has_visited_[number] |= bit(pass);
    });
    return due;
  }
  /// Takes over how pass `pass` did in graph `number`. False if it failed.
  constexpr auto take_outcome(std::size_t pass, std::uint32_t number, SweepOutcome outcome, Context& of_pass,
                              const Context& nested) -> bool {
    of_pass.add_nested(nested);
    if (outcome.failed == no_pass) return true;
    fail(pass, in_subgraph(number, std::move(outcome.errors)));
    return false;
  }
  constexpr void commit() {
    if (!sweep_.editor_ || running_ == 0) return;
    outcome_.movers = sweep_.editor_->movers();
    outcome_.moved = sweep_.editor_->commit();
  }
  constexpr void fail(std::size_t pass, Diagnostics errors) {
    running_ &= bit(pass) - 1;
    wanted_ &= running_;
    outcome_.failed = pass;
    outcome_.errors = std::move(errors);
  }

 private:
  [[nodiscard]] constexpr auto uses_replaced(NodeId id) -> bool {
    for (Replacements& replaced : replaced_) {
      if (replaced.empty()) continue;
      bool found = false;
      sweep_.graph().for_each_operand(id, [&](NodeId used) { found = found || replaced[used] != used; });
      if (found) return true;
    }
    return false;
  }
  /// In the arguments of node `user`, which uses itself what it stands for from then on.
  constexpr void replace_operands(Span<Argument> arguments, Replacements& replaced, NodeId user) {
    for (Argument& a : arguments) {
      if (a.is_node()) {
        if (const NodeId by = replaced[a.node()]; by != user) a = Argument(by).with_keyword(a.keyword());
      } else if (a.is_group()) {
        replace_operands(sweep_.graph().mutable_children(a), replaced, user);
      }
    }
  }

  std::vector<Replacements> replaced_;  ///< by pass: it does not see its own before the next traversal
  bool has_replaced_ = false;           ///< any of them

 protected:
  Sweep sweep_;
  WantTable wants_;
  NodeId place_;         ///< the node of the graph as it was
  Pool<NodeId> here_;    ///< the nodes at this place, as the pass whose turn it is sees them; empty: that one alone
  Pool<NodeId> behind_;  ///< as the next one will
  PassSet wanted_ = 0;        ///< who wants one of them
  bool has_changed_ = false;  ///< whether they have, since that was found out
  bool may_run_graphs_;       ///< whether there are graphs inside the graph
  SweepOutcome outcome_;

 private:
  bool only_wanted_;  ///< whether passes have nothing to do but where they want to: nothing is replaced, no graphs are inside
  PassSet running_ = static_cast<PassSet>(-1);  ///< who has not failed, and stands before all who have
  Pool<PassSet> has_visited_;                   ///< by graph inside the graph: who has
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
template <class... P>
class SweepRunner : SweepCourse {
  static constexpr std::size_t count = sizeof...(P);
  static_assert(count <= max_passes_in_sweep);
  using Indices = std::index_sequence_for<P...>;

 public:
  /// `contexts` has a context for each pass.
  [[nodiscard]] static constexpr auto run(Graph& graph, Context* contexts, artifacts_for<P>... artifacts,
                                          const P&... passes) -> SweepOutcome {
    return SweepRunner(graph).sweep(Indices(), contexts, artifacts..., passes...);
  }

 private:
  constexpr explicit SweepRunner(Graph& graph) : SweepCourse(graph, count, set_of) {}

  [[nodiscard]] static constexpr auto set_of(const Operator& op) -> PassSet {
    PassSet set = 0;
    PassSet bit = 1;
    ((set |= P::wants(op) ? bit : 0, bit <<= 1U), ...);
    return set;
  }
  template <std::size_t... I>
  constexpr auto sweep(std::index_sequence<I...>, Context* contexts, artifacts_for<P>&... artifacts,
                       const P&... passes) -> SweepOutcome {
    SweepStates<Indices, P...> states{{passes.begin(sweep_.graph(), artifacts, contexts[I])}...};
    const std::uint32_t count_before = sweep_.graph().node_count();
    for (std::uint32_t i = 0; find_place(i, count_before); ++i)
      (turn(I, passes, static_cast<SweepState<I, sweep_state<P>>&>(states).value, contexts[I]), ...);
    commit();
    (finish(I, passes, static_cast<SweepState<I, sweep_state<P>>&>(states).value, contexts[I]), ...);
    return std::move(outcome_);
  }

  template <class Pass, class State>
  constexpr void turn(std::size_t number, const Pass& pass, State& state, Context& context) {
    if (has_nothing_to_do(number)) return;
    if (here_.empty()) {
      take(number, pass, state, context, place_, wanted_, here_);
    } else {
      behind_.clear();
      for (std::uint32_t k = 0; k < here_.size(); ++k) {
        const NodeId id = here_[k];
        if (!take(number, pass, state, context, id, wants_[sweep_.graph().node(id)], behind_)) return;
        if (behind_.empty() || behind_.back() != id) behind_.push_back(id);
      }
      std::swap(here_, behind_);
    }
    if (has_changed_ && number + 1 < count) look_again();
  }
  /// A pass at one node, which the passes in `wanted` want. False if it failed.
  template <class Pass, class State>
  constexpr auto take(std::size_t number, const Pass& pass, State& state, Context& context, NodeId id, PassSet wanted,
                      Pool<NodeId>& behind) -> bool {
    if (is_erased(id)) return true;
    if constexpr (!has_artifacts<Pass>)
      if (may_run_graphs_ && !sweep_nested(number, pass, context, id)) return false;
    tell_editor_who(number);
    if ((wanted & bit(number)) != 0) {
      const std::uint32_t before = sweep_.graph().node_count();
      const OpId op = sweep_.graph().node(id).op;
      go_to(number, id);
      Status status = pass.visit(state, sweep_);
      if (!status) {
        fail(number, std::move(status.error()));
        return false;
      }
      if (has_edited(before, op)) take_note(number, before, behind);
    }
    replace_operands(number, id);
    return true;
  }
  template <class Pass, class State>
  constexpr void finish(std::size_t number, const Pass& pass, State& state, Context& context) {
    if (!is_running(number)) return;
    Status status = pass.finish(state, sweep_.graph(), context);
    if (!status) fail(number, std::move(status.error()));
  }
  /// Has a pass visit the graphs that node `id` runs, and those inside them. False if it failed.
  template <class Pass>
  constexpr auto sweep_nested(std::size_t number, const Pass& pass, Context& context, NodeId id) -> bool {
    for (const std::uint32_t graph : take_graphs_due(number, id)) {
      ArtifactSlots<> none;
      Context nested;
      SweepOutcome outcome = SweepRunner<Pass>::run(sweep_.graph().mutable_subgraph(graph), &nested,
                                                    artifacts_for<Pass>(none), pass);
      if (!take_outcome(number, graph, std::move(outcome), context, nested)) return false;
    }
    return true;
  }
};

}  // namespace detail

}  // namespace fxpass

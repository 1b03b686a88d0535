// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/forward.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/pass/observer.hpp>
#include <fxpass/pass/order.hpp>
#include <fxpass/pass/pass.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

/// @file
/// Running the passes of a pipeline on a module. Everything about facts is decided in the types; at run time there is
/// one graph, one place for each artifact, and the passes.

namespace fxpass::detail {

/// Pass `I` of a pipeline.
template <std::size_t I, class P>
struct Member {
  constexpr Member() = default;
  constexpr explicit Member(const P& pass) : value(pass) {}

  [[no_unique_address]] P value;
};
template <class Indices, class... P>
struct Members;
/// The passes of a pipeline, by flat inheritance: an element is a cast away, and a pipeline costs O(passes)
/// to compile.
template <std::size_t... I, class... P>
struct Members<std::index_sequence<I...>, P...> : Member<I, P>... {
  constexpr Members() = default;
  constexpr explicit Members(const P&... passes)
    requires(sizeof...(P) > 0)
      : Member<I, P>(passes)... {}
};
template <class... P>
using members_of = Members<std::index_sequence_for<P...>, P...>;

template <std::size_t I, class P>
[[nodiscard]] constexpr auto member(const Member<I, P>& m) -> const P& {
  return m.value;
}

/// What there is to do behind a pass, of a run in which N facts can be true.
template <std::size_t N>
struct StepPlan {
  std::array<bool, N> holds{};      ///< whether the fact is true then
  std::array<bool, N> rechecked{};  ///< whether it has to be checked, since the pass promises nothing of it
  bool rechecks = false;            ///< whether any of them
  std::size_t tied = N;             ///< a fact whose artifact names nodes, kept by a pass that may move them; N: none
};

/// How a pass runs: by itself, or in one traversal with others, which is run in place of the first.
struct Way {
  bool is_alone = true;
  std::size_t sweeps = 0;  ///< of the first pass of a traversal: how many take part
};

/// Facts of a run of passes `P` on a module with facts `Facts`.
template <class Facts, class... P>
struct RunPlan {
  static constexpr std::size_t pass_count = sizeof...(P);

  /// The facts that can be true at some point.
  using Universe = typename FactSet<join<facts, Facts, filled_in_by<P>...>>::type;
  static constexpr std::size_t fact_count = size_of<Universe>;

  /// What is true before each pass, and in the end.
  static constexpr auto facts_before = [] {
    std::array<std::array<bool, fact_count>, pass_count + 1> result{};
    FactWalk walk(contracts_of<P...>, fact_infos<Facts>);
    for (std::size_t i = 0; i <= pass_count; ++i) {
      for (std::size_t u = 0; u < fact_count; ++u) result[i][u] = walk.holds(fact_infos<Universe>[u]);
      if (i < pass_count) walk.step(i);
    }
    return result;
  }();

  struct InTheEnd {
    static constexpr auto chosen = [] {
      Choice<fact_count> choice;
      for (std::size_t u = 0; u < fact_count; ++u)
        if (facts_before[pass_count][u]) choice.index[choice.count++] = u;
      return choice;
    }();
  };
  using Result = typename ModuleOfSet<typename Choose<facts, Universe, InTheEnd>::type>::type;

  /// What there is to do behind each pass.
  static constexpr auto steps = [] {
    constexpr std::array<Span<const FactInfo>, pass_count> filled_in{fact_infos<filled_in_by<P>>...};
    constexpr std::array<bool, pass_count> only_looks{LookingPass<P>...};
    std::array<StepPlan<fact_count>, pass_count> result{};
    for (std::size_t i = 0; i < pass_count; ++i) {
      const Contract& contract = *contracts_of<P...>[i];
      result[i].holds = facts_before[i + 1];
      for (std::size_t u = 0; u < fact_count; ++u) {
        const FactInfo& fact = fact_infos<Universe>[u];
        result[i].rechecked[u] = contract.keeping == Keeping::undeclared && fact.can_be_rechecked() &&
                                 facts_before[i][u] && !Contract::lists(contract.establishes, fact);
        result[i].rechecks = result[i].rechecks || result[i].rechecked[u];
        if (facts_before[i][u] && facts_before[i + 1][u] && fact.tie != FactInfo::Tie::none &&
            !only_looks[i] && !Contract::lists(filled_in[i], fact) &&
            (result[i].tied == fact_count || fact.tie == FactInfo::Tie::in_place))
          result[i].tied = u;
      }
    }
    return result;
  }();

  /// Whether pass `i` would fill in an artifact that a pass from `first` on uses: not in one traversal with
  /// it.
  [[nodiscard]] static constexpr auto overwrites_since(std::size_t first, std::size_t i) -> bool {
    constexpr std::array<Span<const FactInfo>, pass_count> filled_in{fact_infos<filled_in_by<P>>...};
    for (const FactInfo& fact : filled_in[i])
      for (std::size_t k = first; k < i && fact.has_artifact; ++k)
        if (Contract::lists(contracts_of<P...>[k]->needs, fact) || Contract::lists(filled_in[k], fact))
          return true;
    return false;
  }
  /// Passes [first[g], first[g + 1]) run in one traversal: neighbours that are forward passes, with no checks
  /// between.
  struct Groups {
    std::array<std::size_t, pass_count + 1> first{};
    std::size_t count = 0;
  };
  static constexpr Groups groups = [] {
    const std::array<bool, pass_count> forward{ForwardPass<P>...};
    Groups result;
    bool joins = false;  // whether a forward pass could join those before
    for (std::size_t i = 0; i < pass_count; ++i) {
      if (!joins || !forward[i] || i - result.first[result.count - 1] == max_passes_in_sweep ||
          overwrites_since(result.first[result.count - 1], i))
        result.first[result.count++] = i;
      joins = forward[i] && !steps[i].rechecks;
    }
    result.first[result.count] = pass_count;
    return result;
  }();

  static constexpr auto ways = [] {
    const std::array<bool, pass_count> forward{ForwardPass<P>...};
    std::array<Way, pass_count> result{};
    for (std::size_t i = 0; i < pass_count; ++i) result[i].is_alone = !forward[i];
    for (std::size_t g = 0; g < groups.count; ++g)
      result[groups.first[g]].sweeps = groups.first[g + 1] - groups.first[g];
    return result;
  }();
};

/// What a run of `P` on a module with facts `Facts` gives, if the verdict on it is good.
template <bool Ok, class Facts, class... P>
struct ResultOfRun {
  using type = Rejected;
};
template <class Facts, class... P>
struct ResultOfRun<true, Facts, P...> {
  using type = Expected<typename RunPlan<Facts, P...>::Result>;
};

/// Says in each diagnostic which pass it comes from.
[[nodiscard]] constexpr auto in_pass(std::string_view pass, Diagnostics errors) -> Diagnostics {
  for (Diagnostic& d : errors) d.message = text_of("in pass '", pass, "': ", d.message);
  return errors;
}

/// Says that a pass is run by itself.
struct Alone {};

/// A run of passes on a module of which the facts `Universe` can be true. What there is to do for one pass
/// knows nothing of the pipeline that the pass is in: a function of its own for each place of each pipeline
/// is what a compiler would spend most of its time on.
template <class Universe>
class Run;
template <class... F>
class Run<facts<F...>> {
 protected:
  using Plan = StepPlan<sizeof...(F)>;

  template <class M>
  constexpr Run(M& module, Context& context)
      : context_(&context), graph_(ModuleMaker::take_apart(module, slots_)) {}

  /// Runs a pass that is no forward pass; whether it was successful. Not much more than the call, since a
  /// compiler makes this anew for each pass.
  template <class Pass>
  constexpr auto run_pass(Alone, const Pass& pass, const Plan& plan) -> bool {
    if constexpr (!std::same_as<filled_in_by<Pass>, facts<>>) clear_artifacts(pass);
    note_nodes(plan);
    context_of_last_ = Context();
    if constexpr (LooksAtArtifacts<Pass>) {
      artifacts_for<Pass> artifacts(slots_);
      status_ = pass.run(std::as_const(graph_), artifacts, context_of_last_);
    } else if constexpr (ArtifactPass<Pass>) {
      artifacts_for<Pass> artifacts(slots_);
      status_ = pass.run(graph_, artifacts, context_of_last_);
    } else {
      status_ = run_on_graph(pass, graph_, context_of_last_);
    }
    return finish_pass<filled_in_by<Pass>>(Pass::name, plan);
  }

  /// Runs forward passes in one traversal. `plans` is that of the first one, and behind it those of the others.
  template <class... Pass>
  constexpr auto run_together(const Plan* plans, const Pass&... passes) -> bool {
    (clear_artifacts(passes), ...);
    constexpr std::array<std::string_view, sizeof...(Pass)> names{Pass::name...};
    std::array<Context, sizeof...(Pass)> contexts;
    SweepOutcome outcome =
        SweepRunner<Pass...>::run(graph_, contexts.data(), artifacts_for<Pass>(slots_)..., passes...);
    if (outcome.moved) contexts.back().renumbered(*std::move(outcome.moved));
    for (std::size_t k = 0; k < contexts.size() && k < outcome.failed && outcome.movers != 0; ++k) {
      if ((outcome.movers >> k & 1U) == 0 || !is_in_place(plans[k])) continue;
      outcome.failed = k;
      outcome.errors = cannot_follow(plans[k]);
    }
    for (std::size_t k = 0; k < contexts.size() && (outcome.failed == no_pass || k <= outcome.failed); ++k)
      pass_on(names[k], contexts[k]);
    context_of_last_ = std::move(contexts.back());
    if (outcome.failed != no_pass) {
      status_ = in_pass(names[outcome.failed], std::move(outcome.errors));
      return false;
    }
    return finish<facts<>>(names.back(), plans[contexts.size() - 1]);
  }

  Context* context_;
  ArtifactSlots<F...> slots_;
  Graph graph_;
  Context context_of_last_;
  Status status_;  ///< that of the last pass
  Pool<Name> nodes_before_;  ///< what the nodes were called, where that is of use
  bool is_part_ = false;

  /// The facts that are true behind a pass.
  [[nodiscard]] constexpr auto true_facts(const Plan& plan) const -> Pool<FactInfo> {
    Pool<FactInfo> result;
    for (std::size_t u = 0; u < sizeof...(F); ++u)
      if (plan.holds[u]) result.push_back(fact_infos<facts<F...>>[u]);
    return result;
  }

 private:
  template <class Made>
  constexpr auto finish_pass(std::string_view pass, const Plan& plan) -> bool {
    pass_on(pass, context_of_last_);
    if (status_ && plan.tied < sizeof...(F)) check_nodes(plan);
    if (status_) return finish<Made>(pass, plan);
    status_ = in_pass(pass, std::move(status_.error()));
    return false;
  }

  // What a pass keeps must not come to speak of other nodes: a write that is taken for another one is lost.
  /// O(nodes), before a pass that keeps what names nodes.
  constexpr void note_nodes(const Plan& plan) {
    if (plan.tied == sizeof...(F)) return;
    nodes_before_.clear();
    for (const Node& node : graph_.nodes()) nodes_before_.push_back(node.name);
  }
  /// O(nodes).
  constexpr void check_nodes(const Plan& plan) {
    if (!is_in_place(plan) && !context_of_last_.moves().empty()) return;
    bool is_same = nodes_before_.size() == graph_.node_count();
    for (std::uint32_t i = 0; is_same && i < nodes_before_.size(); ++i)
      is_same = nodes_before_[i] == graph_.node(NodeId{i}).name;
    if (!is_same) status_ = cannot_follow(plan);
  }
  [[nodiscard]] static constexpr auto is_in_place(const Plan& plan) -> bool {
    return plan.tied < sizeof...(F) && fact_infos<facts<F...>>[plan.tied].tie == FactInfo::Tie::in_place;
  }
  [[nodiscard]] static constexpr auto cannot_follow(const Plan& plan) -> Diagnostic {
    const std::string_view kept = fact_infos<facts<F...>>[plan.tied].name;
    Text mend;
    if (is_in_place(plan))
      mend = text_of("let it run before the pass that establishes '", kept, "', or not keep it");
    else
      mend = Text("say where they went, by context.renumbered(editor.commit())");
    return Diagnostic::error(DiagnosticCode::fact_violated,
                             text_of("the pass moves nodes, and '", kept,
                                     "', which it says to keep, would speak of other ones; ", mend));
  }

  /// Has artifacts follow the nodes, and checks what the pass may have made untrue.
  template <class Made>
  constexpr auto finish(std::string_view pass, const Plan& plan) -> bool {
    for (const Renumbering& moved : context_of_last_.moves()) renumber<Made>(moved, plan);
    if (!plan.rechecks) return true;
    Diagnostics violations;
    for (std::size_t u = 0; u < sizeof...(F); ++u)
      if (plan.rechecked[u])
        check_fact(fact_infos<facts<F...>>[u], graph_, violations, "the pass does not keep");
    if (violations.empty()) return true;
    status_ = in_pass(pass, std::move(violations));
    return false;
  }

  /// What a pass is to establish it gets empty, unless it needs what is there. A pass that is off gets
  /// nothing.
  template <class Pass>
  constexpr void clear_artifacts(const Pass& pass) {
    if (!is_skipped(pass)) clear_artifacts(filled_in_by<Pass>(), needs_of<Pass>());
  }
  template <class... E, class... N>
  constexpr void clear_artifacts(facts<E...>, [[maybe_unused]] facts<N...> needed) {
    (clear_artifact<E>(needed), ...);
  }
  template <class E, class... N>
  constexpr void clear_artifact(facts<N...>) {
    if constexpr (FactWithArtifact<E> && !(std::same_as<E, N> || ...))
      static_cast<ArtifactSlot<E>&>(slots_).value = typename E::artifact();
  }
  /// Artifacts that name nodes, and are of use to later passes, follow the nodes to their places; those of
  /// `Made` name them already.
  template <class Made>
  constexpr void renumber(const Renumbering& moved, [[maybe_unused]] const Plan& plan) {
    std::size_t u = 0;
    (renumber_artifact<F, Made>(moved, plan.holds[u++]), ...);
  }
  template <class Fact, class Made>
  constexpr void renumber_artifact(const Renumbering& moved, bool holds) {
    if constexpr (FollowsNodes<Fact> && !lists<Fact, Made>)
      if (holds) static_cast<ArtifactSlot<Fact>&>(slots_).value.renumber(moved);
  }
  constexpr void pass_on(std::string_view pass, const Context& context) {
    for (const Diagnostic& d : context.warnings()) context_->warn(d);
    if (!is_part_) return;
    for (const Statistic& s : context.statistics()) context_->count(text_of(pass, '.', s.key), s.value);
    for (const Renumbering& moved : context.moves()) context_->renumbered(moved);
  }
};

template <class M, class... P>
class PipelineRunner : Run<typename RunPlan<typename M::facts, P...>::Universe> {
  using Plan = RunPlan<typename M::facts, P...>;
  using Base = Run<typename Plan::Universe>;

 public:
  using Result = typename Plan::Result;

  constexpr PipelineRunner(const members_of<P...>& passes, M module, Context& context)
      : Base(module, context), passes_(&passes) {}

  /// Each run of forward passes in one traversal.
  [[nodiscard]] constexpr auto run() && -> Expected<Result> {
    return run_all(std::index_sequence_for<P...>());
  }
  /// As part of a pass: `context` is that pass's, and gets statistics and moves of nodes as well as warnings.
  [[nodiscard]] constexpr auto run_as_part() && -> Expected<Result> {
    this->is_part_ = true;
    return std::move(*this).run();
  }
  /// Each pass by itself, for observers to see what is in between.
  template <class... O>
  [[nodiscard]] constexpr auto run_observed(O&... observers) && -> Expected<Result> {
    return run_each(std::index_sequence_for<P...>(), observers...);
  }

 private:
  /// For a sweep of the passes from `First` on; none, where an earlier pass has taken this one along.
  template <std::size_t First, std::size_t Count>
  struct Together {};
  template <std::size_t I>
  using WayOf = std::conditional_t<Plan::ways[I].is_alone, Alone, Together<I, Plan::ways[I].sweeps>>;
  using Base::run_pass;

  template <std::size_t... I>
  constexpr auto run_all(std::index_sequence<I...>) -> Expected<Result> {
    static_cast<void>(
        (run_pass(WayOf<I>(), static_cast<const Member<I, P>&>(*passes_).value, Plan::steps[I]) && ...));
    return result();
  }
  template <std::size_t... I, class... O>
  constexpr auto run_each(std::index_sequence<I...>, O&... observers) -> Expected<Result> {
    static_cast<void>((run_observed_pass<I, P>(observers...) && ...));
    return result();
  }
  constexpr auto result() -> Expected<Result> {
    if (!this->status_) return std::move(this->status_.error());
    return ModuleMaker::make(typename Result::facts(), std::move(this->graph_), this->slots_);
  }

  template <std::size_t I, class Pass, class... O>
  constexpr auto run_observed_pass(O&... observers) -> bool {
    constexpr std::string_view name = Pass::name;
    constexpr bool keeps_copy = (SeesFailure<O> || ...);
    const Pass& pass = static_cast<const Member<I, Pass>&>(*passes_).value;
    Graph before;
    if constexpr (keeps_copy) before = this->graph_;
    (notify_before(observers, name), ...);
    Status& status = this->status_;
    if constexpr (Plan::ways[I].is_alone) {
      run_pass(Alone(), pass, Plan::steps[I]);
    } else {
      this->run_together(&Plan::steps[I], pass);
    }
    if (status) {
      const Context& said = this->context_of_last_;
      const Pool<FactInfo> facts = this->true_facts(Plan::steps[I]);
      status = notify_after({name, I, said.statistics(), facts, is_skipped(pass), &contract_of<Pass>,
                             LookingPass<Pass> || is_skipped(pass) || said.claims_unchanged()},
                            observers...);
    }
    if (!status) (notify_failed(observers, name, status.error(), before), ...);
    return status.has_value();
  }
  template <class O>
  constexpr void notify_before(O& observer, std::string_view name) {
    if constexpr (SeesBefore<O>) observer.before(name, std::as_const(this->graph_));
  }
  constexpr auto notify_after(const PassReport&) -> Status { return {}; }
  /// The last observer first: it is the closest to the pass.
  template <class First, class... Rest>
  constexpr auto notify_after(const PassReport& report, First& first, Rest&... rest) -> Status {
    if (Status status = notify_after(report, rest...); !status) return status;
    if constexpr (StopsAfter<First>) {
      return first.after(report, std::as_const(this->graph_));
    } else {
      if constexpr (SeesAfter<First>) first.after(report, std::as_const(this->graph_));
      return {};
    }
  }
  template <class O>
  constexpr void notify_failed(O& observer, std::string_view name, const Diagnostics& errors,
                               const Graph& before) {
    if constexpr (SeesFailure<O>) observer.failed(name, errors, before);
  }

  /// The forward passes from `First` on in one traversal.
  template <std::size_t First, std::size_t Count, class Pass>
  constexpr auto run_pass(Together<First, Count>, const Pass&, const StepPlan<Plan::fact_count>&) -> bool {
    return run_sweep<First>(std::make_index_sequence<Count>());
  }
  template <std::size_t First, std::size_t... K>
  constexpr auto run_sweep(std::index_sequence<K...>) -> bool {
    if constexpr (sizeof...(K) == 0) {
      return true;
    } else {
      return this->run_together(&Plan::steps[First], member<First + K>(*passes_)...);
    }
  }

  const members_of<P...>* passes_;
};

}  // namespace fxpass::detail

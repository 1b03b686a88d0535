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
  [[no_unique_address]] P value;
};
template <class Indices, class... P>
struct Members;
/// The passes of a pipeline, by flat inheritance: an element is a cast away, and a pipeline costs O(passes) to compile.
template <std::size_t... I, class... P>
struct Members<std::index_sequence<I...>, P...> : Member<I, P>... {
  constexpr Members() = default;
  constexpr explicit Members(P... passes)
    requires(sizeof...(P) > 0)
      : Member<I, P>{std::move(passes)}... {}
};
template <class... P>
using members_of = Members<std::index_sequence_for<P...>, P...>;

template <std::size_t I, class P>
[[nodiscard]] constexpr auto member(const Member<I, P>& m) -> const P& {
  return m.value;
}

/// Facts of a run of passes `P` on a module with facts `Facts`.
template <class Facts, class... P>
struct RunPlan {
  static constexpr std::size_t pass_count = sizeof...(P);

  /// The facts that can be true at some point.
  using Universe = typename FactSet<join<facts, Facts, filled_in_by<P>...>>::type;
  static constexpr std::size_t fact_count = size_of<Universe>;

  struct FactTable {
    std::array<FactInfo, fact_count> infos{};
    std::array<bool, fact_count> holds{};
    std::size_t count = 0;
  };
  /// What is true before each pass, and in the end.
  static constexpr std::array<FactTable, pass_count + 1> facts_before = [] {
    std::array<FactTable, pass_count + 1> result{};
    FactWalk walk(contracts_of<P...>, fact_infos<Facts>);
    for (std::size_t i = 0; i <= pass_count; ++i) {
      for (std::size_t u = 0; u < fact_count; ++u) {
        const FactInfo& info = fact_infos<Universe>[u];
        result[i].holds[u] = walk.holds(info);
        if (result[i].holds[u]) result[i].infos[result[i].count++] = info;
      }
      if (i < pass_count) walk.step(i);
    }
    return result;
  }();
  [[nodiscard]] static constexpr auto list(const FactTable& table) -> Span<const FactInfo> {
    return {table.infos.data(), table.count};
  }

  struct InTheEnd {
    static constexpr auto chosen = [] {
      Choice<fact_count> choice;
      for (std::size_t u = 0; u < fact_count; ++u)
        if (facts_before[pass_count].holds[u]) choice.index[choice.count++] = u;
      return choice;
    }();
  };
  using Result = typename ModuleOfSet<typename Choose<facts, Universe, InTheEnd>::type>::type;

  /// Whether a fact has to be checked behind pass `i`, which promises nothing of it.
  [[nodiscard]] static constexpr auto is_rechecked(std::size_t i, const FactInfo& fact) -> bool {
    const Contract& contract = *contracts_of<P...>[i];
    return contract.keeping == Keeping::undeclared && fact.can_be_rechecked() &&
           Contract::lists(list(facts_before[i]), fact) && !Contract::lists(contract.establishes, fact);
  }

  /// Whether pass `i` would fill in an artifact that a pass from `first` on uses: not in one traversal with it.
  [[nodiscard]] static constexpr auto overwrites_since(std::size_t first, std::size_t i) -> bool {
    constexpr std::array<Span<const FactInfo>, pass_count> filled_in{fact_infos<filled_in_by<P>>...};
    for (const FactInfo& fact : filled_in[i])
      for (std::size_t k = first; k < i && fact.has_artifact; ++k)
        if (Contract::lists(contracts_of<P...>[k]->needs, fact) || Contract::lists(filled_in[k], fact)) return true;
    return false;
  }
  /// Passes [first[g], first[g + 1]) run in one traversal: neighbours that are forward passes, with no checks between.
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
      joins = forward[i];
      for (const FactInfo& fact : fact_infos<Universe>) joins = joins && !is_rechecked(i, fact);
    }
    result.first[result.count] = pass_count;
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

template <class M, class... P>
class PipelineRunner {
  using Plan = RunPlan<typename M::facts, P...>;
  using Passes = types<P...>;
  template <std::size_t I>
  using PassAt = at<I, Passes>;

 public:
  using Result = typename Plan::Result;

  constexpr PipelineRunner(const members_of<P...>& passes, M module, Context& context)
      : passes_(&passes), context_(&context), graph_(ModuleMaker::take_apart(module, slots_)) {}

  /// Each run of forward passes in one traversal.
  [[nodiscard]] constexpr auto run() && -> Expected<Result> {
    return run_groups(std::make_index_sequence<Plan::groups.count>());
  }
  /// As part of a pass: `context` is that pass's, and gets statistics and moves of nodes as well as warnings.
  [[nodiscard]] constexpr auto run_as_part() && -> Expected<Result> {
    is_part_ = true;
    return std::move(*this).run();
  }
  /// Each pass by itself, for observers to see what is in between.
  template <class... O>
  [[nodiscard]] constexpr auto run_observed(O&... observers) && -> Expected<Result> {
    return run_each(std::index_sequence_for<P...>(), observers...);
  }

 private:
  template <std::size_t... G>
  constexpr auto run_groups(std::index_sequence<G...>) -> Expected<Result> {
    Status status;
    static_cast<void>(((status = run_group<Plan::groups.first[G]>(
                            std::make_index_sequence<Plan::groups.first[G + 1] - Plan::groups.first[G]>()))
                           .has_value() &&
                       ...));
    return result(std::move(status));
  }
  template <std::size_t... I, class... O>
  constexpr auto run_each(std::index_sequence<I...>, O&... observers) -> Expected<Result> {
    Status status;
    static_cast<void>(((status = run_observed_pass<I>(observers...)).has_value() && ...));
    return result(std::move(status));
  }
  constexpr auto result(Status status) -> Expected<Result> {
    if (!status) return std::move(status.error());
    return ModuleMaker::make(typename Result::facts(), std::move(graph_), slots_);
  }

  template <std::size_t I, class... O>
  constexpr auto run_observed_pass(O&... observers) -> Status {
    constexpr std::string_view name = PassAt<I>::name;
    constexpr bool keeps_copy = (SeesFailure<O> || ...);
    Graph before;
    if constexpr (keeps_copy) before = graph_;
    (notify_before(observers, name), ...);
    Status status = run_group<I>(std::index_sequence<0>());
    if (status)
      status = notify_after({name, I, context_of_last_.statistics(), Plan::list(Plan::facts_before[I + 1]),
                             is_skipped(member<I>(*passes_)), &contract_of<PassAt<I>>,
                             LookingPass<PassAt<I>> || is_skipped(member<I>(*passes_)) ||
                                 context_of_last_.claims_unchanged()},
                            observers...);
    if (!status) (notify_failed(observers, name, status.error(), before), ...);
    return status;
  }
  template <class O>
  constexpr void notify_before(O& observer, std::string_view name) {
    if constexpr (SeesBefore<O>) observer.before(name, std::as_const(graph_));
  }
  constexpr auto notify_after(const PassReport&) -> Status { return {}; }
  /// The last observer first: it is the closest to the pass.
  template <class First, class... Rest>
  constexpr auto notify_after(const PassReport& report, First& first, Rest&... rest) -> Status {
    if (Status status = notify_after(report, rest...); !status) return status;
    if constexpr (StopsAfter<First>) {
      return first.after(report, std::as_const(graph_));
    } else {
      if constexpr (SeesAfter<First>) first.after(report, std::as_const(graph_));
      return {};
    }
  }
  template <class O>
  constexpr void notify_failed(O& observer, std::string_view name, const Diagnostics& errors, const Graph& before) {
    if constexpr (SeesFailure<O>) observer.failed(name, errors, before);
  }

  /// Runs passes First, First + 1, ... together.
  template <std::size_t First, std::size_t... K>
  constexpr auto run_group(std::index_sequence<K...>) -> Status {
    constexpr std::size_t last = First + sizeof...(K) - 1;
    (clear_artifacts<PassAt<First + K>>(member<First + K>(*passes_)), ...);
    Status status;
    if constexpr (ForwardPass<PassAt<First>>) {
      status = sweep<First>(std::index_sequence<K...>());
    } else {
      status = run_alone<First>();
    }
    if (!status) return status;
    return recheck(last, PassAt<last>::name);
  }
  /// Checks what pass `pass` may have made untrue.
  constexpr auto recheck(std::size_t pass, std::string_view name) const -> Status {
    Diagnostics violations;
    for (const FactInfo& fact : fact_infos<typename Plan::Universe>)
      if (Plan::is_rechecked(pass, fact)) check_fact(fact, graph_, violations, "the pass does not keep");
    if (!violations.empty()) return in_pass(name, std::move(violations));
    return {};
  }

  template <std::size_t First, std::size_t... K>
  constexpr auto sweep(std::index_sequence<K...>) -> Status {
    constexpr std::array<std::string_view, sizeof...(K)> names{PassAt<First + K>::name...};
    std::array<Context, sizeof...(K)> contexts;
    SweepOutcome outcome = SweepRunner<PassAt<First + K>...>::run(
        graph_, contexts, artifacts_for<PassAt<First + K>>(slots_)..., member<First + K>(*passes_)...);
    if (outcome.moved) contexts.back().renumbered(*std::move(outcome.moved));
    for (std::size_t k = 0; k < contexts.size() && (outcome.failed == no_pass || k <= outcome.failed); ++k)
      pass_on(names[k], contexts[k]);
    if (outcome.failed != no_pass) return in_pass(names[outcome.failed], std::move(outcome.errors));
    for (const Renumbering& moved : contexts.back().moves())
      renumber(moved, First + sizeof...(K), typename Plan::Universe(), facts<>());
    context_of_last_ = std::move(contexts.back());
    return {};
  }

  template <std::size_t I>
  constexpr auto run_alone() -> Status {
    using Pass = PassAt<I>;
    const Pass& pass = member<I>(*passes_);
    Context context;
    Status status;
    if constexpr (LooksAtArtifacts<Pass>) {
      artifacts_for<Pass> artifacts(slots_);
      status = pass.run(std::as_const(graph_), artifacts, context);
    } else if constexpr (ArtifactPass<Pass>) {
      artifacts_for<Pass> artifacts(slots_);
      status = pass.run(graph_, artifacts, context);
    } else {
      status = run_on_graph(pass, graph_, context);
    }
    pass_on(Pass::name, context);
    if (!status) return in_pass(Pass::name, std::move(status.error()));
    for (const Renumbering& moved : context.moves())
      renumber(moved, I + 1, typename Plan::Universe(), filled_in_by<Pass>());
    context_of_last_ = std::move(context);
    return {};
  }

  /// What a pass is to establish it gets empty, unless it needs what is there. A pass that is off gets nothing.
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
  /// Artifacts that name nodes, and are of use before pass `next`, follow the nodes to their places; those of `Made`
  /// name them already.
  template <class... F, class Made>
  constexpr void renumber(const Renumbering& moved, [[maybe_unused]] std::size_t next, facts<F...>, Made) {
    std::size_t u = 0;
    (renumber_artifact<F, Made>(moved, Plan::facts_before[next].holds[u++]), ...);
  }
  template <class F, class Made>
  constexpr void renumber_artifact(const Renumbering& moved, bool holds) {
    if constexpr (requires(typename F::artifact& artifact) { artifact.renumber(moved); } && !lists<F, Made>)
      if (holds) static_cast<ArtifactSlot<F>&>(slots_).value.renumber(moved);
  }
  constexpr void pass_on(std::string_view pass, const Context& context) {
    for (const Diagnostic& d : context.warnings()) context_->warn(d);
    if (!is_part_) return;
    for (const Statistic& s : context.statistics()) context_->count(text_of(pass, '.', s.key), s.value);
    for (const Renumbering& moved : context.moves()) context_->renumbered(moved);
  }

  const members_of<P...>* passes_;
  Context* context_;
  slots_of<typename Plan::Universe> slots_;
  Graph graph_;
  Context context_of_last_;
  bool is_part_ = false;
};

}  // namespace fxpass::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that the errors of this header are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/graph/call.hpp>
#include <fxpass/pass/named_pipeline.hpp>
#include <fxpass/pass/pipeline.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

/// @file
/// `repeat<Limit>(p)`: a pass, or a pipeline, again and again until it changes nothing.
///
///     constexpr auto simplify = repeat<20>(pipeline(Fold{}, Drop{}));  // a pass: "repeat(fold | drop)"

namespace fxpass {

template <int Limit, class... P>
class Repeat;

namespace detail {

/// `repeat(a | b)`, made once for a pass type.
template <class... P>
struct NameOfRepeat {
  static constexpr std::size_t size = [] {
    std::size_t count = std::string_view("repeat()").size();
    const std::array<std::string_view, sizeof...(P)> names{P::name...};
    for (std::size_t i = 0; i < names.size(); ++i) count += names[i].size() + (i == 0 ? 0 : 3);
    return count;
  }();
  static constexpr std::array<char, size> chars = [] {
    std::array<char, size> result{};
    std::size_t next = 0;
    const auto append = [&](std::string_view text) {
      for (const char c : text) result[next++] = c;
    };
    append("repeat(");
    const std::array<std::string_view, sizeof...(P)> names{P::name...};
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i != 0) append(" | ");
      append(names[i]);
    }
    append(")");
    return result;
  }();
};

/// Why a second round could not start.
struct RepeatFault {
  enum class Is : std::uint8_t { none, need_lost, forbidden_established };
  Is is = Is::none;
  std::size_t fact = 0;     ///< which of the joint needs, or of what is forbidden
  std::size_t culprit = 0;  ///< the pass that made it so
};
template <class... P>
[[nodiscard]] consteval auto find_repeat_fault() -> RepeatFault {
  using Joint = JointContract<P...>;
  constexpr auto& needs = fact_infos<typename Joint::needs>;
  constexpr auto& forbids = fact_infos<typename Joint::forbids>;
  FactWalk walk(contracts_of<P...>, needs);
  for (std::size_t i = 0; i < sizeof...(P); ++i) walk.step(i);
  for (std::size_t n = 0; n < needs.size(); ++n)
    if (!walk.holds(needs[n])) return {RepeatFault::Is::need_lost, n, walk.state(needs[n]).by};
  for (std::size_t n = 0; n < forbids.size(); ++n)
    if (walk.holds(forbids[n])) return {RepeatFault::Is::forbidden_established, n, walk.state(forbids[n]).by};
  return {};
}
/// The first of `contracts` that speaks of `fact` in the list that `list` is.
[[nodiscard]] consteval auto first_with(Span<const Contract* const> contracts,
                                        Span<const FactInfo> Contract::* list, const FactInfo& fact)
    -> std::size_t {
  std::size_t i = 0;
  while (!Contract::lists(contracts[i]->*list, fact)) ++i;
  return i;
}
template <int Limit, class... P>
[[nodiscard]] consteval auto judge_repeat() {
  using namespace verdict;
  using Order = order_verdict<P...>;
  if constexpr (!Order::ok) {
    return Order();
  } else if constexpr (Limit < 1) {
    return not_repeatable<pass<Repeat<Limit, P...>>, has_no_round, to_mend<allow_at_least_one_round>>();
  } else {
    using Joint = JointContract<P...>;
    using Passes = types<P...>;
    constexpr RepeatFault fault = find_repeat_fault<P...>();
    if constexpr (fault.is == RepeatFault::Is::none) {
      return in_order();
    } else if constexpr (fault.is == RepeatFault::Is::need_lost) {
      using F = at<fault.fact, typename Joint::needs>;
      using Culprit = at<fault.culprit, Passes>;
      using Pass = at<first_with(contracts_of<P...>, &Contract::needs, fact_info<F>), Passes>;
      if constexpr (contract_of<Culprit>.keeping == Keeping::undeclared)
        return not_repeatable<pass<Pass>, needs<F>, was_lost_by<Culprit>,
                              to_mend<declare_keeps<F>, in<Culprit>>>();
      else
        return not_repeatable<pass<Pass>, needs<F>, was_lost_by<Culprit>, mend_missing_of<F, Pass>>();
    } else {
      using F = at<fault.fact, typename Joint::forbids>;
      using Culprit = at<fault.culprit, Passes>;
      using Pass = at<first_with(contracts_of<P...>, &Contract::forbids, fact_info<F>), Passes>;
      return not_repeatable<pass<Pass>, forbids<F>, was_established_by<Culprit>,
                            to_mend<leave_out<Culprit>>>();
    }
  }
}

}  // namespace detail

/// Passes `P`, run in rounds until one changes nothing: neither the graph nor the artifacts that the next
/// round needs.
///
/// Needs, forbids, establishes and keeps what the passes do together; what they need, a round must leave
/// true, and what they forbid, it must not make true. Fails with `no_convergence`, at the first node that
/// still changes, if round `Limit` changes something, or if a round gives back the module of an earlier one,
/// from which all would go on as before. Counts `rounds`, the one that changes nothing included, and as
/// `pass.key` what the passes count over all rounds. A warning that each round gives is given once. Observers
/// see one step. A round costs a copy of the graph and two comparisons beside the passes; each is O(graph).
template <int Limit, class... P>
class Repeat {
 public:
  static constexpr std::string_view name{detail::NameOfRepeat<P...>::chars.data(),
                                         detail::NameOfRepeat<P...>::size};
  /// How many rounds are allowed.
  static constexpr int limit = Limit;
  /// For the verdict on a pass that is looked for and is in here.
  using passes_inside = detail::types<P...>;
  using needs = needs_of<Pipeline<P...>>;
  using forbids = forbids_of<Pipeline<P...>>;
  using establishes = establishes_of<Pipeline<P...>>;
  using establishes_when_on = establishes_when_on_of<Pipeline<P...>>;
  using keeps = typename detail::KeepsOf<Pipeline<P...>>::type;

  /// Repeats `passes`.
  constexpr explicit Repeat(Pipeline<P...> passes) : passes_(std::move(passes)) {}

  /// What a round is.
  [[nodiscard]] constexpr auto passes() const -> const Pipeline<P...>& { return passes_; }

  constexpr auto run(Graph& graph, Artifacts<Repeat>& artifacts, Context& context) const -> Status {
    Entry before = Part::enter(std::move(graph), artifacts);
    Cycle cycle{before};
    for (int round = 1;; ++round) {
      Context said;
      Expected<Exit> done = Part::run(passes_, before, said);
      pass_on(said, context);
      if (!done) return std::move(done.error());
      if (is_same(before, *done)) {
        context.count("rounds", round);
        if (round == 1) context.claim_unchanged();
        // NOLINTNEXTLINE(bugprone-use-after-move): the graph gets a new value
        Part::leave(*std::move(done), graph, artifacts);
        return {};
      }
      Entry behind = start_again(*std::move(done));
      if (behind == cycle.start)
        return error(before, behind,
                     text_of("round ", round, " gives back what round ", cycle.round + 1,
                             " began with: no number of rounds is enough (period ", round - cycle.round, ")"));
      if (round == Limit)
        return error(before, behind, text_of("round ", round, " is the last one allowed"));
      cycle.see(behind, round);
      before = std::move(behind);
    }
  }

 private:
  using Part = detail::Part<Repeat, P...>;
  using Entry = typename Part::Entry;
  using Exit = typename Part::Exit;

  /// Looks for a cycle with one module in hand (R. P. Brent, An improved Monte Carlo factorization algorithm,
  /// 1980): the module to come back to is changed for a later one after 2, 4, 8, ... rounds, so that it will
  /// be one of the cycle and the cycle shorter than the next change is away.
  struct Cycle {
    Entry start;
    int round = 0;  ///< whose result `start` is
    int next = 2;
    constexpr void see(const Entry& module, int now) {
      if (now != next) return;
      start = module;
      next = now + 2 * (now - round);
      round = now;
    }
  };
  [[nodiscard]] static constexpr auto start_again(Exit module) -> Entry {
    detail::slots_of<typename Exit::facts> slots;
    Graph graph = detail::ModuleMaker::take_apart(module, slots);
    return detail::ModuleMaker::make(needs(), std::move(graph), slots);
  }
  [[nodiscard]] static constexpr auto is_same(const Entry& before, const Exit& behind) -> bool {
    return before.graph() == behind.graph() && has_same_artifacts(needs(), before, behind);
  }
  template <class... F>
  [[nodiscard]] static constexpr auto has_same_artifacts(facts<F...>, const Entry& before, const Exit& behind)
      -> bool {
    return (has_same_artifact<F>(before, behind) && ...);
  }
  template <class F>
  [[nodiscard]] static constexpr auto has_same_artifact([[maybe_unused]] const Entry& before,
                                                        [[maybe_unused]] const Exit& behind) -> bool {
    if constexpr (FactWithArtifact<F>) {
      return before.template artifact<F>() == behind.template artifact<F>();
    } else {
      return true;
    }
  }
  /// At the first node that still changes. Where only artifacts do, there is none to name.
  [[nodiscard]] static constexpr auto error(const Entry& before, const Entry& behind, const Text& message)
      -> Diagnostic {
    const NodeId id = behind.graph().first_difference(before.graph());
    if (id == no_node)
      return Diagnostic::error(DiagnosticCode::no_convergence,
                               text_of(message, ", and an analysis still changes"));
    return error_at(behind.graph(), id, DiagnosticCode::no_convergence,
                    text_of(message, ", and this node still changes"));
  }
  static constexpr void pass_on(const Context& said, Context& context) {
    for (const Diagnostic& warning : said.warnings()) {
      bool is_known = false;
      for (const Diagnostic& known : context.warnings()) is_known = is_known || known == warning;
      if (!is_known) context.warn(warning);
    }
    for (const Statistic& s : said.statistics()) context.count(s.key, s.value);
    for (const Renumbering& moved : said.moves()) context.renumbered(moved);
  }

  [[no_unique_address]] Pipeline<P...> passes_;
};

namespace detail {
template <int Limit, class Passes>
struct RepeatOf;
template <int Limit, class... P>
struct RepeatOf<Limit, types<P...>> {
  using Verdict = decltype(judge_repeat<Limit, P...>());
  using type = Repeat<Limit, P...>;
};
}  // namespace detail

/// `p`, a pass or a pipeline, in at most `Limit` rounds, until one changes nothing.
template <int Limit, class T>
[[nodiscard]] constexpr auto repeat(T p) {
  using Made = detail::RepeatOf<Limit, detail::flat<T>>;
  using Verdict = typename Made::Verdict;
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok) {
    return typename Made::type(detail::PipelineMaker::make(p));
  } else {
    return Rejected();
  }
}

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that the errors of this header are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/fwd.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/pass/pass.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

/// @file
/// `optional_pass(p, on)`: a pass that an option switches on or off, when the program runs.
///
///     const auto passes = get_default_pass_manager().replace<DeviceRewriterPass>(
///         optional_pass(DeviceRewriterPass{}, options.rewrites_devices));

namespace fxpass {

template <class P>
class OptionalPass;

namespace detail {

/// The facts in `List` for which a check can stand in, or those for which none can.
template <bool Checkable, class List>
struct VouchedFor;
template <bool Checkable, class... F>
struct VouchedFor<Checkable, facts<F...>> {
  static constexpr auto chosen = [] {
    Choice<sizeof...(F)> choice;
    const std::array<FactInfo, sizeof...(F)> infos{fact_info<F>...};
    for (std::size_t i = 0; i < infos.size(); ++i)
      if (infos[i].can_be_rechecked() == Checkable) choice.index[choice.count++] = i;
    return choice;
  }();
};
template <bool Checkable, class List>
using vouched_for = typename Choose<facts, List, VouchedFor<Checkable, List>>::type;

/// Facts that a pass which keeps `Keeps` leaves true, those that it establishes among them.
template <class Keeps, class Established>
struct AlsoKeep {
  using type = Keeps;
};
template <class... K, class... E>
struct AlsoKeep<facts<K...>, facts<E...>> {
  using type = fact_set<K..., E...>;
};
template <class... K, class... E>
struct AlsoKeep<everything_but<K...>, facts<E...>> {
  struct Lost {
    static constexpr auto chosen = [] {
      Choice<sizeof...(K)> choice;
      const std::array<bool, sizeof...(K)> kept{lists<K, facts<E...>>...};
      for (std::size_t i = 0; i < kept.size(); ++i)
        if (!kept[i]) choice.index[choice.count++] = i;
      return choice;
    }();
  };
  using type = typename Choose<everything_but, facts<K...>, Lost>::type;
};

/// A pass and its switch.
template <class P>
class Switch : public P {
 public:
  using wrapped_pass = P;
  using establishes = vouched_for<true, establishes_of<P>>;
  using establishes_when_on = join<facts, vouched_for<false, establishes_of<P>>, establishes_when_on_of<P>>;
  using keeps = typename AlsoKeep<typename KeepsOf<P>::type, establishes_of<P>>::type;

  constexpr Switch(P pass, bool on) : P(std::move(pass)), on_(on) {}

  /// Whether the pass will run.
  [[nodiscard]] constexpr auto is_on() const -> bool { return on_; }
  /// The same pass, switched on or off.
  [[nodiscard]] constexpr auto switched(bool on) const -> OptionalPass<P> {
    return {static_cast<const P&>(*this), on};
  }

 protected:
  /// In place of the pass.
  [[nodiscard]] static constexpr auto check(const Graph& graph) -> Status {
    Diagnostics errors;
    for (const FactInfo& fact : fact_infos<establishes>)
      check_fact(fact, graph, errors, "the pass is switched off, and the graph is not");
    if (!errors.empty()) return errors;
    return {};
  }

 private:
  bool on_;
};

template <class P>
class SwitchedRun : public Switch<P> {
 public:
  using Switch<P>::Switch;

  constexpr auto run(Graph& graph, [[maybe_unused]] artifacts_for<P>& artifacts, Context& context) const
      -> Status {
    if (!this->is_on()) return this->check(graph);
    const P& pass = *this;
    if constexpr (LookingPass<P>) context.claim_unchanged();
    if constexpr (ArtifactPass<P>) {
      return pass.run(graph, artifacts, context);
    } else {
      return run_on_graph(pass, graph, context);
    }
  }
};

/// A forward pass stays one, so that it shares traversals.
template <class P>
class SwitchedSweep : public Switch<P> {
 public:
  using Switch<P>::Switch;
  /// None if the pass is off.
  using State = std::optional<sweep_state<P>>;

  constexpr auto begin(Graph& graph, artifacts_for<P>& artifacts, Context& context) const -> State {
    if (!this->is_on()) return std::nullopt;
    return P::begin(graph, artifacts, context);
  }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    if (!state) return {};
    return P::visit(*state, sweep);
  }
  constexpr auto finish(State& state, Graph& graph, Context& context) const -> Status {
    if (!state) return this->check(graph);
    return P::finish(*state, graph, context);
  }
};

template <class P>
struct SwitchFor {
  using type = SwitchedRun<P>;
};
template <ForwardPass P>
struct SwitchFor<P> {
  using type = SwitchedSweep<P>;
};

}  // namespace detail

/// Pass `P` with a switch. It has the name of the pass, and is in a pipeline what the pass would be there:
/// `insert_before<P>`, `replace<P>` and the like find it.
///
/// Switched on it is the pass. Switched off it leaves the graph alone, and what the pass would establish has
/// to be true already: facts that a graph shows are checked, with `fact_violated` where they are not true, so
/// that `establishes` holds either way. No check can stand in for other facts, such as an analysis: they stay
/// true if they were, and are otherwise not promised, so that a later pass which needs them does not compile.
/// Needs and forbids are those of the pass, whether or not it will run. `PassReport::skipped` tells
/// observers.
template <class P>
class OptionalPass : public detail::SwitchFor<P>::type {
 public:
  /// `pass`, switched on or off.
  constexpr OptionalPass(P pass, bool on) : detail::SwitchFor<P>::type(std::move(pass), on) {}
};

/// `pass`, if `on`: see `OptionalPass`.
template <class P>
[[nodiscard]] constexpr auto optional_pass(P pass, [[maybe_unused]] bool on) {
  using Verdict = decltype(detail::judge_pass<P>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok) {
    return OptionalPass<P>(std::move(pass), on);
  } else {
    return Rejected();
  }
}
/// Not for a pipeline as such, whose passes stand for themselves: `named<"x">(pipeline(a, b))` is a pass.
/// Its return type is deduced: to Clang the call is then no constant expression gone wrong on top of the error.
template <class... P>
[[nodiscard]] constexpr auto optional_pass(const Pipeline<P...>&, bool) {
  using Verdict = verdict::not_a_pass<Pipeline<P...>, verdict::is_a_pipeline_without_a_name,
                                      verdict::to_mend<verdict::wrap_in_named<Pipeline<P...>>>>;
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  return Rejected();
}

}  // namespace fxpass

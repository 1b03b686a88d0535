// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/pass.hpp>
#include <fxpass/pass/verdict.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// @file
/// Whether passes may run in a given order. The walk over the contracts computes with values, once for a pipeline;
/// types are made for the verdict alone.

namespace fxpass {

namespace detail {

/// Stands for a pass where it was the module, and no pass, that brought or lacked a fact.
inline constexpr std::size_t the_module = static_cast<std::size_t>(-1);

/// What is known of one fact at a point of a pipeline.
struct FactState {
  enum class Is : std::uint8_t {
    open,    ///< no pass has said anything; of a pipeline by itself, the module may bring it or not
    holds,   ///< since `by`
    lost,    ///< at `by`, whether or not it ever was true
  };
  FactInfo fact;
  Is is = Is::open;
  std::size_t by = the_module;
  bool ever_held = false;
};

/// Follows the facts through a pipeline.
class FactWalk {
 public:
  /// All facts that the walk can meet are mentioned in `contracts` or `initial`. O(passes x facts).
  constexpr FactWalk(Span<const Contract* const> contracts, Span<const FactInfo> initial)
      : contracts_(contracts) {
    for (const FactInfo& fact : initial) hold(fact, the_module);
    for (const Contract* c : contracts) {
      for (const FactInfo& fact : c->needs) state(fact);
      for (const FactInfo& fact : c->forbids) state(fact);
      for (const FactInfo& fact : c->establishes) state(fact);
    }
  }

  constexpr auto state(const FactInfo& fact) -> FactState& {
    for (FactState& s : states_)
      if (s.fact == fact) return s;
    states_.push_back({fact});
    return states_.back();
  }
  constexpr void hold(const FactInfo& fact, std::size_t by) {
    FactState& s = state(fact);
    s.is = FactState::Is::holds;
    s.by = by;
    s.ever_held = true;
  }
  [[nodiscard]] constexpr auto holds(const FactInfo& fact) -> bool { return state(fact).is == FactState::Is::holds; }

  /// Goes past pass `i`.
  constexpr void step(std::size_t i) {
    const Contract& contract = *contracts_[i];
    for (FactState& s : states_)
      if (s.is != FactState::Is::lost && !contract.keeps(s.fact)) {
        s.is = FactState::Is::lost;
        s.by = i;
      }
    for (const FactInfo& fact : contract.establishes) hold(fact, i);
  }

  [[nodiscard]] constexpr auto states() const -> Span<const FactState> { return states_.view(); }
  /// The first pass behind `i` that establishes `fact`, or `the_module` if none does.
  [[nodiscard]] constexpr auto established_behind(std::size_t i, const FactInfo& fact) const -> std::size_t {
    for (std::size_t later = i + 1; later < contracts_.size(); ++later)
      if (Contract::lists(contracts_[later]->establishes, fact)) return later;
    return the_module;
  }

  /// The last pass before `i` that establishes `fact` if it is switched on, or `the_module` if none does.
  [[nodiscard]] constexpr auto established_when_on_before(std::size_t i, const FactInfo& fact) const -> std::size_t {
    while (i-- > 0)
      if (Contract::lists(contracts_[i]->establishes_when_on, fact)) return i;
    return the_module;
  }

 private:
  Span<const Contract* const> contracts_;
  Pool<FactState> states_;
};

enum class Fault : std::uint8_t {
  none,
  established_later,    ///< a need is met by a later pass
  only_when_on,         ///< a need is met by an earlier pass that may be switched off
  lost,                 ///< a need was met until a pass lost it
  would_be_lost,        ///< no pass meets a need, and a pass would lose what the module brings
  missing,              ///< a need is met neither by a pass nor by the module
  established_before,   ///< a forbidden fact is true because of an earlier pass
  true_of_module,       ///< a forbidden fact is true of the module
  same_name,
};
/// What would put a wrong order right.
enum class Mend : std::uint8_t {
  move_pass,     ///< to the other side of the culprit
  move_culprit,  ///< to the other side of the pass
  none,          ///< neither
};
/// What is wrong first.
struct Finding {
  Fault fault = Fault::none;
  std::size_t pass = 0;     ///< whose contract is broken
  std::size_t fact = 0;     ///< which of its needs, or of what it forbids
  std::size_t culprit = 0;  ///< the other pass
  Mend mend = Mend::none;   ///< of a wrong order
};

/// The module a pipeline meets: none yet, or one with known facts.
struct ModuleMet {
  bool has_module = false;
  Span<const FactInfo> facts;
};

/// The first pass that has the name of an earlier one. Expected O(passes): to compare each name with each would be most
/// of the steps that judging an order takes.
[[nodiscard]] constexpr auto find_namesake(Span<const Contract* const> contracts) -> Finding {
  IdTable names;
  for (std::uint32_t i = 0; i < contracts.size(); ++i) {
    const std::string_view name = contracts[i]->name;
    const std::uint64_t hashed = hash(name);
    const std::uint32_t k = names.find(hashed, [&](std::uint32_t id) { return contracts[id]->name == name; });
    if (k != IdTable::absent) return {Fault::same_name, i, 0, k};
    names.insert(hashed, i);
  }
  return {};
}

/// O(passes x facts).
[[nodiscard]] constexpr auto find_fault(Span<const Contract* const> contracts, ModuleMet met)
    -> Finding {
  if (const Finding namesake = find_namesake(contracts); namesake.fault != Fault::none) return namesake;
  FactWalk walk(contracts, met.facts);
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    const Contract& contract = *contracts[i];
    for (std::size_t n = 0; n < contract.needs.size(); ++n) {
      const FactInfo& fact = contract.needs[n];
      const FactState state = walk.state(fact);
      if (state.is == FactState::Is::holds) continue;
      const std::size_t later = walk.established_behind(i, fact);
      if (later != the_module && !state.ever_held) return {Fault::established_later, i, n, later};
      if (state.is == FactState::Is::lost && state.ever_held) return {Fault::lost, i, n, state.by};
      if (state.is == FactState::Is::lost && !met.has_module) return {Fault::would_be_lost, i, n, state.by};
      if (const std::size_t optional = walk.established_when_on_before(i, fact); optional != the_module)
        return {Fault::only_when_on, i, n, optional};
      if (met.has_module) return {Fault::missing, i, n, the_module};
      walk.hold(fact, the_module);
    }
    for (std::size_t n = 0; n < contract.forbids.size(); ++n) {
      const FactState state = walk.state(contract.forbids[n]);
      if (state.is != FactState::Is::holds) continue;
      if (state.by != the_module) return {Fault::established_before, i, n, state.by};
      if (met.has_module) return {Fault::true_of_module, i, n, the_module};
    }
    walk.step(i);
  }
  return {};
}

/// Whether it mends what was found if pass `from` goes to the place of pass `to`: the two are right then, and
/// the passes that were right stay so. Those behind the pass that was found to be wrong have not been looked
/// at, and may be wrong.
[[nodiscard]] constexpr auto is_mended_by_move(Span<const Contract* const> contracts, ModuleMet met,
                                               const Finding& found, std::size_t from, std::size_t to) -> bool {
  // Passes by their places, since g++ 12 under -fsanitize=undefined compares no pointers in constants.
  Pool<std::size_t> order;
  for (std::size_t i = 0; i < contracts.size(); ++i)
    if (i != from) order.push_back(i);
  Pool<const Contract*> moved;
  for (std::size_t place = 0, rest = 0; place < contracts.size(); ++place)
    moved.push_back(contracts[place == to ? from : order.view()[rest++]]);
  const Finding left = find_fault(moved.view(), met);
  if (left.fault == Fault::none) return true;
  if (left.pass == to) return false;
  const std::size_t wrong = order.view()[left.pass < to ? left.pass : left.pass - 1];
  return wrong > found.pass && wrong != found.culprit;
}
/// What is wrong first, and which move mends it: a mend that leads to another error is none.
[[nodiscard]] constexpr auto find_fault_and_mend(Span<const Contract* const> contracts, ModuleMet met) -> Finding {
  Finding found = find_fault(contracts, met);
  if (found.fault != Fault::established_later && found.fault != Fault::lost &&
      found.fault != Fault::established_before)
    return found;
  const bool pass_can_move = is_mended_by_move(contracts, met, found, found.pass, found.culprit);
  const bool culprit_can_move = is_mended_by_move(contracts, met, found, found.culprit, found.pass);
  // The nearer move first: to bring what is needed, or to go before it is lost.
  const bool culprit_first = found.fault == Fault::established_later;
  if (culprit_can_move && (culprit_first || !pass_can_move))
    found.mend = Mend::move_culprit;
  else if (pass_can_move)
    found.mend = Mend::move_pass;
  return found;
}

/// The contracts of a list of passes.
template <class... P>
inline constexpr std::array<const Contract*, sizeof...(P)> contracts_of{&contract_of<P>...};

/// The mend of a wrong order. The pass has to run before the culprit if it is early, else behind it.
template <Mend M, bool PassIsEarly, class Pass, class Culprit>
[[nodiscard]] consteval auto word_mend() {
  using namespace verdict;
  if constexpr (M == Mend::none)
    return std::type_identity<to_mend<leave_out<Pass>>>();
  else if constexpr (M == Mend::move_pass && PassIsEarly)
    return std::type_identity<to_mend<move<Pass>, before<Culprit>>>();
  else if constexpr (M == Mend::move_pass)
    return std::type_identity<to_mend<move<Pass>, after<Culprit>>>();
  else if constexpr (PassIsEarly)
    return std::type_identity<to_mend<move<Culprit>, after<Pass>>>();
  else
    return std::type_identity<to_mend<move<Culprit>, before<Pass>>>();
}
template <Mend M, bool PassIsEarly, class Pass, class Culprit>
using mend_of_order = typename decltype(word_mend<M, PassIsEarly, Pass, Culprit>())::type;

/// The sentence for a finding.
template <Finding F, class... P>
[[nodiscard]] consteval auto word_finding() {
  using namespace verdict;
  using Passes = types<P...>;
  if constexpr (F.fault == Fault::none) {
    return in_order();
  } else if constexpr (F.fault == Fault::same_name) {
    using Pass = at<F.pass, Passes>;
    return duplicate_pass<pass<Pass>, has_the_name_of<at<F.culprit, Passes>>, to_mend<wrap_in_named<Pass>>>();
  } else if constexpr (F.fault == Fault::true_of_module) {
    using Pass = at<F.pass, Passes>;
    return forbidden_fact<pass<Pass>, forbids<at<F.fact, forbids_of<Pass>>>, is_true_of_the_module,
                          to_mend<leave_out<Pass>>>();
  } else if constexpr (F.fault == Fault::established_before) {
    using Pass = at<F.pass, Passes>;
    using Culprit = at<F.culprit, Passes>;
    return wrong_pass_order<pass<Pass>, forbids<at<F.fact, forbids_of<Pass>>>, was_established_by<Culprit>,
                            mend_of_order<F.mend, true, Pass, Culprit>>();
  } else if constexpr (F.fault == Fault::missing) {
    using Pass = at<F.pass, Passes>;
    using Needed = at<F.fact, needs_of<Pass>>;
    return missing_fact<pass<Pass>, needs<Needed>, is_not_true_of_the_module, mend_missing_of<Needed, Pass>>();
  } else {
    using Pass = at<F.pass, Passes>;
    using Needed = at<F.fact, needs_of<Pass>>;
    using Culprit = at<F.culprit, Passes>;
    using Wrapped = typename ProtocolOf<Culprit>::type;
    if constexpr (F.fault == Fault::established_later)
      return wrong_pass_order<pass<Pass>, needs<Needed>, is_established_later_by<Culprit>,
                              mend_of_order<F.mend, false, Pass, Culprit>>();
    else if constexpr (F.fault == Fault::only_when_on)
      return wrong_pass_order<pass<Pass>, needs<Needed>, is_established_only_when_on<Wrapped>,
                              to_mend<take_out_of_optional_pass<Wrapped>>>();
    else if constexpr (F.fault == Fault::would_be_lost)
      return wrong_pass_order<pass<Pass>, needs<Needed>, would_be_lost_by<Culprit>,
                              mend_missing_of<Needed, Pass>>();
    else if constexpr (contract_of<Culprit>.keeping == Keeping::undeclared)
      return wrong_pass_order<pass<Pass>, needs<Needed>, was_lost_by<Culprit>,
                              to_mend<declare_keeps<Needed>, in<Culprit>>>();
    else
      return wrong_pass_order<pass<Pass>, needs<Needed>, was_lost_by<Culprit>,
                              mend_of_order<F.mend, true, Pass, Culprit>>();
  }
}

/// The first of `P` that is no pass, as a verdict.
template <class... P>
[[nodiscard]] consteval auto judge_passes() {
  constexpr std::size_t bad = [] {
    const std::array<bool, sizeof...(P)> ok{FXPass<P>...};
    std::size_t i = 0;
    while (i < ok.size() && ok[i]) ++i;
    return i;
  }();
  if constexpr (bad == sizeof...(P)) {
    return verdict::in_order();
  } else {
    return judge_pass<at<bad, types<P...>>>();
  }
}

template <class... P>
[[nodiscard]] consteval auto judge_order() {
  using Passes = decltype(judge_passes<P...>());
  if constexpr (!Passes::ok) {
    return Passes();
  } else {
    return word_finding<find_fault_and_mend(contracts_of<P...>, ModuleMet()), P...>();
  }
}
template <class Facts, class... P>
[[nodiscard]] consteval auto judge_meeting() {
  using Passes = decltype(judge_passes<P...>());
  if constexpr (!Passes::ok) {
    return Passes();
  } else {
    return word_finding<find_fault_and_mend(contracts_of<P...>, ModuleMet{true, fact_infos<Facts>}), P...>();
  }
}

/// The contract that passes have together, if their order is right.
template <class... P>
struct JointContract {
  using AllNeeds = join<facts, needs_of<P>...>;
  using AllForbidden = join<facts, forbids_of<P>...>;
  using AllEstablished = join<facts, establishes_of<P>...>;
  template <class... Lists>
  using JoinLists = join<facts, Lists...>;
  using AllListed = JoinLists<listed_of<P>...>;
  using AllEstablishedWhenOn = join<facts, establishes_when_on_of<P>...>;

  /// Needs that the module has to meet: no pass before has said anything of them.
  struct OpenNeeds {
    static constexpr auto chosen = [] {
      Choice<size_of<AllNeeds>> choice;
      FactWalk walk(contracts_of<P...>, {});
      std::size_t flat = 0;
      for (std::size_t i = 0; i < sizeof...(P); ++i) {
        for (const FactInfo& fact : contracts_of<P...>[i]->needs) {
          if (!walk.holds(fact)) {
            choice.index[choice.count++] = flat;
            walk.hold(fact, the_module);
          }
          ++flat;
        }
        walk.step(i);
      }
      return choice;
    }();
  };
  struct OpenForbidden {
    static constexpr auto chosen = [] {
      Choice<size_of<AllForbidden>> choice;
      FactWalk walk(contracts_of<P...>, {});
      std::size_t flat = 0;
      for (std::size_t i = 0; i < sizeof...(P); ++i) {
        for (const FactInfo& fact : contracts_of<P...>[i]->forbids) {
          if (walk.state(fact).is == FactState::Is::open) choice.index[choice.count++] = flat;
          ++flat;
        }
        walk.step(i);
      }
      return choice;
    }();
  };
  struct Established {
    static constexpr auto chosen = [] {
      Choice<size_of<AllEstablished>> choice;
      FactWalk walk(contracts_of<P...>, {});
      for (std::size_t i = 0; i < sizeof...(P); ++i) walk.step(i);
      for (std::size_t i = 0; i < size_of<AllEstablished>; ++i)
        if (walk.holds(fact_infos<AllEstablished>[i])) choice.index[choice.count++] = i;
      return choice;
    }();
  };

  static constexpr bool all_declare = ((contract_of<P>.keeping != Keeping::undeclared) && ...);
  static constexpr bool all_but = ((contract_of<P>.keeping == Keeping::everything_but) && ...);
  /// Of the facts that the passes list, those that matter: lost by some pass, or kept by every one.
  struct Listed {
    static constexpr auto chosen = [] {
      Choice<size_of<AllListed>> choice;
      for (std::size_t i = 0; i < size_of<AllListed>; ++i) {
        const bool is_kept = (contract_of<P>.keeps(fact_infos<AllListed>[i]) && ...);
        if (is_kept != all_but) choice.index[choice.count++] = i;
      }
      return choice;
    }();
  };
  template <class List, class Chooser>
  using Chosen = typename FactSet<typename Choose<facts, List, Chooser>::type>::type;

  using needs = Chosen<AllNeeds, OpenNeeds>;
  using forbids = Chosen<AllForbidden, OpenForbidden>;
  using establishes = Chosen<AllEstablished, Established>;
  using listed = Chosen<AllListed, Listed>;
  using keeps = std::conditional_t<!all_declare, undeclared,
                                   std::conditional_t<all_but, join<everything_but, listed>, listed>>;

  struct EstablishedWhenOn {
    static constexpr auto chosen = [] {
      Choice<size_of<AllEstablishedWhenOn>> choice;
      for (std::size_t i = 0; i < size_of<AllEstablishedWhenOn>; ++i)
        if (!Contract::lists(fact_infos<establishes>, fact_infos<AllEstablishedWhenOn>[i]))
          choice.index[choice.count++] = i;
      return choice;
    }();
  };
  using establishes_when_on = Chosen<AllEstablishedWhenOn, EstablishedWhenOn>;
};

}  // namespace detail

/// The verdict on passes in this order, whatever module they meet.
template <class... P>
using order_verdict = decltype(detail::judge_order<P...>());
/// The verdict on passes in this order that meet a module of which `Facts`, a `facts<...>`, are true.
template <class Facts, class... P>
using meeting_verdict = decltype(detail::judge_meeting<Facts, P...>());

}  // namespace fxpass

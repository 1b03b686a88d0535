// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that the errors of this header are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/pass/pipeline.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

/// @file
/// `auto_order(a, b, ...)`: the pipeline of these passes in an order that their contracts allow, found by the
/// compiler.

namespace fxpass {

/// As many passes can be put in order, and as many facts that some of them need or forbid.
inline constexpr std::size_t auto_order_limit = 64;
/// Where passes are in each other's way, so many starts of an order are looked at, times the passes. With
/// this, the worst that 64 passes can do stays within Clang's limit of steps for a constant expression.
inline constexpr std::size_t auto_order_effort = 4096;

namespace detail {

/// Why one pass has to run after another.
enum class AfterBecause : std::uint8_t {
  establishes,  ///< the other establishes a fact that this one needs, and nobody else can before this one
  needs,        ///< the other needs a fact that this one loses
  forbids,      ///< the other forbids a fact that this one establishes
  loses,        ///< the other loses a fact that this one establishes for a third
};
/// Pass `pass` has to run after `other`, because of a fact.
struct MustFollow {
  std::size_t pass = 0;
  std::size_t other = 0;
  AfterBecause because = AfterBecause::establishes;
  std::size_t fact = 0;  ///< index among the facts that matter
  std::size_t third = 0;  ///< who needs the fact that `other` loses

  [[nodiscard]] constexpr auto is_for_loss() const -> bool {
    return because == AfterBecause::needs || because == AfterBecause::loses;
  }
  /// The one of the two that loses the fact, if it is for loss.
  [[nodiscard]] constexpr auto loser() const -> std::size_t {
    return because == AfterBecause::needs ? pass : other;
  }
};

/// Sets of passes, and of facts, by index.
using Bits = std::uint64_t;
[[nodiscard]] constexpr auto bit(std::size_t i) -> Bits { return Bits{1} << i; }

/// The search for an order of passes, over their contracts as values. A fact matters if some pass needs or
/// forbids it; the rules are those of `find_fault` for a pipeline that has not met a module.
class OrderSearch {
 public:
  /// How far an order has come.
  struct State {
    Bits placed = 0;     ///< passes
    Bits open = 0;       ///< facts of which no pass has said anything: the module may bring them
    Bits held = 0;       ///< facts that are true
    Bits by_passes = 0;  ///< those of them that a pass established
    Bits doubtful = 0;   ///< facts that an optional pass establishes, if it is on
  };

  /// O(passes x facts).
  constexpr explicit OrderSearch(Span<const Contract* const> contracts) : contracts_(contracts) {
    for (const Contract* c : contracts) {
      for (const FactInfo& fact : c->needs) index_of(fact);
      for (const FactInfo& fact : c->forbids) index_of(fact);
    }
    if (!is_small_enough()) return;
    for (const Contract* c : contracts) {
      Rules r;
      for (const FactInfo& fact : c->needs) r.needs |= bit(index_of(fact));
      for (const FactInfo& fact : c->forbids) r.forbids |= bit(index_of(fact));
      for (std::uint32_t f = 0; f < facts_.size(); ++f) {
        if (Contract::lists(c->establishes, facts_[f]))
          r.establishes |= bit(f);
        else if (!c->keeps(facts_[f]))
          r.loses |= bit(f);
        if (Contract::lists(c->establishes_when_on, facts_[f])) r.doubts |= bit(f);
      }
      rules_.push_back(r);
    }
    for (std::uint32_t p = 0; p < rules_.size(); ++p)
      for (std::uint32_t q = 0; q < rules_.size(); ++q)
        if (q != p) rules_[p].established_by_others |= rules_[q].establishes;
    for (const Rules& r : rules_) from_module_ |= r.needs & ~r.established_by_others;
  }

  [[nodiscard]] constexpr auto is_small_enough() const -> bool {
    return contracts_.size() <= auto_order_limit && facts_.size() <= auto_order_limit;
  }
  [[nodiscard]] constexpr auto start() const -> State { return {0, all(facts_.size()), 0, 0, 0}; }
  [[nodiscard]] constexpr auto is_done(const State& s) const -> bool {
    return s.placed == all(rules_.size());
  }

  /// Whether pass `p` may run next.
  [[nodiscard]] constexpr auto can_run(const State& s, std::size_t p) const -> bool {
    const Rules& r = rules_[static_cast<std::uint32_t>(p)];
    return (s.placed & bit(p)) == 0 && lacks(s, p) == 0 && (r.forbids & s.by_passes) == 0;
  }
  /// What is true behind pass `p`, if it can run.
  [[nodiscard]] constexpr auto step(State s, std::size_t p) const -> State {
    const Rules& r = rules_[static_cast<std::uint32_t>(p)];
    s.placed |= bit(p);
    s.held = ((s.held | r.needs) & ~r.loses) | r.establishes;
    s.by_passes = (s.by_passes & ~r.loses) | r.establishes;
    s.open &= ~(r.needs | r.loses | r.establishes);
    s.doubtful |= r.doubts;
    return s;
  }

  /// The legal order that comes first alphabetically, a pass being a letter and the order given the alphabet:
  /// an order that is legal is kept. None if there is none.
  ///
  /// Takes the first pass that can run, again and again: O(passes^2) where that leads to the end. Where it
  /// does not, the search is complete, and exponential only in the number of passes that are in each other's
  /// way; it gives up when that takes more than `auto_order_effort`.
  [[nodiscard]] constexpr auto find() -> std::optional<Pool<std::uint32_t>> {
    Pool<std::uint32_t> order;
    if (!is_small_enough()) return std::nullopt;
    State s = start();
    while (const std::optional<std::uint32_t> next = first_that_can_run(s)) {
      order.push_back(*next);
      s = step(s, *next);
    }
    if (is_done(s)) return order;
    find_cycle();
    if (!cycle_.empty()) return std::nullopt;
    if (!has_end(start())) {
      run_to_dead_end();
      return std::nullopt;
    }
    s = start();
    for (std::uint32_t i = 0; i < rules_.size(); ++i) {
      // `longest_path_` is an order, and the first `i` passes of it are those of the order looked for.
      path_ = longest_path_;
      path_.resize(i);
      for (std::uint32_t p = 0; p < longest_path_[i]; ++p)
        if (can_run(s, p) && has_end_behind(s, p)) break;
      s = step(s, longest_path_[i]);
    }
    return longest_path_;
  }

  // Behind a `find` that found none: why. -------------------------------------------------------------------

  /// Whether that is because it gave up.
  [[nodiscard]] constexpr auto gave_up() const -> bool { return effort_ >= auto_order_effort; }
  /// A shortest cycle of passes that each have to follow the next one. Empty if there is none.
  [[nodiscard]] constexpr auto cycle() const -> Span<const MustFollow> { return cycle_.view(); }
  /// The longest start of an order that was come across, brought to where a pass cannot follow.
  [[nodiscard]] constexpr auto longest() const -> Span<const std::uint32_t> {
    return longest_path_.view();
  }
  /// A pass that cannot run behind `longest()`; one that never can, if there is one.
  struct DeadEnd {
    std::uint32_t pass = 0;
    std::uint32_t fact = 0;
    bool is_needed = false;  ///< and not true; otherwise the fact is true, and the pass forbids it
    bool is_ahead = false;   ///< needed, and established by passes that cannot run either
  };
  [[nodiscard]] constexpr auto dead_end() const -> DeadEnd {
    const Ahead others = ahead(longest_);
    for (std::uint32_t p = 0; p < rules_.size(); ++p)
      if (const Bits needed = hopeless_needs(longest_, p, others); needed != 0)
        return {p, lowest(needed), true, false};
      else if (const Bits forbidden = hopeless_forbids(longest_, p, others); forbidden != 0)
        return {p, lowest(forbidden), false, false};
    for (std::uint32_t p = 0; p < rules_.size(); ++p) {
      if ((longest_.placed & bit(p)) != 0) continue;
      if (const Bits lacking = lacks(longest_, p); lacking != 0) {
        Bits established = 0;
        for (const std::uint32_t q : longest_path_) established |= rules_[q].establishes;
        return {p, lowest(lacking), true, (established & bit(lowest(lacking))) == 0};
      }
      return {p, lowest(rules_[p].forbids & longest_.by_passes), false, false};
    }
    return {};
  }
  [[nodiscard]] constexpr auto fact(std::size_t i) const -> const FactInfo& {
    return facts_[static_cast<std::uint32_t>(i)];
  }

 private:
  /// A contract, of the facts that matter.
  struct Rules {
    Bits needs = 0;
    Bits forbids = 0;
    Bits establishes = 0;
    Bits loses = 0;
    Bits doubts = 0;  ///< establishes, if it is on
    Bits established_by_others = 0;
  };
  /// Facts of which some of several passes say something: at least one of them, and at least two.
  struct Tally {
    Bits once = 0;
    Bits twice = 0;
    constexpr void add(Bits bits) {
      twice |= once & bits;
      once |= bits;
    }
    /// Those of which a pass says something that is not the one that says `bits`.
    [[nodiscard]] constexpr auto without(Bits bits) const -> Bits { return (once & ~bits) | twice; }
  };
  /// What the passes that are not placed yet say.
  struct Ahead {
    Tally needs;
    Tally forbids;
    Tally establishes;
    Tally loses;
  };

  [[nodiscard]] static constexpr auto all(std::size_t count) -> Bits {
    return count == 0 ? 0 : ~Bits{0} >> (64 - count);
  }
  [[nodiscard]] static constexpr auto lowest(Bits bits) -> std::uint32_t {
    return static_cast<std::uint32_t>(std::countr_zero(bits));
  }
  constexpr auto index_of(const FactInfo& fact) -> std::uint32_t {
    for (std::uint32_t i = 0; i < facts_.size(); ++i)
      if (facts_[i] == fact) return i;
    return facts_.push_back(fact);
  }
  [[nodiscard]] constexpr auto first_that_can_run(const State& s) const -> std::optional<std::uint32_t> {
    for (std::uint32_t p = 0; p < rules_.size(); ++p)
      if (can_run(s, p)) return p;
    return std::nullopt;
  }

  /// What pass `p` needs and could not have now. What is open and no other pass establishes, the module has
  /// to bring.
  [[nodiscard]] constexpr auto lacks(const State& s, std::size_t p) const -> Bits {
    const Rules& r = rules_[static_cast<std::uint32_t>(p)];
    return r.needs & ~s.held & ~(s.open & ~s.doubtful & ~r.established_by_others);
  }
  [[nodiscard]] constexpr auto ahead(const State& s) const -> Ahead {
    Ahead result;
    for (std::uint32_t p = 0; p < rules_.size(); ++p) {
      if ((s.placed & bit(p)) != 0) continue;
      result.needs.add(rules_[p].needs);
      result.forbids.add(rules_[p].forbids);
      result.establishes.add(rules_[p].establishes);
      result.loses.add(rules_[p].loses);
    }
    return result;
  }
  /// What pass `p`, not placed yet, lacks and no pass ahead establishes.
  [[nodiscard]] constexpr auto hopeless_needs(const State& s, std::uint32_t p, const Ahead& others) const
      -> Bits {
    return (s.placed & bit(p)) != 0 ? 0 : lacks(s, p) & ~others.establishes.without(rules_[p].establishes);
  }
  /// What it forbids, is true, and no pass ahead loses.
  [[nodiscard]] constexpr auto hopeless_forbids(const State& s, std::uint32_t p, const Ahead& others) const
      -> Bits {
    return (s.placed & bit(p)) != 0
               ? 0
               : rules_[p].forbids & s.by_passes & ~others.loses.without(rules_[p].loses);
  }
  /// Whether some pass can no longer run, whatever comes first.
  [[nodiscard]] constexpr auto is_hopeless(const State& s, const Ahead& others) const -> bool {
    for (std::uint32_t p = 0; p < rules_.size(); ++p)
      if (hopeless_needs(s, p, others) != 0 || hopeless_forbids(s, p, others) != 0) return true;
    return false;
  }
  /// Whether some of the passes ahead bar the way to each other. A pass bars those that lose what it needs
  /// and will not get again, and those that establish what it forbids and nobody loses: until it has run
  /// itself.
  [[nodiscard]] constexpr auto has_deadlock(const State& s, const Ahead& others) const -> bool {
    const auto saves = [&](const Rules& r) {
      return r.needs & (s.held | (s.open & ~r.established_by_others)) &
             ~others.establishes.without(r.establishes);
    };
    const auto guards = [&](const Rules& r) { return r.forbids & ~others.loses.without(r.loses); };
    Bits barred = all(rules_.size()) & ~s.placed;
    for (Bits before = 0; barred != before;) {
      before = barred;
      Tally saved;
      Tally guarded;
      for (std::uint32_t p = 0; p < rules_.size(); ++p)
        if ((barred & bit(p)) != 0) {
          saved.add(saves(rules_[p]));
          guarded.add(guards(rules_[p]));
        }
      for (std::uint32_t p = 0; p < rules_.size(); ++p) {
        const Rules& r = rules_[p];
        if ((r.loses & saved.without(saves(r))) == 0 && (r.establishes & guarded.without(guards(r))) == 0)
          barred &= ~bit(p);
      }
    }
    return barred != 0;
  }
  /// Whether to run pass `p`, which can run, is never wrong: any order to the end is as good with `p` in
  /// front. It is, if `p` takes nothing from the others, and gives them nothing too early.
  [[nodiscard]] constexpr auto is_safe(const State& s, std::uint32_t p, const Ahead& others) const -> bool {
    const Rules& r = rules_[p];
    const Bits needed = others.needs.without(r.needs);
    const Bits forbidden = others.forbids.without(r.forbids);
    return (r.loses & needed & (s.held | (s.open & from_module_))) == 0 &&
           (r.doubts & needed & s.open & from_module_) == 0 &&
           (r.loses & forbidden & others.establishes.without(r.establishes)) == 0 &&
           (r.establishes & forbidden) == 0 && (r.establishes & needed & others.loses.without(r.loses)) == 0;
  }
  /// Whether an order that has come to `s`, by way of the passes in `path_`, can be brought to its end: if
  /// so, it is `longest_path_`.
  constexpr auto has_end(State s) -> bool {
    for (;;) {
      if (gave_up()) return false;
      effort_ += rules_.size();
      if (path_.size() > longest_path_.size() || path_.empty() || is_done(s)) {
        longest_ = s;
        longest_path_ = path_;
      }
      if (is_done(s)) return true;
      const Ahead others = ahead(s);
      if (is_hopeless(s, others) || has_deadlock(s, others)) return false;
      std::uint32_t p = 0;
      while (p < rules_.size() && !(can_run(s, p) && is_safe(s, p, others))) ++p;
      if (p == rules_.size()) break;
      s = step(s, p);
      path_.push_back(p);
    }
    for (const State& known : dead_ends_)
      if (known.placed == s.placed && known.held == s.held && known.by_passes == s.by_passes) return false;
    for (std::uint32_t p = 0; p < rules_.size(); ++p)
      if (can_run(s, p) && has_end_behind(s, p)) return true;
    dead_ends_.push_back(s);  // what is open depends on who is placed alone
    return false;
  }
  /// Goes on from the longest start until a pass has lost hope, or none can run. Deadlocks are foreseen
  /// before that.
  constexpr void run_to_dead_end() {
    while (!is_hopeless(longest_, ahead(longest_))) {
      const std::optional<std::uint32_t> next = first_that_can_run(longest_);
      if (!next) return;
      longest_ = step(longest_, *next);
      longest_path_.push_back(*next);
    }
  }
  constexpr auto has_end_behind(const State& s, std::uint32_t p) -> bool {
    const std::uint32_t length = path_.size();
    path_.push_back(p);
    const bool result = has_end(step(s, p));
    path_.resize(length);
    return result;
  }

  // Who has to follow whom ----------------------------------------------------------------------------------

  constexpr void add(const MustFollow& reason) {
    Bits& known = directly_after_[static_cast<std::uint32_t>(reason.pass)];
    if ((known & bit(reason.other)) != 0) return;
    known |= bit(reason.other);
    reasons_.push_back(reason);
  }
  /// `after_` from `directly_after_`: who has to follow whom by way of others, too.
  constexpr void close() {
    after_ = directly_after_;
    for (std::uint32_t k = 0; k < after_.size(); ++k)
      for (Bits& row : after_)
        if ((row & bit(k)) != 0) row |= after_[k];
  }
  /// The passes that `tell` picks, as a set.
  template <class Tell>
  [[nodiscard]] constexpr auto who(Tell tell) const -> Bits {
    Bits result = 0;
    for (std::uint32_t p = 0; p < rules_.size(); ++p)
      if (tell(rules_[p])) result |= bit(p);
    return result;
  }
  /// What follows from pass `p` and fact `f`, and from what is known of the order so far: `for_third` is what
  /// a third pass is concerned in.
  constexpr void reason_about(std::uint32_t p, std::uint32_t f, bool for_third) {
    const Bits establishers = who([&](const Rules& r) { return (r.establishes & bit(f)) != 0; }) & ~bit(p);
    const Bits losers = who([&](const Rules& r) { return (r.loses & bit(f)) != 0; }) & ~bit(p);
    if ((rules_[p].needs & bit(f)) != 0) {
      // Those that have to run behind the pass are no help to it. If all have to, the contradiction is
      // complete.
      Bits helpers = establishers;
      for (std::uint32_t e = 0; e < rules_.size(); ++e)
        if ((after_[e] & bit(p)) != 0) helpers &= ~bit(e);
      if (helpers == 0) helpers = establishers & (~establishers + 1);
      const bool has_one = std::has_single_bit(helpers);
      const std::uint32_t e = lowest(helpers);
      if (has_one) add({p, e, AfterBecause::establishes, f});
      for (std::uint32_t l = 0; l < rules_.size(); ++l) {
        if ((losers & bit(l)) == 0) continue;
        // Not between the two: behind the one that needs the fact, or before the one that establishes it.
        if (establishers == 0 || (has_one && (after_[l] & bit(e)) != 0)) add({l, p, AfterBecause::needs, f});
        if (for_third && has_one && (after_[p] & bit(l)) != 0) add({e, l, AfterBecause::loses, f, p});
      }
    }
    if ((rules_[p].forbids & bit(f)) != 0)
      for (std::uint32_t e = 0; e < rules_.size(); ++e) {
        if ((establishers & bit(e)) == 0) continue;
        // Unless a third pass may lose the fact between the two.
        Bits between = losers & ~after_[e];
        for (std::uint32_t l = 0; l < rules_.size(); ++l)
          if ((after_[l] & bit(p)) != 0) between &= ~bit(l);
        if (between == 0) add({e, p, AfterBecause::forbids, f});
      }
  }
  /// Draws conclusions until there are no more, or some of them contradict each other; those that concern a
  /// third pass when there are no others, for they are the hardest to explain.
  constexpr void find_cycle() {
    directly_after_.resize(rules_.size(), 0);
    bool for_third = false;
    for (;;) {
      const std::uint32_t known = reasons_.size();
      close();
      for (std::uint32_t p = 0; p < rules_.size(); ++p)
        if ((after_[p] & bit(p)) != 0) return take_shortest_cycle();
      for (std::uint32_t p = 0; p < rules_.size(); ++p)
        for (std::uint32_t f = 0; f < facts_.size(); ++f)
          if (((rules_[p].needs | rules_[p].forbids) & bit(f)) != 0) reason_about(p, f, for_third);
      if (reasons_.size() == known && for_third) return;
      for_third = reasons_.size() == known;
    }
  }
  constexpr void take_shortest_cycle() {
    for (std::uint32_t p = 0; p < rules_.size(); ++p) {
      const Pool<MustFollow> found = cycle_through(p);
      if (!found.empty() && (cycle_.empty() || found.size() < cycle_.size())) cycle_ = found;
    }
  }
  /// A shortest way from `start` along `reasons_` back to it: breadth first.
  [[nodiscard]] constexpr auto cycle_through(std::uint32_t start) const -> Pool<MustFollow> {
    Pool<std::uint32_t> reached_by;  // which reason led to a pass
    reached_by.resize(rules_.size(), no_reason);
    Pool<std::uint32_t> queue;
    queue.push_back(start);
    for (std::uint32_t next = 0; next < queue.size() && reached_by[start] == no_reason; ++next)
      for (std::uint32_t r = 0; r < reasons_.size(); ++r) {
        const auto other = static_cast<std::uint32_t>(reasons_[r].other);
        if (reasons_[r].pass != queue[next] || reached_by[other] != no_reason) continue;
        reached_by[other] = r;
        queue.push_back(other);
      }
    Pool<MustFollow> backwards;
    for (std::size_t p = start; reached_by[start] != no_reason && (backwards.empty() || p != start);) {
      backwards.push_back(reasons_[reached_by[static_cast<std::uint32_t>(p)]]);
      p = backwards.back().pass;
    }
    Pool<MustFollow> result;
    for (std::uint32_t i = backwards.size(); i > 0; --i) result.push_back(backwards[i - 1]);
    return result;
  }
  static constexpr std::uint32_t no_reason = ~std::uint32_t{0};

  Span<const Contract* const> contracts_;
  Pool<FactInfo> facts_;  ///< that matter
  Pool<Rules> rules_;
  Bits from_module_ = 0;  ///< facts that some pass needs and no other establishes
  std::size_t effort_ = 0;
  Pool<State> dead_ends_;
  State longest_;
  Pool<std::uint32_t> longest_path_;
  Pool<std::uint32_t> path_;
  Pool<MustFollow> reasons_;
  Pool<Bits> directly_after_;
  Pool<Bits> after_;
  Pool<MustFollow> cycle_;
};

}  // namespace detail

/// A legal order of passes that have these contracts: indices into `contracts`. None if there is none, if
/// there are more than `auto_order_limit` passes, or facts that some pass needs or forbids, or if
/// `auto_order_effort` was in vain.
///
/// Of the legal orders it is the one that comes first if passes are compared in the order given, which is
/// thus kept where it is legal; if the effort is spent before that is certain, it is another one. O(passes x
/// facts + passes^2) where taking the first pass that can run always leads to the end; otherwise exponential,
/// in the number of passes that are in each other's way alone.
[[nodiscard]] constexpr auto find_legal_order(Span<const Contract* const> contracts)
    -> std::optional<Pool<std::uint32_t>> {
  if (detail::find_namesake(contracts).fault != detail::Fault::none) return std::nullopt;
  return detail::OrderSearch(contracts).find();
}

namespace detail {
template <class Visitor>
constexpr void visit_orders(const OrderSearch& search, const OrderSearch::State& state,
                            Pool<std::uint32_t>& path, std::uint32_t count, Visitor& visit) {
  if (path.size() == count) return static_cast<void>(visit(path.view()));
  for (std::uint32_t p = 0; p < count; ++p) {
    if (!search.can_run(state, p)) continue;
    path.push_back(p);
    visit_orders(search, search.step(state, p), path, count, visit);
    path.resize(path.size() - 1);
  }
}
}  // namespace detail

/// Calls `visit(Span<const std::uint32_t>)` for each legal order of passes that have these contracts, in
/// alphabetical order: to test that none of them gives another result. The same limits. O(starts of orders x
/// passes).
template <class Visitor>
constexpr void for_each_legal_order(Span<const Contract* const> contracts, Visitor visit) {
  const detail::OrderSearch search(contracts);
  if (!search.is_small_enough() || detail::find_namesake(contracts).fault != detail::Fault::none) return;
  Pool<std::uint32_t> path;
  detail::visit_orders(search, search.start(), path, static_cast<std::uint32_t>(contracts.size()), visit);
}

namespace detail {

/// What the search found for `N` passes, as a constant: an order, or why there is none.
template <std::size_t N>
struct OrderFound {
  enum class Is : std::uint8_t { order, same_name, too_many, gave_up, cycle, dead_end };
  Is is = Is::order;
  Finding namesake;
  std::array<std::size_t, N> path{};  ///< the order; of a dead end, the passes before it
  std::size_t length = 0;
  std::array<MustFollow, N> cycle{};
  std::size_t weakest = 0;  ///< the link of the cycle that is the easiest to undo
  OrderSearch::DeadEnd dead_end;
};

/// The link of the cycle that is the easiest to undo: that of a pass which does not say that it keeps a fact,
/// then that of a fact which can be established again, or by another pass.
[[nodiscard]] constexpr auto weakest_link(Span<const MustFollow> cycle, Span<const Contract* const> contracts)
    -> std::size_t {
  for (std::size_t i = 0; i < cycle.size(); ++i)
    if (cycle[i].is_for_loss() && contracts[cycle[i].loser()]->keeping != Keeping::everything_but) return i;
  for (const AfterBecause because : {AfterBecause::needs, AfterBecause::loses, AfterBecause::establishes})
    for (std::size_t i = 0; i < cycle.size(); ++i)
      if (cycle[i].because == because) return i;
  return 0;
}

/// `mentioned` are the facts that some pass needs or forbids; the facts of the answer are indices into it.
template <std::size_t N>
[[nodiscard]] consteval auto find_order(const std::array<const Contract*, N>& contracts,
                                        Span<const FactInfo> mentioned) -> OrderFound<N> {
  using Is = typename OrderFound<N>::Is;
  OrderFound<N> found;
  found.namesake = find_namesake(contracts);
  if (found.namesake.fault != Fault::none) {
    found.is = Is::same_name;
    return found;
  }
  OrderSearch search(contracts);
  if (!search.is_small_enough()) {
    found.is = Is::too_many;
    return found;
  }
  const auto keep = [&](Span<const std::uint32_t> path) {
    for (const std::uint32_t p : path) found.path[found.length++] = p;
  };
  const auto place = [&](std::size_t fact) {
    std::size_t i = 0;
    while (!(mentioned[i] == search.fact(fact))) ++i;
    return i;
  };
  if (const auto order = search.find()) {
    keep(order->view());
  } else if (!search.cycle().empty()) {
    found.is = Is::cycle;
    found.weakest = weakest_link(search.cycle(), contracts);
    for (MustFollow follow : search.cycle()) {
      follow.fact = place(follow.fact);
      found.cycle[found.length++] = follow;
    }
  } else if (search.gave_up()) {
    found.is = Is::gave_up;
  } else {
    found.is = Is::dead_end;
    keep(search.longest());
    found.dead_end = search.dead_end();
    found.dead_end.fact = static_cast<std::uint32_t>(place(found.dead_end.fact));
  }
  return found;
}

/// The order of `P`, and the words for want of one.
template <class... P>
struct AutoOrder {
  using Passes = types<P...>;
  using Mentioned = join<facts, needs_of<P>..., forbids_of<P>...>;
  using Found = OrderFound<sizeof...(P)>;
  static constexpr Found found = find_order<sizeof...(P)>(contracts_of<P...>, fact_infos<Mentioned>);

  template <std::size_t I>
  using PassAt = at<I, Passes>;
  template <std::size_t I>
  using FactAt = at<I, Mentioned>;

  /// For `Choose`: the passes of `found.path`.
  struct Path {
    static constexpr auto chosen = [] {
      Choice<sizeof...(P)> choice;
      for (; choice.count < found.length; ++choice.count)
        choice.index[choice.count] = found.path[choice.count];
      return choice;
    }();
  };
  /// For `Choose`: the passes that establish the fact of the dead end, but not the pass there.
  struct Establishers {
    static constexpr auto chosen = [] {
      Choice<sizeof...(P)> choice;
      for (std::size_t i = 0; i < sizeof...(P); ++i)
        if (i != found.dead_end.pass &&
            Contract::lists(contracts_of<P...>[i]->establishes, fact_infos<Mentioned>[found.dead_end.fact]))
          choice.index[choice.count++] = i;
      return choice;
    }();
  };

  template <std::size_t I>
  [[nodiscard]] static consteval auto why() {
    using namespace verdict;
    constexpr MustFollow follow = found.cycle[I];
    using Fact = FactAt<follow.fact>;
    if constexpr (follow.because == AfterBecause::establishes)
      return std::type_identity<which_establishes<Fact>>();
    else if constexpr (follow.because == AfterBecause::needs)
      return std::type_identity<which_needs<Fact>>();
    else if constexpr (follow.because == AfterBecause::forbids)
      return std::type_identity<which_forbids<Fact>>();
    else
      return std::type_identity<which_loses<Fact, needed_by<PassAt<follow.third>>>>();
  }
  template <std::size_t I>
  using Why = typename decltype(why<I>())::type;

  [[nodiscard]] static consteval auto mend() {
    using namespace verdict;
    constexpr MustFollow link = found.cycle[found.weakest];
    using Fact = FactAt<link.fact>;
    if constexpr (link.is_for_loss() && contract_of<PassAt<link.loser()>>.keeping != Keeping::everything_but)
      return std::type_identity<to_mend<declare_keeps<Fact>, in<PassAt<link.loser()>>>>();
    else if constexpr (link.because == AfterBecause::needs)
      return std::type_identity<to_mend<establish<Fact>, before<PassAt<link.other>>>>();
    else if constexpr (link.because == AfterBecause::establishes)
      return std::type_identity<to_mend<establish<Fact>, before<PassAt<link.pass>>>>();
    else if constexpr (link.because == AfterBecause::loses)
      return std::type_identity<to_mend<establish<Fact>, before<PassAt<link.third>>>>();
    else
      return std::type_identity<to_mend<leave_out<PassAt<link.other>>>>();
  }
  template <std::size_t... I>
  [[nodiscard]] static consteval auto word_cycle(std::index_sequence<I...>) {
    using namespace verdict;
    return no_legal_order<pass<PassAt<found.cycle[0].pass>>,
                          must_run_after<PassAt<found.cycle[0].other>, Why<0>>,
                          which_must_run_after<PassAt<found.cycle[I + 1].other>, Why<I + 1>>...,
                          typename decltype(mend())::type>();
  }
  /// Index of the first optional pass that establishes `Fact` only if it is on, but not the pass of the dead end; their
  /// number if there is none.
  template <class Fact>
  [[nodiscard]] static consteval auto first_that_may_establish() -> std::size_t {
    return first_false({(std::same_as<P, PassAt<found.dead_end.pass>> ||
                         !Contract::lists(contract_of<P>.establishes_when_on, fact_info<Fact>))...});
  }
  [[nodiscard]] static consteval auto word_dead_end() {
    using namespace verdict;
    using Pass = PassAt<found.dead_end.pass>;
    using Fact = FactAt<found.dead_end.fact>;
    if constexpr (!found.dead_end.is_needed)
      return no_legal_order<pass<Pass>, forbids<Fact>, typename Choose<is_true_behind, Passes, Path>::type,
                            to_mend<leave_out<Pass>>>();
    else if constexpr (found.dead_end.is_ahead)
      return no_legal_order<pass<Pass>, needs<Fact>,
                            typename Choose<is_established_only_by, Passes, Establishers>::type,
                            none_of_which_can_run_before, to_mend<establish<Fact>, before<Pass>>>();
    else if constexpr (constexpr std::size_t optional = first_that_may_establish<Fact>(); optional != sizeof...(P))
      return no_legal_order<pass<Pass>, needs<Fact>,
                            is_established_only_when_on<typename ProtocolOf<PassAt<optional>>::type>,
                            to_mend<take_out_of_optional_pass<typename ProtocolOf<PassAt<optional>>::type>>>();
    else
      return no_legal_order<pass<Pass>, needs<Fact>, typename Choose<is_not_true_behind, Passes, Path>::type,
                            to_mend<establish<Fact>, before<Pass>>>();
  }
  using by_hand = verdict::to_mend<verdict::put_them_in_order, verdict::in<Pipeline<P...>>>;
  [[nodiscard]] static consteval auto judge() {
    if constexpr (found.is == Found::Is::order)
      return verdict::in_order();
    else if constexpr (found.is == Found::Is::same_name)
      return word_finding<found.namesake, P...>();
    else if constexpr (found.is == Found::Is::too_many)
      return verdict::no_order_found<verdict::there_are_more_than_64_passes_or_facts, by_hand>();
    else if constexpr (found.is == Found::Is::gave_up)
      return verdict::no_order_found<verdict::too_many_passes_are_in_the_way_of_each_other, by_hand>();
    else if constexpr (found.is == Found::Is::cycle)
      return word_cycle(std::make_index_sequence<found.length - 1>());
    else
      return word_dead_end();
  }
};

template <class... P>
[[nodiscard]] consteval auto judge_auto_order() {
  using Passes = decltype(judge_passes<P...>());
  if constexpr (!Passes::ok) {
    return Passes();
  } else {
    return AutoOrder<P...>::judge();
  }
}

template <class List>
struct AutoOrderOf;
template <class... P>
struct AutoOrderOf<types<P...>> {
  using type = AutoOrder<P...>;
};
/// The passes of `Parts`, passes and pipelines, in the order found for them.
template <class... Parts>
struct InOrderFound {
  using Joined = Join<types, typename PassesIn<Parts>::type...>;
  using Order = typename AutoOrderOf<typename Joined::type>::type;
  using type = typename Choose<types, typename Joined::type, typename Order::Path>::type;
  static constexpr auto table = [] {
    auto result = Joined::table;
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = Joined::table[Order::found.path[i]];
    return result;
  }();
};

template <class List>
struct VerdictOnAutoOrder;
template <class... P>
struct VerdictOnAutoOrder<types<P...>> {
  using type = decltype(judge_auto_order<P...>());
};

}  // namespace detail

/// The verdict on whether `P` have a legal order.
template <class... P>
using auto_order_verdict = decltype(detail::judge_auto_order<P...>());

/// The pipeline of these passes in a legal order. A pipeline among them stands for its passes, which are as
/// free as the others: what must stay together or in order, contracts have to say.
///
///     constexpr auto passes =
///         auto_order(InPlaceToOutOfPlacePass{}, DeviceRewriterPass{}, AliasingOutputRewritePass{});
///     // is pipeline(DeviceRewriterPass{}, AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{})
///
/// The order given is kept where it is legal; otherwise it is the order of `find_legal_order`, the same one
/// each time. A fact that one of the passes needs and others establish, they have to establish before it; one
/// that none establishes becomes a need of the pipeline. Options stay in their passes. Errs, with the reason,
/// if there is no legal order.
template <class... T>
[[nodiscard]] constexpr auto auto_order(T... parts) {
  using Verdict = typename detail::VerdictOnAutoOrder<detail::flat<T...>>::type;
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok) {
    return detail::PipelineMaker::make_by<detail::InOrderFound<T...>>(parts...);
  } else {
    return Rejected();
  }
}

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/pass/auto_order.hpp>
#include <fxpass/pass/optional_pass.hpp>

#include <boost/hana/tuple.hpp>

#include "twice.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace fxpass;
using namespace fxpass::verdict;

struct Analysed {
  static constexpr std::string_view name = "analysed";
};
struct Rewritten {
  static constexpr std::string_view name = "rewritten";
};
struct Shown {
  static constexpr std::string_view name = "shown";
};

/// Every pass here does nothing; what counts is its contract.
struct Idle {
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
struct Analyse : Idle {
  static constexpr std::string_view name = "analyse";
  using forbids = facts<Rewritten>;
  using establishes = facts<Analysed, Shown>;
  using keeps = everything;
};
struct Rewrite : Idle {
  static constexpr std::string_view name = "rewrite";
  using needs = facts<Analysed>;
  using establishes = facts<Rewritten>;
  using keeps = everything_but<Analysed>;
};
struct Reader : Idle {
  static constexpr std::string_view name = "reader";
  using needs = facts<Analysed>;
  using keeps = everything;
};
struct Plain : Idle {
  static constexpr std::string_view name = "plain";
  using keeps = everything;
};
struct Silent : Idle {
  static constexpr std::string_view name = "silent";
};

template <class... P>
using ordered = decltype(auto_order(std::declval<P>()...));

// Orders that are found -------------------------------------------------------------------------------------
static_assert(std::same_as<ordered<>, Pipeline<>>);
// An order that is legal is kept.
static_assert(std::same_as<ordered<Plain, Analyse, Rewrite>, Pipeline<Plain, Analyse, Rewrite>>);
static_assert(std::same_as<ordered<Analyse, Plain, Rewrite>, Pipeline<Analyse, Plain, Rewrite>>);
static_assert(std::same_as<ordered<Rewrite, Plain, Analyse>, Pipeline<Plain, Analyse, Rewrite>>);
// The reader has to come before the fact is lost, and its own place is the earliest that does it.
static_assert(std::same_as<ordered<Rewrite, Reader, Analyse>, Pipeline<Analyse, Reader, Rewrite>>);
// Silent keeps no analysis: not between, nor before Rewrite alone.
static_assert(std::same_as<ordered<Rewrite, Silent, Analyse>, Pipeline<Silent, Analyse, Rewrite>>);
static_assert(std::same_as<ordered<Silent, Rewrite>, Pipeline<Rewrite, Silent>>);
static_assert(std::same_as<needs_of<ordered<Silent, Rewrite>>, facts<Analysed>>);
// A pipeline stands for its passes.
static_assert(std::same_as<ordered<Rewrite, Pipeline<Plain, Analyse>>, Pipeline<Plain, Analyse, Rewrite>>);
static_assert(std::same_as<ordered<Pipeline<Analyse, Rewrite>, Reader>, Pipeline<Analyse, Reader, Rewrite>>);

// And so does a Hana tuple.
static_assert(std::same_as<ordered<boost::hana::tuple<Rewrite, Pipeline<Plain>>, Analyse>,
                           Pipeline<Plain, Analyse, Rewrite>>);

struct Choosy {
  static constexpr std::string_view name = "choosy";
  using needs = facts<Analysed>;
  int option = 0;
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};
constexpr auto options_stay_in_their_passes() -> bool {
  constexpr auto passes =
      auto_order(Choosy{.option = 3}, pipeline(named<"second">(Choosy{.option = 4})), Analyse{});
  static_assert(std::same_as<decltype(passes), const Pipeline<Analyse, Choosy, NamedPass<"second", Choosy>>>);
  return passes.get<Choosy>().option == 3 && passes.get<NamedPass<"second", Choosy>>().option == 4 &&
         passes(Module<>()).has_value();
}
FXPASS_TEST_TWICE(options_stay_in_their_passes)

/// 32 passes that each need what the next one establishes, so that each has to go to the other end.
template <std::size_t I>
struct Step {
  static constexpr std::string_view name = "step";
};
template <std::size_t I>
struct Link : Idle {
  static constexpr char letter = static_cast<char>('A' + I);
  static constexpr std::string_view name{&letter, 1};
  using needs = facts<Step<I + 1>>;
  using establishes = facts<Step<I>>;
  using keeps = fxpass::nothing;
};
template <std::size_t... I>
constexpr auto chain(std::index_sequence<I...>) {
  return auto_order(Link<I>{}...);
}
using Chain = decltype(chain(std::make_index_sequence<32>()));
static_assert(std::same_as<needs_of<Chain>, facts<Step<32>>> &&
              std::same_as<establishes_of<Chain>, facts<Step<0>>>);

/// Eight passes that each establish a fact, and eight that each need one of them and keep nothing: they have
/// to go in pairs.
template <std::size_t I>
struct Give : Idle {
  static constexpr char letter = static_cast<char>('A' + I);
  static constexpr std::string_view name{&letter, 1};
  using establishes = facts<Step<I>>;
  using keeps = everything;
};
template <std::size_t I>
struct Take : Idle {
  static constexpr char letter = static_cast<char>('a' + I);
  static constexpr std::string_view name{&letter, 1};
  using needs = facts<Step<I>>;
  using keeps = fxpass::nothing;
};
template <std::size_t... I>
constexpr auto pairs(std::index_sequence<I...>) {
  return auto_order(Give<I>{}..., Take<I>{}...);
}
template <std::size_t... I>
constexpr auto in_pairs(std::index_sequence<I...>) {
  return pipeline(pipeline(Give<I>{}, Take<I>{})...);
}
static_assert(std::same_as<decltype(pairs(std::make_index_sequence<8>())),
                           decltype(in_pairs(std::make_index_sequence<8>()))>);

// Orders that are not there ---------------------------------------------------------------------------------
struct Chicken : Idle {
  static constexpr std::string_view name = "chicken";
  using needs = facts<Shown>;
  using establishes = facts<Analysed>;
  using keeps = everything;
};
struct Egg : Idle {
  static constexpr std::string_view name = "egg";
  using needs = facts<Analysed>;
  using establishes = facts<Shown>;
  using keeps = everything;
};
static_assert(std::same_as<auto_order_verdict<Plain, Chicken, Egg>,
                           no_legal_order<pass<Chicken>, must_run_after<Egg, which_establishes<Shown>>,
                                          which_must_run_after<Chicken, which_establishes<Analysed>>,
                                          to_mend<establish<Shown>, before<Chicken>>>>);

/// Has to run between the analysis and its reader, and loses it.
struct Between : Idle {
  static constexpr std::string_view name = "between";
  using needs = facts<Shown>;
  using establishes = facts<Rewritten>;
};
struct Last : Idle {
  static constexpr std::string_view name = "last";
  using needs = facts<Analysed, Rewritten>;
  using keeps = everything;
};
static_assert(std::same_as<auto_order_verdict<Last, Between, Analyse>,
                           no_legal_order<pass<Last>, must_run_after<Between, which_establishes<Rewritten>>,
                                          which_must_run_after<Last, which_needs<Analysed>>,
                                          to_mend<declare_keeps<Analysed>, in<Between>>>>);

/// Wants the analysis of what it was that was rewritten, behind the rewriting.
struct Late : Idle {
  static constexpr std::string_view name = "late";
  using needs = facts<Analysed, Rewritten>;
  using keeps = everything;
};
static_assert(std::same_as<auto_order_verdict<Analyse, Rewrite, Late>,
                           no_legal_order<pass<Rewrite>, must_run_after<Late, which_needs<Analysed>>,
                                          which_must_run_after<Rewrite, which_establishes<Rewritten>>,
                                          to_mend<establish<Analysed>, before<Late>>>>);

/// Two analyses that each lose what the other found, and one who wants both.
struct Forward : Idle {
  static constexpr std::string_view name = "forward";
  using establishes = facts<Analysed>;
  using keeps = everything_but<Shown>;
};
struct Backward : Idle {
  static constexpr std::string_view name = "backward";
  using establishes = facts<Shown>;
  using keeps = everything_but<Analysed>;
};
struct Meet : Idle {
  static constexpr std::string_view name = "meet";
  using needs = facts<Analysed, Shown>;
  using keeps = everything;
};
static_assert(std::same_as<auto_order_verdict<Forward, Backward, Meet>,
                           no_legal_order<pass<Forward>,
                                          must_run_after<Backward, which_loses<Analysed, needed_by<Meet>>>,
                                          which_must_run_after<Forward, which_loses<Shown, needed_by<Meet>>>,
                                          to_mend<establish<Analysed>, before<Meet>>>>);

static_assert(std::same_as<auto_order_verdict<int, Chicken, Egg>, order_verdict<int>>);
static_assert(std::same_as<auto_order_verdict<Chicken, Rejected>, told_before>);
static_assert(
    std::same_as<auto_order_verdict<Plain, Plain>,
                 duplicate_pass<pass<Plain>, has_the_name_of<Plain>, to_mend<wrap_in_named<Plain>>>>);

// Two ways to the fact, and neither can be gone first.
template <TextConstant Name, class Needs, class Establishes>
struct Maker : Idle {
  static constexpr std::string_view name = Name.view();
  using needs = Needs;
  using establishes = Establishes;
  using keeps = everything;
};
using MakeA = Maker<"a", facts<Shown>, facts<Analysed, Rewritten>>;
using MakeB = Maker<"b", facts<Analysed>, facts<Rewritten, Shown>>;
using MakeC = Maker<"c", facts<Rewritten>, facts<Shown, Analysed>>;
static_assert(
    std::same_as<auto_order_verdict<MakeA, Plain, MakeB, MakeC>,
                 no_legal_order<pass<MakeA>, needs<Shown>, is_established_only_by<MakeB, MakeC>,
                                none_of_which_can_run_before, to_mend<establish<Shown>, before<MakeA>>>>);

// Behind an optional pass nobody vouches for the fact, and it must not be true before: neither order will do.
struct Refresh : Idle {
  static constexpr std::string_view name = "refresh";
  using needs = facts<Shown>;
  using establishes = facts<Shown>;
  using keeps = everything;
};
struct Show : Idle {
  static constexpr std::string_view name = "show";
  using forbids = facts<Shown>;
  using establishes = facts<Shown>;
  using keeps = everything;
};
using MayShow = OptionalPass<Show>;
static_assert(std::same_as<auto_order_verdict<MayShow, Refresh>,
                           no_legal_order<pass<Refresh>, needs<Shown>, is_established_only_when_on<Show>,
                                          to_mend<take_out_of_optional_pass<Show>>>>);
static_assert(std::same_as<auto_order_verdict<Refresh, MayShow>,
                           no_legal_order<pass<MayShow>, forbids<Shown>, is_true_behind<Refresh>,
                                          to_mend<leave_out<MayShow>>>>);

/// Seven facts that each two passes establish and all others lose, and one pass that needs them all: by far
/// too much.
template <std::size_t I, TextConstant Name>
struct Only : Idle {
  static constexpr std::string_view name = Name.view();
  using establishes = facts<Step<I>>;
  using keeps = fxpass::nothing;
};
struct All : Idle {
  static constexpr std::string_view name = "all";
  using needs = facts<Step<0>, Step<1>, Step<2>, Step<3>, Step<4>, Step<5>, Step<6>>;
  using keeps = everything;
};
template <class... P>
using gives_up = no_order_found<too_many_passes_are_in_the_way_of_each_other,
                                to_mend<put_them_in_order, in<Pipeline<P...>>>>;
template <class... P>
constexpr bool is_too_much = std::same_as<auto_order_verdict<P...>, gives_up<P...>>;
static_assert(is_too_much<Only<0, "a">, Only<1, "b">, Only<2, "c">, Only<3, "d">, Only<4, "e">, Only<5, "f">,
                          Only<6, "g">, Only<0, "h">, Only<1, "i">, Only<2, "j">, Only<3, "k">, Only<4, "l">,
                          Only<5, "m">, Only<6, "n">, All>);

// The search against all permutations -----------------------------------------------------------------------
/// Contracts made at random. What they point to lives here.
class RandomContracts {
 public:
  explicit RandomContracts(std::uint32_t seed) : random_(seed) {
    static constexpr std::string_view names[] = {"a", "b", "c", "d", "e", "f"};
    const std::uint32_t fact_count = 1 + below(4);
    const std::uint32_t pass_count = 1 + below(6);
    const std::uint32_t density = 2 + below(5);
    lists_.reserve(pass_count);
    for (std::uint32_t p = 0; p < pass_count; ++p) {
      lists_.emplace_back();
      for (std::uint32_t f = 0; f < fact_count; ++f) {
        const FactInfo fact{f + 1, names[f], nullptr, below(2) == 0, false};
        for (std::vector<FactInfo>& list : lists_.back())
          if (below(density) == 0) list.push_back(fact);
      }
    }
    for (std::uint32_t p = 0; p < pass_count; ++p) {
      static constexpr Keeping keeping[] = {Keeping::everything_but, Keeping::everything_but, Keeping::only,
                                            Keeping::undeclared};
      const auto& l = lists_[p];
      contracts_.push_back({names[p], l[0], l[1], l[2], keeping[below(4)], l[3], l[4]});
    }
    for (const Contract& c : contracts_) pointers_.push_back(&c);
  }
  [[nodiscard]] auto get() const -> Span<const Contract* const> { return pointers_; }
  [[nodiscard]] auto in_order(const std::vector<std::uint32_t>& order) const -> std::vector<const Contract*> {
    std::vector<const Contract*> result;
    for (const std::uint32_t p : order) result.push_back(pointers_[p]);
    return result;
  }

 private:
  auto below(std::uint32_t n) -> std::uint32_t { return static_cast<std::uint32_t>(random_() % n); }

  std::mt19937 random_;
  std::vector<std::array<std::vector<FactInfo>, 5>> lists_;
  std::vector<Contract> contracts_;
  std::vector<const Contract*> pointers_;
};

auto lists(Span<const FactInfo> list, const FactInfo& fact) -> bool { return Contract::lists(list, fact); }
auto loses(const Contract& c, const FactInfo& fact) -> bool {
  return !lists(c.establishes, fact) && !c.keeps(fact);
}

/// Whether a cycle closes, and each of its links is what the contracts say.
auto is_true_cycle(const detail::OrderSearch& search, Span<const Contract* const> contracts) -> bool {
  const Span<const detail::MustFollow> cycle = search.cycle();
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const detail::MustFollow& link = cycle[i];
    if (link.other != cycle[(i + 1) % cycle.size()].pass) return false;
    const Contract& pass = *contracts[link.pass];
    const Contract& other = *contracts[link.other];
    const FactInfo& fact = search.fact(link.fact);
    bool is_true = false;
    switch (link.because) {
      case detail::AfterBecause::establishes:
        is_true = lists(pass.needs, fact) && lists(other.establishes, fact);
        break;
      case detail::AfterBecause::needs: is_true = loses(pass, fact) && lists(other.needs, fact); break;
      case detail::AfterBecause::forbids:
        is_true = lists(pass.establishes, fact) && lists(other.forbids, fact);
        break;
      case detail::AfterBecause::loses:
        is_true =
            lists(pass.establishes, fact) && loses(other, fact) && lists(contracts[link.third]->needs, fact);
        break;
    }
    if (!is_true) return false;
  }
  return true;
}
/// Whether the start of an order is legal, and the pass that is named cannot follow, for the reason that is
/// named.
auto is_true_dead_end(const detail::OrderSearch& search, Span<const Contract* const> contracts) -> bool {
  const detail::OrderSearch::DeadEnd end = search.dead_end();
  std::vector<std::uint32_t> order(search.longest().begin(), search.longest().end());
  detail::OrderSearch::State state = search.start();
  bool is_established = false;
  for (const std::uint32_t p : order) {
    if (!search.can_run(state, p)) return false;
    state = search.step(state, p);
    is_established = is_established || lists(contracts[p]->establishes, search.fact(end.fact));
  }
  const bool is_held = (state.held & detail::bit(end.fact)) != 0;
  if ((state.placed & detail::bit(end.pass)) != 0 || search.can_run(state, end.pass)) return false;
  if (!end.is_needed) return lists(contracts[end.pass]->forbids, search.fact(end.fact)) && is_held;
  return lists(contracts[end.pass]->needs, search.fact(end.fact)) && !is_held &&
         !(end.is_ahead && is_established);
}

TEST_CASE("the order found is the first legal one of all; where there is none, the reason is true") {
  int kept = 0;
  int found = 0;
  int cycles = 0;
  int dead_ends = 0;
  for (std::uint32_t seed = 0; seed < 20'000; ++seed) {
    CAPTURE(seed);
    const RandomContracts random(seed);
    std::vector<std::uint32_t> order(random.get().size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::vector<std::vector<std::uint32_t>> legal;
    do {
      if (detail::find_fault(random.in_order(order), {}).fault == detail::Fault::none) legal.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));

    std::vector<std::vector<std::uint32_t>> enumerated;
    for_each_legal_order(random.get(), [&](Span<const std::uint32_t> o) {
      enumerated.emplace_back(o.begin(), o.end());
    });
    REQUIRE(enumerated == legal);
    const auto answer = find_legal_order(random.get());
    REQUIRE(answer.has_value() == !legal.empty());
    if (!answer) {
      detail::OrderSearch search(random.get());
      REQUIRE_FALSE(search.find().has_value());
      REQUIRE_FALSE(search.gave_up());
      ++(search.cycle().empty() ? dead_ends : cycles);
      if (search.cycle().empty())
        REQUIRE(is_true_dead_end(search, random.get()));
      else
        REQUIRE(is_true_cycle(search, random.get()));
      continue;
    }
    REQUIRE(std::vector<std::uint32_t>(answer->begin(), answer->end()) == legal.front());
    ++(std::is_sorted(answer->begin(), answer->end()) ? kept : found);
  }
  // Each outcome is met often.
  CHECK(kept > 1000);
  CHECK(found > 1000);
  CHECK(cycles > 1000);
  CHECK(dead_ends > 20);
}

}  // namespace

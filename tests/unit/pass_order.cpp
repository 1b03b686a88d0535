// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/pass/pipeline.hpp>

#include "twice.hpp"

#include <concepts>
#include <utility>

namespace {

using namespace fxpass;
using namespace fxpass::verdict;

struct Analyse;
struct Shown {
  static constexpr std::string_view name = "shown";
  static constexpr auto check(const Graph&) -> Status { return {}; }
};
struct Analysed {
  static constexpr std::string_view name = "analysed";
  using provider = Analyse;
};
struct Rewritten {
  static constexpr std::string_view name = "rewritten";
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
  using needs = facts<Shown, Rewritten>;
  using keeps = everything;
};
struct Silent : Idle {
  static constexpr std::string_view name = "silent";
};
struct Namesake : Idle {
  static constexpr std::string_view name = "analyse";
  using keeps = everything;
};

// Orders that are right by themselves ---------------------------------------------------------------------------------
static_assert(order_verdict<>::ok);
static_assert(order_verdict<Analyse, Rewrite, Reader>::ok);
// A need that no pass touches is the pipeline's own.
static_assert(order_verdict<Rewrite>::ok && order_verdict<Reader, Reader>::ok == false);
static_assert(std::same_as<needs_of<Pipeline<Rewrite, Reader>>, fact_set<Analysed, Shown>>);
// Shown has a checker, so a pass that says nothing does not lose it.
static_assert(order_verdict<Analyse, Rewrite, Silent>::ok);

// Orders that are wrong -----------------------------------------------------------------------------------------------
static_assert(std::same_as<order_verdict<Rewrite, Analyse>,
                           wrong_pass_order<pass<Rewrite>, needs<Analysed>, is_established_later_by<Analyse>,
                                            to_mend<fxpass::verdict::move<Analyse>, before<Rewrite>>>>);
static_assert(std::same_as<order_verdict<Analyse, Silent, Rewrite>,
                           wrong_pass_order<pass<Rewrite>, needs<Analysed>, was_lost_by<Silent>,
                                            to_mend<declare_keeps<Analysed>, in<Silent>>>>);
// Nothing in front, yet no module could bring it past Silent. Which is not to blame: nobody establishes it.
static_assert(std::same_as<order_verdict<Silent, Rewrite>,
                           wrong_pass_order<pass<Rewrite>, needs<Analysed>, would_be_lost_by<Silent>,
                                            to_mend<add<Analyse>, before<Rewrite>>>>);
// What is established later is the nearer mend than what was lost before it ever was.
static_assert(std::same_as<order_verdict<Silent, Rewrite, Analyse>,
                           wrong_pass_order<pass<Rewrite>, needs<Analysed>, is_established_later_by<Analyse>,
                                            to_mend<fxpass::verdict::move<Analyse>, before<Rewrite>>>>);
using RewriteAgain = NamedPass<"rewrite_again", Rewrite>;
static_assert(std::same_as<order_verdict<Analyse, Rewrite, RewriteAgain>,
                           wrong_pass_order<pass<RewriteAgain>, needs<Analysed>, was_lost_by<Rewrite>,
                                            to_mend<leave_out<RewriteAgain>>>>);
using AnalyseAgain = NamedPass<"analyse_again", Analyse>;
static_assert(std::same_as<order_verdict<Analyse, Rewrite, AnalyseAgain>,
                           wrong_pass_order<pass<AnalyseAgain>, forbids<Rewritten>, was_established_by<Rewrite>,
                                            to_mend<fxpass::verdict::move<AnalyseAgain>, before<Rewrite>>>>);
// A mend that would lead to the next error is not proposed: Circular needs what Rewrite loses and what it establishes.
struct Circular : Idle {
  static constexpr std::string_view name = "circular";
  using needs = facts<Analysed, Rewritten>;
  using keeps = everything;
};
static_assert(std::same_as<order_verdict<Analyse, Rewrite, Circular>,
                           wrong_pass_order<pass<Circular>, needs<Analysed>, was_lost_by<Rewrite>,
                                            to_mend<leave_out<Circular>>>>);
// Nor one that would break a pass that was right: Between needs what Spoils loses.
struct Between : Idle {
  static constexpr std::string_view name = "between";
  using needs = facts<Shown>;
  using keeps = everything_but<Analysed>;
};
struct Spoils : Idle {
  static constexpr std::string_view name = "spoils";
  using needs = facts<Analysed>;
  using keeps = everything_but<Shown>;
};
static_assert(std::same_as<order_verdict<Analyse, Between, Spoils>,
                           wrong_pass_order<pass<Spoils>, needs<Analysed>, was_lost_by<Between>,
                                            to_mend<leave_out<Spoils>>>>);
// A mistake further behind does not hide the mend of this one.
static_assert(std::same_as<order_verdict<Rewrite, Analyse, Circular>,
                           wrong_pass_order<pass<Rewrite>, needs<Analysed>, is_established_later_by<Analyse>,
                                            to_mend<fxpass::verdict::move<Analyse>, before<Rewrite>>>>);
struct Unrelated {
  static constexpr std::string_view name = "unrelated";
};
struct NeedsUnrelated : Idle {
  static constexpr std::string_view name = "needs_unrelated";
  using needs = facts<Unrelated>;
  using keeps = everything;
};
struct GivesUnrelated : Idle {
  static constexpr std::string_view name = "gives_unrelated";
  using establishes = facts<Unrelated>;
  using keeps = everything;
};
static_assert(std::same_as<order_verdict<Rewrite, Analyse, NeedsUnrelated, GivesUnrelated>,
                           wrong_pass_order<pass<Rewrite>, needs<Analysed>, is_established_later_by<Analyse>,
                                            to_mend<fxpass::verdict::move<Analyse>, before<Rewrite>>>>);
// Lost in between by one pass, established again by a later one: whoever lost it is named, not who is behind.
using AnalyseLater = NamedPass<"analyse_later", Analyse>;
struct Loses : Idle {
  static constexpr std::string_view name = "loses";
  using keeps = everything_but<Analysed>;
};
static_assert(std::same_as<order_verdict<Analyse, Loses, Rewrite, NeedsUnrelated>,
                           wrong_pass_order<pass<Rewrite>, needs<Analysed>, was_lost_by<Loses>,
                                            to_mend<fxpass::verdict::move<Rewrite>, before<Loses>>>>);
struct LooksAtAnalysis : Idle {
  static constexpr std::string_view name = "looks_at_analysis";
  using needs = facts<Analysed>;
  using keeps = everything;
};
static_assert(std::same_as<order_verdict<Analyse, Loses, LooksAtAnalysis, AnalyseLater>,
                           wrong_pass_order<pass<LooksAtAnalysis>, needs<Analysed>, was_lost_by<Loses>,
                                            to_mend<fxpass::verdict::move<LooksAtAnalysis>, before<Loses>>>>);
static_assert(std::same_as<order_verdict<Silent, Silent>,
                           duplicate_pass<pass<Silent>, has_the_name_of<Silent>, to_mend<wrap_in_named<Silent>>>>);
static_assert(std::same_as<order_verdict<Analyse, Namesake>,
                           duplicate_pass<pass<Namesake>, has_the_name_of<Analyse>, to_mend<wrap_in_named<Namesake>>>>);
static_assert(std::same_as<order_verdict<Analyse, int>,
                           not_a_pass<int, has_no_static_name, to_mend<write_static_constexpr_string_view_name>>>);
static_assert(std::same_as<order_verdict<Analyse, Rejected>, told_before>);

// Meeting a module ----------------------------------------------------------------------------------------------------
static_assert(meeting_verdict<facts<>, Analyse, Rewrite>::ok);
static_assert(meeting_verdict<facts<Analysed>, Rewrite>::ok);
static_assert(std::same_as<meeting_verdict<facts<>, Rewrite>,
                           missing_fact<pass<Rewrite>, needs<Analysed>, is_not_true_of_the_module,
                                        to_mend<add<Analyse>, before<Rewrite>>>>);
// A fact without a provider can only be asked for.
static_assert(std::same_as<meeting_verdict<facts<Shown>, Reader>,
                           missing_fact<pass<Reader>, needs<Rewritten>, is_not_true_of_the_module,
                                        to_mend<establish<Rewritten>, before<Reader>>>>);
static_assert(std::same_as<meeting_verdict<facts<Rewritten>, Analyse>,
                           forbidden_fact<pass<Analyse>, forbids<Rewritten>, is_true_of_the_module,
                                          to_mend<leave_out<Analyse>>>>);
static_assert(std::same_as<require_facts<facts<Shown, Rewritten>, facts<Shown>, Reader>,
                           missing_fact<Reader, needs<Rewritten>, is_not_true_of_the_module,
                                        to_mend<establish<Rewritten>, before<Reader>>>>);
static_assert(require_facts<facts<Shown>, fact_set<Shown, Rewritten>, Reader>::ok);

// The contract of a pipeline ------------------------------------------------------------------------------------------
using Both = Pipeline<Analyse, Rewrite>;
static_assert(std::same_as<needs_of<Both>, facts<>> && std::same_as<forbids_of<Both>, facts<Rewritten>>);
static_assert(std::same_as<establishes_of<Both>, fact_set<Shown, Rewritten>>);
static_assert(contract_of<Both>.name == "pipeline" && contract_of<Both>.keeping == Keeping::everything_but &&
              contract_of<Both>.listed.size() == 1 && contract_of<Both>.listed[0] == fact_info<Analysed>);
static_assert(contract_of<Pipeline<Analyse, Silent>>.keeping == Keeping::undeclared);
static_assert(contract_of<Pipeline<>>.keeps(fact_info<Analysed>));

/// 24 passes that each need what the one before establishes.
template <std::size_t I>
struct Step {
  static constexpr std::string_view name = "step";
};
template <std::size_t I>
struct Link : Idle {
  static constexpr char letter = static_cast<char>('a' + I);
  static constexpr std::string_view name{&letter, 1};
  using needs = facts<Step<I>>;
  using establishes = facts<Step<I + 1>>;
  using keeps = nothing;
};
template <std::size_t... I>
constexpr auto chain(std::index_sequence<I...>) {
  return pipeline(Link<I>{}...);
}
using Chain = decltype(chain(std::make_index_sequence<24>()));
static_assert(std::same_as<needs_of<Chain>, facts<Step<0>>> && std::same_as<establishes_of<Chain>, facts<Step<24>>>);

TEST_CASE("the order of passes is a type: the static assertions above are the test") {
  CHECK(order_verdict<Analyse, Rewrite, Reader>::ok);
}

}  // namespace

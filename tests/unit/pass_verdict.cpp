// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/emit/emitter.hpp>
#include <fxpass/emit/graph_emitter.hpp>
#include <fxpass/lower/lowering.hpp>
#include <fxpass/pass/pipeline.hpp>

#include "twice.hpp"

#include <array>
#include <concepts>
#include <string>

// What is wrong with a pass, a fact, an observer, a lowering, an emitter is said in one word.
// tests/compile_fail has what the compilers make of the words.

namespace {

using namespace fxpass;
using namespace fxpass::verdict;
using fxpass::detail::judge_emitter;
using fxpass::detail::judge_graph_emitter;
using fxpass::detail::judge_observer;
using fxpass::detail::verdict_on_lowering;

template <class P, class... Why>
constexpr bool is_no_pass_for = std::same_as<order_verdict<P>, not_a_pass<P, Why...>> && !FXPass<P>;
template <class F, class Why>
constexpr bool is_no_fact_for = std::same_as<facts_verdict<F>, not_a_fact<F, Why>> && !Fact<F>;
template <class O, class Why>
constexpr bool is_no_observer_for =
    std::same_as<decltype(judge_observer<O>()), not_an_observer<std::remove_const_t<O>, Why>> &&
    !PassObserver<O>;
template <class L, class... Why>
constexpr bool is_no_lowering_for =
    std::same_as<verdict_on_lowering<L>, not_a_lowering<L, Why...>> && !Lowering<L>;

// Passes ----------------------------------------------------------------------------------------------------
struct SomeFact {
  static constexpr std::string_view name = "some_fact";
};
struct Right {
  static constexpr std::string_view name = "right";
  using needs = facts<SomeFact>;
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
static_assert(FXPass<Right>);

struct Need : Right {
  using need = facts<SomeFact>;
};
struct Require : Right {
  using require = facts<SomeFact>;
};
struct Requires : Right {
  using requires_ = facts<SomeFact>;
};
struct Forbid : Right {
  using forbid = facts<SomeFact>;
};
struct Establish : Right {
  using establish = facts<SomeFact>;
};
struct Provides : Right {
  using provides = facts<SomeFact>;
};
struct Keep : Right {
  using keep = everything;
};
struct Preserves : Right {
  using preserves = everything;
};
static_assert(is_no_pass_for<Need, has_member_need_where_needs_is_meant>);
static_assert(is_no_pass_for<Require, has_member_require_where_needs_is_meant>);
static_assert(is_no_pass_for<Requires, has_member_requires_where_needs_is_meant>);
static_assert(is_no_pass_for<Forbid, has_member_forbid_where_forbids_is_meant>);
static_assert(is_no_pass_for<Establish, has_member_establish_where_establishes_is_meant>);
static_assert(is_no_pass_for<Provides, has_member_provides_where_establishes_is_meant>);
static_assert(is_no_pass_for<Keep, has_member_keep_where_keeps_is_meant>);
static_assert(is_no_pass_for<Preserves, has_member_preserves_where_keeps_is_meant>);

struct CapitalNeeds : Right {
  using Needs = facts<SomeFact>;
};
struct CapitalForbids : Right {
  using Forbids = facts<SomeFact>;
};
struct Forbidden : Right {
  using forbidden = facts<SomeFact>;
};
struct CapitalEstablishes : Right {
  using Establishes = facts<SomeFact>;
};
struct Established : Right {
  using established = facts<SomeFact>;
};
struct Provide : Right {
  using provide = facts<SomeFact>;
};
struct CapitalKeeps : Right {
  using Keeps = everything;
};
struct Preserve : Right {
  using preserve = everything;
};
static_assert(is_no_pass_for<CapitalNeeds, has_member_Needs_where_needs_is_meant>);
static_assert(is_no_pass_for<CapitalForbids, has_member_Forbids_where_forbids_is_meant>);
static_assert(is_no_pass_for<Forbidden, has_member_forbidden_where_forbids_is_meant>);
static_assert(is_no_pass_for<CapitalEstablishes, has_member_Establishes_where_establishes_is_meant>);
static_assert(is_no_pass_for<Established, has_member_established_where_establishes_is_meant>);
static_assert(is_no_pass_for<Provide, has_member_provide_where_establishes_is_meant>);
static_assert(is_no_pass_for<CapitalKeeps, has_member_Keeps_where_keeps_is_meant>);
static_assert(is_no_pass_for<Preserve, has_member_preserve_where_keeps_is_meant>);

struct Runs {
  static constexpr std::string_view name = "runs";
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
struct NeedsValue : Runs {
  static constexpr facts<SomeFact> needs{};
};
struct ForbidsValue : Runs {
  static constexpr facts<SomeFact> forbids{};
};
struct EstablishesValue : Runs {
  static constexpr facts<SomeFact> establishes{};
};
struct KeepsValue : Runs {
  static constexpr everything keeps{};
};
static_assert(is_no_pass_for<NeedsValue, needs_must_be_a_type>);
static_assert(is_no_pass_for<ForbidsValue, forbids_must_be_a_type>);
static_assert(is_no_pass_for<EstablishesValue, establishes_must_be_a_type>);
static_assert(is_no_pass_for<KeepsValue, keeps_must_be_a_type>);

// What is private would be taken for nothing.
class HiddenNeeds : public Runs {
  using needs = facts<SomeFact>;
};
class HiddenForbids : public Runs {
  using forbids = facts<SomeFact>;
};
class HiddenEstablishes : public Runs {
  using establishes = facts<SomeFact>;
};
class HiddenKeeps : public Runs {
  using keeps = everything;
};
class HiddenName {
  static constexpr std::string_view name = "hidden_name";

 public:
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
class HiddenRun {
 public:
  static constexpr std::string_view name = "hidden_run";

 private:
  [[maybe_unused]] constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
struct NoSuchRun {
  static constexpr std::string_view name = "no_such_run";
  constexpr auto run(Graph&) const -> Status { return {}; }
  constexpr auto run(Context&) const -> Status { return {}; }
};
class HiddenBegin {
 public:
  static constexpr std::string_view name = "hidden_begin";

 private:
  [[maybe_unused]] constexpr auto begin(Graph&, Artifacts<HiddenBegin>&, Context&) const -> int { return 0; }
};
// No type can be derived from it, so that nothing is known of what it hides.
struct Final final : Right {};
static_assert(is_no_pass_for<HiddenNeeds, needs_must_be_public>);
static_assert(is_no_pass_for<HiddenForbids, forbids_must_be_public>);
static_assert(is_no_pass_for<HiddenEstablishes, establishes_must_be_public>);
static_assert(is_no_pass_for<HiddenKeeps, keeps_must_be_public>);
static_assert(is_no_pass_for<HiddenName, name_must_be_public>);
static_assert(is_no_pass_for<HiddenRun, run_must_be_public_and_take_a_graph_and_a_context>);
static_assert(is_no_pass_for<NoSuchRun, run_must_be_public_and_take_a_graph_and_a_context>);
static_assert(
    is_no_pass_for<HiddenBegin, begin_must_be_public_and_take_a_graph_and_its_own_artifacts_and_a_context>);
static_assert(FXPass<Final>);

struct ForbidsNoList : Runs {
  using forbids = SomeFact;
};
struct EstablishesNoList : Runs {
  using establishes = SomeFact;
};
struct KeepsNoList : Runs {
  using keeps = SomeFact;
};
static_assert(is_no_pass_for<ForbidsNoList, forbids_must_be_a_list_of_facts>);
static_assert(is_no_pass_for<EstablishesNoList, establishes_must_be_a_list_of_facts>);
static_assert(
    is_no_pass_for<KeepsNoList, keeps_must_be_everything_or_nothing_or_everything_but_or_a_list_of_facts>);

struct ForbidsInt : Runs {
  using forbids = facts<SomeFact, int>;
};
struct KeepsPass : Runs {
  using keeps = everything_but<Right>;
};
static_assert(is_no_pass_for<ForbidsInt, forbids_what_is_no_fact<int>, has_no_static_name>);
static_assert(is_no_pass_for<KeepsPass, keeps_what_is_no_fact<Right>, is_a_pass>);

struct NamedLater {
  static const std::string_view name;
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
const std::string_view NamedLater::name = "named_later";
static_assert(is_no_pass_for<NamedLater, name_must_be_a_constant>);
struct Nameless : Runs {
  static constexpr std::string_view name = "";
};
static_assert(is_no_pass_for<Nameless, name_must_not_be_empty>);
struct OnlyOne : Runs {
  constexpr OnlyOne() = default;
  OnlyOne(const OnlyOne&) = delete;
};
static_assert(is_no_pass_for<OnlyOne, must_be_copyable>);

struct EditsItsCopy {
  static constexpr std::string_view name = "edits_its_copy";
  constexpr auto run(Graph, Context&) const -> Status { return {}; }
};
struct EditsItsCopyWithArtifacts {
  static constexpr std::string_view name = "edits_its_copy_with_artifacts";
  constexpr auto run(Graph, Artifacts<EditsItsCopyWithArtifacts>&, Context&) const -> Status { return {}; }
};
static_assert(is_no_pass_for<EditsItsCopy, run_must_take_the_graph_by_reference>);
static_assert(is_no_pass_for<EditsItsCopyWithArtifacts, run_must_take_the_graph_by_reference>);

struct Applies {
  static constexpr std::string_view name = "applies";
  constexpr auto apply(Graph&, Context&) const -> Status { return {}; }
};
struct Calls {
  static constexpr std::string_view name = "calls";
  constexpr auto call(Graph&, Context&) const -> Status { return {}; }
};
struct Visits {
  static constexpr std::string_view name = "visits";
  constexpr auto visit(int&, Sweep&) const -> Status { return {}; }
};
struct Idle {
  static constexpr std::string_view name = "idle";
};
static_assert(is_no_pass_for<Applies, has_member_apply_where_run_is_meant>);
static_assert(is_no_pass_for<Calls, has_member_call_where_run_is_meant>);
static_assert(is_no_pass_for<Visits, has_visit_but_no_begin,
                             begin_must_take_a_graph_and_its_own_artifacts_and_a_context>);
static_assert(is_no_pass_for<Idle, has_no_run_nor_begin, run_must_take_a_graph_and_a_context>);

struct Sweeps {
  static constexpr std::string_view name = "sweeps";
  struct State {};
  static constexpr auto wants(const Operator&) -> bool { return true; }
  constexpr auto visit(State&, Sweep&) const -> Status { return {}; }
  constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
};
struct BeginsMutably : Sweeps {
  constexpr auto begin(Graph&, Artifacts<BeginsMutably>&, Context&) -> State { return {}; }
};
struct VisitsMutably {
  static constexpr std::string_view name = "visits_mutably";
  static constexpr auto wants(const Operator&) -> bool { return true; }
  constexpr auto begin(Graph&, Artifacts<VisitsMutably>&, Context&) const -> int { return 0; }
  constexpr auto visit(int&, Sweep&) -> Status { return {}; }
  constexpr auto finish(int&, Graph&, Context&) const -> Status { return {}; }
};
struct FinishesMutably : Sweeps {
  constexpr auto begin(Graph&, Artifacts<FinishesMutably>&, Context&) const -> State { return {}; }
  constexpr auto finish(State&, Graph&, Context&) -> Status { return {}; }
};
struct RunsAndSweeps : Sweeps {
  constexpr auto begin(Graph&, Artifacts<RunsAndSweeps>&, Context&) const -> State { return {}; }
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
static_assert(is_no_pass_for<VisitsMutably, visit_must_be_const>);
static_assert(is_no_pass_for<FinishesMutably, finish_must_be_const>);
static_assert(is_no_pass_for<RunsAndSweeps, has_run_and_begin>);
struct BeginsWithoutState : Sweeps {
  constexpr void begin(Graph&, Artifacts<BeginsWithoutState>&, Context&) const {}
};
struct WantsNodes : Sweeps {
  constexpr auto begin(Graph&, Artifacts<WantsNodes>&, Context&) const -> State { return {}; }
  static constexpr auto wants(const Node&) -> bool { return true; }
};
struct WantsNothing {
  static constexpr std::string_view name = "wants_nothing";
  constexpr auto begin(Graph&, Artifacts<WantsNothing>&, Context&) const -> int { return 0; }
};
struct VisitsNothing : WantsNothing {
  constexpr auto begin(Graph&, Artifacts<VisitsNothing>&, Context&) const -> int { return 0; }
  static constexpr auto wants(const Operator&) -> bool { return true; }
};
static_assert(is_no_pass_for<BeginsMutably, begin_must_be_const>);
static_assert(is_no_pass_for<BeginsWithoutState, begin_must_return_a_state>);
static_assert(is_no_pass_for<WantsNodes, wants_must_take_an_operator_and_return_bool>);
static_assert(
    is_no_pass_for<WantsNothing, has_begin_but_no_wants, wants_must_take_an_operator_and_return_bool>);
static_assert(is_no_pass_for<VisitsNothing, has_begin_but_no_visit,
                             visit_must_take_the_state_and_a_sweep_and_return_a_status>);

// Facts -----------------------------------------------------------------------------------------------------
struct Checks : SomeFact {
  static constexpr auto checks(const Graph&) -> Status { return {}; }
};
struct Artefact : SomeFact {
  using artefact = int;
};
struct OnlyMoves {
  OnlyMoves(OnlyMoves&&) = default;
};
struct UnfitArtifact : SomeFact {
  using artifact = OnlyMoves;
};
struct NotStatic {
  std::string_view name = "not_static";
};
struct GenericCheck : SomeFact {
  static constexpr auto check(const auto&) -> Status { return {}; }
};
class HiddenCheck : public SomeFact {
  [[maybe_unused]] static constexpr auto check(const Graph&) -> Status { return {}; }
};
class HiddenArtifact : public SomeFact {
  using artifact = int;
};
class HiddenFact {
  [[maybe_unused]] static constexpr std::string_view name = "hidden_fact";
};
struct NamelessFact {
  static constexpr std::string_view name = "";
};
static_assert(is_no_fact_for<HiddenCheck, check_must_be_public_and_take_a_graph_and_return_a_status>);
static_assert(is_no_fact_for<HiddenArtifact, artifact_must_be_public>);
static_assert(is_no_fact_for<HiddenFact, name_must_be_public>);
static_assert(is_no_fact_for<NamelessFact, name_must_not_be_empty>);
static_assert(is_no_fact_for<Checks, has_member_checks_where_check_is_meant>);
static_assert(is_no_fact_for<Artefact, has_member_artefact_where_artifact_is_meant>);
static_assert(is_no_fact_for<UnfitArtifact, artifact_must_be_copyable_and_have_a_default>);
static_assert(is_no_fact_for<NotStatic, name_must_be_static>);
static_assert(is_no_fact_for<int, has_no_static_name>);
static_assert(is_no_fact_for<Runs, is_a_pass>);
static_assert(CheckableFact<GenericCheck> && !FactWithArtifact<GenericCheck>);
static_assert(facts_verdict<SomeFact, GenericCheck>::ok && facts_verdict<>::ok);

// Of several missing facts all are named.
static_assert(std::same_as<require_facts<facts<SomeFact, GenericCheck>, facts<>, Right>,
                           missing_fact<Right, needs<SomeFact, GenericCheck>, are_not_true_of_the_module,
                                        to_mend<establish<SomeFact, GenericCheck>, before<Right>>>>);

// Observers -------------------------------------------------------------------------------------------------
struct Watches {
  void before(std::string_view, const Graph&) {}
};
struct AfterWithoutReport {
  void after(std::string_view, const Graph&) {}
};
struct FailedWithoutGraph {
  void failed(std::string_view, const Diagnostics&) {}
};
// One right member does not excuse a wrong one.
struct HalfRight : Watches {
  void after(const Graph&) {}
};
static_assert(PassObserver<Watches> && is_no_observer_for<const Watches, is_const_but_its_members_are_not>);
static_assert(is_no_observer_for<AfterWithoutReport, after_must_take_a_pass_report_and_a_const_graph>);
static_assert(
    is_no_observer_for<FailedWithoutGraph, failed_must_take_a_name_and_diagnostics_and_a_const_graph>);
static_assert(is_no_observer_for<HalfRight, after_must_take_a_pass_report_and_a_const_graph>);
static_assert(is_no_observer_for<int, has_no_before_after_or_failed>);

// Lowerings -------------------------------------------------------------------------------------------------
struct Lowers {
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value { return c.tensor(call, "x"); }
};
struct LowersOne : Lowers {
  static constexpr std::string_view op = "mylib.one";
};
struct LowersTwo : Lowers {
  static constexpr std::array<const char*, 2> op{"mylib.one", "mylib.two"};
};
struct LowersOps : Lowers {
  static constexpr std::array<std::string_view, 1> ops{"mylib.one"};
};
struct LowersNumber : Lowers {
  static constexpr int op = 1;
};
struct LowersMember : Lowers {
  std::string_view op = "mylib.one";
};
struct LowersLater : Lowers {
  static const std::string_view op;
};
const std::string_view LowersLater::op = "mylib.one";
struct LowersNodes {
  static constexpr std::string_view op = "mylib.one";
  static constexpr auto lower(auto&, const Node&) -> hlo::Value { return {}; }
};
struct LowersNothing {
  static constexpr std::string_view op = "mylib.one";
};
struct LowersToNothing {
  static constexpr std::string_view op = "mylib.one";
  static constexpr void lower(auto&, const Call&) {}
};
struct LowersToMany {
  static constexpr std::string_view op = "mylib.one";
  static constexpr auto lower(auto&, const Call&) -> Pool<hlo::Value> { return {}; }
};
static_assert(Lowering<LowersOne> && Lowering<LowersTwo> && Lowering<LowersToNothing> &&
              Lowering<LowersToMany>);
static_assert(is_no_lowering_for<Lowers, has_no_static_op> && is_no_lowering_for<int, has_no_static_op>);
static_assert(is_no_lowering_for<LowersOps, has_member_ops_where_op_is_meant>);
static_assert(is_no_lowering_for<LowersNumber, op_must_be_a_text_or_an_array_of_texts>);
static_assert(is_no_lowering_for<LowersMember, op_must_be_static>);
static_assert(is_no_lowering_for<LowersLater, op_must_be_a_constant>);
struct LowersSchema : Lowers {
  static constexpr std::string_view op = "mylib::one";
};
struct LowersAttribute : Lowers {
  static constexpr std::array<std::string_view, 2> op{"mylib.one", "torch.ops.mylib.one"};
};
struct LowersEmpty : Lowers {
  static constexpr std::string_view op = "";
};
static_assert(is_no_lowering_for<LowersSchema, op_must_be_written_like_aten_dot_relu_or_aten_dot_relu_dot_default>);
static_assert(
    is_no_lowering_for<LowersAttribute, op_must_be_written_like_aten_dot_relu_or_aten_dot_relu_dot_default>);
static_assert(is_no_lowering_for<LowersEmpty, op_must_be_written_like_aten_dot_relu_or_aten_dot_relu_dot_default>);
// A template does not hide that there is a `lower`.
static_assert(is_no_lowering_for<LowersNodes, lower_must_take_a_context_and_a_call>);
static_assert(is_no_lowering_for<LowersNothing, has_no_lower, lower_must_take_a_context_and_a_call>);
static_assert(lowering_verdict<lowerings<LowersOne>>::ok);
// The clash is looked for when each is a lowering.
static_assert(std::same_as<lowering_verdict<lowerings<LowersOne, LowersNothing, LowersOne>>,
                           not_a_lowering<LowersNothing, has_no_lower, lower_must_take_a_context_and_a_call>>);
static_assert(std::same_as<lowering_verdict<lowerings<LowersOne, LowersTwo>>,
                           duplicate_lowering<lowering<LowersTwo>, lowers_the_operator_of<LowersOne>,
                                              to_mend<override_with<lowerings<LowersTwo>>>>>);
using fxpass::detail::judge_override;
struct LowersThree : Lowers {
  static constexpr std::string_view op = "mylib.three";
};
static_assert(decltype(judge_override<lowerings<LowersTwo>, lowerings<LowersThree, LowersOne>>())::ok);
static_assert(std::same_as<decltype(judge_override<lowerings<LowersTwo>, lowerings<LowersThree>>()),
                           wrong_argument<override_with<lowerings<LowersThree>>, which_overrides_nothing,
                                          to_mend<add_it_with_plus>>>);
static_assert(std::same_as<lowering_verdict<LowersOne>,
                           not_a_list_of_lowerings<LowersOne, to_mend<write<lowerings<LowersOne>>>>>);
static_assert(std::same_as<lowering_verdict<int>, not_a_list_of_lowerings<int>>);

// Emitters --------------------------------------------------------------------------------------------------
struct Writes {
  static constexpr std::string_view name = "writes";
  static constexpr std::string_view file_ending = ".txt";
  static constexpr void write(auto&, const hlo::Module&) {}
};
struct WritesGraph {
  static constexpr std::string_view name = "writes_graph";
  static constexpr std::string_view file_ending = ".txt";
  static constexpr auto write(auto&, const Graph&) -> Status { return {}; }
};
struct WritesMember {
  static constexpr std::string_view name = "writes";
  static constexpr std::string_view file_ending = ".txt";
  constexpr void write(auto&, const auto&) const {}
};
static_assert(Emitter<Writes> && !GraphEmitter<Writes> && GraphEmitter<WritesGraph> && !Emitter<WritesGraph>);
static_assert(std::same_as<decltype(judge_emitter<WritesMember>()),
                           not_an_emitter<WritesMember, write_must_be_static>>);
static_assert(std::same_as<decltype(judge_graph_emitter<WritesMember>()),
                           not_an_emitter<WritesMember, write_must_be_static>>);
struct WritesStatus {
  static constexpr std::string_view name = "writes";
  static constexpr std::string_view file_ending = ".txt";
  static constexpr auto write(auto&, const hlo::Module&) -> Status { return {}; }
};
static_assert(std::same_as<decltype(judge_emitter<WritesStatus>()),
                           not_an_emitter<WritesStatus, write_must_return_nothing>>);
static_assert(std::same_as<decltype(judge_emitter<int>()), not_an_emitter<int, has_no_static_name>>);

// What comes after a bad verdict ----------------------------------------------------------------------------
constexpr auto what_was_rejected_holds_defaults() -> bool {
  constexpr Rejected rejected;
  const Expected<Module<>> module = rejected;
  const Graph graph = rejected;
  return !rejected.has_value() && !rejected && module.has_value() && graph == Graph() &&
         !rejected->run_passes(module).has_value() && rejected.error().empty() &&
         rejected->module.graph() == Graph();
}
FXPASS_TEST_TWICE(what_was_rejected_holds_defaults)

}  // namespace

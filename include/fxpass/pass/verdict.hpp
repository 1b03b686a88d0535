// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/support/span.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <type_traits>

/// @file
/// What the compiler says when passes are put together wrongly. A verdict is a type that reads as a
/// sentence: which pass, which fact, for what reason, and how to mend it. It is the one thing that an error
/// prints:
///
///     wrong_pass_order<pass<InPlaceToOutOfPlacePass>, needs<AliasesAnalysed>,
///                      is_established_later_by<AliasingOutputRewritePass>,
///                      to_mend<move<AliasingOutputRewritePass>, before<InPlaceToOutOfPlacePass>>>
///
/// (with `fxpass::` and `fxpass::verdict::` before the names). A function that gets a bad verdict
/// instantiates `check_verdict<Verdict>` itself and returns `Rejected`: the assertion is then one step below
/// the user's call, and nothing else is instantiated. `sizeof` stands in a `static_assert` of its own, since
/// to Clang a function with an erroneous expression in its body is no constant expression, which would be a
/// second error.

namespace fxpass {

/// What errors are made of: the words, and the verdicts, which are sentences of them.
namespace verdict {

// The words: declared to be printed, never defined. ---------------------------------------------------------

// Who and what.
template <class P>
struct pass;
template <class... F>
struct needs;
template <class F>
struct forbids;
template <class F>
struct artifact_of;
template <class L>
struct lowering;
template <class E>
struct emit_with;
template <class P>
struct in;
template <class P>
struct is_inside;
template <class P>
struct replace;

// Why: the order of passes, and what is known of a module.
template <class P>
struct is_established_later_by;
template <class P>
struct is_established_only_when_on;
template <class P>
struct was_lost_by;
template <class P>
struct would_be_lost_by;
template <class P>
struct was_established_by;
struct is_not_true_of_the_module;
struct are_not_true_of_the_module;
struct is_true_of_the_module;
template <class P>
struct has_the_name_of;

// Why: the form of a pass.
struct has_no_static_name;
struct name_must_be_static;
struct name_must_be_a_constant;
struct name_must_be_public;
struct name_must_not_be_empty;
struct needs_must_be_a_list_of_facts;
struct forbids_must_be_a_list_of_facts;
struct establishes_must_be_a_list_of_facts;
struct keeps_must_be_everything_or_nothing_or_everything_but_or_a_list_of_facts;
template <class F>
struct needs_what_is_no_fact;
template <class F>
struct forbids_what_is_no_fact;
template <class F>
struct establishes_what_is_no_fact;
template <class F>
struct keeps_what_is_no_fact;
struct needs_must_be_public;
struct forbids_must_be_public;
struct establishes_must_be_public;
struct keeps_must_be_public;
struct needs_must_be_a_type;
struct forbids_must_be_a_type;
struct establishes_must_be_a_type;
struct keeps_must_be_a_type;
struct has_member_need_where_needs_is_meant;
struct has_member_Needs_where_needs_is_meant;
struct has_member_require_where_needs_is_meant;
struct has_member_requires_where_needs_is_meant;
struct has_member_forbid_where_forbids_is_meant;
struct has_member_Forbids_where_forbids_is_meant;
struct has_member_forbidden_where_forbids_is_meant;
struct has_member_establish_where_establishes_is_meant;
struct has_member_Establishes_where_establishes_is_meant;
struct has_member_established_where_establishes_is_meant;
struct has_member_provide_where_establishes_is_meant;
struct has_member_provides_where_establishes_is_meant;
struct has_member_keep_where_keeps_is_meant;
struct has_member_Keeps_where_keeps_is_meant;
struct has_member_preserve_where_keeps_is_meant;
struct has_member_preserves_where_keeps_is_meant;
struct must_be_copyable;
struct run_must_return_an_expected_graph_or_a_status;
struct run_must_be_const;
struct run_must_take_a_graph_and_a_context;
struct run_must_take_the_graph_by_reference;
struct run_must_be_public_and_take_a_graph_and_a_context;
struct run_must_take_the_artifacts_of_its_own_pass;
struct has_operator_call_where_run_is_meant;
struct has_member_apply_where_run_is_meant;
struct has_member_call_where_run_is_meant;
struct has_no_run_nor_begin;
struct has_run_and_begin;
struct has_visit_but_no_begin;
struct begin_must_be_public_and_take_a_graph_and_its_own_artifacts_and_a_context;
struct begin_must_be_const;
struct begin_must_take_a_graph_and_its_own_artifacts_and_a_context;
struct begin_must_return_a_state;
struct has_begin_but_no_wants;
struct wants_must_be_static;
struct wants_must_take_an_operator_and_return_bool;
struct has_begin_but_no_visit;
struct visit_must_be_const;
struct visit_must_take_the_state_and_a_sweep_and_return_a_status;
struct has_begin_but_no_finish;
struct finish_must_be_const;
struct finish_must_take_the_state_a_graph_and_a_context_and_return_a_status;

// Why: what cannot be repeated.
struct has_no_round;
struct is_a_pipeline_without_a_name;

// Why: the form of a fact.
struct is_a_pass;
struct has_member_checks_where_check_is_meant;
struct has_member_artefact_where_artifact_is_meant;
struct check_must_be_static;
struct check_must_take_a_graph_and_return_a_status;
struct check_must_be_public_and_take_a_graph_and_return_a_status;
struct artifact_must_be_public;
struct artifact_must_be_copyable_and_have_a_default;
struct is_no_fact;
struct has_no_artifact;
struct has_no_check;
struct has_an_artifact_that_no_check_makes;

// Why: the form of an observer.
struct has_no_before_after_or_failed;
struct is_const_but_its_members_are_not;
struct before_must_take_a_name_and_a_const_graph;
struct after_must_take_a_pass_report_and_a_const_graph;
struct after_must_return_nothing_or_a_status;
struct failed_must_take_a_name_and_diagnostics_and_a_const_graph;

// Why: the form of a lowering.
struct has_no_static_op;
struct has_member_name_where_op_is_meant;
struct has_member_ops_where_op_is_meant;
struct op_must_be_static;
struct op_must_be_a_constant;
struct op_must_be_a_text_or_an_array_of_texts;
struct op_must_be_written_like_aten_dot_relu_or_aten_dot_relu_dot_default;
struct has_no_lower;
struct lower_must_be_static;
struct lower_must_take_a_context_and_a_call;
struct lower_must_return_a_value_or_a_pool_of_values_or_nothing;
template <class L>
struct lowers_the_operator_of;

// Why: the form of a target.
struct has_no_name;
struct has_no_reason_to_refuse;
struct reason_to_refuse_must_take_an_element_type_and_return_a_text;

// Why: the form of an emitter.
struct has_no_static_file_ending;
struct has_no_write;
struct write_must_be_static;
struct write_must_take_any_sink_and_an_hlo_module;
struct write_must_return_nothing;
struct write_must_take_a_text_and_a_graph_and_return_a_status;

// Why: what a function is given.
template <class T>
struct is_given;
template <class... F>
struct check_facts;
struct compile;
struct which_may_hold_errors_in_place_of_a_value;
struct where_a_context_belongs;
struct which_is_not_lowered;
struct which_overrides_nothing;
struct which_is_no_graph;
struct which_is_no_module;
struct which_is_no_hana_sequence;
struct which_says_nothing_of_facts;
template <class... F>
struct which_says_nothing_of;

// How to mend it.
template <class... What>
struct to_mend;
template <class P>
struct move;
template <class P>
struct add;
template <class P>
struct before;
template <class P>
struct after;
struct to_the_passes_that_the_module_comes_from;
template <class P>
struct leave_out;
template <class P>
struct wrap_in_named;
template <class P>
struct take_out_of_optional_pass;
template <class F>
struct declare_keeps;
template <class F>
struct declare_needs;
template <class... F>
struct establish;
template <class F>
struct in_the_pass_that_establishes;
template <class F>
struct run_a_pass_that_establishes;
struct write_static_constexpr_string_view_name;
struct run_the_passes_of_get_default_pass_manager;
template <class Who>
struct write_given_and_then_of;
struct write_run_passes_of_module_and_context_and_observers;
struct write_pipeline_of_its_passes;
struct emit_what_it_holds;
struct give_what_it_holds;
struct wrap_it_in_a_module;
struct run_passes_that_establish_them_or_check_facts;
struct emit_its_graph;
struct lower_it_first;
template <class List>
struct override_with;
struct add_it_with_plus;
template <class List>
struct write;
struct allow_at_least_one_round;

template <class P, class Why>
struct must_run_after;
template <class P, class Why>
struct which_must_run_after;
template <class F>
struct which_establishes;
template <class F>
struct which_needs;
template <class F>
struct which_forbids;
template <class F, class Why>
struct which_loses;
template <class P>
struct needed_by;
template <class... P>
struct is_established_only_by;
struct none_of_which_can_run_before;
template <class... P>
struct is_not_true_behind;
template <class... P>
struct is_true_behind;
struct there_are_more_than_64_passes_or_facts;
struct too_many_passes_are_in_the_way_of_each_other;
struct put_them_in_order;
struct name_one_of_its_passes;

// The verdicts. ---------------------------------------------------------------------------------------------
/// Nothing is wrong.
struct in_order {
  static constexpr bool ok = true;
};
/// On something that was rejected before: nothing more is said.
struct told_before {
  static constexpr bool ok = false;
};
/// A pass of a pipeline needs what a later pass establishes, what a pass in between has lost, or what an
/// earlier one establishes only if it is on; or it forbids what an earlier one establishes.
template <class... Words>
struct wrong_pass_order {
  static constexpr bool ok = false;
};
/// `auto_order` has proved that there is no order.
template <class... Words>
struct no_legal_order {
  static constexpr bool ok = false;
};
/// `auto_order` has looked at as many beginnings as it may, and found no order.
template <class... Words>
struct no_order_found {
  static constexpr bool ok = false;
};
/// The module that a pass, or `lower`, is given lacks a fact.
template <class... Words>
struct missing_fact {
  static constexpr bool ok = false;
};
/// A fact is true of the module that a pass forbids.
template <class... Words>
struct forbidden_fact {
  static constexpr bool ok = false;
};
/// Two passes of a pipeline have one name.
template <class... Words>
struct duplicate_pass {
  static constexpr bool ok = false;
};
/// A type is no pass; the words say which member is missing, or wrong.
template <class... Words>
struct not_a_pass {
  static constexpr bool ok = false;
};
/// A type is no fact.
template <class... Words>
struct not_a_fact {
  static constexpr bool ok = false;
};
/// `check_facts` is asked for a fact that no check can show.
template <class... Words>
struct fact_without_proof {
  static constexpr bool ok = false;
};
/// A type is no observer.
template <class... Words>
struct not_an_observer {
  static constexpr bool ok = false;
};
/// A type is no lowering.
template <class... Words>
struct not_a_lowering {
  static constexpr bool ok = false;
};
/// `lower` is given something else than a list of lowerings.
template <class... Words>
struct not_a_list_of_lowerings {
  static constexpr bool ok = false;
};
/// A list has two lowerings for one operator.
template <class... Words>
struct duplicate_lowering {
  static constexpr bool ok = false;
};
/// `lower` is given something that is no target.
template <class... Words>
struct not_a_target {
  static constexpr bool ok = false;
};
/// A type is no emitter.
template <class... Words>
struct not_an_emitter {
  static constexpr bool ok = false;
};
/// A function is given something that it does not take: `emit` of HLO a module that is not lowered, say.
template <class... Words>
struct wrong_argument {
  static constexpr bool ok = false;
};
/// `insert_before`, `replace` and their like name a pass that is not there.
template <class... Words>
struct no_such_pass {
  static constexpr bool ok = false;
};
/// A module is asked for the artifact of something that has none.
template <class... Words>
struct no_artifact {
  static constexpr bool ok = false;
};
/// A pass asks for an artifact that its contract does not speak of.
template <class... Words>
struct outside_contract {
  static constexpr bool ok = false;
};
/// A second round could not begin, or there is to be none.
template <class... Words>
struct not_repeatable {
  static constexpr bool ok = false;
};

}  // namespace verdict

/// Complete if the verdict is good, an error if it is bad.
template <class Verdict>
struct check_verdict {};
template <class... Words>
struct check_verdict<verdict::wrong_pass_order<Words...>> {
  static_assert(verdict::wrong_pass_order<Words...>::ok, "fxpass: wrong pass order");
};
template <class... Words>
struct check_verdict<verdict::no_legal_order<Words...>> {
  static_assert(verdict::no_legal_order<Words...>::ok, "fxpass: these passes have no legal order");
};
template <class... Words>
struct check_verdict<verdict::no_order_found<Words...>> {
  static_assert(verdict::no_order_found<Words...>::ok, "fxpass: no legal order was found for these passes");
};
template <class... Words>
struct check_verdict<verdict::missing_fact<Words...>> {
  static_assert(verdict::missing_fact<Words...>::ok, "fxpass: the module lacks a fact that is needed here");
};
template <class... Words>
struct check_verdict<verdict::forbidden_fact<Words...>> {
  static_assert(verdict::forbidden_fact<Words...>::ok,
                "fxpass: a fact is true of the module that a pass forbids");
};
template <class... Words>
struct check_verdict<verdict::duplicate_pass<Words...>> {
  static_assert(verdict::duplicate_pass<Words...>::ok, "fxpass: two passes of a pipeline have one name");
};
template <class... Words>
struct check_verdict<verdict::not_a_pass<Words...>> {
  static_assert(verdict::not_a_pass<Words...>::ok, "fxpass: this is not a pass");
};
template <class... Words>
struct check_verdict<verdict::not_a_fact<Words...>> {
  static_assert(verdict::not_a_fact<Words...>::ok, "fxpass: this is not a fact");
};
template <class... Words>
struct check_verdict<verdict::fact_without_proof<Words...>> {
  static_assert(verdict::fact_without_proof<Words...>::ok,
                "fxpass: check_facts proves facts that have a checker");
};
template <class... Words>
struct check_verdict<verdict::not_an_observer<Words...>> {
  static_assert(verdict::not_an_observer<Words...>::ok, "fxpass: this is not an observer of passes");
};
template <class... Words>
struct check_verdict<verdict::not_a_lowering<Words...>> {
  static_assert(verdict::not_a_lowering<Words...>::ok, "fxpass: this is not a lowering");
};
template <class... Words>
struct check_verdict<verdict::not_a_list_of_lowerings<Words...>> {
  static_assert(verdict::not_a_list_of_lowerings<Words...>::ok, "fxpass: this is not a list of lowerings");
};
template <class... Words>
struct check_verdict<verdict::duplicate_lowering<Words...>> {
  static_assert(verdict::duplicate_lowering<Words...>::ok,
                "fxpass: two lowerings for one operator: 'override_with' replaces one");
};
template <class... Words>
struct check_verdict<verdict::not_a_target<Words...>> {
  static_assert(verdict::not_a_target<Words...>::ok, "fxpass: this is not a target of lowering");
};
template <class... Words>
struct check_verdict<verdict::not_an_emitter<Words...>> {
  static_assert(verdict::not_an_emitter<Words...>::ok, "fxpass: this is not an emitter");
};
template <class... Words>
struct check_verdict<verdict::wrong_argument<Words...>> {
  static_assert(verdict::wrong_argument<Words...>::ok, "fxpass: this is not what the function takes");
};
template <class... Words>
struct check_verdict<verdict::no_such_pass<Words...>> {
  static_assert(verdict::no_such_pass<Words...>::ok, "fxpass: the pipeline has no such pass");
};
template <class... Words>
struct check_verdict<verdict::no_artifact<Words...>> {
  static_assert(verdict::no_artifact<Words...>::ok, "fxpass: no artifact comes with this");
};
template <class... Words>
struct check_verdict<verdict::outside_contract<Words...>> {
  static_assert(verdict::outside_contract<Words...>::ok,
                "fxpass: a pass gets the artifacts of facts that it needs or establishes");
};
template <class... Words>
struct check_verdict<verdict::not_repeatable<Words...>> {
  static_assert(verdict::not_repeatable<Words...>::ok, "fxpass: this cannot be repeated");
};

template <class... F>
class ModuleOf;

/// What a function returns after a bad verdict. It takes part in whatever comes next, so that one mistake is
/// one error.
struct Rejected {
 private:
  template <class T>
  static constexpr bool has_default = std::is_class_v<T> && !detail::is_expected<T> &&
                                      std::is_default_constructible_v<T>;

 public:
  constexpr Rejected() = default;
  /// Of anything.
  template <class... T>
  constexpr explicit Rejected(const T&...) {}

  /// Whatever is asked of what was rejected is rejected, without another word.
  template <class... T>
  constexpr auto operator()(const T&...) const -> Rejected { return {}; }
  template <class... T>
  constexpr auto add_pass(const T&...) const -> Rejected { return {}; }
  template <class P, class... T>
  constexpr auto insert_before(const T&...) const -> Rejected { return {}; }
  template <class P, class... T>
  constexpr auto insert_after(const T&...) const -> Rejected { return {}; }
  template <class P, class... T>
  constexpr auto replace(const T&...) const -> Rejected { return {}; }
  template <class P>
  constexpr auto without() const -> Rejected { return {}; }
  template <class... T>
  constexpr auto run_passes(const T&...) const -> Rejected { return {}; }
  template <class... T>
  constexpr auto and_then(const T&...) const -> Rejected { return {}; }
  template <class... T>
  constexpr auto transform(const T&...) const -> Rejected { return {}; }
  /// Whatever value was wanted, be it to put into an `Expected`: a default one.
  template <class T>
    requires(has_default<T>)
  constexpr operator T() const {  // NOLINT(google-explicit-constructor): it takes the place of one
    return T();
  }
  template <class T>
    requires(!has_default<T>)
  constexpr operator Expected<T>() const {  // NOLINT(google-explicit-constructor): it takes the place of one
    return Diagnostics();
  }
  constexpr auto has_value() const -> bool { return false; }
  constexpr explicit operator bool() const { return false; }
  constexpr auto operator*() const -> Rejected { return {}; }
  constexpr auto operator->() const -> const Rejected* { return this; }
  constexpr auto error() const -> Diagnostics { return {}; }
  constexpr auto graph() const -> Graph { return {}; }
  // Of a lowered module.
  static const Rejected module;
  static const Rejected signature;
};
inline constexpr Rejected Rejected::module;
inline constexpr Rejected Rejected::signature;

namespace detail {

template <class T>
inline constexpr bool is_module = false;
template <class... F>
inline constexpr bool is_module<ModuleOf<F...>> = true;

/// Index of the first that is false; their number if all are true.
[[nodiscard]] consteval auto first_false(std::initializer_list<bool> all) -> std::size_t {
  std::size_t i = 0;
  for (const bool each : all) {
    if (!each) break;
    ++i;
  }
  return i;
}
/// Index of the first of `list` that is, or is not, in `have`; their number if there is none.
[[nodiscard]] consteval auto first_that(bool is_listed, Span<const FactInfo> list, Span<const FactInfo> have)
    -> std::size_t {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (Contract::lists(have, list[i]) == is_listed) return i;
  return list.size();
}

/// The word for where something is to be done that `Who` waits for.
template <class Who>
struct PlaceBefore {
  using type = verdict::before<Who>;
};
template <class F>
struct PlaceBefore<verdict::artifact_of<F>> {
  using type = verdict::to_the_passes_that_the_module_comes_from;
};

/// What to do where a module of which `Have` are true lacks `F`, as a `std::type_identity` of the words.
template <class F, class Who, class Have>
[[nodiscard]] consteval auto mend_missing() {
  using namespace verdict;
  using Where = typename PlaceBefore<Who>::type;
  if constexpr (!requires { typename F::provider; }) {
    return std::type_identity<to_mend<establish<F>, Where>>();
  } else if constexpr (!requires { sizeof(typename F::provider); }) {
    return std::type_identity<to_mend<add<typename F::provider>, Where>>();
  } else {
    // It is too late for the provider where it forbids what has been done: the pass that did it has to keep
    // the fact.
    using Forbidden = forbids_of<typename F::provider>;
    constexpr std::size_t done = first_that(true, fact_infos<Forbidden>, fact_infos<Have>);
    if constexpr (done == size_of<Forbidden>)
      return std::type_identity<to_mend<add<typename F::provider>, Where>>();
    else
      return std::type_identity<
          to_mend<declare_keeps<F>, in_the_pass_that_establishes<at<done, Forbidden>>>>();
  }
}
template <class F, class Who, class Have = facts<>>
using mend_missing_of = typename decltype(mend_missing<F, Who, Have>())::type;

/// Of `Needs` those that are not in `Have`.
template <class Needs, class Have>
struct Missing {
  static constexpr auto chosen = [] {
    Choice<size_of<Needs>> choice;
    for (std::size_t i = 0; i < size_of<Needs>; ++i)
      if (!Contract::lists(fact_infos<Have>, fact_infos<Needs>[i])) choice.index[choice.count++] = i;
    return choice;
  }();
};
/// The words for several missing facts.
template <class List>
struct MissingWords;
template <class... F>
struct MissingWords<facts<F...>> {
  using needed = verdict::needs<F...>;
  using mend = verdict::establish<F...>;
};

/// `Mend` is the way to establish several missing facts at once, or void.
template <class Needs, class Have, class Who, class Mend>
[[nodiscard]] consteval auto judge_facts() {
  using namespace verdict;
  constexpr std::size_t missing = first_that(false, fact_infos<Needs>, fact_infos<Have>);
  if constexpr (missing == size_of<Needs>) {
    return in_order();
  } else {
    using Words = MissingWords<typename Choose<facts, Needs, Missing<Needs, Have>>::type>;
    using First = at<missing, Needs>;
    if constexpr (std::same_as<typename Words::needed, needs<First>>)
      return missing_fact<Who, needs<First>, is_not_true_of_the_module, mend_missing_of<First, Who, Have>>();
    else if constexpr (std::is_void_v<Mend>)
      return missing_fact<Who, typename Words::needed, are_not_true_of_the_module,
                          to_mend<typename Words::mend, before<Who>>>();
    else
      return missing_fact<Who, typename Words::needed, are_not_true_of_the_module,
                          to_mend<Mend, before<Who>>>();
  }
}

/// Why `F` is no fact: one of the words, as a `std::type_identity`; of void if it is one.
template <class F>
[[nodiscard]] consteval auto fault_of_fact() {
  using namespace verdict;
  if constexpr (Fact<F>)
    return std::type_identity<void>();
  else if constexpr (!requires {
                       { F::name } -> std::convertible_to<std::string_view>;
                     })
    if constexpr (HidesName<F>)
      return std::type_identity<name_must_be_public>();
    else
      return std::type_identity<has_no_static_name>();
  else if constexpr (!NamedStatically<F>)
    return std::type_identity<name_must_be_static>();
  else if constexpr (!NamedByConstant<F>)
    return std::type_identity<name_must_be_a_constant>();
  else if constexpr (!NamedByText<F>)
    return std::type_identity<name_must_not_be_empty>();
  else if constexpr (LooksLikePass<F>)
    return std::type_identity<is_a_pass>();
  else if constexpr (requires { &F::checks; })
    return std::type_identity<has_member_checks_where_check_is_meant>();
  else if constexpr (requires { typename F::artefact; })
    return std::type_identity<has_member_artefact_where_artifact_is_meant>();
  else if constexpr (HidesCheck<F>)
    return std::type_identity<check_must_be_public_and_take_a_graph_and_return_a_status>();
  else if constexpr (HidesArtifact<F>)
    return std::type_identity<artifact_must_be_public>();
  else if constexpr (!MentionsCheck<F> || HasCheck<F>)
    return std::type_identity<artifact_must_be_copyable_and_have_a_default>();
  else if constexpr (std::is_member_pointer_v<decltype(&F::check)>)
    return std::type_identity<check_must_be_static>();
  else
    return std::type_identity<check_must_take_a_graph_and_return_a_status>();
}
template <class F>
using fault_of = typename decltype(fault_of_fact<F>())::type;

/// Why `F` is no fact with an artifact.
template <class F>
struct WhyNoArtifact {
  using type = verdict::is_no_fact;
};
template <Fact F>
struct WhyNoArtifact<F> {
  using type = verdict::has_no_artifact;
};

template <class... F>
[[nodiscard]] consteval auto judge_list_of_facts() {
  constexpr std::size_t bad = first_false({Fact<F>...});
  if constexpr (bad == sizeof...(F)) {
    return verdict::in_order();
  } else {
    using Bad = at<bad, types<F...>>;
    return verdict::not_a_fact<Bad, fault_of<Bad>>();
  }
}

}  // namespace detail

/// The verdict on types that are to be facts.
template <class... F>
using facts_verdict = decltype(detail::judge_list_of_facts<F...>());

/// The verdict on whether a module with facts `Have` may be handed to `Who`, a type that the error prints,
/// which needs `Needs`. Both are `facts<...>`. `Mend`, one of the words, is what to do where several facts
/// are missing.
///
///     using Verdict = require_facts<facts<OutOfPlace>, typename M::facts, Lowering>;
///     static_assert(sizeof(check_verdict<Verdict>) != 0);
///     if constexpr (Verdict::ok) {
///       ...
///     } else {
///       return Rejected();
///     }
template <class Needs, class Have, class Who, class Mend = void>
using require_facts = decltype(detail::judge_facts<Needs, Have, Who, Mend>());

}  // namespace fxpass

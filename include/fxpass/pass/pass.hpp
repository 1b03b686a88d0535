// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that errors are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/support/text_constant.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

/// @file
/// What a pass is: a plain struct with a name, a contract (contract.hpp) and a way to run.
///
///     struct MyPass {
///       static constexpr std::string_view name = "my_pass";
///       constexpr auto run(Graph graph, Context& context) const -> Expected<Graph>;
///     };
///
/// Instead of that `run`, one that edits in place, `run(Graph&, Context&) const -> Status`; one that reads or
/// makes artifacts, `run(Graph&, Artifacts<MyPass>&, Context&) const -> Status`; or the members of a forward
/// pass (forward.hpp), which the pipeline runs in one traversal together with its neighbours. With
/// `const Graph&` in place of `Graph&` a pass only looks: it counts, warns, refuses, fills in artifacts, and
/// keeps every fact by its very type.

namespace fxpass {

namespace detail {

/// Finds the member of `P` that would be taken for nothing, but looks as if a word of the contract were
/// meant; or a word of the contract that `P` keeps to itself.
template <class P>
[[nodiscard]] consteval auto judge_spelling() {
  using namespace verdict;
  if constexpr (requires { typename P::need; })
    return not_a_pass<P, has_member_need_where_needs_is_meant>();
  else if constexpr (requires { typename P::require; })
    return not_a_pass<P, has_member_require_where_needs_is_meant>();
  else if constexpr (requires { typename P::requires_; })
    return not_a_pass<P, has_member_requires_where_needs_is_meant>();
  else if constexpr (requires { typename P::Needs; })
    return not_a_pass<P, has_member_Needs_where_needs_is_meant>();
  else if constexpr (requires { typename P::forbid; })
    return not_a_pass<P, has_member_forbid_where_forbids_is_meant>();
  else if constexpr (requires { typename P::forbidden; })
    return not_a_pass<P, has_member_forbidden_where_forbids_is_meant>();
  else if constexpr (requires { typename P::Forbids; })
    return not_a_pass<P, has_member_Forbids_where_forbids_is_meant>();
  else if constexpr (requires { typename P::establish; })
    return not_a_pass<P, has_member_establish_where_establishes_is_meant>();
  else if constexpr (requires { typename P::established; })
    return not_a_pass<P, has_member_established_where_establishes_is_meant>();
  else if constexpr (requires { typename P::Establishes; })
    return not_a_pass<P, has_member_Establishes_where_establishes_is_meant>();
  else if constexpr (requires { typename P::provide; })
    return not_a_pass<P, has_member_provide_where_establishes_is_meant>();
  else if constexpr (requires { typename P::provides; })
    return not_a_pass<P, has_member_provides_where_establishes_is_meant>();
  else if constexpr (requires { typename P::keep; })
    return not_a_pass<P, has_member_keep_where_keeps_is_meant>();
  else if constexpr (requires { typename P::Keeps; })
    return not_a_pass<P, has_member_Keeps_where_keeps_is_meant>();
  else if constexpr (requires { typename P::preserve; })
    return not_a_pass<P, has_member_preserve_where_keeps_is_meant>();
  else if constexpr (requires { typename P::preserves; })
    return not_a_pass<P, has_member_preserves_where_keeps_is_meant>();
  else if constexpr (requires { P::needs; })
    return not_a_pass<P, needs_must_be_a_type>();
  else if constexpr (requires { P::forbids; })
    return not_a_pass<P, forbids_must_be_a_type>();
  else if constexpr (requires { P::establishes; })
    return not_a_pass<P, establishes_must_be_a_type>();
  else if constexpr (requires { P::keeps; })
    return not_a_pass<P, keeps_must_be_a_type>();
  else if constexpr (!requires { typename MemberProbe<P>::needs; } && !requires { typename P::needs; })
    return not_a_pass<P, needs_must_be_public>();
  else if constexpr (!requires { typename MemberProbe<P>::forbids; } && !requires { typename P::forbids; })
    return not_a_pass<P, forbids_must_be_public>();
  else if constexpr (!requires { typename MemberProbe<P>::establishes; } && !requires { typename P::establishes; })
    return not_a_pass<P, establishes_must_be_public>();
  else if constexpr (!requires { typename MemberProbe<P>::keeps; } && !requires { typename P::keeps; })
    return not_a_pass<P, keeps_must_be_public>();
  else
    return in_order();
}
template <class P>
inline constexpr bool is_well_spelt = decltype(judge_spelling<P>())::ok;

template <class P>
concept Copyable = requires(const P& pass) { P(pass); };
template <class P>
concept RebuildingPass = requires(const P& pass, Context& context) {
  { pass.run(std::declval<Graph>(), context) } -> std::same_as<Expected<Graph>>;
};
template <class P>
concept EditingPass = requires(const P& pass, Graph& graph, Context& context) {
  { pass.run(graph, context) } -> std::same_as<Status>;
};
template <class P>
concept ArtifactPass = requires(const P& pass, Graph& graph, artifacts_for<P>& artifacts, Context& context) {
  { pass.run(graph, artifacts, context) } -> std::same_as<Status>;
};
/// A pass that edits a copy of the graph, which nobody sees: an ampersand is missing.
template <class P>
concept EditsCopy = requires { static_cast<Status (P::*)(Graph, Context&) const>(&P::run); } ||
                    requires { static_cast<Status (P::*)(Graph, artifacts_for<P>&, Context&) const>(&P::run); };

template <class P>
concept MentionsRun = !requires { &MemberProbe<P>::run; };
template <class P>
concept MentionsBegin = !requires { &MemberProbe<P>::begin; };

}  // namespace detail

/// A pass, in any of these forms.
///
/// Laws: of a graph of which `needs` are true and `forbids` are not, it makes one of which `establishes` are
/// true, and those it `keeps` if they were; or it fails with a diagnostic. The same graph and options give
/// the same result.
template <class P>
concept FXPass =
    detail::NamedByText<P> && detail::is_well_spelt<P> && detail::HasContract<P> && detail::Copyable<P> &&
    !detail::EditsCopy<P> && !(detail::MentionsRun<P> && detail::MentionsBegin<P>) &&
    (detail::RebuildingPass<P> || detail::EditingPass<P> || detail::ArtifactPass<P> || ForwardPass<P>);

/// Pass `P` under another name.
template <TextConstant Name, class P>
struct NamedPass : P {
  static constexpr std::string_view name = Name.view();
  /// The pass itself.
  using wrapped_pass = P;
};

namespace detail {

/// A pass that is asked at run time whether it does anything (optional_pass.hpp).
template <class P>
concept SwitchedPass = requires(const P& pass) {
  typename P::wrapped_pass;
  { pass.is_on() } -> std::same_as<bool>;
};
template <class P>
[[nodiscard]] constexpr auto is_skipped([[maybe_unused]] const P& pass) -> bool {
  if constexpr (SwitchedPass<P>) {
    return !pass.is_on();
  } else {
    return false;
  }
}

[[nodiscard]] constexpr auto take_graph(Expected<Graph> made, Graph& graph) -> Status {
  if (!made) return std::move(made.error());
  graph = *std::move(made);
  return {};
}
/// Runs a pass on `graph`, in whichever form without artifacts it is. If it fails, nothing is said of the
/// graph.
template <class P>
[[nodiscard]] constexpr auto run_on_graph(const P& pass, Graph& graph, Context& context) -> Status {
  if constexpr (LooksAtGraph<P>) {
    return pass.run(std::as_const(graph), context);
  } else if constexpr (EditingPass<P>) {
    return pass.run(graph, context);
  } else {
    // NOLINTNEXTLINE(bugprone-use-after-move): the graph gets a new value
    return take_graph(pass.run(std::move(graph), context), graph);
  }
}

/// Stands for the artifacts of any pass, to find out whether `run` or `begin` asks for those of another one.
struct AnyArtifacts {
  template <class P>
  operator Artifacts<P>&() const;  // NOLINT(google-explicit-constructor): it is to be taken for one
};

// `Self` is `P` or `const P`.
template <class P, class Self>
concept RunTakesItsArguments =
    requires(Self& pass, Context& context) { pass.run(std::declval<Graph>(), context); } ||
    requires(Self& pass, Graph& graph, Context& context) { pass.run(graph, context); } ||
    requires(Self& pass, Graph& graph, artifacts_for<P>& artifacts, Context& context) {
      pass.run(graph, artifacts, context);
    };
template <class P>
concept RunTakesOtherArtifacts =
    requires(P& pass, Graph& graph, Context& context) { pass.run(graph, AnyArtifacts(), context); };
template <class P, class Self>
concept BeginTakesItsArguments = requires(Self& pass, Graph& graph, artifacts_for<P>& artifacts,
                                          Context& context) { pass.begin(graph, artifacts, context); };

/// Why `P`, whose name and contract are right, cannot be run.
template <class P>
[[nodiscard]] consteval auto judge_run() {
  using namespace verdict;
  if constexpr (EditsCopy<P>)
    return not_a_pass<P, run_must_take_the_graph_by_reference>();
  else if constexpr (RunTakesItsArguments<P, const P>)
    return not_a_pass<P, run_must_return_an_expected_graph_or_a_status>();
  else if constexpr (RunTakesItsArguments<P, P>)
    return not_a_pass<P, run_must_be_const>();
  else if constexpr (RunTakesOtherArtifacts<P>)
    return not_a_pass<P, run_must_take_the_artifacts_of_its_own_pass>();
  else if constexpr (requires { &P::run; })
    return not_a_pass<P, run_must_take_a_graph_and_a_context>();
  else if constexpr (MentionsRun<P>)
    return not_a_pass<P, run_must_be_public_and_take_a_graph_and_a_context>();
  else if constexpr (MentionsBegin<P>)
    return not_a_pass<P, begin_must_be_public_and_take_a_graph_and_its_own_artifacts_and_a_context>();
  else if constexpr (requires { &P::operator(); })
    return not_a_pass<P, has_operator_call_where_run_is_meant>();
  else if constexpr (requires { &P::apply; })
    return not_a_pass<P, has_member_apply_where_run_is_meant>();
  else if constexpr (requires { &P::call; })
    return not_a_pass<P, has_member_call_where_run_is_meant>();
  else if constexpr (requires { &P::visit; })
    return not_a_pass<P, has_visit_but_no_begin, begin_must_take_a_graph_and_its_own_artifacts_and_a_context>();
  else
    return not_a_pass<P, has_no_run_nor_begin, run_must_take_a_graph_and_a_context>();
}
/// Why `P`, which has `begin`, is no forward pass.
template <class P>
[[nodiscard]] consteval auto judge_sweep() {
  using namespace verdict;
  if constexpr (!BeginTakesItsArguments<P, const P>) {
    if constexpr (BeginTakesItsArguments<P, P>)
      return not_a_pass<P, begin_must_be_const>();
    else
      return not_a_pass<P, begin_must_take_a_graph_and_its_own_artifacts_and_a_context>();
  } else if constexpr (std::is_void_v<sweep_state<P>>) {
    return not_a_pass<P, begin_must_return_a_state>();
  } else if constexpr (!requires { &P::wants; }) {
    return not_a_pass<P, has_begin_but_no_wants, wants_must_take_an_operator_and_return_bool>();
  } else if constexpr (std::is_member_function_pointer_v<decltype(&P::wants)>) {
    return not_a_pass<P, wants_must_be_static>();
  } else if constexpr (!requires(const Operator& op) {
                         { P::wants(op) } -> std::same_as<bool>;
                       }) {
    return not_a_pass<P, wants_must_take_an_operator_and_return_bool>();
  } else if constexpr (!requires { &P::visit; }) {
    return not_a_pass<P, has_begin_but_no_visit, visit_must_take_the_state_and_a_sweep_and_return_a_status>();
  } else if constexpr (!requires(const P& pass, sweep_state<P>& state, Sweep& sweep) {
                         { pass.visit(state, sweep) } -> std::same_as<Status>;
                       }) {
    if constexpr (requires(P& pass, sweep_state<P>& state, Sweep& sweep) { pass.visit(state, sweep); } &&
                  !requires(const P& pass, sweep_state<P>& state, Sweep& sweep) { pass.visit(state, sweep); })
      return not_a_pass<P, visit_must_be_const>();
    else
      return not_a_pass<P, visit_must_take_the_state_and_a_sweep_and_return_a_status>();
  } else if constexpr (!requires { &P::finish; }) {
    return not_a_pass<P, has_begin_but_no_finish,
                      finish_must_take_the_state_a_graph_and_a_context_and_return_a_status>();
  } else if constexpr (requires(P& pass, sweep_state<P>& state, Graph& graph, Context& context) {
                         pass.finish(state, graph, context);
                       } && !requires(const P& pass, sweep_state<P>& state, Graph& graph, Context& context) {
                         pass.finish(state, graph, context);
                       }) {
    return not_a_pass<P, finish_must_be_const>();
  } else {
    return not_a_pass<P, finish_must_take_the_state_a_graph_and_a_context_and_return_a_status>();
  }
}

/// The verdict on a list of a contract in which something is no fact; `Where` is the word for the list.
template <class P, template <class> class Where, class List>
struct BadList;
template <class P, template <class> class Where, template <class...> class List, class... F>
struct BadList<P, Where, List<F...>> {
  using Bad = at<first_false({Fact<F>...}), types<F...>>;
  using type = verdict::not_a_pass<P, Where<Bad>, fault_of<Bad>>;
};

/// Why `P` is no pass.
template <class P>
[[nodiscard]] consteval auto judge_pass() {
  using namespace verdict;
  if constexpr (FXPass<P>) {
    return in_order();
  } else if constexpr (std::same_as<P, Rejected>) {
    return told_before();
  } else if constexpr (HidesName<P>) {
    return not_a_pass<P, name_must_be_public>();
  } else if constexpr (!requires { take_text(P::name); }) {
    return not_a_pass<P, has_no_static_name, to_mend<write_static_constexpr_string_view_name>>();
  } else if constexpr (!NamedStatically<P>) {
    return not_a_pass<P, name_must_be_static>();
  } else if constexpr (!NamedByConstant<P>) {
    return not_a_pass<P, name_must_be_a_constant>();
  } else if constexpr (!NamedByText<P>) {
    return not_a_pass<P, name_must_not_be_empty>();
  } else if constexpr (!is_well_spelt<P>) {
    return judge_spelling<P>();
  } else if constexpr (std::same_as<needs_of<P>, malformed>) {
    return not_a_pass<P, needs_must_be_a_list_of_facts>();
  } else if constexpr (!lists_facts<needs_of<P>>) {
    return typename BadList<P, needs_what_is_no_fact, needs_of<P>>::type();
  } else if constexpr (std::same_as<forbids_of<P>, malformed>) {
    return not_a_pass<P, forbids_must_be_a_list_of_facts>();
  } else if constexpr (!lists_facts<forbids_of<P>>) {
    return typename BadList<P, forbids_what_is_no_fact, forbids_of<P>>::type();
  } else if constexpr (std::same_as<establishes_of<P>, malformed>) {
    return not_a_pass<P, establishes_must_be_a_list_of_facts>();
  } else if constexpr (!lists_facts<establishes_of<P>>) {
    return typename BadList<P, establishes_what_is_no_fact, establishes_of<P>>::type();
  } else if constexpr (std::same_as<typename KeepsOf<P>::type, malformed>) {
    return not_a_pass<P, keeps_must_be_everything_or_nothing_or_everything_but_or_a_list_of_facts>();
  } else if constexpr (!lists_facts<typename KeepsOf<P>::type>) {
    return typename BadList<P, keeps_what_is_no_fact, typename KeepsOf<P>::type>::type();
  } else if constexpr (!Copyable<P>) {
    return not_a_pass<P, must_be_copyable>();
  } else if constexpr (MentionsRun<P> && MentionsBegin<P>) {
    return not_a_pass<P, has_run_and_begin>();
  } else if constexpr (requires { &P::begin; } || BeginTakesItsArguments<P, const P>) {
    return judge_sweep<P>();
  } else {
    return judge_run<P>();
  }
}

}  // namespace detail

/// `pass` under another name, so that it can be in a pipeline twice:
/// `named<"device_again">(DeviceRewriterPass())`.
template <TextConstant Name, class P>
[[nodiscard]] constexpr auto named(P pass) {
  using Verdict = decltype(detail::judge_pass<P>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok) {
    return NamedPass<Name, P>{std::move(pass)};
  } else {
    return Rejected();
  }
}

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/pass/verdict.hpp>
#include <fxpass/support/text_constant.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
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

template <class P>
concept Named = requires {
  { P::name } -> std::convertible_to<std::string_view>;
};
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

}  // namespace detail

/// A pass, in any of these forms.
///
/// Laws: of a graph of which `needs` are true and `forbids` are not, it makes one of which `establishes` are true, and
/// those it `keeps` if they were; or it fails with a diagnostic. The same graph and options give the same result.
template <class P>
concept FXPass = detail::Named<P> && detail::HasContract<P> && std::copy_constructible<P> &&
                 (detail::RebuildingPass<P> || detail::EditingPass<P> || detail::ArtifactPass<P> || ForwardPass<P>);

/// Pass `P` under another name.
template <TextConstant Name, class P>
struct NamedPass : P {
  static constexpr std::string_view name = Name.view();
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

/// Runs a pass on `graph`, in whichever form without artifacts it is. If it fails, nothing is said of the graph.
template <class P>
[[nodiscard]] constexpr auto run_on_graph(const P& pass, Graph& graph, Context& context) -> Status {
  if constexpr (LooksAtGraph<P>) {
    return pass.run(std::as_const(graph), context);
  } else if constexpr (EditingPass<P>) {
    return pass.run(graph, context);
  } else {
    Expected<Graph> made = pass.run(std::move(graph), context);
    if (!made) return std::move(made.error());
    graph = *std::move(made);
    return {};
  }
}

/// Why `P` is no pass.
template <class P>
[[nodiscard]] consteval auto judge_pass() {
  using namespace verdict;
  if constexpr (FXPass<P>) {
    return in_order();
  } else if constexpr (std::same_as<P, Rejected>) {
    return told_before();
  } else if constexpr (!Named<P>) {
    return not_a_pass<P, has_no_static_name>();
  } else if constexpr (!lists_facts<needs_of<P>>) {
    return not_a_pass<P, needs_must_be_a_list_of_facts>();
  } else if constexpr (!lists_facts<forbids_of<P>>) {
    return not_a_pass<P, forbids_must_be_a_list_of_facts>();
  } else if constexpr (!lists_facts<establishes_of<P>>) {
    return not_a_pass<P, establishes_must_be_a_list_of_facts>();
  } else if constexpr (!lists_facts<typename KeepsOf<P>::type>) {
    return not_a_pass<P, keeps_must_be_everything_or_nothing_or_everything_but_or_a_list_of_facts>();
  } else if constexpr (!std::copy_constructible<P>) {
    return not_a_pass<P, must_be_copyable>();
  } else if constexpr (requires(const P& pass, Context& context) { pass.run(std::declval<Graph>(), context); } ||
                       requires(const P& pass, Graph& graph, Context& context) { pass.run(graph, context); } ||
                       requires(const P& pass, Graph& graph, artifacts_for<P>& artifacts, Context& context) {
                         pass.run(graph, artifacts, context);
                       }) {
    return not_a_pass<P, run_must_return_an_expected_graph_or_a_status>();
  } else if constexpr (requires(P& pass, Context& context) { pass.run(std::declval<Graph>(), context); } ||
                       requires(P& pass, Graph& graph, Context& context) { pass.run(graph, context); } ||
                       requires(P& pass, Graph& graph, artifacts_for<P>& artifacts, Context& context) {
                         pass.run(graph, artifacts, context);
                       }) {
    return not_a_pass<P, run_must_be_const>();
  } else if constexpr (!requires { typename sweep_state<P>; }) {
    return not_a_pass<P, has_no_run_for_a_graph_and_a_context_nor_begin>();
  } else if constexpr (!requires(const Operator& op) {
                         { P::wants(op) } -> std::same_as<bool>;
                       }) {
    return not_a_pass<P, wants_must_take_an_operator_and_return_bool>();
  } else if constexpr (!requires(const P& pass, sweep_state<P>& state, Sweep& sweep) {
                         { pass.visit(state, sweep) } -> std::same_as<Status>;
                       }) {
    return not_a_pass<P, visit_must_take_the_state_and_a_sweep_and_return_a_status>();
  } else {
    return not_a_pass<P, finish_must_take_the_state_a_graph_and_a_context_and_return_a_status>();
  }
}
}  // namespace detail

/// `pass` under another name, so that it can be in a pipeline twice: `named<"device_again">(DeviceRewriterPass())`.
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/context.hpp>
#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/verdict.hpp>
#include <fxpass/support/expected.hpp>
#include <fxpass/support/span.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

/// @file
/// Observers: they see what happens between passes, and change nothing. Any struct with one of these
/// members is one:
///
///     void before(std::string_view pass, const Graph&);
///     void after(const PassReport&, const Graph&);
///     void failed(std::string_view pass, const Diagnostics&, const Graph& before);
///
/// `after` may return a `Status` instead: an error there ends the run, as an error of the pass would.
/// `failed` gets the graph as it was before the pass, of which the runner then keeps a copy. Who observes
/// makes each pass run by itself; nothing else changes. Several observers nest: the last one is the closest
/// to the pass.

namespace fxpass {

/// One pass that has run.
struct PassReport {
  std::string_view name;               ///< of the pass
  std::size_t index = 0;               ///< in the pipeline, from 0
  Span<const Statistic> statistics;    ///< what the pass counted
  Span<const FactInfo> facts;          ///< what is true of the graph now
  bool skipped = false;                ///< an optional pass that is switched off: the graph is as it was
  const Contract* contract = nullptr;  ///< of the pass; never null in a report of the runner
  bool claims_unchanged = false;       ///< the pass says that the graph is what it was before
};

namespace detail {

template <class O>
concept SeesBefore = requires(O& o, std::string_view pass, const Graph& graph) { o.before(pass, graph); };
template <class O>
concept SeesAfter = requires(O& o, const PassReport& report, const Graph& graph) { o.after(report, graph); };
template <class O>
concept StopsAfter = requires(O& o, const PassReport& report, const Graph& graph) {
  { o.after(report, graph) } -> std::same_as<Status>;
};
template <class O>
concept AfterReturnsNothing = requires(O& o, const PassReport& report, const Graph& graph) {
  { o.after(report, graph) } -> std::same_as<void>;
};
template <class O>
concept SeesFailure = requires(O& o, std::string_view pass, const Diagnostics& errors, const Graph& graph) {
  o.failed(pass, errors, graph);
};

/// Why `O` is no observer. A member of the right name in the wrong form would never be called.
template <class O>
[[nodiscard]] consteval auto judge_observer() {
  using namespace verdict;
  constexpr bool has_before = requires { &O::before; };
  constexpr bool has_after = requires { &O::after; };
  constexpr bool has_failed = requires { &O::failed; };
  using Mutable = std::remove_const_t<O>;
  if constexpr (has_before && !SeesBefore<O> && !SeesBefore<Mutable>)
    return not_an_observer<O, before_must_take_a_name_and_a_const_graph>();
  else if constexpr (has_after && !SeesAfter<O> && !SeesAfter<Mutable>)
    return not_an_observer<O, after_must_take_a_pass_report_and_a_const_graph>();
  else if constexpr (has_failed && !SeesFailure<O> && !SeesFailure<Mutable>)
    return not_an_observer<O, failed_must_take_a_name_and_diagnostics_and_a_const_graph>();
  else if constexpr ((has_before && !SeesBefore<O>) || (has_after && !SeesAfter<O>) ||
                     (has_failed && !SeesFailure<O>))
    return not_an_observer<Mutable, is_const_but_its_members_are_not>();
  else if constexpr (SeesAfter<O> && !StopsAfter<O> && !AfterReturnsNothing<O>)
    return not_an_observer<O, after_must_return_nothing_or_a_status>();
  else if constexpr (!SeesBefore<O> && !SeesAfter<O> && !SeesFailure<O>)
    return not_an_observer<O, has_no_before_after_or_failed>();
  else
    return in_order();
}
template <class O>
inline constexpr bool is_observer = decltype(judge_observer<O>())::ok;
/// The verdict on the first of `O` that is no observer.
template <class... O>
[[nodiscard]] consteval auto judge_observers() {
  constexpr std::size_t bad = first_false({is_observer<O>...});
  if constexpr (bad == sizeof...(O))
    return verdict::in_order();
  else
    return judge_observer<at<bad, types<O...>>>();
}

}  // namespace detail

/// Anything with `before`, `after` or `failed`, and with none of them in a form that cannot be called.
template <class O>
concept PassObserver = detail::is_observer<O>;

/// The verdict on types that are to be observers.
template <class... O>
using observers_verdict = decltype(detail::judge_observers<O...>());

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/context.hpp>
#include <fxpass/pass/contract.hpp>
#include <fxpass/support/expected.hpp>
#include <fxpass/support/span.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

/// @file
/// Observers: they see what happens between passes, and change nothing. Any struct with one of these members is one:
///
///     void before(std::string_view pass, const Graph&);
///     void after(const PassReport&, const Graph&);
///     void failed(std::string_view pass, const Diagnostics&, const Graph& before);
///
/// `after` may return a `Status` instead: an error there ends the run, as an error of the pass would. `failed` gets the
/// graph as it was before the pass, of which the runner then keeps a copy. Who observes makes each pass run by itself;
/// nothing else changes. Several observers nest: the last one is the closest to the pass.

namespace fxpass {

/// One pass that has run.
struct PassReport {
  std::string_view name;
  std::size_t index = 0;  ///< in the pipeline, from 0
  Span<const Statistic> statistics;
  Span<const FactInfo> facts;  ///< what is true of the graph now
  bool skipped = false;  ///< an optional pass that is switched off: the graph is as it was
  const Contract* contract = nullptr;
  bool claims_unchanged = false;  ///< the pass says that the graph is what it was before
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
concept SeesFailure = requires(O& o, std::string_view pass, const Diagnostics& errors, const Graph& graph) {
  o.failed(pass, errors, graph);
};

}  // namespace detail

/// Anything with `before`, `after` or `failed`.
template <class O>
concept PassObserver = detail::SeesBefore<O> || detail::SeesAfter<O> || detail::SeesFailure<O>;

}  // namespace fxpass

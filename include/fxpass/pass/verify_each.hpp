// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/call.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/pass/observer.hpp>

#include <string_view>
#include <utility>

/// @file
/// `VerifyEach`: no pass may break the graph, or claim what is not true.

namespace fxpass {

/// Behind each pass, proves what the pass claims:
///
///   * the graph is one: `verify` finds nothing;
///   * each fact that is now true of the module, and that a graph shows, is true: the pass keeps it or
///     establishes it;
///   * a pass that claims to have changed nothing has changed nothing.
///
/// The first claim that does not hold ends the run, with diagnostics that name pass, claim and node.
///
///     VerifyEach verify;
///     auto done = passes.run_passes(module, context, verify);
///
/// Keeps a copy of the graph as it was before the pass. O(nodes + arguments) a pass, and what checkers take.
class VerifyEach {
 public:
  /// Observer: keeps the graph as it is.
  constexpr void before(std::string_view, const Graph& graph) { before_ = graph; }
  /// Observer: proves what the pass claims. Errors: `invalid_graph`, `fact_violated`.
  [[nodiscard]] constexpr auto after(const PassReport& report, const Graph& graph) const -> Status {
    Diagnostics errors;
    if (Status valid = verify(graph); !valid) {
      errors = std::move(valid).error();
      for (Diagnostic& d : errors) d.message = text_of("behind pass '", report.name, "': ", d.message);
      return errors;  // what follows needs a graph that is one
    }
    if (report.claims_unchanged) prove_unchanged(report, graph, errors);
    for (const FactInfo& fact : report.facts)
      if (fact.has_check) prove(fact, report, graph, errors);
    if (errors.empty()) return {};
    return errors;
  }

 private:
  constexpr void prove_unchanged(const PassReport& report, const Graph& graph, Diagnostics& errors) const {
    const NodeId changed = before_.first_difference(graph);
    if (changed == no_node) return;
    errors.add(error_at(
        before_, changed, DiagnosticCode::fact_violated,
        text_of("pass '", report.name, "' claims to have changed nothing, but it changed this node")));
  }
  constexpr void prove(const FactInfo& fact, const PassReport& report, const Graph& graph,
                       Diagnostics& errors) const {
    Status shown = fact.check(graph);
    if (shown) return;
    const bool is_established = Contract::lists(report.contract->establishes, fact);
    // Who kept what was not true to begin with is not to blame.
    const bool was_true = is_established || (verify(before_) && fact.check(before_));
    for (Diagnostic& d : shown.error()) {
      d.code = DiagnosticCode::fact_violated;
      if (was_true)
        d.message = text_of("pass '", report.name, "' claims to ", is_established ? "establish" : "keep",
                            " '", fact.name, "', which is not true behind it: ", d.message);
      else
        d.message = text_of("pass '", report.name, "' was given a module that is said to be '", fact.name,
                            "', and is not: ", d.message);
      errors.add(std::move(d));
    }
  }

  Graph before_;
};

}  // namespace fxpass

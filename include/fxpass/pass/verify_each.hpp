// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/pass/observer.hpp>

#include <utility>

/// @file
/// `VerifyEach`: no pass may break the graph, or claim what is not true.

namespace fxpass {

/// Behind each pass, verifies the graph, and those facts of the module that a graph shows. The first pass that leaves
/// something wrong ends the run, with diagnostics that name it.
struct VerifyEach {
  constexpr auto after(const PassReport& report, const Graph& graph) const -> Status {
    Diagnostics errors;
    if (Status status = verify(graph); !status) errors = std::move(status).error();
    // Checkers need a graph that is one.
    if (errors.empty())
      for (const FactInfo& fact : report.facts)
        if (fact.has_check) detail::check_fact(fact, graph, errors, "the graph is not");
    if (errors.empty()) return {};
    for (Diagnostic& d : errors) d.message = text_of("behind pass '", report.name, "': ", d.message);
    return errors;
  }
};

}  // namespace fxpass

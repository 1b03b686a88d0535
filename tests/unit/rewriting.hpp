// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/print.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <string_view>
#include <utility>

// What the default passes make of a small program.

namespace fxpass::testing {

/// The program after the default passes.
constexpr auto run(GraphBuilder&& builder) -> Expected<Graph> {
  const auto passes = get_default_pass_manager();
  auto module = passes(Module<>(std::move(builder).finish()));
  if (!module) return std::move(module).error();
  return std::move(*module).graph();
}
/// The same as text, or the errors.
constexpr auto rewritten(GraphBuilder&& builder) -> Text {
  const auto graph = run(std::move(builder));
  if (!graph) return text_of(graph.error());
  if (Status valid = verify(*graph); !valid) return text_of("not valid: ", valid.error());
  return text_of(*graph);
}
constexpr auto contains(const Text& text, std::string_view part) -> bool {
  return text.view().find(part) != std::string_view::npos;
}
/// Whether the passes refuse the program by this one error, which names a node.
constexpr auto refused(GraphBuilder&& builder, DiagnosticCode code, std::string_view part) -> bool {
  const auto graph = run(std::move(builder));
  return !graph && graph.error().size() == 1 && graph.error().front().code == code &&
         contains(graph.error().front().message, part) && !graph.error().front().node.empty();
}
constexpr auto accepted(GraphBuilder&& builder) -> bool { return run(std::move(builder)).has_value(); }

}  // namespace fxpass::testing

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/support/expected.hpp>

#include <string_view>
#include <utility>

/// @file
/// The last step of every reader.

namespace fxpass::detail {

/// The graph as a module, or what is wrong with it: a file may be well-formed and still describe no sound program.
[[nodiscard]] inline auto finish_reading(Expected<Graph> graph, std::string_view file_name) -> Expected<Module<>> {
  if (!graph) return std::move(graph).error();
  if (Status verified = verify(*graph); !verified) {
    for (Diagnostic& d : verified.error()) d.input.file = file_name;
    return std::move(verified).error();
  }
  return Module<>(*std::move(graph));
}

}  // namespace fxpass::detail

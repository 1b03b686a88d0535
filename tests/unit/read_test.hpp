// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/print.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/support/expected.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

// What the tests of the readers share.

/// `text` with its first `from` replaced by `to`.
inline auto with(std::string text, std::string_view from, std::string_view to) -> std::string {
  const auto at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, "the text to replace is not there: ", std::string(from));
  return text.replace(at, from.size(), to);
}

/// The graph as PyTorch prints it; the diagnostics if there is none. Also checks that the graph keeps its invariants.
inline auto printed(const fxpass::Expected<fxpass::Module<>>& program) -> std::string {
  fxpass::Text text;
  if (!program) {
    append_to(text, program.error());
  } else {
    const fxpass::Status verified = verify(program->graph());
    if (!verified) append_to(text, verified.error());
    append_to(text, program->graph());
  }
  return std::string(text.view());
}

/// The one diagnostic of a program that cannot be read.
inline auto mistake(const fxpass::Expected<fxpass::Module<>>& program) -> std::string {
  REQUIRE_FALSE(program.has_value());
  CHECK(program.error().size() == 1);
  fxpass::Text text;
  append_to(text, program.error().front());
  return std::string(text.view());
}

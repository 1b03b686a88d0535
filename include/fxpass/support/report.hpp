// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/diagnostic.hpp>

#include <cstdio>

/// @file
/// Telling people what went wrong.

namespace fxpass {

/// Writes one diagnostic a line. Returns the exit status of a program that failed, so that `main` can end
/// with it.
inline auto report(std::FILE* stream, const Diagnostics& diagnostics) -> int {
  const Text text = text_of(diagnostics);
  std::fwrite(text.view().data(), 1, text.size(), stream);
  return 1;
}

}  // namespace fxpass

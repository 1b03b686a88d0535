// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"

namespace fxpassc {

/// `fxpassc compile`: reads, runs the passes, lowers, emits, writes. Returns the exit status.
[[nodiscard]] auto compile(const CompileOptions& options) -> int;

}  // namespace fxpassc

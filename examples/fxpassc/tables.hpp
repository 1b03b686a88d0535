// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace fxpassc {

/// `fxpassc passes`: the default pipeline with the contract of each pass, as the types say.
void print_passes();

/// `fxpassc ops`: the operators that have a lowering, one a line, sorted.
void print_ops();

}  // namespace fxpassc

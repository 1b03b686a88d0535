// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Two is not one.
// expect-first-four: one sentence
// Warnings above the error, of two lines at least each.
#ifndef FXPASS_CONTROL
inline void warned(int count) {}
inline void warned_again(int count) {}
static_assert(sizeof(char) == 2, "one sentence");
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Two is not one.
// expect-error: one sentence
static_assert(sizeof(char) == 1, "one sentence");

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: one sentence
static_assert(sizeof(char) == 1, "one sentence");

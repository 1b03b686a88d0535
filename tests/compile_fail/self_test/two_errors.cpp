// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Two is not one.
// expect-error: one sentence
#ifdef FXPASS_CONTROL
constexpr bool right = true;
#else
constexpr bool right = false;
#endif
static_assert(right, "one sentence");
static_assert(right, "and another");

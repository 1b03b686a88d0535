// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Two is not one.
// expect-error: one sentence
// expect-error-first: error: static.* one sentence \[of two words\]; and more
#ifdef FXPASS_CONTROL
constexpr bool right = true;
#else
constexpr bool right = false;
#endif
static_assert(right, "one sentence [of two words]; and more");

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Two is not one.
// expect-error: one sentence
// A warning above the error quotes its line, so that every compiler prints detail:: there.
#ifndef FXPASS_CONTROL
namespace detail {
void warned(int count);
}
inline void detail::warned(int count) {}
static_assert(sizeof(char) == 2, "one sentence");
#endif

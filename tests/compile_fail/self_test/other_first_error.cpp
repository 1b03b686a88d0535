// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Two is not one.
// expect-error-first: one sentence
#ifndef FXPASS_CONTROL
int count = undeclared;
#endif

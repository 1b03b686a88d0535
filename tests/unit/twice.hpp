// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>

// Runs `bool test()` in constant evaluation, where the compiler rejects undefined behaviour, and again at run
// time, where sanitizers watch and a debugger can follow.
#define FXPASS_TEST_TWICE(test) \
  static_assert(test()); \
  TEST_CASE(#test) { CHECK(test()); }

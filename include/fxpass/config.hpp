// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What fxpass asks of the compiler, said once and in whole sentences. Every public header includes this first.

#if !defined(__cpp_concepts) || __cplusplus < 202002L
#error "fxpass needs C++20: compile with -std=c++20 or newer."
#endif

#if defined(__clang__)
#if __clang_major__ < 16
#error "fxpass needs Clang 16 or newer: older versions cannot evaluate its graph in constant expressions."
#endif
#elif defined(__GNUC__)
#if __GNUC__ < 12
#error "fxpass needs GCC 12 or newer: older versions cannot evaluate its graph in constant expressions."
#endif
#endif

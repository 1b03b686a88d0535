// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "made_up_call.hpp"

#include <doctest/doctest.h>

TEST_CASE("operators are lowered in constant evaluation as in the running program") {
  CHECK(made_up::agrees_with_run_time<made_up::Options::left_out>());
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <string>

#include "made_up_call.hpp"

namespace {

using namespace made_up;

TEST_CASE("every operator is lowered in constant evaluation as in the running program") {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CAPTURE(std::string(entries[i].op));
    CHECK(at_compile_time<Options::left_out>[i]);
    CHECK(is_lowered(entries[i].op, Options::left_out));
  }
}

}  // namespace

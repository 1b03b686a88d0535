// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <string>

#include "made_up_call.hpp"

namespace {

using namespace made_up;

TEST_CASE("so it is with its options") {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string_view op = entries[i].op;
    CAPTURE(std::string(op));
    // Training draws random numbers.
    const bool is_random = op == "aten.dropout" || op == "aten.feature_dropout";
    CHECK(at_compile_time<Options::given>[i] == !is_random);
    CHECK(is_lowered(op, Options::given) == !is_random);
  }
}

}  // namespace

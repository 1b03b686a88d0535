// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "everything.hpp"

auto addresses_in_second() -> Addresses;

// odr PROGRAM.pt2
auto main(int argc, char** argv) -> int {
  return argc == 2 && addresses() == addresses_in_second() && compiles(argv[1]) ? 0 : 1;
}

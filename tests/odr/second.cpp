// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "everything.hpp"

auto addresses_in_second() -> Addresses { return addresses(); }

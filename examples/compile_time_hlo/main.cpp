// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the HLO that constant.cpp made at compile time. The status is 0 if the same model, compiled again at
// run time, is the same text.
#include "model.hpp"

#include <cstdio>

int main() {
  std::fwrite(step_hlo.data(), 1, step_hlo.size(), stdout);
  return fxpass::emit<fxpass::HloText>(lower_step()) == step_hlo ? 0 : 1;
}

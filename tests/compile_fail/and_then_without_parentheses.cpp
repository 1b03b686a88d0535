// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The function that makes the default passes, not called.
// expect-error-first: fxpass: and_then takes a function: pipeline\(pass\), get_default_pass_manager\(\)
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto run(Expected<Module<>> program) {
#ifdef FXPASS_CONTROL
  return std::move(program).and_then(get_default_pass_manager()).has_value();
#else
  return std::move(program).and_then(get_default_pass_manager).has_value();
#endif
}

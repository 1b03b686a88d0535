// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass, which is no function of a module, handed to `and_then`.
// expect-error-first: fxpass: and_then takes a function: pipeline\(pass\), get_default_pass_manager\(\)
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto run(Expected<Module<>> program) {
#ifdef FXPASS_CONTROL
  return program.and_then(pipeline(DeviceRewriterPass{})).has_value();
#else
  return program.and_then(DeviceRewriterPass{}).has_value();
#endif
}

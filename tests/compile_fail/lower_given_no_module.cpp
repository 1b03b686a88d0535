// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: An option is given where the module belongs.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::LowerTo<fxpass::XlaTarget>, fxpass::verdict::is_given<bool>, fxpass::verdict::which_is_no_module
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto has_hlo(const Expected<Module<>>& program, bool enable_fx_passes) -> bool {
#ifdef FXPASS_CONTROL
  return program && compile(*program, {.enable_fx_passes = enable_fx_passes}).has_value();
#else
  return program && lower(xla)(enable_fx_passes).has_value();
#endif
}

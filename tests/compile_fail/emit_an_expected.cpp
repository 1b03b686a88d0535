// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: HLO is to be emitted of what may hold errors.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::verdict::emit_with<fxpass::HloText>, fxpass::verdict::is_given<fxpass::Expected<fxpass::LoweredModule> *>, fxpass::verdict::which_may_hold_errors_in_place_of_a_value, fxpass::verdict::to_mend<fxpass::verdict::emit_what_it_holds
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto print(const Expected<LoweredModule>& lowered) {
#ifdef FXPASS_CONTROL
  return lowered ? emit<HloText>(*lowered) : Text();
#else
  return emit<HloText>(lowered);
#endif
}

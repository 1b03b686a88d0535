// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Facts are to be proved of what may be an error.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::verdict::check_facts<fxpass::OutOfPlace>, fxpass::verdict::is_given<fxpass::Expected<fxpass::ModuleOf<> ?>>?[ >]*, fxpass::verdict::which_may_hold_errors_in_place_of_a_value, fxpass::verdict::to_mend<fxpass::verdict::give_what_it_holds
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto is_out_of_place(const Expected<Module<>>& program) -> bool {
#ifdef FXPASS_CONTROL
  return program && check_facts<OutOfPlace>(*program).has_value();
#else
  return program && check_facts<OutOfPlace>(program).has_value();
#endif
}

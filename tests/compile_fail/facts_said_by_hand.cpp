// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A module is said by hand to have a fact.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::ModuleOf<fxpass::OutOfPlace>, fxpass::verdict::is_given<fxpass::Graph>, fxpass::verdict::which_says_nothing_of<fxpass::OutOfPlace>
// expect-first-four: to_mend<fxpass::verdict::run_passes_that_establish_them_or_check_facts
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

auto prepared(const Graph& graph) {
#ifdef FXPASS_CONTROL
  return check_facts<OutOfPlace>(Module<>(graph));
#else
  return Expected<Module<OutOfPlace>>(Module<OutOfPlace>(graph));
#endif
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The same through `and_then`.
// expect-error-first: fxpass: the module lacks a fact that is needed here
// expect-first-four: missing_fact<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
#include <fxpass/fxpass.hpp>

using namespace fxpass;

// An lvalue that is not constant, as a reader's result mostly is.
auto run(Expected<Module<>> program) {
#ifdef FXPASS_CONTROL
  return program.and_then(get_default_pass_manager()).has_value();
#else
  return program.and_then(pipeline(InPlaceToOutOfPlacePass{})).has_value();
#endif
}

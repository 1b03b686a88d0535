// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pipeline is called with what a reader returned, errors and all.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::Pipeline<fxpass::DeviceRewriterPass>, fxpass::verdict::is_given<fxpass::Expected<fxpass::ModuleOf<> *> *>, fxpass::verdict::which_may_hold_errors_in_place_of_a_value, fxpass::verdict::to_mend<fxpass::verdict::write_given_and_then_of<fxpass::Pipeline<fxpass::DeviceRewriterPass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

auto run(const Expected<Module<>>& program) {
  constexpr auto passes = pipeline(DeviceRewriterPass{});
#ifdef FXPASS_CONTROL
  return program.and_then(passes).has_value();
#else
  return passes(program).has_value();
#endif
}

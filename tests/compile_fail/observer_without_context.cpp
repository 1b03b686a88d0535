// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pipeline gets an observer, but no context.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: is_given<fxpass::VerifyEach>, fxpass::verdict::where_a_context_belongs, fxpass::verdict::to_mend<fxpass::verdict::write_run_passes_of_module_and_context_and_observers
#include <fxpass/passes/default_pipeline.hpp>

#include <fxpass/pass/verify_each.hpp>

using namespace fxpass;

auto run(Module<> module) {
  VerifyEach verify_each;
#ifdef FXPASS_CONTROL
  Context context;
  return pipeline(DeviceRewriterPass{}).run_passes(module, context, verify_each).has_value();
#else
  return pipeline(DeviceRewriterPass{}).run_passes(module, verify_each).has_value();
#endif
}

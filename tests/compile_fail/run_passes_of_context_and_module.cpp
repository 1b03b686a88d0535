// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The context is given before the module.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::Pipeline<fxpass::DeviceRewriterPass>, fxpass::verdict::is_given<fxpass::Context>, fxpass::verdict::which_is_no_module, fxpass::verdict::to_mend<fxpass::verdict::write_run_passes_of_module_and_context_and_observers
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

auto runs(const Module<>& module) -> bool {
  Context context;
#ifdef FXPASS_CONTROL
  return pipeline(DeviceRewriterPass{}).run_passes(module, context).has_value();
#else
  return pipeline(DeviceRewriterPass{}).run_passes(context, module).has_value();
#endif
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error-first: fxpass: a fact is true of the module that a pass forbids
// expect-error: forbidden_fact<fxpass::verdict::pass<fxpass::AliasingOutputRewritePass>, fxpass::verdict::forbids<fxpass::OutOfPlace>
// expect-error: is_true_of_the_module, fxpass::verdict::to_mend<fxpass::verdict::leave_out<fxpass::AliasingOutputRewritePass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
auto run(Module<OnTargetDevice> module) {
#else
auto run(Module<OnTargetDevice, OutOfPlace> module) {
#endif
  return pipeline(AliasingOutputRewritePass{})(module)->graph();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pipeline meets a module of which a fact is true that its pass forbids.
// expect-error-first: fxpass: a fact is true of the module that a pass forbids
// expect-first-four: forbidden_fact<fxpass::verdict::pass<fxpass::AliasingOutputRewritePass>, fxpass::verdict::forbids<fxpass::OutOfPlace>
// expect-first-four: is_true_of_the_module, fxpass::verdict::to_mend<fxpass::verdict::leave_out<fxpass::AliasingOutputRewritePass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
auto run(Module<OnTargetDevice> module) {
#else
auto run(Module<OnTargetDevice, OutOfPlace> module) {
#endif
  return pipeline(AliasingOutputRewritePass{})(module)->graph();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The same in a chain of `add_pass`: what follows adds no second error.
// expect-error-first: fxpass: wrong pass order
// expect-first-four: wrong_pass_order<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-first-four: is_established_later_by<fxpass::AliasingOutputRewritePass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

// What follows the mistake, a further pass and a run, adds no second error.
auto run(Module<> module) {
#ifdef FXPASS_CONTROL
  constexpr auto passes = FXPassManager{}
                              .add_pass(AliasingOutputRewritePass{})
                              .add_pass(InPlaceToOutOfPlacePass{})
                              .add_pass(DeviceRewriterPass{});
#else
  constexpr auto passes = FXPassManager{}
                              .add_pass(InPlaceToOutOfPlacePass{})
                              .add_pass(AliasingOutputRewritePass{})
                              .add_pass(DeviceRewriterPass{});
#endif
  return passes.run_passes(module)->graph();
}

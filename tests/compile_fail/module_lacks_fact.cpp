// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pipeline meets a module that lacks what its pass needs.
// expect-error-first: fxpass: the module lacks a fact that is needed here
// expect-first-four: missing_fact<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-first-four: is_not_true_of_the_module
// expect-first-four: to_mend<fxpass::verdict::add<fxpass::AliasingOutputRewritePass>, fxpass::verdict::before<fxpass::InPlaceToOutOfPlacePass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

auto run(Module<> module) -> Expected<Module<MutationsSurfaced, OutOfPlace>> {
  // Right by itself: the need becomes the pipeline's own.
  constexpr auto in_place = pipeline(InPlaceToOutOfPlacePass{});
#ifdef FXPASS_CONTROL
  constexpr auto passes = pipeline(AliasingOutputRewritePass{}, in_place);
#else
  constexpr auto passes = in_place;
#endif
  return passes(module);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass needs what only a pass establishes that may be switched off.
// expect-error-first: fxpass: wrong pass order
// expect-first-four: wrong_pass_order<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-first-four: is_established_only_when_on<fxpass::AliasingOutputRewritePass>
// expect-first-four: to_mend<fxpass::verdict::take_out_of_optional_pass<fxpass::AliasingOutputRewritePass>
#include <fxpass/pass/optional_pass.hpp>

#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

constexpr auto passes(bool functionalises) {
#ifdef FXPASS_CONTROL
  return optional_pass(DeviceRewriterPass{}, functionalises) | AliasingOutputRewritePass{} | InPlaceToOutOfPlacePass{};
#else
  return optional_pass(AliasingOutputRewritePass{}, functionalises) | InPlaceToOutOfPlacePass{};
#endif
}

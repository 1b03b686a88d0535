// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error-first: fxpass: wrong pass order
// expect-error: wrong_pass_order<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-error: is_established_only_when_on<fxpass::AliasingOutputRewritePass>
// expect-error: to_mend<fxpass::verdict::take_out_of_optional_pass<fxpass::AliasingOutputRewritePass>
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

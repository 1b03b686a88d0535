// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass stands before the pass that establishes what it needs.
// expect-error-first: fxpass: wrong pass order
// expect-first-four: wrong_pass_order<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-first-four: is_established_later_by<fxpass::AliasingOutputRewritePass>
// expect-first-four: to_mend<fxpass::verdict::move<fxpass::AliasingOutputRewritePass>, fxpass::verdict::before<fxpass::InPlaceToOutOfPlacePass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = AliasingOutputRewritePass{} | InPlaceToOutOfPlacePass{};
#else
inline constexpr auto passes = InPlaceToOutOfPlacePass{} | AliasingOutputRewritePass{};
#endif

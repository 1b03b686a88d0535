// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass is repeated that loses what it needs.
// expect-error-first: fxpass: this cannot be repeated
// expect-first-four: not_repeatable<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-first-four: fxpass::verdict::was_lost_by<fxpass::InPlaceToOutOfPlacePass>
// expect-first-four: to_mend<fxpass::verdict::add<fxpass::AliasingOutputRewritePass>, fxpass::verdict::before<fxpass::InPlaceToOutOfPlacePass>
#include <fxpass/pass/repeat.hpp>

#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = pipeline(AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{});
#else
inline constexpr auto passes = pipeline(AliasingOutputRewritePass{}, repeat<5>(InPlaceToOutOfPlacePass{}));
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass is repeated that its own result forbids.
// expect-error-first: fxpass: this cannot be repeated
// expect-first-four: not_repeatable<fxpass::verdict::pass<fxpass::AliasingOutputRewritePass>, fxpass::verdict::forbids<fxpass::OutOfPlace>
// expect-first-four: fxpass::verdict::was_established_by<fxpass::InPlaceToOutOfPlacePass>
// expect-first-four: to_mend<fxpass::verdict::leave_out<fxpass::InPlaceToOutOfPlacePass>
#include <fxpass/pass/repeat.hpp>

#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = repeat<5>(pipeline(DeviceRewriterPass{}, AliasingOutputRewritePass{}));
#else
inline constexpr auto passes = repeat<5>(pipeline(AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{}));
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error-first: fxpass: this cannot be repeated
// expect-error: not_repeatable<fxpass::verdict::pass<fxpass::AliasingOutputRewritePass>, fxpass::verdict::forbids<fxpass::OutOfPlace>
// expect-error: fxpass::verdict::was_established_by<fxpass::InPlaceToOutOfPlacePass>
// expect-error: to_mend<fxpass::verdict::leave_out<fxpass::InPlaceToOutOfPlacePass>
#include <fxpass/pass/repeat.hpp>

#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = repeat<5>(pipeline(DeviceRewriterPass{}, AliasingOutputRewritePass{}));
#else
inline constexpr auto passes = repeat<5>(pipeline(AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{}));
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass is repeated zero times.
// expect-error-first: fxpass: this cannot be repeated
// expect-first-four: not_repeatable<fxpass::verdict::pass<fxpass::Repeat<0, fxpass::DeviceRewriterPass> ?>, fxpass::verdict::has_no_round
// expect-first-four: to_mend<fxpass::verdict::allow_at_least_one_round>
#include <fxpass/pass/repeat.hpp>

#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto settled = repeat<10>(DeviceRewriterPass{}) | AliasingOutputRewritePass{};
#else
inline constexpr auto settled = repeat<0>(DeviceRewriterPass{}) | AliasingOutputRewritePass{};
#endif

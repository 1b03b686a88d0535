// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass forbids what an earlier pass has established.
// expect-error-first: fxpass: wrong pass order
// expect-first-four: wrong_pass_order<fxpass::verdict::pass<fxpass::NamedPass<.*AliasingOutputRewritePass
// expect-first-four: fxpass::verdict::forbids<fxpass::OutOfPlace>, fxpass::verdict::was_established_by<fxpass::InPlaceToOutOfPlacePass>
// expect-first-four: fxpass::verdict::before<fxpass::InPlaceToOutOfPlacePass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

inline constexpr auto both = pipeline(AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{});

#ifdef FXPASS_CONTROL
inline constexpr auto passes = both | DeviceRewriterPass{};
#else
inline constexpr auto passes = both | named<"aliasing_again">(AliasingOutputRewritePass{});
#endif

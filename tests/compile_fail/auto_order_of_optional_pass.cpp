// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: No order helps a pass that needs what only an optional pass establishes.
// expect-error-first: fxpass: these passes have no legal order
// expect-first-four: no_legal_order<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-first-four: is_established_only_when_on<fxpass::AliasingOutputRewritePass>
// expect-first-four: to_mend<fxpass::verdict::take_out_of_optional_pass<fxpass::AliasingOutputRewritePass>
#include <fxpass/pass/auto_order.hpp>

#include <fxpass/pass/optional_pass.hpp>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = auto_order(InPlaceToOutOfPlacePass{}, AliasingOutputRewritePass{});
#else
inline constexpr auto passes = auto_order(InPlaceToOutOfPlacePass{}, optional_pass(AliasingOutputRewritePass{}, true));
#endif

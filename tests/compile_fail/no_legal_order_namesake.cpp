// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass is to be put in order twice under one name.
// expect-error-first: fxpass: two passes of a pipeline have one name
// expect-first-four: duplicate_pass<fxpass::verdict::pass<fxpass::DeviceRewriterPass>, fxpass::verdict::has_the_name_of<fxpass::DeviceRewriterPass>
// expect-first-four: to_mend<fxpass::verdict::wrap_in_named<fxpass::DeviceRewriterPass> ?>
#include <fxpass/pass/auto_order.hpp>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = auto_order(named<"again">(DeviceRewriterPass{}), get_default_pass_manager());
#else
inline constexpr auto passes = auto_order(DeviceRewriterPass{}, get_default_pass_manager());
#endif

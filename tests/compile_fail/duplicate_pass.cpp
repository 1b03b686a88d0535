// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass is in a pipeline twice.
// expect-error-first: fxpass: two passes of a pipeline have one name
// expect-first-four: duplicate_pass<fxpass::verdict::pass<fxpass::DeviceRewriterPass>, fxpass::verdict::has_the_name_of<fxpass::DeviceRewriterPass>
// expect-first-four: to_mend<fxpass::verdict::wrap_in_named<fxpass::DeviceRewriterPass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = DeviceRewriterPass{} | named<"device_again">(DeviceRewriterPass{.target = "cpu"});
#else
inline constexpr auto passes = DeviceRewriterPass{} | DeviceRewriterPass{.target = "cpu"};
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Something that is no pass stands in a pipeline.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<int, fxpass::verdict::has_no_static_name, fxpass::verdict::to_mend<fxpass::verdict::write_static_constexpr_string_view_name
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = DeviceRewriterPass{} | AliasingOutputRewritePass{};
#else
inline constexpr auto passes = DeviceRewriterPass{} | 3;
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass is taken out of a pipeline that does not have it.
// expect-error-first: fxpass: the pipeline has no such pass
// expect-first-four: no_such_pass<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::in<fxpass::Pipeline<fxpass::DeviceRewriterPass>.*to_mend<fxpass::verdict::name_one_of_its_passes
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = pipeline(DeviceRewriterPass{}).without<DeviceRewriterPass>();
#else
inline constexpr auto passes = pipeline(DeviceRewriterPass{}).without<InPlaceToOutOfPlacePass>();
#endif

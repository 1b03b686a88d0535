// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass is taken out of a pipeline in which it stands inside another pass.
// expect-error-first: fxpass: the pipeline has no such pass
// expect-first-four: no_such_pass<fxpass::verdict::pass<fxpass::DeviceRewriterPass>, fxpass::verdict::in<fxpass::Pipeline<
// expect-first-four: fxpass::verdict::is_inside<fxpass::Repeat<3, fxpass::DeviceRewriterPass, fxpass::CollectiveReplicaGroupsPass>
// expect-first-four: to_mend<fxpass::verdict::replace<fxpass::Repeat<
#include <fxpass/pass/repeat.hpp>

#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

inline constexpr auto rounds = repeat<3>(pipeline(DeviceRewriterPass{}, CollectiveReplicaGroupsPass{}));
#ifdef FXPASS_CONTROL
inline constexpr auto passes = pipeline(rounds).replace<decltype(rounds)>(repeat<3>(CollectiveReplicaGroupsPass{}));
#else
inline constexpr auto passes = pipeline(rounds).without<DeviceRewriterPass>();
#endif

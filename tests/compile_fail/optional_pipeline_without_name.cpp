// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pipeline without a name is to be one optional step.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<fxpass::Pipeline<fxpass::AliasingOutputRewritePass, fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::is_a_pipeline_without_a_name
// expect-first-four: to_mend<fxpass::verdict::wrap_in_named<fxpass::Pipeline<
#include <fxpass/pass/optional_pass.hpp>

#include <fxpass/pass/named_pipeline.hpp>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

inline constexpr auto both = pipeline(AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{});
#ifdef FXPASS_CONTROL
inline constexpr auto maybe_both = optional_pass(named<"functionalise">(both), true);
#else
inline constexpr auto maybe_both = optional_pass(both, true);
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pipeline is to be made of what is no Hana sequence.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: is_given<std::tuple<fxpass::DeviceRewriterPass
// expect-first-four: fxpass::verdict::which_is_no_hana_sequence, fxpass::verdict::to_mend<fxpass::verdict::write_pipeline_of_its_passes
#include <fxpass/passes/default_pipeline.hpp>

#include <boost/hana/tuple.hpp>

#include <tuple>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto both = boost::hana::make_tuple(DeviceRewriterPass{}, AliasingOutputRewritePass{});
#else
inline constexpr auto both = std::make_tuple(DeviceRewriterPass{}, AliasingOutputRewritePass{});
#endif
inline constexpr auto passes = pipeline_from(both);

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Something that is no pass is to be put in order.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Options, fxpass::verdict::has_no_static_name,
#include <fxpass/pass/auto_order.hpp>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Options {
  bool fast = false;
};

#ifdef FXPASS_CONTROL
inline constexpr auto passes = auto_order(InPlaceToOutOfPlacePass{}, AliasingOutputRewritePass{});
#else
inline constexpr auto passes = auto_order(InPlaceToOutOfPlacePass{}, AliasingOutputRewritePass{}, Options{});
#endif

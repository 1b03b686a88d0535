// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass is inserted before a fact.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<fxpass::AliasesAnalysed, fxpass::verdict::has_no_run_nor_begin
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
inline constexpr auto passes = pipeline(InPlaceToOutOfPlacePass{}).insert_before<InPlaceToOutOfPlacePass>(
    AliasingOutputRewritePass{});
#else
inline constexpr auto passes = pipeline(InPlaceToOutOfPlacePass{}).insert_before<AliasesAnalysed>(
    AliasingOutputRewritePass{});
#endif

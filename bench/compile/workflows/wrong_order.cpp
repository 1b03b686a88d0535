// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Must not compile: how long the compiler takes to say so.
#include <fxpass/passes/default_pipeline.hpp>

constexpr auto wrong = fxpass::pipeline(fxpass::InPlaceToOutOfPlacePass(), fxpass::AliasingOutputRewritePass());

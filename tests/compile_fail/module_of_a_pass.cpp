// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A module is said to have a pass, not a fact.
// expect-error-first: fxpass: this is not a fact
// expect-first-four: not_a_fact<fxpass::InPlaceToOutOfPlacePass, fxpass::verdict::is_a_pass
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
using Prepared = Module<OutOfPlace>;
#else
using Prepared = Module<InPlaceToOutOfPlacePass>;
#endif
auto nodes(const Prepared& module) { return module.graph().node_count(); }

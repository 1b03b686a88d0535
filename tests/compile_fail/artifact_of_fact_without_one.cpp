// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: An artifact is asked for that does not exist.
// expect-error-first: fxpass: no artifact comes with this
// expect-first-four: no_artifact<fxpass::verdict::artifact_of<fxpass::OutOfPlace>, fxpass::verdict::has_no_artifact
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

auto look(const Module<AliasesAnalysed, OutOfPlace>& module) {
#ifdef FXPASS_CONTROL
  return module.artifact<AliasesAnalysed>();
#else
  return module.artifact<OutOfPlace>();
#endif
}

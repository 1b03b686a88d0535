// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The artifact of a fact is asked of a module of which the fact is not known to be true.
// expect-error-first: fxpass: the module lacks a fact that is needed here
// expect-first-four: missing_fact<fxpass::verdict::artifact_of<fxpass::AliasesAnalysed>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-first-four: to_mend<fxpass::verdict::add<fxpass::AliasingOutputRewritePass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
auto views(const Module<AliasesAnalysed, MutationsSurfaced>& module) {
#else
auto views(const Module<MutationsSurfaced>& module) {
#endif
  return module.artifact<AliasesAnalysed>();
}

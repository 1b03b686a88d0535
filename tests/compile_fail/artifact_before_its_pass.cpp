// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The artifact of a fact is asked for that no pass has established.
// expect-error-first: fxpass: the module lacks a fact that is needed here
// expect-first-four: missing_fact<fxpass::verdict::artifact_of<fxpass::AliasesAnalysed>, fxpass::verdict::needs<fxpass::AliasesAnalysed>, fxpass::verdict::is_not_true_of_the_module, fxpass::verdict::to_mend<fxpass::verdict::add<fxpass::AliasingOutputRewritePass>, fxpass::verdict::to_the_passes_that_the_module_comes_from
#include <fxpass/fxpass.hpp>

using namespace fxpass;

#ifdef FXPASS_CONTROL
auto is_trivial(const Module<AliasesAnalysed>& module) -> bool {
#else
auto is_trivial(const Module<>& module) -> bool {
#endif
  const AliasAnalysis& aliases = module.artifact<AliasesAnalysed>();
  return aliases == AliasAnalysis();
}

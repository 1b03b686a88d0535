// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A module is lowered on which no pass has run.
// expect-error-first: fxpass: the module lacks a fact that is needed here
// expect-first-four: missing_fact<fxpass::LowerTo<fxpass::neuron::Target>, fxpass::verdict::needs<fxpass::OnTargetDevice, fxpass::MutationsSurfaced, fxpass::OutOfPlace, fxpass::KernelsConfigured, fxpass::ReplicaGroupsResolved>, fxpass::verdict::are_not_true_of_the_module
// expect-first-four: to_mend<fxpass::verdict::run_the_passes_of_get_default_pass_manager, fxpass::verdict::before<fxpass::LowerTo<fxpass::neuron::Target>
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto compile_program(const Expected<Module<>>& program) {
#ifdef FXPASS_CONTROL
  return program.and_then(get_default_pass_manager()).and_then(lower(neuron::trn2)).has_value();
#else
  return program.and_then(lower(neuron::trn2)).has_value();
#endif
}

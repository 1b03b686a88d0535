// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A module whose collectives have no replica groups is lowered.
// expect-error-first: fxpass: the module lacks a fact that is needed here
// expect-first-four: missing_fact<fxpass::LowerTo<fxpass::neuron::Target>, fxpass::verdict::needs<fxpass::ReplicaGroupsResolved>, fxpass::verdict::is_not_true_of_the_module
// expect-first-four: to_mend<fxpass::verdict::add<fxpass::CollectiveReplicaGroupsPass>, fxpass::verdict::before<fxpass::LowerTo<fxpass::neuron::Target>
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto compile_program(const Expected<Module<>>& program) {
#ifdef FXPASS_CONTROL
  constexpr auto passes = get_default_pass_manager();
#else
  constexpr auto passes = get_default_pass_manager().without<CollectiveReplicaGroupsPass>();
#endif
  return program.and_then(passes).and_then(lower(neuron::trn2)).has_value();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: HLO is to be emitted of a module of nodes.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::verdict::emit_with<fxpass::HloText>, fxpass::verdict::is_given<fxpass::ModuleOf<fxpass::KernelsConfigured
// expect-first-four: fxpass::verdict::which_is_not_lowered, fxpass::verdict::to_mend<fxpass::verdict::lower_it_first
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto print(const Module<OnTargetDevice, MutationsSurfaced, OutOfPlace, KernelsConfigured, ReplicaGroupsResolved>& module) {
#ifdef FXPASS_CONTROL
  return emit<HloText>(*lower(neuron::trn2)(module));
#else
  return emit<HloText>(module);
#endif
}

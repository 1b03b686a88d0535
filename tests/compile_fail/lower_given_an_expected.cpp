// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: What may be an error is lowered as if it were a module.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::LowerTo<fxpass::XlaTarget>, fxpass::verdict::is_given<fxpass::Expected<
#include <fxpass/fxpass.hpp>

using namespace fxpass;

using InOrder = Module<OnTargetDevice, MutationsSurfaced, OutOfPlace, KernelsConfigured, ReplicaGroupsResolved>;

void print(const Expected<InOrder>& module) {
#ifdef FXPASS_CONTROL
  const Expected<LoweredModule> lowered = module.and_then(lower(xla));
#else
  const LoweredModule lowered = lower(xla)(module);
#endif
  static_cast<void>(lowered);
}

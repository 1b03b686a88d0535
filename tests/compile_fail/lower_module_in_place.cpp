// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A module that may still write in place is lowered.
// expect-error-first: fxpass: the module lacks a fact that is needed here
// expect-first-four: fxpass::verdict::needs<fxpass::OutOfPlace>, fxpass::verdict::is_not_true_of_the_module
// expect-first-four: to_mend<fxpass::verdict::add<fxpass::InPlaceToOutOfPlacePass>
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto compile_program(const Expected<Module<>>& program) {
#ifdef FXPASS_CONTROL
  constexpr auto passes = get_default_pass_manager();
#else
  constexpr auto passes = get_default_pass_manager().without<InPlaceToOutOfPlacePass>();
#endif
  return program.and_then(passes).and_then(lower(neuron::trn2)).has_value();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The user's own in-place pass does not keep MutationsSurfaced, which is what io_map stands on.
// expect-error-first: fxpass: the module lacks a fact that is needed here
// expect-first-four: missing_fact<fxpass::LowerTo<fxpass::neuron::Target>, fxpass::verdict::needs<fxpass::MutationsSurfaced>, fxpass::verdict::is_not_true_of_the_module
// expect-first-four: to_mend<fxpass::verdict::declare_keeps<fxpass::MutationsSurfaced>, fxpass::verdict::in_the_pass_that_establishes<fxpass::OutOfPlace>
#include <fxpass/fxpass.hpp>

using namespace fxpass;

struct MyInPlacePass {
  static constexpr std::string_view name = "my_inplace";
  using needs = facts<AliasesAnalysed, MutationsSurfaced>;
  using establishes = facts<OutOfPlace>;
#ifdef FXPASS_CONTROL
  using keeps = everything_but<AliasesAnalysed>;
#else
  using keeps = everything_but<AliasesAnalysed, MutationsSurfaced>;
#endif
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};

auto compile_program(const Expected<Module<>>& program) {
  constexpr auto passes = get_default_pass_manager().replace<InPlaceToOutOfPlacePass>(MyInPlacePass{});
  return program.and_then(passes).and_then(lower(neuron::trn2)).has_value();
}

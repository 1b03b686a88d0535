// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A graph is compiled, of which no type says what is known.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::verdict::compile, fxpass::verdict::is_given<fxpass::Graph>, fxpass::verdict::which_says_nothing_of_facts, fxpass::verdict::to_mend<fxpass::verdict::wrap_it_in_a_module
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto to_hlo(const Graph& graph) -> Expected<LoweredModule> {
#ifdef FXPASS_CONTROL
  return compile(Module<>(graph), {.target_device = "xla"});
#else
  return compile(graph, {.target_device = "xla"});
#endif
}

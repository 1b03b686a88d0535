// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pipeline is called with a graph.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: is_given<fxpass::Graph>, fxpass::verdict::which_says_nothing_of_facts, fxpass::verdict::to_mend<fxpass::verdict::wrap_it_in_a_module
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

auto run(const Graph& graph) {
  constexpr auto passes = pipeline(DeviceRewriterPass{});
#ifdef FXPASS_CONTROL
  return passes.run_passes(Module<>(graph)).has_value();
#else
  return passes.run_passes(graph).has_value();
#endif
}

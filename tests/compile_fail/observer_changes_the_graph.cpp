// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: An observer asks for a graph that it can change.
// expect-error-first: fxpass: this is not an observer of passes
// expect-first-four: not_an_observer<Diary, fxpass::verdict::before_must_take_a_name_and_a_const_graph
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Diary {
#ifdef FXPASS_CONTROL
  void before(std::string_view, const Graph&) {}
#else
  void before(std::string_view, Graph&) {}
#endif
};

auto run(Module<> module, Context& context) {
  Diary diary;
  return pipeline(DeviceRewriterPass{}).run_passes(module, context, diary).has_value();
}

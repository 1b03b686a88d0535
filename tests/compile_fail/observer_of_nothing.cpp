// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: An observer has no member that a pipeline calls.
// expect-error-first: fxpass: this is not an observer of passes
// expect-first-four: not_an_observer<Diary, fxpass::verdict::has_no_before_after_or_failed
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Diary {
#ifdef FXPASS_CONTROL
  void before(std::string_view, const Graph&) {}
#else
  void on_pass(std::string_view, const Graph&) {}
#endif
};

auto run(Module<> module, Context& context) {
  Diary diary;
  return pipeline(DeviceRewriterPass{}).run_passes(module, context, diary).has_value();
}

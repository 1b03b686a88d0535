// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: An observer returns bool, which nobody would look at.
// expect-error-first: fxpass: this is not an observer of passes
// expect-first-four: not_an_observer<Diary, fxpass::verdict::after_must_return_nothing_or_a_status
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Diary {
#ifdef FXPASS_CONTROL
  auto after(const PassReport&, const Graph&) -> Status { return {}; }
#else
  auto after(const PassReport&, const Graph&) -> bool { return true; }
#endif
};

auto run(Module<> module, Context& context) {
  Diary diary;
  return pipeline(DeviceRewriterPass{}).run_passes(module, context, diary).has_value();
}

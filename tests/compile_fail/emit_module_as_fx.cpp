// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A module is given to an emitter of graphs.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::verdict::emit_with<fxpass::FxText>, fxpass::verdict::is_given<fxpass::ModuleOf<> ?>, fxpass::verdict::which_is_no_graph, fxpass::verdict::to_mend<fxpass::verdict::emit_its_graph
#include <fxpass/fxpass.hpp>

using namespace fxpass;

void print(const Module<>& module) {
#ifdef FXPASS_CONTROL
  static_cast<void>(emit<FxText>(module.graph()));
#else
  static_cast<void>(emit<FxText>(module));
#endif
}

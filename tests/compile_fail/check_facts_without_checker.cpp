// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A fact that has no check is to be proved by checking.
// expect-error-first: fxpass: check_facts proves facts that have a checker
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Blessed {
  static constexpr std::string_view name = "blessed";
};

auto prove(Module<> module) {
#ifdef FXPASS_CONTROL
  return check_facts<OutOfPlace>(module).has_value();
#else
  return check_facts<Blessed>(module).has_value();
#endif
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass counts in itself: `run` is not const.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Counter, fxpass::verdict::run_must_be_const>
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

// A pass that counts in itself would give another result the second time: counts go to the context.
struct Counter {
  static constexpr std::string_view name = "counter";
#ifdef FXPASS_CONTROL
  constexpr auto run(Graph&, Context& context) const -> Status {
    context.count("runs");
    return {};
  }
#else
  constexpr auto run(Graph&, Context&) -> Status {
    ++runs;
    return {};
  }
  int runs = 0;
#endif
};

inline constexpr auto passes = pipeline(Counter{});

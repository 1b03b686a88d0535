// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The function of a lowering takes a node in place of a call.
// expect-error-first: fxpass: this is not a lowering
// expect-first-four: not_a_lowering<LowerTwice, fxpass::verdict::lower_must_take_a_context_and_a_call
#include <fxpass/lower/lower.hpp>

using namespace fxpass;

struct LowerTwice {
#ifdef FXPASS_CONTROL
  static constexpr std::string_view op = "mylib.twice";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().add(c.tensor(call, "x"), c.tensor(call, "x"));
  }
#else
  static constexpr std::string_view op = "mylib.twice";
  static constexpr auto lower(auto& c, const Node&) -> hlo::Value { return c.builder().scalar(DType::f32, 0); }
#endif
};

inline constexpr auto mine = default_lowerings + lowerings<LowerTwice>{};

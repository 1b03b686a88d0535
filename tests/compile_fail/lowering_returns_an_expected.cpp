// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A lowering returns an Expected; what is wrong it tells its context.
// expect-error-first: fxpass: this is not a lowering
// expect-first-four: not_a_lowering<LowerTwice, fxpass::verdict::lower_must_return_a_value_or_a_pool_of_values_or_nothing
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
  static constexpr auto lower(auto& c, const Call& call) -> Expected<hlo::Value> {
    return c.builder().add(c.tensor(call, "x"), c.tensor(call, "x"));
  }
#endif
};

inline constexpr auto mine = default_lowerings + lowerings<LowerTwice>{};

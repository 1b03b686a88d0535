// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The operator of a lowering is called `name`.
// expect-error-first: fxpass: this is not a lowering
// expect-first-four: not_a_lowering<LowerTwice, fxpass::verdict::has_member_name_where_op_is_meant
#include <fxpass/lower/lower.hpp>

using namespace fxpass;

struct LowerTwice {
#ifdef FXPASS_CONTROL
  static constexpr std::string_view op = "mylib.twice";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().add(c.tensor(call, "x"), c.tensor(call, "x"));
  }
#else
  static constexpr std::string_view name = "mylib.twice";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().add(c.tensor(call, "x"), c.tensor(call, "x"));
  }
#endif
};

inline constexpr auto mine = default_lowerings + lowerings<LowerTwice>{};

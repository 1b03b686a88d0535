// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A lowering is added to a list without a list around it.
// expect-error-first: fxpass: this is not a list of lowerings
// expect-first-four: not_a_list_of_lowerings<LowerTwice, fxpass::verdict::to_mend<fxpass::verdict::write<fxpass::lowerings<LowerTwice
#include <fxpass/lower/lower.hpp>

using namespace fxpass;

struct LowerTwice {
  static constexpr std::string_view op = "mylib.twice";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().add(c.tensor(call, "x"), c.tensor(call, "x"));
  }
};

#ifdef FXPASS_CONTROL
inline constexpr auto mine = default_lowerings + lowerings<LowerTwice>{};
#else
inline constexpr auto mine = default_lowerings + LowerTwice{};
#endif

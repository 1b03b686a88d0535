// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A lowering is to replace another one, but there is none for its operator.
// expect-error-first: fxpass: this is not what the function takes
// expect-first-four: wrong_argument<fxpass::verdict::override_with<fxpass::lowerings<OwnGelu> ?>, fxpass::verdict::which_overrides_nothing, fxpass::verdict::to_mend<fxpass::verdict::add_it_with_plus
#include <fxpass/lower/lower.hpp>

using namespace fxpass;

struct OwnRelu {
  static constexpr std::string_view op = "aten.relu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value { return c.tensor(call, "self"); }
};
struct OwnGelu {
  static constexpr std::string_view op = "aten.gelu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value { return c.tensor(call, "self"); }
};

#ifdef FXPASS_CONTROL
inline constexpr auto mine = lowerings<OwnRelu>{} + lowerings<OwnGelu>{};
#else
inline constexpr auto mine = lowerings<OwnRelu>{}.override_with(lowerings<OwnGelu>{});
#endif

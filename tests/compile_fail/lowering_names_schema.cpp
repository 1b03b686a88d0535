// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The operator of a lowering is written as in a schema: no call has that name.
// expect-error-first: fxpass: this is not a lowering
// expect-first-four: not_a_lowering<LowerCube, fxpass::verdict::op_must_be_written_like_aten_dot_relu_or_aten_dot_relu_dot_default
#include <fxpass/lower/lower.hpp>

using namespace fxpass;

struct LowerCube {
#ifdef FXPASS_CONTROL
  static constexpr std::string_view op = "mylib.cube";
#else
  static constexpr std::string_view op = "mylib::cube";
#endif
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "x");
    return c.builder().multiply(x, c.builder().multiply(x, x));
  }
};

inline constexpr auto to_hlo = lower(xla, default_lowerings + lowerings<LowerCube>{});

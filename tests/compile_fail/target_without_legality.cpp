// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A target does not say which element types it refuses.
// expect-error-first: fxpass: this is not a target of lowering
// expect-first-four: not_a_target<Npu, fxpass::verdict::has_no_reason_to_refuse
#include <fxpass/lower/lower.hpp>

using namespace fxpass;

struct Npu {
  static constexpr std::string_view name = "npu";
#ifdef FXPASS_CONTROL
  static constexpr auto reason_to_refuse(DType) -> std::string_view { return {}; }
#endif
};

inline constexpr auto lowering = lower(Npu{});

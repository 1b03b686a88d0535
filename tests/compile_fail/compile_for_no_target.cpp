// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A program is compiled for a target that does not say which element types it refuses.
// expect-error-first: fxpass: this is not a target of lowering
// expect-first-four: not_a_target<Npu, fxpass::verdict::reason_to_refuse_must_take_an_element_type_and_return_a_text
#include <fxpass/lower/compile.hpp>

using namespace fxpass;

struct Npu {
  static constexpr std::string_view name = "npu";
#ifdef FXPASS_CONTROL
  static constexpr auto reason_to_refuse(DType) -> std::string_view { return {}; }
#else
  static constexpr auto reason_to_refuse(std::string_view) -> std::string_view { return {}; }
#endif
};

auto compile_program(const Module<>& program) { return compile(program, {}, Npu{}).has_value(); }

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: An emitter of HLO returns a status, which nobody would look at.
// expect-error-first: fxpass: this is not an emitter
// expect-first-four: not_an_emitter<Lines, fxpass::verdict::write_must_return_nothing
#include <fxpass/emit/emitter.hpp>

using namespace fxpass;

struct Lines {
  static constexpr std::string_view name = "lines";
  static constexpr std::string_view file_ending = ".txt";
#ifdef FXPASS_CONTROL
  static constexpr void write(auto& sink, const hlo::Module&) { sink.append("lines"); }
#else
  static constexpr auto write(auto& sink, const hlo::Module&) -> Status {
    sink.append("lines");
    return {};
  }
#endif
};

auto print(const hlo::Module& module) -> Text { return emit<Lines>(module); }

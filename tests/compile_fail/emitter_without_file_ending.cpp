// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: An emitter does not say how its files end.
// expect-error-first: fxpass: this is not an emitter
// expect-first-four: not_an_emitter<Histogram, fxpass::verdict::has_no_static_file_ending
#include <fxpass/emit/emitter.hpp>

using namespace fxpass;

struct Histogram {
  static constexpr std::string_view name = "histogram";
#ifdef FXPASS_CONTROL
  static constexpr std::string_view file_ending = ".txt";
#endif
  static constexpr void write(auto& sink, const hlo::Module&) { append_to(sink, "add: 1\n"); }
};

auto print(const hlo::Module& module) { return emit<Histogram>(module); }

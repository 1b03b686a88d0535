// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: An emitter writes to a text alone, so that no constant could be made of it.
// expect-error-first: fxpass: this is not an emitter
// expect-first-four: not_an_emitter<Histogram, fxpass::verdict::write_must_take_any_sink_and_an_hlo_module
#include <fxpass/emit/emitter.hpp>

using namespace fxpass;

struct Histogram {
  static constexpr std::string_view name = "histogram";
  static constexpr std::string_view file_ending = ".txt";
#ifdef FXPASS_CONTROL
  static constexpr void write(auto& sink, const hlo::Module&) { append_to(sink, "add: 1\n"); }
#else
  static constexpr void write(Text& sink, const hlo::Module&) { append_to(sink, "add: 1\n"); }
#endif
};

auto print(const hlo::Module& module) { return emit<Histogram>(module); }

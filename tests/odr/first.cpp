// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "everything.hpp"

#include <cstdio>
#include <utility>

static_assert(__cplusplus == 202002L, "this translation unit is compiled as C++20");

namespace {

auto is_true(bool condition, const char* what) -> bool {
  if (!condition) std::fprintf(stderr, "not true: %s\n", what);
  return condition;
}

// A program is read here and there, rewritten there, lowered here and printed there; and all of that here.
auto values_cross(const char* path) -> bool {
  constexpr Pipeline pipeline = fxpass::get_default_pass_manager();
  const fxpass::Expected<Program> here = fxpass::read_pt2(path);
  fxpass::Expected<Program> there = read_in_second(path);
  if (!here || !there) return is_true(false, "both units read the file");

  const bool is_equal = is_true(here->graph() == there->graph(), "both units read the same graph") &&
                        is_true(is_equal_in_second(here->graph(), there->graph()), "they compare alike");

  const auto whole = here.and_then(pipeline).and_then(fxpass::lower(fxpass::neuron::trn2));
  const auto parts = rewrite_in_second(*std::move(there), pipeline).and_then(fxpass::lower(fxpass::neuron::trn2));
  if (!whole || !parts) return is_true(false, "the program compiles");
  return is_equal && is_true(*whole == *parts, "both units compile the same module") &&
         is_true(text_in_second(parts) == fxpass::emit<fxpass::HloText>(*whole), "they print the same text");
}

auto errors_cross() -> bool {
  const fxpass::Expected<Program> here = fxpass::read_pt2("no such file");
  const fxpass::Expected<Program> there = read_in_second("no such file");
  if (here || there) return is_true(false, "a file that is not there is an error");
  return is_true(fxpass::text_of(here.error()) == fxpass::text_of(there.error()), "both units report the same");
}

}  // namespace

// odr PROGRAM.pt2
auto main(int argc, char** argv) -> int {
  if (argc != 2) return 2;
  const bool holds = is_true(answers() == answers_in_second(), "both units see the same library") &&
                     values_cross(argv[1]) && errors_cross();
  return holds ? 0 : 1;
}

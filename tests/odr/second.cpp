// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "everything.hpp"

#include <utility>

static_assert(__cplusplus > 202002L, "this translation unit is compiled as C++23");

auto answers_in_second() -> Answers { return answers(); }

auto read_in_second(const char* path) -> fxpass::Expected<Program> { return fxpass::read_pt2(path); }

auto rewrite_in_second(Program program, const Pipeline& pipeline) -> fxpass::Expected<Rewritten> {
  return pipeline(std::move(program));
}

auto text_in_second(const fxpass::Expected<Lowered>& lowered) -> fxpass::Text {
  return lowered ? fxpass::emit<fxpass::HloText>(*lowered) : fxpass::text_of(lowered.error());
}

auto is_equal_in_second(const fxpass::Graph& a, const fxpass::Graph& b) -> bool { return a == b; }

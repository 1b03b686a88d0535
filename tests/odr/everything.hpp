// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/fxpass.hpp>
#include <fxpass/read/exported_program.hpp>
#include <fxpass/read/fx_json.hpp>
#include <fxpass/read/pt2.hpp>

#include <cstddef>

// What goes from one translation unit to the other, at each stage of the data flow.
using Pipeline = decltype(fxpass::get_default_pass_manager());
using Program = fxpass::Module<>;
using Rewritten = Pipeline::Result<Program>::value_type;
using Lowered = fxpass::LoweredModule;

// Where a translation unit finds some entities of the library, and how large it takes some types to be. Every unit has to
// answer alike: an entity that each unit has for itself makes inline functions that use it differ from unit to unit.
struct Answers {
  const void* target;
  const void* operators;
  auto (*report)(std::FILE*, const fxpass::Diagnostics&) -> int;
  std::size_t sizes[10];

  friend auto operator==(const Answers&, const Answers&) -> bool = default;
};

// Of internal linkage, so that each unit that includes this answers for itself.
static auto answers() -> Answers {
  return {&fxpass::neuron::trn2,
          &fxpass::ops::operator_schemas,
          &fxpass::report,
          {sizeof(fxpass::Graph), sizeof(fxpass::Context), sizeof(fxpass::Diagnostic), sizeof(fxpass::Node),
           sizeof(fxpass::Argument), sizeof(fxpass::TensorMeta), sizeof(Pipeline), sizeof(Rewritten),
           sizeof(fxpass::Expected<Program>), sizeof(Lowered)}};
}

// The other translation unit.
auto answers_in_second() -> Answers;
auto read_in_second(const char* path) -> fxpass::Expected<Program>;
auto rewrite_in_second(Program program, const Pipeline& pipeline) -> fxpass::Expected<Rewritten>;
auto text_in_second(const fxpass::Expected<Lowered>& lowered) -> fxpass::Text;
auto is_equal_in_second(const fxpass::Graph& a, const fxpass::Graph& b) -> bool;

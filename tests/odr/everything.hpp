// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/fxpass.hpp>
#include <fxpass/read/exported_program.hpp>
#include <fxpass/read/fx_json.hpp>
#include <fxpass/read/pt2.hpp>

// Where a translation unit finds some entities of the library. Every unit has to find them in the same place: an entity
// that each unit has for itself makes inline functions that use it differ from unit to unit.
struct Addresses {
  const void* target;
  const void* operators;
  auto (*compiles)(const char*) -> bool;

  friend auto operator==(const Addresses&, const Addresses&) -> bool = default;
};

inline auto compiles(const char* path) -> bool {
  return fxpass::read_pt2(path)
      .and_then(fxpass::get_default_pass_manager())
      .and_then(fxpass::lower(fxpass::neuron::trn2))
      .has_value();
}

// Of internal linkage, so that each unit that includes this answers for itself.
static auto addresses() -> Addresses {
  return {&fxpass::neuron::trn2, &fxpass::ops::operator_schemas, &compiles};
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that the C++ compiler compiles: passes, lowering and emitter run in constant evaluation. What is
// left in the object file is the HLO text, and not one function.
#include "model.hpp"

static constexpr auto text = fxpass::emit_constant<fxpass::HloText>([] { return lower_step(); });
static_assert(text.view().find("dynamic-update-slice(%history") != std::string_view::npos);

constinit const std::string_view step_hlo = text.view();

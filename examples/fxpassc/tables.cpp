// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tables.hpp"

#include <fxpass/lower/default_lowerings.hpp>
#include <fxpass/pass/describe.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <cstdio>

namespace fxpassc {

namespace {

using namespace fxpass;

void print(const Text& text) { std::fwrite(text.view().data(), 1, text.size(), stdout); }

}  // namespace

void print_passes() { print(describe(get_default_pass_manager())); }

void print_ops() {
  for (const LoweringEntry& entry : default_lowerings.table().entries()) print(text_of(entry.op, '\n'));
}

}  // namespace fxpassc

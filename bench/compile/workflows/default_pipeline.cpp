// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The core: the five passes composed, and run, so that all of their code is made.
#include <fxpass/passes/default_pipeline.hpp>

#include <utility>

auto run(fxpass::Graph graph) -> bool {
  return fxpass::get_default_pass_manager()(fxpass::Module<>(std::move(graph))).has_value();
}

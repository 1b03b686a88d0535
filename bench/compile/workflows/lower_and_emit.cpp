// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a graph to HLO text with every lowering: what a compiler built on the library instantiates.
#include <fxpass/fxpass.hpp>

#include <string>
#include <utility>

auto run(fxpass::Graph graph) -> std::string {
  const auto lowered = fxpass::get_default_pass_manager()(fxpass::Module<>(std::move(graph)))
                           .and_then(fxpass::lower(fxpass::neuron::trn2));
  return lowered ? std::string(fxpass::emit<fxpass::HloText>(*lowered)) : std::string();
}

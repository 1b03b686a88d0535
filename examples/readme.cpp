// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/fxpass.hpp>
#include <fxpass/read/pt2.hpp>

struct CountDropout {  // a pass: a plain struct
  static constexpr std::string_view name = "count_dropout";
  using keeps = fxpass::everything;  // it only looks

  constexpr auto run(fxpass::Graph graph, fxpass::Context& context) const -> fxpass::Expected<fxpass::Graph> {
    for (const fxpass::Node& node : graph.nodes())
      if (graph.schema(graph.op(node.op)).base() == "aten.dropout") context.count("dropouts");
    return graph;
  }
};

int main() {
  constexpr auto pipeline =
      fxpass::get_default_pass_manager().insert_before<fxpass::InPlaceToOutOfPlacePass>(CountDropout{});

  const auto written = fxpass::read_pt2("decode.pt2")                      // Module<>
                           .and_then(pipeline)                             // Module<OutOfPlace, OnTargetDevice, ...>
                           .and_then(fxpass::lower(fxpass::neuron::trn2))  // LoweredModule
                           .and_then([](const fxpass::LoweredModule& lowered) {
                             return fxpass::write_file("decode.pb", fxpass::emit<fxpass::HloProto>(lowered));
                           });
  return written ? 0 : fxpass::report(stderr, written.error());
}

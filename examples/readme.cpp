// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/fxpass.hpp>
#include <fxpass/read/pt2.hpp>

struct RefuseDropout {  // a pass: a plain struct
  static constexpr std::string_view name = "refuse_dropout";

  constexpr auto run(const fxpass::Graph& graph, fxpass::Context&) const -> fxpass::Status {  // it only looks
    for (fxpass::NodeId id; id.index < graph.node_count(); ++id.index)
      if (graph.schema(graph.op(id)).base() == "aten.dropout" && fxpass::Call(graph, id).boolean("train") == true)
        return fxpass::error_at(graph, id, fxpass::DiagnosticCode::unsupported, "is for training: call eval() first");
    return {};
  }
};

int main() {
  constexpr auto pipeline =
      fxpass::get_default_pass_manager().insert_before<fxpass::InPlaceToOutOfPlacePass>(RefuseDropout{});

  const auto written = fxpass::read_pt2("decode.pt2")                      // Module<>
                           .and_then(pipeline)                             // Module<OutOfPlace, OnTargetDevice, ...>
                           .and_then(fxpass::lower(fxpass::neuron::trn2))  // LoweredModule
                           .and_then([](const fxpass::LoweredModule& lowered) {
                             return fxpass::write_file("decode.pb", fxpass::emit<fxpass::HloProto>(lowered));
                           });
  return written ? 0 : fxpass::report(stderr, written.error());
}

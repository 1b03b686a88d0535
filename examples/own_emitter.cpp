// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two emitters of one's own: one of HLO, which says how often each operation stands in a module, and one of
// graphs, which draws them with Graphviz. Both are used like the library's: by `emit`, as a constant, and for
// files.
#include <fxpass/fxpass.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace {

using namespace fxpass;

struct OperationCount {
  static constexpr std::string_view name = "operation-count";
  static constexpr std::string_view file_ending = ".txt";

  template <TextSink Sink>  // a text, or what counts characters to find out how large a constant has to be
  static constexpr void write(Sink& sink, const hlo::Module& module) {
    std::array<std::uint32_t, hlo::opcode_table.size()> counts{};
    for (const hlo::Instruction& i : module.instructions) ++counts[static_cast<std::size_t>(i.opcode)];
    for (std::size_t code = 0; code < counts.size(); ++code)
      if (counts[code] != 0) append_all(sink, to_string(hlo::Opcode(code)), ' ', counts[code], '\n');
  }
};
static_assert(Emitter<OperationCount>);

struct Graphviz {
  static constexpr std::string_view name = "graphviz";
  static constexpr std::string_view file_ending = ".dot";

  static constexpr auto write(Text& text, const Graph& graph) -> Status {
    append_to(text, "digraph {\n");
    for (NodeId id; id.index < graph.node_count(); ++id.index)
      graph.for_each_operand(id, [&](NodeId operand) {
        append_all(text, "  ", graph.name(operand), " -> ", graph.name(id), ";\n");
      });
    append_to(text, "}\n");
    return {};
  }
};
static_assert(GraphEmitter<Graphviz>);

/// softmax(x) * 2
constexpr auto model() -> Graph {
  GraphBuilder b;
  const ValueSpec vector = b.tensor(DType::f32, {4});
  const NodeId x = b.placeholder("x", vector);
  const NodeId y = b.call_function("torch.ops.aten.softmax.int", {x, -1}, vector);
  b.output({b.call_function("torch.ops.aten.mul.Tensor", {y, 2}, vector)});
  return std::move(b).finish();
}

constexpr auto counts = emit_constant<OperationCount>([] { return compile(Module<>(model()))->module; });
static_assert(counts.view().starts_with("parameter 5\n"));

/// Writes `model` in both forms beside each other: `model.txt`, `model.dot`.
auto write_both() -> Status {
  const Expected<Text> drawing = emit<Graphviz>(model());
  if (!drawing) return drawing.error();
  const Expected<LoweredModule> lowered = compile(Module<>(model()));
  if (!lowered) return lowered.error();
  const Text listing = emit<OperationCount>(*lowered);
  std::fwrite(listing.view().data(), 1, listing.size(), stdout);
  std::fwrite(drawing->view().data(), 1, drawing->size(), stdout);
  return write_files({{text_of("model", OperationCount::file_ending), listing},
                      {text_of("model", Graphviz::file_ending), *drawing}});
}

}  // namespace

int main() {
  const Status written = write_both();
  return written ? 0 : report(stderr, written.error());
}

// It prints:
//   parameter 5
//   constant 3
//   exponential 1
//   add 1
//   subtract 1
//   multiply 1
//   divide 1
//   maximum 1
//   broadcast 3
//   reduce 2
//   tuple 1
//   digraph {
//     x -> softmax;
//     softmax -> mul;
//     mul -> output;
//   }

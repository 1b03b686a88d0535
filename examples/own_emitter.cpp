// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An emitter of one's own: how often each operation stands in a module. docs/emitter.md explains it.
#include <fxpass/fxpass.hpp>

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

struct OpcodeCounts {
  static constexpr std::string_view name = "opcode-counts";
  static constexpr std::string_view file_ending = ".txt";

  template <fxpass::TextSink Sink>
  static constexpr void write(Sink& sink, const fxpass::hlo::Module& module) {
    std::array<int, fxpass::hlo::opcode_table.size()> counts{};
    for (const fxpass::hlo::Instruction& i : module.instructions)
      ++counts[static_cast<std::size_t>(i.opcode)];
    for (const fxpass::hlo::OpcodeInfo& info : fxpass::hlo::opcode_table)
      if (const int count = counts[static_cast<std::size_t>(info.opcode)]; count != 0)
        fxpass::append_all(sink, info.name, ' ', count, '\n');
  }
};
static_assert(fxpass::Emitter<OpcodeCounts>);

// (x + x) * x
constexpr auto make_module() -> fxpass::hlo::Module {
  fxpass::hlo::Builder b("squares");
  const auto x = b.parameter({fxpass::DType::f32, {4}}, "x");
  return *b.finish(b.multiply(b.add(x, x), x));
}

constexpr auto counts = fxpass::emit_constant<OpcodeCounts>([] { return make_module(); });
static_assert(counts.view() == "parameter 1\nadd 1\nmultiply 1\n");

int main() {
  const fxpass::Text text = fxpass::emit<OpcodeCounts>(make_module());
  std::printf("%.*s", static_cast<int>(text.size()), text.view().data());
  const fxpass::Status written = fxpass::write_file("squares.txt", text);
  return written ? 0 : fxpass::report(stderr, written.error());
}

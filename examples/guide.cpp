// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps 2 to 5 of docs/guide.md, which explains them.
#include <fxpass/fxpass.hpp>
#include <fxpass/read/pt2.hpp>

#include <cstdio>
#include <utility>

namespace {

void show(const char* title, const fxpass::Text& text) {
  std::printf("== %s\n%.*s\n", title, static_cast<int>(text.size()), text.view().data());
}

}  // namespace

int main() {
  fxpass::Expected<fxpass::Module<>> program = fxpass::read_pt2("guide.pt2");
  if (!program) return fxpass::report(stderr, program.error());
  show("The program", fxpass::text_of(program->graph()));

  constexpr auto pipeline = fxpass::get_default_pass_manager();
  const auto prepared = pipeline(*std::move(program));
  if (!prepared) return fxpass::report(stderr, prepared.error());
  show("Behind the passes", fxpass::text_of(prepared->graph()));

  const fxpass::Expected<fxpass::LoweredModule> lowered = fxpass::lower(fxpass::xla)(*prepared);
  if (!lowered) return fxpass::report(stderr, lowered.error());
  show("HLO", fxpass::emit<fxpass::HloText>(*lowered));

  fxpass::Text signature;
  fxpass::write_json(signature, lowered->signature);
  show("Signature", signature);
  const fxpass::Text proto = fxpass::emit<fxpass::HloProto>(*lowered);
  const fxpass::Status written = fxpass::write_files({{"guide.pb", proto}, {"guide.json", signature}});
  return written ? 0 : fxpass::report(stderr, written.error());
}

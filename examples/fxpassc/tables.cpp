// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tables.hpp"

#include <fxpass/lower/default_lowerings.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <boost/hana/for_each.hpp>

#include <cstdio>
#include <span>
#include <string_view>

namespace fxpassc {

namespace {

using namespace fxpass;

void print(const Text& text) { std::fwrite(text.view().data(), 1, text.size(), stdout); }

void append_facts(Text& text, std::string_view title, std::span<const FactInfo> facts) {
  append_all(text, "  ", title, ' ');
  for (std::size_t i = 0; i < facts.size(); ++i) append_all(text, i == 0 ? "" : ", ", facts[i].name);
  append_to(text, facts.empty() ? "-\n" : "\n");
}

void append_keeps(Text& text, const Contract& contract) {
  switch (contract.keeping) {
    case Keeping::everything_but:
      if (!contract.listed.empty()) return append_facts(text, "keeps       everything but", contract.listed);
      return append_to(text, "  keeps       everything\n");
    case Keeping::only: return append_facts(text, "keeps      ", contract.listed);
    case Keeping::undeclared: return append_to(text, "  keeps       what a check after it confirms\n");
  }
}

}  // namespace

void print_passes() {
  boost::hana::for_each(get_default_pass_manager().passes(), []<class Pass>(const Pass&) {
    const Contract& contract = contract_of<Pass>;
    Text text;
    append_all(text, contract.name, '\n');
    append_facts(text, "needs      ", contract.needs);
    append_facts(text, "forbids    ", contract.forbids);
    append_facts(text, "establishes", contract.establishes);
    append_keeps(text, contract);
    print(text);
  });
}

void print_ops() {
  for (const LoweringEntry& entry : default_lowerings.table().entries()) print(text_of(entry.op, '\n'));
}

}  // namespace fxpassc

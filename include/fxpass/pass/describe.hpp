// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/pipeline.hpp>
#include <fxpass/support/text.hpp>

#include <cstddef>
#include <string_view>

/// @file
/// `describe(pipeline)`: passes in order with their contracts, as text.

namespace fxpass {

namespace detail {

/// `  needs       a, b`, or `-` for none.
template <TextSink Sink, class Facts>
constexpr void append_facts(Sink& sink, std::string_view title, const Facts& facts) {
  append_all(sink, "  ", title, facts.empty() ? " -" : "");
  for (std::size_t i = 0; i < facts.size(); ++i) append_all(sink, i == 0 ? " " : ", ", facts[i].name);
  append_to(sink, '\n');
}

}  // namespace detail

/// Writes a contract as `fxpassc passes` shows it: the name of the pass, and a line for each list.
template <TextSink Sink>
constexpr void append_to(Sink& sink, const Contract& contract) {
  append_all(sink, contract.name, '\n');
  detail::append_facts(sink, "needs      ", contract.needs);
  detail::append_facts(sink, "forbids    ", contract.forbids);
  detail::append_facts(sink, "establishes", contract.establishes);
  if (!contract.establishes_when_on.empty())
    detail::append_facts(sink, "if on      ", contract.establishes_when_on);
  switch (contract.keeping) {
    case Keeping::everything_but:
      if (contract.listed.empty()) return append_to(sink, "  keeps       everything\n");
      return detail::append_facts(sink, "keeps       everything but", contract.listed);
    case Keeping::only: return detail::append_facts(sink, "keeps      ", contract.listed);
    case Keeping::undeclared: return append_to(sink, "  keeps       what a check after it confirms\n");
  }
}

/// The passes of a pipeline in order, each with its contract. O(passes x facts).
template <class... P>
[[nodiscard]] constexpr auto describe(const Pipeline<P...>&) -> Text {
  Text text;
  (append_to(text, contract_of<P>), ...);
  return text;
}

}  // namespace fxpass

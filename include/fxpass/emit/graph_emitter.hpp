// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/graph.hpp>
#include <fxpass/support/expected.hpp>

#include <concepts>
#include <string_view>
#include <utility>

/// @file
/// What an emitter of graphs is, and how one is run. emitter.hpp has those of HLO.

namespace fxpass {

/// A type that writes a graph in one form.
///
/// `name` is how users pick it, `file_ending` that of its files, point included. `write(text, graph)` is a
/// `static` function that writes the same characters every time, or says what the form cannot express. It
/// needs a graph that `verify` accepts.
template <class E>
concept GraphEmitter = requires(Text& text, const Graph& graph) {
  { E::name } -> std::convertible_to<std::string_view>;
  { E::file_ending } -> std::convertible_to<std::string_view>;
  { E::write(text, graph) } -> std::same_as<Status>;
};

/// The graph as `E` writes it: `emit<FxText>(graph)`. Needs a graph that `verify` accepts. Errors are those
/// of `E`. O(size of what is written).
template <GraphEmitter E>
[[nodiscard]] constexpr auto emit(const Graph& graph) -> Expected<Text> {
  Text text;
  if (Status status = E::write(text, graph); !status) return std::move(status).error();
  return text;
}

}  // namespace fxpass

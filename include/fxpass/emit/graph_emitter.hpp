// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that the errors of this header are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/graph/graph.hpp>
#include <fxpass/support/expected.hpp>

#include <concepts>
#include <string_view>
#include <utility>

/// @file
/// What an emitter of graphs is, and how one is run. emitter.hpp has those of HLO.

namespace fxpass {

namespace detail {

/// Why `E` is no emitter of graphs.
template <class E>
[[nodiscard]] consteval auto judge_graph_emitter() {
  using namespace verdict;
  if constexpr (!requires {
                  { E::name } -> std::convertible_to<std::string_view>;
                })
    return not_an_emitter<E, has_no_static_name>();
  else if constexpr (!requires {
                       { E::file_ending } -> std::convertible_to<std::string_view>;
                     })
    return not_an_emitter<E, has_no_static_file_ending>();
  else if constexpr (requires(Text& text, const Graph& graph) {
                       { E::write(text, graph) } -> std::same_as<Status>;
                     })
    return in_order();
  else if constexpr (
      requires(E& e, Text& text, const Graph& graph) { e.write(text, graph); } &&
      !requires(Text& text, const Graph& graph) { E::write(text, graph); })
    return not_an_emitter<E, write_must_be_static>();
  else
    return not_an_emitter<E, write_must_take_a_text_and_a_graph_and_return_a_status>();
}

}  // namespace detail

/// A type that writes a graph in one form.
///
/// `name` is how users pick it, `file_ending` that of its files, point included. `write(text, graph)` is a
/// `static` function that writes the same characters every time, or says what the form cannot express. It
/// needs a graph that `verify` accepts.
template <class E>
concept GraphEmitter = decltype(detail::judge_graph_emitter<E>())::ok;

/// The graph as `E` writes it: `emit<FxText>(graph)`. Needs a graph that `verify` accepts. Errors are those
/// of `E`. O(size of what is written).
template <class E>
[[nodiscard]] constexpr auto emit(const Graph& graph) -> Expected<Text> {
  using Verdict = decltype(detail::judge_graph_emitter<E>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok) {
    Text text;
    if (Status status = E::write(text, graph); !status) return std::move(status).error();
    return text;
  } else {
    return Diagnostics();
  }
}

}  // namespace fxpass

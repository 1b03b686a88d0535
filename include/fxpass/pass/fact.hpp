// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/graph.hpp>
#include <fxpass/pass/type_list.hpp>
#include <fxpass/support/expected.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// Facts: what is known to be true of a module, as types.
///
///     struct OutOfPlace {
///       static constexpr std::string_view name = "out_of_place";
///       using provider = InPlaceToOutOfPlacePass;                       // what errors propose; may be incomplete
///       static constexpr auto check(const Graph& graph) -> Status;      // where a graph can show it
///       using artifact = T;                                             // where a value comes with it: an analysis
///     };

namespace fxpass {

/// A type that states something of a module. `provider`, `check` and `artifact` are optional.
///
/// Law: `check(graph)` succeeds for each graph of which the fact is true.
template <class F>
concept Fact = requires {
  { F::name } -> std::convertible_to<std::string_view>;
};
/// A fact that a graph shows.
template <class F>
concept CheckableFact = Fact<F> && requires(const Graph& graph) {
  { F::check(graph) } -> std::same_as<Status>;
};
/// A fact that comes with a value, a regular one: what an analysis found.
template <class F>
concept FactWithArtifact = Fact<F> && requires { typename F::artifact; };

/// A list of facts, as contracts write it: `using needs = facts<AliasesAnalysed, MutationsSurfaced>;`
template <class... F>
struct facts {};

namespace detail {

template <class... F>
struct CanonicalOrder {
  static constexpr auto chosen = [] {
    Choice<sizeof...(F)> choice;
    const std::array<std::string_view, sizeof...(F)> texts{type_text<F>()...};
    const std::array<std::uint64_t, sizeof...(F)> ids{type_id<F>...};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      bool is_known = false;
      for (std::size_t k = 0; k < choice.count; ++k) is_known = is_known || ids[choice.index[k]] == ids[i];
      if (is_known) continue;
      std::size_t at = choice.count++;
      for (; at > 0 && texts[i] < texts[choice.index[at - 1]]; --at) choice.index[at] = choice.index[at - 1];
      choice.index[at] = i;
    }
    return choice;
  }();
};

template <class List>
struct FactSet;
template <class... F>
struct FactSet<facts<F...>> : Choose<facts, facts<F...>, CanonicalOrder<F...>> {};

}  // namespace detail

/// The set of `F`: each once, in alphabetical order, so that equal sets are one type.
template <class... F>
using fact_set = typename detail::FactSet<facts<F...>>::type;

}  // namespace fxpass

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
#include <type_traits>

/// @file
/// Facts: what is known to be true of a module, as types.
///
///     struct OutOfPlace {
///       static constexpr std::string_view name = "out_of_place";
///       using provider = InPlaceToOutOfPlacePass;                       // what errors propose; may be incomplete
///       static constexpr auto check(const Graph& graph) -> Status;      // where a graph can show it
///       using artifact = T;                                             // where a value comes with it: an analysis
///     };
///
/// An artifact that names nodes has `renumber(const Renumbering&)`, by which it follows them when a pass that keeps the
/// fact moves some. If it cannot, since nodes that are put in would be new to it, the fact says
/// `static constexpr bool of_nodes_in_place = true;`: a pass that keeps it and moves nodes is an error when it runs.

namespace fxpass {

namespace detail {

/// A value that is known to the compiler.
template <auto>
struct Constant;
/// Concepts that are asked of each pass say with calls what they want: `std::convertible_to` and
/// `std::copy_constructible` instantiate twenty templates for each.
constexpr void take_text(std::string_view) {}
/// `T::name` is a text, and static.
template <class T>
concept NamedStatically = requires {
  take_text(T::name);
  requires !std::is_member_object_pointer_v<decltype(&T::name)>;
};
/// `T::name` is a constant as well.
template <class T>
concept NamedByConstant =
    NamedStatically<T> && requires { typename Constant<std::string_view(T::name).size()>; };
/// The name says something.
template <class T>
concept NamedByText = NamedByConstant<T> && !std::string_view(T::name).empty();

/// Has each member that a pass or a fact is asked for.
struct MemberDecoy {
  struct needs;
  struct forbids;
  struct establishes;
  struct keeps;
  struct artifact;
  int name, run, begin, check;
};
/// In it a name means two things if `T` has a member of that name, be it private or overloaded: that is how
/// a member is found which the library cannot use, and would take for none.
///
/// With the compilers' own words, since `std::is_class` and `std::is_final` are two templates more a pass.
template <class T, bool IsBase = __is_class(T) && !__is_final(T)>
struct MemberProbe : T, MemberDecoy {};
template <class T>
struct MemberProbe<T, false> : MemberDecoy {};

template <class T>
concept HidesName = !requires { T::name; } && !requires { &T::name; } && !requires { &MemberProbe<T>::name; };

/// `F` has a member `check`, of whatever form.
template <class F>
concept MentionsCheck = requires { &F::check; };
/// `check` as it has to be.
template <class F>
concept HasCheck = requires(const Graph& graph) {
  { F::check(graph) } -> std::same_as<Status>;
};
template <class F>
concept MentionsArtifact = requires { typename F::artifact; };
/// Has a `check` that cannot be named: it is private, or there are several and none is as it has to be.
template <class F>
concept HidesCheck = !HasCheck<F> && !MentionsCheck<F> && !requires { &MemberProbe<F>::check; };
template <class F>
concept HidesArtifact = !MentionsArtifact<F> && !requires { typename MemberProbe<F>::artifact; };
/// Members that would be taken for nothing, but are meant for the two above.
template <class F>
concept MisspeltFact = requires { &F::checks; } || requires { typename F::artefact; };
/// Has a name too, so that it would pass for a fact.
template <class F>
concept LooksLikePass = requires { &F::run; } || requires { &F::begin; };

}  // namespace detail

/// A type that states something of a module. `provider`, `check` and `artifact` are optional; a `check` that
/// cannot be called, or an artifact that cannot be copied, would be of no use, so a type with one is no fact.
///
/// Law: `check(graph)` succeeds for each graph of which the fact is true.
template <class F>
concept Fact =
    detail::NamedByText<F> && !detail::MisspeltFact<F> && !detail::LooksLikePass<F> &&
    (detail::HasCheck<F> || !detail::MentionsCheck<F>) && !detail::HidesCheck<F> && !detail::HidesArtifact<F> &&
    (!detail::MentionsArtifact<F> || requires { requires std::semiregular<typename F::artifact>; });
/// A fact that a graph shows.
template <class F>
concept CheckableFact = Fact<F> && detail::HasCheck<F>;
/// A fact that comes with a value, which is copyable and has a default: what an analysis found.
template <class F>
concept FactWithArtifact = Fact<F> && detail::MentionsArtifact<F>;

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

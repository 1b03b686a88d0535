// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/fwd.hpp>
#include <fxpass/pass/fact.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

/// @file
/// Contracts: what a pass asks of a module and makes of it, as members of the pass, all optional.
///
///     using needs = facts<AliasesAnalysed>;               // must be true before
///     using forbids = facts<OutOfPlace>;                  // must not be true before
///     using establishes = facts<OutOfPlace>;              // is true behind
///     using keeps = everything_but<AliasesAnalysed>;      // what else stays true: or
///                                                         // everything, nothing, facts<...>
///
/// A pass that says nothing of `keeps` keeps nothing on trust: facts with a checker are checked again behind
/// it, the others are lost. One that gets the graph as `const Graph&` cannot change it, and keeps everything
/// without a word. A list in Boost.Hana's spelling, `decltype(hana::tuple_t<A, B>)`, stands for
/// `facts<A, B>`.

namespace fxpass {

class Context;
template <class P>
class Artifacts;

/// Whatever was true stays true.
struct everything {};

/// Nothing stays true but what the pass establishes.
struct nothing {};

/// Whatever was true stays true, except for `F`.
template <class... F>
struct everything_but {};

namespace detail {

template <class P>
struct ProtocolOf {
  using type = P;
};
/// The pass whose artifacts `P` asks for: `P` itself, or the pass that it wraps.
template <class P>
  requires requires { typename P::wrapped_pass; }
struct ProtocolOf<P> : ProtocolOf<typename P::wrapped_pass> {};
template <class P>
using artifacts_for = Artifacts<typename ProtocolOf<P>::type>;

/// A pass that looks at a graph and cannot change it. The rvalue tells `const Graph&` from `auto&`, which
/// takes a constant graph too, and may be meant to edit.
template <class P>
concept LooksAtGraph = requires(const P& pass, const Graph& graph, Context& context) {
  { pass.run(graph, context) } -> std::same_as<Status>;
  { pass.run(std::declval<Graph>(), context) } -> std::same_as<Status>;
};
/// The same, with artifacts.
template <class P>
concept LooksAtArtifacts =
    requires(const P& pass, const Graph& graph, artifacts_for<P>& artifacts, Context& context) {
      { pass.run(graph, artifacts, context) } -> std::same_as<Status>;
      { pass.run(std::declval<Graph>(), artifacts, context) } -> std::same_as<Status>;
    };
template <class P>
concept LookingPass = LooksAtGraph<P> || LooksAtArtifacts<P>;

/// What a pass that declares no `keeps` gets.
struct undeclared {};

/// Stands for a list that is none, until a verdict says so.
struct malformed;

/// `facts<A, B>`, or a list of types that hold A and B as `::type`, which is how Hana passes types as values.
template <class List>
struct AsFacts {
  using type = malformed;
};
template <class... F>
struct AsFacts<facts<F...>> {
  using type = facts<F...>;
};
template <template <class...> class List, class... T>
  requires(requires { typename T::type; } && ...)
struct AsFacts<List<T...>> {
  using type = facts<typename T::type...>;
};
template <class List>
using as_facts = typename AsFacts<std::remove_cv_t<List>>::type;

template <class P>
struct NeedsOf {
  using type = facts<>;
};
template <class P>
  requires requires { typename P::needs; }
struct NeedsOf<P> {
  using type = as_facts<typename P::needs>;
};
template <class P>
struct ForbidsOf {
  using type = facts<>;
};
template <class P>
  requires requires { typename P::forbids; }
struct ForbidsOf<P> {
  using type = as_facts<typename P::forbids>;
};
template <class P>
struct EstablishesOf {
  using type = facts<>;
};
template <class P>
  requires requires { typename P::establishes; }
struct EstablishesOf<P> {
  using type = as_facts<typename P::establishes>;
};

/// What an optional pass establishes if it is switched on and cannot vouch for otherwise (optional_pass.hpp).
template <class P>
struct EstablishesWhenOnOf {
  using type = facts<>;
};
template <class P>
  requires requires { typename P::establishes_when_on; }
struct EstablishesWhenOnOf<P> {
  using type = typename P::establishes_when_on;
};

template <class Keeps>
struct AsKeeps {
  using type = as_facts<Keeps>;
};
template <>
struct AsKeeps<everything> {
  using type = everything;
};
template <>
struct AsKeeps<undeclared> {
  using type = undeclared;
};
template <>
struct AsKeeps<nothing> {
  using type = facts<>;
};
template <class... F>
struct AsKeeps<everything_but<F...>> {
  using type = everything_but<F...>;
};
template <class P>
struct KeepsOf {
  using type = undeclared;
};
template <class P>
  requires requires { typename P::keeps; }
struct KeepsOf<P> {
  using type = typename AsKeeps<typename P::keeps>::type;
};
template <class P>
  requires(!requires { typename P::keeps; } && LookingPass<P>)
struct KeepsOf<P> {
  using type = everything;
};

}  // namespace detail

namespace detail {

template <class List>
inline constexpr bool lists_facts = false;
template <class... F>
inline constexpr bool lists_facts<facts<F...>> = (Fact<F> && ...);
template <class... F>
inline constexpr bool lists_facts<everything_but<F...>> = (Fact<F> && ...);
template <>
inline constexpr bool lists_facts<everything> = true;
template <>
inline constexpr bool lists_facts<undeclared> = true;

template <class P>
concept HasContract = lists_facts<typename NeedsOf<P>::type> && lists_facts<typename ForbidsOf<P>::type> &&
                      lists_facts<typename EstablishesOf<P>::type> && lists_facts<typename KeepsOf<P>::type>;

}  // namespace detail

/// The contract of pass `P`, with what it leaves out filled in.
template <class P>
using needs_of = typename detail::NeedsOf<P>::type;
template <class P>
using forbids_of = typename detail::ForbidsOf<P>::type;
template <class P>
using establishes_of = typename detail::EstablishesOf<P>::type;
template <class P>
using establishes_when_on_of = typename detail::EstablishesWhenOnOf<P>::type;

/// A fact as a value.
struct FactInfo {
  /// What becomes of an artifact that names nodes when a pass that keeps it moves them.
  enum class Tie : std::uint8_t {
    none,      ///< it names none
    follows,   ///< it has a `renumber(const Renumbering&)`, and the pass has to say where they went
    in_place,  ///< the pass may not: what it is about may be no more, or new
  };
  std::uint64_t id = 0;                     ///< of the type; what facts are compared by
  std::string_view name;                    ///< of the fact
  Status (*check)(const Graph&) = nullptr;  ///< null where a graph cannot show it
  bool has_artifact = false;                ///< whether a value comes with it
  /// Whether `check` is there. g++ 12 with -fsanitize=undefined has no constant comparison of a function with null.
  bool has_check = false;
  Tie tie = Tie::none;  ///< of the artifact

  /// Whether a check can vouch for it behind a pass that promises nothing. None can for an artifact: it may be stale.
  [[nodiscard]] constexpr auto can_be_rechecked() const -> bool { return has_check && !has_artifact; }
  friend constexpr auto operator==(const FactInfo& a, const FactInfo& b) -> bool { return a.id == b.id; }
};

namespace detail {
/// A fact whose artifact speaks of nodes by their ids, and can follow them when they move.
template <class F>
concept FollowsNodes =
    requires(typename F::artifact& artifact, const Renumbering& moved) { artifact.renumber(moved); };
template <class F>
[[nodiscard]] consteval auto info_of_fact() -> FactInfo {
  FactInfo info{type_id<F>, F::name, nullptr, FactWithArtifact<F>};
  if constexpr (CheckableFact<F>) {
    info.check = &F::check;
    info.has_check = true;
  }
  if constexpr (requires { requires F::of_nodes_in_place; }) {
    info.tie = FactInfo::Tie::in_place;
  } else if constexpr (FollowsNodes<F>) {
    info.tie = FactInfo::Tie::follows;
  }
  return info;
}
}  // namespace detail
/// Fact `F` as a value.
template <Fact F>
inline constexpr FactInfo fact_info = detail::info_of_fact<F>();

/// What a pass says of the facts that it neither needs nor establishes.
enum class Keeping : std::uint8_t {
  everything_but,  ///< all but those listed
  only,            ///< those listed
  undeclared,      ///< nothing on trust
};

/// A contract as a value: what tables of passes print, and what the order of a pipeline is decided by.
struct Contract {
  std::string_view name;                     ///< of the pass
  Span<const FactInfo> needs;                ///< what has to be true before
  Span<const FactInfo> forbids;              ///< what must not be true before
  Span<const FactInfo> establishes;          ///< what is true behind
  Keeping keeping = Keeping::undeclared;     ///< how `listed` is meant
  Span<const FactInfo> listed;               ///< the facts that `keeping` speaks of
  Span<const FactInfo> establishes_when_on;  ///< of an optional pass: nobody vouches for these

  /// Whether a fact that is true before, and not established, is true behind. O(facts listed).
  [[nodiscard]] constexpr auto keeps(const FactInfo& fact) const -> bool {
    switch (keeping) {
      case Keeping::everything_but: return !lists(listed, fact);
      case Keeping::only: return lists(listed, fact);
      case Keeping::undeclared: return fact.can_be_rechecked();
    }
    return false;
  }
  /// Whether `fact` is in a list. O(size).
  [[nodiscard]] static constexpr auto lists(Span<const FactInfo> list, const FactInfo& fact) -> bool {
    for (const FactInfo& f : list)
      if (f == fact) return true;
    return false;
  }
};

namespace detail {

template <class List>
inline constexpr std::array<FactInfo, 0> fact_infos{};
template <class... F>
inline constexpr std::array<FactInfo, sizeof...(F)> fact_infos<facts<F...>>{fact_info<F>...};

template <class Keeps>
inline constexpr Keeping keeping_of = Keeping::undeclared;
template <>
inline constexpr Keeping keeping_of<everything> = Keeping::everything_but;
template <class... F>
inline constexpr Keeping keeping_of<everything_but<F...>> = Keeping::everything_but;
template <class... F>
inline constexpr Keeping keeping_of<facts<F...>> = Keeping::only;

/// The facts that the `keeps` of `P` lists.
template <class Keeps>
struct ListedIn {
  using type = facts<>;
};
template <template <class...> class Keeps, class... F>
struct ListedIn<Keeps<F...>> {
  using type = facts<F...>;
};
template <class P>
using listed_of = typename ListedIn<typename KeepsOf<P>::type>::type;

}  // namespace detail

/// The contract of `P` as a value.
template <class P>
inline constexpr Contract contract_of{P::name,
                                      detail::fact_infos<needs_of<P>>,
                                      detail::fact_infos<forbids_of<P>>,
                                      detail::fact_infos<establishes_of<P>>,
                                      detail::keeping_of<typename detail::KeepsOf<P>::type>,
                                      detail::fact_infos<detail::listed_of<P>>,
                                      detail::fact_infos<establishes_when_on_of<P>>};

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/editor.hpp>
#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/verdict.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

/// @file
/// Artifacts: the values that belong to facts. A module stores those of its facts; a pass gets those of
/// its contract.

namespace fxpass {

namespace detail {

/// The artifact of one fact, or nothing.
template <class F>
struct ArtifactSlot {
  friend constexpr auto operator==(const ArtifactSlot&, const ArtifactSlot&) -> bool = default;
};
template <FactWithArtifact F>
struct ArtifactSlot<F> {
  typename F::artifact value{};
  friend constexpr auto operator==(const ArtifactSlot&, const ArtifactSlot&) -> bool = default;
};

/// The artifacts of some facts.
template <class... F>
struct ArtifactSlots : ArtifactSlot<F>... {
  friend constexpr auto operator==(const ArtifactSlots&, const ArtifactSlots&) -> bool = default;
};

template <class Facts>
struct SlotsOf;
template <class... F>
struct SlotsOf<facts<F...>> {
  using type = ArtifactSlots<F...>;
};
template <class Facts>
using slots_of = typename SlotsOf<Facts>::type;

/// Where the artifact of one fact is, for a pass.
template <class F>
struct ArtifactPointer {
  template <class Slots>
  constexpr explicit ArtifactPointer(Slots&) {}
};
template <FactWithArtifact F>
struct ArtifactPointer<F> {
  template <class Slots>
  constexpr explicit ArtifactPointer(Slots& slots) : value(&static_cast<ArtifactSlot<F>&>(slots).value) {}
  typename F::artifact* value;
};

template <class Facts>
struct ArtifactPointers;
template <class... F>
struct ArtifactPointers<facts<F...>> : ArtifactPointer<F>... {
  template <class Slots>
  constexpr explicit ArtifactPointers(Slots& slots) : ArtifactPointer<F>(slots)... {}
};

template <class F, class List>
inline constexpr bool lists = false;
template <class F, class... L>
inline constexpr bool lists<F, facts<L...>> = (std::same_as<F, L> || ...);

}  // namespace detail

/// The artifacts that the contract of pass `P` speaks of.
template <class P>
class Artifacts {
 public:
  template <class Slots>
  /// Of the slots that the runner keeps; a pass gets it as an argument.
  constexpr explicit Artifacts(Slots& slots) : pointers_(slots) {}

  /// The artifact of `F`: to read if the pass needs the fact, to fill in if it establishes it.
  template <class F>
  [[nodiscard]] constexpr auto get() const -> auto& {
    using Verdict = decltype(judge<F>());
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (!Verdict::ok)
      return none<F>();
    else if constexpr (detail::lists<F, establishes_of<P>>)
      return *pointer<F>().value;
    else
      return std::as_const(*pointer<F>().value);
  }

 private:
  template <class F>
  [[nodiscard]] static consteval auto judge() {
    using namespace verdict;
    if constexpr (!FactWithArtifact<F>)
      return no_artifact<artifact_of<F>, typename detail::WhyNoArtifact<F>::type>();
    else if constexpr (detail::lists<F, needs_of<P>> || detail::lists<F, establishes_of<P>>)
      return in_order();
    else
      return outside_contract<pass<P>, artifact_of<F>, to_mend<declare_needs<F>, in<P>>>();
  }
  // Never defined: they stand where the assertion above has failed.
  template <class F>
  static auto none() -> const Rejected&;
  template <FactWithArtifact F>
  static auto none() -> const typename F::artifact&;
  template <class F>
  constexpr auto pointer() const -> const detail::ArtifactPointer<F>& { return pointers_; }

  using InPlay = typename detail::FactSet<detail::join<facts, needs_of<P>, establishes_of<P>>>::type;
  detail::ArtifactPointers<InPlay> pointers_;
};

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that errors are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/pass/artifacts.hpp>

#include <concepts>
#include <cstddef>
#include <utility>

/// @file
/// `Module<Facts...>`: a graph, and in its type what is known of it.

namespace fxpass {

namespace detail {
class ModuleMaker;
template <class Facts>
struct ModuleOfSet;
}  // namespace detail

/// A graph of which `F` are true, with their artifacts. Written `Module<F...>`, which puts the facts in
/// order.
///
/// Anyone makes a module without facts, from a graph; the facts come from pipelines and from `check_facts`,
/// so that the type is to be trusted. Copyable and movable; equal if graph and artifacts are.
template <class... F>
class ModuleOf {
 public:
  /// What is known to be true, in alphabetical order.
  using facts = fxpass::facts<F...>;

  /// A module of which nothing is known yet.
  constexpr ModuleOf()
    requires(sizeof...(F) == 0)
  = default;
  constexpr explicit ModuleOf(Graph graph)
    requires(sizeof...(F) == 0)
      : graph_(std::move(graph)) {}
  /// Nobody says by hand what is true: an error that says what to do.
  template <class T>
    requires(sizeof...(F) > 0 && (std::same_as<T, Graph> || detail::is_module<T>) &&
             !std::same_as<T, ModuleOf>)
  constexpr explicit ModuleOf(const T&) {
    using namespace verdict;
    using Verdict = wrong_argument<ModuleOf, is_given<T>, which_says_nothing_of<F...>,
                                   to_mend<run_passes_that_establish_them_or_check_facts>>;
    static_assert(sizeof(check_verdict<Verdict>) != 0);
  }

  /// The graph; of a module that is about to die, for the taking.
  [[nodiscard]] constexpr auto graph() const& -> const Graph& { return graph_; }
  [[nodiscard]] constexpr auto graph() && -> Graph { return std::move(graph_); }

  /// Whether `Fact` is true of the module.
  template <class Fact>
  [[nodiscard]] static consteval auto has() -> bool { return (std::same_as<Fact, F> || ...); }

  /// The artifact of a fact that is true of the module.
  template <class Fact>
  [[nodiscard]] constexpr auto artifact() const -> decltype(auto) {
    using Verdict = decltype(judge_artifact<Fact>());
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (Verdict::ok) {
      return (static_cast<const detail::ArtifactSlot<Fact>&>(artifacts_).value);
    } else {
      return Rejected();
    }
  }

  friend constexpr auto operator==(const ModuleOf&, const ModuleOf&) -> bool = default;

 private:
  friend detail::ModuleMaker;
  template <class Fact>
  [[nodiscard]] static consteval auto judge_artifact() {
    using namespace verdict;
    if constexpr (FactWithArtifact<Fact>)
      return require_facts<fxpass::facts<Fact>, facts, artifact_of<Fact>>();
    else
      return no_artifact<artifact_of<Fact>, typename detail::WhyNoArtifact<Fact>::type>();
  }
  constexpr ModuleOf(Graph graph, detail::ArtifactSlots<F...> artifacts)
      : graph_(std::move(graph)), artifacts_(std::move(artifacts)) {}

  Graph graph_;
  [[no_unique_address]] detail::ArtifactSlots<F...> artifacts_;
};

namespace detail {

template <class... F>
struct ModuleOfSet<facts<F...>> {
  using type = ModuleOf<F...>;
};

/// The one way into a module with facts, for the runner of pipelines and for `check_facts`.
class ModuleMaker {
 public:
  template <class... F, class Slots>
  [[nodiscard]] static constexpr auto make(facts<F...>, Graph graph, Slots& slots) -> ModuleOf<F...> {
    ArtifactSlots<F...> artifacts;
    take<F...>(slots, artifacts);
    return {std::move(graph), std::move(artifacts)};
  }
  /// Moves the artifacts of `module` into `slots`, which has a place for each, and returns its graph.
  template <class... F, class Slots>
  [[nodiscard]] static constexpr auto take_apart(ModuleOf<F...>& module, Slots& slots) -> Graph {
    take<F...>(module.artifacts_, slots);
    return std::move(module.graph_);
  }

 private:
  template <class... F, class From, class To>
  static constexpr void take(From& from, To& to) {
    ((static_cast<ArtifactSlot<F>&>(to) = std::move(static_cast<ArtifactSlot<F>&>(from))), ...);
  }
};

}  // namespace detail

/// `ModuleOf` the facts in order, if they are facts. What `Module` goes through; outside `detail`, since
/// errors name it.
template <class Verdict, class... F>
struct ModuleWith {
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  using type = ModuleOf<>;  ///< so that nothing else is said
};
template <class... F>
struct ModuleWith<verdict::in_order, F...> {
  using type = typename detail::ModuleOfSet<fact_set<F...>>::type;  ///< with the facts in order
};

/// A graph of which `F` are true: `Module<A, B>` and `Module<B, A>` are one type.
template <class... F>
using Module = typename ModuleWith<facts_verdict<F...>, F...>::type;

/// Any `Module<...>`, whatever is known of it: `M::facts` lists it.
template <class M>
concept AnyModule = detail::is_module<M>;

namespace detail {

/// What is easily taken for a module.
template <class T>
concept NoModule = is_expected<T> || std::same_as<T, Graph> || std::same_as<T, Rejected>;
/// The verdict on `Who`, which takes modules, for a `T`. `Mend` is how to hand over what an `Expected` holds.
template <class Who, class T, class Mend = verdict::write_given_and_then_of<Who>>
[[nodiscard]] consteval auto judge_argument() {
  using namespace verdict;
  if constexpr (is_expected<T>)
    return wrong_argument<Who, is_given<T>, which_may_hold_errors_in_place_of_a_value,
                          to_mend<Mend>>();
  else if constexpr (std::same_as<T, Graph>)
    return wrong_argument<Who, is_given<T>, which_says_nothing_of_facts, to_mend<wrap_it_in_a_module>>();
  else if constexpr (std::same_as<T, Rejected>)
    return told_before();
  else
    return wrong_argument<Who, is_given<T>, which_is_no_module>();
}

/// Adds to `errors` what the checker of `fact` finds, in sentences that begin with `what`. Needs a checker.
constexpr void check_fact(const FactInfo& fact, const Graph& graph, Diagnostics& errors,
                          std::string_view what) {
  Status status = fact.check(graph);
  if (status) return;
  for (Diagnostic& d : status.error()) {
    d.code = DiagnosticCode::fact_violated;
    d.message = text_of(what, " '", fact.name, "': ", d.message);
    errors.add(std::move(d));
  }
}

/// Whether a check can prove `F`.
template <class F>
[[nodiscard]] consteval auto judge_proof() {
  using namespace verdict;
  if constexpr (!Fact<F>)
    return not_a_fact<F, fault_of<F>>();
  else if constexpr (FactWithArtifact<F>)
    return fact_without_proof<F, has_an_artifact_that_no_check_makes,
                              to_mend<run_a_pass_that_establishes<F>>>();
  else if constexpr (!CheckableFact<F>)
    return fact_without_proof<F, has_no_check, to_mend<run_a_pass_that_establishes<F>>>();
  else
    return in_order();
}
template <class F>
inline constexpr bool is_provable = decltype(judge_proof<F>())::ok;
/// The verdict on the first of `F` that no check can prove.
template <class... F>
[[nodiscard]] consteval auto judge_proofs() {
  constexpr std::size_t bad = first_false({is_provable<F>...});
  if constexpr (bad == sizeof...(F))
    return verdict::in_order();
  else
    return judge_proof<at<bad, types<F...>>>();
}

}  // namespace detail

/// Proves that `F` are true of a module by their checkers, or says where they are not. For graphs that come
/// without a history: a functional export, or a module whose passes are switched off.
///
///     auto checked = check_facts<OutOfPlace, MutationsSurfaced>(module);
template <class... F, AnyModule M>
[[nodiscard]] constexpr auto check_facts(M module) {
  using Verdict = decltype(detail::judge_proofs<F...>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (!Verdict::ok) {
    return Rejected();
  } else {
    return [&]<class... Old>(facts<Old...>) -> Expected<Module<Old..., F...>> {
      using Facts = fact_set<Old..., F...>;
      Diagnostics errors;
      (detail::check_fact(fact_info<F>, module.graph(), errors, "the graph is not"), ...);
      if (!errors.empty()) return errors;
      detail::slots_of<Facts> slots;
      Graph graph = detail::ModuleMaker::take_apart(module, slots);
      return detail::ModuleMaker::make(Facts(), std::move(graph), slots);
    }(typename M::facts());
  }
}
/// For anything else: an error that says what to do.
template <class... F, class T>
  requires(!AnyModule<T>)
constexpr auto check_facts(const T&) {
  using Verdict =
      decltype(detail::judge_argument<verdict::check_facts<F...>, T, verdict::give_what_it_holds>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  return Rejected();
}

}  // namespace fxpass

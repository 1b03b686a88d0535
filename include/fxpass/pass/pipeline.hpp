// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that the errors of this header are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/pass/module.hpp>
#include <fxpass/pass/observer.hpp>
#include <fxpass/pass/order.hpp>
#include <fxpass/pass/runner.hpp>

#include <boost/hana/at.hpp>
#include <boost/hana/basic_tuple.hpp>
#include <boost/hana/concept/foldable.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

/// @file
/// `pipeline(a, b, ...)`: passes in an order that the compiler has checked.
///
///     constexpr auto passes = pipeline(DeviceRewriterPass{}, AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{});
///     Expected<Module<OnTargetDevice, MutationsSurfaced, OutOfPlace>> done = passes(Module<>(graph));
///
/// Putting passes together errs where a later pass establishes what an earlier one needs, where a pass loses it in
/// between, or where a pass forbids what an earlier one established. A need that no pass touches becomes the pipeline's
/// own, and errs when the pipeline meets a module without it.

namespace fxpass {

template <class... P>
class Pipeline;
template <class P>
class OptionalPass;

namespace detail {

template <class T>
inline constexpr bool is_pipeline = false;
template <class... P>
inline constexpr bool is_pipeline<Pipeline<P...>> = true;

/// A pipeline stands for its passes.
template <class T>
struct PassesIn {
  using type = types<T>;
};
template <class... P>
struct PassesIn<Pipeline<P...>> {
  using type = types<P...>;
};
// A pipeline has a contract as a pass has. It is worked out when somebody asks.
template <class... P>
struct NeedsOf<Pipeline<P...>> {
  using type = typename JointContract<P...>::needs;
};
template <class... P>
struct ForbidsOf<Pipeline<P...>> {
  using type = typename JointContract<P...>::forbids;
};
template <class... P>
struct EstablishesOf<Pipeline<P...>> {
  using type = typename JointContract<P...>::establishes;
};
template <class... P>
struct EstablishesWhenOnOf<Pipeline<P...>> {
  using type = typename JointContract<P...>::establishes_when_on;
};
template <class... P>
struct KeepsOf<Pipeline<P...>> {
  using type = typename JointContract<P...>::keeps;
};

template <class... T>
using flat = join<types, typename PassesIn<T>::type...>;
// So do Hana's tuples, for what they hold.
template <class... T>
struct PassesIn<boost::hana::tuple<T...>> {
  using type = flat<T...>;
};
template <class... T>
struct PassesIn<boost::hana::basic_tuple<T...>> {
  using type = flat<T...>;
};

/// Passes [0, At) of `Old`, then those of `New`, then [At + Removed, ...) of `Old`.
template <std::size_t At, std::size_t Removed, class Old, class New>
struct Splice {
  static constexpr std::size_t count = size_of<Old> - Removed + size_of<New>;
  static constexpr std::array<Place, count> table = [] {
    std::array<Place, count> result{};
    std::size_t next = 0;
    for (std::size_t i = 0; i < At; ++i) result[next++] = {0, i};
    for (std::size_t i = 0; i < size_of<New>; ++i) result[next++] = {1, i};
    for (std::size_t i = At + Removed; i < size_of<Old>; ++i) result[next++] = {0, i};
    return result;
  }();
  template <std::size_t... I>
  static auto splice(std::index_sequence<I...>) -> types<at<table[I].element, at<table[I].list, types<Old, New>>>...>;
  using type = decltype(splice(std::make_index_sequence<count>()));
};

/// Where `Q` is among `P`, as it is or as an optional pass; their number if it is not there. Nothing is `const`, though
/// `decltype` of a constant is.
template <class Q, class... P>
[[nodiscard]] consteval auto position_of() -> std::size_t {
  using Wanted = std::remove_const_t<Q>;
  constexpr std::size_t position = first_false({!std::same_as<Wanted, P>...});
  if constexpr (position != sizeof...(P))
    return position;
  else
    return first_false({!std::same_as<OptionalPass<Wanted>, P>...});
}

template <class Q, class List>
inline constexpr bool is_among = false;
/// Whether pass `P` is made of passes, of which `Q` is one.
template <class Q, class P>
inline constexpr bool is_inside = false;
template <class Q, class P>
  requires requires { typename P::passes_inside; }
inline constexpr bool is_inside<Q, P> = is_among<Q, typename P::passes_inside>;
template <class Q, class... P>
inline constexpr bool is_among<Q, types<P...>> = ((std::same_as<Q, P> || is_inside<Q, P>) || ...);

template <class List>
struct VerdictOnList;
template <class... P>
struct VerdictOnList<types<P...>> {
  using type = order_verdict<P...>;
};

/// The verdict on a pipeline of `P` in which `Removed` passes, from `Offset` behind `Q` on, are replaced by those in `New`.
template <class Q, std::size_t Offset, std::size_t Removed, class New, class... P>
[[nodiscard]] consteval auto judge_splice() {
  constexpr std::size_t position = position_of<Q, P...>();
  if constexpr (position == sizeof...(P)) {
    constexpr std::size_t around = first_false({!is_inside<Q, P>...});
    if constexpr (!FXPass<Q>) {
      return judge_pass<Q>();
    } else if constexpr (around == sizeof...(P)) {
      return verdict::no_such_pass<verdict::pass<Q>, verdict::in<Pipeline<P...>>,
                                   verdict::to_mend<verdict::name_one_of_its_passes>>();
    } else {
      using Around = at<around, types<P...>>;
      return verdict::no_such_pass<verdict::pass<Q>, verdict::in<Pipeline<P...>>, verdict::is_inside<Around>,
                                   verdict::to_mend<verdict::replace<Around>>>();
    }
  } else {
    using Spliced = typename Splice<position + Offset, Removed, types<P...>, New>::type;
    return typename VerdictOnList<Spliced>::type();
  }
}

template <class T>
inline constexpr bool is_one_pass = std::is_same_v<typename PassesIn<T>::type, types<T>>;

/// Makes pipelines without a word on the order of their passes: who calls has asked for the verdict.
class PipelineMaker {
 public:
  /// Out of passes and pipelines.
  template <class... T>
  [[nodiscard]] static constexpr auto make(const T&... parts) {
    if constexpr ((is_one_pass<T> && ...)) {
      return Pipeline<T...>(parts...);
    } else {
      return make_by<Join<types, typename PassesIn<T>::type...>>(parts...);
    }
  }
  /// One more pass behind a pipeline, which is what a chain of `|` does again and again.
  template <class... Old, class Q>
    requires is_one_pass<Q>
  [[nodiscard]] static constexpr auto make(const Pipeline<Old...>& old, const Q& added) -> Pipeline<Old..., Q> {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Pipeline<Old..., Q>(static_cast<const Member<I, Old>&>(old.passes_).value..., added);
    }(std::index_sequence_for<Old...>());
  }
  /// Out of their passes that `Table::table` names, in its order; `Table::type` lists them.
  template <class Table, class... T>
  [[nodiscard]] static constexpr auto make_by(const T&... parts) {
    return gather<Table>(typename Table::type(), members_of<T...>(parts...));
  }
  template <std::size_t At, std::size_t Removed, class... Old, class... New>
  [[nodiscard]] static constexpr auto splice(const Pipeline<Old...>& old, const Pipeline<New...>& added) {
    using Table = Splice<At, Removed, types<Old...>, types<New...>>;
    return gather<Table>(typename Table::type(), members_of<Pipeline<Old...>, Pipeline<New...>>(old, added));
  }
  /// The passes, as a runner takes them.
  template <class... P>
  [[nodiscard]] static constexpr auto members(const Pipeline<P...>& pipeline) -> const members_of<P...>& {
    return pipeline.passes_;
  }
  template <std::size_t I, class... P>
  [[nodiscard]] static constexpr auto element(const Pipeline<P...>& pipeline) -> const auto& {
    return member<I>(pipeline.passes_);
  }
  template <std::size_t I, class... T>
  [[nodiscard]] static constexpr auto element(const boost::hana::tuple<T...>& parts) -> const auto& {
    constexpr Place place = Join<types, typename PassesIn<T>::type...>::table[I];
    return element<place.element>(boost::hana::at_c<place.list>(parts));
  }
  template <std::size_t I, class... T>
  [[nodiscard]] static constexpr auto element(const boost::hana::basic_tuple<T...>& parts) -> const auto& {
    constexpr Place place = Join<types, typename PassesIn<T>::type...>::table[I];
    return element<place.element>(boost::hana::at_c<place.list>(parts));
  }
  template <std::size_t I, class P>
  [[nodiscard]] static constexpr auto element(const P& pass) -> const P& {
    return pass;  // NOLINT(bugprone-return-const-ref-from-parameter): the caller holds the parts
  }

 private:
  template <class Table, class... P, class Parts>
  static constexpr auto gather(types<P...>, const Parts& parts) -> Pipeline<P...> {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Pipeline<P...>(element<Table::table[I].element>(member<Table::table[I].list>(parts))...);
    }(std::index_sequence_for<P...>());
  }
};

/// Whether `a | b` is ours to define.
template <class A, class B>
concept Composable = is_pipeline<A> || is_pipeline<B> || FXPass<A> || FXPass<B> || std::same_as<A, Rejected>;

}  // namespace detail

/// Passes in order. A value, copied with them; made by `pipeline(...)`, by `|`, and by the members that return a pipeline.
/// Pipelines in a pipeline stand for their passes.
template <class... P>
class Pipeline {
 public:
  static constexpr std::string_view name = "pipeline";

  /// A pipeline without passes, or one of default values.
  constexpr Pipeline() = default;

  /// Passes in this order. `pipeline(...)` also says why an order is wrong.
  constexpr explicit Pipeline(const P&... passes)
    requires(sizeof...(P) > 0)
      : passes_(passes...) {}

  /// The pipeline with `added`, a pass or a pipeline, behind its last pass.
  template <class Q>
  [[nodiscard]] constexpr auto add_pass(Q added) const {
    using Verdict = typename detail::VerdictOnList<detail::flat<Pipeline, Q>>::type;
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (Verdict::ok) {
      return detail::PipelineMaker::make(*this, added);
    } else {
      return Rejected();
    }
  }
  /// The pipeline with `added` directly before pass `Where`.
  template <class Where, class Q>
  [[nodiscard]] constexpr auto insert_before(Q added) const {
    using Verdict = decltype(detail::judge_splice<Where, 0, 0, detail::flat<Q>, P...>());
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (Verdict::ok) {
      return splice<Where, 0, 0>(added);
    } else {
      return Rejected();
    }
  }
  /// The pipeline with `added` directly behind pass `Where`.
  template <class Where, class Q>
  [[nodiscard]] constexpr auto insert_after(Q added) const {
    using Verdict = decltype(detail::judge_splice<Where, 1, 0, detail::flat<Q>, P...>());
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (Verdict::ok) {
      return splice<Where, 1, 0>(added);
    } else {
      return Rejected();
    }
  }
  /// The pipeline with `by` in place of pass `Old`: another pass, or the same with other options.
  template <class Old, class Q>
  [[nodiscard]] constexpr auto replace(Q by) const {
    using Verdict = decltype(detail::judge_splice<Old, 0, 1, detail::flat<Q>, P...>());
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (Verdict::ok) {
      return splice<Old, 0, 1>(by);
    } else {
      return Rejected();
    }
  }
  /// The pipeline without pass `Old`.
  template <class Old>
  [[nodiscard]] constexpr auto without() const {
    using Verdict = decltype(detail::judge_splice<Old, 0, 1, detail::types<>, P...>());
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (Verdict::ok) {
      return splice<Old, 0, 1>(Pipeline<>());
    } else {
      return Rejected();
    }
  }

  /// What a run on an `M` gives: `Expected<Module<...>>` with the facts that are then true.
  template <AnyModule M>
  using Result =
      typename detail::ResultOfRun<meeting_verdict<typename M::facts, P...>::ok, typename M::facts, P...>::type;

  /// Runs the passes: a module with the facts that are then true, or the errors of the first pass that failed, which
  /// name it. Neighbouring forward passes share a traversal.
  template <AnyModule M>
  [[nodiscard]] constexpr auto operator()(M module) const -> Result<M> {
    using Verdict = meeting_verdict<typename M::facts, P...>;
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (Verdict::ok) {
      Context context;
      return detail::PipelineRunner<M, P...>(passes_, std::move(module), context).run();
    } else {
      return Rejected();
    }
  }
  /// For what is easily taken for a module: an error that says what to do.
  template <detail::NoModule T>
  constexpr auto operator()(const T&) const -> Rejected {
    using Verdict = decltype(detail::judge_argument<Pipeline, T>());
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    return Rejected();
  }
  /// The same.
  template <detail::NoModule T, class... Observers>
  constexpr auto run_passes(const T&, const Observers&...) const -> Rejected {
    using Verdict = decltype(detail::judge_argument<Pipeline, T>());
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    return Rejected();
  }
  /// For a context where the module belongs: the same.
  template <class... T>
  constexpr auto run_passes(const Context&, const T&...) const -> Rejected {
    using namespace verdict;
    using Verdict = wrong_argument<Pipeline, is_given<Context>, which_is_no_module,
                                   to_mend<write_run_passes_of_module_and_context_and_observers>>;
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    return Rejected();
  }
  /// Runs the passes as the call operator does.
  template <AnyModule M>
  [[nodiscard]] constexpr auto run_passes(M module) const -> Result<M> {
    using Verdict = meeting_verdict<typename M::facts, P...>;
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (Verdict::ok) {
      Context context;
      return detail::PipelineRunner<M, P...>(passes_, std::move(module), context).run();
    } else {
      return Rejected();
    }
  }
  /// The same; warnings go to `context`, and `observers` see each step.
  template <AnyModule M, class... O>
  [[nodiscard]] constexpr auto run_passes(M module, Context& context, O&&... observers) const -> Result<M> {
    using OnPasses = meeting_verdict<typename M::facts, P...>;
    using Verdict = std::conditional_t<OnPasses::ok, observers_verdict<std::remove_reference_t<O>...>, OnPasses>;
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (!Verdict::ok) {
      return Rejected();
    } else if constexpr (sizeof...(O) == 0) {
      return detail::PipelineRunner<M, P...>(passes_, std::move(module), context).run();
    } else {
      return detail::PipelineRunner<M, P...>(passes_, std::move(module), context).run_observed(observers...);
    }
  }

  /// For an observer, or a constant, where the context belongs: an error that says what to do.
  template <AnyModule M, class C, class... O>
    requires(!std::same_as<C, Context&>)
  constexpr auto run_passes(const M&, C&&, O&&...) const -> Rejected {
    using namespace verdict;
    using Verdict = wrong_argument<Pipeline, is_given<std::remove_reference_t<C>>, where_a_context_belongs,
                                   to_mend<write_run_passes_of_module_and_context_and_observers>>;
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    return Rejected();
  }

  /// The passes as a Hana sequence.
  [[nodiscard]] constexpr auto passes() const -> boost::hana::tuple<P...> {
    return [this]<std::size_t... I>(std::index_sequence<I...>) {
      return boost::hana::tuple<P...>(detail::member<I>(passes_)...);
    }(std::index_sequence_for<P...>());
  }
  /// The pass of type `Q`.
  template <class Q>
  [[nodiscard]] constexpr auto get() const -> decltype(auto) {
    using Verdict = decltype(detail::judge_splice<Q, 0, 0, detail::types<>, P...>());
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (Verdict::ok) {
      return (detail::member<detail::position_of<Q, P...>()>(passes_));
    } else {
      return Rejected();
    }
  }

 private:
  friend detail::PipelineMaker;

  template <class Where, std::size_t Offset, std::size_t Removed, class Q>
  constexpr auto splice(const Q& added) const {
    return detail::PipelineMaker::splice<detail::position_of<Where, P...>() + Offset, Removed>(
        *this, detail::PipelineMaker::make(added));
  }

  [[no_unique_address]] detail::members_of<P...> passes_;
};

/// An empty pipeline to add passes to: `FXPassManager{}.add_pass(A{}).add_pass(B{})`.
using FXPassManager = Pipeline<>;

/// Passes, pipelines, and Hana tuples of them, in this order: a pipeline, or a tuple, stands for the passes in it.
template <class... T>
[[nodiscard]] constexpr auto pipeline(T... parts) {
  using Verdict = typename detail::VerdictOnList<detail::flat<T...>>::type;
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok) {
    return detail::PipelineMaker::make(parts...);
  } else {
    return Rejected();
  }
}

/// `pipeline(a, b)`. The compiler finds it where an operand is fxpass's own, a pass or a pipeline. For two passes of
/// yours, say `using fxpass::operator|;` in their namespace, which touches no other operands, or write `pipeline(a, b)`.
template <class A, class B>
  requires detail::Composable<A, B>
[[nodiscard]] constexpr auto operator|(A a, B b) {
  using Verdict = typename detail::VerdictOnList<detail::flat<A, B>>::type;
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok) {
    return detail::PipelineMaker::make(a, b);
  } else {
    return Rejected();
  }
}

namespace detail {
struct TypesOf {
  template <class... T>
  constexpr auto operator()(const T&...) const -> types<T...> {
    return {};
  }
};
struct MakePipeline {
  template <class... T>
  constexpr auto operator()(const T&... parts) const {
    return PipelineMaker::make(parts...);
  }
};
template <class List>
struct Flatten;
template <class... T>
struct Flatten<types<T...>> {
  using type = flat<T...>;
};
/// The verdict on a pipeline of what is in a `Sequence`.
template <class Sequence>
[[nodiscard]] consteval auto judge_sequence() {
  using namespace verdict;
  if constexpr (boost::hana::Foldable<Sequence>::value) {
    using Parts = decltype(boost::hana::unpack(std::declval<const Sequence&>(), TypesOf()));
    return typename VerdictOnList<typename Flatten<Parts>::type>::type();
  } else {
    return wrong_argument<is_given<Sequence>, which_is_no_hana_sequence, to_mend<write_pipeline_of_its_passes>>();
  }
}
}  // namespace detail

/// The passes of any Hana sequence, in its order. For a `hana::tuple` or `hana::basic_tuple`, `pipeline` does it too.
template <class Sequence>
[[nodiscard]] constexpr auto pipeline_from(const Sequence& sequence) {
  using Verdict = decltype(detail::judge_sequence<Sequence>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok) {
    return boost::hana::unpack(sequence, detail::MakePipeline());
  } else {
    return Rejected();
  }
}

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>

/// @file
/// What the compiler says when passes are put together wrongly. A verdict is a type that reads as a sentence: which
/// pass, which fact, for what reason, and how to mend it. It is the one thing that an error prints:
///
///     wrong_pass_order<pass<InPlaceToOutOfPlacePass>, needs<AliasesAnalysed>,
///                      is_established_later_by<AliasingOutputRewritePass>,
///                      to_mend<move<AliasingOutputRewritePass>, before<InPlaceToOutOfPlacePass>>>
///
/// (with `fxpass::` and `fxpass::verdict::` before the names). A function that gets a bad verdict instantiates
/// `check_verdict<Verdict>` itself and returns `Rejected`: the assertion is then one step below the user's call, and
/// nothing else is instantiated. `sizeof` stands in a `static_assert` of its own, since to Clang a function with an
/// erroneous expression in its body is no constant expression, which would be a second error.

namespace fxpass {

namespace verdict {

// The words: declared to be printed, never defined. ------------------------------------------------------------------
template <class P>
struct pass;
template <class F>
struct needs;
template <class F>
struct forbids;
template <class F>
struct artifact_of;
template <class P>
struct is_established_later_by;
template <class P>
struct is_established_only_when_on;
template <class P>
struct was_lost_by;
template <class P>
struct was_established_by;
struct is_not_true_of_the_module;
struct is_true_of_the_module;
template <class P>
struct has_the_name_of;
struct has_no_static_name;
struct needs_must_be_a_list_of_facts;
struct forbids_must_be_a_list_of_facts;
struct establishes_must_be_a_list_of_facts;
struct keeps_must_be_everything_or_nothing_or_everything_but_or_a_list_of_facts;
struct must_be_copyable;
struct run_must_return_an_expected_graph_or_a_status;
struct run_must_be_const;
struct has_no_run_for_a_graph_and_a_context_nor_begin;
struct wants_must_take_an_operator_and_return_bool;
struct visit_must_take_the_state_and_a_sweep_and_return_a_status;
struct finish_must_take_the_state_a_graph_and_a_context_and_return_a_status;
template <class... What>
struct to_mend;
template <class P>
struct move;
template <class P>
struct add;
template <class P>
struct before;
template <class P>
struct leave_out;
template <class P>
struct wrap_in_named;
template <class P>
struct take_out_of_optional_pass;
template <class F>
struct declare_keeps;
template <class F>
struct declare_needs;
template <class P>
struct in;
template <class F>
struct establish;
struct has_no_round;
struct allow_at_least_one_round;
struct is_a_pipeline_without_a_name;

// The verdicts. ------------------------------------------------------------------------------------------------------
struct in_order {
  static constexpr bool ok = true;
};
/// On something that was rejected before: nothing more is said.
struct told_before {
  static constexpr bool ok = false;
};
template <class... Words>
struct wrong_pass_order {
  static constexpr bool ok = false;
};
template <class... Words>
struct missing_fact {
  static constexpr bool ok = false;
};
template <class... Words>
struct forbidden_fact {
  static constexpr bool ok = false;
};
template <class... Words>
struct duplicate_pass {
  static constexpr bool ok = false;
};
template <class... Words>
struct not_a_pass {
  static constexpr bool ok = false;
};
template <class... Words>
struct no_such_pass {
  static constexpr bool ok = false;
};
template <class... Words>
struct outside_contract {
  static constexpr bool ok = false;
};
template <class... Words>
struct not_repeatable {
  static constexpr bool ok = false;
};

}  // namespace verdict

/// Complete if the verdict is good, an error if it is bad.
template <class Verdict>
struct check_verdict {};
template <class... Words>
struct check_verdict<verdict::wrong_pass_order<Words...>> {
  static_assert(verdict::wrong_pass_order<Words...>::ok, "fxpass: wrong pass order");
};
template <class... Words>
struct check_verdict<verdict::missing_fact<Words...>> {
  static_assert(verdict::missing_fact<Words...>::ok, "fxpass: the module lacks a fact that is needed here");
};
template <class... Words>
struct check_verdict<verdict::forbidden_fact<Words...>> {
  static_assert(verdict::forbidden_fact<Words...>::ok, "fxpass: a fact is true of the module that a pass forbids");
};
template <class... Words>
struct check_verdict<verdict::duplicate_pass<Words...>> {
  static_assert(verdict::duplicate_pass<Words...>::ok, "fxpass: two passes of a pipeline have one name");
};
template <class... Words>
struct check_verdict<verdict::not_a_pass<Words...>> {
  static_assert(verdict::not_a_pass<Words...>::ok, "fxpass: this is not a pass");
};
template <class... Words>
struct check_verdict<verdict::no_such_pass<Words...>> {
  static_assert(verdict::no_such_pass<Words...>::ok, "fxpass: the pipeline has no such pass");
};
template <class... Words>
struct check_verdict<verdict::outside_contract<Words...>> {
  static_assert(verdict::outside_contract<Words...>::ok,
                "fxpass: a pass gets the artifacts of facts that it needs or establishes");
};
template <class... Words>
struct check_verdict<verdict::not_repeatable<Words...>> {
  static_assert(verdict::not_repeatable<Words...>::ok, "fxpass: this cannot be repeated");
};

/// What a function returns after a bad verdict. It takes part in whatever comes next, so that one mistake is one error.
struct Rejected {
  constexpr Rejected() = default;
  template <class... T>
  constexpr explicit Rejected(const T&...) {}

  template <class... T>
  constexpr auto operator()(const T&...) const -> Rejected { return {}; }
  template <class... T>
  constexpr auto add_pass(const T&...) const -> Rejected { return {}; }
  template <class P, class... T>
  constexpr auto insert_before(const T&...) const -> Rejected { return {}; }
  template <class P, class... T>
  constexpr auto insert_after(const T&...) const -> Rejected { return {}; }
  template <class P, class... T>
  constexpr auto replace(const T&...) const -> Rejected { return {}; }
  template <class P>
  constexpr auto without() const -> Rejected { return {}; }
  template <class... T>
  constexpr auto run_passes(const T&...) const -> Rejected { return {}; }
  template <class... T>
  constexpr auto and_then(const T&...) const -> Rejected { return {}; }
  template <class... T>
  constexpr auto transform(const T&...) const -> Rejected { return {}; }
  template <class T>
  constexpr operator Expected<T>() const {  // NOLINT(google-explicit-constructor): it takes the place of one
    return Diagnostics();
  }
  constexpr auto has_value() const -> bool { return false; }
  constexpr explicit operator bool() const { return false; }
  constexpr auto operator*() const -> Rejected { return {}; }
  constexpr auto operator->() const -> const Rejected* { return this; }
  constexpr auto error() const -> Diagnostics { return {}; }
  constexpr auto graph() const -> Graph { return {}; }
};

namespace detail {

/// What to do where no pass of a pipeline establishes `F`.
template <class F, class Before>
struct MendMissing {
  using type = verdict::to_mend<verdict::establish<F>, verdict::before<Before>>;
};
template <class F, class Before>
  requires requires { typename F::provider; }
struct MendMissing<F, Before> {
  using type = verdict::to_mend<verdict::add<typename F::provider>, verdict::before<Before>>;
};

/// Index of the first of `needed` that is not in `have`; their number if all are.
[[nodiscard]] consteval auto first_missing(Span<const FactInfo> needed, Span<const FactInfo> have)
    -> std::size_t {
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (!Contract::lists(have, needed[i])) return i;
  return needed.size();
}

template <class Needs, class Have, class Who>
[[nodiscard]] consteval auto judge_facts() {
  using namespace verdict;
  constexpr std::size_t missing = first_missing(fact_infos<Needs>, fact_infos<Have>);
  if constexpr (missing == size_of<Needs>) {
    return in_order();
  } else {
    using F = at<missing, Needs>;
    return missing_fact<Who, needs<F>, is_not_true_of_the_module, typename MendMissing<F, Who>::type>();
  }
}

}  // namespace detail

/// The verdict on whether a module with facts `Have` may be handed to `Who`, a type that the error prints, which needs
/// `Needs`. Both are `facts<...>`.
///
///     using Verdict = require_facts<facts<OutOfPlace>, typename M::facts, Lowering>;
///     static_assert(sizeof(check_verdict<Verdict>) != 0);
///     if constexpr (Verdict::ok) {
///       ...
///     } else {
///       return Rejected();
///     }
template <class Needs, class Have, class Who>
using require_facts = decltype(detail::judge_facts<Needs, Have, Who>());

}  // namespace fxpass

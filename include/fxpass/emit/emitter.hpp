// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that the errors of this header are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/hlo/module.hpp>
#include <fxpass/support/text.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

/// @file
/// What an emitter of HLO is, and how one is run: into a `Text`, or into a constant of the program.

namespace fxpass {

/// Counts what is written and keeps nothing.
class CountingSink {
 public:
  /// Counts the characters of `text`, or `count` of them.
  constexpr void append(std::string_view text) { count_ += text.size(); }
  constexpr void skip(std::size_t count) { count_ += count; }

  /// How many there were.
  [[nodiscard]] constexpr auto count() const -> std::size_t { return count_; }

 private:
  std::size_t count_ = 0;
};

/// `N` characters in place: text, or bytes, as a constant.
///
/// Why not a growing text: Clang's limit of evaluation steps is met ten times later if the size is counted
/// first.
template <std::size_t N>
class FixedText {
 public:
  /// Needs room for `text`.
  constexpr void append(std::string_view text) {
    for (const char c : text) chars_[count_++] = c;
  }
  /// What was appended.
  [[nodiscard]] constexpr auto view() const -> std::string_view { return {chars_, count_}; }

 private:
  char chars_[N == 0 ? 1 : N]{};
  std::size_t count_ = 0;
};

namespace detail {

// A member of another type than `Module` may be what an emitter of graphs writes.
template <class E>
concept WritesModules = requires(Text& text, CountingSink& count, const hlo::Module& module) {
  { E::write(text, module) } -> std::same_as<void>;
  { E::write(count, module) } -> std::same_as<void>;
};

/// Why `E` is no emitter.
template <class E>
[[nodiscard]] consteval auto judge_emitter() {
  using namespace verdict;
  if constexpr (!requires {
                  { E::name } -> std::convertible_to<std::string_view>;
                })
    return not_an_emitter<E, has_no_static_name>();
  else if constexpr (!requires {
                       { E::file_ending } -> std::convertible_to<std::string_view>;
                     })
    return not_an_emitter<E, has_no_static_file_ending>();
  else if constexpr (WritesModules<E>)
    return in_order();
  else if constexpr (requires(Text& text, CountingSink& count, const hlo::Module& module) {
                       E::write(text, module);
                       E::write(count, module);
                     })
    return not_an_emitter<E, write_must_return_nothing>();
  else if constexpr (
      requires(E& e, Text& text, const hlo::Module& module) { e.write(text, module); } &&
      !requires(Text& text, const hlo::Module& module) { E::write(text, module); })
    return not_an_emitter<E, write_must_be_static>();
  else
    return not_an_emitter<E, write_must_take_any_sink_and_an_hlo_module>();
}

}  // namespace detail

/// A type that writes a module in one form.
///
/// `name` is how users pick it, `file_ending` that of its files, point included. `write(sink, module)` is a
/// `static` function that writes the same characters, or bytes, every time. It needs a module that
/// `hlo::verify` accepts.
template <class E>
concept Emitter = decltype(detail::judge_emitter<E>())::ok;

/// The module as `E` writes it: `emit<HloText>(module)`. Needs a module that `hlo::verify` accepts, which
/// `lower` and `hlo::Builder` give. O(size of what is written).
template <class E>
[[nodiscard]] constexpr auto emit(const hlo::Module& module) -> Text {
  using Verdict = decltype(detail::judge_emitter<E>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  Text text;
  if constexpr (Verdict::ok) E::write(text, module);
  return text;
}

namespace detail {

/// What is easily taken for HLO.
template <class T>
concept NoHlo = is_expected<T> || is_module<T> || std::same_as<T, Rejected>;
/// The verdict on `emit<E>` for a `T`.
template <class E, NoHlo T>
[[nodiscard]] consteval auto judge_emission() {
  using namespace verdict;
  if constexpr (is_expected<T>)
    return wrong_argument<emit_with<E>, is_given<T>, which_may_hold_errors_in_place_of_a_value,
                          to_mend<emit_what_it_holds>>();
  else if constexpr (requires(Text& text, const Graph& graph) { E::write(text, graph); })
    return wrong_argument<emit_with<E>, is_given<T>, which_is_no_graph, to_mend<emit_its_graph>>();
  else if constexpr (is_module<T>)
    return wrong_argument<emit_with<E>, is_given<T>, which_is_not_lowered, to_mend<lower_it_first>>();
  else
    return told_before();
}

}  // namespace detail

/// For what is easily taken for HLO: an error that says what to do.
template <class E, detail::NoHlo T>
constexpr auto emit(const T&) -> Text {
  using Verdict = decltype(detail::judge_emission<E, T>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  return {};
}

namespace detail {

/// How many characters `E` writes of what `Make` makes. No local constant of `emit_constant`: Clang would
/// work it out a second time there, at the expense of the evaluation of the text.
template <class E, class Make>
inline constexpr std::size_t emitted_size = [] {
  CountingSink sink;
  E::write(sink, Make{}());
  return sink.count();
}();

}  // namespace detail

/// The same as a constant: `constexpr auto text = emit_constant<HloText>([] { return make_module(); });`, of
/// which `text.view()` is the characters. `Make` is a lambda without captures; it is called twice.
template <class E, class Make>
[[nodiscard]] consteval auto emit_constant(Make make) {
  using Verdict = decltype(detail::judge_emitter<E>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok) {
    FixedText<detail::emitted_size<E, Make>> text;
    E::write(text, make());
    return text;
  } else {
    return FixedText<0>();
  }
}

}  // namespace fxpass

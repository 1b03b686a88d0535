// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/hlo/module.hpp>
#include <fxpass/support/text.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

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

/// A type that writes a module in one form.
///
/// `name` is how users pick it, `file_ending` that of its files, point included. `write(sink, module)` is a
/// `static` function that writes the same characters, or bytes, every time. It needs a module that
/// `hlo::verify` accepts.
template <class E>
concept Emitter = requires(Text& text, CountingSink& count, const hlo::Module& module) {
  { E::name } -> std::convertible_to<std::string_view>;
  { E::file_ending } -> std::convertible_to<std::string_view>;
  E::write(text, module);
  E::write(count, module);
};

/// The module as `E` writes it: `emit<HloText>(module)`. Needs a module that `hlo::verify` accepts, which
/// `lower` and `hlo::Builder` give. O(size of what is written).
template <Emitter E>
[[nodiscard]] constexpr auto emit(const hlo::Module& module) -> Text {
  Text text;
  E::write(text, module);
  return text;
}

/// The same as a constant: `constexpr auto text = emit_constant<HloText>([] { return make_module(); });`, of
/// which `text.view()` is the characters. `Make` is a lambda without captures; it is called twice.
template <Emitter E, class Make>
[[nodiscard]] consteval auto emit_constant(Make make) {
  constexpr std::size_t size = [] {
    CountingSink sink;
    E::write(sink, Make{}());
    return sink.count();
  }();
  FixedText<size> text;
  E::write(text, make());
  return text;
}

}  // namespace fxpass

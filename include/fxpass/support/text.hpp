// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/pool.hpp>
#include <fxpass/support/span.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

/// @file
/// `Text`: an owning string that works in constant evaluation on every compiler fxpass supports (`std::string` of
/// libstdc++ 12 does not on Clang), and `append_to`, the one way values are put into text.

namespace fxpass {

class Text;

/// Where text goes: a `Text`, or a fixed buffer in constant evaluation.
template <class S>
concept TextSink = requires(S& sink, std::string_view text) { sink.append(text); };

/// An owning, growing string. Regular; compares with anything that converts to `std::string_view`.
class Text {
 public:
  /// Empty, or a copy of `text`: O(length).
  constexpr Text() = default;
  constexpr Text(std::string_view text) { append(text); }  // NOLINT(google-explicit-constructor): a value type for text
  constexpr Text(const char* text) : Text(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)

  /// The characters, not terminated; valid until the text changes.
  [[nodiscard]] constexpr auto view() const -> std::string_view { return {chars_.data(), chars_.size()}; }
  constexpr operator std::string_view() const { return view(); }  // NOLINT(google-explicit-constructor)
  /// How many bytes there are, and whether there is none.
  [[nodiscard]] constexpr auto size() const -> std::uint32_t { return chars_.size(); }
  [[nodiscard]] constexpr auto empty() const -> bool { return chars_.empty(); }
  /// Empties the text; the memory is kept.
  constexpr void clear() { chars_.clear(); }
  /// Makes room for `count` bytes in all.
  constexpr void reserve(std::uint32_t count) { chars_.reserve(count); }

  /// Appends bytes, which may be part of this text, and returns the text. Amortised O(length).
  constexpr auto append(std::string_view text) -> Text& {
    chars_.append(Span<const char>(text.data(), text.size()));
    return *this;
  }
  constexpr auto append(char c) -> Text& {
    chars_.push_back(c);
    return *this;
  }

  /// Equal byte for byte.
  friend constexpr auto operator==(const Text& a, const Text& b) -> bool { return a.view() == b.view(); }
  friend constexpr auto operator==(const Text& a, std::string_view b) -> bool { return a.view() == b; }
  friend constexpr auto operator==(const Text& a, const char* b) -> bool { return a.view() == b; }

 private:
  Pool<char> chars_;
};

/// Writes an integer in decimal.
template <TextSink Sink, std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>)
constexpr void append_to(Sink& sink, T value) {
  char digits[20];
  char* const end = digits + 20;
  char* begin = end;
  auto rest = static_cast<std::uint64_t>(value);
  const bool negative = value < T{0};
  if (negative) rest = std::uint64_t{0} - rest;
  do {
    *--begin = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (negative) sink.append(std::string_view("-"));
  sink.append(std::string_view(begin, static_cast<std::size_t>(end - begin)));
}

/// Writes text as it is.
template <TextSink Sink>
constexpr void append_to(Sink& sink, std::string_view text) {
  sink.append(text);
}
template <TextSink Sink>
constexpr void append_to(Sink& sink, const char* text) {
  sink.append(std::string_view(text));
}
template <TextSink Sink>
constexpr void append_to(Sink& sink, const Text& text) {
  sink.append(text.view());
}
template <TextSink Sink>
constexpr void append_to(Sink& sink, char c) {
  sink.append(std::string_view(&c, 1));
}

/// The parts one after another: `text_of("rank ", 3, " of ", name)`.
template <class... Parts>
[[nodiscard]] constexpr auto text_of(const Parts&... parts) -> Text {
  Text text;
  (append_to(text, parts), ...);
  return text;
}

/// Appends `parts` to `sink`, in order.
template <TextSink Sink, class... Parts>
constexpr void append_all(Sink& sink, const Parts&... parts) {
  (append_to(sink, parts), ...);
}

}  // namespace fxpass

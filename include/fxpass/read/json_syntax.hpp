// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/diagnostic.hpp>

#include <range/v3/algorithm/count.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

/// @file
/// Where a text breaks the rules of JSON: the parser says only that it does.

namespace fxpass::detail {

/// Walks a text that the parser refused, token by token.
class JsonSyntax {
 public:
  explicit JsonSyntax(std::string_view text) : text_(text) {}

  /// Offset of the first offence; the size of the text if that only ends too early. O(size).
  [[nodiscard]] auto first_offence() -> std::size_t {
    while (true) {
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
      if (at_ == text_.size() || state_ == State::done || !take_token()) return at_;
    }
  }
  /// Line and column of `offset`, from 1; columns count bytes.
  [[nodiscard]] static auto place_of(std::string_view text, std::size_t offset) -> SourcePlace {
    const std::string_view before = text.substr(0, offset);
    const auto line_start = before.rfind('\n');  // npos + 1 is 0
    return {{},
            static_cast<std::uint32_t>(1 + ranges::count(before, '\n')),
            static_cast<std::uint32_t>(offset - (line_start + 1) + 1)};
  }

 private:
  enum class State : std::uint8_t { value, value_or_end, key, key_or_end, colon, comma_or_end, done };

  /// Steps over the next token, or says that it has no place here and leaves `at_` before it.
  auto take_token() -> bool {
    const char c = text_[at_];
    const bool wants_value = state_ == State::value || state_ == State::value_or_end;
    const bool wants_key = state_ == State::key || state_ == State::key_or_end;
    const bool may_end = state_ == State::comma_or_end || state_ == State::value_or_end || state_ == State::key_or_end;
    if (may_end && !open_.empty() && c == (open_.back() == '{' ? '}' : ']')) {
      open_.pop_back();
      ++at_;
      return value_ends();
    }
    if (wants_value && (c == '{' || c == '[')) {
      open_ += c;
      ++at_;
      state_ = c == '{' ? State::key_or_end : State::value_or_end;
      return true;
    }
    if ((wants_value || wants_key) && c == '"') {
      if (!take_string()) return false;
      if (wants_value) return value_ends();
      state_ = State::colon;
      return true;
    }
    if (wants_value) return take_word() && value_ends();
    if (state_ == State::colon ? c != ':' : c != ',' || state_ != State::comma_or_end) return false;
    state_ = state_ == State::comma_or_end && open_.back() == '{' ? State::key : State::value;
    ++at_;
    return true;
  }
  auto value_ends() -> bool {
    state_ = open_.empty() ? State::done : State::comma_or_end;
    return true;
  }
  auto take_string() -> bool {
    for (++at_; at_ < text_.size(); ++at_) {
      if (static_cast<unsigned char>(text_[at_]) < ' ') return false;
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\\') ++at_;
    }
    at_ = text_.size();
    return false;
  }
  /// A number, or one of the words that stand for a value, the bare words of Python among them.
  auto take_word() -> bool {
    const auto end = std::min(text_.find_first_of(" \t\r\n,]}", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    // The last word of a text that is cut short may itself be.
    bool is_known = is_number(word) || (end == text_.size() && !open_.empty());
    for (const std::string_view known : {"true", "false", "null", "NaN", "Infinity", "-Infinity"})
      is_known = is_known || word == known;
    if (is_known) at_ = end;
    return is_known;
  }
  static auto is_number(std::string_view word) -> bool {
    const auto is = [word](auto number) {
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      return error == std::errc() && end == word.data() + word.size();
    };
    if (word.find_first_of(".eE") == std::string_view::npos) return is(std::int64_t{}) || is(std::uint64_t{});
    return is(double{});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  State state_ = State::value;
  std::string open_;  ///< the brackets that are not closed yet
};

}  // namespace fxpass::detail

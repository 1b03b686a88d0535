// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/config.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

/// @file
/// `ShortList<T, N>`: a list of at most `N` plain values, held in place.

namespace fxpass {

/// At most `N` values without an allocation, for dimension sizes and numbers.
///
/// Never out of bounds: what does not fit makes the list `overflowed()`, which whoever takes the list as
/// input reports; an index past the end meets a spare element, zero unless it was written. Code that goes on
/// after an error thus does no harm and needs no checks of its own.
template <class T, std::size_t N>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T> && N < 255, "fxpass::ShortList holds few plain values");

 public:
  /// As containers name it.
  using value_type = T;
  /// How many values fit.
  static constexpr std::size_t capacity = N;

  /// No values.
  constexpr ShortList() = default;

  /// The values listed; those that do not fit are left out, and the list has overflowed.
  constexpr ShortList(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a list is what it lists
  constexpr ShortList(Span<const T> values) {
    for (const T& value : values) push_back(value);
  }
  /// `count` times `value`.
  constexpr ShortList(std::size_t count, T value) {
    for (std::size_t i = 0; i < count && !overflowed_; ++i) push_back(value);
  }

  /// Appends a value, or overflows. O(1).
  constexpr void push_back(T value) {
    if (count_ == N) {
      overflowed_ = true;
      return;
    }
    items_[count_++] = value;
  }
  /// Puts a value before the one at `at`, or at the end if there is none. O(size).
  constexpr void insert(std::size_t at, T value) {
    if (at > count_) at = count_;
    push_back(value);
    for (std::size_t i = count_; i-- > at + 1;) items_[i] = items_[i - 1];
    (*this)[at] = value;
  }
  /// Takes out the value at `at`, if there is one. O(size).
  constexpr void erase(std::size_t at) {
    if (at >= count_) return;
    for (std::size_t i = at; i + 1 < count_; ++i) items_[i] = items_[i + 1];
    --count_;
  }

  /// How many values there are, and whether there is none.
  [[nodiscard]] constexpr auto size() const -> std::size_t { return count_; }
  [[nodiscard]] constexpr auto empty() const -> bool { return count_ == 0; }
  /// Whether a value did not fit.
  [[nodiscard]] constexpr auto overflowed() const -> bool { return overflowed_; }
  /// The value at `i`, and the last one; past the end the spare element.
  [[nodiscard]] constexpr auto operator[](std::size_t i) -> T& { return items_[i < count_ ? i : N]; }
  [[nodiscard]] constexpr auto operator[](std::size_t i) const -> const T& {
    return items_[i < count_ ? i : N];
  }
  [[nodiscard]] constexpr auto back() const -> const T& { return (*this)[count_ == 0 ? 0 : count_ - 1u]; }
  /// The values, one behind the other.
  [[nodiscard]] constexpr auto data() -> T* { return items_; }
  [[nodiscard]] constexpr auto data() const -> const T* { return items_; }
  [[nodiscard]] constexpr auto begin() -> T* { return items_; }
  [[nodiscard]] constexpr auto end() -> T* { return items_ + count_; }
  [[nodiscard]] constexpr auto begin() const -> const T* { return items_; }
  [[nodiscard]] constexpr auto end() const -> const T* { return items_ + count_; }
  [[nodiscard]] constexpr auto view() const -> Span<const T> { return {items_, count_}; }

  /// Whether one of the values equals `value`. O(size).
  [[nodiscard]] constexpr auto contains(const T& value) const -> bool {
    for (const T& item : *this)
      if (item == value) return true;
    return false;
  }

  /// Equal if the values are, and both have overflowed or neither has.
  friend constexpr auto operator==(const ShortList& a, const ShortList& b) -> bool {
    if (a.count_ != b.count_ || a.overflowed_ != b.overflowed_) return false;
    for (std::size_t i = 0; i < a.count_; ++i)
      if (!(a.items_[i] == b.items_[i])) return false;
    return true;
  }

 private:
  T items_[N + 1]{};  // the last one is the spare
  std::uint8_t count_ = 0;
  bool overflowed_ = false;
};

}  // namespace fxpass

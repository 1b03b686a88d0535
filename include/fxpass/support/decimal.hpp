// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/text.hpp>

#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

/// @file
/// Floating-point numbers as the shortest decimal that reads back as the same number.
///
/// Run time uses `std::to_chars`, which C++20 does not evaluate in constant expressions; those use exact
/// arithmetic on large integers (the free-format algorithm of Steele and White, and Dybvig). Both find the
/// same digits.

namespace fxpass {

/// `d.ddd * 10^exponent`, without trailing zeros; one digit 0 for zero.
struct Decimal {
  char digits[17]{};       ///< `count` of them; 17 are enough for a double
  std::uint8_t count = 0;  ///< of digits, at least 1
  int exponent = 0;        ///< of the first digit

  /// The digits, without the point.
  [[nodiscard]] constexpr auto view() const -> std::string_view { return {digits, count}; }
  /// Equal as numbers: the form is unique.
  friend constexpr auto operator==(const Decimal& a, const Decimal& b) -> bool {
    return a.view() == b.view() && a.exponent == b.exponent;
  }
};

namespace detail {

/// An unsigned integer below 2^1280: more than scaling the smallest and the largest double needs.
class LargeUnsigned {
 public:
  constexpr explicit LargeUnsigned(std::uint64_t value) {
    limbs_[0] = static_cast<std::uint32_t>(value);
    limbs_[1] = static_cast<std::uint32_t>(value >> 32);
    trim(2);
  }
  constexpr void multiply(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      carry += std::uint64_t{limbs_[i]} * factor;
      limbs_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs_[count_++] = static_cast<std::uint32_t>(carry);
  }
  constexpr void multiply_by_power_of_ten(int exponent) {
    for (; exponent >= 9; exponent -= 9) multiply(1'000'000'000);
    for (; exponent > 0; --exponent) multiply(10);
  }
  constexpr void shift_left(int bits) {
    for (; bits >= 31; bits -= 31) multiply(std::uint32_t{1} << 31);
    multiply(std::uint32_t{1} << bits);
  }
  constexpr void add(const LargeUnsigned& other) {
    const std::size_t n = count_ > other.count_ ? count_ : other.count_;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < n; ++i) {
      carry += std::uint64_t{limbs_[i]} + other.limbs_[i];
      limbs_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    count_ = n;
    if (carry != 0) limbs_[count_++] = static_cast<std::uint32_t>(carry);
  }
  /// Needs `other <= *this`.
  constexpr void subtract(const LargeUnsigned& other) {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint64_t difference = std::uint64_t{limbs_[i]} - other.limbs_[i] - borrow;
      limbs_[i] = static_cast<std::uint32_t>(difference);
      borrow = difference >> 63;
    }
    trim(count_);
  }
  /// Negative, zero or positive as `a` is below, equal to or above `b`.
  [[nodiscard]] static constexpr auto compare(const LargeUnsigned& a, const LargeUnsigned& b) -> int {
    if (a.count_ != b.count_) return a.count_ < b.count_ ? -1 : 1;
    for (std::size_t i = a.count_; i-- > 0;)
      if (a.limbs_[i] != b.limbs_[i]) return a.limbs_[i] < b.limbs_[i] ? -1 : 1;
    return 0;
  }

 private:
  constexpr void trim(std::size_t count) {
    count_ = count;
    while (count_ > 0 && limbs_[count_ - 1] == 0) --count_;
  }

  std::uint32_t limbs_[40]{};  // least significant first; zero from `count_` on
  std::size_t count_ = 0;
};

/// The exact algorithm. `value = significand * 2^exponent` is a positive number; the gap below it is half of
/// the gap above it if `narrow_below`.
[[nodiscard]] constexpr auto exact_decimal(std::uint64_t significand, int exponent, bool narrow_below)
    -> Decimal {
  // value = rest / scale, and every number between value - below / scale and value + above / scale reads back
  // as it.
  const int extra = narrow_below ? 2 : 1;
  LargeUnsigned rest(significand), scale(1), above(narrow_below ? 2 : 1), below(1);
  rest.shift_left(extra);
  scale.shift_left(extra);
  if (exponent >= 0) {
    rest.shift_left(exponent);
    above.shift_left(exponent);
    below.shift_left(exponent);
  } else {
    scale.shift_left(-exponent);
  }
  // The ends of that interval read back too if the significand is even.
  const bool closed = significand % 2 == 0;
  const auto reaches_one = [&] {
    LargeUnsigned end = rest;
    end.add(above);
    return LargeUnsigned::compare(end, scale) >= (closed ? 0 : 1);
  };

  // Scales so that 0.1 <= value < 1, by an estimate of the logarithm that is at most one too low.
  const int high_bit = exponent + 63 - std::countl_zero(significand);
  int power = static_cast<int>((std::int64_t{high_bit} * 1233 - 4095 * (high_bit < 0 ? 1 : 0)) / 4096);
  if (power >= 0) {
    scale.multiply_by_power_of_ten(power);
  } else {
    rest.multiply_by_power_of_ten(-power);
    above.multiply_by_power_of_ten(-power);
    below.multiply_by_power_of_ten(-power);
  }
  while (reaches_one()) {
    scale.multiply(10);
    ++power;
  }

  Decimal decimal;
  decimal.exponent = power - 1;
  for (;;) {
    rest.multiply(10);
    above.multiply(10);
    below.multiply(10);
    int digit = 0;
    while (LargeUnsigned::compare(rest, scale) >= 0) {
      rest.subtract(scale);
      ++digit;
    }
    const bool low = LargeUnsigned::compare(rest, below) < (closed ? 1 : 0);
    const bool high = reaches_one();
    if (low || high) {
      // Both neighbours read back: the nearer one, of equally near ones the even one.
      rest.multiply(2);
      const int half = LargeUnsigned::compare(rest, scale);
      if (high && (!low || half > 0 || (half == 0 && digit % 2 != 0))) ++digit;
    }
    decimal.digits[decimal.count++] = static_cast<char>('0' + digit);
    if (low || high) return decimal;
  }
}

/// The parts of what `std::to_chars` writes, `d.ddde[+-]dd`.
[[nodiscard]] inline auto split_scientific(std::string_view text) -> Decimal {
  Decimal decimal;
  std::size_t at = 0;
  for (; at < text.size() && text[at] != 'e'; ++at)
    if (text[at] != '.') decimal.digits[decimal.count++] = text[at];
  const bool is_negative = text[at + 1] == '-';
  for (at += 2; at < text.size(); ++at) decimal.exponent = decimal.exponent * 10 + (text[at] - '0');
  if (is_negative) decimal.exponent = -decimal.exponent;
  return decimal;
}

}  // namespace detail

/// The shortest decimal that reads back as `value`; the nearest of several. Needs a finite number; its sign
/// is not looked at.
template <std::floating_point T>
  requires(sizeof(T) <= 8)
[[nodiscard]] constexpr auto shortest_decimal(T value) -> Decimal {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int mantissa_bits = std::numeric_limits<T>::digits - 1;
  constexpr Bits hidden = Bits{1} << mantissa_bits;
  const Bits bits = std::bit_cast<Bits>(value) & (~Bits{0} >> 1);
  if (bits == 0) {
    Decimal zero;
    zero.digits[zero.count++] = '0';
    return zero;
  }
  if (!std::is_constant_evaluated()) {
    char text[32];
    const std::to_chars_result end =
        std::to_chars(text, text + sizeof text, std::bit_cast<T>(bits), std::chars_format::scientific);
    return detail::split_scientific({text, static_cast<std::size_t>(end.ptr - text)});
  }
  const int field = static_cast<int>(bits >> mantissa_bits);
  const Bits fraction = bits & (hidden - 1);
  const int lowest = std::numeric_limits<T>::min_exponent - 1 - mantissa_bits;
  if (field == 0) return detail::exact_decimal(fraction, lowest, false);
  return detail::exact_decimal(fraction | hidden, lowest + field - 1, fraction == 0 && field > 1);
}

/// Writes a number: `1.5`, `-3`, `1e-6`, `inf`, `-inf`, `nan`. A zero keeps its sign.
template <TextSink Sink, std::floating_point T>
constexpr void append_decimal(Sink& sink, T value) {
  if (value != value) {  // NOLINT(misc-redundant-expression): NaN alone differs from itself
    append_to(sink, "nan");
    return;
  }
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if ((std::bit_cast<Bits>(value) >> (sizeof(T) * 8 - 1)) != 0) append_to(sink, '-');
  if (value == std::numeric_limits<T>::infinity() || value == -std::numeric_limits<T>::infinity()) {
    append_to(sink, "inf");
    return;
  }
  const Decimal decimal = shortest_decimal(value);
  const std::string_view digits = decimal.view();
  const auto zeros = [&](int count) {
    for (; count > 0; --count) append_to(sink, '0');
  };
  constexpr int lowest_plain = -5, highest_plain = 16;  // powers of ten that are written without exponent
  const int integral = decimal.exponent + 1;            // digits before the point
  if (decimal.exponent < lowest_plain || decimal.exponent >= highest_plain) {
    append_to(sink, digits.substr(0, 1));
    if (digits.size() > 1) append_all(sink, '.', digits.substr(1));
    append_all(sink, 'e', decimal.exponent);
  } else if (integral <= 0) {
    append_to(sink, "0.");
    zeros(-integral);
    append_to(sink, digits);
  } else if (static_cast<std::size_t>(integral) >= digits.size()) {
    append_to(sink, digits);
    zeros(integral - static_cast<int>(digits.size()));
  } else {
    append_all(sink, digits.substr(0, static_cast<std::size_t>(integral)), '.',
               digits.substr(static_cast<std::size_t>(integral)));
  }
}

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/dtype.hpp>

#include <bit>
#include <cstdint>

/// @file
/// The bits of floating-point numbers of every width, from and to `double`. Rounds to nearest, ties to even,
/// once. Source of the small formats: the OCP 8-bit floating point specification, and ml_dtypes for the
/// unsigned-zero kinds.

namespace fxpass {

/// How a floating-point format lays out its bits, and what it has instead of infinity.
struct FloatFormat {
  /// What the bit patterns at the ends of the range mean.
  enum class Specials : std::uint8_t {
    ieee,           ///< infinities and NaN in the highest exponent
    nan_only,       ///< no infinity; NaN is the magnitude of all ones
    unsigned_zero,  ///< no infinity, no -0; NaN is the pattern of -0
    exponent_only,  ///< a power of two without sign or zero; NaN is all ones
  };

  int exponent_bits;                   ///< width of the exponent
  int mantissa_bits;                   ///< stored, without the hidden one
  int bias;                            ///< of the exponent
  Specials specials = Specials::ieee;  ///< what the ends of the range mean

  /// Bits in all, the sign included where there is one.
  [[nodiscard]] constexpr auto width() const -> int {
    return exponent_bits + mantissa_bits + (specials == Specials::exponent_only ? 0 : 1);
  }
};

/// The format of a dtype. Needs a floating dtype.
[[nodiscard]] constexpr auto float_format(DType dtype) -> FloatFormat {
  using enum FloatFormat::Specials;
  switch (dtype) {
    case DType::f8e4m3fn: return {4, 3, 7, nan_only};
    case DType::f8e5m2: return {5, 2, 15, ieee};
    case DType::f8e4m3fnuz: return {4, 3, 8, unsigned_zero};
    case DType::f8e5m2fnuz: return {5, 2, 16, unsigned_zero};
    case DType::f8e8m0fnu: return {8, 0, 127, exponent_only};
    case DType::f16: return {5, 10, 15, ieee};
    case DType::bf16: return {8, 7, 127, ieee};
    case DType::f32: return {8, 23, 127, ieee};
    default: return {11, 52, 1023, ieee};
  }
}

namespace detail {
/// A finite double as `significand * 2^exponent`, the sign apart.
struct Unpacked {
  std::uint64_t significand;
  int exponent;
};
[[nodiscard]] constexpr auto unpack(double value) -> Unpacked {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<int>((bits >> 52) & 0x7ffu);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent == 0) return {mantissa, -1074};
  return {mantissa | (std::uint64_t{1} << 52), exponent - 1075};
}
[[nodiscard]] constexpr auto is_nan(double value) -> bool {
  return value != value;
}
[[nodiscard]] constexpr auto is_infinite(double value) -> bool {
  return (std::bit_cast<std::uint64_t>(value) << 1) == 0xffe0000000000000u;
}
/// `value / 2^shift`, rounded to nearest, ties to even.
[[nodiscard]] constexpr auto rounded_shift(std::uint64_t value, int shift) -> std::uint64_t {
  if (shift <= 0) return value << -shift;
  if (shift > 63) return 0;
  const std::uint64_t kept = value >> shift;
  const std::uint64_t rest = value & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}
}  // namespace detail

/// The bits of `value` in a format. What is too large becomes infinity, or NaN where there is none.
[[nodiscard]] constexpr auto float_bits(double value, const FloatFormat& format) -> std::uint64_t {
  using enum FloatFormat::Specials;
  const int mantissa = format.mantissa_bits;
  const std::uint64_t top_exponent = (std::uint64_t{1} << format.exponent_bits) - 1;
  const std::uint64_t magnitude_mask = (top_exponent << mantissa) | ((std::uint64_t{1} << mantissa) - 1);
  const bool is_negative = (std::bit_cast<std::uint64_t>(value) >> 63) != 0;

  if (format.specials == exponent_only) {
    if (detail::is_nan(value) || detail::is_infinite(value) || is_negative) return magnitude_mask;
    const detail::Unpacked u = detail::unpack(value);
    const int high = 63 - std::countl_zero(u.significand | 1);
    // Halfway lies 1.5 * 2^n, which goes up: its lower neighbour has no mantissa to be even.
    const bool up = high > 0 && ((u.significand >> (high - 1)) & 1) != 0;
    const int biased = u.exponent + high + (up ? 1 : 0) + format.bias;
    if (u.significand == 0 || biased < 0) return 0;
    return static_cast<std::uint64_t>(biased) > magnitude_mask ? magnitude_mask
                                                               : static_cast<std::uint64_t>(biased);
  }

  const std::uint64_t sign = is_negative ? magnitude_mask + 1 : 0;
  const std::uint64_t infinity = top_exponent << mantissa;
  const auto not_a_number = [&]() -> std::uint64_t {
    if (format.specials == ieee) return sign | infinity | (std::uint64_t{1} << (mantissa - 1));
    if (format.specials == nan_only) return sign | magnitude_mask;
    return magnitude_mask + 1;
  };
  const auto too_large = [&]() -> std::uint64_t {
    return format.specials == ieee ? sign | infinity : not_a_number();
  };
  if (detail::is_nan(value)) return not_a_number();
  if (detail::is_infinite(value)) return too_large();

  const detail::Unpacked u = detail::unpack(value);
  if (u.significand == 0) return format.specials == unsigned_zero ? 0 : sign;
  const int high = 63 - std::countl_zero(u.significand);
  int biased = u.exponent + high + format.bias;
  // A number below the normal ones has the exponent of the smallest of them.
  const int exponent = biased < 1 ? 1 : biased;
  const int shift = exponent - format.bias - mantissa - u.exponent;
  // A carry out of the mantissa counts the exponent up: the fields are adjacent.
  std::uint64_t magnitude = detail::rounded_shift(u.significand, shift);
  if (biased >= 1) {
    if (biased > static_cast<int>(top_exponent) + 1) return too_large();
    magnitude += (static_cast<std::uint64_t>(biased) - 1) << mantissa;
  }
  switch (format.specials) {
    case nan_only:
      if (magnitude >= magnitude_mask) return too_large();
      break;
    case unsigned_zero:
      if (magnitude > magnitude_mask) return too_large();
      if (magnitude == 0) return 0;
      break;
    default:
      if (magnitude >= infinity) return too_large();
      break;
  }
  return sign | magnitude;
}
[[nodiscard]] constexpr auto float_bits(double value, DType dtype) -> std::uint64_t {
  return float_bits(value, float_format(dtype));
}

/// The number that bits mean. Exact: every format is part of double. A NaN keeps its sign, not its payload.
[[nodiscard]] constexpr auto float_from_bits(std::uint64_t bits, const FloatFormat& format) -> double {
  using enum FloatFormat::Specials;
  const int mantissa = format.mantissa_bits;
  const std::uint64_t top_exponent = (std::uint64_t{1} << format.exponent_bits) - 1;
  const std::uint64_t fraction_mask = (std::uint64_t{1} << mantissa) - 1;
  const std::uint64_t exponent = (bits >> mantissa) & top_exponent;
  std::uint64_t fraction = bits & fraction_mask;
  const std::uint64_t sign =
      format.specials == exponent_only ? 0 : ((bits >> (format.width() - 1)) & 1) << 63;
  constexpr std::uint64_t infinity = 0x7ff0000000000000u, quiet = 0x7ff8000000000000u;
  switch (format.specials) {
    case ieee:
      if (exponent == top_exponent) return std::bit_cast<double>(sign | (fraction == 0 ? infinity : quiet));
      break;
    case nan_only:
      if (exponent == top_exponent && fraction == fraction_mask) return std::bit_cast<double>(sign | quiet);
      break;
    case unsigned_zero:
      if (sign != 0 && exponent == 0 && fraction == 0) return std::bit_cast<double>(quiet);
      break;
    case exponent_only:
      if (exponent == top_exponent) return std::bit_cast<double>(quiet);
      return std::bit_cast<double>((exponent + 1023 - static_cast<std::uint64_t>(format.bias)) << 52);
  }
  if (mantissa == 52) return std::bit_cast<double>(bits);
  if (exponent == 0 && fraction == 0) return std::bit_cast<double>(sign);
  int normal_exponent = static_cast<int>(exponent);
  if (exponent == 0) {
    normal_exponent = 1;
    while ((fraction >> mantissa) == 0) {
      fraction <<= 1;
      --normal_exponent;
    }
    fraction &= fraction_mask;
  }
  const auto biased = static_cast<std::uint64_t>(normal_exponent - format.bias + 1023);
  return std::bit_cast<double>(sign | (biased << 52) | (fraction << (52 - mantissa)));
}
[[nodiscard]] constexpr auto float_from_bits(std::uint64_t bits, DType dtype) -> double {
  return float_from_bits(bits, float_format(dtype));
}

}  // namespace fxpass

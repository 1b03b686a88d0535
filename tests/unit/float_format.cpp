// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/support/float_format.hpp>

#include "twice.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <random>

namespace {

using namespace fxpass;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Every bit pattern of a narrow format means a number that is encoded as that pattern again; only NaN loses
/// its payload.
constexpr auto round_trips(DType dtype) -> bool {
  const FloatFormat format = float_format(dtype);
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << format.width(); ++bits) {
    const double value = float_from_bits(bits, format);
    const std::uint64_t again = float_bits(value, format);
    const bool both_nan = value != value && float_from_bits(again, format) != float_from_bits(again, format);
    if (again != bits && !both_nan) return false;
  }
  return true;
}
constexpr auto eight_bit_formats_round_trip() -> bool {
  return round_trips(DType::f8e4m3fn) && round_trips(DType::f8e5m2) && round_trips(DType::f8e4m3fnuz) &&
         round_trips(DType::f8e5m2fnuz) && round_trips(DType::f8e8m0fnu);
}
FXPASS_TEST_TWICE(eight_bit_formats_round_trip)

TEST_CASE("sixteen bit formats round trip") {
  CHECK(round_trips(DType::f16));
  CHECK(round_trips(DType::bf16));
}

constexpr auto known_patterns() -> bool {
  return float_bits(1.0, DType::f16) == 0x3c00 && float_bits(65504.0, DType::f16) == 0x7bff &&
         float_bits(-2.5, DType::bf16) == 0xc020 && float_bits(0.1, DType::bf16) == 0x3dcd &&
         float_bits(1.0, DType::f8e4m3fn) == 0x38 && float_bits(448.0, DType::f8e4m3fn) == 0x7e &&
         float_bits(1.0, DType::f8e5m2) == 0x3c && float_bits(1.0, DType::f8e4m3fnuz) == 0x40 &&
         float_bits(240.0, DType::f8e4m3fnuz) == 0x7f && float_bits(1.0, DType::f8e5m2fnuz) == 0x40 &&
         float_bits(1.0, DType::f8e8m0fnu) == 0x7f && float_bits(0.1, DType::f32) == 0x3dcccccd &&
         float_bits(5.960464477539063e-08, DType::f16) == 0x0001 && float_bits(1e-45, DType::f32) == 1;
}
FXPASS_TEST_TWICE(known_patterns)

constexpr auto ties_go_to_even() -> bool {
  return float_bits(1 + 0x1p-11, DType::f16) == 0x3c00 && float_bits(1 + 3 * 0x1p-11, DType::f16) == 0x3c02 &&
         float_bits(1 + 0x1p-11 + 0x1p-50, DType::f16) == 0x3c01 && float_bits(0x1p-25, DType::f16) == 0 &&
         float_bits(3 * 0x1p-25, DType::f16) == 2 && float_bits(2.5 * 0x1p-149, DType::f32) == 2;
}
FXPASS_TEST_TWICE(ties_go_to_even)

constexpr auto what_is_too_large_is_infinite_or_no_number() -> bool {
  return float_bits(65519.0, DType::f16) == 0x7bff && float_bits(65520.0, DType::f16) == 0x7c00 &&
         float_bits(-1e300, DType::f32) == 0xff800000 && float_bits(464.0, DType::f8e4m3fn) == 0x7e &&
         float_bits(465.0, DType::f8e4m3fn) == 0x7f && float_bits(-infinity, DType::f8e4m3fn) == 0xff &&
         float_bits(infinity, DType::f8e5m2) == 0x7c && float_bits(infinity, DType::f8e4m3fnuz) == 0x80 &&
         float_bits(1e300, DType::f8e8m0fnu) == 0xff && float_bits(nan, DType::bf16) == 0x7fc0 &&
         float_bits(-0.0, DType::f8e5m2fnuz) == 0 && float_bits(-0.0, DType::f8e5m2) == 0x80;
}
FXPASS_TEST_TWICE(what_is_too_large_is_infinite_or_no_number)

TEST_CASE("a double becomes the float that the processor makes of it") {
  std::mt19937_64 random(7);
  int differences = 0;
  for (int n = 0; n < 100000; ++n) {
    // All exponents that a float knows, and some beyond both ends.
    const std::uint64_t exponent = 1023 - 160 + random() % 320;
    const double value = std::bit_cast<double>((random() & 0x800fffffffffffffu) | (exponent << 52));
    if (float_bits(value, DType::f32) != std::bit_cast<std::uint32_t>(static_cast<float>(value)))
      ++differences;
    if (float_bits(value, DType::f64) != std::bit_cast<std::uint64_t>(value)) ++differences;
    const auto bits = static_cast<std::uint32_t>(random());
    const auto single = std::bit_cast<float>(bits);
    if (single == single && float_from_bits(bits, DType::f32) != static_cast<double>(single)) ++differences;
  }
  CHECK(differences == 0);
}

}  // namespace

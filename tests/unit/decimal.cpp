// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/support/decimal.hpp>

#include "twice.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <random>

namespace {

using namespace fxpass;

template <class T>
constexpr auto written(T value) -> Text {
  Text text;
  append_decimal(text, value);
  return text;
}

constexpr auto doubles_are_written_as_their_shortest_decimal() -> bool {
  return written(0.0) == "0" && written(-0.0) == "-0" && written(1.0) == "1" && written(-2.5) == "-2.5" &&
         written(0.1) == "0.1" && written(0.1 + 0.2) == "0.30000000000000004" &&
         written(1.0 / 3) == "0.3333333333333333" && written(123456.789) == "123456.789" &&
         written(5e-324) == "5e-324" && written(2.2250738585072014e-308) == "2.2250738585072014e-308" &&
         written(std::numeric_limits<double>::max()) == "1.7976931348623157e308" &&
         written(9007199254740993.0) == "9007199254740992";
}
FXPASS_TEST_TWICE(doubles_are_written_as_their_shortest_decimal)

constexpr auto floats_are_shorter_than_the_same_number_as_a_double() -> bool {
  return written(0.1F) == "0.1" && written(static_cast<double>(0.1F)) == "0.10000000149011612" &&
         written(1e-45F) == "1e-45" && written(3.4028235e38F) == "3.4028235e38" &&
         written(16777216.0F) == "16777216" && written(1.17549435e-38F) == "1.1754944e-38";
}
FXPASS_TEST_TWICE(floats_are_shorter_than_the_same_number_as_a_double)

constexpr auto exponents_begin_where_plain_digits_get_long() -> bool {
  return written(1e15) == "1000000000000000" && written(1e16) == "1e16" && written(1.5e16) == "1.5e16" &&
         written(0.00001) == "0.00001" && written(0.000001) == "1e-6" && written(1.25e-7) == "1.25e-7";
}
FXPASS_TEST_TWICE(exponents_begin_where_plain_digits_get_long)

constexpr auto special_values_have_names() -> bool {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return written(infinity) == "inf" && written(-infinity) == "-inf" &&
         written(std::numeric_limits<double>::quiet_NaN()) == "nan";
}
FXPASS_TEST_TWICE(special_values_have_names)

/// What constant evaluation computes for a positive, finite number.
template <class T, class Bits>
auto exact(Bits bits) -> Decimal {
  constexpr int mantissa_bits = std::numeric_limits<T>::digits - 1;
  constexpr Bits hidden = Bits{1} << mantissa_bits;
  const int field = static_cast<int>(bits >> mantissa_bits);
  const Bits fraction = bits & (hidden - 1);
  const int lowest = std::numeric_limits<T>::min_exponent - 1 - mantissa_bits;
  return field == 0
             ? detail::exact_decimal(fraction, lowest, false)
             : detail::exact_decimal(fraction | hidden, lowest + field - 1, fraction == 0 && field > 1);
}

template <class T, class Bits>
auto agrees(Bits bits) -> bool {
  bits &= ~Bits{0} >> 1;
  const T value = std::bit_cast<T>(bits);
  if (bits == 0 || !(value <= std::numeric_limits<T>::max())) return true;
  return shortest_decimal(value) == exact<T>(bits);
}

TEST_CASE("constant evaluation and the standard library find the same digits") {
  std::mt19937_64 random(20240607);
  int disagreements = 0;
  for (int n = 0; n < 20000; ++n) {
    const std::uint64_t bits = random();
    disagreements += agrees<double>(bits) ? 0 : 1;
    disagreements += agrees<float>(static_cast<std::uint32_t>(bits)) ? 0 : 1;
    disagreements +=
        agrees<double>(std::bit_cast<std::uint64_t>(static_cast<double>(bits % 100000) / 1000)) ? 0 : 1;
    disagreements += agrees<double>(std::bit_cast<std::uint64_t>(static_cast<double>(bits))) ? 0 : 1;
  }
  // Powers of two, where the gap below is the narrower one, and their neighbours.
  for (std::uint64_t field = 0; field < 2047; ++field)
    for (const std::uint64_t offset : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}})
      disagreements += agrees<double>((field << 52) + offset) ? 0 : 1;
  for (std::uint32_t field = 0; field < 255; ++field)
    for (const std::uint32_t offset : {~std::uint32_t{0}, std::uint32_t{0}, std::uint32_t{1}})
      disagreements += agrees<float>((field << 23) + offset) ? 0 : 1;
  CHECK(disagreements == 0);
}

}  // namespace

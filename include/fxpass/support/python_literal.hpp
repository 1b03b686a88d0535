// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/decimal.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

/// @file
/// Values as Python's `repr` writes them, for printed graphs and for Python code.

namespace fxpass {

namespace detail {

enum class PointZero : bool { omit, add };

/// CPython's `float_repr_style = 'short'`: an exponent below 1e-4 and from 1e16 on, of at least two digits.
template <TextSink Sink>
constexpr void append_python_real(Sink& sink, double value, PointZero point_zero) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (value != value) return append_to(sink, "nan");
  if (std::bit_cast<std::int64_t>(value) < 0) append_to(sink, '-');
  if (value == infinity || value == -infinity) return append_to(sink, "inf");

  const Decimal decimal = shortest_decimal(value);
  const std::string_view digits = decimal.view();
  const int exponent = decimal.exponent;
  const auto zeros = [&](int count) {
    for (; count > 0; --count) append_to(sink, '0');
  };
  if (exponent < -4 || exponent >= 16) {
    append_to(sink, digits.substr(0, 1));
    if (digits.size() > 1) append_all(sink, '.', digits.substr(1));
    const int magnitude = exponent < 0 ? -exponent : exponent;
    append_all(sink, exponent < 0 ? "e-" : "e+", magnitude < 10 ? "0" : "", magnitude);
  } else if (exponent < 0) {
    append_to(sink, "0.");
    zeros(-exponent - 1);
    append_to(sink, digits);
  } else if (const auto integral = static_cast<std::size_t>(exponent) + 1; integral < digits.size()) {
    append_all(sink, digits.substr(0, integral), '.', digits.substr(integral));
  } else {
    append_to(sink, digits);
    zeros(exponent + 1 - static_cast<int>(digits.size()));
    if (point_zero == PointZero::add) append_to(sink, ".0");
  }
}

/// Length of the well-formed UTF-8 sequence that `text` begins with; 0 if there is none.
[[nodiscard]] constexpr auto utf8_length(std::string_view text) -> std::size_t {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool is_too_large = first == 0xf4 && byte(1) >= 0x90;
  return is_overlong || is_surrogate || is_too_large ? 0 : length;
}

}  // namespace detail

/// `1.0`, `1e-05`, `-inf`, `nan`.
template <TextSink Sink>
constexpr void append_python_float(Sink& sink, double value) {
  detail::append_python_real(sink, value, detail::PointZero::add);
}

/// `2j`, `(1+2j)`, `(-0-1j)`.
template <TextSink Sink>
constexpr void append_python_complex(Sink& sink, double real, double imaginary) {
  using detail::PointZero;
  if (std::bit_cast<std::uint64_t>(real) == 0) {
    detail::append_python_real(sink, imaginary, PointZero::omit);
    return append_to(sink, 'j');
  }
  append_to(sink, '(');
  detail::append_python_real(sink, real, PointZero::omit);
  if (imaginary != imaginary || std::bit_cast<std::int64_t>(imaginary) >= 0) append_to(sink, '+');
  detail::append_python_real(sink, imaginary, PointZero::omit);
  append_to(sink, "j)");
}

/// A string in the quotes that Python would choose. Every control character is escaped; other characters
/// stay, those too that Python's table calls unprintable; a byte that is no UTF-8 becomes the escape that
/// `surrogateescape` gives.
template <TextSink Sink>
constexpr void append_python_string(Sink& sink, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  const auto hex = [&](unsigned value) {
    constexpr std::string_view digits = "0123456789abcdef";
    append_all(sink, digits[value / 16 % 16], digits[value % 16]);
  };
  append_to(sink, quote);
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = detail::utf8_length(text.substr(i));
    if (length == 0) {
      append_to(sink, "\\udc");
      hex(byte);
      ++i;
      continue;
    }
    const auto last = static_cast<unsigned char>(text[i + length - 1]);
    if (byte == static_cast<unsigned char>(quote) || byte == '\\') {
      append_all(sink, '\\', text[i]);
    } else if (byte == '\n') {
      append_to(sink, "\\n");
    } else if (byte == '\r') {
      append_to(sink, "\\r");
    } else if (byte == '\t') {
      append_to(sink, "\\t");
    } else if (byte < 0x20 || byte == 0x7f || (byte == 0xc2 && (last <= 0xa0 || last == 0xad))) {
      append_to(sink, "\\x");
      hex(last);
    } else {
      append_to(sink, text.substr(i, length));
    }
    i += length;
  }
  append_to(sink, quote);
}

/// `device(type='cuda', index=1)` for "cuda:1".
template <TextSink Sink>
constexpr void append_python_device(Sink& sink, std::string_view device) {
  const auto colon = device.find(':');
  append_to(sink, "device(type=");
  append_python_string(sink, device.substr(0, colon));
  if (colon != std::string_view::npos) append_all(sink, ", index=", device.substr(colon + 1));
  append_to(sink, ')');
}

}  // namespace fxpass

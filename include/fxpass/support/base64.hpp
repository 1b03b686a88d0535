// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/text.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// Base64 (RFC 4648, section 4), in which Neuron wants kernel configurations.

namespace fxpass {

namespace detail {
inline constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}  // namespace detail

/// Writes `bytes` in base64, padded.
template <TextSink Sink>
constexpr void append_base64(Sink& sink, std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8U | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      append_to(sink, k <= count ? detail::base64_digits[bits >> (18U - 6U * k) & 0x3fU] : '=');
  }
}

/// The bytes that `text` stands for; none if it is not padded base64.
[[nodiscard]] constexpr auto decode_base64(std::string_view text) -> std::optional<Text> {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  Text bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t digits = i + 4 == text.size() ? 4 - padding : 4;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const auto value = k < digits ? detail::base64_digits.find(text[i + k]) : 0;
      if (value == std::string_view::npos) return std::nullopt;
      bits = bits << 6U | static_cast<std::uint32_t>(value);
    }
    for (std::size_t k = 0; k + 1 < digits; ++k)
      append_to(bytes, static_cast<char>(bits >> (16U - 8U * k) & 0xffU));
  }
  return bytes;
}

}  // namespace fxpass

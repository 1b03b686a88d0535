// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/text.hpp>

#include <string_view>

/// @file
/// Strings as JSON writes them.

namespace fxpass {

/// Writes `text` as a JSON string, quotes included. Needs UTF-8. O(length).
template <TextSink Sink>
constexpr void append_json_string(Sink& sink, std::string_view text) {
  append_to(sink, '"');
  for (const char c : text) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      append_all(sink, '\\', c);
    else if (byte < 0x20)
      append_all(sink, "\\u00", digits[byte >> 4U], digits[byte & 0xfU]);
    else
      append_to(sink, c);
  }
  append_to(sink, '"');
}

}  // namespace fxpass

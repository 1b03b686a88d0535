// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/support/base64.hpp>

#include "twice.hpp"

namespace {

using namespace fxpass;

constexpr auto encoded(std::string_view bytes) -> Text {
  Text text;
  append_base64(text, bytes);
  return text;
}

// The vectors of RFC 4648, section 10.
constexpr auto the_standards_examples() -> bool {
  struct Example {
    std::string_view bytes, text;
  };
  constexpr Example examples[] = {{"", ""},
                                  {"f", "Zg=="},
                                  {"fo", "Zm8="},
                                  {"foo", "Zm9v"},
                                  {"foob", "Zm9vYg=="},
                                  {"fooba", "Zm9vYmE="},
                                  {"foobar", "Zm9vYmFy"}};
  for (const Example& e : examples)
    if (!(encoded(e.bytes) == e.text) || decode_base64(e.text) != Text(e.bytes)) return false;
  return true;
}
FXPASS_TEST_TWICE(the_standards_examples)

constexpr auto all_bytes_come_back() -> bool {
  Text bytes;
  for (int i = 0; i < 256; ++i) bytes.append(static_cast<char>(i));
  return decode_base64(encoded(bytes)) == bytes;
}
FXPASS_TEST_TWICE(all_bytes_come_back)

constexpr auto other_text_is_refused() -> bool {
  for (const std::string_view text : {"Zg=", "Zg", "Z===", "====", "Zm9v\n", "Zm=v", "Zm9-", "Z g="})
    if (decode_base64(text)) return false;
  return true;
}
FXPASS_TEST_TWICE(other_text_is_refused)

}  // namespace

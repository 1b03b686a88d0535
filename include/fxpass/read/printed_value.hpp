// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/geometry.hpp>
#include <fxpass/read/fx_document.hpp>
#include <fxpass/support/dtype.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// @file
/// What annotations of printed graphs say of a value, as a VALUE of FX JSON: "f32[4, s0][s0, 1]cpu",
/// "Sym(s0)".

namespace fxpass::detail {

/// PyTorch's name of the dtype that annotations abbreviate to `text`; empty if it is none.
[[nodiscard]] inline auto dtype_of_abbreviation(std::string_view text) -> std::string_view {
  for (const DTypeInfo& info : dtype_table)
    if (info.short_name == text) return info.torch_name;
  return {};
}

/// Text between brackets, split at the commas that stand in no inner bracket.
[[nodiscard]] inline auto split_at_commas(std::string_view text) -> std::vector<std::string_view> {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    std::string_view part = text.substr(start, i - start);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    start = i + 1;
  }
  return parts;
}

/// Sizes or strides as a JSON list: numbers, and strings where they are expressions.
[[nodiscard]] inline auto sym_ints_json(const std::vector<std::string_view>& numbers) -> std::string {
  std::string json = "[";
  for (const std::string_view number : numbers) {
    if (json.size() > 1) json += ", ";
    std::int64_t value = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
    if (parsed.ec == std::errc() && parsed.ptr == number.data() + number.size())
      json += number;
    else
      append_json_string(json, number);
  }
  return json += ']';
}

/// A tensor's VALUE. Needs as many strides as sizes.
[[nodiscard]] inline auto tensor_json(std::string_view dtype, const std::vector<std::string_view>& sizes,
                                      const std::vector<std::string_view>& strides, std::string_view offset,
                                      std::string_view device) -> std::string {
  std::string json = "{\"dtype\": ";
  append_json_string(json, dtype);
  append_all(json, ", \"shape\": ", sym_ints_json(sizes), ", \"stride\": ", sym_ints_json(strides),
             ", \"offset\": ", offset, ", \"device\": ");
  append_json_string(json, device);
  return json += '}';
}
/// Strides that the text does not show. Those of at most one element, or of none, cannot matter.
[[nodiscard]] inline auto unknown_strides(const std::vector<std::string_view>& sizes)
    -> std::vector<std::string_view> {
  bool matter = false;
  for (const std::string_view size : sizes) matter = matter || size != "1";
  return std::vector<std::string_view>(sizes.size(), matter ? unknown_number : std::string_view("1"));
}

/// What the annotation `text` says; empty if it says nothing of a value: the name of a Python type, say.
[[nodiscard]] inline auto value_of_annotation(std::string_view text) -> std::string {
  if (text.starts_with("Sym(") && text.ends_with(')'))
    return tagged("symint", text.substr(4, text.size() - 5));
  // Parameter(f32[4]): what stands inside, as it is for subclasses that only mark a tensor. Others lay data
  // out in ways of their own.
  for (const std::string_view wrapper : {"Parameter(", "Buffer("})
    if (text.starts_with(wrapper) && text.ends_with(')'))
      return value_of_annotation(text.substr(wrapper.size(), text.size() - wrapper.size() - 1));
  const auto bracketed = [&](std::string_view& inside) {
    if (!text.starts_with('[')) return false;
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '[') ++depth;
      if (text[i] == ']' && --depth == 0) {
        inside = text.substr(1, i - 1);
        text.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  };
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) return {};
  const std::string_view dtype = dtype_of_abbreviation(text.substr(0, open));
  std::string_view inside;
  text.remove_prefix(open);
  if (dtype.empty() || !bracketed(inside)) return {};
  const std::vector<std::string_view> sizes = split_at_commas(inside);
  std::vector<std::string_view> strides = unknown_strides(sizes);
  if (bracketed(inside)) strides = split_at_commas(inside);
  if (strides.size() != sizes.size()) return {};
  // No annotation shows the offset. That of an input is taken to be 0; of all other values the offset is
  // computed.
  return tensor_json(dtype, sizes, strides, "0", text);
}

}  // namespace fxpass::detail

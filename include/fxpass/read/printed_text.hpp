// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/read/python_code.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// Printed graphs as they are found: in logs, where each line has a prefix, and coloured for terminals.

namespace fxpass::detail {

[[nodiscard]] inline auto is_digit(char c) -> bool { return c >= '0' && c <= '9'; }

/// `line` without what Python's logging puts before it under TORCH_LOGS:
/// `[rank0]:V0829 14:22:33.123000 12345 torch/_dynamo/output_graph.py:1340] [0/0] [__graph_code] `.
[[nodiscard]] inline auto without_log_prefix(std::string_view line) -> std::string_view {
  std::string_view rest = line;
  if (rest.starts_with("[rank")) {
    const auto colon = rest.find("]:");
    if (colon == std::string_view::npos) return line;
    rest.remove_prefix(colon + 2);
  }
  constexpr std::string_view levels = "VDIWEC";
  if (rest.size() < 6 || levels.find(rest[0]) == std::string_view::npos) return line;
  for (std::size_t i = 1; i < 5; ++i)
    if (!is_digit(rest[i])) return line;
  const auto close = rest.find(']');
  if (rest[5] != ' ' || close == std::string_view::npos) return line;
  rest.remove_prefix(close + 1);
  // The compile id and the artifact, each in brackets.
  while (rest.starts_with(" [")) {
    const auto end = rest.find(']');
    const bool is_compile_id = rest.size() > 2 && (is_digit(rest[2]) || rest[2] == '!' || rest[2] == '-');
    if (end == std::string_view::npos || (!is_compile_id && !rest.starts_with(" [__"))) break;
    rest.remove_prefix(end + 1);
  }
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

/// Appends `line` without the codes that colour it on a terminal.
inline void append_uncoloured(std::string_view line, std::string& result) {
  while (true) {
    const auto escape = line.find("\x1b[");
    result += line.substr(0, escape);
    if (escape == std::string_view::npos) return;
    const auto end = line.find('m', escape);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
}

/// The text without prefixes and colours. Lines keep their numbers.
[[nodiscard]] inline auto cleaned_text(std::string_view text) -> std::string {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    append_uncoloured(without_log_prefix(line), result);
    if (end == std::string_view::npos) break;
    result += '\n';
    text.remove_prefix(end + 1);
  }
  return result;
}

/// A line of a text.
struct TextLine {
  std::size_t position = 0; ///< of its first character that is no blank; the end of the line if there is none
  TextPlace place;           ///< of the same
  std::string_view text;     ///< from there on
};

/// The lines of `text`, without the blanks that lead them.
[[nodiscard]] inline auto lines_of(std::string_view text) -> std::vector<TextLine> {
  std::vector<TextLine> lines;
  std::uint32_t number = 1;
  for (std::size_t begin = 0; begin <= text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::size_t first = begin;
    while (first < end && (text[first] == ' ' || text[first] == '\t')) ++first;
    lines.push_back(
        {first, {number, static_cast<std::uint32_t>(first - begin + 1)}, text.substr(first, end - first)});
    begin = end + 1;
  }
  return lines;
}

}  // namespace fxpass::detail

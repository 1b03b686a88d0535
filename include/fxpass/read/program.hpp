// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/read/exported_program.hpp>
#include <fxpass/read/file.hpp>
#include <fxpass/read/finish.hpp>
#include <fxpass/read/fx_json.hpp>
#include <fxpass/read/json.hpp>
#include <fxpass/read/pt2.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

/// @file
/// Reads a program whatever form it has.

namespace fxpass {

namespace detail {

[[nodiscard]] inline auto read_json_program(Json root, std::string_view path) -> Expected<Graph> {
  JsonObject file;
  if (root.get(file) == simdjson::SUCCESS) {
    if (is_fx_json(file)) return read_fx_json(root, path);
    if (is_exported_program(file)) return read_exported_program(root, path, {});
  }
  return file_error(DiagnosticCode::file_malformed, path, "the JSON is neither an exported program nor FX JSON");
}

/// Says of a file that starts with `start` what it is, or at least what it is not.
[[nodiscard]] inline auto not_json(std::string_view start, std::string_view path) -> Diagnostic {
  const auto has = [&](std::string_view text) { return start.find(text) != std::string_view::npos; };
  if (start.starts_with("graph(") || has("class GraphModule") || has("def forward("))
    return file_error(DiagnosticCode::unsupported, path, "printed FX graphs and FX code are not supported yet");
  return file_error(DiagnosticCode::file_malformed, path,
                    "the file is no program that fxpass reads: those are .pt2 archives of torch.export.save, "
                    "ExportedProgram JSON and FX JSON");
}

}  // namespace detail

/// The program in the file at `path`: a `.pt2` archive, the JSON of an ExportedProgram, or FX JSON, told apart by
/// content and never by name. Errors: those of the reader; `unsupported` for graphs printed as text or code,
/// `file_malformed` for what is no program. O(size of the program).
[[nodiscard]] inline auto read_program(std::string_view path) -> Expected<Module<>> {
  const auto start = read_file(path, 4096);
  if (!start) return start.error();
  if (start->starts_with("PK")) return read_pt2(path);
  if (start->empty()) return detail::file_error(DiagnosticCode::file_unreadable, path, "the file is empty");
  if (!std::string_view(*start).substr(std::min(start->find_first_not_of(" \t\r\n"), start->size())).starts_with('{'))
    return detail::not_json(*start, path);
  const auto text = read_file(path);
  if (!text) return text.error();
  detail::JsonDocument document;
  if (Status parsed = document.parse(*text, path); !parsed) return std::move(parsed).error();
  return detail::finish_reading(detail::read_json_program(document.root(), path), path);
}

}  // namespace fxpass

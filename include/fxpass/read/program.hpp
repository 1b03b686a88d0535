// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/read/example_inputs.hpp>
#include <fxpass/read/exported_program.hpp>
#include <fxpass/read/file.hpp>
#include <fxpass/read/finish.hpp>
#include <fxpass/read/fx_code.hpp>
#include <fxpass/read/fx_json.hpp>
#include <fxpass/read/fx_text.hpp>
#include <fxpass/read/json.hpp>
#include <fxpass/read/pt2.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// @file
/// Reads a program whatever form it has.

namespace fxpass {

/// What is known of a program that its file may not say.
struct ReadOptions {
  const ExampleInputs* examples = nullptr;     ///< of a printed graph: what its inputs are
  const CustomOperators* operators = nullptr;  ///< of training IR and printed graphs: the schemas of custom operators
};

namespace detail {

[[nodiscard]] inline auto read_json_program(Json root, std::string_view path, const CustomOperators* operators)
    -> Expected<Graph> {
  JsonObject file;
  if (root.get(file) == simdjson::SUCCESS) {
    if (is_fx_json(file)) return read_fx_json(root, path, operators);
    if (is_exported_program(file)) return read_exported_program(root, path, {}, operators);
  }
  return file_error(DiagnosticCode::file_malformed, path,
                    "the JSON is neither an exported program nor FX JSON");
}

/// A graph that somebody printed.
[[nodiscard]] inline auto read_printed_graph(std::string_view text, std::string_view path,
                                             const ReadOptions& options) -> Expected<Module<>> {
  // A compiler's cache keeps the printed graph and its code in one file: the graph comes first.
  if (looks_like_fx_text(text)) return parse_fx_text(text, path, options.examples, options.operators);
  if (looks_like_fx_code(text)) return parse_fx_code(text, path, options.examples, options.operators);
  return file_error(DiagnosticCode::file_malformed, path,
                    "the file is no program that fxpass reads: those are .pt2 archives of torch.export.save, "
                    "ExportedProgram JSON, FX JSON, and graphs as PyTorch prints them");
}

}  // namespace detail

/// The program in the file at `path`: a `.pt2` archive, the JSON of an ExportedProgram, FX JSON, or a graph
/// as PyTorch prints it, as code or as text. They are told apart by content and never by name. Forms other than
/// printed graphs say themselves what their inputs are, and with them examples are an error. A pipe may be any of
/// these but an archive. Errors: those of the reader; `file_unreadable` for an archive from a pipe; `file_malformed`
/// for what is no program. O(size of the program).
[[nodiscard]] inline auto read_program(std::string_view path, const ReadOptions& options = {}) -> Expected<Module<>> {
  // What comes from a pipe comes once. Of a file the start will do: an archive may be large.
  std::error_code no_such_file;
  const bool is_pipe = std::filesystem::is_fifo(path, no_such_file);
  const auto start = read_file(path, is_pipe ? std::string::npos : 4096);
  if (!start) return start.error();
  if (start->empty()) return detail::file_error(DiagnosticCode::file_unreadable, path, "the file is empty");
  const bool is_archive = start->starts_with("PK");
  const bool is_json = std::string_view(*start)
                           .substr(std::min(start->find_first_not_of(" \t\r\n"), start->size()))
                           .starts_with('{');
  if (options.examples != nullptr && (is_archive || is_json))
    return detail::file_error(DiagnosticCode::unsupported, path,
                              "the file describes its inputs: example inputs are for printed graphs");
  if (is_archive && is_pipe)
    return detail::file_error(DiagnosticCode::file_unreadable, path,
                              "an archive cannot be read from a pipe; give the name of a file");
  if (is_archive) return read_pt2(path, options.operators);
  const auto text = is_pipe ? start : read_file(path);
  if (!text) return text.error();
  if (!is_json) return detail::read_printed_graph(*text, path, options);
  detail::JsonDocument document;
  if (Status parsed = document.parse(*text, path); !parsed) return std::move(parsed).error();
  return detail::finish_reading(detail::read_json_program(document.root(), path, options.operators), path,
                                options.operators);
}

}  // namespace fxpass

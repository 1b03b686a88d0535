// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/call.hpp>
#include <fxpass/read/json_syntax.hpp>
#include <fxpass/support/expected.hpp>

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// @file
/// What the JSON readers share: a parsed document, and `JsonReader`, which takes typed values out of it and turns what
/// is missing or of the wrong type into a diagnostic.

namespace fxpass::detail {

using Json = simdjson::dom::element;
using JsonObject = simdjson::dom::object;
using JsonArray = simdjson::dom::array;

/// A JSON text in memory. Values taken from it are valid while it is; it cannot be moved because they point into it.
class JsonDocument {
 public:
  JsonDocument() = default;
  JsonDocument(const JsonDocument&) = delete;
  auto operator=(const JsonDocument&) -> JsonDocument& = delete;

  /// Parses `text`, which need not outlive the call. O(size).
  [[nodiscard]] auto parse(std::string_view text, std::string_view file_name) -> Status {
    simdjson::error_code error = parse_once(text);
    if (error != simdjson::SUCCESS && error != simdjson::DEPTH_ERROR) {
      const std::string quoted = quote_bare_words(text);
      if (quoted.size() != text.size()) error = parse_once(quoted);
    }
    if (error == simdjson::SUCCESS) return {};
    Diagnostic d = what_is_wrong(error, text);
    d.input.file = file_name;
    return d;
  }
  /// Needs a successful `parse`.
  [[nodiscard]] auto root() const -> Json { return root_; }

 private:
  /// Far deeper than any program, and shallow enough for the recursive functions that walk nested arguments.
  static constexpr std::size_t max_depth = 512;

  [[nodiscard]] auto parse_once(std::string_view text) -> simdjson::error_code {
    // Too small a capacity would make `parse` allocate again, with a depth of its own.
    const std::size_t capacity = std::max<std::size_t>(text.size(), 64);
    if (const auto error = parser_.allocate(capacity, max_depth); error != simdjson::SUCCESS) return error;
    return parser_.parse(text.data(), text.size()).get(root_);
  }
  [[nodiscard]] static auto what_is_wrong(simdjson::error_code error, std::string_view text) -> Diagnostic {
    const auto malformed = [](Text message) {
      return Diagnostic::error(DiagnosticCode::file_malformed, std::move(message));
    };
    switch (error) {
      case simdjson::DEPTH_ERROR: return malformed(text_of("the file is nested deeper than ", max_depth, " levels"));
      case simdjson::CAPACITY: return malformed("the file is larger than 4 GiB");
      case simdjson::MEMALLOC: return malformed("the file does not fit into memory");
      case simdjson::UTF8_ERROR: return malformed("the file is not UTF-8 text");
      case simdjson::EMPTY: return Diagnostic::error(DiagnosticCode::file_unreadable, "the file is empty");
      default: break;
    }
    const std::size_t offence = JsonSyntax(text).first_offence();
    if (offence == text.size()) return Diagnostic::error(DiagnosticCode::file_unreadable, "the file is cut short");
    Diagnostic d = malformed(error == simdjson::NUMBER_ERROR ? "a number is malformed or does not fit 64 bits"
                                                             : "this is not JSON");
    d.input = JsonSyntax::place_of(text, offence);
    return d;
  }
  /// `text` with the words NaN, Infinity and -Infinity in quotes: Python's json module writes them bare unless it is
  /// told not to, and older versions of PyTorch did not tell it.
  [[nodiscard]] static auto quote_bare_words(std::string_view text) -> std::string {
    std::string quoted;
    bool in_string = false;
    while (!text.empty()) {
      std::size_t step = 1;
      if (in_string) {
        if (text[0] == '\\' && text.size() > 1) step = 2;
        in_string = text[0] != '"';
        quoted += text.substr(0, step);
      } else if (const std::size_t word = bare_word(text); word != 0) {
        step = word;
        quoted.append(1, '"').append(text.substr(0, step)).append(1, '"');
      } else {
        in_string = text[0] == '"';
        quoted += text[0];
      }
      text.remove_prefix(step);
    }
    return quoted;
  }
  [[nodiscard]] static auto bare_word(std::string_view text) -> std::size_t {
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"})
      if (text.starts_with(word)) return word.size();
    return 0;
  }

  simdjson::dom::parser parser_;
  Json root_;
};

/// Takes typed values out of a document and keeps the first mistake.
///
/// Every function returns whether all is well; who gets `false` returns `false` at once, and the outermost function
/// hands out `error()`. So one mistake in a file is one diagnostic.
class JsonReader {
 public:
  explicit JsonReader(std::string_view file_name) : file_(file_name) {}

  /// From here on mistakes are those of node `name`. The views need not outlive the node's reading.
  void enter_node(std::string_view name, std::string_view stack_trace) {
    node_ = name;
    stack_trace_ = stack_trace;
  }
  void leave_node() { enter_node({}, {}); }

  template <class... Parts>
  [[nodiscard]] auto fail(DiagnosticCode code, const Parts&... parts) -> bool {
    if (error_) return false;
    error_ = Diagnostic::error(code, text_of(parts...));
    error_->node = node_;
    error_->model = innermost_frame(stack_trace_);
    error_->input.file = file_;
    return false;
  }
  template <class... Parts>
  [[nodiscard]] auto malformed(const Parts&... parts) -> bool {
    return fail(DiagnosticCode::file_malformed, parts...);
  }
  /// The mistake. Needs that a function returned false.
  [[nodiscard]] auto error() const -> Diagnostic { return *error_; }

  /// `value` as a `T`: object, array, text, integer, number or bool. `what` names it in the diagnostic.
  template <class T>
  [[nodiscard]] auto as(Json value, std::string_view what, T& result) -> bool {
    if constexpr (std::is_same_v<T, Json>) {
      result = value;
      return true;
    } else {
      const auto error = value.get(result);
      if (error == simdjson::NUMBER_OUT_OF_RANGE) return malformed(what, " does not fit 64 bits");
      return error == simdjson::SUCCESS || malformed(what, " should be ", type_name<T>());
    }
  }
  /// Member `key` of `object`.
  template <class T>
  [[nodiscard]] auto member(JsonObject object, std::string_view key, T& result) -> bool {
    Json value;
    if (object.at_key(key).get(value) != simdjson::SUCCESS) return malformed("member '", key, "' is missing");
    return member_as(value, key, result);
  }
  /// Member `key` of `object`; `result` stays as it is where the member is missing or null.
  template <class T>
  [[nodiscard]] auto optional_member(JsonObject object, std::string_view key, T& result) -> bool {
    Json value;
    if (object.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return true;
    return member_as(value, key, result);
  }
  /// The one member of an object that stands for a choice: `{"as_int": 3}`.
  [[nodiscard]] auto only_member(Json value, std::string_view what, std::string_view& key, Json& content) -> bool {
    JsonObject object;
    if (!as(value, what, object)) return false;
    auto it = object.begin();
    if (it == object.end()) return malformed(what, " is an empty object");
    key = it.key();
    content = it.value();
    return !(++it != object.end()) || malformed(what, " has members beside '", key, "'");
  }
  /// A float: a number, or one of the texts that stand for what JSON cannot write.
  [[nodiscard]] auto number(Json value, std::string_view what, double& result) -> bool {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) return as(value, what, result);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (text == "Infinity" || text == "inf") {
      result = infinity;
    } else if (text == "-Infinity" || text == "-inf") {
      result = -infinity;
    } else if (text == "NaN" || text == "nan") {
      result = std::numeric_limits<double>::quiet_NaN();
    } else {
      return malformed(what, " should be a number, not \"", text, "\"");
    }
    return true;
  }
  /// An integer that the graph can hold: a window near -2^62 is taken by its symbolic sizes.
  [[nodiscard]] auto integer(Json value, std::string_view what, std::int64_t& result) -> bool {
    if (!as(value, what, result)) return false;
    return !SymInt(result).is_symbolic() || fail(DiagnosticCode::unsupported, what, " is the integer ", result);
  }

 private:
  template <class T>
  [[nodiscard]] auto member_as(Json value, std::string_view key, T& result) -> bool {
    if (value.get(result) == simdjson::SUCCESS) return true;
    return as(value, text_of("member '", key, "'"), result);
  }
  [[nodiscard]] auto member_as(Json value, std::string_view, Json& result) -> bool {
    result = value;
    return true;
  }
  template <class T>
  [[nodiscard]] static constexpr auto type_name() -> std::string_view {
    if constexpr (std::is_same_v<T, JsonObject>) return "an object";
    if constexpr (std::is_same_v<T, JsonArray>) return "a list";
    if constexpr (std::is_same_v<T, std::string_view>) return "text";
    if constexpr (std::is_same_v<T, std::int64_t>) return "an integer";
    if constexpr (std::is_same_v<T, double>) return "a number";
    if constexpr (std::is_same_v<T, bool>) return "true or false";
  }

  Text file_;
  std::string_view node_;
  std::string_view stack_trace_;
  std::optional<Diagnostic> error_;
};

}  // namespace fxpass::detail

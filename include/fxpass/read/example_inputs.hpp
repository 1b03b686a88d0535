// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/read/printed_text.hpp>
#include <fxpass/read/printed_value.hpp>
#include <fxpass/read/python_argument.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// @file
/// Example inputs: what a printed graph does not say of its inputs. Two forms are read: the function
/// `load_args` that PyTorch writes into programs that reproduce a failure, and blocks of lines
///
///     Input 0:
///       Shape: (4, 3)
///       Dtype: float32
///       Device: cpu
///
/// with, as an addition of ours, `Strides: (3, 1)` and `Storage: 0`. Without strides an input is contiguous.

namespace fxpass {

/// What is known of a placeholder, by position.
struct ExampleInput {
  std::string value;                     ///< a VALUE of FX JSON
  std::optional<std::uint32_t> storage;  ///< inputs with one number share one storage
};
using ExampleInputs = std::vector<ExampleInput>;

namespace detail {

/// The elements of a tuple of integers, as text; none where it is something else.
[[nodiscard]] inline auto integers_of(const PythonExpression& e) -> std::optional<std::vector<std::string>> {
  std::vector<std::string> numbers;
  if (e.is(PythonKind::integer)) return std::vector<std::string>{std::to_string(e.integer)};
  if (!e.is(PythonKind::tuple) && !e.is(PythonKind::list)) return std::nullopt;
  for (const PythonExpression& part : e.parts) {
    if (!part.is(PythonKind::integer)) return std::nullopt;
    numbers.push_back(std::to_string(part.integer));
  }
  return numbers;
}
[[nodiscard]] inline auto views_of(const std::vector<std::string>& texts) -> std::vector<std::string_view> {
  return {texts.begin(), texts.end()};
}
/// Row-major strides, as text.
[[nodiscard]] inline auto contiguous_strides(const std::vector<std::string>& sizes)
    -> std::vector<std::string> {
  std::vector<std::string> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = std::to_string(stride);
    const std::int64_t size = std::strtoll(sizes[i].c_str(), nullptr, 10);
    // A product that does not fit is refused where the tensor is made.
    if (size > 1 && __builtin_mul_overflow(stride, size, &stride)) stride = INT64_MAX;
  }
  return strides;
}

/// Reads `load_args(reader)`: one call of `reader` for each placeholder.
class LoadArgsReader {
 public:
  LoadArgsReader(PythonLexer& lexer, std::string_view file) : parser_(lexer, file) {}

  /// Needs a lexer at `def`.
  [[nodiscard]] auto read(ExampleInputs& inputs) -> bool {
    PythonLexer& lexer = parser_.lexer();
    const std::uint32_t column = lexer.peek().place.column;
    while (lexer.peek().kind != PythonTokenKind::line_end && lexer.peek().kind != PythonTokenKind::end)
      lexer.next();
    lexer.next();
    while (lexer.peek().kind != PythonTokenKind::end && lexer.peek().place.column > column)
      if (!read_statement(inputs)) return false;
    return true;
  }
  [[nodiscard]] auto error() const -> const Diagnostics& { return parser_.error(); }

 private:
  struct Storage {
    std::uint32_t number = 0;
    std::string device = "cpu";
    std::string dtype = "float32";
  };

  auto read_statement(ExampleInputs& inputs) -> bool {
    PythonLexer& lexer = parser_.lexer();
    PythonExpression e;
    std::string name;
    if (!parser_.read_expression(e)) return false;
    if (lexer.peek().is("=") && e.is(PythonKind::name)) {
      lexer.next();
      name = std::move(e.text);
      e = PythonExpression();
      if (!parser_.read_expression(e)) return false;
    }
    if (lexer.peek().kind != PythonTokenKind::line_end)
      return parser_.fail("the end of the line is expected");
    lexer.next();
    const std::string path = e.is(PythonKind::call) ? dotted_path(e.parts[0]) : std::string();
    if (path == "reader.storage") return read_storage(name, e);
    if (path == "reader.tensor") return read_tensor(e, inputs);
    if (path == "reader.symint") {
      inputs.push_back({tagged("symint", "unknown"), std::nullopt});
      return true;
    }
    if (path == "reader.const") {
      inputs.push_back({"null", std::nullopt});
      return true;
    }
    // `load_args._version = 0` and the like stand outside of the function.
    return parser_.fail_at(
        e.place, "load_args calls storage, tensor, symint and const of its reader; this is none of them");
  }
  auto read_storage(const std::string& name, const PythonExpression& call) -> bool {
    Storage storage;
    storage.number = static_cast<std::uint32_t>(storages_.size());
    for (std::size_t i = 1; i < call.parts.size(); ++i) {
      const PythonExpression& argument = call.parts[i];
      if (!argument.is(PythonKind::keyword)) continue;
      if (argument.text == "device" && !read_device(argument.parts[0], storage.device)) return false;
      if (argument.text == "dtype_hint" && !read_dtype(argument.parts[0], storage.dtype)) return false;
    }
    return storages_.emplace(name, std::move(storage)).second ||
           parser_.fail_at(call.place, text_of("there are two storages '", name, "'"));
  }
  auto read_tensor(const PythonExpression& call, ExampleInputs& inputs) -> bool {
    const auto found = call.parts.size() > 1 ? storages_.find(call.parts[1].text) : storages_.end();
    if (found == storages_.end())
      return parser_.fail_at(call.place, "a tensor has no storage that was made before");
    std::string dtype = found->second.dtype;
    std::string offset = "0";
    std::optional<std::vector<std::string>> sizes;
    std::optional<std::vector<std::string>> strides;
    for (std::size_t i = 2; i < call.parts.size(); ++i) {
      const PythonExpression& argument = call.parts[i];
      if (!argument.is(PythonKind::keyword)) {
        (sizes ? strides : sizes) = integers_of(argument);
      } else if (argument.text == "dtype") {
        if (!read_dtype(argument.parts[0], dtype)) return false;
      } else if (argument.text == "storage_offset") {
        offset = std::to_string(argument.parts[0].integer);
      }
    }
    if (!sizes) return parser_.fail_at(call.place, "a tensor has no shape that is a tuple of integers");
    if (!strides) strides = contiguous_strides(*sizes);
    if (strides->size() != sizes->size())
      return parser_.fail_at(
          call.place, text_of("a tensor has ", sizes->size(), " sizes and ", strides->size(), " strides"));
    inputs.push_back({tensor_json(dtype, views_of(*sizes), views_of(*strides), offset, found->second.device),
                      found->second.number});
    return true;
  }
  auto read_device(const PythonExpression& e, std::string& device) -> bool {
    return device_of(e, device) ||
           parser_.fail_at(e.place, "a device is expected: device(type='cuda', index=0)");
  }
  auto read_dtype(const PythonExpression& e, std::string& dtype) -> bool {
    const std::string path = dotted_path(e);
    if (!path.starts_with("torch.") || !dtype_from_torch(path))
      return parser_.fail_at(e.place, "a dtype is expected: torch.float32");
    dtype = path.substr(6);
    return true;
  }

  PythonParser parser_;
  std::unordered_map<std::string, Storage> storages_;
};

/// Reads the blocks of lines.
[[nodiscard]] inline auto read_input_blocks(std::string_view text, std::string_view file)
    -> Expected<ExampleInputs> {
  struct Block {
    TextPlace place = {};
    std::string dtype = {};
    std::string device = "cpu";
    std::optional<std::vector<std::string>> sizes = {};
    std::optional<std::vector<std::string>> strides = {};
    std::optional<std::uint32_t> storage = {};
  };
  std::vector<Block> blocks;
  const auto error = [&](TextPlace place, Text message) {
    return error_in_file(file, place, DiagnosticCode::file_malformed, std::move(message));
  };
  for (const TextLine& line : lines_of(text)) {
    if (line.text.empty()) continue;
    const auto colon = line.text.find(':');
    const std::string_view key = line.text.substr(0, colon);
    if (colon == std::string_view::npos) return error(line.place, "'KEY: VALUE' is expected");
    std::string_view value = line.text.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (key.starts_with("Input ")) {
      if (key.substr(6) != std::to_string(blocks.size()))
        return error(line.place, text_of("'Input ", blocks.size(), ":' is expected"));
      blocks.push_back({.place = line.place});
      continue;
    }
    if (blocks.empty()) return error(line.place, "'Input 0:' is expected");
    Block& block = blocks.back();
    if (key == "Dtype") {
      if (!dtype_from_torch(value)) return error(line.place, text_of("'", value, "' is no dtype"));
      block.dtype = value.starts_with("torch.") ? value.substr(6) : value;
    } else if (key == "Device") {
      block.device = value;
    } else if (key == "Shape" || key == "Strides" || key == "Storage") {
      PythonLexer lexer(value, line.place);
      PythonParser parser(lexer, file);
      PythonExpression e;
      // torch.Size([4, 3]) as well as (4, 3)
      if (value.starts_with("torch.Size(")) lexer = PythonLexer(value.substr(10), line.place);
      if (!parser.read_expressions(e)) return parser.error();
      auto numbers = integers_of(e);
      if (!numbers || (key == "Storage" && numbers->size() != 1))
        return error(line.place, text_of(key, " should be integers"));
      if (key == "Storage") {
        block.storage = static_cast<std::uint32_t>(std::strtoul(numbers->front().c_str(), nullptr, 10));
      } else {
        (key == "Shape" ? block.sizes : block.strides) = std::move(numbers);
      }
    } else {
      return error(line.place, text_of("'", key, "' is none of Shape, Strides, Dtype, Device and Storage"));
    }
  }
  ExampleInputs inputs;
  for (Block& block : blocks) {
    if (!block.sizes || block.dtype.empty()) return error(block.place, "an input has a Shape and a Dtype");
    if (!block.strides) block.strides = contiguous_strides(*block.sizes);
    if (block.strides->size() != block.sizes->size())
      return error(block.place, text_of("an input has ", block.sizes->size(), " sizes and ",
                                        block.strides->size(), " strides"));
    inputs.push_back(
        {tensor_json(block.dtype, views_of(*block.sizes), views_of(*block.strides), "0", block.device),
         block.storage});
  }
  return inputs;
}

/// The inputs of `def load_args(reader)` in `text`; none where there is no such function.
[[nodiscard]] inline auto find_load_args(std::string_view text, std::string_view file)
    -> Expected<std::optional<ExampleInputs>> {
  for (const TextLine& line : lines_of(text)) {
    if (!line.text.starts_with("def load_args(")) continue;
    PythonLexer lexer(text.substr(line.position), line.place);
    LoadArgsReader reader(lexer, file);
    ExampleInputs inputs;
    if (!reader.read(inputs)) return reader.error();
    return std::optional<ExampleInputs>(std::move(inputs));
  }
  return std::optional<ExampleInputs>();
}

/// How a placeholder's INPUT is written.
[[nodiscard]] inline auto user_input_json(std::optional<std::uint32_t> storage) -> std::string {
  std::string json = R"({"kind": "user_input")";
  if (storage) append_all(json, ", \"storage\": ", *storage);
  return json += '}';
}

}  // namespace detail

/// Example inputs as text, in either form. `file_name` is for diagnostics. O(size).
[[nodiscard]] inline auto parse_example_inputs(std::string_view text, std::string_view file_name)
    -> Expected<ExampleInputs> {
  const std::string cleaned = detail::cleaned_text(text);
  auto load_args = detail::find_load_args(cleaned, file_name);
  if (!load_args) return std::move(load_args).error();
  if (*load_args) return **std::move(load_args);
  return detail::read_input_blocks(cleaned, file_name);
}

/// The example inputs in the file at `path`.
[[nodiscard]] inline auto read_example_inputs(std::string_view path) -> Expected<ExampleInputs> {
  return read_file(path).and_then([&](const std::string& text) { return parse_example_inputs(text, path); });
}

}  // namespace fxpass

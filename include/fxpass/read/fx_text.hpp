// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/read/example_inputs.hpp>
#include <fxpass/read/fx_json.hpp>
#include <fxpass/read/printed_text.hpp>
#include <fxpass/read/printed_value.hpp>
#include <fxpass/read/python_argument.hpp>

#include <range/v3/algorithm/find.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// @file
/// Reads what `print(graph_module.graph)` prints, in the spelling of every PyTorch since 1.12 and of
/// Inductor's fragments. The form says nothing of shapes, so inputs are described by example inputs; such a
/// graph can go through the passes, and cannot be lowered.
///
/// The form is not quite a language: strings are printed without quotes. A string is read up to the `, ` or
/// the bracket that would end any other value, and one that looks like a number or a device is taken for
/// that.

namespace fxpass {

namespace detail {

/// Reads the values of one line.
class FxLineReader {
 public:
  using Values = PythonArgumentWriter::Values;

  FxLineReader(std::string_view text, TextPlace start, std::string_view file, const Values& values)
      : text_(text), start_(start), file_(file), values_(values) {}

  [[nodiscard]] auto rest() const -> std::string_view { return text_.substr(position_); }
  [[nodiscard]] auto accept(std::string_view text) -> bool {
    if (!rest().starts_with(text)) return false;
    position_ += text.size();
    return true;
  }
  [[nodiscard]] auto expect(std::string_view text) -> bool {
    return accept(text) || fail(text_of("'", text, "' is expected"));
  }
  /// Everything before `end`, and goes behind `end`.
  [[nodiscard]] auto read_until(std::string_view end, std::string& result) -> bool {
    const auto at = rest().find(end);
    if (at == std::string_view::npos) return fail(text_of("'", end, "' is expected"));
    result = rest().substr(0, at);
    position_ += at + end.size();
    return true;
  }
  [[nodiscard]] auto fail(Text message, DiagnosticCode code = DiagnosticCode::file_malformed) -> bool {
    if (error_.empty()) error_.add(error_in_file(file_, place(), code, std::move(message)));
    return false;
  }
  [[nodiscard]] auto error() const -> const Diagnostics& { return error_; }

  /// Values up to the bracket `close`, which is passed, with commas between.
  [[nodiscard]] auto read_values(char close, std::string& json) -> bool {
    for (bool is_first = true; !accept(std::string_view(&close, 1)); is_first = false) {
      if (!is_first && !expect(",")) return false;
      static_cast<void>(accept(" "));
      if (!is_first && accept(std::string_view(&close, 1))) return true;  // `(x,)`
      if (!is_first) json += ", ";
      if (!read_value(close, json)) return false;
    }
    return true;
  }
  /// `key: value` up to `}`, as members of an object.
  [[nodiscard]] auto read_keywords(std::string& json) -> bool {
    for (bool is_first = true; !accept("}"); is_first = false) {
      if (!is_first && !expect(", ")) return false;
      std::string key;
      if (!read_until(": ", key)) return false;
      if (!is_first) json += ", ";
      append_json_string(json, key);
      json += ": ";
      if (!read_value('}', json)) return false;
    }
    return true;
  }
  /// One value as ARG, in a group that `close` ends; 0: none does.
  [[nodiscard]] auto read_value(char close, std::string& json) -> bool {
    constexpr int deepest = 400;
    if (++depth_ > deepest) return fail("the value is nested too deeply");
    const bool done = read_any_value(close, json);
    --depth_;
    return done;
  }

 private:
  [[nodiscard]] auto place() const -> TextPlace {
    return {start_.line, start_.column + static_cast<std::uint32_t>(position_)};
  }
  auto read_any_value(char close, std::string& json) -> bool {
    if (accept("%")) return read_node(json);
    if (accept("[")) {
      json += '[';
      return read_values(']', json) && end_with("]", json);
    }
    if (accept("{")) return read_dict(json);
    if (accept("slice(")) {
      json += "{\"slice\": [";
      return read_values(')', json) && end_with("]}", json);
    }
    if (rest().starts_with('(') && !is_complex()) {
      position_ += 1;
      json += "{\"tuple\": [";
      return read_values(')', json) && end_with("]}", json);
    }
    const std::string_view atom = read_atom(close);
    return write_atom(atom, json);
  }
  static auto end_with(std::string_view text, std::string& json) -> bool {
    json += text;
    return true;
  }
  auto read_node(std::string& json) -> bool {
    std::size_t length = 0;
    while (length < rest().size() && (is_digit(rest()[length]) || rest()[length] == '_' ||
                                      (static_cast<unsigned char>(rest()[length]) | 0x20U) - 'a' < 26U))
      ++length;
    const std::string name(rest().substr(0, length));
    const auto found = values_.find(name);
    if (found == values_.end())
      return fail(text_of("node '", name, "' is used, but none before has this name"));
    position_ += length;
    json += found->second;
    return true;
  }
  auto read_dict(std::string& json) -> bool {
    json += "{\"dict\": [";
    for (bool is_first = true; !accept("}"); is_first = false) {
      if (!is_first && !expect(", ")) return false;
      std::string key;
      if (!read_until(": ", key)) return false;
      json += is_first ? "[" : ", [";
      if (!write_atom(key, json)) return false;
      json += ", ";
      if (!read_value('}', json)) return false;
      json += ']';
    }
    return end_with("]}", json);
  }
  /// `(1+2j)`
  [[nodiscard]] auto is_complex() const -> bool {
    const auto end = rest().find(')');
    return end != std::string_view::npos && end > 1 && rest()[end - 1] == 'j' &&
           rest().substr(1, end - 1).find_first_of(" ,(") == std::string_view::npos;
  }
  auto read_atom(char close) -> std::string_view {
    if (is_complex()) {
      const std::string_view atom = rest().substr(0, rest().find(')') + 1);
      position_ += atom.size();
      return atom;
    }
    std::size_t end = std::min({rest().find(", "), rest().find(close), rest().size()});
    if (end > 0 && end < rest().size() && rest()[end] == close && rest()[end - 1] == ',') --end;  // `(x,)`
    const std::string_view atom = rest().substr(0, end);
    position_ += end;
    return atom;
  }
  /// "cuda", "xla:1"
  [[nodiscard]] static auto is_device(std::string_view atom) -> bool {
    const std::string_view type = atom.substr(0, atom.find(':'));
    constexpr std::array<std::string_view, 9> types{"cpu", "cuda", "xla", "meta", "neuron",
                                                    "xpu", "mps",  "hpu", "tpu"};
    if (ranges::find(types, type) == types.end()) return false;
    for (const char c : atom.substr(std::min(type.size() + 1, atom.size())))
      if (!is_digit(c)) return false;
    return true;
  }
  auto write_atom(std::string_view atom, std::string& json) -> bool {
    // Inside slices nodes are printed without `%`.
    if (const auto found = values_.find(std::string(atom)); found != values_.end())
      return end_with(found->second, json);
    if (atom == "None") return end_with("null", json);
    if (atom == "True") return end_with("true", json);
    if (atom == "False") return end_with("false", json);
    if (atom == "Ellipsis") return end_with(R"({"ellipsis": true})", json);
    if (is_device(atom)) return end_with(tagged("device", atom), json);
    if (const std::string constant = torch_constant(atom); !constant.empty()) return end_with(constant, json);
    if (atom.starts_with("torch.ops.")) return end_with(tagged("operator", atom), json);
    // Operators as arguments lack their prefix.
    for (const std::string_view space : {"aten.", "prims.", "_c10d_functional."})
      if (atom.starts_with(space))
        return end_with(tagged("operator", "torch.ops." + std::string(atom)), json);
    if (write_number(atom, json)) return true;
    append_json_string(json, atom);
    return true;
  }
  auto write_number(std::string_view atom, std::string& json) const -> bool {
    PythonLexer lexer(atom, place());
    const PythonTokenKind first = lexer.peek().kind;
    const bool may_be_number = first == PythonTokenKind::number || lexer.peek().is("-") ||
                               lexer.peek().is("(") || atom == "inf" || atom == "nan";
    if (!may_be_number) return false;
    PythonParser parser(lexer, file_);
    PythonExpression e;
    if (!parser.read_expression(e) || lexer.peek().kind != PythonTokenKind::line_end) return false;
    if (!real_of(e) && !complex_of(e)) return false;
    const Values none;
    std::string number;
    if (!PythonArgumentWriter(none, parser).write(e, number)) return false;
    return end_with(number, json);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  TextPlace start_;
  std::string_view file_;
  const Values& values_;
  Diagnostics error_;
  int depth_ = 0;
};

/// Makes FX JSON of a printed graph.
class FxTextTranslator {
 public:
  FxTextTranslator(std::string_view file, const ExampleInputs* examples) : file_(file), examples_(examples) {}

  [[nodiscard]] auto translate(std::string_view text) -> bool {
    bool is_inside = false;
    for (TextLine line : lines_of(text)) {
      if (!is_inside && line.text.starts_with("graph(")) {
        is_inside = true;
        continue;
      }
      // Inductor puts fragments into comments, without the header.
      const bool is_comment = line.text.starts_with('#');
      while (is_comment && (line.text.starts_with('#') || line.text.starts_with(' '))) {
        line.text.remove_prefix(1);
        ++line.place.column;
      }
      if (!is_inside && !line.text.starts_with('%')) continue;
      is_inside = true;
      while (line.text.ends_with(' ')) line.text.remove_suffix(1);
      if (line.text.empty()) continue;
      if (line.text.starts_with("return")) return add_output(line) && check_examples(line.place);
      if (!add_node(line)) return false;
    }
    return fail({1, 1}, is_inside ? "the graph has no line 'return ...'" : "there is no line 'graph():'");
  }
  [[nodiscard]] auto graph() const -> const FxGraphJson& { return graph_; }
  [[nodiscard]] auto error() const -> const Diagnostics& { return error_; }

 private:
  auto fail(TextPlace place, Text message, DiagnosticCode code = DiagnosticCode::file_malformed) -> bool {
    if (error_.empty()) error_.add(error_in_file(file_, place, code, std::move(message)));
    return false;
  }
  auto taken_from(const FxLineReader& line) -> bool {
    error_ = line.error();
    return false;
  }
  /// `%name : type [num_users=1] = kind[target=target](...)`
  auto add_node(const TextLine& text) -> bool {
    FxLineReader line(text.text, text.place, file_, values_);
    FxNodeJson node;
    std::string type;
    std::string kind;
    if (!line.expect("%") || !line.read_until(" :", node.name)) return taken_from(line);
    // Documentation writes `:=`; before it only a type and the number of users stand.
    if (!line.accept("= ")) {
      if (!line.read_until(" = ", type)) return taken_from(line);
    }
    if (!line.read_until("[target=", kind)) return taken_from(line);
    if (const auto open = type.find('"'); open != std::string::npos)
      node.value = value_of_annotation(std::string_view(type).substr(open + 1, type.rfind('"') - open - 1));
    if (!read_call(line, kind, node)) return taken_from(line);
    if (!line.rest().empty() && !line.fail("the end of the line is expected")) return taken_from(line);
    return give(text.place, std::move(node));
  }
  auto read_call(FxLineReader& line, std::string_view kind, FxNodeJson& node) -> bool {
    if (kind == "placeholder" || kind == "PlaceHolder" || kind == "get_attr") {
      node.op = kind == "get_attr" ? "get_attr" : "placeholder";
      if (!line.read_until("]", node.target)) return false;
      if (!line.accept("(default=")) return true;
      return line.read_value(')', node.args) && line.expect(")");
    }
    constexpr std::array<std::string_view, 3> calls{"call_function", "call_method", "call_module"};
    const auto call = ranges::find(calls, kind);
    if (call == calls.end()) return line.fail(text_of("a node is of unknown kind '", kind, "'"));
    node.op = *call;
    if (!line.read_until("](args = (", node.target) || !line.read_values(')', node.args) ||
        !line.expect(", kwargs = {") || !line.read_keywords(node.kwargs) || !line.expect(")"))
      return false;
    if (node.target.starts_with("_operator.")) node.target.erase(0, 1);
    if (!node.target.starts_with("torch.ops.higher_order.")) return true;
    for (const std::string& lifted : lifted_)
      if (node.args.find(tagged("node", lifted)) != std::string::npos)
        return line.fail(text_of("'", lifted, "' is a graph of its own, which the text does not show"),
                         DiagnosticCode::unsupported);
    return true;
  }
  auto give(TextPlace place, FxNodeJson node) -> bool {
    if (!values_.emplace(node.name, tagged("node", node.name)).second)
      return fail(place, text_of("two nodes are called '", node.name, "'"));
    if (node.op == "placeholder") {
      const std::size_t index = placeholder_count_++;
      if (examples_ != nullptr && index < examples_->size()) {
        node.value = (*examples_)[index].value;
        node.input = user_input_json((*examples_)[index].storage);
      }
      // Attributes may be read before the first input, and are inputs behind all others.
      graph_.placeholders.insert(graph_.placeholders.begin() + static_cast<std::ptrdiff_t>(index),
                                 std::move(node));
    } else if (node.op == "get_attr") {
      node.op = "placeholder";
      node.input = R"({"kind": "buffer"})";
      lifted_.push_back(node.name);
      graph_.placeholders.push_back(std::move(node));
    } else {
      graph_.nodes.push_back(std::move(node));
    }
    return true;
  }
  /// `return` is printed as Python writes values: strings have quotes, nodes no `%`.
  auto add_output(const TextLine& text) -> bool {
    PythonLexer lexer(text.text, text.place);
    lexer.next();
    PythonParser parser(lexer, file_);
    PythonExpression e;
    FxNodeJson node{.op = "output", .name = "output", .target = "output"};
    if ((lexer.peek().kind != PythonTokenKind::line_end && !parser.read_expressions(e)) ||
        !PythonArgumentWriter(values_, parser).write(e, node.args)) {
      error_ = parser.error();
      return false;
    }
    while (values_.contains(node.name)) node.name += '_';
    graph_.nodes.push_back(std::move(node));
    return true;
  }
  auto check_examples(TextPlace place) -> bool {
    if (examples_ == nullptr || examples_->size() == placeholder_count_) return true;
    return fail(place, text_of("the graph has ", placeholder_count_, " inputs, and ", examples_->size(),
                               " example inputs are given"));
  }

  std::string_view file_;
  const ExampleInputs* examples_;
  FxGraphJson graph_;
  FxLineReader::Values values_;
  std::vector<std::string> lifted_;  ///< names of inputs that were attributes
  std::size_t placeholder_count_ = 0;
  Diagnostics error_;
};

}  // namespace detail

/// Whether `text`, the start of a file, may be a printed graph.
[[nodiscard]] inline auto looks_like_fx_text(std::string_view text) -> bool {
  return text.starts_with("graph(") || text.find("\ngraph(") != std::string_view::npos ||
         text.find("= call_function[target=") != std::string_view::npos ||
         text.find("laceholder[target=") != std::string_view::npos;
}

/// The graph that `text` prints; what stands before the graph and behind its `return` is not looked at.
/// `file_name` is for diagnostics. `examples` describe the inputs, one for each placeholder, `operators` custom
/// operators. Errors: lines that FX does not print, nested graphs, and what FX JSON refuses. O(size).
[[nodiscard]] inline auto parse_fx_text(std::string_view text, std::string_view file_name,
                                        const ExampleInputs* examples = nullptr,
                                        const CustomOperators* operators = nullptr) -> Expected<Module<>> {
  detail::FxTextTranslator translator(file_name, examples);
  if (!translator.translate(detail::cleaned_text(text))) return translator.error();
  return parse_fx_json(translator.graph().document(), file_name, operators);
}

}  // namespace fxpass

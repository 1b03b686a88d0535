// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/read/file.hpp>
#include <fxpass/support/expected.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// @file
/// Tokens and expressions of Python, as far as the code that FX prints goes. Tokens are read by bracket depth
/// and not by lines, since collections of graphs are often reformatted by black.

namespace fxpass::detail {

/// Where something stands in a file. Both count from 1.
struct TextPlace {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// An error at a place of a file.
[[nodiscard]] inline auto error_in_file(std::string_view file, TextPlace place, DiagnosticCode code,
                                        Text message) -> Diagnostic {
  Diagnostic d = Diagnostic::error(code, std::move(message));
  d.input.file = file;
  d.input.line = place.line;
  d.input.column = place.column;
  return d;
}

enum class PythonTokenKind : std::uint8_t { name, number, string, symbol, line_end, end };

struct PythonToken {
  PythonTokenKind kind = PythonTokenKind::end;
  std::string_view text;  ///< of a string: prefix and quotes included
  TextPlace place;

  [[nodiscard]] auto is(std::string_view symbol_or_name) const -> bool {
    return (kind == PythonTokenKind::symbol || kind == PythonTokenKind::name) && text == symbol_or_name;
  }
};

/// A comment, without its `#`.
struct PythonComment {
  std::string_view text;
  TextPlace place;
};

/// Reads tokens on demand, so that what follows the code in a file need not be Python. Indentation is not
/// told: a line's first token has its column.
class PythonLexer {
 public:
  PythonLexer(std::string_view text, TextPlace start)
      : text_(text), line_(start.line), column_(start.column) {
    advance();
  }

  [[nodiscard]] auto peek() const -> const PythonToken& { return token_; }
  auto next() -> PythonToken {
    PythonToken token = token_;
    advance();
    return token;
  }
  /// The comments between the last call and `peek()`.
  [[nodiscard]] auto take_comments() -> std::vector<PythonComment> { return std::exchange(comments_, {}); }

 private:
  [[nodiscard]] auto at(std::size_t ahead = 0) const -> char {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  [[nodiscard]] auto is_at_end() const -> bool { return position_ == text_.size(); }
  void step() {
    if (at() == '\n') {
      ++line_;
      column_ = 0;
    }
    ++column_;
    ++position_;
  }
  static auto is_letter(char c) -> bool {
    const auto byte = static_cast<unsigned char>(c);
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || byte >= 0x80;
  }
  static auto is_digit(char c) -> bool { return c >= '0' && c <= '9'; }

  void advance() {
    while (true) {
      if (is_at_end()) return set(std::exchange(line_has_tokens_, false) ? PythonTokenKind::line_end
                                                                         : PythonTokenKind::end);
      const char c = at();
      if (c == '\n' && depth_ == 0 && line_has_tokens_) {
        line_has_tokens_ = false;
        set(PythonTokenKind::line_end);
        return step();
      }
      if (c == '#') {
        read_comment();
      } else if (c == '\\' && at(1) == '\n') {
        step();
        step();
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
        step();
      } else {
        break;
      }
    }
    line_has_tokens_ = true;
    read_token();
  }
  void set(PythonTokenKind kind) { token_ = {kind, {}, {line_, column_}}; }
  void read_comment() {
    const TextPlace place{line_, column_};
    const std::size_t start = position_ + 1;
    while (!is_at_end() && at() != '\n') step();
    comments_.push_back({text_.substr(start, position_ - start), place});
  }
  void read_token() {
    const std::size_t start = position_;
    const TextPlace place{line_, column_};
    PythonTokenKind kind = PythonTokenKind::symbol;
    if (starts_string()) {
      kind = PythonTokenKind::string;
      read_string();
    } else if (is_letter(at())) {
      kind = PythonTokenKind::name;
      while (is_letter(at()) || is_digit(at())) step();
    } else if (is_digit(at()) || (at() == '.' && is_digit(at(1)))) {
      kind = PythonTokenKind::number;
      read_number();
    } else {
      read_symbol();
    }
    token_ = {kind, text_.substr(start, position_ - start), place};
  }
  /// Whether a quote follows, or one of Python's string prefixes and a quote.
  [[nodiscard]] auto starts_string() const -> bool {
    std::size_t prefix = 0;
    while (prefix < 2 && std::string_view("rRuUbBfF").find(at(prefix)) != std::string_view::npos &&
           at(prefix) != '\0')
      ++prefix;
    return at(prefix) == '"' || at(prefix) == '\'';
  }
  /// To the closing quote; an unclosed string ends with the line, and lacks its quote then.
  void read_string() {
    while (at() != '"' && at() != '\'') step();
    const char quote = at();
    const bool is_long = at(1) == quote && at(2) == quote;
    for (int i = 0; i < (is_long ? 3 : 1); ++i) step();
    while (!is_at_end()) {
      if (at() == '\\') {
        step();
        if (!is_at_end()) step();
      } else if (at() == quote && (!is_long || (at(1) == quote && at(2) == quote))) {
        for (int i = 0; i < (is_long ? 3 : 1); ++i) step();
        return;
      } else if (at() == '\n' && !is_long) {
        return;
      } else {
        step();
      }
    }
  }
  void read_number() {
    while (true) {
      const bool is_exponent = (at() == 'e' || at() == 'E') && !is_hexadecimal_;
      if (is_exponent && (at(1) == '+' || at(1) == '-')) step();
      if (!is_letter(at()) && !is_digit(at()) && at() != '.' && !is_exponent) break;
      is_hexadecimal_ = is_hexadecimal_ || at() == 'x' || at() == 'X';
      step();
    }
    is_hexadecimal_ = false;
  }
  void read_symbol() {
    const char c = at();
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    for (const std::string_view symbol :
         {"**=", "//=", "<<=", ">>=", "...", "**", "//", "<<", ">>", "==", "!=", "<=",
          ">=",  "+=",  "-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", "@=", "->", ":="})
      if (text_.substr(position_).starts_with(symbol)) {
        for (std::size_t i = 0; i < symbol.size(); ++i) step();
        return;
      }
    step();
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::uint32_t line_;
  std::uint32_t column_;
  std::uint32_t depth_ = 0;  ///< open brackets
  bool line_has_tokens_ = false;
  bool is_hexadecimal_ = false;
  PythonToken token_;
  std::vector<PythonComment> comments_;
};

enum class PythonKind : std::uint8_t {
  none, boolean, integer, real, imaginary, string, ellipsis,  // literals
  name,       ///< `text`
  attribute,  ///< `parts[0].text`
  call,       ///< `parts[0](parts[1], ...)`
  keyword,    ///< `text = parts[0]`, in a call
  subscript,  ///< `parts[0][parts[1]]`
  list, tuple,
  dict,       ///< key, value, key, value, ...
  slice,      ///< `parts[0]:parts[1]:parts[2]`, of a subscript
  unary,      ///< `text parts[0]`
  binary,     ///< `parts[0] text parts[1]`
};

struct PythonExpression {
  PythonKind kind = PythonKind::none;
  TextPlace place = {};
  std::string text = {};
  std::int64_t integer = 0;  ///< of a boolean too
  double real = 0;
  std::vector<PythonExpression> parts = {};

  [[nodiscard]] auto is(PythonKind k) const -> bool { return kind == k; }
  [[nodiscard]] auto is_name(std::string_view name) const -> bool {
    return kind == PythonKind::name && text == name;
  }
};

/// `a.b.c` of names and attributes; empty for any other expression.
[[nodiscard]] inline auto dotted_path(const PythonExpression& e) -> std::string {
  if (e.is(PythonKind::name)) return e.text;
  if (!e.is(PythonKind::attribute)) return {};
  std::string path = dotted_path(e.parts[0]);
  return path.empty() ? path : path.append(1, '.').append(e.text);
}

/// Reads expressions from a lexer. After a failure `error` says what was expected and where.
class PythonParser {
 public:
  PythonParser(PythonLexer& lexer, std::string_view file) : lexer_(lexer), file_(file) {}

  /// An expression, or several with commas between, which are a tuple.
  [[nodiscard]] auto read_expressions(PythonExpression& result) -> bool {
    if (!read_expression(result)) return false;
    if (!lexer_.peek().is(",")) return true;
    PythonExpression tuple{.kind = PythonKind::tuple, .place = result.place};
    tuple.parts.push_back(std::move(result));
    while (lexer_.peek().is(",")) {
      lexer_.next();
      if (ends_expressions()) break;
      if (!read_expression(tuple.parts.emplace_back())) return false;
    }
    result = std::move(tuple);
    return true;
  }
  [[nodiscard]] auto read_expression(PythonExpression& result) -> bool { return read_binary(result, 0); }

  [[nodiscard]] auto expect(std::string_view symbol) -> bool {
    if (!lexer_.peek().is(symbol)) return fail(text_of("'", symbol, "' is expected"));
    lexer_.next();
    return true;
  }
  [[nodiscard]] auto fail(Text message) -> bool { return fail_at(lexer_.peek().place, std::move(message)); }
  [[nodiscard]] auto fail_at(TextPlace place, Text message,
                             DiagnosticCode code = DiagnosticCode::file_malformed) -> bool {
    if (error_.empty()) error_.add(error_in_file(file_, place, code, std::move(message)));
    return false;
  }
  [[nodiscard]] auto error() const -> const Diagnostics& { return error_; }
  [[nodiscard]] auto lexer() -> PythonLexer& { return lexer_; }

 private:
  /// How tightly a binary operator binds; none: 0.
  static auto precedence(const PythonToken& token) -> int {
    constexpr std::string_view levels[] = {"== != < > <= >=", "|", "^", "&", "<< >>", "+ -", "* / // % @"};
    if (token.kind != PythonTokenKind::symbol) return 0;
    for (int level = 0; level < static_cast<int>(std::size(levels)); ++level) {
      std::string_view rest = levels[level];
      while (!rest.empty()) {
        const std::string_view symbol = rest.substr(0, rest.find(' '));
        if (symbol == token.text) return level + 1;
        rest.remove_prefix(std::min(rest.size(), symbol.size() + 1));
      }
    }
    return 0;
  }
  [[nodiscard]] auto ends_expressions() const -> bool {
    const PythonToken& token = lexer_.peek();
    return token.kind == PythonTokenKind::line_end || token.kind == PythonTokenKind::end || token.is("=") ||
           token.is(")") || token.is("]") || token.is(";");
  }

  auto read_binary(PythonExpression& result, int above) -> bool {
    if (!read_unary(result)) return false;
    while (true) {
      const int level = precedence(lexer_.peek());
      if (level <= above) return true;
      PythonExpression binary{
          .kind = PythonKind::binary, .place = result.place, .text = std::string(lexer_.next().text)};
      binary.parts.push_back(std::move(result));
      if (!read_binary(binary.parts.emplace_back(), level)) return false;
      result = std::move(binary);
    }
  }
  auto read_unary(PythonExpression& result) -> bool {
    const PythonToken& token = lexer_.peek();
    if (!token.is("-") && !token.is("+") && !token.is("~") && !token.is("not")) return read_power(result);
    result = {.kind = PythonKind::unary, .place = token.place, .text = std::string(token.text)};
    lexer_.next();
    return enter() && read_unary(result.parts.emplace_back()) && leave();
  }
  auto read_power(PythonExpression& result) -> bool {
    if (!read_primary(result)) return false;
    if (!lexer_.peek().is("**")) return true;
    PythonExpression power{
        .kind = PythonKind::binary, .place = result.place, .text = std::string(lexer_.next().text)};
    power.parts.push_back(std::move(result));
    if (!enter() || !read_unary(power.parts.emplace_back())) return false;
    result = std::move(power);
    return leave();
  }
  auto read_primary(PythonExpression& result) -> bool {
    if (!enter() || !read_atom(result)) return false;
    while (true) {
      const PythonToken token = lexer_.peek();
      PythonExpression outer{.place = result.place};
      if (token.is(".")) {
        lexer_.next();
        if (lexer_.peek().kind != PythonTokenKind::name) return fail("the name of an attribute is expected");
        outer.kind = PythonKind::attribute;
        outer.text = lexer_.next().text;
        outer.parts.push_back(std::move(result));
      } else if (token.is("(")) {
        lexer_.next();
        outer.kind = PythonKind::call;
        outer.parts.push_back(std::move(result));
        if (!read_members(outer, ")", &PythonParser::read_call_argument)) return false;
      } else if (token.is("[")) {
        lexer_.next();
        outer.kind = PythonKind::subscript;
        outer.parts.push_back(std::move(result));
        if (!read_index(outer.parts.emplace_back())) return false;
      } else {
        return leave();
      }
      result = std::move(outer);
    }
  }
  using ReadMember = bool (PythonParser::*)(PythonExpression&);
  /// Members with commas between, up to the bracket `close`.
  auto read_members(PythonExpression& group, std::string_view close, ReadMember read) -> bool {
    while (!lexer_.peek().is(close)) {
      if (!(this->*read)(group.parts.emplace_back())) return false;
      if (lexer_.peek().is(",")) {
        lexer_.next();
      } else if (!lexer_.peek().is(close)) {
        return fail(text_of("',' or '", close, "' is expected"));
      }
    }
    lexer_.next();
    return true;
  }
  auto read_call_argument(PythonExpression& result) -> bool {
    if (!read_expression(result)) return false;
    if (!lexer_.peek().is("=")) return true;
    if (!result.is(PythonKind::name)) return fail("the name of a keyword argument is expected before '='");
    lexer_.next();
    PythonExpression keyword{
        .kind = PythonKind::keyword, .place = result.place, .text = std::move(result.text)};
    if (!read_expression(keyword.parts.emplace_back())) return false;
    result = std::move(keyword);
    return true;
  }
  auto read_index(PythonExpression& result) -> bool {
    PythonExpression tuple{.kind = PythonKind::tuple, .place = lexer_.peek().place};
    bool is_tuple = false;
    while (!lexer_.peek().is("]")) {
      if (!read_index_item(tuple.parts.emplace_back())) return false;
      if (lexer_.peek().is(",")) {
        is_tuple = true;
        lexer_.next();
      } else if (!lexer_.peek().is("]")) {
        return fail("',' or ']' is expected");
      }
    }
    if (tuple.parts.empty()) return fail("an index is expected");
    lexer_.next();
    if (is_tuple)
      result = std::move(tuple);
    else
      result = PythonExpression(std::move(tuple.parts.front()));
    return true;
  }
  auto read_index_item(PythonExpression& result) -> bool {
    if (!lexer_.peek().is(":") && !read_expression(result)) return false;
    if (!lexer_.peek().is(":")) return true;
    PythonExpression slice{.kind = PythonKind::slice, .place = lexer_.peek().place};
    slice.parts.resize(3);
    slice.parts[0] = std::move(result);
    for (std::size_t i = 1; i < 3 && lexer_.peek().is(":"); ++i) {
      lexer_.next();
      const PythonToken& token = lexer_.peek();
      if (!token.is(":") && !token.is(",") && !token.is("]") && !read_expression(slice.parts[i]))
        return false;
    }
    result = std::move(slice);
    return true;
  }
  auto read_dict(PythonExpression& result) -> bool {
    result.kind = PythonKind::dict;
    while (!lexer_.peek().is("}")) {
      if (!read_expression(result.parts.emplace_back()) || !expect(":") ||
          !read_expression(result.parts.emplace_back()))
        return false;
      if (lexer_.peek().is(",")) {
        lexer_.next();
      } else if (!lexer_.peek().is("}")) {
        return fail("',' or '}' is expected");
      }
    }
    lexer_.next();
    return true;
  }
  auto read_parenthesised(PythonExpression& result) -> bool {
    if (lexer_.peek().is(")")) {
      lexer_.next();
      result.kind = PythonKind::tuple;
      return true;
    }
    return read_expressions(result) && expect(")");
  }

  auto read_atom(PythonExpression& result) -> bool {
    const PythonToken token = lexer_.peek();
    result.place = token.place;
    switch (token.kind) {
      case PythonTokenKind::name: return read_name(result);
      case PythonTokenKind::number: return read_number(result);
      case PythonTokenKind::string: return read_strings(result);
      case PythonTokenKind::symbol: break;
      case PythonTokenKind::line_end:
      case PythonTokenKind::end: return fail("an expression is expected");
    }
    if (!token.is("(") && !token.is("[") && !token.is("{") && !token.is("..."))
      return fail(text_of("an expression is expected, not '", token.text, "'"));
    lexer_.next();
    if (token.is("(")) return read_parenthesised(result);
    if (token.is("{")) return read_dict(result);
    result.kind = token.is("[") ? PythonKind::list : PythonKind::ellipsis;
    return token.is("...") || read_members(result, "]", &PythonParser::read_expression);
  }
  auto read_name(PythonExpression& result) -> bool {
    const std::string_view name = lexer_.next().text;
    if (name == "None") {
      result.kind = PythonKind::none;
    } else if (name == "True" || name == "False") {
      result.kind = PythonKind::boolean;
      result.integer = name == "True" ? 1 : 0;
    } else if (name == "Ellipsis") {
      result.kind = PythonKind::ellipsis;
    } else {
      result.kind = PythonKind::name;
      result.text = name;
    }
    return true;
  }
  auto read_number(PythonExpression& result) -> bool {
    const PythonToken token = lexer_.next();
    std::string digits(token.text);
    std::erase(digits, '_');
    const bool is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    const bool is_imaginary = digits.ends_with('j');
    if (is_imaginary) digits.pop_back();
    const char* const begin = digits.data() + (is_hexadecimal ? 2 : 0);
    const char* const end = digits.data() + digits.size();
    std::from_chars_result parsed{};
    if (is_imaginary || (!is_hexadecimal && digits.find_first_of(".eE") != std::string::npos)) {
      result.kind = is_imaginary ? PythonKind::imaginary : PythonKind::real;
      parsed = std::from_chars(begin, end, result.real);
    } else {
      result.kind = PythonKind::integer;
      parsed = std::from_chars(begin, end, result.integer, is_hexadecimal ? 16 : 10);
    }
    if (parsed.ec == std::errc() && parsed.ptr == end) return true;
    return fail_at(token.place, text_of("'", token.text, "' is no number that fits into 64 bits"));
  }
  /// Neighbouring strings are one.
  auto read_strings(PythonExpression& result) -> bool {
    result.kind = PythonKind::string;
    while (lexer_.peek().kind == PythonTokenKind::string)
      if (!append_string(lexer_.next(), result.text)) return false;
    return true;
  }
  auto append_string(const PythonToken& token, std::string& result) -> bool {
    std::string_view body = token.text;
    bool is_raw = false;
    for (; body.front() != '"' && body.front() != '\''; body.remove_prefix(1)) {
      if (body.front() == 'b' || body.front() == 'B' || body.front() == 'f' || body.front() == 'F')
        return fail_at(token.place, "bytes and f-strings have no place in a graph");
      is_raw = is_raw || body.front() == 'r' || body.front() == 'R';
    }
    const char quote = body.front();
    const std::size_t quotes = body.size() >= 6 && body[1] == quote && body[2] == quote ? 3 : 1;
    if (body.size() < 2 * quotes || body.back() != quote)
      return fail_at(token.place, "the string is not closed");
    body = body.substr(quotes, body.size() - 2 * quotes);
    while (!body.empty()) {
      if (body.front() != '\\' || is_raw || body.size() == 1) {
        result += body.front();
        body.remove_prefix(1);
      } else if (!append_escape(body, result)) {
        return fail_at(token.place, "the string has an escape that is not known");
      }
    }
    return true;
  }
  /// Takes one escape off the front of `body`.
  static auto append_escape(std::string_view& body, std::string& result) -> bool {
    constexpr std::string_view letters = "abfnrtv\\'\"\n";
    constexpr std::string_view meanings = "\a\b\f\n\r\t\v\\'\"";
    const char letter = body[1];
    const auto known = letters.find(letter);
    std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (known != std::string_view::npos) {
      if (known < meanings.size()) result += meanings[known];
      body.remove_prefix(2);
      return true;
    }
    const bool is_octal = letter >= '0' && letter <= '7';
    const std::size_t start = is_octal ? 1 : 2;
    if (is_octal)
      while (digits < 3 && 1 + digits < body.size() && body[1 + digits] >= '0' && body[1 + digits] <= '7')
        ++digits;
    std::uint32_t code = 0;
    if (digits == 0 || body.size() < start + digits) return false;
    const auto parsed =
        std::from_chars(body.data() + start, body.data() + start + digits, code, is_octal ? 8 : 16);
    if (parsed.ptr != body.data() + start + digits || code > 0x10ffff) return false;
    append_utf8(code, result);
    body.remove_prefix(start + digits);
    return true;
  }
  static void append_utf8(std::uint32_t code, std::string& result) {
    const auto put = [&](std::uint32_t byte) {
      result += static_cast<char>(static_cast<unsigned char>(byte));
    };
    const auto put_rest = [&](int count) {
      while (count-- > 0) put(0x80U | ((code >> (6U * static_cast<unsigned>(count))) & 0x3fU));
    };
    if (code < 0x80) return put(code);
    const int rest = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::uint32_t leads[] = {0, 0xc0, 0xe0, 0xf0};
    put(leads[rest] | (code >> (6U * static_cast<unsigned>(rest))));
    put_rest(rest);
  }

  /// Nesting that no graph has, and that would use up the stack.
  auto enter() -> bool { return ++depth_ < 400 || fail("the expression is nested too deeply"); }
  auto leave() -> bool {
    --depth_;
    return true;
  }

  PythonLexer& lexer_;
  std::string_view file_;
  Diagnostics error_;
  int depth_ = 0;
};

}  // namespace fxpass::detail

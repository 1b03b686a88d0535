// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/config.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// Reading PyTorch's schema notation: `aten.add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)`.
/// Source of the notation: `aten/src/ATen/native/README.md`. The name is written with dots, as in `torch.ops`.

/// What is known of PyTorch's operators: schemas, spellings, views, writes, promotion.
namespace fxpass::ops {

/// One parameter. All views point into the schema's text.
struct Parameter {
  std::string_view type;           ///< without alias annotation: "Tensor", "Tensor?[]", "SymInt[2]"
  std::string_view name;           ///< "self"
  std::string_view default_value;  ///< as written; meaningful if has_default
  std::string_view alias;          ///< the annotation without its brackets: "a!"; empty if there is none
  bool has_default = false;        ///< whether a call may leave it out
  bool keyword_only = false;       ///< behind the `*`
  bool aliased = false;            ///< a result, or a write, shares its storage
  bool written = false;            ///< the operator writes into it

  /// Whether it is a tensor, or None in its place.
  [[nodiscard]] constexpr auto is_tensor() const -> bool { return type == "Tensor" || type == "Tensor?"; }
  /// Whether it is a list of tensors, or of tensors and None.
  [[nodiscard]] constexpr auto is_tensor_list() const -> bool { return type == "Tensor[]" || type == "Tensor?[]"; }
};

/// Hands out the parameters of a schema, first to last. Ends at the end of the text, or at a bracket that closes what was
/// opened before it.
class ParameterReader {
 public:
  /// Of the text behind a schema's opening bracket.
  constexpr explicit ParameterReader(std::string_view list) : rest_(list) {}

  /// The next parameter, or none. O(its length).
  constexpr auto next() -> std::optional<Parameter> {
    std::size_t begin = 0;
    while (begin < rest_.size() && (rest_[begin] == ' ' || rest_[begin] == ',' || rest_[begin] == '*'))
      keyword_only_ = rest_[begin++] == '*' || keyword_only_;
    rest_.remove_prefix(begin);
    if (rest_.empty() || rest_.front() == ')') return std::nullopt;
    return read();
  }
  /// What is behind the parameters handed out.
  [[nodiscard]] constexpr auto rest() const -> std::string_view { return rest_; }

 private:
  static constexpr std::size_t none = std::string_view::npos;

  /// Reads "Tensor(a!) self=None" up to the next comma outside brackets and quotes, in one go: schemas are read often.
  constexpr auto read() -> Parameter {
    std::size_t depth = 0;
    char quote = '\0';
    std::size_t split = 0;  // the blank between type and name, outside an annotation such as (a -> *)
    std::size_t equals = none;
    std::size_t open = none;  // the annotation
    std::size_t close = none;
    std::size_t end = 0;
    // A pointer: the view's checked access would be most of what lowering costs in constant evaluation.
    const char* const text = rest_.data();
    const std::size_t size = rest_.size();
    for (; end < size; ++end) {
      const char c = text[end];
      if (c >= 'a' && c <= 'z') continue;
      if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '(' || c == '[') {
        if (c == '(' && open == none && equals == none) open = end;
        ++depth;
      } else if (c == ')' || c == ']') {
        if (depth == 0 && c == ')') break;
        if (c == ')' && close == none && equals == none) close = end;
        if (depth > 0) --depth;
      } else if (depth == 0) {
        if (c == ',') break;
        if (c == ' ' && equals == none) split = end;
        if (c == '=' && equals == none) equals = end;
      }
    }
    Parameter p;
    p.keyword_only = keyword_only_;
    p.type = rest_.substr(0, split);
    p.name = rest_.substr(split + 1, (equals == none ? end : equals) - split - 1);
    if (equals != none) {
      p.has_default = true;
      p.default_value = rest_.substr(equals + 1, end - equals - 1);
    }
    if (open < split && close < split) {
      p.aliased = true;
      p.alias = p.type.substr(open + 1, close - open - 1);
      p.written = p.alias.find('!') != std::string_view::npos;
      // What follows the annotation is "", "[]", "?" or "?[]": a closed set, so the type is named by a literal.
      const std::string_view suffix = p.type.substr(close + 1);
      if (p.type.starts_with("Tensor(")) p.type = suffix.empty() ? "Tensor" : suffix == "?" ? "Tensor?" : suffix == "[]" ? "Tensor[]" : "Tensor?[]";
    }
    rest_.remove_prefix(end);
    return p;
  }

  std::string_view rest_;
  bool keyword_only_ = false;
};

/// A view of a schema text that outlives it. Made in O(length of the name); the parameters are read when they are asked
/// for.
class Schema {
 public:
  /// Of no operator.
  constexpr Schema() = default;
  /// Of an operator, in PyTorch's notation. O(length of the name).
  constexpr explicit Schema(std::string_view text) : text_(text), name_(text.substr(0, text.find('('))) {}

  /// Whether it is the schema of no operator.
  [[nodiscard]] constexpr auto empty() const -> bool { return text_.empty(); }
  /// All of it, as written.
  [[nodiscard]] constexpr auto text() const -> std::string_view { return text_; }
  /// "aten.add_.Tensor"
  [[nodiscard]] constexpr auto name() const -> std::string_view { return name_; }
  /// "aten.add_": all overloads have it
  [[nodiscard]] constexpr auto base() const -> std::string_view { return name_.substr(0, name_.rfind('.')); }
  /// "Tensor"
  [[nodiscard]] constexpr auto overload() const -> std::string_view { return name_.substr(name_.rfind('.') + 1); }
  /// What stands behind the arrow. O(schema length).
  [[nodiscard]] constexpr auto returns() const -> std::string_view {
    const std::string_view rest = behind_parameters();
    const auto arrow = rest.find("-> ");
    return arrow == std::string_view::npos ? std::string_view() : rest.substr(arrow + 3);
  }
  /// The parameters, to be read one after the other. O(1).
  [[nodiscard]] constexpr auto parameters() const -> ParameterReader {
    return ParameterReader(text_.size() == name_.size() ? std::string_view() : text_.substr(name_.size() + 1));
  }

  /// A parameter and where it stands.
  struct Found {
    std::uint32_t position = 0;  ///< from 0, keyword-only parameters counted
    Parameter parameter;         ///< its description
  };
  /// Position and description of the parameter called `name`; none if there is none. O(schema length).
  [[nodiscard]] constexpr auto find(std::string_view name) const -> std::optional<Found> {
    ParameterReader reader = parameters();
    std::uint32_t position = 0;
    for (auto p = reader.next(); p; p = reader.next(), ++position)
      if (p->name == name) return Found{position, *p};
    return std::nullopt;
  }
  /// Whether any parameter is written.
  [[nodiscard]] constexpr auto writes() const -> bool {
    ParameterReader reader = parameters();
    for (auto p = reader.next(); p; p = reader.next())
      if (p->written) return true;
    return false;
  }
  /// Whether a result shares storage with a parameter.
  [[nodiscard]] constexpr auto returns_alias() const -> bool {
    return returns().find("Tensor(") != std::string_view::npos;
  }
  /// How many values the operator returns; a list counts as one.
  [[nodiscard]] constexpr auto return_count() const -> std::uint32_t {
    const std::string_view returned = returns();
    if (returned.empty() || returned == "()") return 0;
    if (!returned.starts_with('(')) return 1;
    std::uint32_t count = 0;
    ParameterReader reader(returned.substr(1));
    while (reader.next()) ++count;
    return count;
  }

 private:
  [[nodiscard]] constexpr auto behind_parameters() const -> std::string_view {
    ParameterReader reader = parameters();
    while (reader.next()) {
    }
    return reader.rest();
  }

  std::string_view text_;
  std::string_view name_;
};

}  // namespace fxpass::ops

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/config.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// Reading PyTorch's schema notation: `aten.add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)`.
/// Source of the notation: `aten/src/ATen/native/README.md`. The name is written with dots, as in `torch.ops`.

namespace fxpass::ops {

/// One parameter. All views point into the schema's text.
struct Parameter {
  std::string_view type;           ///< without alias annotation: "Tensor", "Tensor?[]", "SymInt[2]"
  std::string_view name;
  std::string_view default_value;  ///< as written; meaningful if has_default
  bool has_default = false;
  bool keyword_only = false;
  bool aliased = false;  ///< a result, or a write, shares its storage
  bool written = false;  ///< the operator writes into it
  [[nodiscard]] constexpr auto is_tensor() const -> bool { return type == "Tensor" || type == "Tensor?"; }
  [[nodiscard]] constexpr auto is_tensor_list() const -> bool { return type == "Tensor[]" || type == "Tensor?[]"; }
  [[nodiscard]] constexpr auto is_optional() const -> bool { return type.ends_with('?'); }
};

/// Hands out the parameters of a schema, first to last.
class ParameterReader {
 public:
  constexpr explicit ParameterReader(std::string_view list) : rest_(list) {}

  /// The next parameter, or none. O(its length).
  constexpr auto next() -> std::optional<Parameter> {
    while (true) {
      while (rest_.starts_with(' ') || rest_.starts_with(',')) rest_.remove_prefix(1);
      if (rest_.empty()) return std::nullopt;
      if (!rest_.starts_with('*')) break;
      keyword_only_ = true;
      rest_.remove_prefix(1);
    }
    return read(take_item());
  }

 private:
  /// Up to the next comma outside brackets and quotes.
  constexpr auto take_item() -> std::string_view {
    std::size_t depth = 0;
    char quote = '\0';
    std::size_t i = 0;
    for (; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote != '\0') {
        if (c == quote) quote = '\0';
        continue;
      }
      if (c == '"' || c == '\'') quote = c;
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
      if (c == ',' && depth == 0) break;
    }
    const std::string_view item = rest_.substr(0, i);
    rest_.remove_prefix(i);
    return item;
  }

  constexpr auto read(std::string_view item) const -> Parameter {
    Parameter p;
    p.keyword_only = keyword_only_;
    std::size_t split = 0;  // the blank between type and name, outside an annotation such as (a -> *)
    std::size_t depth = 0;
    for (std::size_t i = 0; i < item.size() && item[i] != '='; ++i) {
      if (item[i] == '(') ++depth;
      if (item[i] == ')') --depth;
      if (item[i] == ' ' && depth == 0) split = i;
    }
    p.type = item.substr(0, split);
    std::string_view name = item.substr(split + 1);
    if (const auto equals = name.find('='); equals != std::string_view::npos) {
      p.has_default = true;
      p.default_value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    p.name = name;
    if (const auto open = p.type.find('('); open != std::string_view::npos) {
      const auto close = p.type.find(')', open);
      p.aliased = true;
      p.written = p.type.substr(open, close - open).find('!') != std::string_view::npos;
      // What follows the annotation is "", "[]", "?" or "?[]": a closed set, so the type is named by a literal.
      const std::string_view suffix = p.type.substr(close + 1);
      p.type = suffix.empty() ? "Tensor" : suffix == "?" ? "Tensor?" : suffix == "[]" ? "Tensor[]" : "Tensor?[]";
    }
    return p;
  }

  std::string_view rest_;
  bool keyword_only_ = false;
};

/// A parsed view of a schema text that outlives it.
class Schema {
 public:
  constexpr Schema() = default;
  constexpr explicit Schema(std::string_view text) : text_(text) {
    const auto open = text.find('(');
    name_ = text.substr(0, open);
    // The arrow that ends the parameters is the one outside all brackets; (a -> *) is not.
    std::size_t depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && --depth == 0) {
        parameters_ = text.substr(open + 1, i - open - 1);
        const auto arrow = text.find("-> ", i);
        returns_ = arrow == std::string_view::npos ? std::string_view() : text.substr(arrow + 3);
        break;
      }
    }
  }

  [[nodiscard]] constexpr auto empty() const -> bool { return text_.empty(); }
  [[nodiscard]] constexpr auto text() const -> std::string_view { return text_; }
  /// "aten.add_.Tensor"
  [[nodiscard]] constexpr auto name() const -> std::string_view { return name_; }
  /// "aten.add_": all overloads have it
  [[nodiscard]] constexpr auto base() const -> std::string_view { return name_.substr(0, name_.rfind('.')); }
  /// "Tensor"
  [[nodiscard]] constexpr auto overload() const -> std::string_view { return name_.substr(name_.rfind('.') + 1); }
  [[nodiscard]] constexpr auto returns() const -> std::string_view { return returns_; }
  [[nodiscard]] constexpr auto parameters() const -> ParameterReader { return ParameterReader(parameters_); }

  /// Position and description of the parameter called `name`. O(schema length).
  struct Found {
    std::uint32_t position = 0;
    Parameter parameter;
  };
  [[nodiscard]] constexpr auto find(std::string_view name) const -> std::optional<Found> {
    ParameterReader reader = parameters();
    std::uint32_t position = 0;
    for (auto p = reader.next(); p; p = reader.next(), ++position)
      if (p->name == name) return Found{position, *p};
    return std::nullopt;
  }
  /// Whether any parameter is written.
  [[nodiscard]] constexpr auto writes() const -> bool { return parameters_.find('!') != std::string_view::npos; }
  /// Whether a result shares storage with a parameter.
  [[nodiscard]] constexpr auto returns_alias() const -> bool {
    return returns_.find("Tensor(") != std::string_view::npos;
  }
  /// How many values the operator returns; a list counts as one.
  [[nodiscard]] constexpr auto return_count() const -> std::uint32_t {
    if (returns_.empty() || returns_ == "()") return 0;
    if (!returns_.starts_with('(')) return 1;
    std::uint32_t count = 0;
    ParameterReader reader(returns_.substr(1, returns_.size() - 2));
    while (reader.next()) ++count;
    return count;
  }

 private:
  std::string_view text_;
  std::string_view name_;
  std::string_view parameters_;
  std::string_view returns_;
};

}  // namespace fxpass::ops

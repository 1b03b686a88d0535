// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/ops/schema.hpp>
#include <fxpass/support/expected.hpp>
#include <fxpass/support/span.hpp>
#include <fxpass/support/text.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// Operators outside of PyTorch's own: their schemas as people state them, and what calls of those that write become.
///
/// PyTorch calls an operator that writes without a write by `auto_functionalized(op, x=x, y=y)`: it gives what the operator
/// returns, None if that is nothing, and behind it the new value of each parameter that is written, in the schema's order.
/// Source: `torch/_higher_order_ops/auto_functionalize.py`.

namespace fxpass::ops {

/// Whether `name` ("mylib.foo.default") is one of PyTorch's own, whose schemas are known.
[[nodiscard]] constexpr auto is_of_pytorch(std::string_view name) -> bool {
  for (const std::string_view start : {"aten.", "prims.", "prim.", "higher_order."})
    if (name.starts_with(start)) return true;
  return false;
}

/// Hands out the types of a schema's results, annotations included: "Tensor", "Tensor(a!)", "Tensor[]".
class ResultReader {
 public:
  /// Of `Schema::returns`.
  constexpr explicit ResultReader(std::string_view returns) : rest_(returns) {
    if (rest_.starts_with('(')) rest_ = rest_.substr(1, rest_.size() - (rest_.ends_with(')') ? 2 : 1));
  }
  /// The next type, or none. O(its length).
  constexpr auto next() -> std::optional<std::string_view> {
    while (rest_.starts_with(' ') || rest_.starts_with(',')) rest_.remove_prefix(1);
    if (rest_.empty()) return std::nullopt;
    std::size_t depth = 0;
    std::size_t end = 0;
    std::size_t type_end = std::string_view::npos;  // a name may follow
    for (; end < rest_.size() && (depth != 0 || rest_[end] != ','); ++end) {
      if (rest_[end] == '(' || rest_[end] == '[') ++depth;
      if ((rest_[end] == ')' || rest_[end] == ']') && depth > 0) --depth;
      if (rest_[end] == ' ' && depth == 0 && type_end == std::string_view::npos) type_end = end;
    }
    const std::string_view type = rest_.substr(0, type_end < end ? type_end : end);
    rest_.remove_prefix(end);
    return type;
  }

 private:
  std::string_view rest_;
};

/// Of an operator with one result, which is a tensor that it writes: that parameter. O(schema length).
[[nodiscard]] constexpr auto returned_parameter(const Schema& schema) -> std::optional<Parameter> {
  const std::string_view returns = schema.returns();
  if (!returns.starts_with("Tensor(") || !returns.ends_with("!)")) return std::nullopt;
  const std::string_view alias = returns.substr(7, returns.size() - 8);
  std::optional<Parameter> found;
  ParameterReader reader = schema.parameters();
  for (auto p = reader.next(); p; p = reader.next()) {
    if (p->alias != alias) continue;
    if (found || !p->written || p->type != "Tensor") return std::nullopt;
    found = *p;
  }
  return found;
}

/// Why calls of an operator that writes cannot be made without a write; empty if they can. O(schema length).
[[nodiscard]] constexpr auto why_not_functional(const Schema& schema) -> std::string_view {
  ParameterReader reader = schema.parameters();
  for (auto p = reader.next(); p; p = reader.next())
    if (p->written && !p->is_tensor() && !p->is_tensor_list()) return "writes into what is no tensor and no list of tensors";
  if (returned_parameter(schema)) return {};
  ResultReader results(schema.returns());
  if (schema.returns() != "()")
    for (auto type = results.next(); type; type = results.next()) {
      if (type->starts_with("Tensor("))
        return "returns part of an operand, or one of several results is an operand; PyTorch's auto_functionalized takes "
               "none of these: return nothing, what is written alone, or copies";
      if (*type != "Tensor")
        return "returns something else than tensors beside what it writes, which PyTorch's auto_functionalized does not take";
    }
  return {};
}

namespace detail {
[[nodiscard]] constexpr auto is_schema_name(std::string_view text) -> bool {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_') return false;
  return true;
}
/// What is wrong with one parameter, the `number`-th from 1; empty if nothing is.
[[nodiscard]] constexpr auto mistake_in(const Parameter& p, std::size_t number) -> Text {
  if (p.type.empty() || !is_schema_name(p.name))
    return text_of("a parameter is a type and a name, as in 'Tensor(a!) x', and parameter ", number, " is not");
  if (p.aliased && (p.alias.empty() || p.alias == "!"))
    return text_of("the annotation of '", p.name, "' names no alias: a tensor that is written is Tensor(a!)");
  return {};
}
/// Whether brackets outside of quotes close what they open. O(length).
[[nodiscard]] constexpr auto has_paired_brackets(std::string_view text) -> bool {
  std::size_t round = 0, square = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++(c == '(' ? round : square);
    } else if (c == ')' || c == ']') {
      std::size_t& open = c == ')' ? round : square;
      if (open-- == 0) return false;
    }
  }
  return quote == '\0' && round == 0 && square == 0;
}
}  // namespace detail

/// A schema as PyTorch writes it: "mylib::foo.default(Tensor x) -> Tensor" of "mylib.foo.default(Tensor x) -> Tensor".
[[nodiscard]] constexpr auto with_colons(std::string_view schema) -> Text {
  const auto dot = schema.find('.');
  return text_of(schema.substr(0, dot), "::", schema.substr(dot + 1));
}

/// Whether two schemas say the same, whatever they call aliases and results, and however they write defaults. O(lengths).
[[nodiscard]] constexpr auto say_the_same(const Schema& a, const Schema& b) -> bool {
  if (a.name() != b.name()) return false;
  ParameterReader of_a = a.parameters(), of_b = b.parameters();
  while (true) {
    const auto p = of_a.next(), q = of_b.next();
    if (!p || !q) {
      if (p || q) return false;
      break;
    }
    if (p->type != q->type || p->name != q->name || p->written != q->written || p->aliased != q->aliased ||
        p->keyword_only != q->keyword_only || p->has_default != q->has_default)
      return false;
  }
  ResultReader results_of_a(a.returns()), results_of_b(b.returns());
  while (true) {
    const auto x = results_of_a.next(), y = results_of_b.next();
    if (!x || !y) return !x && !y;
    if (*x != *y && !(x->starts_with("Tensor(") && y->starts_with("Tensor("))) return false;
  }
}

/// What PyTorch writes `mylib::foo(Tensor(a!) x) -> ()`, as graphs have it: `mylib.foo.default(Tensor(a!) x) -> ()`. Errors:
/// `invalid_option`, which says where the text is no schema. O(length).
[[nodiscard]] constexpr auto parse_schema(std::string_view text) -> Expected<Text> {
  const auto mistake = [](auto&&... parts) { return Diagnostic::error(DiagnosticCode::invalid_option, text_of(parts...)); };
  while (text.ends_with(' ')) text.remove_suffix(1);
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto open = text.find('(');
  const std::string_view full_name = text.substr(0, open);
  const auto colons = full_name.find("::");
  if (colons == std::string_view::npos) return mistake("a schema begins with the operator's name, as in 'mylib::foo('");
  std::string_view name = full_name.substr(colons + 2);
  const auto dot = name.find('.');
  const bool has_names = detail::is_schema_name(full_name.substr(0, colons)) && detail::is_schema_name(name.substr(0, dot)) &&
                         (dot == std::string_view::npos || detail::is_schema_name(name.substr(dot + 1)));
  if (!has_names) return mistake("'", full_name, "' is no name of an operator: mylib::foo and mylib::foo.overload are");
  if (open == std::string_view::npos) return mistake("parameters in brackets are missing behind '", full_name, "'");
  if (!detail::has_paired_brackets(text.substr(open))) return mistake("a bracket or a quote is opened or closed alone");
  const Schema schema(text);
  ParameterReader reader = schema.parameters();
  std::vector<std::string_view> seen;
  for (auto p = reader.next(); p; p = reader.next()) {
    if (Text wrong = detail::mistake_in(*p, seen.size() + 1); !wrong.empty()) return mistake(wrong);
    for (const std::string_view known : seen)
      if (known == p->name) return mistake("two parameters are called '", p->name, "'");
    seen.push_back(p->name);
  }
  std::string_view behind = reader.rest();
  if (!behind.starts_with(") -> ") || behind.size() == 5)
    return mistake("the results are missing: behind the parameters stands '-> ()', '-> Tensor' or '-> (Tensor, Tensor)'");
  return text_of(full_name.substr(0, colons), '.', name, dot == std::string_view::npos ? ".default" : "", text.substr(open));
}

}  // namespace fxpass::ops

namespace fxpass {

/// Schemas of operators that a file does not hold: training IR and printed graphs have none. A value; filled before a program
/// is read.
///
///     CustomOperators operators;
///     const Status added = operators.add("mylib::scale_(Tensor(a!) x, float by) -> ()");
///     const Expected<Module<>> program = read_pt2("model.pt2", &operators);
class CustomOperators {
 public:
  /// Adds an operator by its schema, in PyTorch's notation. Saying the same twice is saying it once. Errors:
  /// `invalid_option` for what is no schema, for one of PyTorch's own operators, whose schemas are known, and for a second
  /// schema of an operator. O(length + operators).
  constexpr auto add(std::string_view schema) -> Status {
    const auto mistake = [&](auto&&... parts) {
      return Diagnostic::error(DiagnosticCode::invalid_option, text_of("\"", schema, "\": ", parts...));
    };
    auto dotted = ops::parse_schema(schema);
    if (!dotted) return mistake(dotted.error().front().message);
    const ops::Schema added(dotted->view());
    if (ops::is_of_pytorch(added.name()))
      return mistake("PyTorch's own operators are known; this is for those of torch.library");
    for (const Text& known : schemas_) {
      if (ops::Schema(known.view()).name() != added.name()) continue;
      if (ops::say_the_same(ops::Schema(known.view()), added)) return {};
      return mistake("the operator has another schema already: \"", ops::with_colons(known.view()), '"');
    }
    schemas_.push_back(*std::move(dotted));
    return {};
  }
  /// The schemas, as graphs have them ("mylib.foo.default(...)"), in the order in which they were added.
  [[nodiscard]] constexpr auto schemas() const -> Span<const Text> { return schemas_; }
  /// The schema of overload `name` ("mylib.foo.default"); an empty one if it is not known. O(operators).
  [[nodiscard]] constexpr auto find(std::string_view name) const -> ops::Schema {
    for (const Text& known : schemas_)
      if (const ops::Schema schema(known.view()); schema.name() == name) return schema;
    return {};
  }

 private:
  std::vector<Text> schemas_;
};

}  // namespace fxpass

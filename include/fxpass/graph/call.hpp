// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/resolve.hpp>
#include <fxpass/support/diagnostic.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// `Call`: the arguments of a call by the names of ATen's parameters, whatever way Python wrote them: by position, by
/// keyword, one by one (`x.view(2, -1)`), or not at all, the schema's default standing in.

namespace fxpass {

/// The parameters of a graph's operators, each schema read once: for those who ask about many calls.
class ParameterTable {
 public:
  /// The parameters of operator `op`, in the schema's order. Empty where the graph itself holds the schema, or Python's
  /// order is another one: their texts move as the graph grows, so that they are read when they are asked for. Valid until
  /// the next call. O(schema length) at the first call for an operator, else O(1).
  constexpr auto of(const Graph& graph, OpId op) -> Span<const ops::Parameter> {
    while (of_operator_.size() <= op.index) of_operator_.push_back({0, unread});
    Range& range = of_operator_[op.index];
    if (range.count == unread) range = read(graph.op(op));
    return parameters_.view(range);
  }

 private:
  static constexpr std::uint32_t unread = 0xffffffffU;

  constexpr auto read(const Operator& op) -> Range {
    Range range{parameters_.size(), 0};
    if (op.row == ops::no_row || op.parameters != TextId{}) return range;
    ops::ParameterReader reader = ops::schema(op.row).parameters();
    for (auto p = reader.next(); p; p = reader.next()) parameters_.push_back(*p);
    range.count = parameters_.size() - range.begin;
    return range;
  }

  Pool<Range> of_operator_;
  Pool<ops::Parameter> parameters_;
};

/// A view of one call. Valid while the graph is neither changed nor gone. Each query is O(schema length), or with a list
/// of parameters O(parameters).
///
///     const Call call(graph, id);
///     if (call.name() != "aten.add.Tensor") return no_node;
///     return call.operand("other");
class Call {
 public:
  /// Of node `id`, a call.
  constexpr Call(const Graph& graph, NodeId id) : graph_(&graph), id_(id) {}
  /// The same, with what a `ParameterTable` says of its operator.
  constexpr Call(const Graph& graph, NodeId id, Span<const ops::Parameter> parameters)
      : graph_(&graph), id_(id), parameters_(parameters) {}

  /// The graph, the node, its record and its operator.
  [[nodiscard]] constexpr auto graph() const -> const Graph& { return *graph_; }
  [[nodiscard]] constexpr auto id() const -> NodeId { return id_; }
  [[nodiscard]] constexpr auto node() const -> const Node& { return graph_->node(id_); }
  [[nodiscard]] constexpr auto op() const -> const Operator& { return graph_->op(id_); }
  /// The operator's schema. Empty if the operator is not known.
  [[nodiscard]] constexpr auto schema() const -> ops::Schema { return graph_->schema(op()); }
  /// "aten.add.Tensor"; of an unknown operator its target.
  [[nodiscard]] constexpr auto name() const -> std::string_view {
    const ops::Schema known = schema();
    return known.empty() ? graph_->target(id_) : known.name();
  }

  /// The argument given for parameter `name`, or none where the call leaves it at its default.
  [[nodiscard]] constexpr auto given(std::string_view name) const -> std::optional<Argument> {
    for (std::uint32_t i = 0; i < parameters_.size(); ++i)
      if (parameters_[i].name == name) return given(i, parameters_[i]);
    if (const auto a = given_by_keyword(name)) return a;
    const auto found = find_position(name);
    return found ? given_at(found->position, found->parameter) : std::nullopt;
  }
  /// The same for the parameter that the schema has at `position`: for those who go through all of them, and need not
  /// search the schema for each. O(arguments).
  [[nodiscard]] constexpr auto given(std::uint32_t position, const ops::Parameter& parameter) const
      -> std::optional<Argument> {
    if (op().parameters != TextId{}) return given(parameter.name);
    if (const auto a = given_at(position, parameter)) return a;
    return given_by_keyword(parameter.name);
  }
  /// The tensor given for `name`, or `no_node`.
  [[nodiscard]] constexpr auto operand(std::string_view name) const -> NodeId {
    const auto a = given(name);
    return a && a->is_node() ? a->node() : no_node;
  }
  /// Whether something other than None stands for `name`.
  [[nodiscard]] constexpr auto has(std::string_view name) const -> bool {
    const auto a = given(name);
    return a && !a->is_none();
  }

  /// An integer argument, or its default; none if it is None, symbolic or no integer.
  [[nodiscard]] constexpr auto integer(std::string_view name) const -> std::optional<std::int64_t> {
    if (const auto a = given(name)) {
      if (a->is(ArgumentKind::integer)) return a->integer();
      if (a->is(ArgumentKind::boolean)) return a->boolean() ? 1 : 0;
      return std::nullopt;
    }
    return parse_integer(default_of(name));
  }
  /// A bool argument, or its default; none if it is anything else.
  [[nodiscard]] constexpr auto boolean(std::string_view name) const -> std::optional<bool> {
    if (const auto a = given(name))
      return a->is(ArgumentKind::boolean) ? std::optional(a->boolean()) : std::nullopt;
    const std::string_view text = default_of(name);
    return text == "True" ? std::optional(true) : text == "False" ? std::optional(false) : std::nullopt;
  }
  /// A float argument, integers included, or its default.
  [[nodiscard]] constexpr auto real(std::string_view name) const -> std::optional<double> {
    if (const auto a = given(name)) {
      if (a->is(ArgumentKind::real)) return a->real();
      if (a->is(ArgumentKind::integer)) return static_cast<double>(a->integer());
      if (a->is(ArgumentKind::boolean)) return a->boolean() ? 1.0 : 0.0;
      return std::nullopt;
    }
    return parse_real(default_of(name));
  }
  /// A string argument or its default, without quotes.
  [[nodiscard]] constexpr auto string(std::string_view name) const -> std::optional<std::string_view> {
    if (const auto a = given(name))
      return a->is(ArgumentKind::string) ? std::optional(graph_->text(a->text())) : std::nullopt;
    const std::string_view text = default_of(name);
    if (text.size() < 2 || (text.front() != '"' && text.front() != '\'')) return std::nullopt;
    return text.substr(1, text.size() - 2);
  }
  /// A dtype argument, or the one the spelling implies (`x.float()`).
  [[nodiscard]] constexpr auto dtype(std::string_view name) const -> std::optional<DType> {
    if (const auto a = given(name))
      return a->is(ArgumentKind::dtype) ? std::optional(a->dtype()) : std::nullopt;
    return op().has_implied_dtype ? std::optional(op().implied_dtype) : std::nullopt;
  }
  /// A list of integers, given as a list, as one number, or one by one; else its default. None if it is None or if a
  /// member is no integer; members may be symbolic. A single number for a sized list is returned as one element.
  [[nodiscard]] constexpr auto integers(std::string_view name) const -> std::optional<Pool<SymInt>> {
    Pool<SymInt> list;
    const auto a = given(name);
    if (!a) {
      const std::string_view text = default_of(name);
      if (text.starts_with('[')) return parse_list(text);
      if (const auto one = parse_integer(text)) {
        list.push_back(*one);
        return list;
      }
      return std::nullopt;
    }
    if (a->is_sequence()) {
      for (const Argument& child : graph_->children(*a)) {
        if (!child.is(ArgumentKind::integer) && !child.is(ArgumentKind::sym_int)) return std::nullopt;
        list.push_back(child.sym_int());
      }
      return list;
    }
    if (!a->is(ArgumentKind::integer) && !a->is(ArgumentKind::sym_int)) return std::nullopt;
    list.push_back(a->sym_int());
    if (a->is_keyword()) return list;
    const auto arguments = graph_->arguments(id_);
    const auto found = find_position(name);
    const bool sized = found && !found->parameter.type.empty() && found->parameter.type.find("[]") == std::string_view::npos;
    if (!found || sized) return list;
    for (std::size_t i = found->position + 1; i < arguments.size() && !arguments[i].is_keyword(); ++i) {
      if (!arguments[i].is(ArgumentKind::integer) && !arguments[i].is(ArgumentKind::sym_int)) return std::nullopt;
      list.push_back(arguments[i].sym_int());
    }
    return list;
  }
  /// The members of a list of tensors; none where it is no list.
  [[nodiscard]] constexpr auto list(std::string_view name) const -> std::optional<Span<const Argument>> {
    const auto a = given(name);
    return a && a->is_sequence() ? std::optional(graph_->children(*a)) : std::nullopt;
  }

 private:
  [[nodiscard]] constexpr auto given_by_keyword(std::string_view name) const -> std::optional<Argument> {
    for (const Argument& a : graph_->arguments(id_))
      if (a.is_keyword() && detail::keyword_names(graph_->text(a.keyword()), name) && !is_other_parameter(a, name))
        return a;
    return std::nullopt;
  }
  [[nodiscard]] constexpr auto given_at(std::uint32_t position, const ops::Parameter& parameter) const
      -> std::optional<Argument> {
    const auto arguments = graph_->arguments(id_);
    // A call without a write (functional_form.hpp) has the operator before the arguments, which are all keywords.
    const bool is_given = !parameter.keyword_only && position < arguments.size() && !arguments[position].is_keyword() &&
                          !arguments[position].is(ArgumentKind::operation);
    return is_given ? std::optional(arguments[position]) : std::nullopt;
  }
  /// `input` may stand for `self` or for `indices`: it means the one that the operator has.
  [[nodiscard]] constexpr auto is_other_parameter(const Argument& a, std::string_view name) const -> bool {
    const std::string_view keyword = graph_->text(a.keyword());
    return keyword != name && schema().find(keyword).has_value() && schema().find(name).has_value();
  }
  [[nodiscard]] constexpr auto find_position(std::string_view name) const -> std::optional<ops::Schema::Found> {
    for (std::uint32_t i = 0; i < parameters_.size(); ++i)
      if (parameters_[i].name == name) return ops::Schema::Found{i, parameters_[i]};
    if (!parameters_.empty()) return std::nullopt;
    const TextId parameters = op().parameters;
    if (parameters == TextId{}) return schema().find(name);
    ops::ParameterReader reader(graph_->text(parameters));
    std::uint32_t position = 0;
    for (auto p = reader.next(); p; p = reader.next(), ++position)
      if (p->name == name) return ops::Schema::Found{position, *p};
    return std::nullopt;
  }
  [[nodiscard]] constexpr auto default_of(std::string_view name) const -> std::string_view {
    if (const auto found = find_position(name); found && found->parameter.has_default)
      return found->parameter.default_value;
    if (!parameters_.empty()) return {};
    // A parameter that Python's function does not have keeps ATen's default.
    const auto found = schema().find(name);
    return found && found->parameter.has_default ? found->parameter.default_value : std::string_view();
  }
  [[nodiscard]] static constexpr auto parse_integer(std::string_view text) -> std::optional<std::int64_t> {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    std::int64_t value = 0;
    for (const char c : text) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + (c - '0');
    }
    return negative ? -value : value;
  }
  /// Defaults are short decimals such as 1, 0.01 and 1e-05; the few digits make this exact enough to be the nearest
  /// double for all of them.
  [[nodiscard]] static constexpr auto parse_real(std::string_view text) -> std::optional<double> {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    double digits = 0;
    std::int64_t scale = 0;
    bool fraction = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '.') {
        fraction = true;
      } else if (c == 'e') {
        const std::size_t skip = text.substr(i + 1).starts_with('+') ? 2 : 1;
        const auto exponent = parse_integer(text.substr(i + skip));
        if (!exponent) return std::nullopt;
        scale += *exponent;
        break;
      } else if (c >= '0' && c <= '9') {
        digits = digits * 10 + (c - '0');
        if (fraction) --scale;
      } else {
        return std::nullopt;
      }
    }
    double power = 1;
    for (std::int64_t i = 0; i < (scale < 0 ? -scale : scale); ++i) power *= 10;
    const double value = scale < 0 ? digits / power : digits * power;
    return negative ? -value : value;
  }
  [[nodiscard]] static constexpr auto parse_list(std::string_view text) -> std::optional<Pool<SymInt>> {
    Pool<SymInt> list;
    text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
      const auto comma = text.find(',');
      std::string_view item = text.substr(0, comma);
      while (item.starts_with(' ')) item.remove_prefix(1);
      const auto value = parse_integer(item);
      if (!value) return std::nullopt;
      list.push_back(*value);
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    return list;
  }

  const Graph* graph_;
  NodeId id_;
  Span<const ops::Parameter> parameters_;  ///< of the operator; empty: to be read from its schema
};

/// The indices that `tensor_split`, `hsplit` and their kind cut at; none where they are told how many parts to make: one
/// number alone.
[[nodiscard]] constexpr auto cuts_of(const Call& call) -> std::optional<Pool<SymInt>> {
  const auto given = call.given("indices");
  if (!given) return std::nullopt;
  auto cuts = call.integers("indices");
  if (given->is_sequence()) return cuts;
  // One by one: `x.hsplit(1, 2)`. What follows in `x.tensor_split(2, 0)` is a dimension.
  const bool has_many = cuts && cuts->size() > 1 && call.schema().base() != "aten.tensor_split";
  return has_many ? cuts : std::nullopt;
}

/// The innermost frame of a Python stack trace, file and line. Empty where the trace has none. O(length of the trace).
[[nodiscard]] constexpr auto innermost_frame(std::string_view trace) -> SourcePlace {
  SourcePlace place;
  const auto file = trace.rfind("File \"");
  if (file == std::string_view::npos) return place;
  const auto name = file + 6;
  const auto quote = trace.find('"', name);
  const auto line = trace.find("line ", quote == std::string_view::npos ? name : quote);
  if (quote == std::string_view::npos || line == std::string_view::npos) return place;
  place.file = Text(trace.substr(name, quote - name));
  for (std::size_t i = line + 5; i < trace.size() && trace[i] >= '0' && trace[i] <= '9'; ++i)
    place.line = place.line * 10 + static_cast<std::uint32_t>(trace[i] - '0');
  return place;
}

/// The line of the model that a node stems from. O(length of its stack trace).
[[nodiscard]] constexpr auto model_line(const Graph& graph, NodeId id) -> SourcePlace {
  return innermost_frame(graph.text(graph.node(id).stack_trace));
}

/// An error about node `id`, with its name and the line of the model.
[[nodiscard]] constexpr auto error_at(const Graph& graph, NodeId id, DiagnosticCode code, Text message)
    -> Diagnostic {
  Diagnostic d = Diagnostic::error(code, std::move(message));
  d.node = graph.name(id);
  d.model = model_line(graph, id);
  return d;
}

}  // namespace fxpass

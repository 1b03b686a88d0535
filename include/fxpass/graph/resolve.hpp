// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/graph.hpp>
#include <fxpass/ops/mutations.hpp>
#include <fxpass/ops/spelling.hpp>
#include <fxpass/ops/views.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

/// @file
/// Which ATen overload a call means: `x.add_(1)`, `torch.add(x, y)` and `operator.iadd(x, y)` name none. The choice
/// follows PyTorch's argument parser: the first overload whose parameters take the arguments, numbers standing for
/// tensors only where nothing else fits.

namespace fxpass {

/// What a call resolves to, before it is interned as an `Operator`.
struct Resolution {
  ops::CatalogRow row = ops::no_row;                  ///< the overload
  std::string_view parameters;                        ///< Python's order; empty: the schema's
  std::optional<DType> implied_dtype = std::nullopt;  ///< what the spelling says without saying it
  bool known_to_write = false;                        ///< by name or keyword, where there is no schema
};

namespace detail {

/// Whether argument `a` may stand where a parameter of type `type` is declared.
class ArgumentMatcher {
 public:
  constexpr ArgumentMatcher(const Graph& graph, bool numbers_are_tensors)
      : graph_(graph), numbers_are_tensors_(numbers_are_tensors) {}

  [[nodiscard]] constexpr auto takes(std::string_view type, const Argument& a) const -> bool {
    if (type == "Any") return true;
    if (type.ends_with('?')) {
      if (a.is_none()) return true;
      type.remove_suffix(1);
    }
    if (type.ends_with(']')) return takes_list(type, a);
    return takes_one(type, a);
  }
  /// Whether `a` is an element of the list type `type`, so that several may be given one by one: `x.view(2, -1)`.
  [[nodiscard]] constexpr auto is_element(std::string_view type, const Argument& a) const -> bool {
    if (type.ends_with('?')) type.remove_suffix(1);
    return type.ends_with(']') && takes_one(type.substr(0, type.find('[')), a);
  }

 private:
  [[nodiscard]] constexpr auto takes_list(std::string_view type, const Argument& a) const -> bool {
    const auto open = type.rfind('[');
    const std::string_view element = type.substr(0, open);
    if (!a.is_sequence()) {
      // A sized list such as int[2] takes a single value for all of its elements.
      const bool is_sized = open + 2 < type.size();
      return (is_sized && !a.is_none() && takes(element, a)) || (a.is_none() && !is_sized);
    }
    for (const Argument& child : graph_.children(a))
      if (!takes(element, child)) return false;
    return true;
  }
  [[nodiscard]] constexpr auto takes_one(std::string_view type, const Argument& a) const -> bool {
    const bool is_scalar = type == "Scalar";
    const bool is_tensor = type == "Tensor";
    switch (a.kind()) {
      case ArgumentKind::node:
        switch (graph_.node(a.node()).value_kind) {
          case ValueKind::sym_int: return type == "int" || type == "SymInt" || is_scalar;
          case ValueKind::scalar: return type == "float" || type == "bool" || is_scalar;
          default: return is_tensor;
        }
      case ArgumentKind::integer:
      case ArgumentKind::sym_int:
        return type == "int" || type == "SymInt" || type == "float" || is_scalar || (is_tensor && numbers_are_tensors_);
      case ArgumentKind::real: return type == "float" || is_scalar || (is_tensor && numbers_are_tensors_);
      case ArgumentKind::boolean: return type == "bool" || is_scalar || (is_tensor && numbers_are_tensors_);
      case ArgumentKind::complex: return is_scalar || (is_tensor && numbers_are_tensors_);
      case ArgumentKind::string: return type == "str" || type == "Device";
      case ArgumentKind::dtype: return type == "ScalarType";
      case ArgumentKind::device: return type == "Device";
      case ArgumentKind::layout: return type == "Layout";
      case ArgumentKind::memory_format: return type == "MemoryFormat";
      default: return false;
    }
  }

  const Graph& graph_;
  bool numbers_are_tensors_;
};

/// Whether keyword `keyword` names parameter `parameter`, Python's own names included.
[[nodiscard]] constexpr auto keyword_names(std::string_view keyword, std::string_view parameter) -> bool {
  if (keyword == parameter) return true;
  for (const ops::KeywordAlias& alias : ops::keyword_aliases)
    if (alias.python == keyword && alias.aten == parameter) return true;
  return false;
}

/// What a call gives for `out`: a tensor, several in the order of the results, or None, which is nothing.
[[nodiscard]] constexpr auto out_argument(const Graph& graph, Span<const Argument> arguments) -> std::optional<Argument> {
  for (const Argument& a : arguments)
    if (a.is_keyword() && graph.text(a.keyword()) == "out") return a;
  return std::nullopt;
}

/// What a call gives for parameter `name` of Python's function, by position as `parameters` tells it, or by keyword.
[[nodiscard]] constexpr auto option(const Graph& graph, std::string_view parameters, Span<const Argument> arguments,
                                    std::string_view name) -> std::optional<Argument> {
  ops::ParameterReader reader(parameters);
  std::size_t position = 0;
  for (auto p = reader.next(); p; p = reader.next(), ++position)
    if (p->name == name && position < arguments.size() && !arguments[position].is_keyword()) return arguments[position];
  for (const Argument& a : arguments)
    if (a.is_keyword() && graph.text(a.keyword()) == name) return a;
  return std::nullopt;
}
/// Whether the call says `inplace=True`.
[[nodiscard]] constexpr auto asks_for_inplace(const Graph& graph, std::string_view parameters,
                                              Span<const Argument> arguments) -> bool {
  const auto inplace = option(graph, parameters, arguments, "inplace");
  return inplace && inplace->is(ArgumentKind::boolean) && inplace->boolean();
}
/// Whether the call of an embedding says `max_norm`, by which it scales the rows of its table that are too long, in place.
[[nodiscard]] constexpr auto asks_for_norm(const Graph& graph, std::string_view parameters, Span<const Argument> arguments)
    -> bool {
  const auto norm = option(graph, parameters, arguments, "max_norm");
  return norm && !norm->is_none();
}

/// Whether a call of one of PyTorch's functions in Python that are not operators of ATen gives `out` by position.
[[nodiscard]] constexpr auto gives_positional_out(NodeKind kind, std::string_view target, Span<const Argument> arguments) -> bool {
  constexpr std::pair<std::string_view, std::size_t> functions[] = {{"lu", 3}, {"norm", 4}, {"normalize", 4}, {"tensordot", 3}};
  if (kind != NodeKind::call_function || !ops::is_torch_function(target)) return false;
  for (const auto& [name, position] : functions)
    if (ops::last_name(target) == name && position < arguments.size() && !arguments[position].is_keyword() &&
        !arguments[position].is_none())
      return true;
  return false;
}

/// Whether a call of an operator without schema has to be taken for a write.
[[nodiscard]] constexpr auto says_write(const Graph& graph, std::string_view name, Span<const Argument> arguments) -> bool {
  const auto out = out_argument(graph, arguments);
  return ops::name_says_write(name) || (out && !out->is_none()) || asks_for_inplace(graph, {}, arguments) ||
         asks_for_norm(graph, {}, arguments);
}

/// Whether `arguments` can be bound to the parameters: each argument finds a parameter that takes it, and each
/// parameter without default gets one.
[[nodiscard]] constexpr auto binds(const Graph& graph, ops::ParameterReader parameters,
                                   Span<const Argument> arguments, bool numbers_are_tensors) -> bool {
  const ArgumentMatcher matcher(graph, numbers_are_tensors);
  std::size_t positional = 0;
  std::size_t bound = 0;
  std::uint32_t outs = 0;
  const std::optional<Argument> out = out_argument(graph, arguments);
  if (out && out->is_none()) ++bound;
  for (auto p = parameters.next(); p; p = parameters.next()) {
    const bool has_positional =
        !p->keyword_only && positional < arguments.size() && !arguments[positional].is_keyword();
    if (has_positional) {
      if (matcher.takes(p->type, arguments[positional])) {
        ++positional;
        ++bound;
        continue;
      }
      // One by one, to the last positional argument.
      if (!matcher.is_element(p->type, arguments[positional])) return false;
      while (positional < arguments.size() && !arguments[positional].is_keyword() &&
             matcher.is_element(p->type, arguments[positional])) {
        ++positional;
        ++bound;
      }
      continue;
    }
    bool given = false;
    if (p->written && p->keyword_only && out && out->is_sequence() && p->type == "Tensor") {
      const auto members = graph.children(*out);
      if (outs >= members.size() || !matcher.takes(p->type, members[outs])) return false;
      if (++outs == members.size()) ++bound;
      continue;
    }
    for (const Argument& a : arguments) {
      if (!a.is_keyword() || !keyword_names(graph.text(a.keyword()), p->name)) continue;
      if (!matcher.takes(p->type, a)) return false;
      given = true;
      ++bound;
    }
    if (!given && !p->has_default) return false;
  }
  return bound == arguments.size();
}

/// First overload of `set` that takes `arguments`, in Python's order where `parameters` is given.
[[nodiscard]] constexpr auto choose_overload(const Graph& graph, ops::OverloadSet set, std::string_view parameters,
                                             Span<const Argument> arguments) -> ops::CatalogRow {
  for (const bool numbers_are_tensors : {false, true}) {
    for (ops::CatalogRow row = set.first; row < set.last; ++row) {
      if (!parameters.empty()) {
        if (binds(graph, ops::ParameterReader(parameters), arguments, numbers_are_tensors)) return row;
      } else if (binds(graph, ops::schema(row).parameters(), arguments, numbers_are_tensors)) {
        return row;
      }
    }
  }
  return ops::no_row;
}

}  // namespace detail

/// The overload that a call of `target` with `arguments` means. O(overloads x schema length).
[[nodiscard]] constexpr auto resolve(const Graph& graph, NodeKind kind, std::string_view target,
                                     Span<const Argument> arguments) -> Resolution {
  Resolution result;
  ops::Operation operation;
  Text base_text;  // keeps the composed name alive
  if (kind == NodeKind::call_method) {
    operation = ops::operation_of_method(target);
    if (operation.base.empty()) {
      append_all(base_text, "aten.", target);
      operation.base = base_text;
    }
  } else {
    const bool is_attribute = target.ends_with("getattr") && arguments.size() == 2 && arguments[1].is(ArgumentKind::string);
    operation = is_attribute ? ops::operation_of_attribute(graph.text(arguments[1].text()))
                             : ops::operation_of_function(target);
    if (operation.base.empty()) {
      if (!ops::is_torch_function(target)) {
        result.known_to_write = detail::says_write(graph, target, arguments);
        return result;
      }
      append_all(base_text, "aten.", ops::last_name(target));
      operation.base = base_text;
    }
  }
  if (detail::asks_for_norm(graph, operation.parameters, arguments)) {
    result.known_to_write = true;
    return result;
  }
  result.parameters = operation.parameters;
  result.implied_dtype = operation.dtype;
  if (!operation.parameters.empty() && detail::asks_for_inplace(graph, operation.parameters, arguments)) {
    base_text = text_of(operation.base, '_');
    operation.base = base_text;
  }
  if (!operation.overload.empty()) {
    const Text name = text_of(operation.base, '.', operation.overload);
    result.row = ops::find_overload(name);
  } else {
    result.row = detail::choose_overload(graph, ops::find_overloads(operation.base), operation.parameters, arguments);
  }
  if (result.row == ops::no_row)
    result.known_to_write =
        detail::says_write(graph, operation.base, arguments) || detail::gives_positional_out(kind, target, arguments) ||
        ops::is_statistics_writer(operation.base);
  return result;
}

}  // namespace fxpass

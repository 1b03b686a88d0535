// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/ops/aten_schemas.hpp>
#include <fxpass/ops/schema.hpp>
#include <fxpass/support/text.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// The operators fxpass knows, found by name. A `CatalogRow` is the interned name of an operator overload.

namespace fxpass::ops {

/// Operators that Python has and ATen has not, and one that Inductor adds to those of PyTorch, in the same notation and sorted;
/// `Any` stands for any argument.
inline constexpr const char* python_schemas[] = {
    ("higher_order.nki_kernel_wrapper.default(*, int kernel_idx, Any grid, str backend_config, "
     "Any operand_output_aliases, Any args, Any arg_names, int constant_args_key) -> Any"),
    ("higher_order.nki_kernel_wrapper_functional.default(*, int kernel_idx, Any grid, str backend_config, "
     "Any operand_output_aliases, Any args, Any arg_names, int constant_args_key) -> Any"),
    "operator.getitem.default(Any self, Any index) -> Any",
    "operator.setitem.default(Tensor(a!) self, Any index, Any value) -> ()",
    "prims.fma.default(Tensor a, Tensor b, Tensor c) -> Tensor",
};

/// Index of an operator overload in the catalog: ATen's schemas first, then Python's.
using CatalogRow = std::uint16_t;

/// The row of what is in no catalog.
inline constexpr CatalogRow no_row = 0xffff;

/// How many rows are ATen's; Python's follow.
inline constexpr CatalogRow aten_rows = static_cast<CatalogRow>(std::size(operator_schemas));

/// The schema of a row as text. Needs a row of the catalog. O(1).
[[nodiscard]] constexpr auto schema_text(CatalogRow row) -> std::string_view {
  return row < aten_rows ? operator_schemas[row] : python_schemas[row - aten_rows];
}
/// The schema of a row; the empty one for `no_row`. O(length of the name).
[[nodiscard]] constexpr auto schema(CatalogRow row) -> Schema {
  return row == no_row ? Schema() : Schema(schema_text(row));
}

namespace detail {
/// Order of `key` against the row's first characters: negative, 0 if the row starts with it, positive. It looks at no
/// more of the row than it has to: rows are long, and the length of a literal is not free in constant evaluation.
[[nodiscard]] constexpr auto compare(std::string_view key, const char* row) -> int {
  for (const char c : key) {
    if (c != *row) return static_cast<unsigned char>(c) < static_cast<unsigned char>(*row) ? -1 : 1;
    ++row;
  }
  return 0;
}
/// The row that starts with `name` followed by `after`, or N. O(log rows + rows that start with `name`).
template <std::size_t N>
[[nodiscard]] constexpr auto find_in(const char* const (&table)[N], std::string_view name, char after) -> std::size_t {
  std::size_t low = 0;
  std::size_t high = N;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (compare(name, table[middle]) > 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < N && compare(name, table[low]) == 0; ++low)
    if (table[low][name.size()] == after) return low;
  return N;
}
}  // namespace detail

/// The overload called `name`, say "aten.add.Tensor"; `no_row` if there is none. O(log rows).
[[nodiscard]] constexpr auto find_overload(std::string_view name) -> CatalogRow {
  if (const auto i = detail::find_in(operator_schemas, name, '('); i < std::size(operator_schemas))
    return static_cast<CatalogRow>(i);
  if (const auto i = detail::find_in(python_schemas, name, '('); i < std::size(python_schemas))
    return static_cast<CatalogRow>(aten_rows + i);
  return no_row;
}

/// The overloads of an operator, as adjacent rows `[first, last)`.
struct OverloadSet {
  CatalogRow first = 0;  ///< row of the first one
  CatalogRow last = 0;   ///< row behind the last one

  /// Whether there is no such operator.
  [[nodiscard]] constexpr auto empty() const -> bool { return first == last; }
};
/// All overloads of `base`, say "aten.add". O(log rows + overloads).
[[nodiscard]] constexpr auto find_overloads(std::string_view base) -> OverloadSet {
  if (base.find('.') == std::string_view::npos) return {};  // a namespace is no operator
  const auto begin = detail::find_in(operator_schemas, base, '.');
  auto end = begin;
  while (end < std::size(operator_schemas) && detail::compare(base, operator_schemas[end]) == 0 &&
         operator_schemas[end][base.size()] == '.')
    ++end;
  if (begin != end) return {static_cast<CatalogRow>(begin), static_cast<CatalogRow>(end)};
  if (const auto i = detail::find_in(python_schemas, base, '.'); i < std::size(python_schemas))
    return {static_cast<CatalogRow>(aten_rows + i), static_cast<CatalogRow>(aten_rows + i + 1)};
  return {};
}

namespace detail {
/// Whether a parameter says what kind of tensor is to be made.
[[nodiscard]] constexpr auto is_option_of_new_tensor(const Parameter& p) -> bool {
  return p.keyword_only && p.has_default &&
         (p.name == "dtype" || p.name == "layout" || p.name == "device" || p.name == "pin_memory");
}
/// Whether a parameter is a tensor that a result is put into.
[[nodiscard]] constexpr auto is_out_tensor(const Parameter& p) -> bool { return p.written && p.keyword_only; }
/// Whether an operator has such a parameter. O(schema length).
[[nodiscard]] constexpr auto has_out_tensor(const Schema& schema) -> bool {
  ParameterReader reader = schema.parameters();
  for (auto p = reader.next(); p; p = reader.next())
    if (is_out_tensor(*p)) return true;
  return false;
}
/// Whether `functional` takes the parameters of `writing`, alias annotations apart; the one that is written may have another
/// name there (`dropout_(self)`, `dropout(input)`). An `out=` tensor is none, and says what `functional` may be told of the
/// tensor that it makes. O(schema lengths).
[[nodiscard]] constexpr auto same_parameters(const Schema& functional, const Schema& writing) -> bool {
  ParameterReader left = functional.parameters();
  ParameterReader right = writing.parameters();
  const bool has_out = has_out_tensor(writing);
  while (true) {
    auto p = left.next();
    auto q = right.next();
    while (q && is_out_tensor(*q)) q = right.next();
    while (has_out && p && is_option_of_new_tensor(*p) && (!q || q->name != p->name)) p = left.next();
    if (!p || !q) return !p && !q;
    if (p->type != q->type || (p->name != q->name && !q->written) || p->keyword_only != q->keyword_only) return false;
  }
}
}  // namespace detail

/// The operator that computes what in-place operator `base` computes, without the write: `add` for `add_`, `__and__` for
/// `__iand__`, `f` for `f_out`. Any other name is its own.
[[nodiscard]] constexpr auto functional_base(std::string_view base) -> Text {
  if (base == "aten.normal_") return Text("aten.normal_functional");  // normal draws from parameters that are tensors
  constexpr std::string_view dunder = ".__i";
  const auto at = base.find(dunder);
  if (at != std::string_view::npos && base.ends_with("__"))
    return text_of(base.substr(0, at), ".__", base.substr(at + dunder.size()));
  constexpr std::string_view out = "_out";
  if (base.ends_with(out)) return base.substr(0, base.size() - out.size());
  if (base.ends_with('_') && !base.ends_with("__")) return base.substr(0, base.size() - 1);
  return base;
}

/// The overload that computes what `row`, one that works in place or has `out=` tensors, computes, without the write: the one
/// with the same parameters, whose name may differ (`floor_divide_.Tensor`, `floor_divide.default`; `pow_.Scalar`,
/// `pow.Tensor_Scalar`). `no_row` where PyTorch has none. O(log rows + overloads).
[[nodiscard]] constexpr auto functional_twin(CatalogRow row) -> CatalogRow {
  const Schema in_place = schema(row);
  if (!in_place.writes()) return no_row;
  const Text base = functional_base(in_place.base());
  const OverloadSet candidates = find_overloads(base);
  for (CatalogRow r = candidates.first; r < candidates.last; ++r)
    if (!schema(r).writes() && detail::same_parameters(schema(r), in_place)) return r;
  return no_row;
}

}  // namespace fxpass::ops

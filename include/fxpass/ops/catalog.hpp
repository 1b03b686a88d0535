// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/ops/aten_schemas.hpp>
#include <fxpass/ops/schema.hpp>

#include <cstdint>
#include <iterator>
#include <string_view>

/// @file
/// The operators fxpass knows, found by name. A `CatalogRow` is the interned name of an operator overload.

namespace fxpass::ops {

/// Operators that Python has and ATen has not, in the same notation and sorted; `Any` stands for any argument.
inline constexpr const char* python_schemas[] = {
    ("higher_order.nki_kernel_wrapper.default(*, int kernel_idx, Any grid, str backend_config, "
     "Any operand_output_aliases, Any args, Any arg_names, int constant_args_key) -> Any"),
    ("higher_order.nki_kernel_wrapper_functional.default(*, int kernel_idx, Any grid, str backend_config, "
     "Any operand_output_aliases, Any args, Any arg_names, int constant_args_key) -> Any"),
    "operator.getitem.default(Any self, Any index) -> Any",
    "operator.setitem.default(Tensor(a!) self, Any index, Any value) -> ()",
};

/// Index of an operator overload in the catalog: ATen's schemas first, then Python's.
using CatalogRow = std::uint16_t;
inline constexpr CatalogRow no_row = 0xffff;
inline constexpr CatalogRow aten_rows = static_cast<CatalogRow>(std::size(operator_schemas));

[[nodiscard]] constexpr auto schema_text(CatalogRow row) -> std::string_view {
  return row < aten_rows ? operator_schemas[row] : python_schemas[row - aten_rows];
}
[[nodiscard]] constexpr auto schema(CatalogRow row) -> Schema {
  return row == no_row ? Schema() : Schema(schema_text(row));
}

namespace detail {
/// First row of `table` whose text is not before `key`. O(log rows).
template <std::size_t N>
[[nodiscard]] constexpr auto lower_bound(const char* const (&table)[N], std::string_view key) -> std::size_t {
  std::size_t low = 0;
  std::size_t high = N;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (std::string_view(table[middle]).substr(0, key.size()) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
/// The row whose text starts with `name` followed by `after`.
template <std::size_t N>
[[nodiscard]] constexpr auto find_in(const char* const (&table)[N], std::string_view name, char after) -> std::size_t {
  for (std::size_t i = lower_bound(table, name); i < N && std::string_view(table[i]).starts_with(name); ++i)
    if (std::string_view(table[i]).substr(name.size()).starts_with(after)) return i;
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
  CatalogRow first = 0;
  CatalogRow last = 0;
  [[nodiscard]] constexpr auto empty() const -> bool { return first == last; }
};
/// All overloads of `base`, say "aten.add". O(log rows + overloads).
[[nodiscard]] constexpr auto find_overloads(std::string_view base) -> OverloadSet {
  const auto begin = detail::find_in(operator_schemas, base, '.');
  auto end = begin;
  while (end < std::size(operator_schemas) && std::string_view(operator_schemas[end]).starts_with(base) &&
         std::string_view(operator_schemas[end]).substr(base.size()).starts_with('.'))
    ++end;
  if (begin != end) return {static_cast<CatalogRow>(begin), static_cast<CatalogRow>(end)};
  if (const auto i = detail::find_in(python_schemas, base, '.'); i < std::size(python_schemas))
    return {static_cast<CatalogRow>(aten_rows + i), static_cast<CatalogRow>(aten_rows + i + 1)};
  return {};
}

/// The overload that computes what in-place overload `row` computes, without the write: the same overload of the name
/// without its trailing underscore. `no_row` where PyTorch has none. O(log rows).
[[nodiscard]] constexpr auto functional_twin(CatalogRow row) -> CatalogRow {
  const Schema in_place = schema(row);
  const std::string_view base = in_place.base();
  if (!base.ends_with('_')) return no_row;
  const OverloadSet candidates = find_overloads(base.substr(0, base.size() - 1));
  for (CatalogRow r = candidates.first; r < candidates.last; ++r)
    if (schema(r).overload() == in_place.overload() && !schema(r).writes()) return r;
  return no_row;
}

}  // namespace fxpass::ops

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>
#include <fxpass/lower/reductions.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

/// @file
/// Operators that put elements in order. NaN is larger than every number, and both zeros are equal, as in
/// eager. Equal elements keep their order, which eager promises for `stable=True` alone.

namespace fxpass {

namespace detail {

/// Whether `a` goes before `b`.
constexpr auto goes_before(auto& c, hlo::Value a, hlo::Value b, bool descending) -> hlo::Value {
  auto& builder = c.builder();
  if (descending) std::swap(a, b);
  const hlo::Value is_less = builder.compare(a, b, hlo::Direction::lt);
  if (!is_floating(builder.dtype(a))) return is_less;
  const hlo::Value a_is_number = builder.compare(a, a, hlo::Direction::eq);
  const hlo::Value b_is_nan = builder.compare(b, b, hlo::Direction::ne);
  return builder.or_(is_less, builder.and_(a_is_number, b_is_nan));
}

/// Elements in order along a dimension, and the places they had.
struct Sorted {
  hlo::Value values;
  hlo::Value places;  ///< s64
};
constexpr auto sort_along(auto& c, hlo::Value x, std::size_t dim, bool descending) -> Sorted {
  auto& b = c.builder();
  if (!x.valid()) return {};
  // A tensor without dimensions is a list of one.
  if (b.rank(x) == 0) return {x, b.constant(DType::i64, 0)};
  const DType type = b.dtype(x);
  const hlo::Value places = b.iota({DType::i64, b.dims(x)}, static_cast<std::int64_t>(dim));
  const hlo::ComputationId comparator =
      b.computation(descending ? "goes_before_descending" : "goes_before", [&] {
        const hlo::Value first = b.parameter({type, {}}), second = b.parameter({type, {}});
        b.parameter({DType::i64, {}});
        b.parameter({DType::i64, {}});
        return goes_before(c, first, second, descending);
      });
  const hlo::Value both = b.sort({x, places}, static_cast<std::int64_t>(dim), true, comparator);
  return {b.get_tuple_element(both, 0), b.get_tuple_element(both, 1)};
}

}  // namespace detail

struct LowerSort {
  static constexpr std::string_view op = "aten.sort";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value x = c.tensor(call, "self");
    const auto sorted =
        detail::sort_along(c, x, c.dim(call, "dim", c.builder().rank(x)), c.boolean(call, "descending"));
    return c.members(call, {sorted.values, sorted.places});
  }
};

struct LowerArgsort {
  static constexpr std::string_view op = "aten.argsort";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return detail::sort_along(c, x, c.dim(call, "dim", c.builder().rank(x)), c.boolean(call, "descending"))
        .places;
  }
};

struct LowerMsort {
  static constexpr std::string_view op = "aten.msort";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return detail::sort_along(c, c.tensor(call, "self"), 0, false).values;
  }
};

/// The first `k` of the elements in order; eager leaves the order of equal ones open.
struct LowerTopk {
  static constexpr std::string_view op = "aten.topk";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t dim = c.dim(call, "dim", b.rank(x));
    const auto sorted = detail::sort_along(c, x, dim, c.boolean(call, "largest"));
    if (!sorted.values.valid() || b.rank(x) == 0) return c.members(call, {sorted.values, sorted.places});
    const std::int64_t k = c.integer(call, "k");
    const auto first = [&](hlo::Value v) { return b.slice_in_dim(v, static_cast<std::int64_t>(dim), 0, k); };
    return c.members(call, {first(sorted.values), first(sorted.places)});
  }
};

/// The k-th smallest element along a dimension and its place; the median is the lower one of the two in the
/// middle.
template <TextConstant Name>
struct LowerKthValue {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return {};
    const bool is_median = !call.schema().find("k");
    const bool is_whole = !call.schema().find("dim");
    const hlo::Value line = is_whole ? b.reshape(x, {b.shape(x).element_count()}) : x;
    const std::size_t dim = is_whole ? 0 : c.dim(call, "dim", b.rank(x));
    const auto sorted = detail::sort_along(c, line, dim, false);
    if (b.rank(line) == 0) return c.members(call, {sorted.values, sorted.places});
    const std::int64_t size = b.dims(line)[dim];
    const std::int64_t at = is_median ? (size - 1) / 2 : c.integer(call, "k") - 1;
    if (at < 0 || at >= size) {
      c.fail(call, DiagnosticCode::eager_would_raise, "there is no such element");
      return {};
    }
    const auto pick = [&](hlo::Value v, std::int64_t place) {
      return b.slice_in_dim(v, static_cast<std::int64_t>(dim), place, place + 1);
    };
    hlo::Value value = pick(sorted.values, at), place = pick(sorted.places, at);
    if (is_median && is_floating(b.dtype(x))) {
      // The median of numbers among which one is NaN is NaN: it is the last of them, and eager gives the
      // first NaN's place.
      const hlo::Value last = pick(sorted.values, size - 1);
      const hlo::Value is_nan = b.compare(last, last, hlo::Direction::ne);
      const hlo::Value all_nan = b.compare(sorted.values, sorted.values, hlo::Direction::ne);
      const hlo::Value nan_places =
          b.select(all_nan, sorted.places, b.broadcast(b.highest(DType::i64), b.dims(line)));
      const hlo::Value first_nan =
          detail::reduce_keeping(c, nan_places, {static_cast<std::int64_t>(dim)}, hlo::Opcode::minimum);
      value = b.select(is_nan, last, value);
      place = b.select(is_nan, first_nan, place);
    }
    return c.members(call, {value, place});
  }
};

/// The lowerings of this file.
using SortingLowerings = lowerings<LowerSort, LowerArgsort, LowerMsort, LowerTopk,
                                   LowerKthValue<"aten.kthvalue">, LowerKthValue<"aten.median">>;

}  // namespace fxpass

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

namespace detail {
/// The element of each line that stands at `place`, a number for each line with the dimension kept.
constexpr auto pick_along(auto& c, hlo::Value x, std::size_t dim, hlo::Value place) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Dims dims{static_cast<std::int64_t>(dim)};
  const hlo::Value numbers = b.iota({DType::i64, b.dims(x)}, dims[0]);
  const hlo::Value is_there = b.compare(numbers, spread_over(c, place, x, dims), hlo::Direction::eq);
  return reduce_keeping(c, b.select(is_there, x, c.full_like(x, 0)), dims, hlo::Opcode::add);
}
}  // namespace detail

/// The median of what is not NaN; NaN where there is nothing else.
struct LowerNanMedian {
  static constexpr std::string_view op = "aten.nanmedian";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return {};
    const bool is_whole = !call.schema().find("dim");
    const hlo::Dims all{b.shape(x).element_count()};
    const hlo::Value line = is_whole || b.rank(x) == 0 ? b.reshape(x, all) : x;
    const std::size_t dim = is_whole ? 0 : c.dim(call, "dim", b.rank(x));
    const hlo::Dims dims{static_cast<std::int64_t>(dim)};
    const auto sorted = detail::sort_along(c, line, dim, false);
    const hlo::Value is_number = b.convert(b.compare(line, line, hlo::Direction::eq), DType::i64);
    const hlo::Value count = detail::reduce_keeping(c, is_number, dims, hlo::Opcode::add);
    // The lower one of two in the middle, and the first of all where there are NaN alone.
    const hlo::Value one = c.full_like(count, 1);
    const hlo::Value place = b.divide(b.maximum(b.subtract(count, one), c.full_like(count, 0)), c.full_like(count, 2));
    return c.members(call, {detail::pick_along(c, sorted.values, dim, place),
                            detail::pick_along(c, sorted.places, dim, place)});
  }
};

/// The most frequent value of each line, the smallest of several, and the last place that has it.
struct LowerMode {
  static constexpr std::string_view op = "aten.mode";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return {};
    if (b.rank(x) == 0) return c.members(call, {x, b.constant(DType::i64, 0)});
    const std::size_t dim = c.dim(call, "dim", b.rank(x));
    const auto along = static_cast<std::int64_t>(dim);
    const auto sorted = detail::sort_along(c, x, dim, false);
    const std::int64_t size = b.dims(x)[dim];
    // How many equal elements there are up to each: its place less that of the first of them.
    const hlo::Value place = b.iota({DType::i64, b.dims(x)}, along);
    hlo::Value begins = place;
    if (size > 1) {
      const hlo::Value before = b.slice_in_dim(sorted.values, along, 0, size - 1);
      const hlo::Value differs = b.compare(b.slice_in_dim(sorted.values, along, 1, size), before, hlo::Direction::ne);
      hlo::Dims low(b.rank(x), 0);
      low[dim] = 1;
      const hlo::Value is_first =
          b.pad(differs, b.constant(DType::boolean, true), low, hlo::Dims(b.rank(x), 0), hlo::Dims(b.rank(x), 0));
      begins = detail::accumulate(c, b.select(is_first, place, c.full_like(place, 0)), dim, c.scalar(DType::i64, 0),
                                  [&](auto a, auto d) { return b.maximum(a, d); });
    }
    const auto most = detail::extreme_along(c, b.subtract(place, begins), dim, hlo::Opcode::maximum);
    return c.members(call, {detail::pick_along(c, sorted.values, dim, most.place),
                            detail::pick_along(c, sorted.places, dim, most.place)});
  }
};

/// The element at a part of the way from the smallest to the largest, or between the two that are nearest.
template <TextConstant Name, bool IgnoresNan>
struct LowerQuantile {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self");
    const Operand q = c.operand(call, "q");
    if (!x.valid()) return x;
    const hlo::Dims all{b.shape(x).element_count()};
    if (!call.has("dim") || b.rank(x) == 0) x = b.reshape(x, all);
    const std::size_t dim = call.has("dim") ? c.dim(call, "dim", b.rank(x)) : 0;
    const hlo::Dims dims{static_cast<std::int64_t>(dim)};
    const DType type = b.dtype(x);
    const hlo::Value sorted = detail::sort_along(c, x, dim, false).values;
    const hlo::Value is_number = b.convert(b.compare(x, x, hlo::Direction::eq), DType::i64);
    const hlo::Value count = detail::reduce_keeping(c, is_number, dims, hlo::Opcode::add);
    const hlo::Value last = c.full_like(count, b.dims(x)[dim] - 1);
    const hlo::Value zero = c.full_like(count, 0);
    const hlo::Value highest = IgnoresNan ? b.maximum(b.subtract(count, c.full_like(count, 1)), zero) : last;
    const hlo::Value has_nan = b.compare(count, c.full_like(count, b.dims(x)[dim]), hlo::Direction::lt);

    const hlo::Value line = q.is_number() ? hlo::Value{} : b.convert(q.value, type);
    const std::int64_t quantiles = q.is_number() || b.rank(q.value) == 0 ? 1 : b.dims(q.value)[0];
    Pool<hlo::Value> results;
    for (std::int64_t i = 0; i < quantiles; ++i) {
      const hlo::Value at = q.is_number()        ? c.scalar(type, q.number->real)
                            : b.rank(line) == 0 ? line
                                                : b.reshape(b.slice_in_dim(line, 0, i, i + 1), {});
      hlo::Value rank = b.multiply(b.broadcast(at, b.dims(highest)), b.convert(highest, type));
      // One NaN makes all of it NaN: the last in order is one.
      if (!IgnoresNan) rank = b.select(has_nan, b.convert(last, type), rank);
      const hlo::Value one = b.reshape(interpolated(c, call, sorted, dim, rank), dropped(b.dims(rank), dim));
      hlo::Dims stacked = b.dims(one);
      stacked.insert(0, 1);
      results.push_back(b.reshape(one, stacked));
    }
    if (results.empty()) return c.full(c.result_shape(call), 0);
    return b.reshape(b.concatenate(results.view(), 0), c.result_shape(call).dims);
  }

 private:
  static constexpr auto dropped(hlo::Dims dims, std::size_t dim) -> hlo::Dims {
    dims.erase(dim);
    return dims;
  }
  static constexpr auto interpolated(auto& c, const Call& call, hlo::Value sorted, std::size_t dim, hlo::Value rank)
      -> hlo::Value {
    auto& b = c.builder();
    const std::string_view how = call.string("interpolation").value_or("linear");
    const auto pick = [&](hlo::Value place) { return detail::pick_along(c, sorted, dim, b.convert(place, DType::i64)); };
    if (how == "lower") return pick(b.floor(rank));
    if (how == "higher") return pick(b.ceil(rank));
    if (how == "nearest") return pick(b.round_nearest_even(rank));
    if (how != "linear" && how != "midpoint") return c.unsupported(call, text_of("interpolation '", how, "'"));
    const hlo::Value below = pick(b.floor(rank)), above = pick(b.ceil(rank));
    const hlo::Value weight = how == "linear" ? b.subtract(rank, b.floor(rank)) : c.full_like(rank, 0.5);
    // From the nearer end, as `lerp`.
    const hlo::Value difference = b.subtract(above, below);
    const hlo::Value from_end = b.subtract(above, b.multiply(difference, b.subtract(c.full_like(weight, 1), weight)));
    const hlo::Value is_near = b.compare(weight, c.full_like(weight, 0.5), hlo::Direction::lt);
    return b.select(is_near, b.add(below, b.multiply(weight, difference)), from_end);
  }
};

/// The lowerings of this file.
using SortingLowerings = lowerings<LowerSort, LowerArgsort, LowerMsort, LowerTopk,
                                   LowerKthValue<"aten.kthvalue">, LowerKthValue<"aten.median">, LowerNanMedian, LowerMode,
                                   LowerQuantile<"aten.quantile", false>, LowerQuantile<"aten.nanquantile", true>>;

}  // namespace fxpass

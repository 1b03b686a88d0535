// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>

#include <array>
#include <cstdint>
#include <string_view>

/// @file
/// Operators that reduce or accumulate along dimensions. Halves are summed in float32, as in eager.

namespace fxpass {

namespace detail {

/// Reduces `dims` with a binary operation; they go away.
constexpr auto reduce(auto& c, hlo::Value x, const hlo::Dims& dims, hlo::Opcode code) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid() || dims.empty()) return x;
  const DType type = b.dtype(x);
  const auto neutral = [&] {
    switch (code) {
      case hlo::Opcode::add:
      case hlo::Opcode::or_: return c.scalar(type, 0);
      case hlo::Opcode::multiply:
      case hlo::Opcode::and_: return c.scalar(type, 1);
      case hlo::Opcode::maximum: return b.lowest(type);
      default: return b.highest(type);
    }
  };
  return b.reduce(x, neutral(), dims, b.scalar_computation(code, type));
}

/// The same, the dimensions kept with size 1.
constexpr auto reduce_keeping(auto& c, hlo::Value x, const hlo::Dims& dims, hlo::Opcode code) -> hlo::Value {
  hlo::Dims kept = c.builder().dims(x);
  for (const std::int64_t d : dims) kept[static_cast<std::size_t>(d)] = 1;
  return c.builder().reshape(reduce(c, x, dims, code), kept);
}

/// `kept`, whose `dims` have size 1, in the shape of `like`, which it was reduced from.
constexpr auto spread_over(auto& c, hlo::Value kept, hlo::Value like, const hlo::Dims& dims) -> hlo::Value {
  auto& b = c.builder();
  hlo::Dims others, sizes;
  for (std::size_t d = 0; d < b.rank(like); ++d) {
    if (dims.contains(static_cast<std::int64_t>(d))) continue;
    others.push_back(static_cast<std::int64_t>(d));
    sizes.push_back(b.dims(like)[d]);
  }
  return b.broadcast_in_dim(b.reshape(kept, sizes), b.dims(like), others);
}

/// Number of elements of `dims` together.
constexpr auto count_along(auto& c, hlo::Value x, const hlo::Dims& dims) -> std::int64_t {
  std::int64_t count = 1;
  for (const std::int64_t d : dims) count *= c.builder().dims(x)[static_cast<std::size_t>(d)];
  return count;
}

/// The mean along `dims`, which are kept with size 1. Needs a floating value.
constexpr auto mean_keeping(auto& c, hlo::Value x, const hlo::Dims& dims) -> hlo::Value {
  const hlo::Value sum = reduce_keeping(c, x, dims, hlo::Opcode::add);
  return c.builder().divide(sum, c.full_like(sum, count_along(c, x, dims)));
}

/// The parameter that names the dimensions, which overloads spell differently, as dimensions of `x`; all if none.
constexpr auto reduced_dims(auto& c, const Call& call, hlo::Value x) -> hlo::Dims {
  return c.dims(call, "dim", c.builder().rank(x));
}

}  // namespace detail

struct LowerSum {
  static constexpr std::string_view op = "aten.sum";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Shape result = c.result_shape(call);
    const hlo::Value x = c.builder().convert(c.tensor(call, "self"), ops::accumulate_type(result.dtype));
    const hlo::Value sum = detail::reduce(c, x, detail::reduced_dims(c, call, x), hlo::Opcode::add);
    return c.builder().reshape(c.builder().convert(sum, result.dtype), result.dims);
  }
};

struct LowerMean {
  static constexpr std::string_view op = "aten.mean";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Shape result = c.result_shape(call);
    const hlo::Value x = c.builder().convert(c.tensor(call, "self"), ops::accumulate_type(result.dtype));
    const hlo::Value mean = detail::mean_keeping(c, x, detail::reduced_dims(c, call, x));
    return c.builder().reshape(c.builder().convert(mean, result.dtype), result.dims);
  }
};

struct LowerProd {
  static constexpr std::string_view op = "aten.prod";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Shape result = c.result_shape(call);
    const hlo::Value x = c.builder().convert(c.tensor(call, "self"), ops::accumulate_type(result.dtype));
    const hlo::Value product = detail::reduce(c, x, detail::reduced_dims(c, call, x), hlo::Opcode::multiply);
    return c.builder().reshape(c.builder().convert(product, result.dtype), result.dims);
  }
};

template <TextConstant Name, hlo::Opcode Code>
struct LowerExtremes {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return c.builder().reshape(detail::reduce(c, x, detail::reduced_dims(c, call, x), Code),
                               c.result_shape(call).dims);
  }
};

template <TextConstant Name, hlo::Opcode Code>
struct LowerAnyAll {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.truth(c.tensor(call, "self"));
    const hlo::Value found = detail::reduce(c, x, detail::reduced_dims(c, call, x), Code);
    return c.to_result(call, c.builder().reshape(found, c.result_shape(call).dims));
  }
};

namespace detail {

/// The first place along `dim` of the extreme that `reduce` finds, as s64, the dimension kept. NaN counts as extreme.
constexpr auto place_of_extreme(auto& c, hlo::Value x, std::size_t dim, hlo::Value extreme) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Dims dims{static_cast<std::int64_t>(dim)};
  const hlo::Value spread = spread_over(c, extreme, x, dims);
  hlo::Value is_extreme = b.compare(x, spread, hlo::Direction::eq);
  if (is_floating(b.dtype(x))) is_extreme = b.or_(is_extreme, b.compare(x, x, hlo::Direction::ne));
  const hlo::Shape places{DType::i64, b.dims(x)};
  const hlo::Value place = b.select(is_extreme, b.iota(places, static_cast<std::int64_t>(dim)),
                                    b.broadcast(b.highest(DType::i64), places.dims));
  return reduce_keeping(c, place, dims, hlo::Opcode::minimum);
}

/// Extreme and its place along `dim`, both with that dimension kept.
struct ExtremeAndPlace {
  hlo::Value extreme;
  hlo::Value place;
};
constexpr auto extreme_along(auto& c, hlo::Value x, std::size_t dim, hlo::Opcode code) -> ExtremeAndPlace {
  auto& b = c.builder();
  // A tensor without dimensions is a list of one.
  if (b.rank(x) == 0) return {x, b.constant(DType::i64, 0)};
  const hlo::Value extreme = reduce_keeping(c, x, {static_cast<std::int64_t>(dim)}, code);
  return {extreme, place_of_extreme(c, x, dim, extreme)};
}

}  // namespace detail

/// max and min of the whole tensor, or values and places along a dimension.
template <TextConstant Name, hlo::Opcode Code>
struct LowerMaxMin {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!call.schema().find("dim")) return c.members(call, {detail::reduce(c, x, hlo::iota_dims(b.rank(x)), Code)});
    const auto found = detail::extreme_along(c, x, c.dim(call, "dim", b.rank(x)), Code);
    return c.members(call, {found.extreme, found.place});
  }
};

template <TextConstant Name, hlo::Opcode Code>
struct LowerArgMaxMin {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self");
    if (!call.has("dim")) x = b.reshape(x, {b.shape(x).element_count()});
    const std::size_t dim = call.has("dim") ? c.dim(call, "dim", b.rank(x)) : 0;
    return b.reshape(detail::extreme_along(c, x, dim, Code).place, c.result_shape(call).dims);
  }
};

/// Running sums by doubling: after step k each element holds the sum of the 2^k before it.
struct LowerCumsum {
  static constexpr std::string_view op = "aten.cumsum";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const DType type = ops::accumulate_type(c.result_shape(call).dtype);
    hlo::Value sum = b.convert(c.tensor(call, "self"), type);
    const std::size_t rank = b.rank(sum);
    if (rank == 0) return c.to_result(call, sum);
    const std::size_t dim = c.dim(call, "dim", rank);
    for (std::int64_t shift = 1; shift < b.dims(sum)[dim]; shift *= 2) {
      hlo::Dims low(rank, 0), high(rank, 0);
      low[dim] = shift;
      high[dim] = -shift;
      sum = b.add(sum, b.pad(sum, c.scalar(type, 0), low, high, hlo::Dims(rank, 0)));
    }
    return c.to_result(call, sum);
  }
};

namespace detail {

/// Sum of squared differences from the mean over count - correction, along `dims`, which are kept.
constexpr auto variance_keeping(auto& c, hlo::Value x, const hlo::Dims& dims, double correction) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  const hlo::Value difference = b.subtract(x, spread_over(c, mean_keeping(c, x, dims), x, dims));
  const hlo::Value sum = reduce_keeping(c, b.multiply(difference, difference), dims, hlo::Opcode::add);
  const double freedom = static_cast<double>(count_along(c, x, dims)) - correction;
  return b.divide(sum, c.full_like(sum, freedom > 0 ? freedom : 0.0));
}

/// The correction of `var` and `std`, which their overloads spell as a number or as `unbiased`.
constexpr auto correction_of(auto& c, const Call& call) -> double {
  if (call.schema().find("correction")) return call.has("correction") ? c.real(call, "correction") : 1.0;
  return c.boolean(call, "unbiased") ? 1.0 : 0.0;
}

}  // namespace detail

template <TextConstant Name, bool IsRoot>
struct LowerVariance {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const hlo::Value variance =
        detail::variance_keeping(c, x, detail::reduced_dims(c, call, x), detail::correction_of(c, call));
    const hlo::Value result = IsRoot ? c.builder().sqrt(variance) : variance;
    return c.to_result(call, c.builder().reshape(result, c.result_shape(call).dims));
  }
};

struct LowerVarMean {
  static constexpr std::string_view op = "aten.var_mean";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const hlo::Dims dims = detail::reduced_dims(c, call, x);
    return c.members(call, {detail::variance_keeping(c, x, dims, detail::correction_of(c, call)),
                            detail::mean_keeping(c, x, dims)});
  }
};

/// The lowerings of this file.
using ReductionLowerings =
    lowerings<LowerSum, LowerMean, LowerProd, LowerExtremes<"aten.amax", hlo::Opcode::maximum>,
              LowerExtremes<"aten.amin", hlo::Opcode::minimum>, LowerAnyAll<"aten.any", hlo::Opcode::or_>,
              LowerAnyAll<"aten.all", hlo::Opcode::and_>, LowerMaxMin<"aten.max", hlo::Opcode::maximum>,
              LowerMaxMin<"aten.min", hlo::Opcode::minimum>, LowerArgMaxMin<"aten.argmax", hlo::Opcode::maximum>,
              LowerArgMaxMin<"aten.argmin", hlo::Opcode::minimum>, LowerCumsum, LowerVariance<"aten.var", false>,
              LowerVariance<"aten.std", true>, LowerVarMean>;

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
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

/// The parameter that names the dimensions, which overloads spell differently, as dimensions of `x`; all if
/// none.
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

/// The first place along `dim` of the extreme that `reduce` finds, as s64, the dimension kept. NaN counts as
/// extreme.
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
    if (!call.schema().find("dim"))
      return c.members(call, {detail::reduce(c, x, hlo::iota_dims(b.rank(x)), Code)});
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

namespace detail {
/// `x` accumulated along `dim` by doubling: after step k each element holds what it and the 2^k - 1 before it
/// make.
template <class Combine>
constexpr auto accumulate(auto& c, hlo::Value x, std::size_t dim, hlo::Value neutral, Combine combine)
    -> hlo::Value {
  auto& b = c.builder();
  const std::size_t rank = b.rank(x);
  for (std::int64_t shift = 1; x.valid() && shift < b.dims(x)[dim]; shift *= 2) {
    hlo::Dims low(rank, 0), high(rank, 0);
    low[dim] = shift;
    high[dim] = -shift;
    x = combine(x, b.pad(x, neutral, low, high, hlo::Dims(rank, 0)));
  }
  return x;
}
}  // namespace detail

/// Running sums.
struct LowerCumsum {
  static constexpr std::string_view op = "aten.cumsum";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const DType type = ops::accumulate_type(c.result_shape(call).dtype);
    const hlo::Value x = b.convert(c.tensor(call, "self"), type);
    const std::size_t rank = b.rank(x);
    if (rank == 0) return c.to_result(call, x);
    return c.to_result(call, detail::accumulate(c, x, c.dim(call, "dim", rank), c.scalar(type, 0),
                                                [&](auto a, auto d) { return b.add(a, d); }));
  }
};

namespace detail {

/// Sum of squared differences from the mean over count - correction, along `dims`, which are kept.
constexpr auto variance_keeping(auto& c, hlo::Value x, const hlo::Dims& dims, double correction)
    -> hlo::Value {
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

struct LowerStdMean {
  static constexpr std::string_view op = "aten.std_mean";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const hlo::Dims dims = detail::reduced_dims(c, call, x);
    const hlo::Value variance = detail::variance_keeping(c, x, dims, detail::correction_of(c, call));
    return c.members(call, {c.builder().sqrt(variance), detail::mean_keeping(c, x, dims)});
  }
};

struct LowerMinAndMax {
  static constexpr std::string_view op = "aten.aminmax";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t rank = c.builder().rank(x);
    hlo::Dims dims = hlo::iota_dims(rank);
    if (call.has("dim") && rank != 0) dims = {static_cast<std::int64_t>(c.dim(call, "dim", rank))};
    return c.members(call, {detail::reduce(c, x, dims, hlo::Opcode::minimum),
                            detail::reduce(c, x, dims, hlo::Opcode::maximum)});
  }
};

struct LowerCountNonzero {
  static constexpr std::string_view op = "aten.count_nonzero";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = b.convert(c.truth(c.tensor(call, "self")), DType::i64);
    hlo::Dims dims = hlo::iota_dims(b.rank(x));
    if (call.has("dim")) {
      dims = call.integer("dim") && b.rank(x) != 0
                 ? hlo::Dims{static_cast<std::int64_t>(c.dim(call, "dim", b.rank(x)))}
                 : detail::reduced_dims(c, call, x);
    }
    return b.reshape(detail::reduce(c, x, dims, hlo::Opcode::add), c.result_shape(call).dims);
  }
};

/// The sum of what is not NaN.
struct LowerNanSum {
  static constexpr std::string_view op = "aten.nansum";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    hlo::Value x = b.convert(c.tensor(call, "self"), ops::accumulate_type(result.dtype));
    if (!x.valid()) return x;
    if (is_floating(b.dtype(x))) x = b.select(b.compare(x, x, hlo::Direction::ne), c.full_like(x, 0.0), x);
    const hlo::Value sum = detail::reduce(c, x, detail::reduced_dims(c, call, x), hlo::Opcode::add);
    return b.reshape(b.convert(sum, result.dtype), result.dims);
  }
};

/// log(sum(e^x)), with the largest element taken out before. An infinite largest one is the answer.
struct LowerLogSumExp {
  static constexpr std::array<std::string_view, 2> op{"aten.logsumexp", "aten.special_logsumexp"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const hlo::Dims dims = detail::reduced_dims(c, call, x);
    const hlo::Value largest = detail::reduce_keeping(c, x, dims, hlo::Opcode::maximum);
    if (!largest.valid()) return {};
    const hlo::Value shift = b.select(b.is_finite(largest), largest, c.full_like(largest, 0.0));
    const hlo::Value exponentials = b.exponential(b.subtract(x, detail::spread_over(c, shift, x, dims)));
    const hlo::Value result =
        b.add(b.log(detail::reduce_keeping(c, exponentials, dims, hlo::Opcode::add)), shift);
    return c.to_result(call, b.reshape(result, c.result_shape(call).dims));
  }
};

namespace detail {
/// The p-norm along `dims`, which are kept: the number of elements that are not 0 for p = 0, the largest one
/// for infinity. Needs absolute values.
constexpr auto norm_keeping(auto& c, hlo::Value x, const hlo::Dims& dims, double p) -> hlo::Value {
  auto& b = c.builder();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto sum = [&](hlo::Value v) { return reduce_keeping(c, v, dims, hlo::Opcode::add); };
  if (p == infinity || p == -infinity)
    return reduce_keeping(c, x, dims, p > 0 ? hlo::Opcode::maximum : hlo::Opcode::minimum);
  if (p == 0) return sum(b.convert(b.compare(x, c.full_like(x, 0.0), hlo::Direction::ne), b.dtype(x)));
  if (p == 1) return sum(x);
  if (p == 2) return b.sqrt(sum(b.multiply(x, x)));
  const hlo::Value total = sum(b.power(x, c.full_like(x, p)));
  return b.power(total, c.full_like(total, 1.0 / p));
}

/// What Python's functions of norms are told, which have no schema.
struct PythonNorm {
  hlo::Value x;
  hlo::Dims dims;
  double p = 2;
};
constexpr auto python_norm(auto& c, const Call& call, std::size_t p_at, std::size_t dim_at) -> PythonNorm {
  auto& b = c.builder();
  PythonNorm norm;
  const auto input = c.python_argument(call, 0, "input");
  if (input) norm.x = c.accurate(c.tensor(call, *input, "input"));
  if (!norm.x.valid()) return norm;
  norm.dims = hlo::iota_dims(b.rank(norm.x));
  if (const auto p = c.python_argument(call, p_at, "p")) {
    const auto number = c.number_of(*p);
    const bool is_frobenius = p->is(ArgumentKind::string) && c.graph().text(p->text()) == "fro";
    if (number) norm.p = number->real;
    if (!number && !is_frobenius) norm.x = c.unsupported(call, "of this order");
  }
  if (const auto dim = c.python_argument(call, dim_at, "dim")) {
    norm.dims = {};
    const Argument* const one = &*dim;
    for (const Argument& d : dim->is_sequence() ? c.graph().children(*dim) : Span<const Argument>(one, 1)) {
      if (!d.is(ArgumentKind::integer)) norm.x = c.unsupported(call, "along dimensions that are not known");
      if (norm.x.valid())
        norm.dims.push_back(static_cast<std::int64_t>(c.wrapped_dim(call, d.integer(), b.rank(norm.x))));
    }
  }
  return norm;
}
}  // namespace detail

template <TextConstant Name, TextConstant Order>
struct LowerNorm {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const double p = call.has(Order.view()) ? c.number(call, Order.view()).real : 2.0;
    const hlo::Value given = c.tensor(call, "self");
    if (!given.valid()) return given;
    if (is_complex(b.dtype(given))) return c.unsupported(call, "of complex numbers");
    const hlo::Value x = b.abs(c.accurate(given));
    const hlo::Dims dims =
        call.schema().find("dim") ? detail::reduced_dims(c, call, x) : hlo::iota_dims(b.rank(x));
    return c.to_result(call, b.reshape(detail::norm_keeping(c, x, dims, p), c.result_shape(call).dims));
  }
};

/// `torch.norm(x, p, dim)`
struct LowerPythonNorm {
  static constexpr std::string_view op = "torch.functional.norm";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto norm = detail::python_norm(c, call, 1, 2);
    if (!norm.x.valid()) return {};
    const hlo::Value result = detail::norm_keeping(c, b.abs(norm.x), norm.dims, norm.p);
    return c.to_result(call, b.reshape(result, c.result_shape(call).dims));
  }
};

/// `torch.nn.functional.normalize(x, p, dim, eps)`: divided by the norm, or by `eps` where that is larger.
struct LowerNormalize {
  static constexpr std::string_view op = "torch.nn.functional.normalize";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    auto norm = detail::python_norm(c, call, 1, 2);
    if (!norm.x.valid()) return {};
    if (!c.python_argument(call, 2, "dim"))
      norm.dims = {static_cast<std::int64_t>(c.wrapped_dim(call, 1, b.rank(norm.x)))};
    double eps = 1e-12;
    if (const auto given = c.python_argument(call, 3, "eps"))
      if (const auto number = c.number_of(*given)) eps = number->real;
    const hlo::Value size = detail::norm_keeping(c, b.abs(norm.x), norm.dims, norm.p);
    const hlo::Value divisor = b.maximum(size, c.full_like(size, eps));
    return c.to_result(call, b.divide(norm.x, detail::spread_over(c, divisor, norm.x, norm.dims)));
  }
};

/// Running products.
struct LowerCumprod {
  static constexpr std::string_view op = "aten.cumprod";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const DType type = ops::accumulate_type(c.result_shape(call).dtype);
    const hlo::Value x = b.convert(c.tensor(call, "self"), type);
    const std::size_t rank = b.rank(x);
    if (rank == 0) return c.to_result(call, x);
    return c.to_result(call, detail::accumulate(c, x, c.dim(call, "dim", rank), c.scalar(type, 1),
                                                [&](auto a, auto d) { return b.multiply(a, d); }));
  }
};

/// Running logarithms of sums of exponentials.
struct LowerLogCumSumExp {
  static constexpr std::array<std::string_view, 2> op{"aten.logcumsumexp", "aten._logcumsumexp"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const std::size_t rank = b.rank(x);
    if (!x.valid() || rank == 0) return c.to_result(call, x);
    if (is_complex(b.dtype(x))) return c.unsupported(call, "of complex numbers");
    const auto combine = [&](hlo::Value a, hlo::Value d) {
      const hlo::Value large = b.maximum(a, d);
      const hlo::Value rest = b.log_plus_one(b.exponential(b.negate(b.abs(b.subtract(a, d)))));
      // Equal infinities have no difference.
      const hlo::Value is_end = b.and_(b.compare(a, d, hlo::Direction::eq), b.not_(b.is_finite(a)));
      return b.select(is_end, a, b.add(large, rest));
    };
    return c.to_result(call, detail::accumulate(c, x, c.dim(call, "dim", rank), b.lowest(b.dtype(x)), combine));
  }
};

/// The mean of what is not NaN.
struct LowerNanMean {
  static constexpr std::string_view op = "aten.nanmean";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    const hlo::Value x = b.convert(c.tensor(call, "self"), ops::accumulate_type(result.dtype));
    if (!x.valid()) return x;
    const hlo::Dims dims = detail::reduced_dims(c, call, x);
    const hlo::Value is_number = b.compare(x, x, hlo::Direction::eq);
    const hlo::Value sum = detail::reduce(c, b.select(is_number, x, c.full_like(x, 0.0)), dims, hlo::Opcode::add);
    const hlo::Value count = detail::reduce(c, b.convert(is_number, b.dtype(x)), dims, hlo::Opcode::add);
    return b.reshape(b.convert(b.divide(sum, count), result.dtype), result.dims);
  }
};

/// How many elements fall into each of so many equal parts between two numbers, the last part with its end.
struct LowerHistogram {
  static constexpr std::string_view op = "aten.histc";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    const hlo::Value given = c.tensor(call, "self");
    if (!given.valid()) return given;
    const DType type = ops::accumulate_type(b.dtype(given));
    const std::int64_t count = b.shape(given).element_count(), bins = c.integer(call, "bins");
    if (!is_floating(type)) return c.unsupported(call, "of integers");
    const hlo::Value x = b.reshape(b.convert(given, type), {count});
    const Number low = c.number(call, "min"), high = c.number(call, "max");
    hlo::Value from = c.scalar(type, low.real), to = c.scalar(type, high.real);
    if (low.real == high.real && count != 0) {
      // The numbers of the tensor themselves are the ends; equal ones are moved apart by 1.
      from = detail::reduce(c, x, {0}, hlo::Opcode::minimum);
      to = detail::reduce(c, x, {0}, hlo::Opcode::maximum);
    }
    const hlo::Value is_point = b.compare(from, to, hlo::Direction::eq), one = c.scalar(type, 1.0);
    const hlo::Value first = b.select(is_point, b.subtract(from, one), from), last = b.select(is_point, b.add(to, one), to);
    const hlo::Dims line{count};
    const hlo::Value start = b.broadcast(first, line), end = b.broadcast(last, line);
    const hlo::Value part = b.divide(b.multiply(b.subtract(x, start), c.full_like(x, static_cast<double>(bins))), b.subtract(end, start));
    const hlo::Value number = b.minimum(b.floor(part), c.full_like(part, static_cast<double>(bins - 1)));
    const hlo::Value is_inside = b.and_(b.compare(x, start, hlo::Direction::ge), b.compare(x, end, hlo::Direction::le));
    const hlo::Dims pairs{count, bins};
    const hlo::Value is_in = b.compare(b.broadcast_in_dim(number, pairs, {0}), b.iota({type, pairs}, 1), hlo::Direction::eq);
    const hlo::Value counted = b.and_(is_in, b.broadcast_in_dim(is_inside, pairs, {0}));
    return b.convert(detail::reduce(c, b.convert(counted, type), {0}, hlo::Opcode::add), result.dtype);
  }
};

/// Differences of neighbours divided by their distance: of the element after and the one before, at the ends of one side.
struct LowerNumericalGradient {
  static constexpr std::string_view op = "aten.gradient";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value given = c.tensor(call, "self");
    if (!given.valid()) return {};
    const hlo::Value x = is_floating(b.dtype(given)) ? given : c.accurate(given);
    const std::size_t rank = b.rank(x);
    hlo::Dims dims = hlo::iota_dims(rank);
    if (call.has("dim")) {
      dims = c.integers(call, "dim");
      for (std::int64_t& d : dims) d = static_cast<std::int64_t>(c.wrapped_dim(call, d, rank));
    }
    const std::int64_t order = c.integer(call, "edge_order");
    if (order != 1 && order != 2) return refuse(c, call, "with edges of this order");
    Pool<hlo::Value> results;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::int64_t d = dims[i], size = b.dims(x)[static_cast<std::size_t>(d)];
      const hlo::Value places = coordinates(c, call, i, dims.size(), size, b.dtype(x));
      if (!places.valid() || size < 2) return refuse(c, call, "with this spacing");
      const auto cut = [&](hlo::Value v, std::int64_t dim, std::int64_t from, std::int64_t to) {
        return b.slice_in_dim(v, dim, from, to);
      };
      const auto slope = [&](std::int64_t from, std::int64_t to, std::int64_t by) {
        const hlo::Value rise = b.subtract(cut(x, d, from + by, to + by), cut(x, d, from, to));
        const hlo::Value run = b.subtract(cut(places, 0, from + by, to + by), cut(places, 0, from, to));
        return b.divide(rise, b.broadcast_in_dim(run, b.dims(rise), {d}));
      };
      if (order == 2 && size < 3) return refuse(c, call, "with edges of second order and fewer than three elements");
      Pool<hlo::Value> parts;
      parts.push_back(order == 1 ? slope(0, 1, 1) : edge(c, x, places, d, 0, false));
      if (size > 2) parts.push_back(inner(c, x, places, d, size));
      parts.push_back(order == 1 ? slope(size - 2, size - 1, 1) : edge(c, x, places, d, size - 3, true));
      results.push_back(c.builder().convert(b.concatenate(parts.view(), d), b.dtype(x)));
    }
    return results;
  }

 private:
  static constexpr auto refuse(auto& c, const Call& call, std::string_view why) -> Pool<hlo::Value> {
    c.unsupported(call, why);
    return {};
  }
  /// Where the elements of the i-th dimension are, as a vector.
  static constexpr auto coordinates(auto& c, const Call& call, std::size_t i, std::size_t count, std::int64_t size, DType type)
      -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value numbers = b.convert(b.iota({DType::i64, {size}}, 0), type);
    if (!call.has("spacing")) return numbers;
    if (const auto list = call.list("spacing")) {
      if (list->size() != count) return {};
      const Argument& one = (*list)[i];
      if (one.is_node()) return b.convert(c.tensor(call, one, "spacing"), type);
      const auto number = c.number_of(one);
      return number ? b.multiply(numbers, c.full_like(numbers, number->real)) : hlo::Value{};
    }
    return b.multiply(numbers, c.full_like(numbers, c.number(call, "spacing").real));
  }
  /// The slope at an end of the parabola through three elements, the first of which is `from`.
  static constexpr auto edge(auto& c, hlo::Value x, hlo::Value places, std::int64_t d, std::int64_t from, bool is_end)
      -> hlo::Value {
    auto& b = c.builder();
    const auto place = [&](std::int64_t n) { return b.slice_in_dim(places, 0, from + n, from + n + 1); };
    const hlo::Value before = b.subtract(place(1), place(0)), after = b.subtract(place(2), place(1));
    const hlo::Value both = b.add(before, after);
    // At the end all is the other way round.
    const hlo::Value own = is_end ? after : before, other = is_end ? before : after;
    const hlo::Value near = b.divide(b.add(own, both), b.multiply(own, both));
    const hlo::Value middle = b.divide(both, b.multiply(own, other)), far = b.divide(own, b.multiply(other, both));
    const auto weigh = [&](hlo::Value weight, std::int64_t n) {
      const hlo::Value part = b.slice_in_dim(x, d, from + n, from + n + 1);
      return b.multiply(b.broadcast_in_dim(weight, b.dims(part), {d}), part);
    };
    const hlo::Value rise = b.subtract(b.subtract(weigh(middle, 1), weigh(near, is_end ? 2 : 0)), weigh(far, is_end ? 0 : 2));
    return is_end ? b.negate(rise) : rise;
  }
  /// Of unequal distances both slopes count, each by the other's distance.
  static constexpr auto inner(auto& c, hlo::Value x, hlo::Value places, std::int64_t d, std::int64_t size) -> hlo::Value {
    auto& b = c.builder();
    const auto at = [&](hlo::Value v, std::int64_t dim, std::int64_t offset) {
      return b.slice_in_dim(v, dim, offset, size - 2 + offset);
    };
    const hlo::Value before = b.subtract(at(places, 0, 1), at(places, 0, 0)), after = b.subtract(at(places, 0, 2), at(places, 0, 1));
    const hlo::Value both = b.add(before, after);
    const auto weigh = [&](hlo::Value weight, std::int64_t offset) {
      const hlo::Value part = at(x, d, offset);
      return b.multiply(b.broadcast_in_dim(weight, b.dims(part), {d}), part);
    };
    const hlo::Value first = b.negate(b.divide(after, b.multiply(before, both)));
    const hlo::Value middle = b.divide(b.subtract(after, before), b.multiply(before, after));
    const hlo::Value last = b.divide(before, b.multiply(after, both));
    return b.add(b.add(weigh(first, 0), weigh(middle, 1)), weigh(last, 2));
  }
};

namespace detail {
/// Sums along a dimension of the areas between neighbours: half the sum of both times their distance.
constexpr auto trapezoids(auto& c, const Call& call, hlo::Value y, std::size_t dim) -> hlo::Value {
  auto& b = c.builder();
  const auto along = static_cast<std::int64_t>(dim);
  const auto pairs = [&](hlo::Value v, std::int64_t at, bool add) {
    const std::int64_t length = b.dims(v)[static_cast<std::size_t>(at)];
    const hlo::Value after = b.slice_in_dim(v, at, 1, length), before = b.slice_in_dim(v, at, 0, length - 1);
    return add ? b.add(after, before) : b.subtract(after, before);
  };
  const hlo::Value sums = pairs(y, along, true);
  hlo::Value area = b.multiply(sums, c.full_like(sums, 0.5));
  if (!call.schema().find("x")) return b.multiply(area, c.full_like(area, c.number(call, "dx")));
  const hlo::Value x = b.convert(c.tensor(call, "x"), b.dtype(y));
  if (!x.valid()) return x;
  // One line of places for all, or one for each.
  if (b.rank(x) == 1)
    return b.multiply(area, b.broadcast_in_dim(pairs(x, 0, false), b.dims(area), {along}));
  hlo::Dims of_x = b.dims(x);
  while (of_x.size() < b.rank(y)) of_x.insert(0, 1);
  const hlo::Value width = pairs(b.reshape(x, of_x), along, false);
  const hlo::Dims common = c.common_dims(call, b.dims(width), b.dims(area));
  area = c.broadcast_to(call, area, common);
  return b.multiply(area, c.broadcast_to(call, width, common));
}
}  // namespace detail

/// The integral of a line through points, whole or up to each of them.
template <bool IsRunning, TextConstant... Names>
struct LowerTrapezoid {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    const hlo::Value y = b.convert(c.tensor(call, "y"), ops::accumulate_type(result.dtype));
    if (!y.valid() || b.rank(y) == 0) return c.full(result, 0);
    const std::size_t dim = c.dim(call, "dim", b.rank(y));
    if (b.dims(y)[dim] == 0) return c.full(result, 0);
    const hlo::Value areas = detail::trapezoids(c, call, y, dim);
    if (!areas.valid()) return areas;
    const hlo::Value sum =
        IsRunning ? detail::accumulate(c, areas, dim, c.scalar(b.dtype(areas), 0), [&](auto a, auto d) { return b.add(a, d); })
                  : detail::reduce(c, areas, {static_cast<std::int64_t>(dim)}, hlo::Opcode::add);
    return b.reshape(b.convert(sum, result.dtype), result.dims);
  }
};

/// Norms of a tensor, of vectors along a dimension, and of matrices in two: those that need no singular values.
struct LowerMatrixNorm {
  static constexpr std::array<std::string_view, 2> op{"aten.linalg_norm", "aten.linalg_matrix_norm"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return x;
    if (call.has("dtype")) x = b.convert(x, *call.dtype("dtype"));
    if (is_complex(b.dtype(x))) return c.unsupported(call, "of complex numbers");
    x = b.abs(c.accurate(x));
    hlo::Dims dims = hlo::iota_dims(b.rank(x));
    const bool has_dims = call.schema().base() == "aten.linalg_matrix_norm" || call.has("dim");
    hlo::Dims ordered = dims;
    if (has_dims) {
      ordered = c.integers(call, "dim");
      for (std::int64_t& d : ordered) d = static_cast<std::int64_t>(c.wrapped_dim(call, d, b.rank(x)));
      dims = c.dims(call, "dim", b.rank(x));
    }
    const auto word = call.string("ord");
    const bool has_order = call.has("ord") || word;
    hlo::Value norm;
    if (!has_order && !has_dims) {
      const hlo::Value line = b.reshape(x, {b.shape(x).element_count()});
      norm = detail::norm_keeping(c, line, {0}, 2);
    } else if (ordered.size() == 1 || (!has_order && ordered.size() != 2)) {
      norm = detail::norm_keeping(c, x, dims, has_order ? c.number(call, "ord").real : 2.0);
    } else if (!has_order || (word && *word == "fro")) {
      norm = detail::norm_keeping(c, x, dims, 2);
    } else {
      const double order = word ? 0.0 : c.number(call, "ord").real;
      constexpr double infinity = std::numeric_limits<double>::infinity();
      const bool of_columns = order == 1 || order == -1, of_rows = order == infinity || order == -infinity;
      if ((!of_columns && !of_rows) || ordered.size() != 2) return c.unsupported(call, "by singular values");
      const std::size_t summed = of_columns ? 0 : 1;
      const hlo::Value sums = detail::reduce_keeping(c, x, {ordered[summed]}, hlo::Opcode::add);
      norm = detail::reduce_keeping(c, sums, {ordered[1 - summed]},
                                    order > 0 ? hlo::Opcode::maximum : hlo::Opcode::minimum);
      // That of nothing is 0.
      if (order > 0 && b.shape(x).element_count() == 0) norm = c.full_like(norm, 0.0);
    }
    return b.reshape(b.convert(norm, result.dtype), result.dims);
  }
};

/// Running extremes and where each was last met; NaN stays once it came.
template <TextConstant Name, hlo::Direction Side>
struct LowerRunningExtreme {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self");
    const std::size_t rank = b.rank(x);
    if (!x.valid() || rank == 0) return c.members(call, {x, b.constant(DType::i64, 0)});
    const std::size_t dim = c.dim(call, "dim", rank);
    hlo::Value place = b.iota({DType::i64, b.dims(x)}, static_cast<std::int64_t>(dim));
    const hlo::Dims none(rank, 0);
    for (std::int64_t shift = 1; shift < b.dims(x)[dim]; shift *= 2) {
      hlo::Dims low = none, high = none;
      low[dim] = shift;
      high[dim] = -shift;
      const hlo::Value before = b.pad(x, c.scalar(b.dtype(x), 0), low, high, none);
      const hlo::Value place_before = b.pad(place, c.scalar(DType::i64, -1), low, high, none);
      hlo::Value stays = b.compare(x, before, Side);
      if (is_floating(b.dtype(x))) stays = b.or_(stays, b.compare(x, x, hlo::Direction::ne));
      stays = b.or_(stays, b.compare(place_before, c.full_like(place_before, 0), hlo::Direction::lt));
      x = b.select(stays, x, before);
      place = b.select(stays, place, place_before);
    }
    return c.members(call, {x, place});
  }
};

/// Each element less the one before, n times; of truth values, whether they differ.
struct LowerDiff {
  static constexpr std::string_view op = "aten.diff";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self");
    const std::size_t rank = b.rank(x);
    if (!x.valid() || rank == 0) return x;
    const std::size_t dim = c.dim(call, "dim", rank);
    const auto along = static_cast<std::int64_t>(dim);
    Pool<hlo::Value> parts;
    if (call.has("prepend")) parts.push_back(b.convert(c.tensor(call, "prepend"), b.dtype(x)));
    parts.push_back(x);
    if (call.has("append")) parts.push_back(b.convert(c.tensor(call, "append"), b.dtype(x)));
    if (parts.size() > 1) x = b.concatenate(parts.view(), along);
    for (std::int64_t n = c.integer(call, "n"); n > 0 && x.valid(); --n) {
      const std::int64_t size = b.dims(x)[dim];
      const std::int64_t left = size > 0 ? size - 1 : 0;
      const hlo::Value after = b.slice_in_dim(x, along, size - left, size);
      const hlo::Value before = b.slice_in_dim(x, along, 0, left);
      x = b.dtype(x) == DType::boolean ? b.compare(after, before, hlo::Direction::ne) : b.subtract(after, before);
    }
    return x;
  }
};

/// The lowerings of this file.
using ReductionLowerings =
    lowerings<LowerSum, LowerMean, LowerProd, LowerExtremes<"aten.amax", hlo::Opcode::maximum>,
              LowerExtremes<"aten.amin", hlo::Opcode::minimum>, LowerAnyAll<"aten.any", hlo::Opcode::or_>,
              LowerAnyAll<"aten.all", hlo::Opcode::and_>, LowerMaxMin<"aten.max", hlo::Opcode::maximum>,
              LowerMaxMin<"aten.min", hlo::Opcode::minimum>,
              LowerArgMaxMin<"aten.argmax", hlo::Opcode::maximum>,
              LowerArgMaxMin<"aten.argmin", hlo::Opcode::minimum>, LowerCumsum, LowerCumprod,
              LowerRunningExtreme<"aten.cummax", hlo::Direction::ge>,
              LowerRunningExtreme<"aten.cummin", hlo::Direction::le>, LowerVariance<"aten.var", false>,
              LowerVariance<"aten.std", true>, LowerVarMean, LowerStdMean, LowerMinAndMax, LowerCountNonzero,
              LowerNanSum, LowerLogSumExp, LowerDiff, LowerNorm<"aten.linalg_vector_norm", "ord">,
              LowerNorm<"aten.norm", "p">, LowerPythonNorm, LowerNormalize, LowerLogCumSumExp, LowerNanMean,
              LowerTrapezoid<false, "aten.trapezoid", "aten.trapz">,
              LowerTrapezoid<true, "aten.cumulative_trapezoid">, LowerMatrixNorm, LowerHistogram, LowerNumericalGradient>;

}  // namespace fxpass

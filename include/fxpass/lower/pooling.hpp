// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/convolution.hpp>
#include <fxpass/lower/reductions.hpp>

#include <array>
#include <cstdint>
#include <string_view>

/// @file
/// Pooling over the last one to three dimensions. Averages of halves are summed in float32.

namespace fxpass {

namespace detail {

/// A window of a pooling operator over its spatial dimensions, which are the last ones of the tensor.
struct PoolingWindow {
  std::size_t first = 0;  ///< spatial dimension
  hlo::Window window;     ///< over all dimensions of the tensor
};

/// Reads kernel, stride, padding, dilation. The result's sizes decide how far the last window reaches: with `ceil_mode`
/// beyond the padding.
constexpr auto pooling_window(auto& c, const Call& call, hlo::Value x, const hlo::Dims& result, std::size_t spatial)
    -> PoolingWindow {
  const hlo::Dims sizes = c.builder().dims(x);
  const hlo::Dims kernel = spatial_list(c, call, "kernel_size", spatial, 1);
  hlo::Dims stride = kernel;
  if (call.has("stride")) {
    const hlo::Dims given = c.integers(call, "stride");
    if (!given.empty()) stride = spatial_list(c, call, "stride", spatial, 1);
  }
  const hlo::Dims padding = spatial_list(c, call, "padding", spatial, 0);
  const hlo::Dims dilation = spatial_list(c, call, "dilation", spatial, 1);
  PoolingWindow pooling;
  if (sizes.size() < spatial || result.size() != sizes.size()) {
    c.fail(call, DiagnosticCode::eager_would_raise, "too few dimensions");
    return pooling;
  }
  pooling.first = sizes.size() - spatial;
  for (std::size_t d = 0; d < pooling.first; ++d) pooling.window.push_back({});
  for (std::size_t s = 0; s < spatial; ++s) {
    const std::size_t d = pooling.first + s;
    const std::int64_t covered = (result[d] - 1) * stride[s] + dilation[s] * (kernel[s] - 1) + 1;
    const std::int64_t behind = covered - sizes[d] - padding[s];
    pooling.window.push_back(
        {kernel[s], stride[s], padding[s], behind > padding[s] ? behind : padding[s], dilation[s], 1, false});
  }
  return pooling;
}

}  // namespace detail

/// The highest value of each window, with its place in the tensor's spatial dimensions, row by row, as second result
/// of the forms that have it.
template <std::size_t Spatial, TextConstant... Names>
struct LowerMaxPool {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    Pool<hlo::Value> results;
    const auto metas = c.graph().values(call.id());
    if (!x.valid() || metas.empty()) return results;
    const auto pooling = detail::pooling_window(c, call, x, c.shape_of(metas[0]).dims, Spatial);
    const DType type = b.dtype(x);
    results.push_back(
        b.reduce_window(x, b.lowest(type), pooling.window, b.scalar_computation(hlo::Opcode::maximum, type)));
    if (metas.size() > 1) results.push_back(places(c, x, pooling));
    return results;
  }

 private:
  /// Goes through the places of a window and keeps the best so far, as eager does: NaN counts as best, and of equal
  /// values the first. Built from slices, since not every backend takes a window over pairs.
  static constexpr auto places(auto& c, hlo::Value x, const detail::PoolingWindow& pooling) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Dims sizes = b.dims(x);
    const std::size_t rank = sizes.size();
    hlo::Dims low(rank, 0), high(rank, 0), counts(rank, 1);
    std::int64_t window_size = 1, spatial_size = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      const hlo::WindowDim& w = pooling.window[d];
      low[d] = w.padding_low;
      high[d] = w.padding_high;
      window_size *= w.size;
      if (d >= pooling.first) spatial_size *= sizes[d];
      counts[d] = (sizes[d] + low[d] + high[d] - w.window_dilation * (w.size - 1) - 1) / w.stride + 1;
    }
    // The place of each element, -1 in the padding.
    hlo::Dims spatial;
    for (std::size_t d = pooling.first; d < rank; ++d) spatial.push_back(sizes[d]);
    const hlo::Value flat = b.reshape(b.iota({DType::i64, {spatial_size}}, 0), spatial);
    hlo::Dims spatial_dims;
    for (std::size_t d = pooling.first; d < rank; ++d) spatial_dims.push_back(static_cast<std::int64_t>(d));
    const hlo::Dims no_interior(rank, 0);
    const hlo::Value padded = b.pad(x, b.lowest(b.dtype(x)), low, high, no_interior);
    const hlo::Value numbers = b.pad(b.broadcast_in_dim(flat, sizes, spatial_dims), b.constant(DType::i64, -1), low,
                                     high, no_interior);
    hlo::Value best, best_place;
    for (std::int64_t n = 0; n < window_size; ++n) {
      hlo::Dims start(rank, 0), limit = b.dims(padded), stride(rank, 1);
      std::int64_t rest = n;
      for (std::size_t d = rank; d-- > pooling.first;) {
        const hlo::WindowDim& w = pooling.window[d];
        start[d] = rest % w.size * w.window_dilation;
        rest /= w.size;
        stride[d] = w.stride;
        limit[d] = start[d] + (counts[d] - 1) * w.stride + 1;
      }
      const hlo::Value value = b.slice(padded, start, limit, stride), place = b.slice(numbers, start, limit, stride);
      if (n == 0) {
        best = value;
        best_place = place;
        continue;
      }
      const hlo::Value zero = c.full_like(place, 0);
      hlo::Value is_better = b.compare(value, best, hlo::Direction::gt);
      if (is_floating(b.dtype(value))) is_better = b.or_(is_better, b.compare(value, value, hlo::Direction::ne));
      is_better = b.or_(is_better, b.compare(best_place, zero, hlo::Direction::lt));
      is_better = b.and_(is_better, b.compare(place, zero, hlo::Direction::ge));
      best = b.select(is_better, value, best);
      best_place = b.select(is_better, place, best_place);
    }
    return best_place;
  }
};

template <std::size_t Spatial, TextConstant Name>
struct LowerAvgPool {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    if (!x.valid()) return x;
    const auto pooling = detail::pooling_window(c, call, x, c.result_shape(call).dims, Spatial);
    const DType type = b.dtype(x);
    const hlo::ComputationId add = b.scalar_computation(hlo::Opcode::add, type);
    const hlo::Value zero = c.scalar(type, 0);
    const hlo::Value sum = b.reduce_window(x, zero, pooling.window, add);
    if (call.schema().find("divisor_override") && call.has("divisor_override"))
      return c.to_result(call, b.divide(sum, c.full_like(sum, c.integer(call, "divisor_override"))));
    return c.to_result(call, b.divide(sum, counts(c, call, x, pooling)));
  }

 private:
  /// How many elements each window counts: padding if `count_include_pad`, never what `ceil_mode` adds behind it.
  static constexpr auto counts(auto& c, const Call& call, hlo::Value x, const detail::PoolingWindow& pooling)
      -> hlo::Value {
    auto& b = c.builder();
    const bool with_padding = c.boolean(call, "count_include_pad");
    const DType type = b.dtype(x);
    hlo::Dims sizes = b.dims(x);
    hlo::Window window = pooling.window;
    for (std::size_t d = pooling.first; d < sizes.size(); ++d) {
      hlo::WindowDim& w = window[d];
      if (!with_padding) continue;
      // Padding becomes elements; what is left behind it is beyond.
      sizes[d] += 2 * w.padding_low;
      w.padding_high -= w.padding_low;
      w.padding_low = 0;
    }
    const hlo::Value ones = b.full({type, sizes}, 1);
    return b.reduce_window(ones, c.scalar(type, 0), window, b.scalar_computation(hlo::Opcode::add, type));
  }
};

/// Each dimension divided into as many parts as the result has places; their mean.
template <std::size_t Spatial, TextConstant... Names>
struct LowerAdaptiveAvgPool {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.accurate(c.tensor(call, "self"));
    const hlo::Shape result = c.result_shape(call);
    if (!x.valid()) return x;
    hlo::Dims whole;
    for (std::size_t d = b.rank(x) - Spatial; d < b.rank(x); ++d) {
      const auto dim = static_cast<std::int64_t>(d);
      if (result.dims[d] == 1)
        whole.push_back(dim);
      else if (result.dims[d] != b.dims(x)[d])
        x = averaged(c, x, d, result.dims[d]);
    }
    if (!whole.empty()) x = detail::mean_keeping(c, x, whole);
    return c.to_result(call, x);
  }

 private:
  /// By a matrix of averages: parts may overlap where the sizes do not divide.
  static constexpr auto averaged(auto& c, hlo::Value x, std::size_t d, std::int64_t parts) -> hlo::Value {
    auto& b = c.builder();
    const std::int64_t size = b.dims(x)[d];
    Pool<double> weights;
    weights.resize(static_cast<std::uint32_t>(size * parts), 0.0);
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = part * size / parts, last = ((part + 1) * size + parts - 1) / parts;
      for (std::int64_t i = first; i < last; ++i)
        weights[static_cast<std::uint32_t>(i * parts + part)] = 1.0 / static_cast<double>(last - first);
    }
    const hlo::Value matrix = b.constant(b.dtype(x), {size, parts}, weights.view());
    const hlo::Value y = b.dot_general(x, matrix, {{static_cast<std::int64_t>(d)}, {0}, {}, {}}, b.dtype(x));
    // The product puts the new dimension last.
    hlo::Dims order;
    for (std::size_t i = 0; i + 1 < b.rank(y); ++i) {
      if (i == d) order.push_back(static_cast<std::int64_t>(b.rank(y)) - 1);
      order.push_back(static_cast<std::int64_t>(i));
    }
    if (d + 1 == b.rank(y)) order.push_back(static_cast<std::int64_t>(d));
    return b.transpose(y, order);
  }
};

/// The lowerings of this file.
using PoolingLowerings =
    lowerings<LowerMaxPool<1, "aten.max_pool1d", "aten.max_pool1d_with_indices">,
              LowerMaxPool<2, "aten.max_pool2d", "aten.max_pool2d_with_indices">,
              LowerMaxPool<3, "aten.max_pool3d", "aten.max_pool3d_with_indices">, LowerAvgPool<1, "aten.avg_pool1d">,
              LowerAvgPool<2, "aten.avg_pool2d">, LowerAvgPool<3, "aten.avg_pool3d">,
              LowerAdaptiveAvgPool<1, "aten.adaptive_avg_pool1d">,
              LowerAdaptiveAvgPool<2, "aten.adaptive_avg_pool2d", "aten._adaptive_avg_pool2d">,
              LowerAdaptiveAvgPool<3, "aten.adaptive_avg_pool3d", "aten._adaptive_avg_pool3d">>;

}  // namespace fxpass

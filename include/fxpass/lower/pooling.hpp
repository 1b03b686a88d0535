// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/convolution.hpp>
#include <fxpass/lower/indexing.hpp>
#include <fxpass/lower/reductions.hpp>
#include <fxpass/lower/shape_ops.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

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

/// The best of what is offered one after another: NaN counts as best, and of equal values the first. A place below 0 is none.
struct BestSoFar {
  hlo::Value value;
  hlo::Value place;

  constexpr void offer(auto& c, hlo::Value other, hlo::Value other_place) {
    if (!value.valid()) {
      value = other;
      place = other_place;
      return;
    }
    auto& b = c.builder();
    const hlo::Value zero = c.full_like(other_place, 0);
    hlo::Value is_better = b.compare(other, value, hlo::Direction::gt);
    if (is_floating(b.dtype(other))) is_better = b.or_(is_better, b.compare(other, other, hlo::Direction::ne));
    is_better = b.or_(is_better, b.compare(place, zero, hlo::Direction::lt));
    is_better = b.and_(is_better, b.compare(other_place, zero, hlo::Direction::ge));
    value = b.select(is_better, other, value);
    place = b.select(is_better, other_place, place);
  }
};

/// The places [begin, end) of a dimension that an adaptive pool makes one of; parts overlap where the sizes do not divide.
constexpr auto adaptive_part(std::int64_t part, std::int64_t size, std::int64_t parts) -> std::pair<std::int64_t, std::int64_t> {
  return {part * size / parts, ((part + 1) * size + parts - 1) / parts};
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
    detail::BestSoFar best;
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
      best.offer(c, b.slice(padded, start, limit, stride), b.slice(numbers, start, limit, stride));
    }
    return best.place;
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

namespace detail {

/// The mean of each of `parts` parts of dimension `d`, by a matrix of averages: parts may overlap where the sizes do not
/// divide.
constexpr auto averaged(auto& c, hlo::Value x, std::size_t d, std::int64_t parts) -> hlo::Value {
  auto& b = c.builder();
  const std::int64_t size = b.dims(x)[d];
  Pool<double> weights;
  weights.resize(static_cast<std::uint32_t>(size * parts), 0.0);
  for (std::int64_t part = 0; part < parts; ++part) {
    const auto [first, last] = adaptive_part(part, size, parts);
    for (std::int64_t i = first; i < last; ++i)
      weights[static_cast<std::uint32_t>(i * parts + part)] = 1.0 / static_cast<double>(last - first);
  }
  const hlo::Value matrix = b.constant(b.dtype(x), {size, parts}, weights.view());
  const hlo::Value y = b.dot_general(x, matrix, {{static_cast<std::int64_t>(d)}, {0}, {}, {}}, b.dtype(x));
  return last_moved_to(c, y, d);  // the product puts the new dimension last
}

/// The last dimensions, all but `first` ones, divided into as many parts as the call's result has places; their mean.
constexpr auto adaptive_average(auto& c, const Call& call, hlo::Value given, std::size_t first) -> hlo::Value {
  auto& b = c.builder();
  hlo::Value x = c.accurate(given);
  const hlo::Shape result = c.result_shape(call);
  if (!x.valid() || b.rank(x) != result.rank()) return {};
  hlo::Dims whole;
  for (std::size_t d = first; d < b.rank(x); ++d) {
    const auto dim = static_cast<std::int64_t>(d);
    if (result.dims[d] == 1)
      whole.push_back(dim);
    else if (result.dims[d] != b.dims(x)[d])
      x = averaged(c, x, d, result.dims[d]);
  }
  if (!whole.empty()) x = mean_keeping(c, x, whole);
  return c.to_result(call, x);
}

}  // namespace detail

template <std::size_t Spatial, TextConstant... Names>
struct LowerAdaptiveAvgPool {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return x.valid() ? detail::adaptive_average(c, call, x, c.builder().rank(x) - Spatial) : x;
  }
};

/// Each dimension divided into as many parts as the result has places; the highest value of each, and its place.
template <std::size_t Spatial, TextConstant Name>
struct LowerAdaptiveMaxPool {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const auto metas = c.graph().values(call.id());
    if (!x.valid() || metas.empty() || !metas[0].known || b.rank(x) < Spatial) return {};
    const hlo::Dims from = b.dims(x), to = c.shape_of(metas[0]).dims;
    const std::size_t first = from.size() - Spatial;
    hlo::Dims spatial, spatial_dims;
    std::int64_t offsets = 1;
    hlo::Dims widest;
    for (std::size_t d = first; d < from.size(); ++d) {
      spatial.push_back(from[d]);
      spatial_dims.push_back(static_cast<std::int64_t>(d));
      std::int64_t width = 1;
      for (std::int64_t part = 0; part < to[d]; ++part) {
        const auto [begin, end] = detail::adaptive_part(part, from[d], to[d]);
        width = std::max(width, end - begin);
      }
      widest.push_back(width);
      offsets *= width;
    }
    const std::int64_t count = hlo::Shape{DType::i64, spatial}.element_count();
    const hlo::Value numbers =
        b.broadcast_in_dim(b.reshape(b.iota({DType::i64, {count}}, 0), spatial), from, spatial_dims);
    detail::BestSoFar best;
    for (std::int64_t n = 0; n < offsets; ++n) {
      hlo::Value value = x, place = numbers;
      std::int64_t rest = n;
      for (std::size_t d = from.size(); d-- > first;) {
        const std::int64_t offset = rest % widest[d - first];
        rest /= widest[d - first];
        take_part(c, value, place, d, to[d], offset);
      }
      best.offer(c, value, place);
    }
    return c.members(call, {best.value, best.place});
  }

 private:
  /// Element `offset` of each part of dimension `d`; where a part is shorter its last one, with no place.
  static constexpr void take_part(auto& c, hlo::Value& value, hlo::Value& place, std::size_t d, std::int64_t parts,
                                  std::int64_t offset) {
    auto& b = c.builder();
    const std::int64_t size = b.dims(value)[d];
    Pool<std::int64_t> places, is_there;
    for (std::int64_t part = 0; part < parts; ++part) {
      const auto [begin, end] = detail::adaptive_part(part, size, parts);
      const std::int64_t at = begin + offset;
      places.push_back(at < end ? at : end - 1);
      is_there.push_back(at < end ? 1 : 0);
    }
    const hlo::Value list = b.constant(DType::i64, {parts}, places.view());
    value = detail::gather(c, value, detail::index_of_dim(c, value, d, list));
    place = detail::gather(c, place, detail::index_of_dim(c, place, d, list));
    const hlo::Value mask = b.broadcast_in_dim(b.constant(DType::boolean, {parts}, is_there.view()), b.dims(place),
                                               {static_cast<std::int64_t>(d)});
    place = b.select(mask, place, c.full_like(place, -1));
  }
};

/// Values put back where a maximum pool found them; zero elsewhere.
template <std::size_t Spatial, TextConstant Name>
struct LowerMaxUnpool {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self"), index = c.tensor(call, "indices");
    const hlo::Shape result = c.result_shape(call);
    if (!x.valid() || !index.valid() || result.rank() < Spatial) return {};
    std::int64_t inside = 1, given = 1, planes = 1;
    for (std::size_t d = 0; d < result.rank(); ++d) {
      const bool is_spatial = d + Spatial >= result.rank();
      (is_spatial ? inside : planes) *= result.dims[d];
      if (is_spatial) given *= b.dims(x)[d];
    }
    const hlo::Dims rows{planes, given}, flat{planes, inside};
    const hlo::Value places = detail::wrapped_index(c, b.reshape(index, rows), inside);
    const auto at = detail::place_of_each(c, 1, places);
    const hlo::Value zeros = c.full({b.dtype(x), flat}, 0);
    if (at.count() == 0) return c.full(result, 0);
    const hlo::Value put = detail::scatter(c, zeros, at, b.reshape(x, rows), b.scalar_computation(hlo::Opcode::copy, b.dtype(x)));
    return b.reshape(put, result.dims);
  }
};

namespace detail {

/// The places of a window that runs over the last two dimensions.
struct ImageWindow {
  hlo::Dims kernel, dilation, padding, stride;
  hlo::Dims counts;  ///< of places in each dimension

  [[nodiscard]] constexpr auto extent(std::size_t d) const -> std::int64_t {  // that the places of one element cover
    return (counts[d] - 1) * stride[d] + 1;
  }
};
constexpr auto image_window(auto& c, const Call& call, std::int64_t height, std::int64_t width) -> ImageWindow {
  ImageWindow window;
  window.kernel = spatial_list(c, call, "kernel_size", 2, 1);
  window.dilation = spatial_list(c, call, "dilation", 2, 1);
  window.padding = spatial_list(c, call, "padding", 2, 0);
  window.stride = spatial_list(c, call, "stride", 2, 1);
  const hlo::Dims sizes{height, width};
  for (std::size_t d = 0; d < 2; ++d)
    window.counts.push_back((sizes[d] + 2 * window.padding[d] - window.dilation[d] * (window.kernel[d] - 1) - 1) /
                                window.stride[d] + 1);
  return window;
}

}  // namespace detail

/// The windows of an image as columns.
struct LowerImageToColumns {
  static constexpr std::string_view op = "aten.im2col";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value given = c.tensor(call, "self");
    const hlo::Shape result = c.result_shape(call);
    if (!given.valid() || b.rank(given) < 3) return {};
    hlo::Dims dims = b.dims(given);
    if (dims.size() == 3) dims.insert(0, 1);
    const auto window = detail::image_window(c, call, dims[2], dims[3]);
    const hlo::Dims around{0, 0, window.padding[0], window.padding[1]};
    const hlo::Value x = b.pad(b.reshape(given, dims), c.scalar(b.dtype(given), 0), around, around, {0, 0, 0, 0});
    Pool<hlo::Value> parts;
    for (std::int64_t i = 0; i < window.kernel[0]; ++i)
      for (std::int64_t k = 0; k < window.kernel[1]; ++k) {
        const std::int64_t top = i * window.dilation[0], left = k * window.dilation[1];
        const hlo::Value part = b.slice(x, {0, 0, top, left},
                                        {dims[0], dims[1], top + window.extent(0), left + window.extent(1)},
                                        {1, 1, window.stride[0], window.stride[1]});
        parts.push_back(b.reshape(part, {dims[0], dims[1], 1, window.counts[0], window.counts[1]}));
      }
    return b.reshape(b.concatenate(parts.view(), 2), result.dims);
  }
};

/// The sum of such columns, each where its window was.
struct LowerColumnsToImage {
  static constexpr std::string_view op = "aten.col2im";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value given = c.tensor(call, "self");
    const hlo::Shape result = c.result_shape(call);
    const hlo::Dims sizes = detail::spatial_list(c, call, "output_size", 2, 1);
    if (!given.valid() || sizes.size() != 2) return {};
    const auto window = detail::image_window(c, call, sizes[0], sizes[1]);
    const std::size_t rank = result.rank();
    const std::int64_t batch = rank == 4 ? result.dims[0] : 1, channels = result.dims[rank - 3];
    const DType type = ops::accumulate_type(b.dtype(given));
    const hlo::Value x = b.reshape(b.convert(given, type), {batch, channels, window.kernel[0], window.kernel[1],
                                                            window.counts[0], window.counts[1]});
    hlo::Value sum;
    for (std::int64_t i = 0; i < window.kernel[0]; ++i)
      for (std::int64_t k = 0; k < window.kernel[1]; ++k) {
        const hlo::Value part = b.slice(x, {0, 0, i, k, 0, 0}, {batch, channels, i + 1, k + 1, window.counts[0], window.counts[1]},
                                        {1, 1, 1, 1, 1, 1});
        hlo::Dims low{0, 0}, high{0, 0};
        const hlo::Dims at{i, k};
        for (std::size_t d = 0; d < 2; ++d) {
          low.push_back(at[d] * window.dilation[d] - window.padding[d]);
          high.push_back(sizes[d] - low[d + 2] - window.extent(d));
        }
        const hlo::Value placed = b.pad(b.reshape(part, {batch, channels, window.counts[0], window.counts[1]}), c.scalar(type, 0),
                                        low, high, {0, 0, window.stride[0] - 1, window.stride[1] - 1});
        sum = sum.valid() ? b.add(sum, placed) : placed;
      }
    return b.reshape(c.to_result(call, sum), result.dims);
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
              LowerAdaptiveAvgPool<3, "aten.adaptive_avg_pool3d", "aten._adaptive_avg_pool3d">,
              LowerAdaptiveMaxPool<1, "aten.adaptive_max_pool1d">, LowerAdaptiveMaxPool<2, "aten.adaptive_max_pool2d">,
              LowerAdaptiveMaxPool<3, "aten.adaptive_max_pool3d">, LowerMaxUnpool<2, "aten.max_unpool2d">,
              LowerMaxUnpool<3, "aten.max_unpool3d">, LowerImageToColumns, LowerColumnsToImage>;

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/convolution.hpp>
#include <fxpass/lower/indexing.hpp>
#include <fxpass/lower/normalization.hpp>
#include <fxpass/lower/pooling.hpp>
#include <fxpass/lower/reductions.hpp>
#include <fxpass/lower/resampling.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// The gradients that are operators of their own: of convolutions, pools, norms, embeddings, softmax. All other gradients
/// are written in operators that have lowerings anyway.

namespace fxpass {

namespace detail {
/// Which of the results `output_mask` asks for.
constexpr auto wanted_results(const auto& c, const Call& call, std::size_t count) -> Pool<std::uint8_t> {
  Pool<std::uint8_t> wanted;
  wanted.resize(static_cast<std::uint32_t>(count), 1);
  if (const auto given = call.given("output_mask"); given && given->is_sequence()) {
    const auto list = c.graph().children(*given);
    for (std::size_t i = 0; i < list.size() && i < count; ++i)
      wanted[static_cast<std::uint32_t>(i)] = list[i].is(ArgumentKind::boolean) && !list[i].boolean() ? 0 : 1;
  }
  return wanted;
}
}  // namespace detail

/// Of a softmax, or of its logarithm, by its result.
template <TextConstant Name, bool IsLogarithm>
struct LowerSoftmaxGradient {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value grad = c.accurate(c.tensor(call, "grad_output")), y = c.accurate(c.tensor(call, "output"));
    if (!grad.valid() || !y.valid()) return {};
    const hlo::Dims dims = b.rank(y) == 0 ? hlo::Dims{} : hlo::Dims{static_cast<std::int64_t>(c.dim(call, "dim", b.rank(y)))};
    const auto sum = [&](hlo::Value v) {
      return detail::spread_over(c, detail::reduce_keeping(c, v, dims, hlo::Opcode::add), y, dims);
    };
    if (IsLogarithm) return c.to_result(call, b.subtract(grad, b.multiply(b.exponential(y), sum(grad))));
    const hlo::Value weighted = b.multiply(grad, y);
    return c.to_result(call, b.subtract(weighted, b.multiply(y, sum(weighted))));
  }
};

/// Of an embedding's table: the sum of the gradients of each row.
struct LowerEmbeddingGradient {
  static constexpr std::string_view op = "aten.embedding_dense_backward";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value given = c.tensor(call, "grad_output"), rows = c.tensor(call, "indices");
    const hlo::Shape result = c.result_shape(call);
    if (!given.valid() || !rows.valid()) return {};
    const DType type = ops::accumulate_type(b.dtype(given));
    const std::int64_t count = b.shape(rows).element_count(), width = result.dims[1];
    const hlo::Value index = b.reshape(rows, {count});
    hlo::Value grad = b.reshape(b.convert(given, type), {count, width});
    const std::int64_t padding = c.integer(call, "padding_idx");
    const hlo::Value is_padding = b.compare(index, c.full_like(index, padding), hlo::Direction::eq);
    const auto by_row = [&](hlo::Value v) { return b.broadcast_in_dim(v, b.dims(grad), {0}); };
    grad = b.select(by_row(is_padding), c.full_like(grad, 0), grad);
    if (c.boolean(call, "scale_grad_by_freq")) {
      // Divided by how often each row is used.
      const hlo::Dims pairs{count, count};
      const hlo::Value is_same = b.compare(b.broadcast_in_dim(index, pairs, {0}), b.broadcast_in_dim(index, pairs, {1}),
                                           hlo::Direction::eq);
      grad = b.divide(grad, by_row(detail::reduce(c, b.convert(is_same, type), {1}, hlo::Opcode::add)));
    }
    const hlo::Value zeros = c.full({type, result.dims}, 0);
    return c.to_result(call, detail::write(c, zeros, detail::index_of_dim(c, zeros, 0, index), grad, hlo::Opcode::add));
  }
};

namespace detail {
/// What all norms share: inverse * (g - mean(g) - y mean(g y)) over `dims`, g being the gradient times the weight.
constexpr auto norm_gradient(auto& c, hlo::Value g, hlo::Value y, hlo::Value inverse, const hlo::Dims& dims) -> hlo::Value {
  auto& b = c.builder();
  const auto mean = [&](hlo::Value v) { return spread_over(c, mean_keeping(c, v, dims), v, dims); };
  const hlo::Value centered = b.subtract(b.subtract(g, mean(g)), b.multiply(y, mean(b.multiply(g, y))));
  return b.multiply(inverse, centered);
}
}  // namespace detail

struct LowerLayerNormGradient {
  static constexpr std::string_view op = "aten.native_layer_norm_backward";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value grad = c.accurate(c.tensor(call, "grad_out")), x = c.accurate(c.tensor(call, "input"));
    const hlo::Value mean = c.accurate(c.tensor(call, "mean")), inverse = c.accurate(c.tensor(call, "rstd"));
    if (!grad.valid() || !x.valid() || !mean.valid() || !inverse.valid()) return {};
    const hlo::Dims dims = detail::normalized_dims(c, call, x);
    const auto spread = [&](hlo::Value v) { return detail::spread_over(c, v, x, dims); };
    const hlo::Value y = b.multiply(b.subtract(x, spread(mean)), spread(inverse));
    hlo::Value g = grad;
    if (call.has("weight"))
      g = b.multiply(g, c.broadcast_to(call, c.accurate(c.tensor(call, "weight")), b.dims(x)));
    hlo::Dims others;
    for (std::size_t d = 0; d + dims.size() < b.rank(x); ++d) others.push_back(static_cast<std::int64_t>(d));
    const auto wanted = detail::wanted_results(c, call, 3);
    const auto sum = [&](hlo::Value v) { return detail::reduce(c, v, others, hlo::Opcode::add); };
    return c.members(call, {wanted[0] ? detail::norm_gradient(c, g, y, spread(inverse), dims) : hlo::Value{},
                            wanted[1] ? sum(b.multiply(grad, y)) : hlo::Value{}, wanted[2] ? sum(grad) : hlo::Value{}});
  }
};

struct LowerGroupNormGradient {
  static constexpr std::string_view op = "aten.native_group_norm_backward";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value grad = c.accurate(c.tensor(call, "grad_out")), x = c.accurate(c.tensor(call, "input"));
    const hlo::Value mean = c.accurate(c.tensor(call, "mean")), inverse = c.accurate(c.tensor(call, "rstd"));
    if (!grad.valid() || !x.valid() || !mean.valid() || !inverse.valid()) return {};
    const std::int64_t batch = c.integer(call, "N"), channels = c.integer(call, "C"), groups = c.integer(call, "group");
    const std::int64_t inside = c.integer(call, "HxW");
    if (groups < 1) return {};
    const hlo::Dims grouped{batch, groups, channels / groups, inside};
    const auto spread = [&](hlo::Value v) { return b.broadcast_in_dim(b.reshape(v, {batch, groups}), grouped, {0, 1}); };
    const hlo::Value gradient = b.reshape(grad, grouped);
    const hlo::Value y = b.multiply(b.subtract(b.reshape(x, grouped), spread(mean)), spread(inverse));
    hlo::Value g = gradient;
    if (call.has("weight")) {
      const hlo::Value weight = b.reshape(c.accurate(c.tensor(call, "weight")), {groups, channels / groups});
      g = b.multiply(g, b.broadcast_in_dim(weight, grouped, {1, 2}));
    }
    const auto wanted = detail::wanted_results(c, call, 3);
    const auto by_channel = [&](hlo::Value v) {
      return b.reshape(detail::reduce(c, v, {0, 3}, hlo::Opcode::add), {channels});
    };
    const hlo::Value of_input = detail::norm_gradient(c, g, y, spread(inverse), {2, 3});
    return c.members(call, {wanted[0] ? b.reshape(of_input, b.dims(x)) : hlo::Value{},
                            wanted[1] ? by_channel(b.multiply(gradient, y)) : hlo::Value{},
                            wanted[2] ? by_channel(gradient) : hlo::Value{}});
  }
};

/// Each gradient of a maximum pool goes to the place that was the highest.
struct LowerMaxPoolGradient {
  static constexpr std::string_view op = "aten.max_pool2d_with_indices_backward";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value grad = c.accurate(c.tensor(call, "grad_output")), index = c.tensor(call, "indices");
    const hlo::Shape result = c.result_shape(call);
    if (!grad.valid() || !index.valid() || result.rank() < 2) return {};
    const std::int64_t inside = result.dims[result.rank() - 1] * result.dims[result.rank() - 2];
    const std::int64_t planes = inside == 0 ? 0 : result.element_count() / inside;
    const std::int64_t given = planes == 0 ? 0 : b.shape(grad).element_count() / planes;
    const hlo::Dims rows{planes, given}, flat{planes, inside};
    const hlo::Value zeros = c.full({b.dtype(grad), flat}, 0);
    const auto at = detail::place_of_each(c, 1, b.reshape(index, rows));
    if (at.count() == 0) return c.full(result, 0);
    const hlo::Value sum =
        detail::scatter(c, zeros, at, b.reshape(grad, rows), b.scalar_computation(hlo::Opcode::add, b.dtype(grad)));
    return c.to_result(call, b.reshape(sum, result.dims));
  }
};

/// Each gradient of an average pool spread over its window.
struct LowerAvgPoolGradient {
  static constexpr std::string_view op = "aten.avg_pool2d_backward";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value grad = c.accurate(c.tensor(call, "grad_output"));
    const hlo::Shape result = c.result_shape(call);
    if (!grad.valid()) return grad;
    const DType type = b.dtype(grad);
    const hlo::Value like = c.full({type, result.dims}, 1);
    const auto pooling = detail::pooling_window(c, call, like, b.dims(grad), 2);
    if (pooling.window.size() != result.rank()) return {};
    hlo::Value divided;
    if (call.has("divisor_override"))
      divided = b.divide(grad, c.full_like(grad, c.integer(call, "divisor_override")));
    else
      divided = b.divide(grad, LowerAvgPool<2, "aten.avg_pool2d">::counts(c, call, like, pooling));
    // Spread to the places of the windows, and summed over windows that run backwards.
    hlo::Dims low, high, interior;
    hlo::Window window;
    for (std::size_t d = 0; d < result.rank(); ++d) {
      const hlo::WindowDim& w = pooling.window[d];
      const std::int64_t extent = (b.dims(grad)[d] - 1) * w.stride + 1;
      low.push_back(w.size - 1 - w.padding_low);
      high.push_back(result.dims[d] + w.size - 1 - extent - (w.size - 1 - w.padding_low));
      interior.push_back(w.stride - 1);
      window.push_back({w.size, 1, 0, 0, 1, 1, false});
    }
    const hlo::Value spread = b.pad(divided, c.scalar(type, 0), low, high, interior);
    return c.to_result(call, b.reduce_window(spread, c.scalar(type, 0), window, b.scalar_computation(hlo::Opcode::add, type)));
  }
};

/// The same where the windows divide a dimension: by the transposed matrix of averages.
struct LowerAdaptiveAvgPoolGradient {
  static constexpr std::string_view op = "aten._adaptive_avg_pool2d_backward";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value grad = c.accurate(c.tensor(call, "grad_output"));
    const hlo::Shape result = c.result_shape(call);
    if (!grad.valid() || result.rank() < 2) return {};
    for (std::size_t d = result.rank() - 2; d < result.rank(); ++d) {
      const std::int64_t parts = b.dims(grad)[d], size = result.dims[d];
      Pool<double> weights;
      weights.resize(static_cast<std::uint32_t>(parts * size), 0.0);
      for (std::int64_t part = 0; part < parts; ++part) {
        const auto [first, last] = detail::adaptive_part(part, size, parts);
        for (std::int64_t i = first; i < last; ++i)
          weights[static_cast<std::uint32_t>(part * size + i)] = 1.0 / static_cast<double>(last - first);
      }
      grad = detail::resample_by(c, grad, d, size, weights);
    }
    return c.to_result(call, grad);
  }
};

/// Of a convolution: of its input a transposed convolution, of its kernel one of input and gradient that sums over the
/// batch, of its bias a sum.
struct LowerConvolutionGradient {
  static constexpr std::string_view op = "aten.convolution_backward";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value grad = c.tensor(call, "grad_output"), x = c.tensor(call, "input"), weight = c.tensor(call, "weight");
    if (!grad.valid() || !x.valid() || !weight.valid()) return {};
    const std::size_t spatial = b.rank(weight) - 2;
    Sizes s;
    s.stride = detail::spatial_list(c, call, "stride", spatial, 1);
    s.padding = detail::spatial_list(c, call, "padding", spatial, 0);
    s.dilation = detail::spatial_list(c, call, "dilation", spatial, 1);
    s.groups = c.integer(call, "groups");
    if (s.groups < 1 || b.rank(x) != b.rank(weight)) return {};
    const bool transposed = c.boolean(call, "transposed");
    const auto wanted = detail::wanted_results(c, call, 3);
    hlo::Value of_input, of_weight, of_bias;
    // The gradient of a transposed convolution's input is a convolution of the gradient; for its kernel the two change places.
    if (wanted[0]) of_input = transposed ? forward(c, grad, weight, s) : backward(c, grad, weight, b.dims(x), s);
    if (wanted[1]) of_weight = transposed ? kernel(c, grad, x, b.dims(weight), s) : kernel(c, x, grad, b.dims(weight), s);
    if (wanted[2]) {
      const hlo::Value wide = c.accurate(grad);
      of_bias = detail::reduce(c, wide, detail::all_but_channels(c, wide), hlo::Opcode::add);
    }
    return c.members(call, {of_input, of_weight, of_bias});
  }

 private:
  struct Sizes {
    hlo::Dims stride, padding, dilation;
    std::int64_t groups = 1;
  };
  static constexpr auto type_of(auto& c, hlo::Value x) -> DType { return ops::accumulate_type(c.builder().dtype(x)); }

  static constexpr auto forward(auto& c, hlo::Value x, hlo::Value weight, const Sizes& s) -> hlo::Value {
    auto& b = c.builder();
    hlo::Window window;
    for (std::size_t d = 0; d < s.stride.size(); ++d)
      window.push_back({b.dims(weight)[d + 2], s.stride[d], s.padding[d], s.padding[d], s.dilation[d], 1, false});
    return b.convolution(x, weight, window, detail::convolution_labels(s.stride.size()), s.groups, 1, type_of(c, x));
  }
  /// [out, in / groups, ...] becomes [out / groups, in, ...] and runs backwards over the spread gradient.
  static constexpr auto backward(auto& c, hlo::Value grad, hlo::Value weight, const hlo::Dims& input, const Sizes& s)
      -> hlo::Value {
    auto& b = c.builder();
    const hlo::Dims dims = b.dims(weight);
    const std::int64_t out = dims[0] / s.groups;
    hlo::Dims split{s.groups, out, dims[1]}, order{1, 0, 2}, merged{out, s.groups * dims[1]};
    hlo::Window window;
    for (std::size_t d = 0; d < s.stride.size(); ++d) {
      const std::int64_t size = dims[d + 2], reach = s.dilation[d] * (size - 1);
      split.push_back(size);
      order.push_back(static_cast<std::int64_t>(d + 3));
      merged.push_back(size);
      const std::int64_t low = reach - s.padding[d], spread = (b.dims(grad)[d + 2] - 1) * s.stride[d] + 1;
      window.push_back({size, 1, low, input[d + 2] + reach - low - spread, s.dilation[d], s.stride[d], true});
    }
    hlo::ConvolutionDims labels = detail::convolution_labels(s.stride.size());
    labels.kernel_input_feature = 0;
    labels.kernel_output_feature = 1;
    const hlo::Value turned = b.reshape(b.transpose(b.reshape(weight, split), order), merged);
    return b.convolution(grad, turned, window, labels, s.groups, 1, type_of(c, grad));
  }
  /// Batches are features and features batches; the gradient is the kernel, with the stride as its dilation.
  static constexpr auto kernel(auto& c, hlo::Value x, hlo::Value grad, const hlo::Dims& kernel_dims, const Sizes& s)
      -> hlo::Value {
    auto& b = c.builder();
    hlo::Window window;
    for (std::size_t d = 0; d < s.stride.size(); ++d) {
      const std::int64_t size = b.dims(grad)[d + 2], covered = (kernel_dims[d + 2] - 1) * s.dilation[d] + (size - 1) * s.stride[d] + 1;
      window.push_back({size, s.dilation[d], s.padding[d], covered - b.dims(x)[d + 2] - s.padding[d], s.stride[d], 1, false});
    }
    hlo::ConvolutionDims labels = detail::convolution_labels(s.stride.size());
    labels.input_batch = 1;
    labels.input_feature = 0;
    labels.kernel_input_feature = 0;
    labels.kernel_output_feature = 1;
    labels.output_batch = 1;
    labels.output_feature = 0;
    return b.convolution(x, grad, window, labels, 1, s.groups, type_of(c, x));
  }
};

/// Zero where a dropped element was; the others scaled.
struct LowerDropoutGradient {
  static constexpr std::string_view op = "aten.native_dropout_backward";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value grad = c.tensor(call, "grad_output"), mask = c.tensor(call, "mask");
    if (!grad.valid() || !mask.valid()) return {};
    const hlo::Value factor = b.multiply(c.accurate(b.convert(mask, b.dtype(grad))), c.full_like(c.accurate(grad), c.real(call, "scale")));
    return c.to_result(call, b.multiply(c.accurate(grad), factor));
  }
};

/// The lowerings of this file.
using GradientLowerings =
    lowerings<LowerSoftmaxGradient<"aten._softmax_backward_data", false>,
              LowerSoftmaxGradient<"aten._log_softmax_backward_data", true>, LowerEmbeddingGradient, LowerLayerNormGradient,
              LowerGroupNormGradient, LowerMaxPoolGradient, LowerAvgPoolGradient, LowerAdaptiveAvgPoolGradient,
              LowerConvolutionGradient, LowerDropoutGradient>;

}  // namespace fxpass

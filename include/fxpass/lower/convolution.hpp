// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>

#include <array>
#include <cstdint>
#include <string_view>

/// @file
/// Convolutions of one to three spatial dimensions. Halves are summed in float32 and rounded once.

namespace fxpass {

namespace detail {

/// A list of a number for each of `count` spatial dimensions; one number, or none, stands for all.
constexpr auto spatial_list(auto& c, const Call& call, std::string_view name, std::size_t count,
                            std::int64_t otherwise) -> hlo::Dims {
  if (!call.schema().find(name)) return hlo::Dims(count, otherwise);
  const hlo::Dims given = c.integers(call, name);
  if (given.empty()) return hlo::Dims(count, otherwise);
  if (given.size() == 1) return hlo::Dims(count, given[0]);
  if (given.size() != count)
    c.fail(call, DiagnosticCode::eager_would_raise, text_of("'", name, "' does not fit the dimensions"));
  return given;
}

/// batch, feature, spatial... of input and output; output feature, input feature, spatial... of the kernel.
constexpr auto convolution_labels(std::size_t spatial) -> hlo::ConvolutionDims {
  hlo::ConvolutionDims labels;
  for (std::size_t d = 0; d < spatial; ++d) {
    labels.input_spatial.push_back(static_cast<std::int64_t>(d + 2));
    labels.kernel_spatial.push_back(static_cast<std::int64_t>(d + 2));
    labels.output_spatial.push_back(static_cast<std::int64_t>(d + 2));
  }
  return labels;
}

/// What all forms of a convolution say.
struct ConvolutionCall {
  hlo::Value input;  ///< [batch, feature, spatial...]
  hlo::Value weight;
  hlo::Dims stride;
  hlo::Dims dilation;
  std::int64_t groups = 1;
  bool is_batched = true;  ///< false: the call's input has no batch dimension

  [[nodiscard]] constexpr auto spatial() const -> std::size_t { return stride.size(); }
};

constexpr auto read_convolution(auto& c, const Call& call) -> ConvolutionCall {
  auto& b = c.builder();
  ConvolutionCall conv;
  conv.input = c.tensor(call, "input");
  conv.weight = c.tensor(call, "weight");
  if (!conv.input.valid() || !conv.weight.valid()) return conv;
  const std::size_t rank = b.rank(conv.weight);
  conv.is_batched = b.rank(conv.input) == rank;
  if (!conv.is_batched) {
    hlo::Dims dims = b.dims(conv.input);
    dims.insert(0, 1);
    conv.input = b.reshape(conv.input, dims);
  }
  const std::size_t spatial = rank < 2 ? 0 : rank - 2;
  conv.stride = spatial_list(c, call, "stride", spatial, 1);
  conv.dilation = spatial_list(c, call, "dilation", spatial, 1);
  conv.groups = c.integer(call, "groups");
  return conv;
}

/// The result of a convolution: bias added in the type that it was summed in, batch dimension as in the input.
constexpr auto finish_convolution(auto& c, const Call& call, const ConvolutionCall& conv, hlo::Value y) -> hlo::Value {
  auto& b = c.builder();
  if (!y.valid()) return y;
  if (call.has("bias"))
    y = b.add(y, b.broadcast_in_dim(b.convert(c.tensor(call, "bias"), b.dtype(y)), b.dims(y), {1}));
  y = c.to_result(call, y);
  if (conv.is_batched) return y;
  hlo::Dims dims = b.dims(y);
  dims.erase(0);
  return b.reshape(y, dims);
}

constexpr auto convolve(auto& c, const Call& call, const ConvolutionCall& conv, const hlo::Dims& low,
                        const hlo::Dims& high) -> hlo::Value {
  auto& b = c.builder();
  hlo::Window window;
  for (std::size_t d = 0; d < conv.spatial(); ++d)
    window.push_back({b.dims(conv.weight)[d + 2], conv.stride[d], low[d], high[d], conv.dilation[d], 1, false});
  const hlo::Value y =
      b.convolution(conv.input, conv.weight, window, convolution_labels(conv.spatial()), conv.groups, 1,
                    ops::accumulate_type(b.dtype(conv.input)));
  return finish_convolution(c, call, conv, y);
}

/// The transposed convolution as one with a spread input: the kernel [in, out / groups, spatial...] becomes
/// [in / groups, out, spatial...] and runs backwards.
constexpr auto convolve_transposed(auto& c, const Call& call, ConvolutionCall conv) -> hlo::Value {
  auto& b = c.builder();
  if (!conv.weight.valid()) return {};
  const std::size_t spatial = conv.spatial();
  const hlo::Dims padding = spatial_list(c, call, "padding", spatial, 0);
  const hlo::Dims output_padding = spatial_list(c, call, "output_padding", spatial, 0);
  const hlo::Dims kernel = b.dims(conv.weight);
  if (conv.groups < 1 || kernel[0] % conv.groups != 0)
    return c.fail(call, DiagnosticCode::eager_would_raise, "groups do not divide the channels");
  const std::int64_t in = kernel[0] / conv.groups, out = kernel[1];
  hlo::Dims split{conv.groups, in, out}, order{1, 0, 2}, merged{in, conv.groups * out};
  hlo::Window window;
  for (std::size_t d = 0; d < spatial; ++d) {
    const std::int64_t size = kernel[d + 2];
    split.push_back(size);
    order.push_back(static_cast<std::int64_t>(d + 3));
    merged.push_back(size);
    const std::int64_t low = conv.dilation[d] * (size - 1) - padding[d];
    window.push_back({size, 1, low, low + output_padding[d], conv.dilation[d], conv.stride[d], true});
  }
  conv.weight = b.reshape(b.transpose(b.reshape(conv.weight, split), order), merged);
  hlo::ConvolutionDims labels = convolution_labels(spatial);
  labels.kernel_input_feature = 0;
  labels.kernel_output_feature = 1;
  const hlo::Value y = b.convolution(conv.input, conv.weight, window, labels, conv.groups, 1,
                                     ops::accumulate_type(b.dtype(conv.input)));
  return finish_convolution(c, call, conv, y);
}

}  // namespace detail

struct LowerConvolution {
  static constexpr std::array<std::string_view, 5> op{"aten.convolution", "aten.convolution_overrideable",
                                                      "aten.conv1d", "aten.conv2d", "aten.conv3d"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const detail::ConvolutionCall conv = detail::read_convolution(c, call);
    if (!conv.weight.valid()) return {};
    if (call.schema().find("transposed") && c.boolean(call, "transposed"))
      return detail::convolve_transposed(c, call, conv);
    hlo::Dims low, high;
    if (const auto words = call.string("padding"))
      named_padding(c, call, conv, *words, low, high);
    else
      low = high = detail::spatial_list(c, call, "padding", conv.spatial(), 0);
    return detail::convolve(c, call, conv, low, high);
  }

 private:
  /// "same" pads so that the size stays; what is odd goes behind.
  static constexpr void named_padding(auto& c, const Call& call, const detail::ConvolutionCall& conv,
                                      std::string_view words, hlo::Dims& low, hlo::Dims& high) {
    const hlo::Dims kernel = c.builder().dims(conv.weight);
    for (std::size_t d = 0; d < conv.spatial(); ++d) {
      const std::int64_t total = words == "same" ? conv.dilation[d] * (kernel[d + 2] - 1) : 0;
      low.push_back(total / 2);
      high.push_back(total - total / 2);
    }
    if (words != "same" && words != "valid")
      c.fail(call, DiagnosticCode::eager_would_raise, text_of("padding '", words, "'"));
  }
};

struct LowerConvTranspose {
  static constexpr std::array<std::string_view, 3> op{"aten.conv_transpose1d", "aten.conv_transpose2d",
                                                      "aten.conv_transpose3d"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return detail::convolve_transposed(c, call, detail::read_convolution(c, call));
  }
};

/// The lowerings of this file.
using ConvolutionLowerings = lowerings<LowerConvolution, LowerConvTranspose>;

}  // namespace fxpass

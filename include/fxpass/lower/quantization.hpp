// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/elementwise.hpp>
#include <fxpass/lower/reductions.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>

/// @file
/// Integers for floats: `q = clamp(round(x / scale) + zero_point, quant_min, quant_max)` and back, `(q - zero_point) *
/// scale`, halves rounded to even. Which step is taken in which dtype, and whether the zero point is added before or after
/// rounding, is what PyTorch does for each operator: `torch/ao/quantization/fx/_decomposed.py` and the kernels of
/// `aten.fake_quantize_*`.

namespace fxpass {

namespace detail {

/// `x` no lower than `low` and no higher than `high`, which are scalars of its dtype. NaN stays.
constexpr auto clamp_between(auto& c, hlo::Value x, hlo::Value low, hlo::Value high) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  return b.minimum(b.maximum(x, b.broadcast(low, b.dims(x))), b.broadcast(high, b.dims(x)));
}

/// The number given for `name`, or the only element of the tensor given for it, as a scalar of dtype `type`: as if eager
/// had asked the tensor for its number.
constexpr auto scalar_argument(auto& c, const Call& call, std::string_view name, DType type) -> hlo::Value {
  const Operand given = c.operand(call, name);
  if (given.is_number()) return c.scalar(type, *given.number);
  return c.builder().reshape(c.builder().convert(given.value, type), {});
}

/// `x` between the numbers that quantised values are between.
constexpr auto clamp_to_range(auto& c, const Call& call, hlo::Value x) -> hlo::Value {
  const DType type = c.builder().dtype(x);
  return clamp_between(c, x, scalar_argument(c, call, "quant_min", type), scalar_argument(c, call, "quant_max", type));
}

/// 1 / scale as a float32 scalar. Eager divides in double precision; of a float32 the quotient, rounded, is the same.
constexpr auto inverse_of_scale(auto& c, const Call& call) -> hlo::Value {
  auto& b = c.builder();
  const Operand scale = c.operand(call, "scale");
  if (scale.is_number()) return c.scalar(DType::f32, 1.0 / scale.number->real);
  const hlo::Value given = b.reshape(c.accurate(scale.value), {});
  return b.convert(b.divide(c.full_like(given, 1.0), given), DType::f32);
}

/// A list with an element for each place along dimension `axis` of `x`, with as many dimensions as `x`.
constexpr auto along_axis(auto& c, hlo::Value list, hlo::Value x, std::size_t axis) -> hlo::Value {
  auto& b = c.builder();
  if (!list.valid() || !x.valid()) return list;
  hlo::Dims dims;
  for (std::size_t d = 0; d < b.rank(x); ++d) dims.push_back(d == axis ? b.shape(list).element_count() : 1);
  return b.reshape(list, dims);
}

/// `x` and `y`, tensors with dimensions, in the dtype and shape that they promote to, and one operation of them.
constexpr auto combine(auto& c, const Call& call, hlo::Opcode code, hlo::Value x, hlo::Value y) -> hlo::Value {
  const auto [a, b] = c.meet(call, Meeting::common, std::array<Operand, 2>{Operand{x, {}}, Operand{y, {}}});
  return c.builder().binary(code, a, b);
}

/// The elements divided by their scales: times the inverses, as eager does it.
constexpr auto divide_by_scales(auto& c, const Call& call, hlo::Value x, hlo::Value scales) -> hlo::Value {
  if (!scales.valid()) return scales;
  auto& b = c.builder();
  return combine(c, call, hlo::Opcode::multiply, x, b.divide(c.full_like(scales, 1.0), scales));
}

/// The groups of the last dimension that have a scale each, as rows.
constexpr auto rows_of_groups(auto& c, const Call& call, hlo::Value x, hlo::Value scales) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid() || !scales.valid()) return {};
  const std::int64_t width = b.dims(x)[b.rank(x) - 1];
  std::int64_t size = c.integer(call, "group_size");
  if (size > width && b.rank(scales) > 0 && b.dims(scales)[b.rank(scales) - 1] == 1) size = width;
  if (size < 1 || width % size != 0)
    return c.fail(call, DiagnosticCode::eager_would_raise, "groups do not divide the last dimension");
  return b.reshape(x, {b.shape(x).element_count() / size, size});
}

/// The list given for `name`, an element a row; invalid where the call has None.
constexpr auto column_argument(auto& c, const Call& call, std::string_view name) -> hlo::Value {
  if (!call.has(name)) return {};
  const hlo::Value list = c.tensor(call, name);
  return list.valid() ? c.builder().reshape(list, {c.builder().shape(list).element_count(), 1}) : list;
}

}  // namespace detail

/// Floats as integers, one scale for all: numbers, or tensors of one element.
struct LowerQuantizePerTensor {
  static constexpr std::string_view op = "quantized_decomposed.quantize_per_tensor";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = b.convert(c.tensor(call, "input"), DType::f32);
    if (!x.valid()) return x;
    const hlo::Value scaled = b.multiply(x, b.broadcast(detail::inverse_of_scale(c, call), b.dims(x)));
    const hlo::Value zero_point = detail::scalar_argument(c, call, "zero_point", DType::f32);
    const hlo::Value moved = b.add(b.round_nearest_even(scaled), b.broadcast(zero_point, b.dims(x)));
    return c.to_result(call, detail::clamp_to_range(c, call, moved));
  }
};

struct LowerDequantizePerTensor {
  static constexpr std::string_view op = "quantized_decomposed.dequantize_per_tensor";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const DType type = ops::accumulate_type(c.result_shape(call).dtype);
    const hlo::Value x = b.convert(c.to_result(call, c.tensor(call, "input")), type);
    if (!x.valid()) return x;
    const auto number = [&](std::string_view name) {
      return b.broadcast(detail::scalar_argument(c, call, name, type), b.dims(x));
    };
    const hlo::Value difference = c.to_result(call, b.subtract(x, number("zero_point")));
    return c.to_result(call, b.multiply(b.convert(difference, type), number("scale")));
  }
};

/// The same with a scale for each place along a dimension.
struct LowerQuantizePerChannel {
  static constexpr std::string_view op = "quantized_decomposed.quantize_per_channel";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = b.convert(c.tensor(call, "input"), DType::f32);
    const std::size_t axis = c.dim(call, "axis", b.rank(x));
    const hlo::Value scales = detail::along_axis(c, c.tensor(call, "scales"), x, axis);
    const hlo::Value zero_points = detail::along_axis(c, c.tensor(call, "zero_points"), x, axis);
    const hlo::Value rounded = b.round_nearest_even(detail::divide_by_scales(c, call, x, scales));
    const hlo::Value moved = detail::combine(c, call, hlo::Opcode::add, rounded, zero_points);
    return c.to_result(call, detail::clamp_to_range(c, call, moved));
  }
};

struct LowerDequantizePerChannel {
  static constexpr std::string_view op = "quantized_decomposed.dequantize_per_channel";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    hlo::Value x = c.tensor(call, "input");
    const std::size_t axis = c.dim(call, "axis", c.builder().rank(x));
    const hlo::Value scales = detail::along_axis(c, c.tensor(call, "scales"), x, axis);
    if (call.has("zero_points"))
      x = detail::combine(c, call, hlo::Opcode::subtract, x,
                          detail::along_axis(c, c.tensor(call, "zero_points"), x, axis));
    return c.to_result(call, detail::combine(c, call, hlo::Opcode::multiply, x, scales));
  }
};

/// The same with a scale for each row of the last dimension.
struct LowerQuantizePerToken {
  static constexpr std::string_view op = "quantized_decomposed.quantize_per_token";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return of_rows(c, call, c.tensor(call, "input"), c.tensor(call, "scales"), c.tensor(call, "zero_points"));
  }

  /// Rows with a scale and a zero point each, which broadcast.
  static constexpr auto of_rows(auto& c, const Call& call, hlo::Value x, hlo::Value scales, hlo::Value zero_points)
      -> hlo::Value {
    const hlo::Value moved =
        detail::combine(c, call, hlo::Opcode::add, detail::divide_by_scales(c, call, x, scales), zero_points);
    return c.to_result(call, detail::clamp_to_range(c, call, c.builder().round_nearest_even(moved)));
  }
};

struct LowerDequantizePerToken {
  static constexpr std::string_view op = "quantized_decomposed.dequantize_per_token";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return of_rows(c, call, c.tensor(call, "input"), c.tensor(call, "scales"), c.tensor(call, "zero_points"));
  }

  /// Rows with a scale each and, if it is valid, a zero point each.
  static constexpr auto of_rows(auto& c, const Call& call, hlo::Value x, hlo::Value scales, hlo::Value zero_points)
      -> hlo::Value {
    if (zero_points.valid()) x = detail::combine(c, call, hlo::Opcode::subtract, x, zero_points);
    return c.to_result(call, detail::combine(c, call, hlo::Opcode::multiply, x, scales));
  }
};

/// The same with a scale for each group of elements along the last dimension.
struct LowerQuantizePerGroup {
  static constexpr std::string_view op = "quantized_decomposed.quantize_per_channel_group";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value rows = detail::rows_of_groups(c, call, c.tensor(call, "input"), c.tensor(call, "scales"));
    if (!rows.valid()) return rows;
    const hlo::Value numbers = LowerQuantizePerToken::of_rows(c, call, rows, detail::column_argument(c, call, "scales"),
                                                              detail::column_argument(c, call, "zero_points"));
    return c.builder().reshape(numbers, c.result_shape(call).dims);
  }
};

struct LowerDequantizePerGroup {
  static constexpr std::string_view op = "quantized_decomposed.dequantize_per_channel_group";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value rows = detail::rows_of_groups(c, call, c.tensor(call, "input"), c.tensor(call, "scales"));
    if (!rows.valid()) return rows;
    const hlo::Value numbers = LowerDequantizePerToken::of_rows(
        c, call, rows, detail::column_argument(c, call, "scales"), detail::column_argument(c, call, "zero_points"));
    return c.builder().reshape(numbers, c.result_shape(call).dims);
  }
};

// Parameters -----------------------------------------------------------------------------------------------------------

/// Scale and zero point for the range of a tensor, 0 being in it: the zero point free, or in the middle.
template <TextConstant Name, bool IsSymmetric>
struct LowerChooseQuantization {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "input");
    if (!x.valid()) return {};
    const DType type = b.dtype(x);
    const hlo::Dims all = hlo::iota_dims(b.rank(x));
    const hlo::Value zero = c.scalar(type, 0);
    const hlo::Value low = b.minimum(detail::reduce(c, x, all, hlo::Opcode::minimum), zero);
    hlo::Value high = b.maximum(detail::reduce(c, x, all, hlo::Opcode::maximum), zero);
    const double first = c.real(call, "quant_min"), last = c.real(call, "quant_max");
    const auto number = [&](double value) { return c.scalar(DType::f32, value); };
    // Each step of eager rounds to the tensor's dtype, whatever it is computed in.
    const auto ratio = [&](hlo::Value dividend, hlo::Value divisor) {
      return b.convert(b.divide(c.accurate(dividend), c.accurate(divisor)), b.dtype(dividend));
    };
    if (IsSymmetric) high = b.maximum(b.negate(low), high);
    const hlo::Value extent = IsSymmetric ? high : b.subtract(high, low);
    const hlo::Value wanted = b.convert(ratio(extent, number((last - first) / (IsSymmetric ? 2.0 : 1.0))), DType::f32);
    const hlo::Value scale = b.maximum(wanted, number(c.real(call, "eps")));
    if (IsSymmetric)
      return c.members(call, {scale, number(call.dtype("dtype") == DType::u8 ? 128.0 : 0.0)});
    const hlo::Value at_zero = b.convert(b.round_nearest_even(ratio(b.convert(low, DType::f32), scale)), DType::i32);
    const hlo::Value zero_point = b.subtract(c.scalar(DType::i32, c.number(call, "quant_min")), at_zero);
    return c.members(call, {scale, detail::clamp_to_range(c, call, zero_point)});
  }
};

/// The same for each row of the last dimension, in the range of an int8 whose zero point is 0.
struct LowerChooseQuantizationPerToken {
  static constexpr std::string_view op = "quantized_decomposed.choose_qparams_per_token";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "input");
    if (!x.valid()) return {};
    const std::int64_t last = static_cast<std::int64_t>(b.rank(x)) - 1;
    const hlo::Value largest = detail::reduce_keeping(c, b.abs(x), {last}, hlo::Opcode::maximum);
    // Eager keeps the dtype of the tensor but for float16.
    const DType type = b.dtype(x) == DType::f16 ? DType::f32 : b.dtype(x);
    const hlo::Value bounded = b.maximum(b.convert(largest, type), c.full_like(b.convert(largest, type), 1e-5));
    const hlo::Value scales = b.convert(b.divide(c.accurate(bounded), c.full_like(c.accurate(bounded), 127.0)), type);
    return c.members(call, {scales, c.full_like(scales, 0)});
  }
};

/// The same with a zero point that is free.
struct LowerChooseAsymmetricQuantizationPerToken {
  static constexpr std::array<std::string_view, 2> op{
      "quantized_decomposed.choose_qparams_per_token_asymmetric",
      "quantized_decomposed._choose_qparams_per_token_asymmetric_impl"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "input");
    if (!x.valid()) return {};
    constexpr double first = -128.0, last = 127.0;
    const hlo::Dims row{static_cast<std::int64_t>(b.rank(x)) - 1};
    const hlo::Value least = detail::reduce_keeping(c, x, row, hlo::Opcode::minimum);
    const hlo::Value most = detail::reduce_keeping(c, x, row, hlo::Opcode::maximum);
    const auto number = [&](double value) { return c.full_like(least, value); };
    const hlo::Value low = b.minimum(least, number(0)), high = b.maximum(most, number(0));
    const double smallest = std::numeric_limits<float>::epsilon();
    const hlo::Value scale = b.maximum(b.divide(b.subtract(high, low), number(last - first)), number(smallest));
    const hlo::Value from_low = b.divide(low, scale), from_high = b.divide(high, scale);
    const hlo::Value errors = b.add(b.add(number(first), from_low), b.add(number(last), from_high));
    const hlo::Value zero_point = b.select(b.compare(errors, number(0), hlo::Direction::gt),
                                           b.subtract(number(first), from_low), b.subtract(number(last), from_high));
    const DType type = b.dtype(x);
    const hlo::Value bounded = detail::clamp_between(c, zero_point, c.scalar(type, first), c.scalar(type, last));
    return c.members(call, {scale, b.round_nearest_even(bounded)});
  }
};

// Quantised and back ---------------------------------------------------------------------------------------------------

namespace detail {

/// What a tensor is after it has been quantised and dequantised, and which of its elements were within the range.
struct FakeQuantized {
  hlo::Value result;
  hlo::Value is_in_range;
};

/// Computed in float32; scales and zero points have the shape of `x`. NaN becomes the lowest number of the range. A zero
/// point that is no whole number is added before rounding.
constexpr auto fake_quantize(auto& c, const Call& call, hlo::Value x, hlo::Value scale, hlo::Value zero_point)
    -> FakeQuantized {
  auto& b = c.builder();
  if (!x.valid() || !scale.valid() || !zero_point.valid()) return {};
  const DType given = b.dtype(x);
  const bool rounds_last = is_floating(b.dtype(zero_point));
  x = b.convert(x, DType::f32);
  scale = b.convert(scale, DType::f32);
  zero_point = b.convert(zero_point, DType::f32);
  const hlo::Value scaled = b.multiply(x, b.divide(c.full_like(scale, 1.0), scale));
  const hlo::Value number = rounds_last ? b.round_nearest_even(b.add(scaled, zero_point))
                                        : b.add(b.round_nearest_even(scaled), zero_point);
  const hlo::Value low = b.broadcast(scalar_argument(c, call, "quant_min", DType::f32), b.dims(x));
  const hlo::Value high = b.broadcast(scalar_argument(c, call, "quant_max", DType::f32), b.dims(x));
  const hlo::Value is_in_range =
      b.and_(b.compare(number, low, hlo::Direction::ge), b.compare(number, high, hlo::Direction::le));
  const hlo::Value is_above = b.compare(number, high, hlo::Direction::gt);
  const hlo::Value bounded = b.select(is_in_range, number, b.select(is_above, high, low));
  return {b.convert(b.multiply(b.subtract(bounded, zero_point), scale), given), is_in_range};
}

/// The call's tensor with the call's scale and zero point, one for all.
constexpr auto fake_quantize_per_tensor(auto& c, const Call& call) -> FakeQuantized {
  auto& b = c.builder();
  const hlo::Value x = c.tensor(call, "self");
  if (!x.valid()) return {};
  const hlo::Value scale = scalar_argument(c, call, "scale", DType::f32);
  const hlo::Value zero_point = scalar_argument(c, call, "zero_point", DType::i32);
  return fake_quantize(c, call, x, b.broadcast(scale, b.dims(x)), b.broadcast(zero_point, b.dims(x)));
}

/// The tensor given for `input` with a scale and a zero point for each place along a dimension.
constexpr auto fake_quantize_per_channel(auto& c, const Call& call, std::string_view input, std::string_view scale,
                                         std::string_view zero_point) -> FakeQuantized {
  const hlo::Value x = c.tensor(call, input);
  if (!x.valid()) return {};
  const std::size_t axis = c.dim(call, "axis", c.builder().rank(x));
  const auto spread = [&](std::string_view name) {
    return c.broadcast_to(call, along_axis(c, c.tensor(call, name), x, axis), c.builder().dims(x));
  };
  return fake_quantize(c, call, x, spread(scale), spread(zero_point));
}

}  // namespace detail

/// Quantised and dequantised, one scale for all.
struct LowerFakeQuantize {
  static constexpr std::string_view op = "aten.fake_quantize_per_tensor_affine";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return detail::fake_quantize_per_tensor(c, call).result;
  }
};

/// And a mask of the elements that gradients pass through.
struct LowerFakeQuantizeWithMask {
  static constexpr std::string_view op = "aten.fake_quantize_per_tensor_affine_cachemask";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const detail::FakeQuantized quantized = detail::fake_quantize_per_tensor(c, call);
    return c.members(call, {quantized.result, quantized.is_in_range});
  }
};

/// The same where a tensor says whether anything is done.
struct LowerFakeQuantizeIfEnabled {
  static constexpr std::string_view op = "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const detail::FakeQuantized quantized = detail::fake_quantize_per_tensor(c, call);
    if (!quantized.result.valid()) return {};
    const hlo::Value enabled = detail::scalar_argument(c, call, "fake_quant_enabled", DType::i64);
    const hlo::Value is_enabled = b.compare(enabled, c.scalar(DType::i64, 0), hlo::Direction::ne);
    return c.members(call, {b.select(is_enabled, quantized.result, c.tensor(call, "self")),
                            b.select(is_enabled, quantized.is_in_range, c.full_like(quantized.is_in_range, true))});
  }
};

struct LowerFakeQuantizePerChannel {
  static constexpr std::string_view op = "aten.fake_quantize_per_channel_affine";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return detail::fake_quantize_per_channel(c, call, "self", "scale", "zero_point").result;
  }
};

struct LowerFakeQuantizePerChannelWithMask {
  static constexpr std::string_view op = "aten.fake_quantize_per_channel_affine_cachemask";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const detail::FakeQuantized quantized =
        detail::fake_quantize_per_channel(c, call, "self", "scale", "zero_point");
    return c.members(call, {quantized.result, quantized.is_in_range});
  }
};

struct LowerDecomposedFakeQuantizePerChannel {
  static constexpr std::string_view op = "quantized_decomposed.fake_quant_per_channel";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return detail::fake_quantize_per_channel(c, call, "input", "scales", "zero_points").result;
  }
};

/// The gradient: none where the range was left.
struct LowerFakeQuantizeGradient {
  static constexpr std::array<std::string_view, 2> op{"aten.fake_quantize_per_tensor_affine_cachemask_backward",
                                                      "aten.fake_quantize_per_channel_affine_cachemask_backward"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value gradient = c.tensor(call, "grad"), mask = c.tensor(call, "mask");
    return c.builder().multiply(gradient, c.builder().convert(mask, c.builder().dtype(gradient)));
  }
};

/// The lowerings of this file.
using QuantizationLowerings =
    lowerings<LowerQuantizePerTensor, LowerDequantizePerTensor, LowerQuantizePerChannel, LowerDequantizePerChannel,
              LowerQuantizePerToken, LowerDequantizePerToken, LowerQuantizePerGroup, LowerDequantizePerGroup,
              LowerChooseQuantization<"quantized_decomposed.choose_qparams", false>,
              LowerChooseQuantization<"quantized_decomposed.choose_qparams_symmetric", true>,
              LowerChooseQuantizationPerToken, LowerChooseAsymmetricQuantizationPerToken, LowerFakeQuantize,
              LowerFakeQuantizeWithMask, LowerFakeQuantizeIfEnabled, LowerFakeQuantizePerChannel,
              LowerFakeQuantizePerChannelWithMask, LowerDecomposedFakeQuantizePerChannel, LowerFakeQuantizeGradient,
              LowerConversion<"input", "quantized_decomposed.convert_element_type">>;

}  // namespace fxpass

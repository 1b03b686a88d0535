// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>
#include <fxpass/lower/reductions.hpp>

#include <array>
#include <string_view>

/// @file
/// Activation functions, softmax, dropout outside training. Computed in float32 for halves and rounded once.

namespace fxpass {

struct LowerRelu {
  static constexpr std::string_view op = "aten.relu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return c.builder().maximum(x, c.full_like(x, 0));
  }
};

namespace detail {
/// min(max(x, low), high)
constexpr auto between(auto& c, hlo::Value x, const Number& low, const Number& high) -> hlo::Value {
  return c.builder().minimum(c.builder().maximum(x, c.full_like(x, low)), c.full_like(x, high));
}
/// log(1 + exp(x)) without overflow.
constexpr auto softplus(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  return b.add(b.maximum(x, c.full_like(x, 0)), b.log_plus_one(b.exponential(b.negate(b.abs(x)))));
}
constexpr auto is_positive(auto& c, hlo::Value x) -> hlo::Value {
  return c.builder().compare(x, c.full_like(x, 0), hlo::Direction::gt);
}
}  // namespace detail

struct LowerRelu6 {
  static constexpr std::string_view op = "aten.relu6";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return detail::between(c, c.tensor(call, "self"), 0, 6);
  }
};

struct LowerHardtanh {
  static constexpr std::string_view op = "aten.hardtanh";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return detail::between(c, c.tensor(call, "self"), c.number(call, "min_val"), c.number(call, "max_val"));
  }
};

struct LowerSilu {
  static constexpr std::string_view op = "aten.silu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    return c.to_result(call, c.builder().multiply(x, c.builder().logistic(x)));
  }
};

struct LowerGelu {
  static constexpr std::string_view op = "aten.gelu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const bool is_tanh = call.string("approximate") == "tanh";
    const hlo::Value bell = is_tanh ? by_tanh(c, x) : b.erf(b.multiply(x, c.full_like(x, 0.70710678118654752440)));
    const hlo::Value half = b.multiply(x, c.full_like(x, 0.5));
    return c.to_result(call, b.multiply(half, b.add(c.full_like(x, 1), bell)));
  }

 private:
  /// tanh(sqrt(2 / pi) * (x + 0.044715 x^3))
  static constexpr auto by_tanh(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value cube = b.multiply(x, b.multiply(x, x));
    const hlo::Value inner = b.add(x, b.multiply(cube, c.full_like(x, 0.044715)));
    return b.tanh(b.multiply(inner, c.full_like(x, 0.79788456080286535588)));
  }
};

struct LowerLeakyRelu {
  static constexpr std::string_view op = "aten.leaky_relu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const hlo::Value sloped = b.multiply(x, c.full_like(x, c.number(call, "negative_slope")));
    return c.to_result(call, b.select(detail::is_positive(c, x), x, sloped));
  }
};

struct LowerElu {
  static constexpr std::string_view op = "aten.elu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const auto times = [&](hlo::Value v, std::string_view name) {
      const Number factor = c.number(call, name);
      return factor.is(1) ? v : b.multiply(v, c.full_like(v, factor));
    };
    const hlo::Value curve = times(b.exponential_minus_one(times(x, "input_scale")), "alpha");
    return c.to_result(call, times(b.select(detail::is_positive(c, x), x, curve), "scale"));
  }
};

/// x, or alpha * expm1(x / alpha) below zero.
struct LowerCelu {
  static constexpr std::string_view op = "aten.celu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const hlo::Value alpha = c.full_like(x, c.number(call, "alpha"));
    const hlo::Value curve = b.multiply(alpha, b.exponential_minus_one(b.divide(x, alpha)));
    return c.to_result(call, b.select(detail::is_positive(c, x), x, curve));
  }
};

/// The exponential unit whose constants keep mean and variance of a layer.
struct LowerSelu {
  static constexpr std::string_view op = "aten.selu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    constexpr double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const hlo::Value curve = b.multiply(b.exponential_minus_one(x), c.full_like(x, alpha));
    return c.to_result(call, b.multiply(b.select(detail::is_positive(c, x), x, curve), c.full_like(x, scale)));
  }
};

struct LowerSoftplus {
  static constexpr std::string_view op = "aten.softplus";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const hlo::Value beta = c.full_like(x, c.number(call, "beta"));
    const hlo::Value scaled = b.multiply(x, beta);
    const hlo::Value is_linear = b.compare(scaled, c.full_like(x, c.number(call, "threshold")), hlo::Direction::gt);
    return c.to_result(call, b.select(is_linear, x, b.divide(b.log_plus_one(b.exponential(scaled)), beta)));
  }
};

struct LowerMish {
  static constexpr std::string_view op = "aten.mish";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    return c.to_result(call, c.builder().multiply(x, c.builder().tanh(detail::softplus(c, x))));
  }
};

struct LowerLogSigmoid {
  static constexpr std::string_view op = "aten.log_sigmoid";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    return c.to_result(call, c.builder().negate(detail::softplus(c, c.builder().negate(x))));
  }
};

namespace detail {
/// clamp(x + 3, 0, 6) / 6
constexpr auto hard_sigmoid(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  return b.divide(between(c, b.add(x, c.full_like(x, 3)), 0, 6), c.full_like(x, 6));
}
}  // namespace detail

struct LowerHardsigmoid {
  static constexpr std::string_view op = "aten.hardsigmoid";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.to_result(call, detail::hard_sigmoid(c, c.accurate(c.tensor(call, "self"))));
  }
};

struct LowerHardswish {
  static constexpr std::string_view op = "aten.hardswish";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    return c.to_result(call, c.builder().multiply(x, detail::hard_sigmoid(c, x)));
  }
};

/// One half of a dimension times the sigmoid of the other.
struct LowerGlu {
  static constexpr std::string_view op = "aten.glu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    if (!x.valid() || b.rank(x) == 0) return {};
    const std::size_t dim = c.dim(call, "dim", b.rank(x));
    const auto along = static_cast<std::int64_t>(dim);
    const std::int64_t half = b.dims(x)[dim] / 2;
    const hlo::Value gate = b.slice_in_dim(x, along, half, 2 * half);
    return c.to_result(call, b.multiply(b.slice_in_dim(x, along, 0, half), b.logistic(gate)));
  }
};

/// Below zero times a weight: one for all, or one for each channel, dimension 1.
struct LowerPrelu {
  static constexpr std::array<std::string_view, 2> op{"aten.prelu", "aten._prelu_kernel"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    hlo::Value weight = c.tensor(call, "weight");
    if (!x.valid() || !weight.valid()) return {};
    const bool is_one = b.shape(weight).element_count() == 1;
    if (is_one)
      weight = b.broadcast(b.reshape(weight, {}), b.dims(x));
    else if (call.schema().base() == "aten.prelu")
      weight = b.broadcast_in_dim(weight, b.dims(x), {b.rank(x) == 1 ? 0 : 1});
    else
      weight = c.broadcast_to(call, weight, b.dims(x));
    return b.select(detail::is_positive(c, x), x, b.multiply(x, weight));
  }
};

/// Outside training a leaky unit whose slope is the mean of its bounds. Random numbers are not lowered.
struct LowerRrelu {
  static constexpr std::string_view op = "aten.rrelu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    if (c.boolean(call, "training")) return c.unsupported(call, "random slopes in training");
    const double slope = (c.number(call, "lower").real + c.number(call, "upper").real) / 2;
    return c.to_result(call, b.select(detail::is_positive(c, x), x, b.multiply(x, c.full_like(x, slope))));
  }
};

// Softmax --------------------------------------------------------------------------------------------------------------

namespace detail {

/// x less its maximum along `dim`, and the exponentials' sum.
struct SoftmaxParts {
  hlo::Value shifted;
  hlo::Value exponential;
  hlo::Value sum;
};
constexpr auto softmax_parts(auto& c, hlo::Value x, std::size_t dim) -> SoftmaxParts {
  auto& b = c.builder();
  if (!x.valid() || b.rank(x) == 0) {
    const hlo::Value zero = b.subtract(x, x), one = b.exponential(zero);
    return {zero, one, one};
  }
  const hlo::Dims dims{static_cast<std::int64_t>(dim)};
  const hlo::Value highest = reduce_keeping(c, x, dims, hlo::Opcode::maximum);
  const hlo::Value shifted = b.subtract(x, spread_over(c, highest, x, dims));
  const hlo::Value exponential = b.exponential(shifted);
  const hlo::Value sum = reduce_keeping(c, exponential, dims, hlo::Opcode::add);
  return {shifted, exponential, spread_over(c, sum, x, dims)};
}

constexpr auto softmax(auto& c, hlo::Value x, std::size_t dim) -> hlo::Value {
  const SoftmaxParts parts = softmax_parts(c, x, dim);
  return c.builder().divide(parts.exponential, parts.sum);
}

/// As softmax, but zero where everything along `dim` is minus infinity.
constexpr auto safe_softmax(auto& c, hlo::Value x, std::size_t dim) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Dims dims{static_cast<std::int64_t>(dim)};
  const hlo::Value highest = reduce_keeping(c, x, dims, hlo::Opcode::maximum);
  const hlo::Value lowest = b.broadcast(b.lowest(b.dtype(x)), b.dims(highest));
  const hlo::Value is_masked = b.compare(highest, lowest, hlo::Direction::eq);
  return b.select(spread_over(c, is_masked, x, dims), c.full_like(x, 0), softmax(c, x, dim));
}

/// The operand of a softmax in the type that eager computes in: a dtype argument converts first.
constexpr auto softmax_operand(auto& c, const Call& call) -> hlo::Value {
  hlo::Value x = c.tensor(call, "self");
  if (call.has("dtype")) x = c.to_result(call, x);
  return c.accurate(x);
}

}  // namespace detail

struct LowerSoftmax {
  static constexpr std::array<std::string_view, 3> op{"aten.softmax", "aten._softmax", "aten.special_softmax"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = detail::softmax_operand(c, call);
    return c.to_result(call, detail::softmax(c, x, c.dim(call, "dim", c.builder().rank(x))));
  }
};

/// `torch.nn.functional.softmin(input, dim, _stacklevel, dtype)`: softmax of the negative.
struct LowerSoftmin {
  static constexpr std::string_view op = "torch.nn.functional.softmin";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto input = c.python_argument(call, 0, "input"), dim = c.python_argument(call, 1, "dim");
    if (!input || !dim || !dim->is(ArgumentKind::integer)) return c.unsupported(call, "along a dimension that is not known");
    const hlo::Value x = c.accurate(c.to_result(call, b.negate(c.tensor(call, *input, "input"))));
    return c.to_result(call, detail::softmax(c, x, c.wrapped_dim(call, dim->integer(), b.rank(x))));
  }
};

struct LowerSafeSoftmax {
  static constexpr std::string_view op = "aten._safe_softmax";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = detail::softmax_operand(c, call);
    return c.to_result(call, detail::safe_softmax(c, x, c.dim(call, "dim", c.builder().rank(x))));
  }
};

struct LowerLogSoftmax {
  static constexpr std::array<std::string_view, 3> op{"aten.log_softmax", "aten._log_softmax",
                                                      "aten.special_log_softmax"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = detail::softmax_operand(c, call);
    const auto parts = detail::softmax_parts(c, x, c.dim(call, "dim", b.rank(x)));
    return c.to_result(call, b.subtract(parts.shifted, b.log(parts.sum)));
  }
};

// Dropout --------------------------------------------------------------------------------------------------------------

/// The argument itself outside training, or if nothing is dropped. Random numbers are not lowered.
struct LowerDropout {
  static constexpr std::array<std::string_view, 4> op{"aten.dropout", "aten.alpha_dropout", "aten.feature_dropout",
                                                      "aten.feature_alpha_dropout"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "input");
    if (!c.boolean(call, "train") || c.real(call, "p") == 0) return x;
    return c.unsupported(call, "dropout in training");
  }
};

/// The same with the mask of what is kept.
struct LowerNativeDropout {
  static constexpr std::string_view op = "aten.native_dropout";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "input");
    // None means training here.
    if (!call.has("train") || (c.boolean(call, "train") && c.real(call, "p") != 0)) {
      c.unsupported(call, "dropout in training");
      return {};
    }
    return c.members(call, {x, b.full({DType::boolean, b.dims(x)}, true)});
  }
};

/// The lowerings of this file.
using ActivationLowerings =
    lowerings<LowerRelu, LowerRelu6, LowerHardtanh, LowerSilu, LowerGelu, LowerLeakyRelu, LowerElu, LowerCelu, LowerSelu, LowerSoftplus,
              LowerMish, LowerLogSigmoid, LowerHardsigmoid, LowerHardswish, LowerSoftmax, LowerSoftmin, LowerSafeSoftmax,
              LowerLogSoftmax, LowerDropout, LowerNativeDropout, LowerGlu, LowerPrelu, LowerRrelu>;

}  // namespace fxpass

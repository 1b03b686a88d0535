// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>
#include <fxpass/lower/reductions.hpp>

#include <array>
#include <string_view>

/// @file
/// Layer, RMS, group and batch normalisation. Statistics are computed in float32 for halves.

namespace fxpass {

namespace detail {

/// The last dimensions, as many as `normalized_shape` lists.
constexpr auto normalized_dims(auto& c, const Call& call, hlo::Value x) -> hlo::Dims {
  const std::size_t count = c.integers(call, "normalized_shape").size(), rank = c.builder().rank(x);
  hlo::Dims dims;
  for (std::size_t d = rank < count ? 0 : rank - count; d < rank; ++d) dims.push_back(static_cast<std::int64_t>(d));
  return dims;
}

/// y * weight + bias, where given, aligned at the last dimension.
constexpr auto scaled_and_shifted(auto& c, const Call& call, hlo::Value y) -> hlo::Value {
  auto& b = c.builder();
  const auto parameter = [&](std::string_view name) {
    return c.broadcast_to(call, b.convert(c.tensor(call, name), b.dtype(y)), b.dims(y));
  };
  if (call.has("weight")) y = b.multiply(y, parameter("weight"));
  if (call.schema().find("bias") && call.has("bias")) y = b.add(y, parameter("bias"));
  return y;
}

struct Normalized {
  hlo::Value value;
  hlo::Value mean;  ///< this and the next with the reduced dimensions kept
  hlo::Value inverse_deviation;
};
/// (x - mean) / sqrt(variance + eps) over `dims`.
constexpr auto normalized(auto& c, hlo::Value x, const hlo::Dims& dims, double eps) -> Normalized {
  auto& b = c.builder();
  const hlo::Value mean = mean_keeping(c, x, dims);
  const hlo::Value variance = variance_keeping(c, x, dims, 0.0);
  const hlo::Value inverse = b.rsqrt(b.add(variance, c.full_like(variance, eps)));
  const hlo::Value centered = b.subtract(x, spread_over(c, mean, x, dims));
  return {b.multiply(centered, spread_over(c, inverse, x, dims)), mean, inverse};
}

}  // namespace detail

struct LowerLayerNorm {
  static constexpr std::string_view op = "aten.layer_norm";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "input"));
    const auto y = detail::normalized(c, x, detail::normalized_dims(c, call, x), c.real(call, "eps"));
    return c.to_result(call, detail::scaled_and_shifted(c, call, y.value));
  }
};

/// The same with mean and inverse deviation as further results.
struct LowerNativeLayerNorm {
  static constexpr std::string_view op = "aten.native_layer_norm";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value x = c.accurate(c.tensor(call, "input"));
    const auto y = detail::normalized(c, x, detail::normalized_dims(c, call, x), c.real(call, "eps"));
    return c.members(call, {detail::scaled_and_shifted(c, call, y.value), y.mean, y.inverse_deviation});
  }
};

struct LowerRmsNorm {
  static constexpr std::string_view op = "aten.rms_norm";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.to_result(call, detail::scaled_and_shifted(c, call, parts(c, call).value));
  }

  /// x / sqrt(mean(x^2) + eps)
  static constexpr auto parts(auto& c, const Call& call) -> detail::Normalized {
    auto& b = c.builder();
    const hlo::Value given = c.tensor(call, "input"), x = c.accurate(given);
    const hlo::Dims dims = detail::normalized_dims(c, call, x);
    // Without eps PyTorch takes the distance from 1 to the next number of the type it computes in.
    const double eps = call.has("eps") ? c.real(call, "eps") : b.dtype(x) == DType::f64 ? 0x1p-52 : 0x1p-23;
    const hlo::Value mean = detail::mean_keeping(c, b.multiply(x, x), dims);
    const hlo::Value inverse = b.rsqrt(b.add(mean, c.full_like(mean, eps)));
    return {b.multiply(x, detail::spread_over(c, inverse, x, dims)), mean, inverse};
  }
};

struct LowerFusedRmsNorm {
  static constexpr std::string_view op = "aten._fused_rms_norm";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const auto y = LowerRmsNorm::parts(c, call);
    return c.members(call, {detail::scaled_and_shifted(c, call, y.value), y.inverse_deviation});
  }
};

namespace detail {

/// y * weight + bias along the channels, dimension 1.
constexpr auto by_channel(auto& c, const Call& call, hlo::Value y) -> hlo::Value {
  auto& b = c.builder();
  const auto parameter = [&](std::string_view name) {
    return b.broadcast_in_dim(b.convert(c.tensor(call, name), b.dtype(y)), b.dims(y), {1});
  };
  if (call.has("weight")) y = b.multiply(y, parameter("weight"));
  if (call.has("bias")) y = b.add(y, parameter("bias"));
  return y;
}

/// All dimensions but the channels.
constexpr auto all_but_channels(auto& c, hlo::Value x) -> hlo::Dims {
  hlo::Dims dims = hlo::iota_dims(c.builder().rank(x));
  dims.erase(1);
  return dims;
}

/// Groups of channels normalised together, [N, groups, rest].
constexpr auto group_normalized(auto& c, hlo::Value x, std::int64_t groups, double eps) -> Normalized {
  auto& b = c.builder();
  if (!x.valid()) return {};
  const hlo::Dims whole = b.dims(x);
  const std::int64_t batch = whole[0];
  const std::int64_t rest = batch * groups == 0 ? 0 : b.shape(x).element_count() / (batch * groups);
  Normalized y = normalized(c, b.reshape(x, {batch, groups, rest}), {2}, eps);
  y.value = b.reshape(y.value, whole);
  return y;
}

}  // namespace detail

struct LowerGroupNorm {
  static constexpr std::string_view op = "aten.group_norm";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "input"));
    const auto y = detail::group_normalized(c, x, c.integer(call, "num_groups"), c.real(call, "eps"));
    return c.to_result(call, detail::by_channel(c, call, y.value));
  }
};

struct LowerNativeGroupNorm {
  static constexpr std::string_view op = "aten.native_group_norm";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value x = c.accurate(c.tensor(call, "input"));
    const auto y = detail::group_normalized(c, x, c.integer(call, "group"), c.real(call, "eps"));
    return c.members(call, {detail::by_channel(c, call, y.value), y.mean, y.inverse_deviation});
  }
};

// Batch normalisation --------------------------------------------------------------------------------------------------

namespace detail {

/// Everything that any form of batch normalisation gives.
struct BatchNormalized {
  hlo::Value value;
  hlo::Value mean;  ///< of the batch; by channel, as the rest
  hlo::Value inverse_deviation;
  hlo::Value running_mean;  ///< the new ones
  hlo::Value running_var;
};

/// The running statistic moved towards that of the batch: (1 - momentum) * old + momentum * new, in its own dtype.
constexpr auto moved_statistic(auto& c, const Call& call, std::string_view name, hlo::Value batch, double momentum)
    -> hlo::Value {
  auto& b = c.builder();
  if (!call.schema().find(name) || !call.has(name)) return {};
  const hlo::Value old = c.tensor(call, name);
  const hlo::Value wide = b.convert(old, b.dtype(batch));
  const hlo::Value kept = b.multiply(wide, c.full_like(wide, 1.0 - momentum));
  return b.convert(b.add(kept, b.multiply(batch, c.full_like(batch, momentum))), b.dtype(old));
}

/// By the batch's own statistics, or by the running ones.
constexpr auto batch_normalized(auto& c, const Call& call, bool by_batch) -> BatchNormalized {
  auto& b = c.builder();
  const hlo::Value x = c.accurate(c.tensor(call, "input"));
  if (!x.valid()) return {};
  // A list without elements has no channels either.
  if (b.rank(x) < 2 && b.shape(x).element_count() == 0) return {x, x, x, x, x};
  const double eps = c.real(call, "eps");
  const hlo::Dims dims = all_but_channels(c, x);
  if (!by_batch) {
    const hlo::Value mean = b.convert(c.tensor(call, "running_mean"), b.dtype(x));
    const hlo::Value variance = b.convert(c.tensor(call, "running_var"), b.dtype(x));
    const hlo::Value inverse = b.rsqrt(b.add(variance, c.full_like(variance, eps)));
    const hlo::Value centered = b.subtract(x, b.broadcast_in_dim(mean, b.dims(x), {1}));
    const hlo::Value y = b.multiply(centered, b.broadcast_in_dim(inverse, b.dims(x), {1}));
    return {by_channel(c, call, y), {}, {}, {}, {}};
  }
  const Normalized y = normalized(c, x, dims, eps);
  const hlo::Dims channels{b.dims(x)[1]};
  const double momentum = c.real(call, "momentum");
  BatchNormalized result{by_channel(c, call, y.value), b.reshape(y.mean, channels),
                         b.reshape(y.inverse_deviation, channels), {}, {}};
  result.running_mean = moved_statistic(c, call, "running_mean", result.mean, momentum);
  // The running variance takes the unbiased estimate, though the batch is normalised by the biased one.
  const hlo::Value variance = b.reshape(variance_keeping(c, x, dims, 1.0), channels);
  result.running_var = moved_statistic(c, call, "running_var", variance, momentum);
  return result;
}

/// Whether a call normalises by the batch's statistics.
constexpr auto is_training(auto& c, const Call& call) -> bool { return c.boolean(call, "training"); }

/// What eager returns for statistics of the batch where there are none: nothing, [0].
constexpr auto no_statistics(auto& c, const Call& call, std::size_t member) -> hlo::Value {
  const auto metas = c.graph().values(call.id());
  if (member >= metas.size() || !metas[member].known) return {};
  const hlo::Shape shape = c.shape_of(metas[member]);
  return shape.element_count() == 0 ? c.full(shape, 0) : hlo::Value{};
}

}  // namespace detail

/// Outside training, or without statistics to keep. One that writes its statistics is rewritten by the passes.
struct LowerBatchNorm {
  static constexpr std::string_view op = "aten.batch_norm";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const bool by_batch = detail::is_training(c, call) || !call.has("running_mean");
    return c.to_result(call, detail::batch_normalized(c, call, by_batch).value);
  }
};

/// By the statistics of each instance and channel, or by running ones, which are not written here.
struct LowerInstanceNorm {
  static constexpr std::string_view op = "aten.instance_norm";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "input"));
    if (!x.valid() || b.rank(x) < 2) return {};
    if (!c.boolean(call, "use_input_stats")) return c.to_result(call, detail::batch_normalized(c, call, false).value);
    hlo::Dims dims;
    for (std::size_t d = 2; d < b.rank(x); ++d) dims.push_back(static_cast<std::int64_t>(d));
    const auto y = detail::normalized(c, x, dims, c.real(call, "eps"));
    return c.to_result(call, detail::by_channel(c, call, y.value));
  }
};

struct LowerNativeBatchNorm {
  static constexpr std::array<std::string_view, 2> op{"aten.native_batch_norm", "aten._native_batch_norm_legit"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const bool by_batch = detail::is_training(c, call);
    const auto y = detail::batch_normalized(c, call, by_batch);
    if (by_batch) return c.members(call, {y.value, y.mean, y.inverse_deviation});
    return c.members(call, {y.value, detail::no_statistics(c, call, 1), detail::no_statistics(c, call, 2)});
  }
};

struct LowerBatchNormInference {
  static constexpr std::array<std::string_view, 2> op{"aten._native_batch_norm_legit_no_training",
                                                      "aten._batch_norm_no_update"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const auto y = detail::batch_normalized(c, call, false);
    return c.members(call, {y.value, detail::no_statistics(c, call, 1), detail::no_statistics(c, call, 2),
                                        detail::no_statistics(c, call, 3)});
  }
};

/// With the new running statistics as results 3 and 4.
struct LowerBatchNormFunctional {
  static constexpr std::string_view op = "aten._native_batch_norm_legit_functional";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    if (detail::is_training(c, call)) {
      const auto y = detail::batch_normalized(c, call, true);
      return c.members(call, {y.value, y.mean, y.inverse_deviation, y.running_mean, y.running_var});
    }
    const auto y = detail::batch_normalized(c, call, false);
    return c.members(call, {y.value, detail::no_statistics(c, call, 1), detail::no_statistics(c, call, 2),
                                        c.tensor(call, "running_mean"), c.tensor(call, "running_var")});
  }
};

/// With an opaque reserve as result 3, and the new running statistics behind it.
struct LowerBatchNormWithUpdate {
  static constexpr std::string_view op = "aten._batch_norm_with_update_functional";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const auto y = detail::batch_normalized(c, call, true);
    return c.members(call, {y.value, y.mean, y.inverse_deviation, detail::no_statistics(c, call, 3),
                                        y.running_mean, y.running_var});
  }
};

/// g * v / |v|, the norm over all dimensions but `dim`.
struct LowerWeightNorm {
  static constexpr std::string_view op = "aten._weight_norm";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value v = c.accurate(c.tensor(call, "v"));
    const std::size_t rank = b.rank(v);
    if (!v.valid() || rank == 0) return {};
    // PyTorch's -1 stands for a norm over all dimensions.
    const std::int64_t given = c.integer(call, "dim");
    hlo::Dims dims;
    for (std::size_t d = 0; d < rank; ++d)
      if (given == -1 || d != c.dim(call, "dim", rank)) dims.push_back(static_cast<std::int64_t>(d));
    const hlo::Value norm = detail::norm_keeping(c, v, dims, 2);
    const hlo::Value scale = b.divide(b.reshape(c.accurate(c.tensor(call, "g")), b.dims(norm)), norm);
    return c.to_result(call, b.multiply(v, detail::spread_over(c, scale, v, dims)));
  }
};

/// The lowerings of this file.
using NormalizationLowerings =
    lowerings<LowerLayerNorm, LowerNativeLayerNorm, LowerRmsNorm, LowerFusedRmsNorm, LowerGroupNorm,
              LowerNativeGroupNorm, LowerBatchNorm, LowerInstanceNorm, LowerNativeBatchNorm, LowerBatchNormInference,
              LowerBatchNormFunctional, LowerBatchNormWithUpdate, LowerWeightNorm>;

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/indexing.hpp>
#include <fxpass/lower/lowering.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// Operators that enlarge or shrink images, pad them with themselves, and rearrange their elements. Which
/// elements an output is made of is known when the program is compiled, so indices and weights are constants.

namespace fxpass {

namespace detail {

/// The elements of `x` at `places` of one dimension.
constexpr auto take_places(auto& c, hlo::Value x, std::size_t dim, const Pool<std::int64_t>& places)
    -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  const hlo::Dims count{static_cast<std::int64_t>(places.size())};
  return gather(c, x, index_of_dim(c, x, dim, b.constant(DType::i64, count, places.view())));
}

/// One output element of a dimension that is resampled: two input elements, and the weight of the second.
struct Blend {
  Pool<std::int64_t> first;
  Pool<std::int64_t> second;
  Pool<double> weight;
};

/// How far apart input elements are for neighbouring outputs, by the rules of
/// `torch.nn.functional.interpolate`: between the centres of the corner elements, else by the factor that was
/// given or by the sizes.
[[nodiscard]] constexpr auto resampling_step(std::int64_t in, std::int64_t out, bool align_corners,
                                             std::optional<double> factor) -> double {
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
  if (factor && *factor > 0) return 1.0 / *factor;
  return static_cast<double>(in) / static_cast<double>(out);
}
[[nodiscard]] constexpr auto whole_part(double x) -> std::int64_t { return static_cast<std::int64_t>(x); }

/// Where the nearest element is for each output. Eager computes this in float32.
[[nodiscard]] constexpr auto nearest_places(std::int64_t in, std::int64_t out, std::optional<double> factor,
                                            bool exact) -> Pool<std::int64_t> {
  Pool<std::int64_t> places;
  const auto step = static_cast<float>(resampling_step(in, out, false, factor));
  for (std::int64_t i = 0; i < out; ++i) {
    const float at = (static_cast<float>(i) + (exact ? 0.5F : 0.0F)) * step;
    const auto place = static_cast<std::int64_t>(at);
    places.push_back(place < in - 1 ? place : in - 1);
  }
  return places;
}
[[nodiscard]] constexpr auto linear_blend(std::int64_t in, std::int64_t out, bool align_corners,
                                          std::optional<double> factor) -> Blend {
  Blend blend;
  const double step = resampling_step(in, out, align_corners, factor);
  for (std::int64_t i = 0; i < out; ++i) {
    double at = align_corners ? step * static_cast<double>(i) : step * (static_cast<double>(i) + 0.5) - 0.5;
    if (at < 0) at = 0;
    std::int64_t low = whole_part(at);
    if (low > in - 1) low = in - 1;
    blend.first.push_back(low);
    blend.second.push_back(low < in - 1 ? low + 1 : low);
    blend.weight.push_back(at - static_cast<double>(low));
  }
  return blend;
}

/// The factor for spatial dimension `i`, which overloads spell as a list or one by one; none where it is not
/// given.
constexpr auto resampling_factor(auto& c, const Call& call, std::size_t i, std::size_t spatial)
    -> std::optional<double> {
  if (call.schema().find("scale_factors")) {
    const auto factors = call.list("scale_factors");
    if (!factors || i >= factors->size()) return std::nullopt;
    const auto number = c.number_of((*factors)[i]);
    return number ? std::optional<double>(number->real) : std::nullopt;
  }
  constexpr std::array<std::string_view, 3> names{"scales_d", "scales_h", "scales_w"};
  const std::string_view name = spatial == 1 ? "scales" : names[3 - spatial + i];
  if (!call.schema().find(name) || !call.has(name)) return std::nullopt;
  return c.real(call, name);
}
/// The same as a function of the spatial dimension.
constexpr auto given_factors(auto& c, const Call& call, hlo::Value x) {
  const std::size_t spatial = c.builder().rank(x) > 2 ? c.builder().rank(x) - 2 : 1;
  return [&c, &call, spatial](std::size_t i) { return resampling_factor(c, call, i, spatial); };
}

/// `x` with its spatial dimensions in the sizes of the result; `factor(i)` is what was given for the i-th.
constexpr auto resample_nearest(auto& c, const Call& call, hlo::Value x, const auto& factor, bool exact)
    -> hlo::Value {
  auto& b = c.builder();
  const hlo::Dims to = c.result_shape(call).dims;
  if (!x.valid() || to.size() != b.rank(x)) return {};
  for (std::size_t d = 2; d < to.size(); ++d)
    x = take_places(c, x, d, nearest_places(b.dims(x)[d], to[d], factor(d - 2), exact));
  return x;
}
constexpr auto resample_linear(auto& c, const Call& call, hlo::Value x, const auto& factor,
                               bool align_corners) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Dims to = c.result_shape(call).dims;
  if (!x.valid() || to.size() != b.rank(x)) return {};
  x = c.accurate(x);
  for (std::size_t d = 2; d < to.size(); ++d) {
    const Blend blend = linear_blend(b.dims(x)[d], to[d], align_corners, factor(d - 2));
    const hlo::Value low = take_places(c, x, d, blend.first), high = take_places(c, x, d, blend.second);
    const hlo::Value weights = b.constant(b.dtype(x), {to[d]}, blend.weight.view());
    const hlo::Value weight = b.broadcast_in_dim(weights, b.dims(low), {static_cast<std::int64_t>(d)});
    x = b.add(low, b.multiply(weight, b.subtract(high, low)));
  }
  return c.to_result(call, x);
}

}  // namespace detail

/// Each output is the nearest input; `exact` measures from the centres of elements.
template <bool IsExact, TextConstant... Names>
struct LowerUpsampleNearest {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, call.schema().find("input") ? "input" : "self");
    return detail::resample_nearest(c, call, x, detail::given_factors(c, call, x), IsExact);
  }
};

/// Each output is a blend of two inputs in each dimension.
template <TextConstant... Names>
struct LowerUpsampleLinear {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, call.schema().find("input") ? "input" : "self");
    return detail::resample_linear(c, call, x, detail::given_factors(c, call, x),
                                   c.boolean(call, "align_corners"));
  }
};

/// `torch.nn.functional.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)`
struct LowerInterpolate {
  static constexpr std::string_view op = "torch.nn.functional.interpolate";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto input = c.python_argument(call, 0, "input");
    const auto given_mode = c.python_argument(call, 3, "mode");
    if (!input) return c.unsupported(call, "without input");
    const auto is_true = [&](std::size_t position, std::string_view name) {
      const auto a = c.python_argument(call, position, name);
      return a && a->is(ArgumentKind::boolean) && a->boolean();
    };
    const std::string_view mode = given_mode && given_mode->is(ArgumentKind::string)
                                      ? std::string_view(c.graph().text(given_mode->text()))
                                      : std::string_view("nearest");
    const bool is_nearest = mode == "nearest" || mode == "nearest-exact";
    if ((!is_nearest && mode != "linear" && mode != "bilinear" && mode != "trilinear") ||
        is_true(6, "antialias"))
      return c.unsupported(call, "of this mode");
    // A factor that is computed anew is that of the sizes.
    const bool by_sizes = is_true(5, "recompute_scale_factor");
    const auto scale = by_sizes ? std::nullopt : c.python_argument(call, 2, "scale_factor");
    const auto factor = [&](std::size_t i) -> std::optional<double> {
      if (!scale) return std::nullopt;
      const auto list = scale->is_sequence() ? c.graph().children(*scale) : Span<const Argument>(&*scale, 1);
      const auto number = c.number_of(list[list.size() == 1 ? 0 : i]);
      return number ? std::optional<double>(number->real) : std::nullopt;
    };
    const hlo::Value x = c.tensor(call, *input, "input");
    if (is_nearest) return detail::resample_nearest(c, call, x, factor, mode == "nearest-exact");
    return detail::resample_linear(c, call, x, factor, is_true(4, "align_corners"));
  }
};

/// How a padded place outside of a dimension of size `size` is filled.
enum class PadMode : std::uint8_t { reflect, replicate, circular };

namespace detail {
[[nodiscard]] constexpr auto padded_place(std::int64_t at, std::int64_t size, PadMode mode) -> std::int64_t {
  if (at >= 0 && at < size) return at;
  if (mode == PadMode::replicate) return at < 0 ? 0 : size - 1;
  if (mode == PadMode::circular) return (at % size + size) % size;
  return at < 0 ? -at : 2 * (size - 1) - at;
}
/// `x` padded with itself. `padding` begins with the last dimension, as PyTorch's lists do.
constexpr auto pad_with_itself(auto& c, hlo::Value x, const hlo::Dims& padding, PadMode mode) -> hlo::Value {
  auto& b = c.builder();
  for (std::size_t k = 0; 2 * k + 1 < padding.size() && x.valid() && k < b.rank(x); ++k) {
    const std::size_t d = b.rank(x) - 1 - k;
    const std::int64_t size = b.dims(x)[d], low = padding[2 * k], high = padding[2 * k + 1];
    if (low == 0 && high == 0) continue;
    Pool<std::int64_t> places;
    for (std::int64_t i = -low; i < size + high; ++i) places.push_back(padded_place(i, size, mode));
    x = take_places(c, x, d, places);
  }
  return x;
}
}  // namespace detail

template <PadMode Mode, TextConstant... Names>
struct LowerPadWithItself {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return detail::pad_with_itself(c, c.tensor(call, "self"), c.integers(call, "padding"), Mode);
  }
};

/// Padding of any mode.
struct LowerPadOfMode {
  static constexpr std::string_view op = "aten.pad";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto mode = call.string("mode");
    if (!mode || *mode == "constant") return LowerConstantPad::lower(c, call);
    struct Mode {
      std::string_view name;
      PadMode mode;
    };
    constexpr std::array<Mode, 3> modes{
        {{"reflect", PadMode::reflect}, {"replicate", PadMode::replicate}, {"circular", PadMode::circular}}};
    for (const Mode& known : modes)
      if (known.name == *mode)
        return detail::pad_with_itself(c, c.tensor(call, "self"), c.integers(call, "pad"), known.mode);
    return c.unsupported(call, "of this mode");
  }
};

/// Blocks of channels as blocks of pixels, or the other way.
template <TextConstant Name, bool IsBack>
struct LowerPixelShuffle {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const std::int64_t r = c.integer(call, IsBack ? "downscale_factor" : "upscale_factor");
    const hlo::Dims to = c.result_shape(call).dims;
    const std::size_t rank = b.rank(x);
    if (!x.valid() || rank < 3 || r < 1) return {};
    // (..., C, r, r, H, W) against (..., C, H, r, W, r)
    const hlo::Dims small = IsBack ? to : b.dims(x);
    const std::int64_t channels = (IsBack ? b.dims(x) : to)[rank - 3];
    hlo::Dims split, order;
    for (std::size_t d = 0; d + 3 < rank; ++d) {
      split.push_back(small[d]);
      order.push_back(static_cast<std::int64_t>(d));
    }
    const std::int64_t h = small[rank - 2], w = small[rank - 1];
    const auto first = static_cast<std::int64_t>(rank) - 3;
    for (const std::int64_t size : IsBack ? hlo::Dims{channels, h, r, w, r} : hlo::Dims{channels, r, r, h, w})
      split.push_back(size);
    for (const std::int64_t place : IsBack ? hlo::Dims{0, 2, 4, 1, 3} : hlo::Dims{0, 3, 1, 4, 2})
      order.push_back(first + place);
    return b.reshape(b.transpose(b.reshape(x, split), order), to);
  }
};

/// The lowerings of this file.
using ResamplingLowerings = lowerings<
    LowerUpsampleNearest<false, "aten.upsample_nearest1d", "aten.upsample_nearest2d",
                         "aten.upsample_nearest3d">,
    LowerUpsampleNearest<true, "aten._upsample_nearest_exact1d", "aten._upsample_nearest_exact2d",
                         "aten._upsample_nearest_exact3d">,
    LowerUpsampleLinear<"aten.upsample_linear1d", "aten.upsample_bilinear2d", "aten.upsample_trilinear3d">,
    LowerInterpolate,
    LowerPadWithItself<PadMode::reflect, "aten.reflection_pad1d", "aten.reflection_pad2d",
                       "aten.reflection_pad3d">,
    LowerPadWithItself<PadMode::replicate, "aten.replication_pad1d", "aten.replication_pad2d",
                       "aten.replication_pad3d">,
    LowerPadOfMode, LowerPixelShuffle<"aten.pixel_shuffle", false>,
    LowerPixelShuffle<"aten.pixel_unshuffle", true>>;

}  // namespace fxpass

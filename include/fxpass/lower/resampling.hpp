// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/indexing.hpp>
#include <fxpass/lower/lowering.hpp>
#include <fxpass/lower/pooling.hpp>
#include <fxpass/lower/shape_ops.hpp>

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

namespace detail {

/// The matrix that resamples one dimension: what each input element weighs in each output, [in, out].
using Resampling = Pool<double>;

[[nodiscard]] constexpr auto floor_of(double x) -> std::int64_t {
  const auto whole = static_cast<std::int64_t>(x);
  return static_cast<double>(whole) > x ? whole - 1 : whole;
}
[[nodiscard]] constexpr auto magnitude(double x) -> double { return x < 0 ? -x : x; }

/// The weight of an element at a distance, by which cubic resampling convolves: -3/4 is PyTorch's parameter, and -1/2 that
/// of its filters against aliasing.
[[nodiscard]] constexpr auto cubic_weight(double distance, double a) -> double {
  const double x = magnitude(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}
/// Four elements around each place; those beyond the ends are the ends.
[[nodiscard]] constexpr auto cubic_resampling(std::int64_t in, std::int64_t out, bool align_corners,
                                              std::optional<double> factor) -> Resampling {
  Resampling matrix;
  matrix.resize(static_cast<std::uint32_t>(in * out), 0.0);
  const double step = resampling_step(in, out, align_corners, factor);
  for (std::int64_t i = 0; i < out; ++i) {
    const double at = align_corners ? step * static_cast<double>(i) : step * (static_cast<double>(i) + 0.5) - 0.5;
    const std::int64_t first = floor_of(at) - 1;
    for (std::int64_t k = first; k < first + 4; ++k) {
      const std::int64_t place = k < 0 ? 0 : k > in - 1 ? in - 1 : k;
      matrix[static_cast<std::uint32_t>(place * out + i)] += cubic_weight(at - static_cast<double>(k), -0.75);
    }
  }
  return matrix;
}
/// A filter as wide as the elements of the result are, which averages what falls into one of them.
[[nodiscard]] constexpr auto filtered_resampling(std::int64_t in, std::int64_t out, bool align_corners,
                                                 std::optional<double> factor, bool is_cubic) -> Resampling {
  Resampling matrix;
  matrix.resize(static_cast<std::uint32_t>(in * out), 0.0);
  const double step = resampling_step(in, out, align_corners, factor), widening = step >= 1 ? step : 1.0;
  const double support = (is_cubic ? 2.0 : 1.0) * widening;
  for (std::int64_t i = 0; i < out; ++i) {
    constexpr double half = 0.5;  // an element's center: those are taken whose center lies in the filter
    const double center = step * (static_cast<double>(i) + half);
    const auto from = static_cast<std::int64_t>(center - support + half), to = static_cast<std::int64_t>(center + support + half);
    const std::int64_t first = from < 0 ? 0 : from, last = to < in ? to : in;
    double total = 0;
    const auto weight = [&](std::int64_t k) {
      const double distance = (static_cast<double>(k) - center + 0.5) / widening;
      if (is_cubic) return cubic_weight(distance, -0.5);
      return magnitude(distance) < 1 ? 1 - magnitude(distance) : 0.0;
    };
    for (std::int64_t k = first; k < last; ++k) total += weight(k);
    for (std::int64_t k = first; k < last; ++k)
      matrix[static_cast<std::uint32_t>(k * out + i)] = total == 0 ? weight(k) : weight(k) / total;
  }
  return matrix;
}
/// `x` with dimension `d` resampled.
constexpr auto resample_by(auto& c, hlo::Value x, std::size_t d, std::int64_t out, const Resampling& matrix) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Value weights = b.constant(b.dtype(x), {b.dims(x)[d], out}, matrix.view());
  const hlo::Value y = b.dot_general(x, weights, {{static_cast<std::int64_t>(d)}, {0}, {}, {}}, b.dtype(x),
                                     hlo::Precision::highest);
  return last_moved_to(c, y, d);  // the product puts the new dimension last
}

constexpr auto resample_by_matrix(auto& c, const Call& call, hlo::Value x, const auto& factor, bool align_corners,
                                  bool is_cubic, bool is_filtered) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Dims to = c.result_shape(call).dims;
  if (!x.valid() || to.size() != b.rank(x)) return {};
  x = c.accurate(x);
  for (std::size_t d = 2; d < to.size(); ++d) {
    const std::int64_t in = b.dims(x)[d];
    if (in == to[d] && !factor(d - 2)) continue;
    if (is_filtered)
      x = resample_by(c, x, d, to[d], filtered_resampling(in, to[d], align_corners, factor(d - 2), is_cubic));
    else
      x = resample_by(c, x, d, to[d], cubic_resampling(in, to[d], align_corners, factor(d - 2)));
  }
  return c.to_result(call, x);
}

}  // namespace detail

/// Each output is made of four inputs in each dimension, or of all that fall into it.
template <bool IsCubic, bool IsFiltered, TextConstant... Names>
struct LowerUpsampleByMatrix {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, call.schema().find("input") ? "input" : "self");
    return detail::resample_by_matrix(c, call, x, detail::given_factors(c, call, x), c.boolean(call, "align_corners"),
                                      IsCubic, IsFiltered);
  }
};

/// An image read at places that the grid gives as numbers from -1 to 1: x, y (and z). The modes are ATen's numbers: bilinear,
/// nearest, bicubic; zeros, the border, or reflections where a place is outside.
struct LowerGridSampler {
  static constexpr std::array<std::string_view, 3> op{"aten.grid_sampler", "aten.grid_sampler_2d", "aten.grid_sampler_3d"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "input")), grid = c.accurate(c.tensor(call, "grid"));
    if (!x.valid() || !grid.valid()) return {};
    // Python's function names the modes that ATen numbers, and takes None for False.
    const bool has_names = call.string("mode").has_value();
    const std::int64_t mode = has_names ? number_of(call, "mode", {"bilinear", "nearest", "bicubic"})
                                        : c.integer(call, "interpolation_mode");
    const std::int64_t padding = has_names ? number_of(call, "padding_mode", {"zeros", "border", "reflection"})
                                           : c.integer(call, "padding_mode");
    const bool align_corners = call.boolean("align_corners").value_or(false);
    const std::size_t spatial = b.rank(x) - 2;
    if (mode < 0 || mode > 2 || padding < 0 || padding > 2 || (mode == 2 && spatial != 2))
      return c.fail(call, DiagnosticCode::eager_would_raise, "there is no such mode");
    // Places in each dimension of the image; the grid names the last one first.
    hlo::Dims places = b.dims(grid);
    places.erase(places.size() - 1);
    Pool<hlo::Value> at;
    for (std::size_t d = 0; d < spatial; ++d) {
      const auto last = static_cast<std::int64_t>(spatial);
      const auto number = last - 1 - static_cast<std::int64_t>(d);
      const hlo::Value g = b.reshape(b.slice_in_dim(grid, static_cast<std::int64_t>(places.size()), number, number + 1), places);
      const hlo::Value place = unnormalized(c, g, b.dims(x)[d + 2], align_corners);
      at.push_back(mode == 2 ? place : inside(c, place, b.dims(x)[d + 2], padding, align_corners));
    }
    hlo::Value sum;
    const std::int64_t taps = mode == 1 ? 1 : mode == 0 ? 2 : 4;
    std::int64_t corners = 1;
    for (std::size_t d = 0; d < spatial; ++d) corners *= taps;
    for (std::int64_t corner = 0; corner < corners; ++corner) {
      Pool<hlo::Value> index;
      hlo::Value weight = c.full({b.dtype(x), places}, 1);
      std::int64_t rest = corner;
      for (std::size_t d = 0; d < spatial; ++d) {
        const std::int64_t tap = rest % taps;
        rest /= taps;
        if (mode == 1) {
          index.push_back(b.round_nearest_even(at[static_cast<std::uint32_t>(d)]));
          continue;
        }
        const hlo::Value place = at[static_cast<std::uint32_t>(d)], low = b.floor(place), part = b.subtract(place, low);
        if (mode == 0) {
          index.push_back(b.add(low, c.full_like(low, tap)));
          weight = b.multiply(weight, tap == 0 ? b.subtract(c.full_like(part, 1), part) : part);
        } else {
          const hlo::Value element = b.add(low, c.full_like(low, tap - 1));
          index.push_back(inside(c, element, b.dims(x)[d + 2], padding, align_corners));
          weight = b.multiply(weight, cubic(c, b.subtract(part, c.full_like(part, tap - 1))));
        }
      }
      const hlo::Value term = read(c, x, index, weight, places);
      sum = sum.valid() ? b.add(sum, term) : term;
    }
    return c.to_result(call, sum);
  }

 private:
  /// The number of the mode that the call names; -1 if it is none of them.
  static constexpr auto number_of(const Call& call, std::string_view parameter, std::array<std::string_view, 3> names)
      -> std::int64_t {
    const auto given = call.string(parameter);
    for (std::size_t i = 0; given && i < names.size(); ++i)
      if (names[i] == *given) return static_cast<std::int64_t>(i);
    return -1;
  }
  static constexpr auto unnormalized(auto& c, hlo::Value g, std::int64_t size, bool align_corners) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value one = c.full_like(g, 1), moved = b.add(g, one);
    if (align_corners) return b.multiply(b.divide(moved, c.full_like(g, 2)), c.full_like(g, size - 1));
    return b.divide(b.subtract(b.multiply(moved, c.full_like(g, size)), one), c.full_like(g, 2));
  }
  /// A place moved into the image, as the padding has it; with zeros it stays.
  static constexpr auto inside(auto& c, hlo::Value place, std::int64_t size, std::int64_t padding, bool align_corners)
      -> hlo::Value {
    auto& b = c.builder();
    if (padding == 0) return place;
    const auto clip = [&](hlo::Value v) {
      return b.minimum(b.maximum(v, c.full_like(v, 0)), c.full_like(v, size - 1));
    };
    if (padding == 1) return clip(place);
    const double low = align_corners ? 0.0 : -0.5, span = static_cast<double>(align_corners ? size - 1 : size);
    if (span == 0) return c.full_like(place, 0);
    const hlo::Value distance = b.abs(b.subtract(place, c.full_like(place, low))), width = c.full_like(place, span);
    const hlo::Value rest = b.remainder(distance, width), flips = b.floor(b.divide(distance, width));
    const hlo::Value is_even =
        b.compare(b.remainder(flips, c.full_like(flips, 2)), c.full_like(flips, 0), hlo::Direction::eq);
    const hlo::Value from_low = b.add(rest, c.full_like(rest, low));
    const hlo::Value from_high = b.add(b.subtract(width, rest), c.full_like(rest, low));
    return clip(b.select(is_even, from_low, from_high));
  }
  static constexpr auto cubic(auto& c, hlo::Value distance) -> hlo::Value {
    auto& b = c.builder();
    constexpr double a = -0.75;
    const hlo::Value x = b.abs(distance);
    const auto number = [&](double n) { return c.full_like(x, n); };
    const hlo::Value near = b.add(
        b.multiply(b.multiply(b.subtract(b.multiply(number(a + 2), x), number(a + 3)), x), x), number(1));
    const hlo::Value far = b.multiply(
        b.subtract(b.multiply(b.add(b.multiply(b.subtract(x, number(5)), x), number(8)), x), number(4)), number(a));
    return b.select(b.compare(x, number(1), hlo::Direction::le), near, far);
  }
  /// `weight` times the elements at whole places `index`; zero outside of the image.
  static constexpr auto read(auto& c, hlo::Value x, const Pool<hlo::Value>& index, hlo::Value weight,
                             const hlo::Dims& places) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Dims image = b.dims(x);
    detail::AdvancedIndex at;
    at.dims.push_back(0);
    at.indices.push_back(b.iota({DType::i64, places}, 0));
    at.shape = places;
    hlo::Value is_inside = b.full({DType::boolean, places}, true);
    for (std::uint32_t d = 0; d < index.size(); ++d) {
      const std::int64_t size = image[d + 2];
      const hlo::Value place = index[d], zero = c.full_like(place, 0), last = c.full_like(place, size - 1);
      is_inside = b.and_(is_inside, b.and_(b.compare(place, zero, hlo::Direction::ge), b.compare(place, last, hlo::Direction::le)));
      const hlo::Value held = b.select(is_inside, place, zero);
      at.dims.push_back(static_cast<std::int64_t>(d) + 2);
      at.indices.push_back(b.convert(held, DType::i64));
    }
    // Batch and places in front, channels behind.
    at.result = places;
    at.offset_dims.push_back(static_cast<std::int64_t>(places.size()));
    at.result.push_back(image[1]);
    const hlo::Value elements = detail::gather(c, x, at);
    const hlo::Dims kept = hlo::iota_dims(places.size());
    const hlo::Value scale = b.select(is_inside, weight, c.full_like(weight, 0));
    const hlo::Value mask = b.broadcast_in_dim(is_inside, b.dims(elements), kept);
    const hlo::Value product = b.multiply(elements, b.broadcast_in_dim(scale, b.dims(elements), kept));
    const hlo::Value masked = b.select(mask, product, c.full_like(product, 0));
    hlo::Dims order{0, static_cast<std::int64_t>(places.size())};
    for (std::size_t d = 1; d < places.size(); ++d) order.push_back(static_cast<std::int64_t>(d));
    return b.transpose(masked, order);
  }
};

/// `torch.nn.functional.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)`, and what it was
/// called before, of which two say the mode by their names.
struct LowerInterpolate {
  static constexpr std::array<std::string_view, 4> op{
      "torch.nn.functional.interpolate", "torch.nn.functional.upsample", "torch.nn.functional.upsample_bilinear",
      "torch.nn.functional.upsample_nearest"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto input = c.python_argument(call, 0, "input");
    const auto given_mode = c.python_argument(call, 3, "mode");
    if (!input) return c.unsupported(call, "without input");
    const auto is_true = [&](std::size_t position, std::string_view name) {
      const auto a = c.python_argument(call, position, name);
      return a && a->is(ArgumentKind::boolean) && a->boolean();
    };
    const bool is_bilinear = call.name() == "torch.nn.functional.upsample_bilinear";
    std::string_view mode = is_bilinear ? "bilinear" : "nearest";
    if (given_mode && given_mode->is(ArgumentKind::string)) mode = c.graph().text(given_mode->text());
    const bool is_nearest = mode == "nearest" || mode == "nearest-exact", is_filtered = is_true(6, "antialias");
    const bool is_linear = mode == "linear" || mode == "bilinear" || mode == "trilinear", is_cubic = mode == "bicubic";
    if (mode == "area") return detail::adaptive_average(c, call, c.tensor(call, *input, "input"), 2);
    if (!is_nearest && !is_linear && !is_cubic) return c.unsupported(call, "of this mode");
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
    const bool align_corners = is_bilinear || is_true(4, "align_corners");
    if (is_cubic || is_filtered) return detail::resample_by_matrix(c, call, x, factor, align_corners, is_cubic, is_filtered);
    return detail::resample_linear(c, call, x, factor, align_corners);
  }
};

/// How a padded place outside of a dimension of size `size` is filled.
enum class PadMode : std::uint8_t { reflect, replicate, circular };

namespace detail {
[[nodiscard]] constexpr auto padded_place(std::int64_t at, std::int64_t size, PadMode mode) -> std::int64_t {
  if (at >= 0 && at < size) return at;
  if (mode == PadMode::replicate) return at < 0 ? 0 : size - 1;
  if (mode == PadMode::circular && size > 0) return (at % size + size) % size;
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
    // Of a circle negative padding cuts a part off, which is not there to be repeated.
    const std::int64_t first = mode == PadMode::circular && low < 0 ? -low : 0;
    const std::int64_t last = mode == PadMode::circular && high < 0 ? size + high : size;
    for (std::int64_t i = -low; i < size + high; ++i) places.push_back(first + padded_place(i - first, last - first, mode));
    x = take_places(c, x, d, places);
  }
  return x;
}
/// The same in the mode of that name.
constexpr auto pad_in_mode(auto& c, const Call& call, hlo::Value x, const hlo::Dims& padding, std::string_view name)
    -> hlo::Value {
  struct Mode {
    std::string_view name;
    PadMode mode;
  };
  constexpr std::array<Mode, 3> modes{
      {{"reflect", PadMode::reflect}, {"replicate", PadMode::replicate}, {"circular", PadMode::circular}}};
  for (const Mode& known : modes)
    if (known.name == name) return pad_with_itself(c, x, padding, known.mode);
  return c.unsupported(call, "of this mode");
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
    return detail::pad_in_mode(c, call, c.tensor(call, "self"), c.integers(call, "pad"), *mode);
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
    LowerUpsampleByMatrix<true, false, "aten.upsample_bicubic2d">,
    LowerUpsampleByMatrix<false, true, "aten._upsample_bilinear2d_aa">,
    LowerUpsampleByMatrix<true, true, "aten._upsample_bicubic2d_aa">, LowerGridSampler, LowerInterpolate,
    LowerPadWithItself<PadMode::reflect, "aten.reflection_pad1d", "aten.reflection_pad2d",
                       "aten.reflection_pad3d">,
    LowerPadWithItself<PadMode::replicate, "aten.replication_pad1d", "aten.replication_pad2d",
                       "aten.replication_pad3d">,
    LowerPadOfMode, LowerPixelShuffle<"aten.pixel_shuffle", false>,
    LowerPixelShuffle<"aten.pixel_unshuffle", true>>;

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>
#include <fxpass/lower/memory.hpp>
#include <fxpass/lower/resampling.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// Fourier transforms, one dimension after another: HLO's transforms are of the last dimension.

namespace fxpass {

namespace detail {

/// What a transform is divided by: nothing, the root of the number of its elements, or that number.
enum class SpectralScale : std::uint8_t { none, by_root, by_count };

/// `norm` of a transform in one direction; an inverse divides by default.
constexpr auto spectral_scale(auto& c, const Call& call, bool is_inverse) -> SpectralScale {
  const std::string_view norm = call.has("norm") ? call.string("norm").value_or("?") : "backward";
  if (norm == "ortho") return SpectralScale::by_root;
  if (norm == "backward") return is_inverse ? SpectralScale::by_count : SpectralScale::none;
  if (norm == "forward") return is_inverse ? SpectralScale::none : SpectralScale::by_count;
  c.fail(call, DiagnosticCode::eager_would_raise, text_of("normalization '", norm, "'"));
  return SpectralScale::none;
}

/// A transform as a call names it: dimensions of a tensor, and in each the number of elements.
struct SpectralDims {
  Pool<std::size_t> dims;
  Pool<std::int64_t> sizes;  ///< -1: as many as there are
};
/// `n` and `dim` of transforms of one dimension, `s` and `dim` of those of several.
constexpr auto spectral_dims(auto& c, const Call& call, std::size_t rank) -> SpectralDims {
  SpectralDims result;
  if (call.schema().find("n")) {
    result.dims.push_back(c.dim(call, "dim", rank));
    result.sizes.push_back(call.has("n") ? c.integer(call, "n") : -1);
    return result;
  }
  hlo::Dims sizes, dims;
  if (call.has("s")) sizes = c.integers(call, "s");
  // A default stands for no `dim` where the schema has one.
  const auto listed = call.integers("dim");
  if (listed && !(call.given("dim") && call.given("dim")->is_none())) dims = c.integers(call, "dim");
  if (dims.empty()) {
    const std::size_t count = sizes.empty() ? rank : sizes.size();
    for (std::size_t d = rank < count ? 0 : rank - count; d < rank; ++d) dims.push_back(static_cast<std::int64_t>(d));
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    result.dims.push_back(c.wrapped_dim(call, dims[i], rank));
    result.sizes.push_back(i < sizes.size() ? sizes[i] : -1);
  }
  return result;
}

/// Runs `function` with dimension `dim` last.
template <class Function>
constexpr auto with_last(auto& c, hlo::Value x, std::size_t dim, Function function) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  hlo::Dims order = hlo::iota_dims(b.rank(x));
  order[dim] = order.back();
  order[order.size() - 1] = static_cast<std::int64_t>(dim);
  return b.transpose(function(b.transpose(x, order)), order);
}

/// `dim` of `x` cut, or filled up with zeros, to `size`, which is -1 where it stays.
constexpr auto resized_dim(auto& c, hlo::Value x, std::size_t dim, std::int64_t size) -> hlo::Value {
  if (size == -1 || !x.valid() || c.builder().dims(x)[dim] == size) return x;
  return with_last(c, x, dim, [&](hlo::Value v) { return resized_last(c, v, size); });
}
constexpr auto as_complex(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid() || is_complex(b.dtype(x))) return x;
  return b.convert(x, b.dtype(x) == DType::f64 ? DType::c128 : DType::c64);
}
/// Real numbers in a type that transforms take.
constexpr auto as_real(auto& c, hlo::Value x) -> hlo::Value {
  return x.valid() ? c.builder().convert(x, c.builder().dtype(x) == DType::f64 ? DType::f64 : DType::f32) : x;
}

/// A complex transform of one dimension, forward or back, neither divided by anything.
constexpr auto transform(auto& c, hlo::Value x, std::size_t dim, bool is_inverse) -> hlo::Value {
  auto& b = c.builder();
  return with_last(c, x, dim, [&](hlo::Value v) {
    const std::int64_t size = b.dims(v).back();
    if (!is_inverse) return b.fft(v, hlo::FftType::fft, {size});
    const hlo::Value y = b.fft(v, hlo::FftType::ifft, {size});
    return b.multiply(y, c.full_like(y, size));
  });
}
/// A transform of real numbers to the half that tells the rest.
constexpr auto transform_real(auto& c, hlo::Value x, std::size_t dim) -> hlo::Value {
  auto& b = c.builder();
  return with_last(c, x, dim, [&](hlo::Value v) { return b.fft(v, hlo::FftType::rfft, {b.dims(v).back()}); });
}
/// From such a half back to `size` real numbers, divided by nothing.
constexpr auto transform_to_real(auto& c, hlo::Value x, std::size_t dim, std::int64_t size) -> hlo::Value {
  auto& b = c.builder();
  return with_last(c, resized_dim(c, x, dim, size / 2 + 1), dim, [&](hlo::Value v) {
    const hlo::Value y = b.fft(v, hlo::FftType::irfft, {size});
    return b.multiply(y, c.full_like(y, size));
  });
}

constexpr auto scaled_spectrum(auto& c, hlo::Value x, SpectralScale scale, std::int64_t count) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid() || scale == SpectralScale::none) return x;
  hlo::Value divisor = c.scalar(is_complex(b.dtype(x)) ? detail::real_part(b.dtype(x)) : b.dtype(x), count);
  if (scale == SpectralScale::by_root) divisor = b.sqrt(divisor);
  return b.divide(x, b.broadcast(b.convert(divisor, b.dtype(x)), b.dims(x)));
}

/// The kinds of transforms: complex to complex, real to a half, a half to real.
enum class SpectralKind : std::uint8_t { complex, real, half };

/// All of a call: `dims` in order, the last one being that of the half. `conjugate` turns the half around: for `hfft` and
/// `ihfft`, which are the others' inverses with the other direction.
constexpr auto transform_all(auto& c, hlo::Value x, const SpectralDims& at, SpectralKind kind, bool is_inverse,
                             bool conjugate, SpectralScale scale) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  if (at.dims.empty()) return kind == SpectralKind::half ? b.real(as_complex(c, x)) : as_complex(c, x);
  const std::uint32_t last = at.dims.size() - 1;
  std::int64_t count = 1;
  x = kind == SpectralKind::real ? as_real(c, x) : as_complex(c, x);
  for (std::uint32_t i = 0; i <= last; ++i) {
    if (kind == SpectralKind::half && i == last) break;
    x = resized_dim(c, x, at.dims[i], at.sizes[i]);
    count *= b.dims(x)[at.dims[i]];
  }
  if (kind == SpectralKind::real) {
    x = transform_real(c, x, at.dims[last]);
    if (conjugate) x = LowerConjugate::conjugate(c, x);
    for (std::uint32_t i = 0; i < last; ++i) x = transform(c, x, at.dims[i], is_inverse);
  } else if (kind == SpectralKind::half) {
    const std::int64_t given = at.sizes[last];
    const std::int64_t size = given == -1 ? 2 * (b.dims(x)[at.dims[last]] - 1) : given;
    for (std::uint32_t i = 0; i < last; ++i) x = transform(c, x, at.dims[i], is_inverse);
    if (conjugate) x = LowerConjugate::conjugate(c, x);
    x = transform_to_real(c, x, at.dims[last], size);
    count *= size;
  } else {
    for (std::uint32_t i = 0; i <= last; ++i) x = transform(c, x, at.dims[i], is_inverse);
  }
  return scaled_spectrum(c, x, scale, count);
}

}  // namespace detail

/// `torch.fft`'s transforms.
template <detail::SpectralKind Kind, bool IsInverse, bool IsConjugate, TextConstant... Names>
struct LowerTransform {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return x;
    const auto at = detail::spectral_dims(c, call, c.builder().rank(x));
    return c.to_result(call, detail::transform_all(c, x, at, Kind, IsInverse, IsConjugate,
                                                   detail::spectral_scale(c, call, IsInverse)));
  }
};

/// The transforms that those decompose to; `normalization` is the number of a scale, which those of prims lack.
template <detail::SpectralKind Kind, TextConstant... Names>
struct LowerCoreTransform {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return x;
    detail::SpectralDims at;
    for (const std::int64_t d : c.integers(call, "dim")) {
      at.dims.push_back(c.wrapped_dim(call, d, b.rank(x)));
      at.sizes.push_back(-1);
    }
    const std::int64_t number = call.schema().find("normalization") ? c.integer(call, "normalization") : 0;
    if (number < 0 || number > 2) return c.fail(call, DiagnosticCode::eager_would_raise, "there is no such normalization");
    const auto scale = static_cast<detail::SpectralScale>(number);
    if constexpr (Kind == detail::SpectralKind::half) {
      if (!at.sizes.empty()) at.sizes[at.sizes.size() - 1] = c.integer(call, "last_dim_size");
      return detail::transform_all(c, x, at, Kind, true, false, scale);
    } else if constexpr (Kind == detail::SpectralKind::real) {
      // With all of the result instead of its half, it is a complex transform.
      const bool is_half = c.boolean(call, "onesided");
      return detail::transform_all(c, x, at, is_half ? Kind : detail::SpectralKind::complex, false, false, scale);
    } else {
      return detail::transform_all(c, x, at, Kind, !c.boolean(call, "forward"), false, scale);
    }
  }
};

/// The middle of each dimension rolled to its beginning, or back.
template <TextConstant Name, bool IsBack>
struct LowerSpectralShift {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return x;
    for (const std::int64_t d : c.dims(call, "dim", b.rank(x))) {
      const std::int64_t size = b.dims(x)[static_cast<std::size_t>(d)], cut = IsBack ? size / 2 : size - size / 2;
      if (cut != 0 && cut != size) x = b.concatenate({b.slice_in_dim(x, d, cut, size), b.slice_in_dim(x, d, 0, cut)}, d);
    }
    return x;
  }
};

/// The frequencies that the elements of a transform stand for.
template <TextConstant Name, bool IsHalf>
struct LowerFrequencies {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const std::int64_t n = c.integer(call, "n");
    const double step = c.real(call, "d");
    const hlo::Shape result = c.result_shape(call);
    Pool<double> values;
    for (std::int64_t i = 0; i < result.element_count(); ++i) {
      const std::int64_t number = !IsHalf && i >= (n + 1) / 2 ? i - n : i;
      values.push_back(static_cast<double>(number) / (static_cast<double>(n) * step));
    }
    return c.builder().constant(result.dtype, result.dims, values.view());
  }
};

/// Transforms of overlapping windows of the last dimension; frequencies come before windows.
struct LowerShortTimeTransform {
  static constexpr std::string_view op = "aten.stft";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value given = c.tensor(call, "self");
    if (!given.valid()) return given;
    const bool is_vector = b.rank(given) == 1;
    const hlo::Dims of_vector{1, b.dims(given).back()};
    const std::int64_t size = c.integer(call, "n_fft");
    hlo::Value x = is_vector ? b.reshape(given, of_vector) : given;
    if (call.schema().find("center") && c.boolean(call, "center")) {
      const std::string_view mode = call.string("pad_mode").value_or("reflect");
      const hlo::Dims around{0, size / 2};
      x = mode == "constant" ? b.pad(x, c.scalar(b.dtype(x), 0), around, around, {0, 0})
                             : detail::pad_in_mode(c, call, x, {size / 2, size / 2}, mode);
    }
    if (!x.valid()) return x;
    const std::int64_t length = b.dims(x)[1];
    const std::int64_t hop = call.has("hop_length") ? c.integer(call, "hop_length") : size / 4;
    const std::int64_t width = call.has("win_length") ? c.integer(call, "win_length") : size;
    if (hop < 1 || size < 1 || width > size || length < size)
      return c.fail(call, DiagnosticCode::eager_would_raise, "the windows do not fit the signal");
    const std::int64_t count = (length - size) / hop + 1;
    const detail::StridedWindow places{{count, size}, {hop, 1}, 0};
    hlo::Value frames = detail::gather(c, x, detail::index_of_dim(c, x, 1, detail::places_of(c, places)));
    frames = b.reshape(frames, {b.dims(x)[0], count, size});
    const std::int64_t before = (size - width) / 2;
    hlo::Value window = c.full({b.dtype(frames), {width}}, 1);
    if (call.has("window")) window = c.tensor(call, "window");
    if (!window.valid()) return {};
    const std::array<Operand, 2> both{Operand{frames, {}}, Operand{window, {}}};
    const DType type = c.common_dtype(call, both);
    window = b.pad(b.convert(window, type), c.scalar(type, 0), {before}, {size - width - before}, {0});
    frames = b.multiply(b.convert(frames, type), b.broadcast_in_dim(window, b.dims(frames), {2}));
    const bool is_real = !is_complex(type);
    const bool is_half = is_real && (!call.has("onesided") || c.boolean(call, "onesided"));
    const auto scale = c.boolean(call, "normalized") ? detail::SpectralScale::by_root : detail::SpectralScale::none;
    detail::SpectralDims at;
    at.dims.push_back(2);
    at.sizes.push_back(-1);
    hlo::Value y = detail::transform_all(c, frames, at, is_half ? detail::SpectralKind::real : detail::SpectralKind::complex,
                                         false, false, scale);
    y = b.transpose(y, {0, 2, 1});
    const hlo::Shape result = c.result_shape(call);
    return b.reshape(is_complex(result.dtype) ? y : detail::pairs_of(c, y), result.dims);
  }
};

/// The lowerings of this file.
using SpectralLowerings = lowerings<
    LowerTransform<detail::SpectralKind::complex, false, false, "aten.fft_fft", "aten.fft_fft2", "aten.fft_fftn">,
    LowerTransform<detail::SpectralKind::complex, true, false, "aten.fft_ifft", "aten.fft_ifft2", "aten.fft_ifftn">,
    LowerTransform<detail::SpectralKind::real, false, false, "aten.fft_rfft", "aten.fft_rfft2", "aten.fft_rfftn">,
    LowerTransform<detail::SpectralKind::half, true, false, "aten.fft_irfft", "aten.fft_irfft2", "aten.fft_irfftn">,
    LowerTransform<detail::SpectralKind::half, false, true, "aten.fft_hfft", "aten.fft_hfft2", "aten.fft_hfftn">,
    LowerTransform<detail::SpectralKind::real, true, true, "aten.fft_ihfft", "aten.fft_ihfft2", "aten.fft_ihfftn">,
    LowerCoreTransform<detail::SpectralKind::complex, "aten._fft_c2c", "prims.fft_c2c">,
    LowerCoreTransform<detail::SpectralKind::real, "aten._fft_r2c", "prims.fft_r2c">,
    LowerCoreTransform<detail::SpectralKind::half, "aten._fft_c2r", "prims.fft_c2r">,
    LowerSpectralShift<"aten.fft_fftshift", false>,
    LowerSpectralShift<"aten.fft_ifftshift", true>, LowerFrequencies<"aten.fft_fftfreq", false>,
    LowerFrequencies<"aten.fft_rfftfreq", true>, LowerShortTimeTransform>;

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/geometry.hpp>
#include <fxpass/lower/indexing.hpp>
#include <fxpass/lower/lowering.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

/// @file
/// Operators that look at a tensor as memory: windows by strides, bytes as another type, complex numbers as pairs. HLO has
/// no strides: a window is cut out of the elements in row-major order, by slices where it is a grid, else by indices.

namespace fxpass {

namespace detail {

/// Elements of a flat array: `offset + sum(strides[d] * i[d])` for each index `i` within `sizes`.
struct StridedWindow {
  hlo::Dims sizes;
  hlo::Dims strides;
  std::int64_t offset = 0;

  [[nodiscard]] constexpr auto count() const -> std::int64_t {
    return hlo::Shape{DType::i64, sizes}.element_count();
  }
  /// The dimensions that lead to other elements, by descending stride.
  [[nodiscard]] constexpr auto moving_dims() const -> hlo::Dims {
    hlo::Dims order;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1 || strides[d] == 0) continue;
      order.push_back(static_cast<std::int64_t>(d));
      for (std::size_t k = order.size() - 1; k > 0 && stride(order[k - 1]) < stride(order[k]); --k)
        std::swap(order[k - 1], order[k]);
    }
    return order;
  }
  /// Whether each of `order`, dimensions by descending stride, lies between two steps of the one before: then reshapes and
  /// slices lead there.
  [[nodiscard]] constexpr auto is_grid(const hlo::Dims& order) const -> bool {
    for (std::size_t k = 1; k < order.size(); ++k)
      if (stride(order[k - 1]) % stride(order[k]) != 0 || size(order[k]) * stride(order[k]) > stride(order[k - 1]))
        return false;
    return true;
  }
  [[nodiscard]] constexpr auto size(std::int64_t dim) const -> std::int64_t {
    return sizes[static_cast<std::size_t>(dim)];
  }
  [[nodiscard]] constexpr auto stride(std::int64_t dim) const -> std::int64_t {
    return strides[static_cast<std::size_t>(dim)];
  }
};

/// The place of each element of a window, in row-major order.
constexpr auto places_of(auto& c, const StridedWindow& window) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Shape shape{DType::i64, window.sizes};
  hlo::Value places = c.full(shape, window.offset);
  for (std::size_t d = 0; d < window.sizes.size(); ++d)
    if (window.sizes[d] > 1 && window.strides[d] != 0)
      places = b.add(places, b.multiply(b.iota(shape, static_cast<std::int64_t>(d)), c.full(shape, window.strides[d])));
  return b.reshape(places, {window.count()});
}

/// Where each of `order` stands in the ascending list of the same dimensions.
[[nodiscard]] constexpr auto ranks_of(const hlo::Dims& order) -> hlo::Dims {
  hlo::Dims ranks(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::int64_t other : order) ranks[i] += other < order[i] ? 1 : 0;
  return ranks;
}

/// The last dimension cut, or filled up with zeros, to `size`.
constexpr auto resized_last(auto& c, hlo::Value x, std::int64_t size) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  const std::size_t last = b.rank(x) - 1;
  const std::int64_t now = b.dims(x)[last];
  if (size <= now) return b.slice_in_dim(x, static_cast<std::int64_t>(last), 0, size);
  hlo::Dims high(b.rank(x), 0);
  high[last] = size - now;
  return b.pad(x, c.scalar(b.dtype(x), 0), hlo::Dims(b.rank(x), 0), high, hlo::Dims(b.rank(x), 0));
}

/// A window of `x`, a flat array.
constexpr auto cut_window(auto& c, hlo::Value x, const StridedWindow& window) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  if (window.count() == 0) return c.full({b.dtype(x), window.sizes}, 0);
  const hlo::Dims order = window.moving_dims();
  if (!window.is_grid(order))
    return b.reshape(gather(c, x, index_of_dim(c, x, 0, places_of(c, window))), window.sizes);
  x = b.slice_in_dim(x, 0, window.offset, b.dims(x)[0]);
  hlo::Dims grid;
  for (const std::int64_t d : order) {
    x = resized_last(c, x, window.size(d) * window.stride(d));
    grid.push_back(window.size(d));
    hlo::Dims split = grid;
    split.push_back(window.stride(d));
    x = b.reshape(x, split);
  }
  x = b.reshape(resized_last(c, x, 1), grid);
  // From descending strides to the window's own order; what does not move is repeated.
  const hlo::Dims ranks = ranks_of(order);
  hlo::Dims back(order.size(), 0), ascending = order;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    back[static_cast<std::size_t>(ranks[i])] = static_cast<std::int64_t>(i);
    ascending[static_cast<std::size_t>(ranks[i])] = order[i];
  }
  return b.broadcast_in_dim(b.transpose(x, back), window.sizes, ascending);
}

/// `values`, of a window's shape, spread over a flat array of `length`; zero elsewhere. Needs a window that is a grid and
/// in which each element has a place of its own.
constexpr auto spread_window(auto& c, hlo::Value values, const StridedWindow& window, const hlo::Dims& order,
                             std::int64_t length) -> hlo::Value {
  auto& b = c.builder();
  if (!values.valid()) return values;
  const hlo::Dims ranks = ranks_of(order);
  hlo::Dims grid(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) grid[static_cast<std::size_t>(ranks[i])] = window.size(order[i]);
  values = b.transpose(b.reshape(values, grid), ranks);
  for (std::size_t k = order.size(); k-- > 0;) {
    hlo::Dims split, joined;
    for (std::size_t i = 0; i <= k; ++i) {
      split.push_back(window.size(order[i]));
      if (i < k) joined.push_back(window.size(order[i]));
    }
    const bool is_innermost = k + 1 == order.size();
    split.push_back(is_innermost ? 1 : window.size(order[k + 1]) * window.stride(order[k + 1]));
    joined.push_back(window.size(order[k]) * window.stride(order[k]));
    values = b.reshape(resized_last(c, b.reshape(values, split), window.stride(order[k])), joined);
  }
  if (order.empty()) values = b.reshape(values, {1});
  const std::int64_t span = values.valid() ? b.dims(values)[0] : 0;
  return b.pad(values, c.scalar(b.dtype(values), 0), {window.offset}, {length - window.offset - span}, {0});
}

/// `x`, a flat array, with `values` in a window of it. Where a place is in the window several times, all of its values have
/// to be equal.
constexpr auto put_window(auto& c, hlo::Value x, const StridedWindow& window, hlo::Value values) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid() || !values.valid() || window.count() == 0) return x;
  const hlo::Dims order = window.moving_dims();
  std::int64_t moves = 1;
  for (const std::int64_t d : order) moves *= window.size(d);
  if (!window.is_grid(order) || moves != window.count())
    return write(c, x, index_of_dim(c, x, 0, places_of(c, window)), b.reshape(values, {window.count()}));
  const std::int64_t length = b.dims(x)[0];
  const hlo::Value is_written =
      spread_window(c, b.full({DType::boolean, window.sizes}, true), window, order, length);
  return b.select(is_written, spread_window(c, values, window, order, length), x);
}

/// The window that `size`, `stride` and `storage_offset` of a call name; none if it is not one of the tensor `of` alone: HLO
/// has none of the memory around a tensor.
constexpr auto window_of(auto& c, const Call& call, std::string_view of) -> std::optional<StridedWindow> {
  const auto given = call.given(of);
  const TensorMeta* meta = given && given->is_node() ? c.graph().tensor(given->node()) : nullptr;
  const auto geometry = meta != nullptr ? geometry_of(c.graph(), *meta) : std::nullopt;
  if (!geometry || geometry->offset != 0 || !is_contiguous(*geometry)) {
    c.unsupported(call, "of a tensor that is itself a window into memory");
    return std::nullopt;
  }
  StridedWindow window{c.integers(call, "size"), c.integers(call, "stride"), 0};
  if (call.has("storage_offset")) window.offset = c.integer(call, "storage_offset");
  std::int64_t last = window.offset;
  for (std::size_t d = 0; d < window.sizes.size() && d < window.strides.size(); ++d)
    last += (window.sizes[d] - 1) * window.strides[d];
  const bool is_inside = window.offset >= 0 && last < geometry->element_count();
  if (window.sizes.size() == window.strides.size() && (is_inside || window.count() == 0)) return window;
  c.unsupported(call, "a window beyond the tensor");
  return std::nullopt;
}

/// Complex numbers as pairs, a last dimension of size 2; and back.
constexpr auto pairs_of(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  hlo::Dims column = b.dims(x);
  column.push_back(1);
  return b.concatenate({b.reshape(b.real(x), column), b.reshape(b.imag(x), column)},
                       static_cast<std::int64_t>(column.size()) - 1);
}
constexpr auto complex_of_pairs(auto& c, hlo::Value x, const hlo::Dims& to) -> hlo::Value {
  auto& b = c.builder();
  const std::size_t last = b.rank(x) - 1;
  return b.complex(b.reshape(slice(c, x, last, {0, 1, 1}), to), b.reshape(slice(c, x, last, {1, 2, 1}), to));
}

/// The bytes of `x` as elements of `to`, the last dimension counting those. Neither type is complex or bool.
constexpr auto cast_bytes(auto& c, hlo::Value x, DType to) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  const std::int64_t from_bytes = byte_size(b.dtype(x)), to_bytes = byte_size(to);
  hlo::Dims dims = b.dims(x);
  if (from_bytes == to_bytes || dims.empty()) return b.bitcast_convert(x, to);
  std::int64_t& last = dims[dims.size() - 1];
  if (from_bytes > to_bytes) {
    last *= from_bytes / to_bytes;
    return b.reshape(b.bitcast_convert(x, to), dims);
  }
  last /= to_bytes / from_bytes;
  dims.push_back(to_bytes / from_bytes);
  return b.bitcast_convert(b.reshape(x, dims), to);
}

}  // namespace detail

/// Windows of one dimension, each `step` behind the last, as a last dimension of their own.
struct LowerUnfold {
  static constexpr std::array<std::string_view, 2> op{"aten.unfold", "aten.unfold_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self");
    const hlo::Dims to = c.result_shape(call).dims;
    const std::int64_t size = c.integer(call, "size"), step = c.integer(call, "step");
    if (!x.valid()) return x;
    if (hlo::Shape{DType::i64, to}.element_count() == 0) return c.full({b.dtype(x), to}, 0);
    if (b.rank(x) == 0) return b.reshape(x, to);
    const std::size_t dim = c.dim(call, "dimension", b.rank(x));
    const std::int64_t windows = to[dim];
    hlo::Dims split, order;
    for (std::size_t d = 0; d < b.rank(x); ++d) {
      split.push_back(d == dim ? windows : b.dims(x)[d]);
      if (d == dim) split.push_back(size);
    }
    for (std::size_t d = 0; d < split.size(); ++d)
      if (d != dim + 1) order.push_back(static_cast<std::int64_t>(d));
    order.push_back(static_cast<std::int64_t>(dim) + 1);
    const std::int64_t pitch = windows == 1 ? size : step;
    if (size <= pitch && windows * pitch <= b.dims(x)[dim]) {
      split[dim + 1] = pitch;
      x = b.reshape(detail::slice(c, x, dim, {0, windows * pitch, 1}), split);
      return b.transpose(detail::slice(c, x, dim + 1, {0, size, 1}), order);
    }
    const hlo::Value places = detail::places_of(c, {{windows, size}, {step, 1}, 0});
    return b.transpose(b.reshape(detail::gather(c, x, detail::index_of_dim(c, x, dim, places)), split), order);
  }
};

/// A window into the memory of a tensor. Needs a contiguous one that begins where its memory does: of others
/// it depends on memory that HLO does not have.
template <TextConstant Parameter, TextConstant... Names>
struct LowerAsStrided {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, Parameter.view());
    const auto window = detail::window_of(c, call, Parameter.view());
    if (!window || !x.valid()) return {};
    return detail::cut_window(c, b.reshape(x, {b.shape(x).element_count()}), *window);
  }
};

/// The same, by strides that say nothing new as a rule: those of a reshape.
struct LowerReshapeAlias {
  static constexpr std::array<std::string_view, 2> op{"aten._reshape_alias", "aten._reshape_alias_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto from = geometry_of(c.graph(), call.operand("self")), to = geometry_of(c.graph(), call.id());
    const auto strides = from && to ? view_strides(*from, to->sizes.view()) : std::nullopt;
    if (!strides || !(*strides == to->strides)) return LowerAsStrided<"self">::lower(c, call);
    return c.builder().reshape(c.tensor(call, "self"), c.result_shape(call).dims);
  }
};

/// A tensor with other elements in such a window.
struct LowerAsStridedScatter {
  static constexpr std::array<std::string_view, 2> op{"aten.as_strided_scatter", "prims.as_strided_scatter"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self"), source = c.tensor(call, "src");
    const auto window = detail::window_of(c, call, "self");
    if (!window || !x.valid() || !source.valid()) return {};
    const hlo::Value flat = b.reshape(x, {b.shape(x).element_count()});
    const hlo::Value values = c.broadcast_to(call, b.convert(source, b.dtype(x)), window->sizes);
    return b.reshape(detail::put_window(c, flat, *window, values), b.dims(x));
  }
};

/// The same bytes in another dtype; the last dimension counts elements of that dtype. A byte of a bool is 0 or 1, and
/// every other byte than 0 is True.
struct LowerViewDtype {
  static constexpr std::array<std::string_view, 2> op{"aten.view.dtype", "aten.view_copy.dtype"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return cast(c, call, c.tensor(call, "self"));
  }
  /// The bytes of `x` in shape and dtype of the call's result.
  static constexpr auto cast(auto& c, const Call& call, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape to = c.result_shape(call);
    if (!x.valid() || b.dtype(x) == to.dtype) return x;
    if (b.dtype(x) == DType::boolean) x = b.convert(x, DType::u8);
    if (is_complex(b.dtype(x))) {
      hlo::Dims flat = b.dims(x);
      if (flat.empty())
        flat.push_back(2);
      else
        flat[flat.size() - 1] *= 2;
      x = b.reshape(detail::pairs_of(c, x), flat);
    }
    if (is_complex(to.dtype)) {
      hlo::Dims pairs = to.dims;
      pairs.push_back(2);
      return detail::complex_of_pairs(c, b.reshape(detail::cast_bytes(c, x, detail::real_part(to.dtype)), pairs), to.dims);
    }
    if (to.dtype == DType::boolean) return c.truth(b.reshape(detail::cast_bytes(c, x, DType::u8), to.dims));
    return b.reshape(detail::cast_bytes(c, x, to.dtype), to.dims);
  }
};

/// Complex numbers as pairs of reals.
struct LowerViewAsReal {
  static constexpr std::array<std::string_view, 2> op{"aten.view_as_real", "aten.view_as_real_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return x.valid() ? detail::pairs_of(c, x) : x;
  }
};

/// Pairs of reals as complex numbers.
struct LowerViewAsComplex {
  static constexpr std::array<std::string_view, 2> op{"aten.view_as_complex", "aten.view_as_complex_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return x.valid() ? detail::complex_of_pairs(c, x, c.result_shape(call).dims) : x;
  }
};

/// The real part; real numbers are theirs.
struct LowerReal {
  static constexpr std::array<std::string_view, 2> op{"aten.real", "prims.real"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return x.valid() && is_complex(c.builder().dtype(x)) ? c.builder().real(x) : x;
  }
};

struct LowerImag {
  static constexpr std::array<std::string_view, 2> op{"aten.imag", "prims.imag"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    if (x.valid() && !is_complex(c.builder().dtype(x)))
      return c.fail(call, DiagnosticCode::eager_would_raise, "real numbers have no imaginary part");
    return c.builder().imag(x);
  }
};

/// The conjugate; real numbers are theirs.
struct LowerConjugate {
  static constexpr std::array<std::string_view, 5> op{"aten.conj", "aten._conj", "aten._conj_copy",
                                                      "aten.conj_physical", "prims.conj_physical"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return conjugate(c, c.tensor(call, "self"));
  }
  /// The conjugate of `x`, whose call is another one's.
  static constexpr auto conjugate(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    return x.valid() && is_complex(b.dtype(x)) ? b.complex(b.real(x), b.negate(b.imag(x))) : x;
  }
};

struct LowerNegView {
  static constexpr std::array<std::string_view, 2> op{"aten._neg_view", "aten._neg_view_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().negate(c.tensor(call, "self"));
  }
};

/// The last two dimensions exchanged and complex numbers conjugated; what has fewer dimensions is conjugated alone.
struct LowerConjugateTranspose {
  static constexpr std::array<std::string_view, 3> op{"aten.mH", "aten.matrix_H", "aten.adjoint"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t rank = c.builder().rank(x);
    hlo::Dims order = hlo::iota_dims(rank);
    if (rank >= 2) std::ranges::swap(order[rank - 2], order[rank - 1]);
    return LowerConjugate::conjugate(c, c.builder().transpose(x, order));
  }
};

/// The lowerings of this file.
using MemoryLowerings =
    lowerings<LowerUnfold, LowerAsStrided<"self", "aten.as_strided", "aten.as_strided_copy">,
              LowerAsStrided<"a", "prims.as_strided">, LowerReshapeAlias, LowerAsStridedScatter, LowerViewDtype,
              LowerViewAsReal, LowerViewAsComplex, LowerReal, LowerImag, LowerConjugate, LowerNegView, LowerConjugateTranspose>;

}  // namespace fxpass

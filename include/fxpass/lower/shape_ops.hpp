// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/geometry.hpp>
#include <fxpass/lower/lowering.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// Operators that move elements without looking at them: views, slices, joins, and writes into slices. HLO has no views:
/// each is a value of its own, and XLA sees to it that nothing is copied needlessly.

namespace fxpass {

namespace detail {

/// `x` with its last dimension as dimension `d`.
constexpr auto last_moved_to(auto& c, hlo::Value x, std::size_t d) -> hlo::Value {
  const std::size_t last = c.builder().rank(x) - 1;
  hlo::Dims order;
  for (std::size_t i = 0; i <= last; ++i) order.push_back(static_cast<std::int64_t>(i < d ? i : i == d ? last : i - 1));
  return c.builder().transpose(x, order);
}

}  // namespace detail

/// The argument itself: aliases, copies in memory, noise of tracing.
struct LowerIdentity {
  static constexpr std::array<std::string_view, 14> op{
      "aten.alias",        "aten.clone",        "aten.contiguous",       "aten.detach",          "aten.detach_copy",
      "aten.alias_copy",   "aten.lift",         "aten.lift_fresh",       "aten.lift_fresh_copy", "aten.positive",
      "aten.resolve_conj", "aten.resolve_neg",  "aten.requires_grad_", "prims.clone"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value { return c.tensor(call, "self"); }
};

/// Nothing at all: assertions that tracing has settled, and switches of PyTorch's own state.
struct LowerNothing {
  static constexpr std::array<std::string_view, 6> op{
      "aten._assert_tensor_metadata", "aten._assert_async",           "aten._assert_scalar",
      "aten.sym_constrain_range",     "torch._C._log_api_usage_once", "torch._C._set_grad_enabled"};
  static constexpr void lower(auto&, const Call&) {}
};

/// The same elements, row by row, in the result's shape.
struct LowerReshape {
  static constexpr std::array<std::string_view, 14> op{
      "aten.view",    "aten.view_copy", "aten.reshape",   "aten._unsafe_view", "aten.view_as",     "aten.reshape_as",
      "aten.flatten", "aten.unflatten", "aten.unsqueeze", "aten.squeeze",      "aten.ravel",       "aten._reshape_copy",
      "aten.unsqueeze_copy", "aten.squeeze_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().reshape(c.tensor(call, "self"), c.result_shape(call).dims);
  }
};

struct LowerExpand {
  static constexpr std::array<std::string_view, 4> op{"aten.expand", "aten.expand_as", "aten.expand_copy",
                                                      "aten.broadcast_to"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.broadcast_to(call, c.tensor(call, "self"), c.result_shape(call).dims);
  }
};

struct LowerPermute {
  static constexpr std::array<std::string_view, 2> op{"aten.permute", "aten.permute_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    hlo::Dims order = c.integers(call, "dims");
    for (std::int64_t& d : order)
      d = static_cast<std::int64_t>(c.wrapped_dim(call, d, c.builder().rank(x)));
    return c.builder().transpose(x, order);
  }
};

struct LowerTranspose {
  static constexpr std::array<std::string_view, 2> op{"aten.transpose", "aten.transpose_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value { return swap(c, call, "dim0", "dim1"); }

  /// The tensor `self` with the dimensions given for those two parameters swapped.
  static constexpr auto swap(auto& c, const Call& call, std::string_view first, std::string_view second)
      -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t rank = c.builder().rank(x);
    const std::size_t a = c.dim(call, first, rank), b = c.dim(call, second, rank);
    hlo::Dims order = hlo::iota_dims(rank);
    order[a] = static_cast<std::int64_t>(b);
    order[b] = static_cast<std::int64_t>(a);
    return c.builder().transpose(x, rank == 0 ? hlo::Dims{} : order);
  }
};

struct LowerSwapAxes {
  static constexpr std::string_view op = "aten.swapaxes";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return LowerTranspose::swap(c, call, "axis0", "axis1");
  }
};

struct LowerSwapDims {
  static constexpr std::string_view op = "aten.swapdims";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return LowerTranspose::swap(c, call, "dim0", "dim1");
  }
};

/// The last two dimensions exchanged, or all of them turned around; fewer than two stay.
struct LowerMatrixTranspose {
  static constexpr std::array<std::string_view, 4> op{"aten.t", "aten.t_copy", "aten.mT", "aten.numpy_T"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t rank = c.builder().rank(x);
    if (rank < 2) return x;
    hlo::Dims order = hlo::iota_dims(rank);
    if (call.schema().base() == "aten.numpy_T")
      std::ranges::reverse(order);
    else
      std::ranges::swap(order[rank - 2], order[rank - 1]);
    return c.builder().transpose(x, order);
  }
};

struct LowerMoveDim {
  static constexpr std::array<std::string_view, 2> op{"aten.movedim", "aten.moveaxis"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t rank = c.builder().rank(x);
    const hlo::Dims from = c.integers(call, "source"), to = c.integers(call, "destination");
    hlo::Dims order(rank, -1);
    std::array<bool, hlo::max_rank + 1> is_moved{};
    for (std::size_t i = 0; i < from.size() && i < to.size(); ++i) {
      const std::size_t source = c.wrapped_dim(call, from[i], rank);
      order[c.wrapped_dim(call, to[i], rank)] = static_cast<std::int64_t>(source);
      is_moved[source] = true;
    }
    std::size_t next = 0;
    for (std::int64_t& d : order) {
      if (d != -1) continue;
      while (is_moved[next]) ++next;
      d = static_cast<std::int64_t>(next++);
    }
    return c.builder().transpose(x, order);
  }
};

// Slices ---------------------------------------------------------------------------------------------------------------

namespace detail {

/// The bounds that `start`, `end` and `step` of a call give dimension `dim` of `x`.
constexpr auto slice_bounds(auto& c, const Call& call, hlo::Value x, std::size_t dim) -> SliceBounds {
  const auto bound = [&](std::string_view name) -> std::optional<std::int64_t> {
    if (!call.has(name)) return std::nullopt;
    return c.integer(call, name);
  };
  const std::int64_t step = c.integer(call, "step");
  if (step < 1) c.fail(call, DiagnosticCode::eager_would_raise, "the step of a slice must be positive");
  return clamp_slice(bound("start"), bound("end"), std::max(step, std::int64_t{1}), c.builder().dims(x)[dim]);
}

constexpr auto slice(auto& c, hlo::Value x, std::size_t dim, const SliceBounds& bounds) -> hlo::Value {
  return c.builder().slice_in_dim(x, static_cast<std::int64_t>(dim), bounds.start, bounds.end, bounds.step);
}

/// Index `index` of a dimension, which goes away. Negative indices count from the end.
constexpr auto select(auto& c, const Call& call, hlo::Value x, std::size_t dim, std::int64_t index) -> hlo::Value {
  auto& b = c.builder();
  hlo::Dims dims = b.dims(x);
  if (!x.valid()) return x;
  const std::int64_t at = index < 0 ? index + dims[dim] : index;
  if (dim >= dims.size() || at < 0 || at >= dims[dim])
    return c.fail(call, DiagnosticCode::eager_would_raise, text_of("index ", index, " is out of range"));
  dims.erase(dim);
  return b.reshape(b.slice_in_dim(x, static_cast<std::int64_t>(dim), at, at + 1), dims);
}

/// `source` written over the part of `x` that starts at `starts`.
constexpr auto update_slice(auto& c, hlo::Value x, hlo::Value source, const hlo::Dims& starts) -> hlo::Value {
  auto& b = c.builder();
  if (b.dims(x) == b.dims(source)) return source;
  Pool<hlo::Value> indices;
  for (const std::int64_t start : starts) indices.push_back(b.constant(DType::i32, start));
  return b.dynamic_update_slice(x, source, indices.view());
}

}  // namespace detail

struct LowerSlice {
  static constexpr std::array<std::string_view, 2> op{"aten.slice", "aten.slice_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t dim = c.dim(call, "dim", c.builder().rank(x));
    return detail::slice(c, x, dim, detail::slice_bounds(c, call, x, dim));
  }
};

struct LowerNarrow {
  static constexpr std::array<std::string_view, 2> op{"aten.narrow", "aten.narrow_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t dim = c.dim(call, "dim", c.builder().rank(x));
    const std::int64_t size = c.builder().dims(x)[dim], start = c.integer(call, "start");
    const std::int64_t first = start < 0 ? start + size : start;
    return detail::slice(c, x, dim, {first, first + c.integer(call, "length"), 1});
  }
};

struct LowerSelect {
  static constexpr std::array<std::string_view, 2> op{"aten.select", "aten.select_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return detail::select(c, call, x, c.dim(call, "dim", c.builder().rank(x)), c.integer(call, "index"));
  }
};

/// Pieces of a dimension: between indices, or one after another, and how long each is, the results' metadata says.
struct LowerSplit {
  static constexpr std::array<std::string_view, 12> op{
      "aten.split",        "aten.split_with_sizes", "aten.chunk",        "aten.split_copy",
      "aten.tensor_split", "aten.unsafe_split",     "aten.unsafe_chunk", "aten.unsafe_split_with_sizes",
      "aten.hsplit",       "aten.vsplit",           "aten.dsplit",       "aten.split_with_sizes_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t dim = dim_of(c, call, c.builder().rank(x));
    Pool<hlo::Value> pieces;
    if (const auto given = cuts_of(call)) {
      Pool<std::int64_t> cuts;
      for (const SymInt cut : *given) {
        if (cut.is_symbolic()) {
          c.fail(call, DiagnosticCode::symbolic_size, "where to split is not known before the program runs");
          return pieces;
        }
        cuts.push_back(cut.value());
      }
      for (std::size_t i = 0; i <= cuts.size(); ++i)
        pieces.push_back(detail::slice(c, x, dim, piece_between(cuts.view(), i, c.builder().dims(x)[dim])));
      return pieces;
    }
    if (call.has("tensor_indices_or_sections")) {
      c.fail(call, DiagnosticCode::unsupported, "where to split is not known before the program runs");
      return pieces;
    }
    std::int64_t start = 0;
    for (const TensorMeta& piece : c.graph().values(call.id())) {
      if (!piece.known) return pieces;
      const std::int64_t length = c.shape_of(piece).dims[dim];
      pieces.push_back(detail::slice(c, x, dim, {start, start + length, 1}));
      start += length;
    }
    return pieces;
  }

 private:
  static constexpr auto dim_of(auto& c, const Call& call, std::size_t rank) -> std::size_t {
    const std::string_view base = call.schema().base();
    if (base == "aten.hsplit") return rank > 1 ? 1 : 0;
    if (base == "aten.vsplit") return 0;
    return base == "aten.dsplit" ? c.wrapped_dim(call, 2, rank) : c.dim(call, "dim", rank);
  }
};

/// All elements of all tensors, one behind the other.
struct LowerFlattenTensors {
  static constexpr std::string_view op = "aten.flatten_dense_tensors";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    Pool<hlo::Value> list = c.tensors(call, "tensors");
    for (hlo::Value& x : list) x = b.reshape(x, {b.shape(x).element_count()});
    return list.empty() ? hlo::Value{} : b.concatenate(list.view(), 0);
  }
};

/// Slices of a vector, each in a shape of its own.
struct LowerUnflattenTensors {
  static constexpr std::string_view op = "aten.unflatten_dense_tensors";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value x = c.tensor(call, "flat");
    Pool<hlo::Value> pieces;
    std::int64_t start = 0;
    for (const TensorMeta& piece : c.graph().values(call.id())) {
      if (!piece.known) return pieces;
      const hlo::Shape shape = c.shape_of(piece);
      pieces.push_back(c.builder().reshape(detail::slice(c, x, 0, {start, start + shape.element_count(), 1}), shape.dims));
      start += shape.element_count();
    }
    return pieces;
  }
};

struct LowerUnbind {
  static constexpr std::array<std::string_view, 2> op{"aten.unbind", "aten.unbind_copy"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t dim = c.dim(call, "dim", c.builder().rank(x));
    Pool<hlo::Value> members;
    for (std::int64_t i = 0; i < c.builder().dims(x)[dim]; ++i)
      members.push_back(detail::select(c, call, x, dim, i));
    return members;
  }
};

// Writes into slices ---------------------------------------------------------------------------------------------------

struct LowerSelectScatter {
  static constexpr std::string_view op = "aten.select_scatter";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self"), source = c.tensor(call, "src");
    const std::size_t dim = c.dim(call, "dim", b.rank(x));
    const std::int64_t index = c.integer(call, "index");
    hlo::Dims window = b.dims(x), starts(b.rank(x), 0);
    starts[dim] = index < 0 ? index + window[dim] : index;
    window[dim] = 1;
    return detail::update_slice(c, x, b.reshape(b.convert(source, b.dtype(x)), window), starts);
  }
};

struct LowerSliceScatter {
  static constexpr std::string_view op = "aten.slice_scatter";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t dim = c.dim(call, "dim", b.rank(x));
    const SliceBounds bounds = detail::slice_bounds(c, call, x, dim);
    hlo::Dims window = b.dims(x);
    window[dim] = bounds.length();
    const hlo::Value source = c.broadcast_to(call, b.convert(c.tensor(call, "src"), b.dtype(x)), window);
    if (bounds.length() == 0) return x;
    hlo::Dims starts(b.rank(x), 0);
    starts[dim] = bounds.start;
    if (bounds.step == 1) return detail::update_slice(c, x, source, starts);
    // Spread over every step-th place of a full-sized array, and chosen there.
    hlo::Dims low = starts, high(b.rank(x), 0), interior(b.rank(x), 0);
    interior[dim] = bounds.step - 1;
    high[dim] = b.dims(x)[dim] - bounds.start - ((bounds.length() - 1) * bounds.step + 1);
    const auto spread = [&](hlo::Value value, hlo::Value padding) {
      return b.pad(value, padding, low, high, interior);
    };
    const hlo::Value is_written =
        spread(b.full({DType::boolean, window}, true), b.constant(DType::boolean, false));
    return b.select(is_written, spread(source, c.scalar(b.dtype(x), 0)), x);
  }
};

// Joins and rearrangements ---------------------------------------------------------------------------------------------

struct LowerCat {
  static constexpr std::array<std::string_view, 4> op{"aten.cat", "aten.concat", "aten.concatenate", "prims.cat"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    Pool<hlo::Value> parts;
    for (const hlo::Value part : c.tensors(call, "tensors")) {
      // A list of shape [0] fits anything, an old exception in PyTorch.
      const bool is_legacy_empty = part.valid() && b.dims(part) == hlo::Dims{0} && result.rank() != 1;
      if (!is_legacy_empty) parts.push_back(b.convert(part, result.dtype));
    }
    return b.concatenate(parts.view(), static_cast<std::int64_t>(c.dim(call, "dim", result.rank())));
  }
};

struct LowerStack {
  static constexpr std::string_view op = "aten.stack";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    const std::size_t dim = c.dim(call, "dim", result.rank());
    Pool<hlo::Value> parts;
    for (const hlo::Value part : c.tensors(call, "tensors")) {
      hlo::Dims dims = b.dims(part);
      dims.insert(dim, 1);
      parts.push_back(b.reshape(b.convert(part, result.dtype), dims));
    }
    return b.concatenate(parts.view(), static_cast<std::int64_t>(dim));
  }
};

struct LowerFlip {
  static constexpr std::string_view op = "aten.flip";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    hlo::Dims dims = c.integers(call, "dims");
    for (std::int64_t& d : dims) d = static_cast<std::int64_t>(c.wrapped_dim(call, d, c.builder().rank(x)));
    return c.builder().rank(x) == 0 ? x : c.builder().reverse(x, dims);
  }
};

template <TextConstant Name, std::int64_t Dim>
struct LowerFlipOf {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().reverse(c.tensor(call, "self"), {Dim});
  }
};

/// Turned by right angles in the plane of two dimensions, from the first to the second.
struct LowerRotate {
  static constexpr std::string_view op = "aten.rot90";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const hlo::Dims dims = c.integers(call, "dims");
    if (dims.size() != 2) return c.fail(call, DiagnosticCode::eager_would_raise, "a plane has two dimensions");
    const std::size_t first = c.wrapped_dim(call, dims[0], b.rank(x)), second = c.wrapped_dim(call, dims[1], b.rank(x));
    const auto from = static_cast<std::int64_t>(first), to = static_cast<std::int64_t>(second);
    const std::int64_t turns = (c.integer(call, "k") % 4 + 4) % 4;
    if (turns == 0) return x;
    if (turns == 2) return b.reverse(x, {from, to});
    hlo::Dims order = hlo::iota_dims(b.rank(x));
    order[first] = to;
    order[second] = from;
    return b.transpose(b.reverse(x, {turns == 1 ? to : from}), order);
  }
};

struct LowerRoll {
  static constexpr std::string_view op = "aten.roll";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self");
    const hlo::Dims whole = b.dims(x);
    const hlo::Dims shifts = c.integers(call, "shifts"), dims = c.integers(call, "dims");
    if (dims.empty()) x = b.reshape(x, {b.shape(x).element_count()});
    for (std::size_t i = 0; i < shifts.size(); ++i) {
      const std::size_t dim = dims.empty() ? 0 : c.wrapped_dim(call, dims[i], b.rank(x));
      const std::int64_t size = b.dims(x)[dim];
      const std::int64_t cut = size == 0 ? 0 : ((-shifts[i]) % size + size) % size;
      if (cut != 0)
        x = b.concatenate({detail::slice(c, x, dim, {cut, size, 1}), detail::slice(c, x, dim, {0, cut, 1})},
                          static_cast<std::int64_t>(dim));
    }
    return b.reshape(x, whole);
  }
};

/// The whole tensor, so many times along each dimension.
struct LowerRepeat {
  static constexpr std::string_view op = "aten.repeat";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const hlo::Dims repeats = c.integers(call, "repeats"), dims = b.dims(x);
    if (repeats.size() < dims.size())
      return c.fail(call, DiagnosticCode::eager_would_raise, "fewer repeats than dimensions");
    const std::size_t shift = repeats.size() - dims.size();
    hlo::Dims spread, places;
    for (std::size_t d = 0; d < repeats.size(); ++d) {
      if (repeats[d] != 1) spread.push_back(repeats[d]);
      if (d < shift) continue;
      places.push_back(static_cast<std::int64_t>(spread.size()));
      spread.push_back(dims[d - shift]);
    }
    return b.reshape(b.broadcast_in_dim(x, spread, places), c.result_shape(call).dims);
  }
};

/// The same; fewer counts than dimensions stand for the last ones.
struct LowerTile {
  static constexpr std::string_view op = "aten.tile";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    hlo::Dims counts = c.integers(call, "dims"), dims = b.dims(x), spread, places;
    if (!x.valid()) return x;
    while (counts.size() < dims.size()) counts.insert(0, 1);
    while (dims.size() < counts.size()) dims.insert(0, 1);
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (counts[d] != 1) spread.push_back(counts[d]);
      places.push_back(static_cast<std::int64_t>(spread.size()));
      spread.push_back(dims[d]);
    }
    return b.reshape(b.broadcast_in_dim(b.reshape(x, dims), spread, places), c.result_shape(call).dims);
  }
};

/// Each element so many times in a row; only a count that is a number.
struct LowerRepeatInterleave {
  static constexpr std::string_view op = "aten.repeat_interleave.self_int";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self");
    if (!call.has("dim")) x = b.reshape(x, {b.shape(x).element_count()});
    const std::size_t dim = call.has("dim") ? c.dim(call, "dim", b.rank(x)) : 0;
    hlo::Dims spread = b.dims(x), places;
    spread.insert(dim + 1, c.integer(call, "repeats"));
    for (std::size_t d = 0; d < b.rank(x); ++d) places.push_back(static_cast<std::int64_t>(d > dim ? d + 1 : d));
    return b.reshape(b.broadcast_in_dim(x, spread, places), c.result_shape(call).dims);
  }
};

namespace detail {
/// The tensors that a call is given, in a list or one by one.
constexpr auto listed_tensors(auto& c, const Call& call) -> Pool<hlo::Value> {
  Pool<hlo::Value> list;
  c.graph().for_each_operand(call.id(), [&](NodeId operand) { list.push_back(c.tensor(call, operand, "tensors")); });
  return list;
}
/// Tensor `index` of a grid: it lies along dimension `along` of `grid`.
constexpr auto along_grid(auto& c, hlo::Value line, std::size_t along, const hlo::Dims& grid) -> hlo::Value {
  auto& b = c.builder();
  if (!line.valid()) return line;
  return b.broadcast_in_dim(b.reshape(line, {b.shape(line).element_count()}), grid, {static_cast<std::int64_t>(along)});
}
}  // namespace detail

/// Each tensor with at least so many dimensions, as the metadata of the results has them.
struct LowerAtLeast {
  static constexpr std::array<std::string_view, 3> op{"aten.atleast_1d", "aten.atleast_2d", "aten.atleast_3d"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    Pool<hlo::Value> list = detail::listed_tensors(c, call);
    const auto metas = c.graph().values(call.id());
    for (std::uint32_t i = 0; i < list.size() && i < metas.size(); ++i)
      list[i] = c.builder().reshape(list[i], c.shape_of(metas[i]).dims);
    return list;
  }
};

/// Tensors of at least so many dimensions one behind the other along dimension `Dim`; vectors are rows, or columns.
template <std::size_t Dim, std::size_t AtLeast, TextConstant... Names>
struct LowerStackedAlong {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    Pool<hlo::Value> parts;
    for (const hlo::Value part : c.tensors(call, "tensors")) {
      hlo::Dims dims = b.dims(part);
      while (dims.size() < AtLeast) {
        // A vector is a row of a stack of rows, and a column of a stack of columns; a third dimension comes last.
        const bool is_row = (Dim != 1 && dims.size() < 2) || dims.empty();
        dims.insert(is_row ? 0 : dims.size(), 1);
      }
      parts.push_back(b.reshape(b.convert(part, result.dtype), dims));
    }
    if (parts.empty()) return c.fail(call, DiagnosticCode::eager_would_raise, "needs a tensor");
    return b.concatenate(parts.view(), static_cast<std::int64_t>(result.rank() == 1 ? 0 : Dim));
  }
};

/// Matrices along a diagonal, zero elsewhere; a vector is a row.
struct LowerBlockDiagonal {
  static constexpr std::string_view op = "aten.block_diag";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    Pool<hlo::Value> rows;
    std::int64_t before = 0;
    for (const hlo::Value block : c.tensors(call, "tensors")) {
      hlo::Dims dims = b.dims(block);
      while (dims.size() < 2) dims.insert(0, 1);
      const hlo::Value matrix = b.reshape(b.convert(block, result.dtype), dims);
      const std::int64_t behind = result.dims[1] - before - dims[1];
      rows.push_back(b.pad(matrix, c.scalar(result.dtype, 0), {0, before}, {0, behind}, {0, 0}));
      before += dims[1];
    }
    return rows.empty() ? c.full(result, 0) : b.concatenate(rows.view(), 0);
  }
};

/// Summed over the dimensions that broadcasting to its shape would have stretched.
struct LowerSumToSize {
  static constexpr std::string_view op = "aten.sum_to_size";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    const DType type = ops::accumulate_type(result.dtype);
    const hlo::Value x = b.convert(c.tensor(call, "self"), type);
    if (!x.valid() || b.rank(x) < result.rank()) return {};
    const std::size_t shift = b.rank(x) - result.rank();
    hlo::Dims dims;
    for (std::size_t d = 0; d < b.rank(x); ++d)
      if (d < shift || (result.dims[d - shift] == 1 && b.dims(x)[d] != 1)) dims.push_back(static_cast<std::int64_t>(d));
    if (dims.empty()) return b.convert(x, result.dtype);
    const hlo::Value sum = b.reduce(x, c.scalar(type, 0), dims, b.scalar_computation(hlo::Opcode::add, type));
    return b.reshape(b.convert(sum, result.dtype), result.dims);
  }
};

/// Channels in groups, of which one takes turns with the others.
struct LowerChannelShuffle {
  static constexpr std::array<std::string_view, 2> op{"aten.channel_shuffle", "aten.native_channel_shuffle"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const std::int64_t groups = c.integer(call, "groups");
    if (!x.valid() || groups < 1 || b.rank(x) < 3) return {};
    const hlo::Dims whole = b.dims(x);
    hlo::Dims split{whole[0], groups, whole[1] / groups}, order{0, 2, 1};
    for (std::size_t d = 2; d < whole.size(); ++d) {
      split.push_back(whole[d]);
      order.push_back(static_cast<std::int64_t>(d + 1));
    }
    return b.reshape(b.transpose(b.reshape(x, split), order), whole);
  }
};

/// Each vector along a dimension of its own.
struct LowerMeshgrid {
  static constexpr std::string_view op = "aten.meshgrid";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    Pool<hlo::Value> list = detail::listed_tensors(c, call);
    const auto metas = c.graph().values(call.id());
    const bool is_xy = call.string("indexing").value_or("ij") == "xy" && list.size() > 1;
    for (std::uint32_t i = 0; i < list.size() && i < metas.size(); ++i)
      list[i] = detail::along_grid(c, list[i], is_xy && i < 2 ? 1 - i : i, c.shape_of(metas[i]).dims);
    return list;
  }
};

/// Every combination of one element of each vector, a row each; of one vector, itself.
struct LowerCartesianProduct {
  static constexpr std::string_view op = "aten.cartesian_prod";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    Pool<hlo::Value> list = detail::listed_tensors(c, call);
    if (list.size() == 1) return list[0];
    hlo::Dims grid;
    for (const hlo::Value line : list) grid.push_back(b.shape(line).element_count());
    const hlo::Dims column{hlo::Shape{DType::i64, grid}.element_count(), 1};
    for (std::uint32_t i = 0; i < list.size(); ++i)
      list[i] = b.reshape(detail::along_grid(c, list[i], i, grid), column);
    return b.concatenate(list.view(), 1);
  }
};

/// Each tensor in the shape that they have together.
struct LowerBroadcastTensors {
  static constexpr std::string_view op = "aten.broadcast_tensors";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    Pool<hlo::Value> list = detail::listed_tensors(c, call);
    hlo::Dims common;
    for (const hlo::Value v : list)
      if (v.valid()) common = c.common_dims(call, common, c.builder().dims(v));
    for (std::uint32_t i = 0; i < list.size(); ++i) list[i] = c.broadcast_to(call, list[i], common);
    return list;
  }
};

/// Constant padding; the list counts from the last dimension, before and behind. Negative padding cuts.
struct LowerConstantPad {
  static constexpr std::string_view op = "aten.constant_pad_nd";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const hlo::Dims pad = c.integers(call, "pad");
    const std::size_t rank = b.rank(x);
    if (pad.size() % 2 != 0 || pad.size() > 2 * rank)
      return c.fail(call, DiagnosticCode::eager_would_raise, "padding does not fit the dimensions");
    hlo::Dims low(rank, 0), high(rank, 0);
    for (std::size_t i = 0; 2 * i < pad.size(); ++i) {
      low[rank - 1 - i] = pad[2 * i];
      high[rank - 1 - i] = pad[2 * i + 1];
    }
    const Number value = call.has("value") ? c.number(call, "value") : Number(0);
    return b.pad(x, c.scalar(b.dtype(x), value), low, high, hlo::Dims(rank, 0));
  }
};

/// The lower or upper triangle; the rest is zero.
template <TextConstant Name, hlo::Direction How>
struct LowerTriangle {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const std::size_t rank = b.rank(x);
    if (rank < 2) return c.fail(call, DiagnosticCode::eager_would_raise, "needs a matrix");
    // A name of their own: g++ 12 makes no list of sizes inside of a const shape in a constant expression.
    const hlo::Dims sizes{b.dims(x)[rank - 2], b.dims(x)[rank - 1]};
    const hlo::Shape matrix{DType::i64, sizes};
    const hlo::Value diagonal = c.full(matrix, c.integer(call, "diagonal"));
    const hlo::Value is_kept = b.compare(b.subtract(b.iota(matrix, 1), b.iota(matrix, 0)), diagonal, How);
    return b.select(c.broadcast_to(call, is_kept, b.dims(x)), x, c.full_like(x, 0));
  }
};

/// The lowerings of this file.
using ShapeLowerings =
    lowerings<LowerIdentity, LowerNothing, LowerReshape, LowerExpand, LowerPermute, LowerTranspose,
              LowerSwapAxes, LowerSwapDims, LowerMatrixTranspose, LowerMoveDim, LowerSlice, LowerNarrow, LowerSelect,
              LowerSplit, LowerUnbind, LowerFlipOf<"aten.flipud", 0>, LowerFlipOf<"aten.fliplr", 1>, LowerRotate,
              LowerStackedAlong<1, 1, "aten.hstack">, LowerStackedAlong<0, 2, "aten.vstack", "aten.row_stack">,
              LowerStackedAlong<1, 2, "aten.column_stack">, LowerStackedAlong<2, 3, "aten.dstack">, LowerBlockDiagonal,
              LowerSumToSize, LowerChannelShuffle, LowerSelectScatter, LowerSliceScatter, LowerCat, LowerStack, LowerFlip, LowerRoll,
              LowerRepeat, LowerTile, LowerRepeatInterleave, LowerBroadcastTensors, LowerAtLeast,
              LowerMeshgrid, LowerCartesianProduct, LowerFlattenTensors, LowerUnflattenTensors, LowerConstantPad,
              LowerTriangle<"aten.tril", hlo::Direction::le>, LowerTriangle<"aten.triu", hlo::Direction::ge>>;

}  // namespace fxpass

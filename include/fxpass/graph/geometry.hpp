// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/graph.hpp>
#include <fxpass/support/small_pool.hpp>
#include <fxpass/support/span.hpp>
#include <fxpass/support/text.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

/// @file
/// Where the elements of a tensor lie in its storage: sizes, strides, offset, and the arithmetic that decides whether
/// PyTorch makes a view or a copy, and whether it refuses an overlap. Sources: `at::detail::computeStride`,
/// `at::get_overlap_status`, `at::has_internal_overlap` (aten/src/ATen/TensorUtils.cpp, MemoryOverlap.cpp).

namespace fxpass {

/// Numbers of one tensor, one for each dimension. No tensor has many.
using Dims = SmallPool<std::int64_t, 8>;

/// The numbers of one strided tensor; sizes, strides and offset in elements.
struct Geometry {
  Dims sizes;    ///< of each dimension
  Dims strides;  ///< of each dimension
  std::int64_t offset = 0;     ///< of the first element in the storage

  /// How many dimensions there are.
  [[nodiscard]] constexpr auto rank() const -> std::uint32_t { return sizes.size(); }
  /// How many elements there are: the product of the sizes.
  [[nodiscard]] constexpr auto element_count() const -> std::int64_t {
    std::int64_t n = 1;
    for (const std::int64_t size : sizes) n *= size;
    return n;
  }
};

/// Strides of a row-major tensor without gaps. Sizes of 0 count as 1, as in PyTorch.
[[nodiscard]] constexpr auto contiguous_strides(Span<const std::int64_t> sizes) -> Dims {
  Dims strides;
  strides.resize(static_cast<std::uint32_t>(sizes.size()), 1);
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[static_cast<std::uint32_t>(i)] = stride;
    stride *= sizes[i] > 1 ? sizes[i] : 1;
  }
  return strides;
}

/// The geometry that the metadata states; none if a number in it is symbolic.
[[nodiscard]] constexpr auto geometry_of(const Graph& graph, const TensorMeta& meta) -> std::optional<Geometry> {
  Geometry g;
  if (meta.storage_offset.is_symbolic()) return std::nullopt;
  g.offset = meta.storage_offset.value();
  for (const SymInt size : graph.sizes(meta)) {
    if (size.is_symbolic()) return std::nullopt;
    g.sizes.push_back(size.value());
  }
  for (const SymInt stride : graph.strides(meta)) {
    if (stride.is_symbolic()) return std::nullopt;
    g.strides.push_back(stride.value());
  }
  return g;
}

/// The geometry of the tensor that node `id` is; none where it is not known.
[[nodiscard]] constexpr auto geometry_of(const Graph& graph, NodeId id) -> std::optional<Geometry> {
  const TensorMeta* meta = graph.tensor(id);
  if (meta == nullptr) return std::nullopt;
  return geometry_of(graph, *meta);
}

namespace detail {
/// Stands for a number of sizes or strides that a printed graph does not show. It is a symbol, so that whatever hangs
/// on it is refused and not guessed.
inline constexpr std::string_view unknown_number = "unknown";
}  // namespace detail

/// Why there is no geometry of the tensor that node `id` is, and what helps; empty if there is one. O(rank).
[[nodiscard]] constexpr auto why_no_geometry(const Graph& graph, NodeId id) -> Text {
  constexpr std::string_view help =
      "print the graph with print_readable(include_stride=True, include_device=True), say what its inputs are "
      "(--example-inputs), or use FX JSON";
  const TensorMeta* meta = graph.tensor(id);
  if (meta == nullptr) return text_of("dtype and shape of '", graph.name(id), "' are not known; ", help);
  const auto why = [&](SymInt number, std::string_view what) -> Text {
    if (graph.expression(number) == detail::unknown_number)
      return text_of("the strides of '", graph.name(id), "' are not known; ", help);
    const std::string_view expression = graph.expression(number);
    // PyTorch calls u0, u1, ... what it learns when the program runs, and s0, s1, ... the sizes of inputs.
    const bool is_read = expression.starts_with('u') && expression.size() > 1 && expression[1] >= '0' && expression[1] <= '9';
    const std::string_view remedy =
        !is_read           ? "which is no number"
        : what == "offset" ? "which the program reads from a tensor; write to the index itself (index_copy_, index_put_)"
                           : "which hangs on the values of a tensor; torch.where and masked_fill_ keep the shape";
    return text_of("in the ", what, " of '", graph.name(id), "' stands ", expression, ", ", remedy);
  };
  for (const SymInt size : graph.sizes(*meta))
    if (size.is_symbolic()) return why(size, "shape");
  for (const SymInt stride : graph.strides(*meta))
    if (stride.is_symbolic()) return why(stride, "strides");
  if (meta->storage_offset.is_symbolic()) return why(meta->storage_offset, "offset");
  return {};
}

/// Whether elements lie in row-major order without gaps (`Tensor.is_contiguous()`).
[[nodiscard]] constexpr auto is_contiguous(const Geometry& g) -> bool {
  std::int64_t expected = 1;
  for (std::uint32_t i = g.rank(); i-- > 0;) {
    if (g.sizes[i] == 0) return true;
    if (g.sizes[i] == 1) continue;
    if (g.strides[i] != expected) return false;
    expected *= g.sizes[i];
  }
  return true;
}

/// The same of the order that `format` stands for (`Tensor.is_contiguous(memory_format=...)`): in the formats with channels
/// last, the second dimension lies innermost. Needs a format other than `unknown` and `preserve_format`.
[[nodiscard]] constexpr auto is_contiguous(const Geometry& g, MemoryFormat format) -> bool {
  if (format == MemoryFormat::contiguous_format) return is_contiguous(g);
  if (g.rank() != (format == MemoryFormat::channels_last ? 4U : 5U)) return false;
  Geometry reordered;
  for (std::uint32_t i = 0; i < g.rank(); ++i) {
    const std::uint32_t d = i == 0 ? 0 : i + 1 == g.rank() ? 1 : i + 1;
    reordered.sizes.push_back(g.sizes[d]);
    reordered.strides.push_back(g.strides[d]);
  }
  return is_contiguous(reordered);
}

/// The order that strides suggest (`c10::TensorImpl::suggest_memory_format`): channels last where they say so beyond doubt,
/// else that of a contiguous tensor, whatever the strides.
[[nodiscard]] constexpr auto suggested_format(const Geometry& g) -> MemoryFormat {
  if (g.rank() != 4 && g.rank() != 5) return MemoryFormat::contiguous_format;
  const std::uint32_t innermost = g.rank() - 1;
  std::int64_t least = 0;
  for (std::uint32_t i = 0; i < g.rank(); ++i) {
    // Channels, then the others from the last dimension to the first.
    const std::uint32_t d = i == 0 ? 1 : i == innermost ? 0 : g.rank() - i;
    const bool is_ambiguous = (d == 1 && g.strides[d] == 0) || (d == 0 && least == g.strides[1]);
    if (g.sizes[d] == 0 || g.strides[d] < least || is_ambiguous) return MemoryFormat::contiguous_format;
    least = g.strides[d] * (g.sizes[d] > 1 ? g.sizes[d] : 1);
  }
  return g.rank() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
}

/// The dimensions from the one that lies outermost to the innermost: what a tensor whose elements fill one stretch of
/// storage has to be permuted by to be contiguous. O(rank^2).
[[nodiscard]] constexpr auto storage_order(const Geometry& g) -> Dims {
  Dims order;
  for (std::uint32_t i = 0; i < g.rank(); ++i)
    if (g.sizes[i] == 1) order.push_back(i);
  const std::uint32_t first = order.size();
  for (std::uint32_t i = 0; i < g.rank(); ++i) {
    if (g.sizes[i] == 1) continue;
    order.push_back(i);
    const auto stride = [&](std::uint32_t k) { return g.strides[static_cast<std::uint32_t>(order[k])]; };
    for (std::uint32_t k = order.size() - 1; k > first && stride(k - 1) < stride(k); --k) std::swap(order[k - 1], order[k]);
  }
  return order;
}

/// Whether the elements fill one stretch of storage, each place once, in some order of dimensions. O(rank^2).
[[nodiscard]] constexpr auto is_non_overlapping_and_dense(const Geometry& g) -> bool {
  if (g.element_count() == 0) return true;
  std::int64_t expected = 1;
  std::uint32_t left = 0;
  for (const std::int64_t size : g.sizes) left += size > 1 ? 1 : 0;
  while (left > 0) {
    bool found = false;
    for (std::uint32_t i = 0; i < g.rank() && !found; ++i) {
      if (g.sizes[i] <= 1 || g.strides[i] != expected) continue;
      expected *= g.sizes[i];
      found = true;
      --left;
    }
    if (!found) return false;
  }
  return true;
}

/// Whether several elements share a place because a dimension has stride 0; PyTorch refuses to write such a tensor.
[[nodiscard]] constexpr auto has_expanded_dimension(Span<const std::int64_t> sizes,
                                                    Span<const std::int64_t> strides) -> bool {
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1 && strides[i] == 0) return true;
  return false;
}
[[nodiscard]] constexpr auto has_expanded_dimension(const Geometry& g) -> bool {
  return has_expanded_dimension(g.sizes.view(), g.strides.view());
}

/// Whether two tensors are the same elements in the same order: equal but for dimensions of size 1.
[[nodiscard]] constexpr auto same_places(const Geometry& a, const Geometry& b) -> bool {
  std::uint32_t j = 0;
  for (std::uint32_t i = 0; i < a.rank(); ++i) {
    if (a.sizes[i] == 1) continue;
    while (j < b.rank() && b.sizes[j] == 1) ++j;
    if (j == b.rank() || a.sizes[i] != b.sizes[j] || a.strides[i] != b.strides[j]) return false;
    ++j;
  }
  while (j < b.rank() && b.sizes[j] == 1) ++j;
  return j == b.rank() && a.offset == b.offset;
}

/// Whether each dimension steps over all that those behind it span, as in a row-major tensor: then no two elements share a
/// place. Cheap, for it is true of nearly all tensors. O(rank).
[[nodiscard]] constexpr auto is_row_major_without_overlap(Span<const std::int64_t> sizes,
                                                          Span<const std::int64_t> strides) -> bool {
  std::int64_t reach = 0;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] <= reach) return false;
    reach += (sizes[i] - 1) * strides[i];
  }
  return true;
}

/// Whether several elements share a place: by an expanded dimension, or in windows that overlap. O(rank^2) where each
/// stride reaches over all that smaller ones span; else O(places), and of more than 2^28 places it is taken to be so.
[[nodiscard]] constexpr auto overlaps_itself(const Geometry& g) -> bool {
  if (g.element_count() <= 1 || is_row_major_without_overlap(g.sizes.view(), g.strides.view())) return false;
  // Dimensions by ascending stride, those of size 1 left out.
  SmallPool<std::uint32_t, 8> order;
  for (std::uint32_t i = 0; i < g.rank(); ++i) {
    if (g.sizes[i] == 1) continue;
    if (g.strides[i] == 0) return true;
    order.push_back(i);
    for (std::uint32_t k = order.size() - 1; k > 0 && g.strides[order[k - 1]] > g.strides[order[k]]; --k)
      std::swap(order[k - 1], order[k]);
  }
  std::int64_t reach = 0;
  bool is_nested = true;
  for (const std::uint32_t i : order) {
    is_nested = is_nested && g.strides[i] > reach;
    reach += (g.sizes[i] - 1) * g.strides[i];
  }
  if (is_nested) return false;
  if (reach + 1 < g.element_count() || reach > (std::int64_t{1} << 28)) return true;
  Pool<std::uint8_t> is_taken;
  is_taken.resize(static_cast<std::uint32_t>(reach) + 1, 0);
  const std::int64_t count = g.element_count();
  for (std::int64_t element = 0; element < count; ++element) {
    std::int64_t place = 0;
    std::int64_t rest = element;
    for (const std::uint32_t i : order) {
      place += rest % g.sizes[i] * g.strides[i];
      rest /= g.sizes[i];
    }
    std::uint8_t& taken = is_taken[static_cast<std::uint32_t>(place)];
    if (taken != 0) return true;
    taken = 1;
  }
  return false;
}

/// Whether PyTorch refuses to write `target` while it reads `source` of the same storage: the two overlap, but are not
/// the same elements in the same order. PyTorch looks at dense tensors alone; of others it writes some elements before it reads
/// the last, see `reads_ahead`.
[[nodiscard]] constexpr auto partially_overlap(const Geometry& target, const Geometry& source) -> bool {
  if (target.element_count() == 0 || source.element_count() == 0) return false;
  if (!is_non_overlapping_and_dense(target) || !is_non_overlapping_and_dense(source)) return false;
  const std::int64_t target_end = target.offset + target.element_count();
  const std::int64_t source_end = source.offset + source.element_count();
  if (target.offset == source.offset && target_end == source_end) return !same_places(target, source);
  return target.offset < source_end && source.offset < target_end;
}

/// The strides of `source` as a tensor of the sizes of `target`, to which it broadcasts; none where it does not. Dimensions of
/// size 1 that `source` has more of do not count, as in `x[index] = value`. O(rank).
[[nodiscard]] constexpr auto broadcast_strides(const Geometry& source, const Geometry& target) -> std::optional<Dims> {
  Dims strides;
  strides.resize(target.rank(), 0);
  for (std::uint32_t i = 0; i < source.rank(); ++i) {
    const std::uint32_t back = source.rank() - i;
    const std::int64_t size = source.sizes[i];
    if (size == 1) continue;
    if (back > target.rank() || size != target.sizes[target.rank() - back]) return std::nullopt;
    strides[target.rank() - back] = source.strides[i];
  }
  return strides;
}

/// Whether an operator that goes through the places of `target` in ascending order, as PyTorch does, and reads the same element
/// of `source`, a tensor of the same storage and dtype, before it writes one, never meets one that it has written: they are
/// the same elements, or those of `source` lie equally far ahead. O(rank).
[[nodiscard]] constexpr auto reads_ahead(const Geometry& target, const Geometry& source) -> bool {
  const auto strides = broadcast_strides(source, target);
  if (!strides || source.offset < target.offset) return false;
  for (std::uint32_t i = 0; i < target.rank(); ++i)
    if (target.sizes[i] != 1 && (*strides)[i] != target.strides[i]) return false;
  if (source.offset == target.offset) return true;
  std::int64_t reach = 0;
  const Dims order = storage_order(target);
  for (std::uint32_t k = order.size(); k-- > 0;) {
    const auto i = static_cast<std::uint32_t>(order[k]);
    if (target.sizes[i] == 1) continue;
    if (target.strides[i] <= reach) return false;
    reach += (target.sizes[i] - 1) * target.strides[i];
  }
  return true;
}

/// Whether `source` is a part of `target` that leaves out all but one of the elements along some dimensions, as in `x[:] = x[0]`:
/// a copy that broadcasts it writes each of its own elements onto itself. Of tensors of the same storage and dtype, of which
/// `target` does not overlap itself. O(rank^2).
[[nodiscard]] constexpr auto is_broadcast_onto_itself(const Geometry& target, const Geometry& source) -> bool {
  const auto strides = broadcast_strides(source, target);
  if (!strides || source.offset < target.offset) return false;
  std::int64_t rest = source.offset - target.offset;
  for (const std::int64_t dim : storage_order(target)) {
    const auto i = static_cast<std::uint32_t>(dim);
    if (target.sizes[i] == 1 || (*strides)[i] == target.strides[i]) continue;
    if ((*strides)[i] != 0 || target.strides[i] <= 0) return false;
    const std::int64_t index = rest / target.strides[i];
    rest -= (index < target.sizes[i] ? index : target.sizes[i] - 1) * target.strides[i];
  }
  return rest == 0;
}

/// Whether two tensors of one storage certainly have no place in common. Told where each stride of both is a multiple of the
/// next smaller one and no dimension reaches into the next, as in parts of one contiguous tensor: places are then numbers
/// written in digits, one for each stride, and the tensors boxes of digits. Else by the stretches of storage that they reach
/// over. O(rank^2).
[[nodiscard]] constexpr auto are_apart(const Geometry& a, const Geometry& b) -> bool {
  if (a.element_count() == 0 || b.element_count() == 0) return true;
  const auto last = [](const Geometry& g) {
    std::int64_t place = g.offset;
    for (std::uint32_t i = 0; i < g.rank(); ++i) place += (g.sizes[i] - 1) * g.strides[i];
    return place;
  };
  if (last(a) < b.offset || last(b) < a.offset) return true;
  Dims strides;  // of both, each once, in descending order
  for (const Geometry* g : {&a, &b})
    for (std::uint32_t i = 0; i < g->rank(); ++i) {
      const std::int64_t stride = g->strides[i];
      if (g->sizes[i] == 1 || stride == 0) continue;
      if (stride < 0) return false;
      std::uint32_t at = 0;
      while (at < strides.size() && strides[at] > stride) ++at;
      if (at < strides.size() && strides[at] == stride) continue;
      strides.push_back(stride);
      for (std::uint32_t k = strides.size() - 1; k > at; --k) std::swap(strides[k - 1], strides[k]);
    }
  for (std::uint32_t k = 1; k < strides.size(); ++k)
    if (strides[k - 1] % strides[k] != 0) return false;
  std::int64_t rest[2] = {a.offset, b.offset};
  bool is_apart = false;
  for (std::uint32_t k = 0; k < strides.size(); ++k) {
    std::int64_t first[2]{}, end[2]{};
    for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
      const Geometry& g = which == 0 ? a : b;
      first[which] = rest[which] / strides[k];
      rest[which] %= strides[k];
      end[which] = first[which] + 1;
      for (std::uint32_t i = 0; i < g.rank(); ++i)
        if (g.sizes[i] != 1 && g.strides[i] == strides[k]) end[which] += g.sizes[i] - 1;
      // A digit beyond its place would carry into the one before.
      if (k > 0 && end[which] > strides[k - 1] / strides[k]) return false;
    }
    is_apart = is_apart || end[0] <= first[1] || end[1] <= first[0];
  }
  return is_apart || rest[0] != rest[1];
}

/// Sizes or strides but for those of dimension `dim`. O(rank).
[[nodiscard]] constexpr auto without(Span<const std::int64_t> numbers, std::uint32_t dim) -> Dims {
  Dims result;
  result.append(numbers.first(dim));
  result.append(numbers.subspan(dim + 1));
  return result;
}

/// The same places in bytes: an element is a last dimension of `element_bytes`.
[[nodiscard]] constexpr auto in_bytes(const Geometry& g, std::int64_t element_bytes) -> Geometry {
  Geometry bytes = g;
  bytes.offset *= element_bytes;
  for (std::int64_t& stride : bytes.strides) stride *= element_bytes;
  bytes.sizes.push_back(element_bytes);
  bytes.strides.push_back(1);
  return bytes;
}

/// `g` with its bytes seen as elements of another size (`Tensor.view(dtype)`); none where PyTorch refuses: without
/// dimensions, where the last one is not dense, or where elements would begin or end inside of others. O(rank).
[[nodiscard]] constexpr auto reinterpreted(const Geometry& g, std::int64_t old_bytes, std::int64_t new_bytes)
    -> std::optional<Geometry> {
  if (old_bytes == new_bytes) return g;
  if (g.rank() == 0 || g.strides[g.rank() - 1] != 1) return std::nullopt;
  Geometry result = g;
  const bool grows = new_bytes > old_bytes;
  const std::int64_t ratio = grows ? new_bytes / old_bytes : old_bytes / new_bytes;
  const auto scale = [&](std::int64_t& n) {
    if (grows && n % ratio != 0) return false;
    n = grows ? n / ratio : n * ratio;
    return true;
  };
  bool is_even = scale(result.offset) && scale(result.sizes[g.rank() - 1]);
  for (std::uint32_t i = 0; i + 1 < g.rank(); ++i) is_even = scale(result.strides[i]) && is_even;
  return is_even ? std::optional(result) : std::nullopt;
}

/// Strides with which `g` can be seen in shape `sizes` without moving elements; none if PyTorch has to copy.
/// Needs equal element counts. O(rank + sizes).
[[nodiscard]] constexpr auto view_strides(const Geometry& g, Span<const std::int64_t> sizes)
    -> std::optional<Dims> {
  if (g.element_count() == 0) return contiguous_strides(sizes);
  Dims strides;
  strides.resize(static_cast<std::uint32_t>(sizes.size()), 1);
  // From the last dimension to the first: old dimensions that continue one another form a block, and each block must
  // be exactly filled by new dimensions.
  auto next = static_cast<std::int64_t>(sizes.size()) - 1;
  std::int64_t block_stride = g.rank() == 0 ? 1 : g.strides[g.rank() - 1];
  std::int64_t block_size = 1;
  for (std::uint32_t d = g.rank(); d-- > 0;) {
    block_size *= g.sizes[d];
    const bool block_ends =
        d == 0 || (g.sizes[d - 1] != 1 && g.strides[d - 1] != block_size * block_stride);
    if (!block_ends) continue;
    std::int64_t filled = 1;
    while (next >= 0 && (filled < block_size || sizes[static_cast<std::size_t>(next)] == 1)) {
      strides[static_cast<std::uint32_t>(next)] = filled * block_stride;
      filled *= sizes[static_cast<std::size_t>(next)];
      --next;
    }
    if (filled != block_size) return std::nullopt;
    if (d > 0) {
      block_stride = g.strides[d - 1];
      block_size = 1;
    }
  }
  if (g.rank() == 0)
    for (; next >= 0; --next) strides[static_cast<std::uint32_t>(next)] = 1;
  if (next >= 0) return std::nullopt;
  return strides;
}

/// `index` counted from the front of a dimension of `size`: Python's negative indices. Not clamped.
[[nodiscard]] constexpr auto wrap_index(std::int64_t index, std::int64_t size) -> std::int64_t {
  return index < 0 ? index + size : index;
}
/// A dimension counted from the front; `rank` 0 counts as 1, as in PyTorch. None if out of range.
[[nodiscard]] constexpr auto wrap_dimension(std::int64_t dim, std::int64_t rank) -> std::optional<std::uint32_t> {
  const std::int64_t limit = rank == 0 ? 1 : rank;
  if (dim < -limit || dim >= limit) return std::nullopt;
  return static_cast<std::uint32_t>(dim < 0 ? dim + limit : dim);
}

/// Bounds of a slice as Python clamps them: 0 <= start <= end <= size.
struct SliceBounds {
  std::int64_t start = 0;  ///< index of the first element
  std::int64_t end = 0;    ///< index behind the last one that may be taken
  std::int64_t step = 1;   ///< at least 1
  /// How many elements the slice has.
  [[nodiscard]] constexpr auto length() const -> std::int64_t { return (end - start + step - 1) / step; }
};
/// Python's `start:stop:step`, as written.
struct SliceArgument {
  std::optional<std::int64_t> start;  ///< none: from the front
  std::optional<std::int64_t> stop;   ///< none: to the end
  std::int64_t step = 1;              ///< 1 where none is written
};
/// The numbers of a slice argument; none if a part is no known integer. Needs an argument of kind slice.
[[nodiscard]] constexpr auto slice_argument(const Graph& graph, const Argument& slice)
    -> std::optional<SliceArgument> {
  const auto parts = graph.children(slice);
  for (const Argument& part : parts)
    if (!part.is_none() && !part.is(ArgumentKind::integer)) return std::nullopt;
  SliceArgument result;
  if (!parts[0].is_none()) result.start = parts[0].integer();
  if (!parts[1].is_none()) result.stop = parts[1].integer();
  if (!parts[2].is_none()) result.step = parts[2].integer();
  return result;
}
/// The items of a Python index: those of a tuple, or the index itself.
[[nodiscard]] constexpr auto index_items(const Graph& graph, const Argument& index) -> SmallPool<Argument, 8> {
  SmallPool<Argument, 8> items;
  if (index.is(ArgumentKind::tuple))
    items.append(graph.children(index));
  else
    items.push_back(index);
  return items;
}
/// Whether an item of a Python index is a list that stands for an index tensor: of integers, or of bools.
[[nodiscard]] constexpr auto is_index_list(const Graph& graph, const Argument& item) -> bool {
  if (!item.is(ArgumentKind::list)) return false;
  const auto members = graph.children(item);
  for (const Argument& member : members)
    if (member.kind() != members[0].kind() || (!member.is(ArgumentKind::integer) && !member.is(ArgumentKind::boolean)))
      return false;
  return !members.empty();
}
/// How many dimensions of the tensor an item of a Python index stands for: a mask for as many as it has, None, Ellipsis
/// and a bool for none, everything else for one.
[[nodiscard]] constexpr auto dimensions_indexed(const Graph& graph, const Argument& item) -> std::uint32_t {
  if (item.is_none() || item.is(ArgumentKind::ellipsis) || item.is(ArgumentKind::boolean)) return 0;
  if (!item.is_node()) return 1;
  const TensorMeta* meta = graph.tensor(item.node());
  return meta != nullptr && meta->dtype == DType::boolean ? meta->rank : 1;
}
/// Whether an index tensor may be a single integer, which PyTorch takes for a number: `x[i]` is then a view.
[[nodiscard]] constexpr auto may_be_integer(const Graph& graph, const Argument& item) -> bool {
  const TensorMeta* meta = graph.tensor(item.node());
  if (meta == nullptr) return true;
  return meta->rank == 0 && category(meta->dtype) == DTypeCategory::integral && meta->dtype != DType::u8;
}
/// Whether a Python index holds a list of numbers, or a tensor that is not certainly a single integer.
[[nodiscard]] constexpr auto has_index_tensors(const Graph& graph, const Argument& index) -> bool {
  for (const Argument& item : index_items(graph, index)) {
    if (item.is(ArgumentKind::list)) return true;
    if (!item.is_node() || graph.node(item.node()).value_kind != ValueKind::tensor) continue;
    if (graph.tensor(item.node()) == nullptr || !may_be_integer(graph, item)) return true;
  }
  return false;
}
/// Whether PyTorch takes a write of `values` at `indices`, items of a Python index or arguments of `index_put_`, for
/// `masked_fill_`: one mask and no other tensor says where, and there is one value.
[[nodiscard]] constexpr auto fills_by_mask(const Graph& graph, Span<const Argument> indices, NodeId values) -> bool {
  std::uint32_t masks = 0;
  for (const Argument& index : indices) {
    if (index.is(ArgumentKind::list)) return false;
    if (!index.is_node() || graph.tensor(index.node()) == nullptr) continue;
    if (graph.tensor(index.node())->dtype != DType::boolean) return false;
    ++masks;
  }
  const auto geometry = geometry_of(graph, values);
  return masks == 1 && geometry && geometry->element_count() == 1;
}
/// A slice of a dimension of `size`, its bounds wrapped and clamped as Python does. Needs a step of at least 1,
/// as PyTorch does.
[[nodiscard]] constexpr auto clamp_slice(std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                                         std::int64_t step, std::int64_t size) -> SliceBounds {
  const auto clamp = [size](std::int64_t v) {
    v = wrap_index(v, size);
    return v < 0 ? 0 : v > size ? size : v;
  };
  SliceBounds b;
  b.start = start ? clamp(*start) : 0;
  b.end = end ? clamp(*end) : size;
  if (b.end < b.start) b.end = b.start;
  b.step = step;
  return b;
}

/// Piece `index` of a dimension of `size` that is cut at indices (`tensor_split`): what Python's slices between them are,
/// which may leave elements out or have some in common.
[[nodiscard]] constexpr auto piece_between(Span<const std::int64_t> cuts, std::size_t index, std::int64_t size)
    -> SliceBounds {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> end;
  if (index > 0) start = cuts[index - 1];
  if (index < cuts.size()) end = cuts[index];
  return clamp_slice(start, end, 1, size);
}

/// Sizes with one -1 replaced by what is left of `count` elements; none if that does not come out even.
[[nodiscard]] constexpr auto infer_sizes(Span<const std::int64_t> sizes, std::int64_t count)
    -> std::optional<Dims> {
  Dims result;
  std::int64_t known = 1;
  std::uint32_t open = 0xffffffffU;
  for (const std::int64_t size : sizes) {
    if (size == -1) {
      if (open != 0xffffffffU) return std::nullopt;
      open = result.size();
    } else {
      known *= size;
    }
    result.push_back(size);
  }
  if (open != 0xffffffffU) {
    if (known == 0 || count % known != 0) return std::nullopt;
    result[open] = count / known;
    known = count;
  }
  if (known != count) return std::nullopt;
  return result;
}

/// Whether all numbers of the metadata are known: none is symbolic.
[[nodiscard]] constexpr auto has_numbers(const Graph& graph, const TensorMeta& meta) -> bool {
  for (const SymInt size : graph.sizes(meta))
    if (size.is_symbolic()) return false;
  for (const SymInt stride : graph.strides(meta))
    if (stride.is_symbolic()) return false;
  return !meta.storage_offset.is_symbolic();
}
/// Whether a tensor of sizes `from` can be broadcast to exactly `to`. A symbolic size cannot.
[[nodiscard]] constexpr auto broadcasts_to(Span<const SymInt> from, Span<const std::int64_t> to) -> bool {
  if (from.size() > to.size()) return false;
  const auto expanded = to.subspan(to.size() - from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!(from[i] == SymInt(expanded[i])) && !(from[i] == SymInt(1))) return false;
  return true;
}
/// Whether a tensor of sizes `from` can be broadcast to exactly `to`.
[[nodiscard]] constexpr auto broadcasts_to(Span<const std::int64_t> from, Span<const std::int64_t> to) -> bool {
  if (from.size() > to.size()) return false;
  const auto expanded = to.subspan(to.size() - from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != expanded[i] && from[i] != 1) return false;
  return true;
}

}  // namespace fxpass

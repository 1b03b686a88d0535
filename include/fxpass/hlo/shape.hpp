// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/dtype.hpp>
#include <fxpass/support/pool.hpp>
#include <fxpass/support/short_list.hpp>
#include <fxpass/support/span.hpp>
#include <fxpass/support/text.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

/// @file
/// Shapes of HLO values: arrays, tuples, tokens. Layouts are always the default one (row-major).

/// HLO modules as values: a builder, shape inference, a verifier.
namespace fxpass::hlo {

/// Dimensions an array may have here. PyTorch programs stay far below; `repeat` doubles a rank for a moment.
inline constexpr std::size_t max_rank = 16;

/// Sizes or numbers of dimensions.
using Dims = ShortList<std::int64_t, max_rank>;

/// Dimensions `0, 1, ..., rank - 1`.
[[nodiscard]] constexpr auto iota_dims(std::size_t rank) -> Dims {
  Dims dims;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(static_cast<std::int64_t>(i));
  return dims;
}

/// Product of the sizes; none if it does not fit, or a size is negative.
[[nodiscard]] constexpr auto checked_element_count(Span<const std::int64_t> sizes)
    -> std::optional<std::int64_t> {
  std::int64_t count = 1;
  bool is_empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      is_empty = true;
    } else if (count > std::numeric_limits<std::int64_t>::max() / size) {
      return std::nullopt;
    } else {
      count *= size;
    }
  }
  return is_empty ? 0 : count;
}

/// The shape of an array: an element type and the sizes of its dimensions.
struct Shape {
  DType dtype = DType::f32;  ///< of its elements
  Dims dims;                 ///< their sizes

  /// How many dimensions there are; without one it is a scalar.
  [[nodiscard]] constexpr auto rank() const -> std::size_t { return dims.size(); }
  [[nodiscard]] constexpr auto is_scalar() const -> bool { return dims.empty(); }
  /// Number of elements; 0 if it cannot be counted, which no shape of a module is.
  [[nodiscard]] constexpr auto element_count() const -> std::int64_t {
    return checked_element_count(dims).value_or(0);
  }
  /// The same sizes with another element type.
  [[nodiscard]] constexpr auto with(DType other) const -> Shape { return {other, dims}; }

  friend constexpr auto operator==(const Shape&, const Shape&) -> bool = default;
};

/// What a shape is of.
enum class ShapeKind : std::uint8_t { array, tuple, token };

/// A shape of a `ShapeTable`. Shapes are kept once, so equal ids of one table are equal shapes and the other
/// way round.
struct ShapeId {
  std::uint32_t index = 0;  ///< row of the table

  friend constexpr auto operator==(ShapeId, ShapeId) -> bool = default;
};

/// The shapes of a module, each kept once.
class ShapeTable {
 private:
  // First, as Clang evaluates a member template only behind its definition.

  struct Record {
    ShapeKind kind = ShapeKind::array;
    DType dtype = DType::f32;
    Range range;  ///< of `sizes_` for an array, of `elements_` for a tuple

    friend constexpr auto operator==(const Record&, const Record&) -> bool = default;
  };

  static constexpr std::uint64_t seed = 0x9e3779b97f4a7c15u;
  static constexpr std::uint32_t no_shape = 0xffffffffu;

  [[nodiscard]] static constexpr auto mix(std::uint64_t hash, std::uint64_t value) -> std::uint64_t {
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    return hash ^ (hash >> 32);
  }
  template <class A, class B>
  [[nodiscard]] static constexpr auto same(Span<A> a, Span<B> b) -> bool {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(a[i] == b[i])) return false;
    return true;
  }

  /// Open addressing; the table of slots is at most half full.
  template <class Same, class Make>
  constexpr auto find_or_add(std::uint64_t hash, Same same_as, Make make) -> ShapeId {
    if (slots_.size() < 2 * (records_.size() + 1)) rehash();
    const std::uint32_t mask = slots_.size() - 1;
    std::uint32_t slot = static_cast<std::uint32_t>(hash) & mask;
    while (slots_[slot] != no_shape) {
      if (same_as(records_[slots_[slot]])) return {slots_[slot]};
      slot = (slot + 1) & mask;
    }
    const Record record = make();
    slots_[slot] = records_.push_back(record);
    hashes_.push_back(static_cast<std::uint32_t>(hash));
    return {slots_[slot]};
  }
  constexpr void rehash() {
    const std::uint32_t count = std::bit_ceil(4 * (records_.size() + 1));
    slots_.clear();
    slots_.resize(count, no_shape);
    for (std::uint32_t i = 0; i < records_.size(); ++i) {
      std::uint32_t slot = hashes_[i] & (count - 1);
      while (slots_[slot] != no_shape) slot = (slot + 1) & (count - 1);
      slots_[slot] = i;
    }
  }

 public:
  /// The id of an array shape. Needs a shape without overflow; O(1) expected.
  constexpr auto array(DType dtype, Span<const std::int64_t> dims) -> ShapeId {
    std::uint64_t hash = mix(mix(seed, static_cast<std::uint64_t>(dtype) + 2), dims.size());
    for (const std::int64_t size : dims) hash = mix(hash, static_cast<std::uint64_t>(size));
    return find_or_add(
        hash,
        [&](const Record& r) {
          return r.kind == ShapeKind::array && r.dtype == dtype && same(sizes_.view(r.range), dims);
        },
        [&] { return Record{ShapeKind::array, dtype, sizes_.append(dims)}; });
  }
  constexpr auto array(const Shape& shape) -> ShapeId { return array(shape.dtype, shape.dims); }

  /// The id of a tuple of those shapes. O(elements) expected.
  constexpr auto tuple(Span<const ShapeId> elements) -> ShapeId {
    std::uint64_t hash = mix(mix(seed, 1), elements.size());
    for (const ShapeId element : elements) hash = mix(hash, element.index);
    return find_or_add(
        hash,
        [&](const Record& r) {
          return r.kind == ShapeKind::tuple && same(elements_.view(r.range), elements);
        },
        [&] { return Record{ShapeKind::tuple, DType::f32, elements_.append(elements)}; });
  }

  /// The id of the shape of a token, which orders side effects.
  constexpr auto token() -> ShapeId {
    return find_or_add(
        mix(seed, 0), [](const Record& r) { return r.kind == ShapeKind::token; },
        [] { return Record{ShapeKind::token, DType::f32, {}}; });
  }

  /// How many shapes there are, and whether `id` is one of them.
  [[nodiscard]] constexpr auto size() const -> std::uint32_t { return records_.size(); }
  [[nodiscard]] constexpr auto contains(ShapeId id) const -> bool { return id.index < records_.size(); }

  /// What the shape is of.
  [[nodiscard]] constexpr auto kind(ShapeId id) const -> ShapeKind { return records_[id.index].kind; }
  [[nodiscard]] constexpr auto is_array(ShapeId id) const -> bool { return kind(id) == ShapeKind::array; }
  [[nodiscard]] constexpr auto is_tuple(ShapeId id) const -> bool { return kind(id) == ShapeKind::tuple; }
  /// Element type and sizes of an array. The view holds until the table grows.
  [[nodiscard]] constexpr auto dtype(ShapeId id) const -> DType { return records_[id.index].dtype; }
  [[nodiscard]] constexpr auto dims(ShapeId id) const -> Span<const std::int64_t> {
    const Record& r = records_[id.index];
    return r.kind == ShapeKind::array ? sizes_.view(r.range) : Span<const std::int64_t>();
  }
  /// The array as a value of its own; a scalar f32 stands for what is no array.
  [[nodiscard]] constexpr auto shape(ShapeId id) const -> Shape { return {dtype(id), dims(id)}; }
  /// The elements of a tuple, none of anything else. The view holds until the table grows.
  [[nodiscard]] constexpr auto elements(ShapeId id) const -> Span<const ShapeId> {
    const Record& r = records_[id.index];
    return r.kind == ShapeKind::tuple ? elements_.view(r.range) : Span<const ShapeId>();
  }

  /// Equal if the shapes are, in the order in which they were made.
  friend constexpr auto operator==(const ShapeTable& a, const ShapeTable& b) -> bool {
    return a.records_ == b.records_ && a.sizes_ == b.sizes_ && a.elements_ == b.elements_;
  }

 private:
  Pool<Record> records_;
  Pool<std::int64_t> sizes_;
  Pool<ShapeId> elements_;
  Pool<std::uint32_t> hashes_;
  Pool<std::uint32_t> slots_;
};

/// Writes an array shape without its layout, as messages show it: `f32[2,3]`.
template <TextSink Sink>
constexpr void append_to(Sink& sink, const Shape& shape) {
  append_all(sink, dtype_info(shape.dtype).xla_name, '[');
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    if (i != 0) append_to(sink, ',');
    append_to(sink, shape.dims[i]);
  }
  append_to(sink, ']');
}

}  // namespace fxpass::hlo

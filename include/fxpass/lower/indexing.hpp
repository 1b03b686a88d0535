// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/functional_form.hpp>
#include <fxpass/lower/lowering.hpp>
#include <fxpass/lower/shape_ops.hpp>
#include <fxpass/support/span.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

/// @file
/// Operators that read and write by tensors of indices.
///
/// An index that eager would refuse is not noticed here: HLO moves a read, and a write by a single index, to the nearest
/// place in range, and drops any other write. Negative indices count from the end where PyTorch says so.

namespace fxpass {

namespace detail {

/// Index tensors in `x[i, :, j]`: one for each dimension that is indexed, in one shape, none negative.
struct AdvancedIndex {
  hlo::Dims dims;            ///< indexed dimensions of the tensor, ascending
  Pool<hlo::Value> indices;  ///< one for each
  hlo::Dims shape;           ///< of every index
  hlo::Dims result;          ///< of what is read, or written
  hlo::Dims offset_dims;     ///< dimensions of the result that are whole dimensions of the tensor

  [[nodiscard]] constexpr auto count() const -> std::int64_t {
    return hlo::Shape{DType::i64, shape}.element_count();
  }
};

/// Negative indices counted from the end of a dimension of size `size`.
constexpr auto wrapped_index(auto& c, hlo::Value index, std::int64_t size) -> hlo::Value {
  auto& b = c.builder();
  if (!index.valid() || !dtype_info(b.dtype(index)).is_signed) return index;
  const hlo::Value is_negative = b.compare(index, c.full_like(index, 0), hlo::Direction::lt);
  return b.select(is_negative, b.add(index, c.full_like(index, size)), index);
}

/// Where the indices lead: PyTorch puts their shape where the first of them stands if they are neighbours, else in front.
constexpr void place_index(const hlo::Dims& whole, AdvancedIndex& index) {
  bool adjacent = true;
  for (std::size_t i = 1; i < index.dims.size(); ++i) adjacent = adjacent && index.dims[i] == index.dims[i - 1] + 1;
  const std::size_t front = adjacent && !index.dims.empty() ? static_cast<std::size_t>(index.dims[0]) : 0;
  const auto append_index = [&] {
    for (const std::int64_t size : index.shape) index.result.push_back(size);
  };
  std::size_t kept = 0;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (index.dims.contains(static_cast<std::int64_t>(d))) continue;
    if (kept++ == front) append_index();
    index.offset_dims.push_back(static_cast<std::int64_t>(index.result.size()));
    index.result.push_back(whole[d]);
  }
  if (kept <= front) append_index();
}

/// All indices as one array with an index vector last; a single index is its own vector.
constexpr auto index_vectors(auto& c, const AdvancedIndex& index) -> hlo::Value {
  auto& b = c.builder();
  if (index.indices.size() == 1) return index.indices[0];
  hlo::Dims column = index.shape;
  column.push_back(1);
  Pool<hlo::Value> columns;
  for (const hlo::Value i : index.indices) columns.push_back(b.reshape(i, column));
  return b.concatenate(columns.view(), static_cast<std::int64_t>(index.shape.size()));
}

/// Whether all indices together name one place: then a slice is read or updated, which XLA does in the tensor's
/// own buffer.
[[nodiscard]] constexpr auto is_single(const AdvancedIndex& index) -> bool { return index.count() == 1; }

/// Starts and sizes of the slice that a single index names.
struct SingleWindow {
  Pool<hlo::Value> starts;
  hlo::Dims sizes;
};
constexpr auto single_window(auto& c, hlo::Value x, const AdvancedIndex& index) -> SingleWindow {
  auto& b = c.builder();
  SingleWindow window{{}, b.dims(x)};
  const DType type = b.dtype(index.indices[0]);
  std::uint32_t next = 0;
  for (std::size_t d = 0; d < window.sizes.size(); ++d) {
    if (!index.dims.contains(static_cast<std::int64_t>(d))) {
      window.starts.push_back(b.constant(type, 0));
      continue;
    }
    window.starts.push_back(b.reshape(b.convert(index.indices[next++], type), {}));
    window.sizes[d] = 1;
  }
  return window;
}

constexpr auto gather(auto& c, hlo::Value x, const AdvancedIndex& index) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  if (is_single(index)) {
    const SingleWindow window = single_window(c, x, index);
    return b.reshape(b.dynamic_slice(x, window.starts.view(), window.sizes), index.result);
  }
  hlo::Dims sizes = b.dims(x);
  for (const std::int64_t d : index.dims) sizes[static_cast<std::size_t>(d)] = 1;
  return b.gather(x, index_vectors(c, index),
                  {index.offset_dims, index.dims, index.dims, static_cast<std::int64_t>(index.shape.size())}, sizes);
}

/// `updates`, of the shape `index.result`, put or combined into `x`.
constexpr auto scatter(auto& c, hlo::Value x, const AdvancedIndex& index, hlo::Value updates,
                       hlo::ComputationId combiner) -> hlo::Value {
  return c.builder().scatter(
      x, index_vectors(c, index), updates,
      {index.offset_dims, index.dims, index.dims, static_cast<std::int64_t>(index.shape.size())}, combiner);
}

/// Writes `updates`, of the shape `index.result`; combined with what is there if `combine` is an operation.
constexpr auto write(auto& c, hlo::Value x, const AdvancedIndex& index, hlo::Value updates,
                     std::optional<hlo::Opcode> combine = {}) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid() || !updates.valid() || index.count() == 0) return x;
  if (is_single(index)) {
    // The index's own dimensions have size 1, so the result differs from the slice in such dimensions only; if the
    // indices are not neighbours these stand in front, and the others keep their order.
    const SingleWindow window = single_window(c, x, index);
    hlo::Value source = b.reshape(updates, window.sizes);
    if (combine) source = b.binary(*combine, b.dynamic_slice(x, window.starts.view(), window.sizes), source);
    return b.dynamic_update_slice(x, source, window.starts.view());
  }
  return scatter(c, x, index, updates, b.scalar_computation(combine.value_or(hlo::Opcode::copy), b.dtype(x)));
}

/// One index tensor for one dimension.
constexpr auto index_of_dim(auto& c, hlo::Value x, std::size_t dim, hlo::Value index) -> AdvancedIndex {
  auto& b = c.builder();
  AdvancedIndex result;
  result.dims.push_back(static_cast<std::int64_t>(dim));
  result.indices.push_back(index);
  result.shape = b.dims(index);
  place_index(b.dims(x), result);
  return result;
}

/// The tensors of `x[...]`, None where a dimension is whole, as `aten.index` and `aten.index_put` take them. None if one
/// of them is a mask, or fails.
constexpr auto advanced_index(auto& c, const Call& call, hlo::Value x, Span<const hlo::Value> tensors)
    -> std::optional<AdvancedIndex> {
  auto& b = c.builder();
  AdvancedIndex index;
  for (std::size_t d = 0; d < tensors.size(); ++d) {
    if (!tensors[d].valid()) continue;
    if (d >= b.rank(x)) {
      c.fail(call, DiagnosticCode::eager_would_raise, "more indices than dimensions");
      return std::nullopt;
    }
    index.dims.push_back(static_cast<std::int64_t>(d));
    index.shape = c.common_dims(call, index.shape, b.dims(tensors[d]));
  }
  // The indices may have different types; the widest of them holds all.
  bool is_uniform = true;
  for (const std::int64_t d : index.dims) {
    const hlo::Value first = tensors[static_cast<std::size_t>(index.dims[0])];
    is_uniform = is_uniform && b.dtype(tensors[static_cast<std::size_t>(d)]) == b.dtype(first);
  }
  for (const std::int64_t d : index.dims) {
    hlo::Value i = tensors[static_cast<std::size_t>(d)];
    if (!is_uniform) i = b.convert(i, DType::i64);
    i = wrapped_index(c, i, b.dims(x)[static_cast<std::size_t>(d)]);
    index.indices.push_back(c.broadcast_to(call, i, index.shape));
  }
  place_index(b.dims(x), index);
  return index;
}

/// A mask among the indices of a write, and where it stands.
struct MaskIndex {
  hlo::Value mask;
  std::size_t dim = 0;   ///< first dimension that the mask covers
  bool is_alone = true;  ///< whether it is the only index
};
constexpr auto find_mask(auto& c, Span<const hlo::Value> tensors) -> std::optional<MaskIndex> {
  std::optional<MaskIndex> found;
  std::size_t count = 0;
  for (std::size_t d = 0; d < tensors.size(); ++d) {
    if (!tensors[d].valid()) continue;
    ++count;
    const DType type = c.builder().dtype(tensors[d]);
    if (type == DType::boolean || type == DType::u8) found = MaskIndex{tensors[d], d, true};
  }
  if (found) found->is_alone = count == 1;
  return found;
}

/// How many elements of a vector of truth values are true up to and with each; as s32.
constexpr auto running_count(auto& c, hlo::Value mask) -> hlo::Value {
  auto& b = c.builder();
  hlo::Value sum = b.convert(mask, DType::i32);
  const std::int64_t size = b.dims(mask)[0];
  const hlo::Value zero = b.constant(DType::i32, 0);
  for (std::int64_t shift = 1; shift < size; shift *= 2)
    sum = b.add(sum, b.pad(sum, zero, {shift}, {-shift}, {0}));
  return sum;
}

/// `values` where the mask is true. They come one for each true element, in order, or one for all.
constexpr auto write_masked(auto& c, const Call& call, hlo::Value x, const MaskIndex& at, hlo::Value values)
    -> hlo::Value {
  auto& b = c.builder();
  const hlo::Dims whole = b.dims(x), covered = b.dims(at.mask);
  if (at.dim + covered.size() > whole.size())
    return c.fail(call, DiagnosticCode::eager_would_raise, "the mask has more dimensions than the tensor");
  hlo::Dims places;
  for (std::size_t d = 0; d < covered.size(); ++d) places.push_back(static_cast<std::int64_t>(at.dim + d));
  const hlo::Value mask = b.broadcast_in_dim(c.truth(at.mask), whole, places);

  // What is written has the shape before + [number of true elements] + after.
  const std::size_t behind = whole.size() - at.dim - covered.size();
  const hlo::Dims given = b.dims(values);
  if (given.size() <= behind || given[given.size() - 1 - behind] == 1) {
    hlo::Dims spread = given;
    if (given.size() > behind) {
      spread.erase(given.size() - 1 - behind);
      for (std::size_t d = 0; d < covered.size(); ++d) spread.insert(given.size() - 1 - behind, 1);
    }
    return b.select(mask, c.broadcast_to(call, b.reshape(values, spread), whole), x);
  }
  if (given.size() != behind + 1 + at.dim)
    return c.unsupported(call, "values that broadcast over the dimensions before a mask");
  // No values: eager takes them only if the mask is false everywhere.
  if (given[at.dim] == 0) return x;
  // The n-th true element takes the n-th value; the others read some value that the mask hides.
  const std::int64_t count = b.shape(at.mask).element_count();
  const hlo::Value flat = b.reshape(c.truth(at.mask), {count});
  const hlo::Value ordinal = b.subtract(running_count(c, flat), b.full({DType::i32, {count}}, 1));
  const hlo::Value taken = gather(c, values, index_of_dim(c, values, at.dim, b.reshape(ordinal, covered)));
  return b.select(mask, c.broadcast_to(call, taken, whole), x);
}

/// The `indices` of a call as values, invalid where they are None.
constexpr auto index_tensors(auto& c, const Call& call) -> Pool<hlo::Value> {
  Pool<hlo::Value> tensors;
  const auto list = call.list("indices");
  if (!list) c.unsupported(call, "the list of indices is missing");
  if (list)
    for (const Argument& a : *list) tensors.push_back(a.is_none() ? hlo::Value{} : c.tensor(call, a, "indices"));
  return tensors;
}

constexpr auto read(auto& c, const Call& call, hlo::Value x, Span<const hlo::Value> tensors) -> hlo::Value {
  if (find_mask(c, tensors)) return c.unsupported(call, "read by a mask: the size of the result depends on the data");
  const auto index = advanced_index(c, call, x, tensors);
  return index ? gather(c, x, *index) : hlo::Value{};
}

}  // namespace detail

struct LowerIndex {
  static constexpr std::array<std::string_view, 2> op{"aten.index", "aten._unsafe_index"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return detail::read(c, call, x, detail::index_tensors(c, call).view());
  }
};

struct LowerIndexPut {
  static constexpr std::array<std::string_view, 2> op{"aten.index_put", "aten._unsafe_index_put"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const hlo::Value values = b.convert(c.tensor(call, "values"), b.dtype(x));
    const bool accumulate = c.boolean(call, "accumulate");
    const Pool<hlo::Value> tensors = detail::index_tensors(c, call);
    if (const auto mask = detail::find_mask(c, tensors.view())) {
      if (!mask->is_alone) return c.unsupported(call, "a mask beside other indices");
      if (!accumulate) return detail::write_masked(c, call, x, *mask, values);
      return b.add(x, detail::write_masked(c, call, c.full_like(x, 0), *mask, values));
    }
    const auto index = detail::advanced_index(c, call, x, tensors.view());
    if (!index) return {};
    const hlo::Value updates = c.broadcast_to(call, values, index->result);
    return detail::write(c, x, *index, updates,
                         accumulate ? std::optional(hlo::Opcode::add) : std::nullopt);
  }
};

/// The elements of `source`, in order, where the mask is true. Eager raises if there are too few.
struct LowerMaskedScatter {
  static constexpr std::string_view op = "aten.masked_scatter";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Dims whole = c.result_shape(call).dims;
    const hlo::Value x = c.broadcast_to(call, c.tensor(call, "self"), whole);
    const hlo::Value mask = c.broadcast_to(call, c.truth(c.tensor(call, "mask")), whole);
    const hlo::Value source = b.convert(c.tensor(call, "source"), b.dtype(x));
    if (!x.valid() || !mask.valid() || !source.valid()) return {};
    return detail::write_masked(c, call, x, {mask, 0, true}, b.reshape(source, {b.shape(source).element_count()}));
  }
};

struct LowerIndexSelect {
  static constexpr std::string_view op = "aten.index_select";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self"), index = c.tensor(call, "index");
    if (b.rank(x) == 0) return x;
    const hlo::Value list = b.reshape(index, {b.shape(index).element_count()});
    return detail::gather(c, x, detail::index_of_dim(c, x, c.dim(call, "dim", b.rank(x)), list));
  }
};

namespace detail {

/// Rows of a table in bags: the indices that begin at each offset, up to the next one.
struct Bags {
  hlo::Value table;
  hlo::Value indices;
  hlo::Value offsets;
  hlo::Value weights;                   ///< of the indices, if it is valid
  std::optional<std::int64_t> padding;  ///< the row that does not count
  std::int64_t mode = 0;                ///< 0: sums, 1: means, 2: the largest
};

/// The sum, mean or maximum of each bag, in the dtype of the table; 0 for an empty one.
constexpr auto summed_bags(auto& c, const Call& call, const Bags& given) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Value table = given.table, offsets = given.offsets;
  const auto metas = c.graph().values(call.id());
  if (!table.valid() || !given.indices.valid() || !offsets.valid() || metas.empty() || !metas[0].known) return {};
  const std::int64_t count = b.shape(given.indices).element_count(), bags = c.shape_of(metas[0]).dims[0];
  const std::int64_t width = b.dims(table)[1], mode = given.mode;
  const DType type = ops::accumulate_type(b.dtype(table));
  const hlo::Value rows = b.reshape(given.indices, {count});
  // The bag of each index is the last one that begins before it or with it.
  const std::int64_t begins = b.dims(offsets)[0];
  const hlo::Dims pairs{count, begins};
  const hlo::Value number = b.iota({b.dtype(offsets), pairs}, 0);
  const hlo::Value has_begun = b.compare(b.broadcast_in_dim(offsets, pairs, {1}), number, hlo::Direction::le);
  hlo::Value bag = b.reduce(b.convert(has_begun, DType::i64), b.constant(DType::i64, 0), {1},
                            b.scalar_computation(hlo::Opcode::add, DType::i64));
  bag = b.subtract(bag, c.full_like(bag, 1));
  hlo::Value is_counted = b.full({DType::boolean, {count}}, true);
  if (given.padding) is_counted = b.compare(rows, c.full_like(rows, *given.padding), hlo::Direction::ne);
  hlo::Value values = b.convert(gather(c, table, index_of_dim(c, table, 0, rows)), type);
  const hlo::Dims wide{count, width};
  if (given.weights.valid()) {
    const hlo::Value scale = b.convert(given.weights, type);
    values = b.multiply(values, b.broadcast_in_dim(b.reshape(scale, {count}), wide, {0}));
  }
  // Every element of every bag is compared with all indices: no index is out of place.
  const hlo::Dims cube{bags, count};
  const hlo::Value is_in = b.and_(b.compare(b.iota({DType::i64, cube}, 0), b.broadcast_in_dim(bag, cube, {1}), hlo::Direction::eq),
                                  b.broadcast_in_dim(is_counted, cube, {1}));
  const hlo::Value sizes = b.reduce(b.convert(is_in, DType::i64), b.constant(DType::i64, 0), {1},
                                    b.scalar_computation(hlo::Opcode::add, DType::i64));
  const hlo::Dims all{bags, count, width};
  const hlo::Value spread = b.broadcast_in_dim(values, all, {1, 2}), mask = b.broadcast_in_dim(is_in, all, {0, 1});
  const auto over = [&](hlo::Value neutral, hlo::Opcode how) {
    return b.reduce(b.select(mask, spread, b.broadcast(neutral, all)), neutral, {1}, b.scalar_computation(how, type));
  };
  hlo::Value result = over(mode == 2 ? b.lowest(type) : c.scalar(type, 0), mode == 2 ? hlo::Opcode::maximum : hlo::Opcode::add);
  const hlo::Value one = c.full_like(sizes, 1), size = b.convert(b.maximum(sizes, one), type);
  const hlo::Value is_empty = b.compare(sizes, c.full_like(sizes, 0), hlo::Direction::eq);
  if (mode == 1) result = b.divide(result, b.broadcast_in_dim(size, b.dims(result), {0}));
  result = b.select(b.broadcast_in_dim(is_empty, b.dims(result), {0}), c.full_like(result, 0), result);
  return b.convert(result, b.dtype(table));
}

}  // namespace detail

/// The sum, mean or maximum of the rows that the indices of each bag name. A list of bags says where each begins; in a table
/// of indices each row is one.
struct LowerEmbeddingBag {
  static constexpr std::array<std::string_view, 3> op{"aten.embedding_bag", "aten._embedding_bag",
                                                      "aten._embedding_bag_forward_only"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    detail::Bags bags{c.tensor(call, "weight"), c.tensor(call, "indices"), c.tensor(call, "offsets"), {}, {}, 0};
    bags.mode = c.integer(call, "mode");
    if (call.has("per_sample_weights")) bags.weights = c.tensor(call, "per_sample_weights");
    const std::int64_t padding = call.has("padding_idx") ? c.integer(call, "padding_idx") : -1;
    const bool counts_back = call.schema().overload() == "padding_idx";  // else -1 is none
    if (call.has("padding_idx") && (padding >= 0 || counts_back) && bags.table.valid())
      bags.padding = padding < 0 ? padding + b.dims(bags.table)[0] : padding;
    // The other results are notes for the gradient.
    Pool<hlo::Value> results;
    results.push_back(detail::summed_bags(c, call, bags));
    return results;
  }
};

/// `torch.nn.functional.embedding_bag(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
/// per_sample_weights, include_last_offset, padding_idx)`: without offsets the rows of `input` are the bags.
struct LowerPythonEmbeddingBag {
  static constexpr std::string_view op = "torch.nn.functional.embedding_bag";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto tensor = [&](std::size_t position, std::string_view name) -> hlo::Value {
      const auto given = c.python_argument(call, position, name);
      return given ? c.tensor(call, *given, name) : hlo::Value{};
    };
    detail::Bags bags{tensor(1, "weight"), tensor(0, "input"), tensor(2, "offsets"), tensor(8, "per_sample_weights"), {}, 1};
    if (!bags.table.valid() || !bags.indices.valid()) return c.unsupported(call, "without a table and indices");
    if (!bags.offsets.valid()) {
      if (b.rank(bags.indices) != 2) return c.fail(call, DiagnosticCode::eager_would_raise, "without offsets");
      const hlo::Shape starts{DType::i64, {b.dims(bags.indices)[0]}};
      bags.offsets = b.multiply(b.iota(starts, 0), c.full(starts, b.dims(bags.indices)[1]));
    }
    if (const auto mode = c.python_argument(call, 6, "mode"); mode && mode->is(ArgumentKind::string)) {
      constexpr std::array<std::string_view, 3> names{"sum", "mean", "max"};
      const std::string_view name = c.graph().text(mode->text());
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == name) bags.mode = static_cast<std::int64_t>(i);
    }
    if (const auto padding = c.python_argument(call, 10, "padding_idx"); padding && padding->is(ArgumentKind::integer))
      bags.padding = padding->integer() < 0 ? padding->integer() + b.dims(bags.table)[0] : padding->integer();
    return detail::summed_bags(c, call, bags);
  }
};

struct LowerEmbedding {
  static constexpr std::string_view op = "aten.embedding";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value table = c.tensor(call, "weight"), rows = c.tensor(call, "indices");
    return detail::gather(c, table, detail::index_of_dim(c, table, 0, rows));
  }
};

namespace detail {

/// `index_copy`, `index_add`, `index_fill`: slices of `x` along a dimension, named by a list of indices.
struct SlicesOfDim {
  hlo::Value x;
  AdvancedIndex index;
};
constexpr auto slices_of_dim(auto& c, const Call& call) -> SlicesOfDim {
  auto& b = c.builder();
  const hlo::Value x = c.tensor(call, "self"), given = c.tensor(call, "index");
  const std::size_t dim = c.dim(call, "dim", b.rank(x));
  // A tensor without dimensions counts as a list of one, here and in PyTorch.
  const hlo::Value list = b.reshape(given, {b.shape(given).element_count()});
  if (b.rank(x) != 0) return {x, index_of_dim(c, x, dim, list)};
  return {b.reshape(x, {1}), index_of_dim(c, b.reshape(x, {1}), 0, list)};
}

}  // namespace detail

struct LowerIndexCopy {
  static constexpr std::string_view op = "aten.index_copy";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const detail::SlicesOfDim at = detail::slices_of_dim(c, call);
    const hlo::Value source = b.convert(c.tensor(call, "source"), b.dtype(at.x));
    return b.reshape(detail::write(c, at.x, at.index, b.reshape(source, at.index.result)), c.result_shape(call).dims);
  }
};

struct LowerIndexAdd {
  static constexpr std::string_view op = "aten.index_add";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const detail::SlicesOfDim at = detail::slices_of_dim(c, call);
    hlo::Value source = b.convert(c.tensor(call, "source"), b.dtype(at.x));
    if (const Number alpha = c.number(call, "alpha"); !alpha.is(1)) source = b.multiply(source, c.full_like(source, alpha));
    return b.reshape(detail::write(c, at.x, at.index, b.reshape(source, at.index.result), hlo::Opcode::add),
                     c.result_shape(call).dims);
  }
};

struct LowerIndexFill {
  static constexpr std::string_view op = "aten.index_fill";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    detail::SlicesOfDim at = detail::slices_of_dim(c, call);
    if (at.x.valid())
      for (hlo::Value& i : Span(at.index.indices.begin(), at.index.indices.size()))
        i = detail::wrapped_index(c, i, b.dims(at.x)[static_cast<std::size_t>(at.index.dims[0])]);
    const Operand value = c.operand(call, "value");
    const hlo::Value scalar =
        value.is_number() ? c.scalar(b.dtype(at.x), *value.number) : b.convert(value.value, b.dtype(at.x));
    return b.reshape(detail::write(c, at.x, at.index, b.broadcast(b.reshape(scalar, {}), at.index.result)),
                     c.result_shape(call).dims);
  }
};

namespace detail {

/// `gather` and `scatter` name a place for each element of the index: its own, but `index` along `dim`.
constexpr auto place_of_each(auto& c, std::size_t dim, hlo::Value index) -> AdvancedIndex {
  auto& b = c.builder();
  const hlo::Shape shape = b.shape(index);
  AdvancedIndex result;
  result.shape = shape.dims;
  result.result = shape.dims;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    result.dims.push_back(static_cast<std::int64_t>(d));
    result.indices.push_back(d == dim ? index : b.iota(shape, static_cast<std::int64_t>(d)));
  }
  return result;
}

/// The part of `source` that an index of shape `dims` covers.
constexpr auto covered_part(auto& c, hlo::Value source, const hlo::Dims& dims) -> hlo::Value {
  const std::size_t rank = dims.size();
  return c.builder().slice(source, hlo::Dims(rank, 0), dims, hlo::Dims(rank, 1));
}

}  // namespace detail

struct LowerGather {
  static constexpr std::string_view op = "aten.gather";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self"), index = c.tensor(call, "index");
    // An index without elements need not have the dimensions of the tensor.
    if (index.valid() && b.shape(index).element_count() == 0) return c.full(c.result_shape(call), 0);
    if (b.rank(x) == 0 || b.rank(index) == 0) return b.reshape(x, c.result_shape(call).dims);
    return detail::gather(c, x, detail::place_of_each(c, c.dim(call, "dim", b.rank(x)), index));
  }
};

namespace detail {

/// How what is written meets what is there.
enum class WriteReduction : std::uint8_t { replace, sum, product, mean, largest, smallest };

constexpr auto write_reduction(auto& c, const Call& call, std::string_view name) -> std::optional<WriteReduction> {
  struct Named {
    std::string_view name;
    WriteReduction reduction;
  };
  constexpr std::array<Named, 8> names{{{"", WriteReduction::replace},
                                        {"add", WriteReduction::sum},
                                        {"sum", WriteReduction::sum},
                                        {"multiply", WriteReduction::product},
                                        {"prod", WriteReduction::product},
                                        {"mean", WriteReduction::mean},
                                        {"amax", WriteReduction::largest},
                                        {"amin", WriteReduction::smallest}}};
  for (const Named& known : names)
    if (known.name == name) return known.reduction;
  c.unsupported(call, text_of("reduction '", name, "'"));
  return std::nullopt;
}

/// `updates` scattered into `x`. Without `include_self` an element that is written to counts for nothing itself.
constexpr auto scatter_reduced(auto& c, hlo::Value x, const AdvancedIndex& at, hlo::Value updates,
                               WriteReduction reduction, bool include_self) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid() || !updates.valid() || at.count() == 0) return x;
  const DType type = b.dtype(x);
  const auto put = [&](hlo::Value into, hlo::Value values, hlo::Opcode how) {
    return scatter(c, into, at, values, b.scalar_computation(how, b.dtype(into)));
  };
  // How often each element is written to.
  const auto counts = [&] {
    return put(c.full({DType::i64, b.dims(x)}, 0), c.full({DType::i64, b.dims(updates)}, 1), hlo::Opcode::add);
  };
  const auto from = [&](hlo::Value neutral) {
    if (include_self) return x;
    const hlo::Value count = counts();
    const hlo::Value is_written = b.compare(count, c.full_like(count, 0), hlo::Direction::gt);
    return b.select(is_written, b.broadcast(neutral, b.dims(x)), x);
  };
  switch (reduction) {
    case WriteReduction::replace: return put(x, updates, hlo::Opcode::copy);
    case WriteReduction::sum: return put(from(c.scalar(type, 0)), updates, hlo::Opcode::add);
    case WriteReduction::product: return put(from(c.scalar(type, 1)), updates, hlo::Opcode::multiply);
    case WriteReduction::largest: return put(from(b.lowest(type)), updates, hlo::Opcode::maximum);
    case WriteReduction::smallest: return put(from(b.highest(type)), updates, hlo::Opcode::minimum);
    case WriteReduction::mean: break;
  }
  const hlo::Value sum = put(from(c.scalar(type, 0)), updates, hlo::Opcode::add);
  hlo::Value count = counts();
  if (include_self) count = b.add(count, c.full_like(count, 1));
  const hlo::Value divisor = b.convert(b.maximum(count, c.full_like(count, 1)), type);
  const hlo::Value quotient = b.divide(sum, divisor);
  if (is_floating(type)) return quotient;
  // Integers are divided towards minus infinity; the divisor is positive.
  const hlo::Value rest = b.remainder(sum, divisor);
  const hlo::Value is_below = b.compare(rest, c.full_like(rest, 0), hlo::Direction::lt);
  return b.subtract(quotient, b.convert(is_below, type));
}

}  // namespace detail

/// `scatter` by tensor or number, with or without a reduction, and `scatter_add`.
struct LowerScatter {
  static constexpr std::array<std::string_view, 3> op{"aten.scatter", "aten.scatter_add", "aten.scatter_reduce"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self"), index = c.tensor(call, "index");
    const std::string_view base = call.schema().base();
    const auto how = detail::write_reduction(
        c, call, base == "aten.scatter_add" ? "sum" : call.string("reduce").value_or(std::string_view()));
    if (!how || !x.valid() || !index.valid()) return {};
    // A tensor without dimensions is a list of one.
    const hlo::Dims whole = b.dims(x);
    const auto as_list = [&](hlo::Value v) { return b.rank(v) == 0 ? b.reshape(v, {1}) : v; };
    x = as_list(x);
    index = as_list(index);
    const detail::AdvancedIndex at = detail::place_of_each(c, c.dim(call, "dim", b.rank(x)), index);
    const hlo::Value updates =
        call.has("value") ? c.full({b.dtype(x), at.result}, c.number(call, "value"))
                          : detail::covered_part(c, as_list(b.convert(c.tensor(call, "src"), b.dtype(x))), at.result);
    const bool include_self = base != "aten.scatter_reduce" || c.boolean(call, "include_self");
    return b.reshape(detail::scatter_reduced(c, x, at, updates, *how, include_self), whole);
  }
};

struct LowerIndexReduce {
  static constexpr std::string_view op = "aten.index_reduce";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const detail::SlicesOfDim at = detail::slices_of_dim(c, call);
    const auto how = detail::write_reduction(c, call, call.string("reduce").value_or(std::string_view()));
    if (!how || !at.x.valid()) return {};
    const hlo::Value source = b.reshape(b.convert(c.tensor(call, "source"), b.dtype(at.x)), at.index.result);
    return b.reshape(
        detail::scatter_reduced(c, at.x, at.index, source, *how, c.boolean(call, "include_self")),
        c.result_shape(call).dims);
  }
};

/// Member of a tuple, or Python's `x[...]`: numbers, slices, None, `...` and tensors, alone or in a tuple.
namespace detail {

/// The places of a diagonal: one index for each of its two dimensions.
struct Diagonal {
  AdvancedIndex index;
  hlo::Dims to_last;    ///< permutation that moves the diagonal, where `index` puts it, to the end
  hlo::Dims from_last;  ///< and back
};
constexpr auto diagonal_of(auto& c, const Call& call, hlo::Value x, std::size_t dim1, std::size_t dim2,
                           std::string_view parameter) -> Diagonal {
  auto& b = c.builder();
  const hlo::Dims whole = b.dims(x);
  Diagonal result;
  if (whole.size() < 2 || dim1 == dim2) {
    c.fail(call, DiagnosticCode::eager_would_raise, "a diagonal needs two different dimensions");
    return result;
  }
  const std::int64_t offset = c.integer(call, parameter);
  const std::int64_t below = std::max(-offset, std::int64_t{0}), above = std::max(offset, std::int64_t{0});
  const std::int64_t length = std::max(std::min(whole[dim1] - below, whole[dim2] - above), std::int64_t{0});
  const hlo::Value steps = b.iota({DType::i32, {length}}, 0);
  for (const std::size_t d : {std::min(dim1, dim2), std::max(dim1, dim2)}) {
    result.index.dims.push_back(static_cast<std::int64_t>(d));
    result.index.indices.push_back(b.add(steps, c.full_like(steps, d == dim1 ? below : above)));
  }
  result.index.shape.push_back(length);
  place_index(whole, result.index);
  const auto last = static_cast<std::int64_t>(whole.size()) - 2;
  std::int64_t at = 0;
  while (result.index.offset_dims.contains(at)) ++at;
  for (std::int64_t d = 0; d <= last; ++d) {
    if (d != at) result.to_last.push_back(d);
    result.from_last.push_back(d < at ? d : d == at ? last : d - 1);
  }
  result.to_last.push_back(at);
  return result;
}

/// That of `x` which the parameters `dim1`, `dim2` and `offset` of the call name.
constexpr auto named_diagonal(auto& c, const Call& call, hlo::Value x) -> Diagonal {
  const std::size_t rank = c.builder().rank(x);
  return diagonal_of(c, call, x, c.dim(call, "dim1", rank), c.dim(call, "dim2", rank), "offset");
}
/// The elements of a diagonal of `x`, as its last dimension.
constexpr auto take_diagonal(auto& c, const Call& call, const Diagonal& d, hlo::Value x) -> hlo::Value {
  if (d.index.dims.empty()) return {};
  if (d.index.count() == 0) return c.full(c.result_shape(call), 0);
  return c.builder().transpose(gather(c, x, d.index), d.to_last);
}
/// A tensor of zeros but for a diagonal.
constexpr auto with_diagonal(auto& c, const Call& call, const Diagonal& d, hlo::Value values) -> hlo::Value {
  if (d.index.dims.empty()) return {};
  const hlo::Value zeros = c.full(c.result_shape(call), 0);
  return d.index.count() == 0 ? zeros : write(c, zeros, d.index, c.builder().transpose(values, d.from_last));
}

}  // namespace detail

struct LowerDiagonal {
  static constexpr std::array<std::string_view, 3> op{"aten.diagonal", "aten.diagonal_copy", "aten.linalg_diagonal"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, call.schema().find("self") ? "self" : "A");
    const detail::Diagonal d = detail::named_diagonal(c, call, x);
    return detail::take_diagonal(c, call, d, x);
  }
};

struct LowerDiagonalScatter {
  static constexpr std::string_view op = "aten.diagonal_scatter";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self"), source = c.tensor(call, "src");
    const detail::Diagonal d = detail::named_diagonal(c, call, x);
    if (d.index.dims.empty()) return {};
    return detail::write(c, x, d.index, c.builder().transpose(source, d.from_last));
  }
};

/// The elements of the last dimension on a diagonal, zero elsewhere.
struct LowerDiagonalEmbedding {
  static constexpr std::string_view op = "aten.diag_embed";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const detail::Diagonal d = detail::named_diagonal(c, call, c.full(c.result_shape(call), 0));
    return detail::with_diagonal(c, call, d, c.tensor(call, "self"));
  }
};

/// The diagonal of a matrix, or the matrix of a diagonal.
struct LowerDiag {
  static constexpr std::string_view op = "aten.diag";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    const bool is_matrix = c.builder().rank(x) == 2;
    const hlo::Value matrix = is_matrix ? x : c.full(c.result_shape(call), 0);
    const detail::Diagonal d = detail::diagonal_of(c, call, matrix, 0, 1, "diagonal");
    if (!is_matrix) return detail::with_diagonal(c, call, d, x);
    return detail::take_diagonal(c, call, d, x);
  }
};

/// All elements on the diagonal of a matrix.
struct LowerDiagFlat {
  static constexpr std::string_view op = "aten.diagflat";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const detail::Diagonal d = detail::diagonal_of(c, call, c.full(c.result_shape(call), 0), 0, 1, "offset");
    return detail::with_diagonal(c, call, d, b.reshape(x, {b.shape(x).element_count()}));
  }
};

/// The sum of a matrix' diagonal.
struct LowerTrace {
  static constexpr std::string_view op = "aten.trace";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const DType type = ops::accumulate_type(c.result_shape(call).dtype);
    const hlo::Value x = b.convert(c.tensor(call, "self"), type);
    if (!x.valid()) return x;
    const hlo::Shape places{DType::i64, b.dims(x)};
    const hlo::Value is_on = b.compare(b.iota(places, 0), b.iota(places, 1), hlo::Direction::eq);
    const hlo::Value kept = b.select(is_on, x, c.full_like(x, 0));
    return c.to_result(call, b.reduce(kept, c.scalar(type, 0), {0, 1}, b.scalar_computation(hlo::Opcode::add, type)));
  }
};

/// Elements by their place in the flattened tensor.
struct LowerTake {
  static constexpr std::string_view op = "aten.take";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const std::int64_t count = b.shape(x).element_count();
    const hlo::Value flat = b.reshape(x, {count}), index = detail::wrapped_index(c, c.tensor(call, "index"), count);
    return detail::gather(c, flat, detail::index_of_dim(c, flat, 0, index));
  }
};

/// The same with writing.
struct LowerPut {
  static constexpr std::string_view op = "aten.put";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const std::int64_t count = b.shape(x).element_count();
    const hlo::Value flat = b.reshape(x, {count}), index = detail::wrapped_index(c, c.tensor(call, "index"), count);
    const hlo::Value source = b.reshape(b.convert(c.tensor(call, "source"), b.dtype(x)), b.dims(index));
    const auto combine = c.boolean(call, "accumulate") ? std::optional(hlo::Opcode::add) : std::nullopt;
    return b.reshape(detail::write(c, flat, detail::index_of_dim(c, flat, 0, index), source, combine), b.dims(x));
  }
};

/// `gather` whose tensor and index broadcast in all other dimensions.
struct LowerTakeAlongDim {
  static constexpr std::string_view op = "aten.take_along_dim";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self"), index = c.tensor(call, "indices");
    if (!x.valid() || !index.valid()) return {};
    if (!call.has("dim")) {
      const hlo::Value flat = b.reshape(x, {b.shape(x).element_count()});
      const hlo::Value list = b.reshape(index, {b.shape(index).element_count()});
      return detail::gather(c, flat, detail::place_of_each(c, 0, detail::wrapped_index(c, list, b.dims(flat)[0])));
    }
    const std::size_t dim = c.dim(call, "dim", b.rank(x));
    hlo::Dims of_x = b.dims(x), of_index = b.dims(index);
    of_x[dim] = of_index[dim] = 1;
    const hlo::Dims common = c.common_dims(call, of_x, of_index);
    of_x = of_index = common;
    of_x[dim] = b.dims(x)[dim];
    of_index[dim] = b.dims(index)[dim];
    index = detail::wrapped_index(c, c.broadcast_to(call, index, of_index), of_x[dim]);
    return detail::gather(c, c.broadcast_to(call, x, of_x), detail::place_of_each(c, dim, index));
  }
};

/// Elements where a mask holds; `fill` elsewhere, where indices may be anything.
struct LowerMaskedIndex {
  static constexpr std::string_view op = "aten._unsafe_masked_index";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self"), mask = c.truth(c.tensor(call, "mask"));
    const hlo::Value read = detail::read(c, call, x, detail::index_tensors(c, call).view());
    if (!read.valid() || !mask.valid()) return {};
    return b.select(c.broadcast_to(call, mask, b.dims(read)), read, c.full_like(read, c.number(call, "fill")));
  }
};

/// Values added where a mask holds.
struct LowerMaskedIndexAdd {
  static constexpr std::string_view op = "aten._unsafe_masked_index_put_accumulate";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self"), mask = c.truth(c.tensor(call, "mask"));
    const hlo::Value values = b.convert(c.tensor(call, "values"), b.dtype(x));
    const Pool<hlo::Value> tensors = detail::index_tensors(c, call);
    const auto index = detail::advanced_index(c, call, x, tensors.view());
    if (!index || !mask.valid() || !values.valid()) return {};
    const hlo::Value updates = c.broadcast_to(call, values, index->result);
    const hlo::Value kept = b.select(c.broadcast_to(call, mask, index->result), updates, c.full_like(updates, 0));
    return detail::write(c, x, *index, kept, hlo::Opcode::add);
  }
};

/// How many elements of a sorted last dimension go before each value, or before or with it: for `bucketize` all values meet
/// one line. By halving, as eager does it, so that NaN and lines out of order lead where they lead there.
struct LowerSearchSorted {
  static constexpr std::array<std::string_view, 2> op{"aten.searchsorted", "aten.bucketize"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const bool is_bucketize = call.schema().base() == "aten.bucketize";
    hlo::Value lines = c.tensor(call, is_bucketize ? "boundaries" : "sorted_sequence");
    const Operand given = c.operand(call, "self");
    if (!lines.valid()) return {};
    if (!is_bucketize && call.has("sorter")) {
      const hlo::Value sorter = c.tensor(call, "sorter");
      lines = detail::gather(c, lines, detail::place_of_each(c, b.rank(lines) - 1, sorter));
    }
    const std::array<Operand, 2> both{Operand{lines, {}}, given};
    const DType type = c.common_dtype(call, both);
    lines = b.convert(lines, type);
    const hlo::Value values = given.is_number() ? c.scalar(type, *given.number) : b.convert(given.value, type);
    if (!lines.valid() || !values.valid()) return {};
    const std::size_t last = b.rank(lines) - 1;
    const std::int64_t count = b.dims(lines)[last];
    if (b.shape(values).element_count() == 0) return c.full(c.result_shape(call), 0);
    const bool is_right = c.boolean(call, "right") ||
                          (call.schema().find("side") && call.string("side").value_or("left") == "right");
    hlo::Value begin = c.full({DType::i64, b.dims(values)}, 0), end = c.full_like(begin, count);
    for (std::int64_t reach = 1; reach <= count; reach *= 2) {
      const hlo::Value is_open = b.compare(begin, end, hlo::Direction::lt);
      const hlo::Value middle = b.divide(b.add(begin, end), c.full_like(begin, 2));
      const hlo::Value there = last == 0 ? detail::gather(c, lines, detail::index_of_dim(c, lines, 0, middle))
                                         : detail::gather(c, lines, detail::place_of_each(c, last, middle));
      const hlo::Value is_behind = b.compare(there, values, is_right ? hlo::Direction::gt : hlo::Direction::ge);
      const hlo::Value after = b.add(middle, c.full_like(middle, 1));
      begin = b.select(b.and_(is_open, b.not_(is_behind)), after, begin);
      end = b.select(b.and_(is_open, is_behind), middle, end);
    }
    return c.to_result(call, begin);
  }
};

/// The places of so many elements that are not zero, a row of indices each; rows of `fill_value` where there are fewer.
struct LowerNonzeroStatic {
  static constexpr std::string_view op = "aten.nonzero_static";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.truth(c.tensor(call, "self"));
    const hlo::Shape result = c.result_shape(call);
    if (!x.valid() || result.rank() != 2) return {};
    const std::int64_t count = b.shape(x).element_count(), rows = result.dims[0];
    if (count == 0 || rows == 0) return c.full(result, c.number(call, "fill_value"));
    const hlo::Dims line{count}, list{rows};
    const hlo::Value flat = b.reshape(x, line);
    // The n-th of them goes to row n; all others beyond the last row, where a scatter drops them.
    const hlo::Value ordinal = b.subtract(detail::running_count(c, flat), b.full({DType::i32, line}, 1));
    const hlo::Value row = b.select(flat, b.convert(ordinal, DType::i64), b.full({DType::i64, line}, rows));
    const hlo::Value nowhere = b.full({DType::i64, list}, -1);
    const hlo::Value place = detail::scatter(c, nowhere, detail::index_of_dim(c, nowhere, 0, row), b.iota({DType::i64, line}, 0),
                                             b.scalar_computation(hlo::Opcode::copy, DType::i64));
    const hlo::Value is_there = b.compare(place, c.full_like(place, 0), hlo::Direction::ge);
    const hlo::Value fill = b.full({DType::i64, list}, c.integer(call, "fill_value"));
    Pool<hlo::Value> columns;
    std::int64_t stride = count;
    for (const std::int64_t size : b.dims(x)) {
      stride /= size;
      const hlo::Value index = b.remainder(b.divide(place, c.full_like(place, stride)), c.full_like(place, size));
      columns.push_back(b.reshape(b.select(is_there, index, fill), {rows, 1}));
    }
    return columns.empty() ? c.full(result, 0) : b.concatenate(columns.view(), 1);
  }
};

/// Whether an element is one of the test elements.
struct LowerIsIn {
  static constexpr std::string_view op = "aten.isin";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const bool is_test_number = call.schema().find("test_element").has_value();
    const Operand x = c.operand(call, call.schema().find("element") ? "element" : "elements");
    const Operand tests = c.operand(call, is_test_number ? "test_element" : "test_elements");
    const DType type = c.common_dtype(call, std::array<Operand, 2>{x, tests});
    const auto line = [&](const Operand& o) {
      if (o.is_number()) return b.reshape(c.scalar(type, *o.number), {1});
      return b.reshape(b.convert(o.value, type), {b.shape(o.value).element_count()});
    };
    const hlo::Value elements = line(x), others = line(tests);
    if (!elements.valid() || !others.valid()) return {};
    const hlo::Dims pairs{b.dims(elements)[0], b.dims(others)[0]};
    const hlo::Value equal = b.compare(b.broadcast_in_dim(elements, pairs, {0}), b.broadcast_in_dim(others, pairs, {1}),
                                       hlo::Direction::eq);
    const hlo::Value found = b.reduce(equal, b.constant(DType::boolean, false), {1},
                                      b.scalar_computation(hlo::Opcode::or_, DType::boolean));
    return b.reshape(c.boolean(call, "invert") ? b.not_(found) : found, c.result_shape(call).dims);
  }
};

struct LowerGetItem {
  static constexpr std::string_view op = "operator.getitem";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    Pool<hlo::Value> values;  // of a list that is a member of a tuple all, else one
    const auto of = call.given("self"), index = call.given("index");
    if (!of || !index || !of->is_node())
      values.push_back(c.unsupported(call, "indexes no value of the graph"));
    else if (c.graph().node(of->node()).value_kind == ValueKind::tuple)
      take_member(c, call, of->node(), *index, values);
    else
      values.push_back(IndexWalk(c, call, c.tensor(call, *of, "self")).run(*index));
    return values;
  }

 private:
  static constexpr void take_member(auto& c, const Call& call, NodeId of, const Argument& index, Pool<hlo::Value>& taken) {
    const auto count = static_cast<std::int64_t>(c.graph().values(of).size());
    const bool is_known = index.is(ArgumentKind::integer);
    const std::int64_t at = !is_known ? -1 : index.integer() < 0 ? index.integer() + count : index.integer();
    if (!is_known || at < 0 || at >= count) {
      taken.push_back(is_known ? c.fail(call, DiagnosticCode::eager_would_raise, "there is no such member")
                               : c.unsupported(call, "a tuple is indexed by a known integer"));
      return;
    }
    const Span<const hlo::Value> values = c.values(of);
    std::pair<std::uint32_t, std::uint32_t> place{static_cast<std::uint32_t>(at), 1};
    if (is_functional_form(c.graph(), c.graph().op(of))) place = place_of_result(c.graph(), of, place.first);
    const auto [first, size] = place;
    for (std::uint32_t i = first; i < first + size; ++i) {
      if (i < values.size() && values[i].valid()) {
        taken.push_back(values[i]);
        continue;
      }
      taken.push_back(c.unsupported(call, text_of("result ", at, " of ", c.graph().name(of), " is not computed")));
      return;
    }
  }

  /// Takes the entries of an index from left to right; `at` is the dimension of the result so far that comes next.
  template <class Context>
  class IndexWalk {
   public:
    constexpr IndexWalk(Context& c, const Call& call, hlo::Value x) : c_(c), call_(call), x_(x) {}

    constexpr auto run(const Argument& index) -> hlo::Value {
      if (!x_.valid()) return x_;
      if (index.is(ArgumentKind::tuple)) {
        const auto entries = c_.graph().children(index);
        for (std::size_t i = 0; i < entries.size(); ++i) take(entries[i], entries.subspan(i + 1));
      } else {
        take(index, {});
      }
      if (!x_.valid() || tensors_.empty()) return x_;
      if (has_true_) return c_.unsupported(call_, "True beside tensors in an index");
      tensors_.resize(static_cast<std::uint32_t>(c_.builder().rank(x_)), hlo::Value{});
      return detail::read(c_, call_, x_, tensors_.view());
    }

   private:
    constexpr void take(const Argument& entry, Span<const Argument> rest) {
      auto& b = c_.builder();
      switch (entry.kind()) {
        case ArgumentKind::boolean:
          // True is an index tensor that adds a dimension, alone in its place; with others it is matched to them.
          if (!entry.boolean() || has_true_) {
            x_ = c_.unsupported(call_, "False or several of True in an index");
            return;
          }
          has_true_ = true;
          [[fallthrough]];
        case ArgumentKind::none: {
          hlo::Dims dims = b.dims(x_);
          dims.insert(at_++, 1);
          x_ = b.reshape(x_, dims);
          return;
        }
        case ArgumentKind::ellipsis: {
          std::size_t behind = 0;
          for (const Argument& a : rest) behind += dimensions_indexed(c_.graph(), a);
          at_ = b.rank(x_) >= behind ? b.rank(x_) - behind : at_;
          return;
        }
        case ArgumentKind::integer: x_ = detail::select(c_, call_, x_, at_, entry.integer()); return;
        case ArgumentKind::slice: take_slice(entry); return;
        case ArgumentKind::node: take_tensor(c_.tensor(call_, entry, "index")); return;
        case ArgumentKind::list: take_list(c_.graph().children(entry)); return;
        default: x_ = c_.unsupported(call_, "an index that is no number, slice, None, Ellipsis or tensor"); return;
      }
    }
    constexpr void take_slice(const Argument& entry) {
      const auto given = slice_argument(c_.graph(), entry);
      if (!given) {
        x_ = c_.unsupported(call_, "a slice with a bound that is no known integer");
        return;
      }
      if (given->step < 1 || at_ >= c_.builder().rank(x_)) {
        x_ = c_.fail(call_, DiagnosticCode::eager_would_raise,
                     given->step < 1 ? "the step of a slice must be positive" : "more indices than dimensions");
        return;
      }
      x_ = detail::slice(c_, x_, at_, clamp_slice(given->start, given->stop, given->step, c_.builder().dims(x_)[at_]));
      ++at_;
    }
    constexpr void take_tensor(hlo::Value index) {
      auto& b = c_.builder();
      if (index.valid() && b.rank(index) == 0 && is_integral(b.dtype(index)) && at_ < b.rank(x_)) {
        // As Python's number would: it takes no part in the rule that places the indices' shape.
        const hlo::Value wrapped = detail::wrapped_index(c_, index, b.dims(x_)[at_]);
        x_ = detail::gather(c_, x_, detail::index_of_dim(c_, x_, at_, wrapped));
        return;
      }
      while (tensors_.size() < at_) tensors_.push_back({});
      tensors_.push_back(index);
      ++at_;
    }
    constexpr void take_list(Span<const Argument> items) {
      Pool<std::int64_t> numbers;
      for (const Argument& item : items) {
        if (!item.is(ArgumentKind::integer)) {
          x_ = c_.unsupported(call_, "a list of indices that are not all integers");
          return;
        }
        numbers.push_back(item.integer());
      }
      take_tensor(c_.builder().constant(
          DType::i64, hlo::Dims{static_cast<std::int64_t>(numbers.size())}, numbers.view()));
    }

    Context& c_;
    const Call& call_;
    hlo::Value x_;
    std::size_t at_ = 0;
    Pool<hlo::Value> tensors_;  ///< by dimension of `x_`
    bool has_true_ = false;
  };
};

/// A row for each index that is 1 at its place. How many places there are has to be said: else it depends on the data.
struct LowerOneHot {
  static constexpr std::string_view op = "aten.one_hot";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const std::int64_t classes = c.integer(call, "num_classes");
    if (!x.valid()) return x;
    if (classes < 0) return c.unsupported(call, "num_classes is not given, so the shape depends on the indices");
    hlo::Dims dims = b.dims(x);
    const auto last = static_cast<std::int64_t>(dims.size());
    dims.push_back(classes);
    const hlo::Value index = b.broadcast_in_dim(x, dims, hlo::iota_dims(b.rank(x)));
    return b.convert(b.compare(index, b.iota({b.dtype(x), dims}, last), hlo::Direction::eq), DType::i64);
  }
};

/// The lowerings of this file.
using IndexingLowerings = lowerings<LowerIndex, LowerIndexPut, LowerMaskedScatter, LowerIndexSelect, LowerEmbedding,
                                    LowerEmbeddingBag, LowerPythonEmbeddingBag,
                                    LowerIndexCopy, LowerIndexAdd, LowerIndexFill, LowerGather, LowerScatter,
                                    LowerIndexReduce, LowerDiagonal, LowerDiagonalScatter, LowerDiagonalEmbedding,
                                    LowerDiag, LowerDiagFlat, LowerTrace, LowerTake, LowerPut, LowerTakeAlongDim, LowerMaskedIndex,
                                    LowerMaskedIndexAdd, LowerNonzeroStatic, LowerSearchSorted, LowerIsIn, LowerOneHot,
                                    LowerGetItem>;

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/editor.hpp>
#include <fxpass/graph/geometry.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <utility>

/// @file
/// `AliasAnalysis`: which values share a storage, through which views, and who writes where.
///
/// Every tensor value is a view of a storage. Views form a tree under the storage's base, an edge being one of eleven steps
/// (select, pick, slice, diagonal, reshape, permute, expand, strided, bitcast, conjugate, negate) to which all of PyTorch's view
/// operators are brought. A step can be replayed on a new base and inverted into one, which is all that
/// functionalisation needs.

namespace fxpass {

/// Stands for "no tensor", and for "no storage".
inline constexpr std::uint32_t no_view = 0xffffffffU;
inline constexpr std::uint32_t no_storage = 0xffffffffU;

/// How a view is made from its parent.
struct ViewStep {
  /// The eleven steps, and what is none of them.
  enum class Kind : std::uint8_t {
    base,      ///< the storage's own tensor
    select,    ///< index `start` of dimension `dim`
    pick,      ///< so too, the index being the value of an integer tensor: item `end` of the index of node `start`, a getitem
    slice,     ///< [start, end) by `step` of dimension `dim`, bounds clamped
    diagonal,  ///< diagonal `start` of dimensions `dim` and `end`, as the last dimension
    reshape,   ///< to the view's sizes
    permute,   ///< dimension i is the parent's dimension order[i]
    expand,    ///< to the view's sizes
    strided,   ///< element i at place `start` + i * strides of the parent, which is contiguous; sizes and strides are the view's
    bitcast,   ///< the same bytes as elements of the view's dtype; the last dimension counts those
    conjugate, ///< every element's complex conjugate
    negate,    ///< every element's negative
    list,      ///< several views in a list, not all of one storage, `order` their ids; itself no tensor
    opaque,    ///< a view that cannot be replayed or inverted
  };
  Kind kind = Kind::base;  ///< which step
  std::uint32_t dim = 0;   ///< of the parent, from the front
  std::int64_t start = 0;  ///< an index of that dimension; of a diagonal, its offset; of a strided view, a place
  std::int64_t end = 0;    ///< index behind the slice; of a diagonal, its second dimension
  std::int64_t step = 1;   ///< of a slice
  Range order;             ///< of a permute or a list, in the analysis' pool of numbers

  /// Whether the view cannot be replayed or inverted.
  [[nodiscard]] constexpr auto is_opaque() const -> bool { return kind == Kind::list || kind == Kind::opaque; }
  /// Whether the view holds only some of its parent's elements.
  [[nodiscard]] constexpr auto takes_part() const -> bool {
    return kind == Kind::select || kind == Kind::pick || kind == Kind::slice || kind == Kind::diagonal || kind == Kind::strided;
  }

  friend constexpr auto operator==(const ViewStep&, const ViewStep&) -> bool = default;
};

/// One view of a storage.
struct View {
  std::uint32_t storage = no_storage;  ///< that it is a view of
  std::uint32_t parent = no_view;      ///< the view it is made from; none for a base
  ViewStep step;                       ///< how it is made from it
  bool has_geometry = false;           ///< whether the numbers below are known
  std::uint32_t rank = 0;              ///< how many dimensions it has
  std::uint32_t dims = 0;              ///< in the pool of numbers: sizes, then strides
  std::int64_t offset = 0;             ///< of its first element in the storage, in elements;
  bool is_placed = true;               ///< if not, at least: where an index decides that is known when the program runs
  DType dtype = DType::f32;            ///< of its elements

  friend constexpr auto operator==(const View&, const View&) -> bool = default;
};

/// What PyTorch does to the elements of a view when they are read.
struct LazyBits {
  bool conjugate = false;  ///< `is_conj` of the tensor
  bool negative = false;   ///< `is_neg` of it

  /// Whether they are others than those that are stored.
  [[nodiscard]] constexpr auto any() const -> bool { return conjugate || negative; }
};

/// One storage, as far as the graph shows it.
struct Storage {
  NodeId base = no_node;         ///< placeholder, attribute or the call that made it
  std::uint32_t root = no_view;  ///< the view that is the base itself
  bool written = false;          ///< whether any of its views is
  /// Inputs of the graph share it at different places: a write cannot be told apart from a read.
  bool undecidable = false;
  /// An operator of unknown schema made it: for all that is known, it is a view of that operator's operands.
  bool of_unknown_origin = false;
  Range possible_bases;  ///< then the storages of those operands, in the analysis' pool of numbers

  friend constexpr auto operator==(const Storage&, const Storage&) -> bool = default;
};

/// A write by a node into a view.
struct Write {
  NodeId node;  ///< that writes
  std::uint32_t view = no_view;  ///< that is written
  std::uint32_t result = 0;  ///< which result of the node holds the new value, for nodes that write several views

  friend constexpr auto operator==(const Write&, const Write&) -> bool = default;
};

/// What alias analysis found. Ids are those of the graph it was made for: nodes that are put in or taken out later can be
/// views and writes that it does not know of.
class AliasAnalysis {
 public:
  /// The view that node `id` is; `no_view` for what is no tensor, and for a tensor with a storage of its own that nobody
  /// has viewed or written so far: of those, nearly all nodes, there is nothing to know.
  [[nodiscard]] constexpr auto view_of(NodeId id) const -> std::uint32_t {
    return id.index < of_node_.size() ? of_node_[id.index] : no_view;
  }
  /// A view by its id, below `view_count()`; and how many there are.
  [[nodiscard]] constexpr auto view(std::uint32_t id) const -> const View& { return views_[id]; }
  [[nodiscard]] constexpr auto view_count() const -> std::uint32_t { return views_.size(); }
  /// A storage by its id, below `storage_count()`; that of a view; and how many there are.
  [[nodiscard]] constexpr auto storage(std::uint32_t id) const -> const Storage& { return storages_[id]; }
  [[nodiscard]] constexpr auto storage_of(std::uint32_t view_id) const -> const Storage& {
    return storages_[views_[view_id].storage];
  }
  [[nodiscard]] constexpr auto storage_count() const -> std::uint32_t { return storages_.size(); }
  /// All writes, in program order.
  [[nodiscard]] constexpr auto writes() const -> Span<const Write> { return writes_.view(); }
  /// Sizes of a view. Needs `has_geometry`.
  [[nodiscard]] constexpr auto sizes(const View& v) const -> Span<const std::int64_t> {
    return numbers_.view(Range{v.dims, v.rank});
  }
  /// Strides in elements. Needs `has_geometry`.
  [[nodiscard]] constexpr auto strides(const View& v) const -> Span<const std::int64_t> {
    return numbers_.view(Range{v.dims + v.rank, v.rank});
  }
  /// Whether it has no elements. Needs `has_geometry`.
  [[nodiscard]] constexpr auto is_empty(const View& v) const -> bool {
    for (const std::int64_t size : sizes(v))
      if (size == 0) return true;
    return false;
  }
  /// For a permute: which dimension of the parent each dimension is. For a list: its members.
  [[nodiscard]] constexpr auto order(const View& v) const -> Span<const std::int64_t> {
    return numbers_.view(v.step.order);
  }
  /// Sizes, strides and offset together. Needs `has_geometry`.
  [[nodiscard]] constexpr auto geometry(const View& v) const -> Geometry {
    Geometry g;
    g.sizes.append(sizes(v));
    g.strides.append(strides(v));
    g.offset = v.offset;
    return g;
  }

  /// Whether several elements of a view share a place. Needs `has_geometry`.
  [[nodiscard]] constexpr auto overlaps_itself(const View& v) const -> bool {
    return !is_row_major_without_overlap(sizes(v), strides(v)) && fxpass::overlaps_itself(geometry(v));
  }

  /// Whether the elements of a view are others than those that are stored. O(depth of the view).
  [[nodiscard]] constexpr auto lazy_bits(std::uint32_t view) const -> LazyBits {
    LazyBits bits;
    bool is_part = false;  // of complex numbers: the real one, or
    bool is_imaginary = false;  // the imaginary one, which is negative of those that are conjugated
    std::int64_t selected = 0;
    for (std::uint32_t v = view; v != no_view; v = views_[v].parent) {
      const ViewStep& step = views_[v].step;
      if (step.kind == ViewStep::Kind::negate || (step.kind == ViewStep::Kind::conjugate && is_imaginary))
        bits.negative = !bits.negative;
      else if (step.kind == ViewStep::Kind::conjugate && !is_part)
        bits.conjugate = !bits.conjugate;
      else if (step.kind == ViewStep::Kind::bitcast && is_complex(views_[views_[v].parent].dtype)) {
        is_part = true;
        is_imaginary = selected == 1;
      }
      selected = step.kind == ViewStep::Kind::select ? step.start : 0;
    }
    return bits;
  }

  // Growing it -------------------------------------------------------------------------------------------------------
  /// Node `id` is view `view`.
  constexpr void set_view(NodeId id, std::uint32_t view) {
    if (of_node_.size() <= id.index) of_node_.resize(id.index + 1, no_view);
    of_node_[id.index] = view;
  }
  /// A storage of its own for node `id`, with the geometry its metadata states.
  constexpr auto add_storage(const Graph& graph, NodeId id) -> std::uint32_t {
    const std::uint32_t storage = storages_.push_back({.base = id, .root = views_.size(), .possible_bases = {}});
    View base;
    base.storage = storage;
    if (const TensorMeta* meta = graph.tensor(id)) {
      base.dtype = meta->dtype;
      set_geometry(base, graph, *meta);
    }
    return views_.push_back(base);
  }
  /// A view of `parent`, of the same storage. Returns its id.
  constexpr auto add_view(std::uint32_t parent, ViewStep step, DType dtype, const Geometry* geometry) -> std::uint32_t {
    View v;
    v.storage = views_[parent].storage;
    v.parent = parent;
    v.step = step;
    v.is_placed = views_[parent].is_placed && step.kind != ViewStep::Kind::pick;
    v.dtype = dtype;
    if (geometry != nullptr) set_geometry(v, *geometry);
    return views_.push_back(v);
  }
  /// A write, behind all others in program order.
  constexpr void add_write(Write write) {
    writes_.push_back(write);
    storages_[views_[write.view].storage].written = true;
  }
  /// Says that the storage of `id`, a call of an unknown operator, may be that of any of `bases`.
  constexpr void mark_unknown_origin(NodeId id, Span<const std::int64_t> bases) {
    Storage& s = storages_[views_[of_node_[id.index]].storage];
    s.of_unknown_origin = true;
    s.possible_bases = numbers_.append(bases);
  }
  /// The storages that a storage of unknown origin may be part of.
  [[nodiscard]] constexpr auto possible_bases(std::uint32_t storage) const -> Span<const std::int64_t> {
    return numbers_.view(storages_[storage].possible_bases);
  }
  /// Says that inputs share the storage at different places.
  constexpr void mark_undecidable(std::uint32_t storage) { storages_[storage].undecidable = true; }
  /// Numbers for `ViewStep::order`.
  constexpr auto add_numbers(Span<const std::int64_t> numbers) -> Range { return numbers_.append(numbers); }

  /// Has it speak of the same nodes where they are now: what it was made during, an edit, has been carried out. O(nodes).
  constexpr void renumber(const Renumbering& moved) {
    Pool<std::uint32_t> of_node;
    for (std::uint32_t i = 0; i < of_node_.size(); ++i)
      if (const NodeId now = moved[NodeId{i}]; now != no_node && of_node_[i] != no_view) {
        if (of_node.size() <= now.index) of_node.resize(now.index + 1, no_view);
        of_node[now.index] = of_node_[i];
      }
    of_node_ = std::move(of_node);
    for (Storage& storage : storages_) storage.base = moved[storage.base];
    for (Write& write : writes_) write.node = moved[write.node];
    for (View& view : views_)
      if (view.step.kind == ViewStep::Kind::pick)
        view.step.start = moved[NodeId{static_cast<std::uint32_t>(view.step.start)}].index;
  }

  /// Equal if the same nodes are the same views and the same writes go into them, by id.
  friend constexpr auto operator==(const AliasAnalysis&, const AliasAnalysis&) -> bool = default;

 private:
  constexpr void set_geometry(View& v, const Geometry& g) {
    v.has_geometry = true;
    v.rank = g.rank();
    v.dims = numbers_.append(g.sizes.view()).begin;
    numbers_.append(g.strides.view());
    v.offset = g.offset;
  }
  /// As the metadata states it, unless a number in it is symbolic. Each fresh tensor comes here: no `Geometry` on the way.
  constexpr void set_geometry(View& v, const Graph& graph, const TensorMeta& meta) {
    if (meta.storage_offset.is_symbolic()) return;
    for (const SymInt n : graph.sizes(meta))
      if (n.is_symbolic()) return;
    for (const SymInt n : graph.strides(meta))
      if (n.is_symbolic()) return;
    v.has_geometry = true;
    v.rank = meta.rank;
    v.dims = numbers_.size();
    for (const SymInt n : graph.sizes(meta)) numbers_.push_back(n.value());
    for (const SymInt n : graph.strides(meta)) numbers_.push_back(n.value());
    v.offset = meta.storage_offset.value();
  }

  Pool<std::uint32_t> of_node_;
  Pool<View> views_;
  Pool<Storage> storages_;
  Pool<Write> writes_;
  Pool<std::int64_t> numbers_;
};

}  // namespace fxpass

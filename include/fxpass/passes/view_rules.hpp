// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/call.hpp>
#include <fxpass/passes/alias_analysis.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <optional>

/// @file
/// PyTorch's view operators as view steps, and the operators that view or copy as strides, dtype and device decide.
/// Sources: PyTorch's documentation of each operator and of tensor views; `THPVariable_getitem` for index rules.

namespace fxpass {

/// What a Python index selects.
struct IndexedView {
  std::uint32_t view = no_view;  ///< after integers, slices, None and Ellipsis; no_view: not decidable here
  bool has_tensors = false;      ///< and index tensors besides, which copy or scatter
  bool writes_nothing = false;   ///< the index holds False
};

/// Makes views in an `AliasAnalysis`. Each function returns the id of a new view, or none where a number is symbolic,
/// unknown or out of range.
///
/// A step on an expanded view is taken on what was expanded, and the result expanded again: so what is written through
/// `x.expand(2, 3)[1]` is seen to be written into x, and not into one of two copies of it.
class ViewMaker {
 public:
  /// Of a graph and the analysis of it; both have to outlive it.
  constexpr ViewMaker(const Graph& graph, AliasAnalysis& analysis) : graph_(graph), analysis_(analysis) {}

  /// `view[..., index, ...]` at dimension `dim`, which is then gone.
  [[nodiscard]] constexpr auto select(std::uint32_t view, std::int64_t dim, std::int64_t index) const
      -> std::optional<std::uint32_t> {
    if (!has_geometry(view)) return std::nullopt;
    const View& v = analysis_.view(view);
    const auto sizes = analysis_.sizes(v);
    const auto strides = analysis_.strides(v);
    const auto d = wrap_dimension(dim, v.rank);
    if (!d || v.rank == 0) return std::nullopt;
    const std::int64_t i = wrap_index(index, sizes[*d]);
    if (i < 0 || i >= sizes[*d]) return std::nullopt;
    if (is_expansion(view)) {
      const Expansion e = expansion(view, *d);
      const Dims kept = without(sizes, *d);
      const auto inner = e.is_added ? std::optional(e.parent) : select(e.parent, e.dim, e.is_repeated ? 0 : i);
      return inner ? expand(*inner, kept.view()) : std::nullopt;
    }
    Geometry result;
    result.offset = v.offset + i * strides[*d];
    result.sizes = without(sizes, *d);
    result.strides = without(strides, *d);
    ViewStep step;
    step.kind = ViewStep::Kind::select;
    step.dim = *d;
    step.start = i;
    return add(view, step, result);
  }
  /// `view[..., start:end:step_size, ...]` at dimension `dim`; bounds are wrapped and clamped.
  [[nodiscard]] constexpr auto slice(std::uint32_t view, std::int64_t dim, std::optional<std::int64_t> start,
                                     std::optional<std::int64_t> end, std::int64_t step_size) const
      -> std::optional<std::uint32_t> {
    if (!has_geometry(view) || step_size < 1) return std::nullopt;
    Geometry g = geometry(view);
    const auto d = wrap_dimension(dim, g.rank());
    if (!d || g.rank() == 0) return std::nullopt;
    const SliceBounds b = clamp_slice(start, end, step_size, g.sizes[*d]);
    // A slice of everything is the tensor itself: no step to replay.
    if (b.start == 0 && b.end == g.sizes[*d] && b.step == 1) return view;
    if (is_expansion(view) && b.length() > 0) {
      const Expansion e = expansion(view, *d);
      const auto inner = e.is_repeated ? std::optional(e.parent) : slice(e.parent, e.dim, b.start, b.end, b.step);
      Dims sizes = g.sizes;
      sizes[*d] = b.length();
      return inner ? expand(*inner, sizes.view()) : std::nullopt;
    }
    g.offset += b.start * g.strides[*d];
    g.sizes[*d] = b.length();
    g.strides[*d] *= b.step;
    ViewStep step;
    step.kind = ViewStep::Kind::slice;
    step.dim = *d;
    step.start = b.start;
    step.end = b.end;
    step.step = b.step;
    return add(view, step, g);
  }
  /// The diagonal of dimensions `dim1` and `dim2`, `offset` above the main one, as the last dimension.
  [[nodiscard]] constexpr auto diagonal(std::uint32_t view, std::int64_t offset, std::int64_t dim1,
                                        std::int64_t dim2) const -> std::optional<std::uint32_t> {
    if (!has_geometry(view)) return std::nullopt;
    const Geometry g = geometry(view);
    const auto first = wrap_dimension(dim1, g.rank());
    const auto second = wrap_dimension(dim2, g.rank());
    if (!first || !second || *first == *second || g.rank() < 2) return std::nullopt;
    const std::int64_t rows = g.sizes[*first] + (offset < 0 ? offset : 0);
    const std::int64_t columns = g.sizes[*second] - (offset > 0 ? offset : 0);
    const std::int64_t shorter = rows < columns ? rows : columns;
    Geometry result;
    result.offset = g.offset;
    if (shorter > 0) result.offset += offset > 0 ? offset * g.strides[*second] : -offset * g.strides[*first];
    for (std::uint32_t i = 0; i < g.rank(); ++i) {
      if (i == *first || i == *second) continue;
      result.sizes.push_back(g.sizes[i]);
      result.strides.push_back(g.strides[i]);
    }
    result.sizes.push_back(shorter > 0 ? shorter : 0);
    result.strides.push_back(g.strides[*first] + g.strides[*second]);
    ViewStep step;
    step.kind = ViewStep::Kind::diagonal;
    step.dim = *first;
    step.end = *second;
    step.start = offset;
    return add(view, step, result);
  }
  /// To `sizes`, without a -1. None where PyTorch would have to copy.
  [[nodiscard]] constexpr auto reshape(std::uint32_t view, Span<const std::int64_t> sizes) const
      -> std::optional<std::uint32_t> {
    if (!has_geometry(view)) return std::nullopt;
    Geometry g = geometry(view);
    const auto inferred = infer_sizes(sizes, g.element_count());
    if (!inferred) return std::nullopt;
    if (*inferred == g.sizes) return view;
    auto strides = view_strides(g, inferred->view());
    if (!strides) return std::nullopt;
    if (is_expansion(view)) {
      Dims kept = *inferred;
      for (std::uint32_t i = 0; i < kept.size(); ++i)
        if ((*strides)[i] == 0) kept[i] = 1;
      if (const auto inner = reshape(analysis_.view(view).parent, kept.view())) return expand(*inner, inferred->view());
    }
    g.sizes = *inferred;
    g.strides = std::move(*strides);
    ViewStep step;
    step.kind = ViewStep::Kind::reshape;
    return add(view, step, g);
  }
  /// Dimension i of the result is dimension `order[i]` of `view`; negative ones count from the end.
  [[nodiscard]] constexpr auto permute(std::uint32_t view, Span<const std::int64_t> order) const
      -> std::optional<std::uint32_t> {
    if (!has_geometry(view)) return std::nullopt;
    const Geometry g = geometry(view);
    if (order.size() != g.rank()) return std::nullopt;
    Geometry result;
    result.offset = g.offset;
    Dims wrapped;
    bool is_identity = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto d = wrap_dimension(order[i], g.rank());
      if (!d) return std::nullopt;
      wrapped.push_back(*d);
      is_identity = is_identity && *d == i;
      result.sizes.push_back(g.sizes[*d]);
      result.strides.push_back(g.strides[*d]);
    }
    if (is_identity) return view;
    if (is_expansion(view)) {
      const std::uint32_t parent = analysis_.view(view).parent;
      Dims padded;
      padded.resize(g.rank() - analysis_.view(parent).rank, 1);
      padded.append(analysis_.sizes(analysis_.view(parent)));
      const auto inner = reshape(parent, padded.view());
      const auto ordered = inner ? permute(*inner, wrapped.view()) : std::nullopt;
      return ordered ? expand(*ordered, result.sizes.view()) : std::nullopt;
    }
    ViewStep step;
    step.kind = ViewStep::Kind::permute;
    step.order = analysis_.add_numbers(wrapped.view());
    return add(view, step, result);
  }
  /// To `sizes`; -1 keeps a size.
  [[nodiscard]] constexpr auto expand(std::uint32_t view, Span<const std::int64_t> sizes) const
      -> std::optional<std::uint32_t> {
    if (!has_geometry(view)) return std::nullopt;
    const Geometry g = geometry(view);
    if (sizes.size() < g.rank()) return std::nullopt;
    if (is_expansion(view)) {
      Dims resolved;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::size_t added = sizes.size() - g.rank();
        resolved.push_back(sizes[i] == -1 && i >= added ? g.sizes[static_cast<std::uint32_t>(i - added)] : sizes[i]);
      }
      return expand(analysis_.view(view).parent, resolved.view());
    }
    Geometry result;
    result.offset = g.offset;
    const std::size_t added = sizes.size() - g.rank();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t old_size = i < added ? 1 : g.sizes[static_cast<std::uint32_t>(i - added)];
      const std::int64_t size = sizes[i] == -1 ? old_size : sizes[i];
      if (size != old_size && old_size != 1) return std::nullopt;
      result.sizes.push_back(size);
      const bool keeps = i >= added && size == old_size;
      result.strides.push_back(keeps ? g.strides[static_cast<std::uint32_t>(i - added)] : 0);
    }
    // Dimensions of size 1 in front repeat nothing.
    if (result.element_count() == g.element_count()) return reshape(view, result.sizes.view());
    ViewStep step;
    step.kind = ViewStep::Kind::expand;
    return add(view, step, result);
  }
  /// A dimension of size 1 before dimension `dim`.
  [[nodiscard]] constexpr auto unsqueeze(std::uint32_t view, std::int64_t dim) const -> std::optional<std::uint32_t> {
    if (!has_geometry(view)) return std::nullopt;
    const Geometry g = geometry(view);
    const auto d = wrap_dimension(dim, g.rank() + 1);
    if (!d) return std::nullopt;
    Dims sizes;
    for (std::uint32_t i = 0; i <= g.rank(); ++i) {
      if (i == *d) sizes.push_back(1);
      if (i < g.rank()) sizes.push_back(g.sizes[i]);
    }
    return reshape(view, sizes.view());
  }
  /// A list of views along dimension `dim`; opaque where there is no such dimension.
  constexpr auto list(std::uint32_t view, std::int64_t dim, NodeId node) const -> std::uint32_t {
    const auto d = wrap_dimension(dim, analysis_.view(view).rank);
    if (!has_geometry(view) || !d || analysis_.view(view).rank == 0) return opaque(view, node);
    ViewStep step;
    step.kind = ViewStep::Kind::list;
    step.dim = *d;
    return analysis_.add_view(view, step, analysis_.view(view).dtype, nullptr);
  }
  /// A view that can be read as long as its storage is not written, and no more.
  constexpr auto opaque(std::uint32_t view, NodeId node) const -> std::uint32_t {
    ViewStep step;
    step.kind = ViewStep::Kind::opaque;
    const TensorMeta* meta = graph_.tensor(node);
    const auto g = geometry_of(graph_, node);
    return analysis_.add_view(view, step, meta != nullptr ? meta->dtype : analysis_.view(view).dtype,
                              g ? &*g : nullptr);
  }

  /// What `view[index]` is, as far as views go. O(rank) for each index item.
  [[nodiscard]] constexpr auto index(std::uint32_t view, const Argument& index) const -> IndexedView {
    IndexedView result;
    if (!has_geometry(view)) return result;
    const auto items = index_items(graph_, index);
    std::int64_t consumed = 0;
    for (const Argument& item : items) consumed += dimensions_indexed(graph_, item);
    std::optional<std::uint32_t> current = view;
    std::int64_t dim = 0;
    for (const Argument& item : items) {
      if (!current) return result;
      const View& v = analysis_.view(*current);
      switch (item.kind()) {
        case ArgumentKind::integer: current = select(*current, dim, item.integer()); break;
        case ArgumentKind::slice:
          current = slice_by(*current, dim, item);
          ++dim;
          break;
        case ArgumentKind::ellipsis: {
          const std::int64_t skipped = static_cast<std::int64_t>(analysis_.view(view).rank) - consumed;
          if (skipped < 0) return result;
          dim += skipped;
          break;
        }
        case ArgumentKind::boolean:
          // True adds a dimension of size 1; False one of size 0, so that nothing is written.
          if (!item.boolean()) result.writes_nothing = true;
          [[fallthrough]];
        case ArgumentKind::none:
          current = unsqueeze(*current, dim);
          ++dim;
          break;
        case ArgumentKind::node: {
          if (graph_.node(item.node()).value_kind != ValueKind::tensor) return result;
          const std::int64_t taken = dimensions_indexed(graph_, item);
          if (dim + taken > static_cast<std::int64_t>(v.rank)) return result;
          result.has_tensors = true;
          dim += taken;
          break;
        }
        default: return result;
      }
    }
    if (!current) return result;
    result.view = *current;
    return result;
  }

 private:
  [[nodiscard]] constexpr auto is_expansion(std::uint32_t view) const -> bool {
    return analysis_.view(view).step.kind == ViewStep::Kind::expand;
  }
  /// Where dimension `dim` of an expanded view comes from.
  struct Expansion {
    std::uint32_t parent = no_view;
    std::uint32_t dim = 0;     ///< of the parent
    bool is_added = false;     ///< the parent has no such dimension
    bool is_repeated = false;  ///< the parent has one element there, or none at all
  };
  [[nodiscard]] constexpr auto expansion(std::uint32_t view, std::uint32_t dim) const -> Expansion {
    const View& v = analysis_.view(view);
    const View& parent = analysis_.view(v.parent);
    const std::uint32_t added = v.rank - parent.rank;
    if (dim < added) return {v.parent, 0, true, true};
    const std::uint32_t d = dim - added;
    return {v.parent, d, false, analysis_.sizes(parent)[d] != analysis_.sizes(v)[dim]};
  }
  [[nodiscard]] static constexpr auto without(Span<const std::int64_t> numbers, std::uint32_t dim) -> Dims {
    Dims result;
    result.append(numbers.first(dim));
    result.append(numbers.subspan(dim + 1));
    return result;
  }
  [[nodiscard]] constexpr auto has_geometry(std::uint32_t view) const -> bool {
    return analysis_.view(view).has_geometry && !analysis_.view(view).step.is_opaque();
  }
  [[nodiscard]] constexpr auto geometry(std::uint32_t view) const -> Geometry {
    return analysis_.geometry(analysis_.view(view));
  }
  constexpr auto add(std::uint32_t parent, ViewStep step, const Geometry& g) const -> std::uint32_t {
    return analysis_.add_view(parent, step, analysis_.view(parent).dtype, &g);
  }
  [[nodiscard]] constexpr auto slice_by(std::uint32_t view, std::int64_t dim, const Argument& item) const
      -> std::optional<std::uint32_t> {
    const auto bounds = slice_argument(graph_, item);
    if (!bounds) return std::nullopt;
    return slice(view, dim, bounds->start, bounds->stop, bounds->step);
  }

  const Graph& graph_;
  AliasAnalysis& analysis_;
};

/// Decides for each node whether its value is a view, and of what.
class ViewRules {
 public:
  /// Of a graph and the analysis of it; both have to outlive it.
  constexpr ViewRules(const Graph& graph, AliasAnalysis& analysis)
      : graph_(graph), analysis_(analysis), make_(graph, analysis) {}

  /// The operand that node `id` may be a view of, always its first; `no_node` if its operator makes no views.
  [[nodiscard]] static constexpr auto viewed_operand(const Graph& graph, NodeId id) -> NodeId {
    if (graph.op(id).view == ops::ViewRule::none) return no_node;
    const auto arguments = graph.arguments(id);
    return arguments.empty() || !arguments[0].is_node() ? no_node : arguments[0].node();
  }
  /// The view that a call is, whose viewed operand is `parent`; none if it makes a fresh tensor.
  [[nodiscard]] constexpr auto derive(const Call& call, std::uint32_t parent) const -> std::optional<std::uint32_t> {
    const Operator& op = call.op();
    if (analysis_.view(parent).step.is_opaque() && op.view != ops::ViewRule::identity)
      return make_.opaque(parent, call.id());
    return derive(call, op.view, parent);
  }

  /// The view that member `index` of `list` is, a call that returns several views; opaque where that is not known. What
  /// `list` was made of is read from the analysis: a pass of the same sweep may have changed the node's operand since.
  [[nodiscard]] constexpr auto member(NodeId list, std::int64_t index, NodeId id) const -> std::uint32_t {
    const std::uint32_t list_view = analysis_.view_of(list);
    const View& views = analysis_.view(list_view);
    const auto members = graph_.values(list);
    const std::int64_t k = wrap_index(index, static_cast<std::int64_t>(members.size()));
    if (views.step.kind != ViewStep::Kind::list || k < 0 || k >= static_cast<std::int64_t>(members.size()))
      return make_.opaque(list_view, id);
    const std::uint32_t parent = views.parent;
    const std::uint32_t dim = views.step.dim;
    if (graph_.op(list).view == ops::ViewRule::unbind) return or_opaque(make_.select(parent, dim, k), parent, id);
    std::int64_t start = 0;
    std::int64_t length = 0;
    for (std::int64_t i = 0; i <= k; ++i) {
      const TensorMeta& meta = members[static_cast<std::size_t>(i)];
      if (!meta.known) return make_.opaque(parent, id);
      const auto g = geometry_of(graph_, meta);
      if (!g || dim >= g->rank()) return make_.opaque(parent, id);
      start += length;
      length = g->sizes[dim];
    }
    return or_opaque(make_.slice(parent, dim, start, start + length, 1), parent, id);
  }

 private:
  [[nodiscard]] constexpr auto or_opaque(std::optional<std::uint32_t> view, std::uint32_t parent, NodeId id) const
      -> std::uint32_t {
    return view ? *view : make_.opaque(parent, id);
  }
  /// Sizes of the node's result by its metadata.
  [[nodiscard]] constexpr auto result_sizes(NodeId id) const -> std::optional<Dims> {
    const auto g = geometry_of(graph_, id);
    if (!g) return std::nullopt;
    return g->sizes;
  }
  [[nodiscard]] constexpr auto numbers(const Call& call, std::string_view name) const
      -> std::optional<Dims> {
    const auto list = call.integers(name);
    if (!list) return std::nullopt;
    Dims result;
    for (const SymInt s : *list) {
      if (s.is_symbolic()) return std::nullopt;
      result.push_back(s.value());
    }
    return result;
  }
  /// The result in the shape that its metadata states, as a view of `parent` if strides allow it.
  [[nodiscard]] constexpr auto to_result_shape(NodeId id, std::uint32_t parent) const -> std::optional<std::uint32_t> {
    const auto sizes = result_sizes(id);
    return sizes ? make_.reshape(parent, sizes->view()) : std::nullopt;
  }

  [[nodiscard]] constexpr auto derive(const Call& call, ops::ViewRule rule, std::uint32_t parent) const
      -> std::optional<std::uint32_t> {
    const NodeId id = call.id();
    const View& from = analysis_.view(parent);
    switch (rule) {
      case ops::ViewRule::none: return std::nullopt;
      case ops::ViewRule::identity: return parent;
      case ops::ViewRule::identity_if_real: return is_complex(from.dtype) ? make_.opaque(parent, id) : parent;
      case ops::ViewRule::select: {
        const auto dim = call.integer("dim");
        const auto index = call.integer("index");
        return or_opaque(dim && index ? make_.select(parent, *dim, *index) : std::nullopt, parent, id);
      }
      case ops::ViewRule::slice: {
        const auto dim = call.integer("dim");
        const auto step = call.integer("step");
        const bool open_start = !call.has("start");
        const bool open_end = !call.has("end");
        const auto start = call.integer("start");
        const auto end = call.integer("end");
        const bool known = dim && step && (open_start || start) && (open_end || end);
        return or_opaque(known ? make_.slice(parent, *dim, start, end, *step) : std::nullopt, parent, id);
      }
      case ops::ViewRule::narrow: {
        const auto dim = call.integer("dim");
        const auto start = call.integer("start");
        const auto length = call.integer("length");
        if (!dim || !start || !length || !from.has_geometry) return make_.opaque(parent, id);
        const auto d = wrap_dimension(*dim, from.rank);
        if (!d || from.rank == 0) return make_.opaque(parent, id);
        const std::int64_t first = wrap_index(*start, analysis_.sizes(from)[*d]);
        return or_opaque(make_.slice(parent, *dim, first, first + *length, 1), parent, id);
      }
      case ops::ViewRule::reshape:
      case ops::ViewRule::unsqueeze:
      case ops::ViewRule::squeeze: return or_opaque(to_result_shape(id, parent), parent, id);
      case ops::ViewRule::flatten:
      case ops::ViewRule::ravel:
      case ops::ViewRule::maybe_reshape: {
        // Without numbers nobody can say whether this is a view or a copy: opaque, so that a write near it is refused.
        if (!from.has_geometry || !result_sizes(id)) return make_.opaque(parent, id);
        if (rule == ops::ViewRule::ravel && !is_contiguous(analysis_.geometry(from))) return std::nullopt;
        return to_result_shape(id, parent);
      }
      case ops::ViewRule::transpose: {
        auto a = call.integer("dim0");
        auto b = call.integer("dim1");
        if (!a) a = call.integer("axis0");
        if (!b) b = call.integer("axis1");
        if (!a || !b || !from.has_geometry) return make_.opaque(parent, id);
        const auto first = wrap_dimension(*a, from.rank);
        const auto second = wrap_dimension(*b, from.rank);
        if (!first || !second) return make_.opaque(parent, id);
        return or_opaque(swap(parent, *first, *second), parent, id);
      }
      case ops::ViewRule::matrix_transpose:
        if (!from.has_geometry || from.rank > 2) return make_.opaque(parent, id);
        return from.rank < 2 ? parent : or_opaque(swap(parent, 0, 1), parent, id);
      case ops::ViewRule::reverse_dimensions: {
        if (!from.has_geometry) return make_.opaque(parent, id);
        Dims order;
        for (std::uint32_t i = from.rank; i-- > 0;) order.push_back(i);
        return or_opaque(make_.permute(parent, order.view()), parent, id);
      }
      case ops::ViewRule::swap_last_dimensions:
        // The conjugate of a complex tensor is another thing.
        if (!from.has_geometry || from.rank < 2 || is_complex(from.dtype)) return make_.opaque(parent, id);
        return or_opaque(swap(parent, from.rank - 2, from.rank - 1), parent, id);
      case ops::ViewRule::move_dimensions: {
        const auto order = moved_order(call, from.rank);
        return or_opaque(order ? make_.permute(parent, order->view()) : std::nullopt, parent, id);
      }
      case ops::ViewRule::diagonal: {
        const auto offset = call.integer("offset");
        const auto dim1 = call.integer("dim1");
        const auto dim2 = call.integer("dim2");
        const bool known = offset && dim1 && dim2;
        return or_opaque(known ? make_.diagonal(parent, *offset, *dim1, *dim2) : std::nullopt, parent, id);
      }
      case ops::ViewRule::permute: {
        const auto order = numbers(call, "dims");
        return or_opaque(order ? make_.permute(parent, order->view()) : std::nullopt, parent, id);
      }
      case ops::ViewRule::expand: {
        const auto sizes = result_sizes(id);
        return or_opaque(sizes ? make_.expand(parent, sizes->view()) : std::nullopt, parent, id);
      }
      case ops::ViewRule::getitem: {
        const auto arguments = graph_.arguments(id);
        if (arguments.size() != 2) return make_.opaque(parent, id);
        const IndexedView indexed = make_.index(parent, arguments[1]);
        if (indexed.view != no_view) {
          if (!indexed.has_tensors && !indexed.writes_nothing) return indexed.view;
          return std::nullopt;
        }
        return is_copying_index(arguments[1]) ? std::nullopt : std::optional(make_.opaque(parent, id));
      }
      case ops::ViewRule::maybe_cast: return cast(call, parent);
      case ops::ViewRule::maybe_contiguous: {
        if (!from.has_geometry) return make_.opaque(parent, id);
        return is_contiguous(analysis_.geometry(from)) ? std::optional(parent) : std::nullopt;
      }
      case ops::ViewRule::maybe_dropout: {
        const auto train = call.boolean("train");
        const auto p = call.real("p");
        if (!train || !p) return make_.opaque(parent, id);
        return *train && *p != 0.0 ? std::nullopt : std::optional(parent);
      }
      case ops::ViewRule::split:
      case ops::ViewRule::unbind: {
        const auto dim = call.integer("dim");
        return dim ? make_.list(parent, *dim, id) : make_.opaque(parent, id);
      }
      case ops::ViewRule::opaque: return make_.opaque(parent, id);
    }
    return make_.opaque(parent, id);
  }

  [[nodiscard]] constexpr auto swap(std::uint32_t parent, std::uint32_t a, std::uint32_t b) const
      -> std::optional<std::uint32_t> {
    Dims order;
    for (std::uint32_t i = 0; i < analysis_.view(parent).rank; ++i) order.push_back(i == a ? b : i == b ? a : i);
    // Swapping dimensions of a tensor without any is allowed and does nothing.
    return order.empty() ? std::optional(parent) : make_.permute(parent, order.view());
  }

  /// `movedim`: dimension source[i] goes to destination[i], the others stay in order.
  [[nodiscard]] constexpr auto moved_order(const Call& call, std::uint32_t rank) const
      -> std::optional<Dims> {
    const auto source = numbers(call, "source");
    const auto destination = numbers(call, "destination");
    if (!source || !destination || source->size() != destination->size()) return std::nullopt;
    Dims order;
    order.resize(rank, -1);
    Pool<std::uint8_t> moved;
    moved.resize(rank, 0);
    for (std::uint32_t i = 0; i < source->size(); ++i) {
      const auto from = wrap_dimension((*source)[i], rank);
      const auto to = wrap_dimension((*destination)[i], rank);
      if (!from || !to || rank == 0) return std::nullopt;
      order[*to] = *from;
      moved[*from] = 1;
    }
    std::uint32_t next = 0;
    for (std::int64_t& slot : order) {
      if (slot != -1) continue;
      while (next < rank && moved[next] != 0) ++next;
      slot = next++;
    }
    return order;
  }

  /// `to` in any overload: the tensor itself if dtype and device are what they were and no copy is asked for.
  /// Devices are compared where things were when PyTorch traced them: whether `x.to("cuda")` was a copy does
  /// not depend on the new target.
  [[nodiscard]] constexpr auto cast(const Call& call, std::uint32_t parent) const -> std::optional<std::uint32_t> {
    const TensorMeta* after = graph_.tensor(call.id());
    const TensorMeta* before = graph_.tensor(viewed_operand(graph_, call.id()));
    if (after == nullptr || before == nullptr) return make_.opaque(parent, call.id());
    if (call.boolean("copy").value_or(false)) return std::nullopt;
    if (after->dtype != before->dtype || after->layout != before->layout ||
        graph_.device(after->device) != graph_.device(before->device))
      return std::nullopt;
    const auto format = call.given("memory_format");
    const bool keeps_format = !format || format->is_none() || (format->is(ArgumentKind::memory_format) &&
                                                               format->memory_format() == MemoryFormat::preserve_format);
    if (keeps_format) return parent;
    const View& from = analysis_.view(parent);
    if (!from.has_geometry || !format->is(ArgumentKind::memory_format) ||
        format->memory_format() != MemoryFormat::contiguous_format)
      return make_.opaque(parent, call.id());
    return is_contiguous(analysis_.geometry(from)) ? std::optional(parent) : std::nullopt;
  }

  /// Whether an index holds a tensor or a list of numbers: advanced indexing always copies.
  [[nodiscard]] constexpr auto is_copying_index(const Argument& index) const -> bool {
    if (index.is_node()) return graph_.node(index.node()).value_kind == ValueKind::tensor;
    if (index.is(ArgumentKind::list)) return true;
    if (!index.is(ArgumentKind::tuple)) return false;
    for (const Argument& item : graph_.children(index))
      if (item.is(ArgumentKind::list) || is_copying_index(item)) return true;
    return false;
  }

  const Graph& graph_;
  AliasAnalysis& analysis_;
  ViewMaker make_;
};

}  // namespace fxpass

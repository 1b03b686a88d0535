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

namespace detail {
/// Whether a call of dropout drops elements and scales the others, or gives its argument as it is; none if that is not
/// known before the program runs.
[[nodiscard]] constexpr auto drops_elements(const Call& call) -> std::optional<bool> {
  const auto train = call.boolean("train");
  const auto p = call.real("p");
  if ((train && !*train) || (p && *p == 0.0)) return false;
  return train && p ? std::optional(true) : std::nullopt;
}

/// What an in-place operator writes: its first parameter, `self` or `input`.
[[nodiscard]] constexpr auto written_operand(const Call& call) -> NodeId {
  const auto arguments = call.graph().arguments(call.id());
  if (call.op().parameters == TextId{} && !arguments.empty() && !arguments[0].is_keyword())
    return arguments[0].is_node() ? arguments[0].node() : no_node;
  if (const NodeId self = call.operand("self"); self != no_node) return self;
  return call.operand("input");
}

/// Whether PyTorch takes a call of `index_put_` for `masked_fill_`, see `fills_by_mask`.
[[nodiscard]] constexpr auto is_put_by_mask(const Call& call) -> bool {
  const auto indices = call.list("indices");
  const NodeId values = call.operand("values");
  const bool adds = call.boolean("accumulate").value_or(true);
  return indices && values != no_node && !adds && fills_by_mask(call.graph(), *indices, values);
}

/// What a call gives for its `out=` tensors, in the order of the results: `out=y`, `values=v, indices=i`, `out=(v, i)`. None
/// stands for what it does not give.
[[nodiscard]] constexpr auto out_arguments(const Call& call) -> Pool<Argument> {
  const Graph& graph = call.graph();
  const auto arguments = graph.arguments(call.id());
  const auto all = out_argument(graph, arguments);
  const bool is_group = all && all->is_sequence();
  Pool<Argument> outs;
  ops::ParameterReader reader = call.schema().parameters();
  for (auto p = reader.next(); p; p = reader.next()) {
    if (!ops::detail::is_out_tensor(*p)) continue;
    Argument given;
    if (is_group) {
      const auto members = graph.children(*all);
      if (outs.size() < members.size()) given = members[outs.size()];
    } else {
      for (const Argument& a : arguments)
        if (a.is_keyword() && graph.text(a.keyword()) == p->name) given = a;
    }
    outs.push_back(given.with_keyword({}));
  }
  return outs;
}
}  // namespace detail

/// What a Python index selects.
struct IndexedView {
  std::uint32_t view = no_view;  ///< after integers, slices, None and Ellipsis; no_view: not decidable here
  bool has_tensors = false;      ///< and index tensors besides, of which
  bool copies = false;           ///< those that are no single integers make a copy; those that are, a view of an unknown place
  bool has_booleans = false;     ///< and True or False, which PyTorch takes for index tensors
  bool writes_nothing = false;   ///< the index holds False
};

/// Makes views in an `AliasAnalysis`. Each function returns the id of a new view, or none where a number is symbolic,
/// unknown or out of range.
///
/// A step on an expanded view is taken on what was expanded, and the result expanded again: so what is written through
/// `x.expand(2, 3)[1]` is seen to be written into x, and not into one of two copies of it. A step that takes part of any
/// other view in which elements share places (windows that overlap) is taken on the storage itself.
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
  /// `view[..., index, ...]` at dimension `dim`, the index being item `item` of that of `maker`, a tensor.
  [[nodiscard]] constexpr auto pick(std::uint32_t view, std::int64_t dim, NodeId maker, std::size_t item) const
      -> std::optional<std::uint32_t> {
    if (!has_geometry(view) || is_expansion(view)) return std::nullopt;
    const View& v = analysis_.view(view);
    const auto d = wrap_dimension(dim, v.rank);
    if (!d || v.rank == 0 || analysis_.sizes(v)[*d] == 0) return std::nullopt;
    Geometry result;
    result.offset = v.offset;
    result.sizes = without(analysis_.sizes(v), *d);
    result.strides = without(analysis_.strides(v), *d);
    ViewStep step;
    step.kind = ViewStep::Kind::pick;
    step.dim = *d;
    step.start = maker.index;
    step.end = static_cast<std::int64_t>(item);
    return analysis_.add_view(view, step, v.dtype, &result);
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
  /// The elements of `g`, whose strides and offset count elements of the dtype of `view` in the storage that it is a view
  /// of (`as_strided`). None where some of them are no elements of the storage's base, as far as that shows: all of a base
  /// whose elements fill one stretch of storage.
  [[nodiscard]] constexpr auto strided(std::uint32_t view, const Geometry& g) const -> std::optional<std::uint32_t> {
    const auto memory = analysis_.view(view).is_placed ? memory_of(view) : std::nullopt;
    if (!memory) return std::nullopt;
    const std::int64_t count = g.element_count();
    const std::int64_t start = g.offset - memory->begin;
    std::int64_t last = start;
    for (std::uint32_t i = 0; i < g.rank(); ++i) {
      if (g.strides[i] < 0) return std::nullopt;
      last += (g.sizes[i] - 1) * g.strides[i];
    }
    const std::int64_t places = geometry(memory->view).element_count();
    if (count != 0 && (start < 0 || last >= places)) return std::nullopt;
    if (count != 0 && is_contiguous(g)) {
      // One stretch of storage: a slice of it.
      const std::int64_t all[] = {places};
      const auto flat = reshape(memory->view, all);
      const auto part = flat ? slice(*flat, 0, start, start + count, 1) : std::nullopt;
      return part ? reshape(*part, g.sizes.view()) : std::nullopt;
    }
    ViewStep step;
    step.kind = ViewStep::Kind::strided;
    step.start = count == 0 ? 0 : start;
    return analysis_.add_view(memory->view, step, analysis_.view(view).dtype, &g);
  }
  /// Windows of `size` along dimension `dim`, each `step_size` behind the last, as a last dimension of their own.
  [[nodiscard]] constexpr auto unfold(std::uint32_t view, std::int64_t dim, std::int64_t size,
                                      std::int64_t step_size) const -> std::optional<std::uint32_t> {
    if (!has_geometry(view)) return std::nullopt;
    Geometry g = geometry(view);
    const auto d = wrap_dimension(dim, g.rank());
    const std::int64_t whole = d && g.rank() != 0 ? g.sizes[*d] : 1;
    if (!d || size < 0 || size > whole || step_size < 1) return std::nullopt;
    if (g.rank() == 0) {
      const std::int64_t one[] = {1};
      const auto line = reshape(view, one);
      return line ? slice(*line, 0, 0, size, 1) : std::nullopt;
    }
    const std::int64_t windows = (whole - size) / step_size + 1;
    const std::int64_t pitch = windows == 1 ? size : step_size;  // from window to window
    if (size > 0 && size <= pitch && windows * pitch <= whole) {
      const auto used = slice(view, *d, 0, windows * pitch, 1);
      if (!used) return std::nullopt;
      Dims split = g.sizes;
      Dims order;
      split[*d] = windows;
      split.push_back(0);
      for (std::uint32_t i = g.rank(); i > *d + 1; --i) split[i] = split[i - 1];
      split[*d + 1] = pitch;
      for (std::uint32_t i = 0; i <= g.rank(); ++i)
        if (i != *d + 1) order.push_back(i);
      order.push_back(*d + 1);
      const auto apart = reshape(*used, split.view());
      const auto cut = apart ? slice(*apart, *d + 1, 0, size, 1) : std::nullopt;
      return cut ? permute(*cut, order.view()) : std::nullopt;
    }
    g.sizes.push_back(size);
    g.strides.push_back(g.strides[*d]);
    g.sizes[*d] = windows;
    g.strides[*d] *= step_size;
    return strided(view, g);
  }
  /// The same bytes as elements of `dtype` (`view.dtype`).
  [[nodiscard]] constexpr auto bitcast(std::uint32_t view, DType dtype) const -> std::optional<std::uint32_t> {
    if (!has_geometry(view)) return std::nullopt;
    const DType from = analysis_.view(view).dtype;
    if (from == dtype) return view;
    const auto g = reinterpreted(geometry(view), byte_size(from), byte_size(dtype));
    return g ? std::optional(bitcast(view, dtype, *g)) : std::nullopt;
  }
  /// Complex numbers as pairs of reals, a last dimension of size 2.
  [[nodiscard]] constexpr auto as_real(std::uint32_t view) const -> std::optional<std::uint32_t> {
    const DType from = analysis_.view(view).dtype;
    if (!has_geometry(view) || !is_complex(from)) return std::nullopt;
    Geometry g = geometry(view);
    Dims single = g.sizes;
    single.push_back(1);
    const auto column = reshape(view, single.view());
    if (!column) return std::nullopt;
    g.offset *= 2;
    for (std::int64_t& stride : g.strides) stride *= 2;
    g.sizes.push_back(2);
    g.strides.push_back(1);
    return bitcast(*column, detail::real_part(from), g);
  }
  /// Pairs of reals, the last dimension, as complex numbers.
  [[nodiscard]] constexpr auto as_complex(std::uint32_t view) const -> std::optional<std::uint32_t> {
    if (!has_geometry(view)) return std::nullopt;
    const Geometry g = geometry(view);
    const DType from = analysis_.view(view).dtype;
    const bool has_twin = from == DType::f16 || from == DType::f32 || from == DType::f64;
    if (!has_twin || g.rank() == 0 || g.sizes[g.rank() - 1] != 2) return std::nullopt;
    const auto numbers = bitcast(view, detail::complex_of(from));
    return numbers ? reshape(*numbers, g.sizes.view().first(g.rank() - 1)) : std::nullopt;
  }
  /// Every element changed alike, in its place: `conjugate` or `negate`.
  [[nodiscard]] constexpr auto changed(std::uint32_t view, ViewStep::Kind how) const -> std::optional<std::uint32_t> {
    if (!has_geometry(view)) return std::nullopt;
    ViewStep step;
    step.kind = how;
    return add(view, step, geometry(view));
  }
  /// A list of views, which are its members in this order. Needs at least one.
  [[nodiscard]] constexpr auto list(Span<const std::int64_t> members) const -> std::uint32_t {
    const auto first = static_cast<std::uint32_t>(members[0]);
    ViewStep step;
    step.kind = ViewStep::Kind::list;
    step.order = analysis_.add_numbers(members);
    return analysis_.add_view(first, step, analysis_.view(first).dtype, nullptr);
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

  /// What `view[index]` is, as far as views go. `maker`, if given, has that index, which holds no tensor but single integers:
  /// those are picked. O(rank) for each index item.
  [[nodiscard]] constexpr auto index(std::uint32_t view, const Argument& index, NodeId maker = no_node) const -> IndexedView {
    IndexedView result;
    if (!has_geometry(view)) return result;
    const auto items = index_items(graph_, index);
    std::int64_t consumed = 0;
    for (const Argument& item : items) consumed += dimensions_indexed(graph_, item);
    std::optional<std::uint32_t> current = view;
    std::int64_t dim = 0;
    for (std::uint32_t k = 0; k < items.size(); ++k) {
      const Argument item = items[k];
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
          result.has_booleans = true;
          if (!item.boolean()) result.writes_nothing = true;
          [[fallthrough]];
        case ArgumentKind::none:
          current = unsqueeze(*current, dim);
          ++dim;
          break;
        case ArgumentKind::node: {
          if (graph_.node(item.node()).value_kind != ValueKind::tensor) return result;
          if (maker != no_node) {
            current = pick(*current, dim, maker, k);
            break;
          }
          const std::int64_t taken = dimensions_indexed(graph_, item);
          if (dim + taken > static_cast<std::int64_t>(v.rank)) return result;
          result.has_tensors = true;
          result.copies = result.copies || !may_be_integer(graph_, item);
          dim += taken;
          break;
        }
        case ArgumentKind::list: {
          const auto members = graph_.children(item);
          if (!is_index_list(graph_, item) || dim >= static_cast<std::int64_t>(v.rank)) return result;
          const std::int64_t size = analysis_.sizes(v)[static_cast<std::size_t>(dim)];
          if (members[0].is(ArgumentKind::boolean) && static_cast<std::int64_t>(members.size()) != size) return result;
          for (const Argument& member : members)
            if (member.is(ArgumentKind::integer) && (member.integer() < -size || member.integer() >= size)) return result;
          result.has_tensors = true;
          result.copies = true;
          ++dim;
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
  [[nodiscard]] constexpr auto has_geometry(std::uint32_t view) const -> bool {
    return analysis_.view(view).has_geometry && !analysis_.view(view).step.is_opaque();
  }
  [[nodiscard]] constexpr auto geometry(std::uint32_t view) const -> Geometry {
    return analysis_.geometry(analysis_.view(view));
  }
  constexpr auto add(std::uint32_t parent, ViewStep step, const Geometry& g) const -> std::uint32_t {
    if (step.takes_part() && g.element_count() != 0 && analysis_.overlaps_itself(analysis_.view(parent)))
      if (const auto of_storage = strided(parent, g)) return *of_storage;
    return analysis_.add_view(parent, step, analysis_.view(parent).dtype, &g);
  }
  constexpr auto bitcast(std::uint32_t view, DType dtype, const Geometry& g) const -> std::uint32_t {
    ViewStep step;
    step.kind = ViewStep::Kind::bitcast;
    return analysis_.add_view(view, step, dtype, &g);
  }
  /// All of a storage as one contiguous view, which begins at place `begin` of the storage.
  struct Memory {
    std::uint32_t view = no_view;
    std::int64_t begin = 0;
  };
  /// The storage of `view`, in elements of its dtype; none if its base leaves places of it out, or shares some.
  [[nodiscard]] constexpr auto memory_of(std::uint32_t view) const -> std::optional<Memory> {
    const DType dtype = analysis_.view(view).dtype;
    for (std::uint32_t v = view; v != no_view; v = analysis_.view(v).parent)
      if (analysis_.view(v).step.kind == ViewStep::Kind::conjugate ||
          analysis_.view(v).step.kind == ViewStep::Kind::negate)
        return std::nullopt;
    const std::uint32_t root = analysis_.storage_of(view).root;
    if (!has_geometry(root)) return std::nullopt;
    const Geometry g = geometry(root);
    if (!is_non_overlapping_and_dense(g)) return std::nullopt;
    const auto dense = is_contiguous(g) ? std::optional(root) : permute(root, storage_order(g).view());
    const DType stored = analysis_.view(root).dtype;
    if (!dense || stored == dtype) return dense ? std::optional(Memory{*dense, g.offset}) : std::nullopt;
    const std::int64_t grown = byte_size(dtype) > byte_size(stored) ? byte_size(dtype) / byte_size(stored) : 1;
    const std::int64_t places = g.element_count();
    if (g.offset % grown != 0) return std::nullopt;
    const std::int64_t all[] = {places};
    const auto flat = reshape(*dense, all);
    const auto even = flat ? slice(*flat, 0, 0, places - places % grown, 1) : std::nullopt;
    const auto cast = even ? bitcast(*even, dtype) : std::nullopt;
    if (!cast) return std::nullopt;
    return Memory{*cast, g.offset * byte_size(stored) / byte_size(dtype)};
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

  /// The operand that node `id` may be a view of: its first, or the only tensor of its list; `no_node` if its operator
  /// makes no views, or views of several.
  [[nodiscard]] static constexpr auto viewed_operand(const Graph& graph, NodeId id) -> NodeId {
    const ops::ViewRule rule = graph.op(id).view;
    if (rule == ops::ViewRule::none) return no_node;
    const auto arguments = graph.arguments(id);
    if (takes_a_list(rule)) {
      const auto operands = listed_operands(graph, id);
      return operands.size() == 1 ? operands[0] : no_node;
    }
    return arguments.empty() || !arguments[0].is_node() ? no_node : arguments[0].node();
  }
  /// Whether the call makes a list of views, one of each tensor of a list.
  [[nodiscard]] static constexpr auto views_each(const Graph& graph, NodeId id) -> bool {
    const ops::ViewRule rule = graph.op(id).view;
    if (graph.node(id).value_kind != ValueKind::tuple) return false;
    return rule == ops::ViewRule::broadcast_each || rule == ops::ViewRule::reshape_each ||
           rule == ops::ViewRule::cast_each || rule == ops::ViewRule::mesh;
  }
  /// The tensors that a call is given in a list or one by one, text and options apart.
  [[nodiscard]] static constexpr auto listed_operands(const Graph& graph, NodeId id) -> SmallPool<NodeId, 8> {
    SmallPool<NodeId, 8> operands;
    graph.for_each_operand(id, [&](NodeId operand) { operands.push_back(operand); });
    return operands;
  }
  /// The view that a call is, whose viewed operand is `parent`; none if it makes a fresh tensor.
  [[nodiscard]] constexpr auto derive(const Call& call, std::uint32_t parent) const -> std::optional<std::uint32_t> {
    const Operator& op = call.op();
    if (analysis_.view(parent).step.is_opaque() && op.view != ops::ViewRule::identity)
      return make_.opaque(parent, call.id());
    return derive(call, op.view, parent);
  }

  /// The list of views that a call of an operator that `views_each` is, whose operands are `parents`.
  [[nodiscard]] constexpr auto derive_each(const Call& call, Span<const std::int64_t> parents) const -> std::uint32_t {
    const auto metas = graph_.values(call.id());
    Pool<std::int64_t> members;
    for (std::size_t i = 0; i < parents.size(); ++i) {
      const auto parent = static_cast<std::uint32_t>(parents[i]);
      const auto g = i < metas.size() && metas[i].known ? geometry_of(graph_, metas[i]) : std::nullopt;
      std::optional<std::uint32_t> view;
      if (g && !analysis_.view(parent).step.is_opaque()) view = member_of_each(call, parent, i, parents.size(), *g);
      members.push_back(view ? *view : make_.opaque(parent, call.id()));
    }
    return make_.list(members.view());
  }
  /// The view that `list[index]` is, `list` being a view of kind list: a member, or a list of members for a slice;
  /// opaque where there is no such member. What `list` was made of is read from the analysis: a pass of the same sweep may
  /// have changed its operands since.
  [[nodiscard]] constexpr auto member(std::uint32_t list, const Argument& index, NodeId id) const -> std::uint32_t {
    const View views = analysis_.view(list);
    if (views.step.kind != ViewStep::Kind::list) return make_.opaque(list, id);
    const auto members = analysis_.order(views);
    const auto count = static_cast<std::int64_t>(members.size());
    if (index.is(ArgumentKind::slice)) {
      const auto bounds = slice_argument(graph_, index);
      if (!bounds || bounds->step < 1) return make_.opaque(list, id);
      const SliceBounds b = clamp_slice(bounds->start, bounds->stop, bounds->step, count);
      Pool<std::int64_t> kept;
      for (std::int64_t i = b.start; i < b.end; i += b.step) kept.push_back(members[static_cast<std::size_t>(i)]);
      return kept.empty() ? make_.opaque(list, id) : make_.list(kept.view());
    }
    if (!index.is(ArgumentKind::integer)) return make_.opaque(list, id);
    const std::int64_t k = wrap_index(index.integer(), count);
    if (k < 0 || k >= count) return make_.opaque(list, id);
    return static_cast<std::uint32_t>(members[static_cast<std::size_t>(k)]);
  }

 private:
  /// Whether the operand is the only tensor of a list.
  [[nodiscard]] static constexpr auto takes_a_list(ops::ViewRule rule) -> bool {
    return rule == ops::ViewRule::only_one || rule == ops::ViewRule::only_one_flat || rule == ops::ViewRule::einsum;
  }
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

  /// Whether PyTorch takes the operator for one that makes a new tensor, and so gives it a copy of what is conjugated or negated
  /// when it is read.
  [[nodiscard]] constexpr auto resolves_first(const Call& call, ops::ViewRule rule, std::uint32_t parent) const -> bool {
    if (rule != ops::ViewRule::split && rule != ops::ViewRule::reshape && rule != ops::ViewRule::identity) return false;
    const std::string_view base = call.schema().base();
    if (!base.starts_with("aten.unsafe_") && base != "aten._unsafe_view" && base != "aten.lift") return false;
    return analysis_.lazy_bits(parent).any();
  }
  [[nodiscard]] constexpr auto derive(const Call& call, ops::ViewRule rule, std::uint32_t parent) const
      -> std::optional<std::uint32_t> {
    const NodeId id = call.id();
    const View& from = analysis_.view(parent);
    if (resolves_first(call, rule, parent)) return std::nullopt;
    switch (rule) {
      case ops::ViewRule::none: return std::nullopt;
      case ops::ViewRule::identity:
      case ops::ViewRule::only_one: return parent;
      case ops::ViewRule::identity_if_real: return is_complex(from.dtype) ? std::nullopt : std::optional(parent);
      case ops::ViewRule::identity_if_resolved: {
        const LazyBits bits = analysis_.lazy_bits(parent);
        const bool copies = call.schema().base() == "aten.resolve_neg" ? bits.negative : bits.conjugate;
        return copies ? std::nullopt : std::optional(parent);
      }
      case ops::ViewRule::identity_if_same_size: {
        const auto sizes = result_sizes(id);
        if (!sizes || !from.has_geometry) return make_.opaque(parent, id);
        const bool is_same = from.rank != 0 && same_elements(sizes->view(), analysis_.sizes(from));
        return is_same ? std::optional(parent) : std::nullopt;
      }
      case ops::ViewRule::conjugate:
        return is_complex(from.dtype) ? or_opaque(make_.changed(parent, ViewStep::Kind::conjugate), parent, id) : parent;
      case ops::ViewRule::negate: return or_opaque(make_.changed(parent, ViewStep::Kind::negate), parent, id);
      case ops::ViewRule::real:
        return is_complex(from.dtype) ? or_opaque(part_of_complex(parent, 0), parent, id) : parent;
      case ops::ViewRule::imag: return or_opaque(part_of_complex(parent, 1), parent, id);
      case ops::ViewRule::as_real: return or_opaque(make_.as_real(parent), parent, id);
      case ops::ViewRule::as_complex: return or_opaque(make_.as_complex(parent), parent, id);
      case ops::ViewRule::bitcast: {
        const TensorMeta* meta = graph_.tensor(id);
        return or_opaque(meta != nullptr ? make_.bitcast(parent, meta->dtype) : std::nullopt, parent, id);
      }
      case ops::ViewRule::strided: return or_opaque(strided(call, parent), parent, id);
      case ops::ViewRule::unfold: {
        const auto dim = call.integer("dimension");
        const auto size = call.integer("size");
        const auto step = call.integer("step");
        return or_opaque(dim && size && step ? make_.unfold(parent, *dim, *size, *step) : std::nullopt, parent, id);
      }
      case ops::ViewRule::einsum: return einsum(call, parent);
      case ops::ViewRule::only_one_flat: {
        if (!from.has_geometry) return make_.opaque(parent, id);
        return is_contiguous(analysis_.geometry(from)) ? to_result_shape(id, parent) : std::nullopt;
      }
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
      case ops::ViewRule::reshape_each:  // of one tensor, which is no list
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
      case ops::ViewRule::conjugate_transpose: {
        if (!from.has_geometry) return make_.opaque(parent, id);
        const bool conjugates = rule == ops::ViewRule::conjugate_transpose && is_complex(from.dtype);
        auto view = from.rank < 2 ? std::optional(parent) : swap(parent, from.rank - 2, from.rank - 1);
        if (view && conjugates) view = make_.changed(*view, ViewStep::Kind::conjugate);
        return or_opaque(view, parent, id);
      }
      case ops::ViewRule::move_dimensions: {
        if (from.has_geometry && from.rank == 0) return parent;
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
        auto order = numbers(call, "dims");
        if (!order) order = numbers(call, "permutation");
        return or_opaque(order ? make_.permute(parent, order->view()) : std::nullopt, parent, id);
      }
      case ops::ViewRule::expand: {
        const auto sizes = result_sizes(id);
        return or_opaque(sizes ? make_.expand(parent, sizes->view()) : std::nullopt, parent, id);
      }
      case ops::ViewRule::broadcast_in_dim: {
        const auto sizes = result_sizes(id);
        const auto places = numbers(call, "broadcast_dimensions");
        if (!sizes || !places || !from.has_geometry || places->size() != from.rank) return make_.opaque(parent, id);
        Dims placed;
        placed.resize(sizes->size(), 1);
        for (std::uint32_t i = 0; i < places->size(); ++i) {
          const auto place = wrap_dimension((*places)[i], sizes->size());
          if (!place) return make_.opaque(parent, id);
          placed[*place] = analysis_.sizes(from)[i];
        }
        const auto view = make_.reshape(parent, placed.view());
        return or_opaque(view ? make_.expand(*view, sizes->view()) : std::nullopt, parent, id);
      }
      case ops::ViewRule::getitem: {
        const auto arguments = graph_.arguments(id);
        if (arguments.size() != 2) return make_.opaque(parent, id);
        const bool copies = is_copying_index(arguments[1]);
        const IndexedView indexed = make_.index(parent, arguments[1], has_index_tensors(graph_, arguments[1]) ? no_node : id);
        if (indexed.view != no_view) {
          if (!indexed.has_tensors && !indexed.has_booleans) return indexed.view;
          if (indexed.copies || indexed.has_booleans) return std::nullopt;
          return make_.opaque(parent, id);
        }
        return copies ? std::nullopt : std::optional(make_.opaque(parent, id));
      }
      case ops::ViewRule::maybe_cast: return cast(call, parent);
      case ops::ViewRule::maybe_contiguous: {
        if (!from.has_geometry) return make_.opaque(parent, id);
        const auto given = call.given("memory_format");
        const bool is_named = given && given->is(ArgumentKind::memory_format);
        // What is not contiguous PyTorch refuses to preserve.
        const bool is_any = !is_named || given->memory_format() == MemoryFormat::preserve_format;
        const MemoryFormat format = is_any ? MemoryFormat::contiguous_format : given->memory_format();
        if (given && !is_named) return make_.opaque(parent, id);
        return is_contiguous(analysis_.geometry(from), format) ? std::optional(parent) : std::nullopt;
      }
      case ops::ViewRule::maybe_dropout: {
        const auto drops = detail::drops_elements(call);
        if (!drops) return make_.opaque(parent, id);
        return *drops ? std::nullopt : std::optional(parent);
      }
      case ops::ViewRule::split:
      case ops::ViewRule::unbind: {
        const auto dim = call.integer("dim");
        return dim ? pieces(call, parent, *dim) : make_.opaque(parent, id);
      }
      case ops::ViewRule::split_columns:
        return pieces(call, parent, from.has_geometry && from.rank == 1 ? 0 : 1);
      case ops::ViewRule::split_rows: return pieces(call, parent, 0);
      case ops::ViewRule::split_depth: return pieces(call, parent, 2);
      case ops::ViewRule::unflatten: return pieces(call, parent, 0);
      case ops::ViewRule::broadcast_each:
      case ops::ViewRule::cast_each:
      case ops::ViewRule::mesh:
      case ops::ViewRule::opaque: return make_.opaque(parent, id);
    }
    return make_.opaque(parent, id);
  }

  /// A list of parts of dimension `dim`: between indices, or neighbours whose lengths the metadata of the results states; of
  /// `unbind`, of all selections. Opaque where those are not known.
  [[nodiscard]] constexpr auto pieces(const Call& call, std::uint32_t parent, std::int64_t dim) const -> std::uint32_t {
    const NodeId id = call.id();
    const View from = analysis_.view(parent);
    const auto d = from.has_geometry && from.rank != 0 ? wrap_dimension(dim, from.rank) : std::nullopt;
    const auto metas = graph_.values(id);
    if (!d || metas.empty()) return make_.opaque(parent, id);
    const ops::ViewRule rule = call.op().view;
    const auto given = cuts_of(call);
    Pool<std::int64_t> cuts;
    for (std::uint32_t i = 0; given && i < given->size(); ++i) {
      if ((*given)[i].is_symbolic()) return make_.opaque(parent, id);
      cuts.push_back((*given)[i].value());
    }
    if (call.has("tensor_indices_or_sections")) return make_.opaque(parent, id);
    Pool<std::int64_t> members;
    std::int64_t start = 0;
    for (const TensorMeta& meta : metas) {
      const auto g = meta.known ? geometry_of(graph_, meta) : std::nullopt;
      std::optional<std::uint32_t> view;
      if (given) {
        if (members.size() > cuts.size()) return make_.opaque(parent, id);
        const SliceBounds b = piece_between(cuts.view(), members.size(), analysis_.sizes(from)[*d]);
        view = make_.slice(parent, *d, b.start, b.end, 1);
      } else if (rule == ops::ViewRule::unbind) {
        view = make_.select(parent, *d, start++);
      } else if (g && rule == ops::ViewRule::unflatten) {
        view = make_.slice(parent, *d, start, start + g->element_count(), 1);
        if (view) view = make_.reshape(*view, g->sizes.view());
        start += g->element_count();
      } else if (g && g->rank() == from.rank) {
        view = make_.slice(parent, *d, start, start + g->sizes[*d], 1);
        start += g->sizes[*d];
      }
      if (!view) return make_.opaque(parent, id);
      members.push_back(*view);
    }
    return make_.list(members.view());
  }
  /// Member `index` of a list made of `count` tensors, each member a view of the tensor at the same place. `g` is the
  /// geometry that the metadata of the member states.
  [[nodiscard]] constexpr auto member_of_each(const Call& call, std::uint32_t parent, std::size_t index,
                                              std::size_t count, const Geometry& g) const
      -> std::optional<std::uint32_t> {
    switch (call.op().view) {
      case ops::ViewRule::broadcast_each: return make_.expand(parent, g.sizes.view());
      case ops::ViewRule::reshape_each: return make_.reshape(parent, g.sizes.view());
      case ops::ViewRule::cast_each:
        // What is cast has a storage of its own, of which nothing is known by the list.
        return analysis_.view(parent).dtype == graph_.values(call.id())[index].dtype ? std::optional(parent) : std::nullopt;
      default: break;
    }
    // A grid: tensor i lies along dimension i, the first two exchanged where rows are y.
    const auto indexing = call.given("indexing");
    if (indexing && !indexing->is(ArgumentKind::string)) return std::nullopt;
    const bool is_xy = indexing && graph_.text(indexing->text()) == "xy" && count >= 2;
    const std::size_t along = is_xy && index < 2 ? 1 - index : index;
    if (g.rank() != count) return std::nullopt;
    Dims line;
    line.resize(static_cast<std::uint32_t>(count), 1);
    line[static_cast<std::uint32_t>(along)] = analysis_.geometry(analysis_.view(parent)).element_count();
    const auto placed = make_.reshape(parent, line.view());
    return placed ? make_.expand(*placed, g.sizes.view()) : std::nullopt;
  }
  /// `as_strided`: where no offset is given it is that of the tensor.
  [[nodiscard]] constexpr auto strided(const Call& call, std::uint32_t parent) const -> std::optional<std::uint32_t> {
    const View& from = analysis_.view(parent);
    const auto sizes = numbers(call, "size");
    const auto strides = numbers(call, "stride");
    const bool is_given = call.has("storage_offset");
    const auto offset = is_given ? call.integer("storage_offset") : std::optional(from.offset);
    if (!sizes || !strides || !offset || sizes->size() != strides->size() || (!is_given && !from.has_geometry))
      return std::nullopt;
    Geometry g;
    g.sizes = *sizes;
    g.strides = *strides;
    g.offset = *offset;
    return make_.strided(parent, g);
  }
  /// The real or the imaginary parts of complex numbers.
  [[nodiscard]] constexpr auto part_of_complex(std::uint32_t parent, std::int64_t which) const
      -> std::optional<std::uint32_t> {
    const auto pairs = make_.as_real(parent);
    return pairs ? make_.select(*pairs, -1, which) : std::nullopt;
  }
  /// `einsum` of one tensor: reordered dimensions and diagonals are a view, sums are none.
  [[nodiscard]] constexpr auto einsum(const Call& call, std::uint32_t parent) const -> std::optional<std::uint32_t> {
    const NodeId id = call.id();
    const auto equation = call.string("equation");
    if (!equation || !analysis_.view(parent).has_geometry) return make_.opaque(parent, id);
    const auto arrow = equation->find("->");
    const auto from = labels(equation->substr(0, arrow), analysis_.view(parent).rank);
    if (!from) return make_.opaque(parent, id);
    std::optional<Dims> to;
    if (arrow == std::string_view::npos)
      to = labels_met_once(*from);
    else
      to = labels(equation->substr(arrow + 2), analysis_.view(parent).rank, from->view());
    if (!to) return make_.opaque(parent, id);
    for (const std::int64_t label : *from)
      if (!holds(*to, label)) return std::nullopt;
    Dims dims = *from;
    std::optional<std::uint32_t> view = parent;
    for (std::uint32_t i = 0; view && i < dims.size(); ++i)
      for (std::uint32_t j = i + 1; view && j < dims.size(); ++j) {
        if (dims[i] != dims[j]) continue;
        view = make_.diagonal(*view, 0, i, j);
        const std::int64_t label = dims[i];
        dims = without(without(dims.view(), j).view(), i);
        dims.push_back(label);
        i = 0;
        j = 0;
      }
    if (!view) return make_.opaque(parent, id);
    Dims order;
    for (const std::int64_t label : *to)
      for (std::uint32_t i = 0; i < dims.size(); ++i)
        if (dims[i] == label) order.push_back(i);
    return or_opaque(order.empty() ? view : make_.permute(*view, order.view()), parent, id);
  }
  /// The labels of dimensions on one side of an equation: letters, and negative numbers, ascending, for those that an
  /// Ellipsis stands for: what is left of `rank`, or the ones that `known` holds. None for any other text.
  [[nodiscard]] static constexpr auto labels(std::string_view text, std::uint32_t rank,
                                             Span<const std::int64_t> known = {}) -> std::optional<Dims> {
    std::int64_t letters = 0;
    for (const char c : text) letters += is_letter(c) ? 1 : 0;
    Dims result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == ' ') continue;
      if (is_letter(text[i])) {
        result.push_back(text[i]);
      } else if (text.substr(i, 3) == "...") {
        i += 2;
        for (const std::int64_t label : known)
          if (label < 0) result.push_back(label);
        if (known.empty())
          for (std::int64_t left = static_cast<std::int64_t>(rank) - letters; left > 0; --left) result.push_back(-left);
      } else {
        return std::nullopt;
      }
    }
    return known.empty() && result.size() != rank ? std::nullopt : std::optional(result);
  }
  [[nodiscard]] static constexpr auto is_letter(char c) -> bool {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  [[nodiscard]] static constexpr auto holds(const Dims& dims, std::int64_t label) -> bool {
    for (const std::int64_t d : dims)
      if (d == label) return true;
    return false;
  }
  /// Where an equation has no arrow: dimensions of an Ellipsis, then the letters that stand there once, by alphabet.
  [[nodiscard]] static constexpr auto labels_met_once(const Dims& from) -> Dims {
    Dims result;
    for (std::uint32_t i = 0; i < from.size(); ++i) {
      std::uint32_t count = 0;
      for (const std::int64_t label : from) count += label == from[i] ? 1 : 0;
      if (count != 1) continue;
      result.push_back(from[i]);
      for (std::uint32_t k = result.size() - 1; k > 0 && result[k - 1] > result[k]; --k) std::swap(result[k - 1], result[k]);
    }
    return result;
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
    if (!format || format->is_none()) return parent;
    if (!format->is(ArgumentKind::memory_format)) return make_.opaque(parent, call.id());
    if (format->memory_format() == MemoryFormat::preserve_format) return parent;
    const View& from = analysis_.view(parent);
    if (!from.has_geometry) return make_.opaque(parent, call.id());
    return suggested_format(analysis_.geometry(from)) == format->memory_format() ? std::optional(parent) : std::nullopt;
  }

  /// Whether an index holds a list of numbers, or a tensor that is no single integer: advanced indexing always copies.
  [[nodiscard]] constexpr auto is_copying_index(const Argument& index) const -> bool {
    if (index.is_node())
      return graph_.node(index.node()).value_kind == ValueKind::tensor && !may_be_integer(graph_, index);
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

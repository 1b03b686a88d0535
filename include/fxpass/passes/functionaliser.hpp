// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/editor.hpp>
#include <fxpass/passes/alias_analysis.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

/// @file
/// `Functionaliser`: keeps track of which node holds the newest value of each view while a graph is swept forward, and
/// makes the nodes that bring a value up to date.

namespace fxpass {

/// The newest values of storages and views.
///
/// Every write gives its storage a new version. The value written last, and the view it was written through, is kept
/// as it is ("the patch"); it is put into the base only when another view is read or written. So a chain of writes
/// through one view costs one node each, and a base that nobody asks for is never rebuilt. A view that was read before
/// is replayed from the base at most once for each version.
class Functionaliser {
 public:
  /// Of a graph that `analysis` was made for, which has to outlive it.
  constexpr explicit Functionaliser(const AliasAnalysis& analysis) : analysis_(&analysis) {}

  /// Says where new nodes go. Needed before the first write; nothing is inserted before it.
  constexpr void attach(Editor& editor) { editor_ = &editor; }

  /// Whether any operand may have to be read from another node than the one it names.
  [[nodiscard]] constexpr auto changes_operands() const -> bool { return changes_operands_; }

  /// Node `id` stands in the graph as it is and holds the newest value of its view. A base need not be defined: it holds
  /// the value of its storage until that is written.
  constexpr void define(NodeId id) {
    const std::uint32_t view = analysis_->view_of(id);
    if (view == no_view) return;
    grow();
    const std::uint32_t storage = storage_of(view);
    if (analysis_->storage(storage).base == id) storages_[storage].bases_version = version_of_bases(storage);
    const std::uint32_t version = version_of(view);
    Value& value = values_[view];
    if (value.node == no_node || value.version != version) value = {version, id};
  }
  /// Node `replacement` stands for `id`, which goes away, in all later uses.
  constexpr void substitute(NodeId id, NodeId replacement) {
    changes_operands_ = true;
    if (substitutes_.size() <= id.index) substitutes_.resize(id.index + 1, no_node);
    substitutes_[id.index] = replacement;
    const std::uint32_t view = analysis_->view_of(id);
    if (view == no_view) return;
    grow();
    values_[view] = {version_of(view), replacement};
  }

  /// Whether `id` itself still holds the newest value of its view.
  [[nodiscard]] constexpr auto is_newest(NodeId id) -> bool {
    const std::uint32_t view = analysis_->view_of(id);
    if (view == no_view) return true;
    grow();
    return version_of(view) == 0 || (is_current(view) && values_[view].node == id);
  }
  /// Whether nothing has been written into the storage of `id` so far.
  [[nodiscard]] constexpr auto is_unwritten(NodeId id) -> bool {
    const std::uint32_t view = analysis_->view_of(id);
    if (view == no_view) return true;
    grow();
    return version_of(view) == 0;
  }
  /// Whether `id` is a list of views, whose members are read in its stead where it is not the newest.
  [[nodiscard]] constexpr auto is_list(NodeId id) const -> bool {
    const std::uint32_t view = analysis_->view_of(id);
    return view != no_view && analysis_->view(view).step.kind == ViewStep::Kind::list;
  }
  /// The members of list `id` at their newest values; `no_node` for those that cannot be replayed.
  constexpr auto read_members(NodeId id, NodeId position) -> Pool<NodeId> {
    Pool<NodeId> nodes;
    const View list = analysis_->view(analysis_->view_of(id));
    for (std::size_t i = 0; i < list.step.order.count; ++i)
      nodes.push_back(value_of(static_cast<std::uint32_t>(analysis_->order(list)[i]), position));
    return nodes;
  }
  /// The node that an operand `id` has to be read from at `position`; `no_node` for a view that cannot be replayed, and
  /// where `id` may be a view of something that was written since. O(1) if nothing was written to its storage since it
  /// was read last, else O(depth of its view) new nodes.
  constexpr auto read(NodeId id, NodeId position) -> NodeId {
    const std::uint32_t view = analysis_->view_of(id);
    if (view == no_view) return substituted(id);
    grow();
    const std::uint32_t storage = storage_of(view);
    const State& state = storages_[storage];
    if (state.of_unknown_origin && state.bases_version != version_of_bases(storage)) return no_node;
    const std::uint32_t version = version_of(view);
    if (version == 0) return substituted(id);
    if (holds(view, version)) return values_[view].node;
    return analysis_->view(view).step.kind == ViewStep::Kind::list ? no_node : value_of(view, position);
  }

  /// The node that holds the newest value of `view` at `position`.
  constexpr auto value_of(std::uint32_t view, NodeId position) -> NodeId {
    grow();
    const std::uint32_t storage = storage_of(view);
    if (is_current(view)) return values_[view].node;
    if (!covers(storages_[storage].patched, view)) materialise(storage, position);
    return replay(view, storages_[storage].version, position);
  }

  /// Some node with shape, dtype and device of `view`, whatever its value: for `full_like` and its kind.
  constexpr auto like(std::uint32_t view, NodeId position) -> NodeId {
    grow();
    return values_[view].node != no_node ? values_[view].node : value_of(view, position);
  }

  /// `node` is the new value of `view` from now on.
  constexpr void write(std::uint32_t view, NodeId node, NodeId position) {
    grow();
    changes_operands_ = true;
    const std::uint32_t storage = storage_of(view);
    State& state = storages_[storage];
    const std::uint32_t root = analysis_->storage(storage).root;
    // A patch elsewhere would be lost under the new one.
    if (state.patched != no_view && state.patched != view && view != root) materialise(storage, position);
    State& now = storages_[storage];
    ++now.version;
    values_[view] = {now.version, node};
    now.patched = view == root ? no_view : view;
    if (view == root) now.base_version = now.version;
  }

  /// A new node before `position`, contiguous, with dtype and shape as said, on the device of the storage of `view`. No
  /// name: one by the target.
  constexpr auto emit(NodeId position, TextId target, Span<const Argument> arguments, DType dtype,
                      Span<const std::int64_t> sizes, std::uint32_t view, TextId name = {}) -> NodeId {
    Graph& graph = editor_->mutable_graph();
    TensorMeta meta;
    meta.dtype = dtype;
    if (const TensorMeta* base = graph.tensor(analysis_->storage_of(view).base)) meta.device = base->device;
    SmallPool<SymInt, 8> shape;
    for (const std::int64_t size : sizes) shape.push_back(size);
    SmallPool<SymInt, 8> strides;
    for (const std::int64_t stride : contiguous_strides(sizes)) strides.push_back(stride);
    const ValueSpec value{ValueKind::tensor, graph.add_meta(meta, shape.view(), strides.view())};
    return editor_->insert_before(position, target, arguments, value, name);
  }
  constexpr auto emit(NodeId position, std::string_view target, std::initializer_list<Argument> arguments, DType dtype,
                      Span<const std::int64_t> sizes, std::uint32_t view, TextId name = {}) -> NodeId {
    return emit(position, editor_->text(target), Span<const Argument>(arguments.begin(), arguments.size()), dtype, sizes,
                view, name);
  }
  /// `x_modified` for what is written into x, as a text of the graph.
  [[nodiscard]] constexpr auto modified_name(std::uint32_t view) -> TextId {
    grow();
    State& state = storages_[storage_of(view)];
    if (state.modified_name == TextId{}) {
      Text name;
      editor_->graph().append_name(name, editor_->graph().node(analysis_->storage_of(view).base).name);
      state.modified_name = editor_->text(name.append("_modified"));
    }
    return state.modified_name;
  }
  /// A list of integers as an argument of this graph.
  constexpr auto list(Span<const std::int64_t> numbers) -> Argument {
    Pool<Argument> items;
    for (const std::int64_t n : numbers) items.push_back(Argument(n));
    return Argument::group(ArgumentKind::list, editor_->mutable_graph().add_arguments(items.view()));
  }

 private:
  /// The operators that views are made again and put back with.
  enum class Target : std::uint8_t {
    select, slice, diagonal, permute, expand, reshape, select_scatter, slice_scatter, diagonal_scatter, as_strided,
    as_strided_scatter, view_dtype, conj_physical, neg, clone, index, index_put,
  };
  static constexpr std::size_t target_count = 17;
  static constexpr std::string_view targets[target_count] = {
      "torch.ops.aten.select.int",      "torch.ops.aten.slice.Tensor",           "torch.ops.aten.diagonal.default",
      "torch.ops.aten.permute.default", "torch.ops.aten.expand.default",         "torch.ops.aten.reshape.default",
      "torch.ops.aten.select_scatter.default", "torch.ops.aten.slice_scatter.default",
      "torch.ops.aten.diagonal_scatter.default", "torch.ops.aten.as_strided.default",
      "torch.ops.aten.as_strided_scatter.default", "torch.ops.aten.view.dtype", "torch.ops.aten.conj_physical.default",
      "torch.ops.aten.neg.default", "torch.ops.aten.clone.default", "torch.ops.aten.index.Tensor",
      "torch.ops.aten.index_put.default",
  };
  constexpr auto emit(NodeId position, Target target, std::initializer_list<Argument> arguments, DType dtype,
                      Span<const std::int64_t> sizes, std::uint32_t view, TextId name = {}) -> NodeId {
    TextId& known = targets_[static_cast<std::size_t>(target)];
    if (known == TextId{}) known = editor_->text(targets[static_cast<std::size_t>(target)]);
    return emit(position, known, Span<const Argument>(arguments.begin(), arguments.size()), dtype, sizes, view, name);
  }

  struct Value {
    std::uint32_t version = 0;
    NodeId node = no_node;
  };
  struct State {
    std::uint32_t version = 0;
    std::uint32_t base_version = 0;   ///< of which the base's node holds the value
    std::uint32_t patched = no_view;  ///< the view through which the base has been written since
    bool of_unknown_origin = false;
    std::uint32_t bases_version = 0;  ///< of what it may be a view of, when it was made
    TextId modified_name;             ///< what new values of it are called, once there are any
  };

  /// Views and storages appear while the graph is swept.
  constexpr void grow() {
    if (values_.size() == analysis_->view_count()) return;
    values_.resize(analysis_->view_count());
    while (storages_.size() < analysis_->storage_count()) {
      const Storage& added = analysis_->storage(storages_.push_back({}));
      storages_.back().of_unknown_origin = added.of_unknown_origin;
      values_[added.root] = {0, substituted(added.base)};
    }
  }
  [[nodiscard]] constexpr auto storage_of(std::uint32_t view) const -> std::uint32_t {
    return analysis_->view(view).storage;
  }
  /// A number that grows with each write into what `storage` may be a view of; 0 for nearly all.
  [[nodiscard]] constexpr auto version_of_bases(std::uint32_t storage) const -> std::uint32_t {
    std::uint32_t sum = 0;
    if (analysis_->storage(storage).of_unknown_origin)
      for (const std::int64_t base : analysis_->possible_bases(storage))
        sum += storages_[static_cast<std::uint32_t>(base)].version;
    return sum;
  }
  [[nodiscard]] constexpr auto substituted(NodeId id) const -> NodeId {
    return id.index < substitutes_.size() && substitutes_[id.index] != no_node ? substitutes_[id.index] : id;
  }
  [[nodiscard]] constexpr auto holds(std::uint32_t view, std::uint32_t version) const -> bool {
    return values_[view].node != no_node && values_[view].version == version;
  }
  [[nodiscard]] constexpr auto is_current(std::uint32_t view) const -> bool { return holds(view, version_of(view)); }
  /// The version of its storage; of a list, a number that grows with each write into a storage of its members.
  [[nodiscard]] constexpr auto version_of(std::uint32_t view) const -> std::uint32_t {
    const View& v = analysis_->view(view);
    if (v.step.kind != ViewStep::Kind::list) return storages_[v.storage].version;
    std::uint32_t sum = 0;
    for (const std::int64_t member : analysis_->order(v))
      sum += storages_[storage_of(static_cast<std::uint32_t>(member))].version;
    return sum;
  }
  /// Whether `view` is made from `patched`, so that its value follows from the patch alone.
  [[nodiscard]] constexpr auto covers(std::uint32_t patched, std::uint32_t view) const -> bool {
    if (patched == no_view) return true;
    for (; view != no_view; view = analysis_->view(view).parent)
      if (view == patched) return true;
    return false;
  }

  /// Makes `view` from its nearest ancestor that holds `version`, step by step. `no_node` if a step cannot be replayed.
  constexpr auto replay(std::uint32_t view, std::uint32_t version, NodeId position) -> NodeId {
    Pool<std::uint32_t> path;
    std::uint32_t from = view;
    while (!holds(from, version)) {
      if (analysis_->view(from).step.is_opaque() ||
          analysis_->view(from).step.kind == ViewStep::Kind::base)
        return no_node;
      path.push_back(from);
      from = analysis_->view(from).parent;
    }
    NodeId node = values_[from].node;
    for (std::uint32_t i = path.size(); i-- > 0;) {
      node = apply(path[i], node, position);
      values_[path[i]] = {version, node};
    }
    return node;
  }

  /// One view step on `parent`.
  constexpr auto apply(std::uint32_t view_id, NodeId parent, NodeId position) -> NodeId {
    const View view = analysis_->view(view_id);
    const auto sizes = analysis_->sizes(view);
    const ViewStep& step = view.step;
    switch (step.kind) {
      case ViewStep::Kind::select:
        return emit(position, Target::select, {parent, step.dim, step.start}, view.dtype, sizes, view_id);
      case ViewStep::Kind::pick:
        return emit(position, Target::index, {parent, picked(step)}, view.dtype, sizes, view_id);
      case ViewStep::Kind::slice:
        return emit(position, Target::slice, {parent, step.dim, step.start, step.end, step.step},
                    view.dtype, sizes, view_id);
      case ViewStep::Kind::diagonal:
        return emit(position, Target::diagonal, {parent, step.start, step.dim, step.end}, view.dtype,
                    sizes, view_id);
      case ViewStep::Kind::permute:
        return emit(position, Target::permute, {parent, list(analysis_->order(view))}, view.dtype,
                    sizes, view_id);
      case ViewStep::Kind::expand:
        return emit(position, Target::expand, {parent, list(sizes)}, view.dtype, sizes, view_id);
      case ViewStep::Kind::strided: {
        const NodeId memory = contiguous(view.parent, parent, position);
        return emit(position, Target::as_strided, {memory, list(sizes), list(analysis_->strides(view)), step.start},
                    view.dtype, sizes, view_id);
      }
      case ViewStep::Kind::bitcast:
        return cast_bytes(view.parent, parent, view_id, position, {});
      case ViewStep::Kind::conjugate:
        return emit(position, Target::conj_physical, {parent}, view.dtype, sizes, view_id);
      case ViewStep::Kind::negate: return emit(position, Target::neg, {parent}, view.dtype, sizes, view_id);
      default:
        return emit(position, Target::reshape, {parent, list(sizes)}, view.dtype, sizes, view_id);
    }
  }

  /// The index of a pick: an integer tensor behind a None for each dimension before it. The node that makes the view reads it at
  /// its value there, whatever is written into it later.
  constexpr auto picked(const ViewStep& step) -> Argument {
    Graph& graph = editor_->mutable_graph();
    const NodeId maker{static_cast<std::uint32_t>(step.start)};
    const auto items = index_items(graph, graph.arguments(maker)[1]);
    Pool<Argument> indices;
    indices.resize(step.dim, Argument());
    indices.push_back(items[static_cast<std::uint32_t>(step.end)].with_keyword({}));
    return Argument::group(ArgumentKind::list, graph.add_arguments(indices.view()));
  }

  /// `node`, a value of `view`, in a storage of its own, which it fills in row-major order: what PyTorch does by strides
  /// depends on those that its metadata states, and the value may have others.
  constexpr auto contiguous(std::uint32_t view, NodeId node, NodeId position) -> NodeId {
    // What was written through a window has just been copied.
    const TextId scatter = targets_[static_cast<std::size_t>(Target::as_strided_scatter)];
    if (scatter != TextId{} && editor_->graph().op(node).spelling == scatter) return node;
    const Argument format = Argument(MemoryFormat::contiguous_format).with_keyword(editor_->text("memory_format"));
    return emit(position, Target::clone, {node, format}, analysis_->view(view).dtype,
                analysis_->sizes(analysis_->view(view)), view);
  }
  /// The bytes of `node`, a value of view `from`, as elements of view `to`.
  constexpr auto cast_bytes(std::uint32_t from, NodeId node, std::uint32_t to, NodeId position, TextId name) -> NodeId {
    const View target = analysis_->view(to);
    // PyTorch looks at strides also where there are no elements, and those of a copy need not suit it.
    if (analysis_->is_empty(target)) {
      const Argument type = Argument(target.dtype).with_keyword(editor_->text("dtype"));
      const auto sizes = analysis_->sizes(target);
      return emit(position, "torch.ops.aten.new_zeros.default", {node, list(sizes), type}, target.dtype, sizes, to, name);
    }
    // Elements of another size are cut out of a last dimension without gaps.
    if (byte_size(analysis_->view(from).dtype) != byte_size(target.dtype)) node = contiguous(from, node, position);
    return emit(position, Target::view_dtype, {node, target.dtype}, target.dtype, analysis_->sizes(target), to, name);
  }

  /// The parent's value with `value` in place of view `view_id`; `old_parent` is the parent's value before.
  constexpr auto invert(std::uint32_t view_id, NodeId value, NodeId old_parent, NodeId position) -> NodeId {
    const View view = analysis_->view(view_id);
    const View parent = analysis_->view(view.parent);
    const auto sizes = analysis_->sizes(parent);
    const ViewStep& step = view.step;
    const TextId name = modified_name(view_id);
    switch (step.kind) {
      case ViewStep::Kind::select:
        return emit(position, Target::select_scatter, {old_parent, value, step.dim, step.start},
                    view.dtype, sizes, view_id, name);
      case ViewStep::Kind::pick:
        return emit(position, Target::index_put, {old_parent, picked(step), value}, view.dtype, sizes, view_id, name);
      case ViewStep::Kind::slice:
        return emit(position, Target::slice_scatter,
                    {old_parent, value, step.dim, step.start, step.end, step.step}, view.dtype, sizes, view_id, name);
      case ViewStep::Kind::diagonal:
        return emit(position, Target::diagonal_scatter,
                    {old_parent, value, step.start, step.dim, step.end}, view.dtype, sizes, view_id, name);
      case ViewStep::Kind::permute: {
        const auto order = analysis_->order(view);
        Dims inverse;
        inverse.resize(static_cast<std::uint32_t>(order.size()), 0);
        for (std::size_t i = 0; i < order.size(); ++i)
          inverse[static_cast<std::uint32_t>(order[i])] = static_cast<std::int64_t>(i);
        return emit(position, Target::permute, {value, list(inverse.view())}, view.dtype, sizes,
                    view_id, name);
      }
      case ViewStep::Kind::expand: {
        // Only a fill gets here: all elements that share a place are equal, and the first stands for them.
        const auto expanded = analysis_->sizes(view);
        Dims kept;
        kept.append(expanded);
        const std::size_t added = expanded.size() - sizes.size();
        for (std::uint32_t i = 0; i < kept.size(); ++i) {
          const std::int64_t target = i < added ? 1 : sizes[i - added];
          if (kept[i] == target) continue;
          kept[i] = target;
          value = emit(position, Target::slice, {value, i, 0, target}, view.dtype, kept.view(), view_id);
        }
        return emit(position, Target::reshape, {value, list(sizes)}, view.dtype, sizes, view_id, name);
      }
      case ViewStep::Kind::strided: {
        // Several elements are one place only where all of them are equal: the first along such a dimension stands for all.
        Dims kept;
        kept.append(analysis_->sizes(view));
        for (std::uint32_t i = 0; i < kept.size(); ++i) {
          if (analysis_->strides(view)[i] != 0 || kept[i] <= 1) continue;
          kept[i] = 1;
          value = emit(position, Target::slice, {value, i, 0, 1}, view.dtype, kept.view(), view_id);
        }
        const NodeId memory = contiguous(view.parent, old_parent, position);
        return emit(position, Target::as_strided_scatter,
                    {memory, value, list(kept.view()), list(analysis_->strides(view)), step.start}, view.dtype, sizes,
                    view_id, name);
      }
      case ViewStep::Kind::bitcast: return cast_bytes(view_id, value, view.parent, position, name);
      case ViewStep::Kind::conjugate:
        return emit(position, Target::conj_physical, {value}, view.dtype, sizes, view_id, name);
      case ViewStep::Kind::negate: return emit(position, Target::neg, {value}, view.dtype, sizes, view_id, name);
      default:
        return emit(position, Target::reshape, {value, list(sizes)}, view.dtype, sizes, view_id, name);
    }
  }
  /// Puts the patch into the base, level by level.
  constexpr void materialise(std::uint32_t storage, NodeId position) {
    const std::uint32_t patched = storages_[storage].patched;
    if (patched == no_view) return;
    const std::uint32_t before = storages_[storage].base_version;
    const std::uint32_t version = storages_[storage].version;
    NodeId value = values_[patched].node;
    for (std::uint32_t view = patched; analysis_->view(view).parent != no_view; view = analysis_->view(view).parent) {
      const std::uint32_t parent = analysis_->view(view).parent;
      const bool takes_part = analysis_->view(view).step.takes_part();
      const NodeId old_parent = takes_part ? replay(parent, before, position) : no_node;
      value = invert(view, value, old_parent, position);
      values_[parent] = {version, value};
    }
    storages_[storage].base_version = version;
    storages_[storage].patched = no_view;
  }

  const AliasAnalysis* analysis_;
  Editor* editor_ = nullptr;
  Pool<Value> values_;
  Pool<State> storages_;
  Pool<NodeId> substitutes_;
  TextId targets_[target_count]{};  ///< as texts of the graph, once they have been used
  bool changes_operands_ = false;
};

}  // namespace fxpass

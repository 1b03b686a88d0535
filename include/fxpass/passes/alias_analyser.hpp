// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/functional_form.hpp>
#include <fxpass/ops/custom_operators.hpp>
#include <fxpass/ops/mutations.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/pass/kernel_registry.hpp>
#include <fxpass/passes/view_rules.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// `AliasAnalyser`: fills an `AliasAnalysis` node by node, in program order, and refuses the writes that cannot be
/// carried out. Nothing that writes is ever passed over: it is recorded, or it is an error.

namespace fxpass {

namespace detail {
/// Whether a normalisation updates running statistics, as far as its arguments say: they have to be given, and the mode
/// has to be that of training. True of all operators that are no normalisation.
[[nodiscard]] constexpr auto may_update_statistics(const Graph& graph, NodeId id) -> bool {
  if (!graph.op(id).has_statistics) return true;
  const Call call(graph, id);
  const bool in_training =
      call.boolean("training").value_or(true) && call.boolean("use_input_stats").value_or(true);
  return in_training && call.has("running_mean");
}

/// Whether an operator outside PyTorch's own has come without its schema: then nobody can say what it writes.
[[nodiscard]] constexpr auto lacks_schema(const Graph& graph, const Operator& op) -> bool {
  if (op.row != ops::no_row || op.schema != TextId{}) return false;
  std::string_view name = graph.text(op.spelling);
  if (!name.starts_with("torch.ops.")) return false;
  name.remove_prefix(10);
  // PyTorch's own names say whether they write; higher-order operators get what they write as a graph, or say so too.
  if (name.starts_with("higher_order.")) return name.find("mutation") != std::string_view::npos;
  return !name.starts_with("aten.") && !name.starts_with("prims.");
}

/// Whether a call may write for all that is known: of something that is none of PyTorch's operators and has no schema, such as a
/// function of the user's own, or of a module. Python's own functions do not, nor do assertions, nor what runs graphs, which are
/// looked into; and names of ATen say whether they do.
[[nodiscard]] constexpr auto may_write_unseen(const Graph& graph, NodeId id) -> bool {
  if (graph.node(id).kind == NodeKind::call_module) return true;
  if (graph.node(id).op == OpId{}) return false;
  const Operator& op = graph.op(id);
  if (op.row != ops::no_row || op.schema != TextId{} || op.view != ops::ViewRule::none || graph.runs_graphs(id)) return false;
  if (is_either_functional_form(graph, op)) return false;
  const std::string_view name = graph.text(op.spelling);
  if (ops::makes_new_tensor(name)) return false;
  for (const std::string_view pure : {"_operator.", "builtins.", "math.", "operator.", "torch._assert", "torch._check",
                                      "torch.ops.aten.", "torch.ops.prims."})
    if (name.starts_with(pure)) return false;
  bool takes_tensor = false;
  graph.for_each_operand(id, [&](NodeId operand) {
    const ValueKind kind = graph.node(operand).value_kind;
    takes_tensor = takes_tensor || (kind != ValueKind::sym_int && kind != ValueKind::scalar);
  });
  return takes_tensor;
}

/// The operands of a call of `cond` of the form (predicate, graph, graph, operands); none for any other call. Valid until
/// arguments are added.
[[nodiscard]] constexpr auto cond_operands(const Graph& graph, NodeId id) -> std::optional<Span<const Argument>> {
  const auto arguments = graph.arguments(id);
  if (graph.target(id) != "torch.ops.higher_order.cond" || arguments.size() != 4 || arguments[3].is_keyword() ||
      !arguments[1].is(ArgumentKind::subgraph) || !arguments[2].is(ArgumentKind::subgraph) || !arguments[3].is_sequence())
    return std::nullopt;
  return graph.children(arguments[3]);
}

/// Tensors of several storages, to be looked through for those that may have places in common.
class TensorPlaces {
 public:
  /// Adds a tensor of a storage, both called by numbers, whose places lie between two, both included, and calls
  /// `look(other, is_written)` for each tensor of that storage that was added before, unless this one begins behind all of them.
  template <class Look>
  constexpr void add(std::uint32_t storage, std::uint32_t tensor, bool is_written, std::pair<std::int64_t, std::int64_t> between,
                     const Look& look) {
    const std::uint64_t hash = storage * 0x9e3779b97f4a7c15ULL;
    const std::uint32_t known =
        storages_.find(hash, [&](std::uint32_t i) { return places_[last_[i]].storage == storage; });
    Place place{storage, tensor, is_written, between.second + 1, detail::IdTable::absent};
    if (known != detail::IdTable::absent) {
      place.earlier = last_[known];
      const std::int64_t end = places_[place.earlier].end;
      if (between.first < end)
        for (std::uint32_t i = place.earlier; i != detail::IdTable::absent; i = places_[i].earlier)
          look(places_[i].tensor, places_[i].is_written);
      if (end > place.end) place.end = end;
    }
    const std::uint32_t index = places_.push_back(place);
    if (known != detail::IdTable::absent)
      last_[known] = index;
    else
      storages_.insert(hash, last_.push_back(index));
  }

 private:
  struct Place {
    std::uint32_t storage;
    std::uint32_t tensor;
    bool is_written;
    std::int64_t end;       ///< behind it and all before it in the storage
    std::uint32_t earlier;  ///< the one before it of the same storage
  };
  Pool<Place> places_;
  detail::IdTable storages_;
  Pool<std::uint32_t> last_;  ///< of each storage
};
}  // namespace detail

/// What to make of a kernel that neither declares what it writes nor is registered.
enum class UnknownKernels : std::uint8_t { refuse, take_for_pure };

/// Takes the nodes of one graph into an analysis, in program order.
class AliasAnalyser {
 public:
  /// Fills `analysis`. `kernels` says what kernels write that do not declare it, and may be null; both have
  /// to outlive it.
  constexpr AliasAnalyser(AliasAnalysis& analysis, const KernelRegistry* kernels,
                          UnknownKernels unknown = UnknownKernels::refuse)
      : analysis_(&analysis), kernels_(kernels), unknown_kernels_(unknown) {}

  /// Whether nodes of this operator have to be taken in. The others make a tensor of their own, of which nothing is known
  /// before one of these views or writes it.
  [[nodiscard]] static constexpr auto concerns(const Operator& op) -> bool {
    const bool calls = op.kind == NodeKind::call_function || op.kind == NodeKind::call_method;
    if (!calls) return op.kind != NodeKind::get_attr;
    return op.writes || op.view != ops::ViewRule::none || op.row >= ops::aten_rows;
  }
  /// Takes node `id` in. Needs all nodes before it to be in that concern it. O(arguments + rank).
  constexpr auto visit(const Graph& graph, NodeId id) -> Status {
    const Node& node = graph.node(id);
    switch (node.kind) {
      case NodeKind::placeholder: return visit_placeholder(graph, id);
      case NodeKind::get_attr:
      case NodeKind::output: return {};
      case NodeKind::call_module:
        return error_at(graph, id, DiagnosticCode::unsupported,
                        text_of("call_module '", graph.target(id),
                                "' hides what it reads and writes; trace through it or inline it first"));
      case NodeKind::call_function:
      case NodeKind::call_method: return visit_call(graph, id);
    }
    return {};
  }
  /// Takes in all nodes.
  constexpr auto visit_all(const Graph& graph) -> Status {
    for (NodeId id; id.index < graph.node_count(); ++id.index)
      if (Status visited = visit(graph, id); !visited) return visited;
    return {};
  }

  /// The nodes that are the tensor which node `id`, one of a rebinding operator, changes: what it names, and results of
  /// in-place operators, which are their operands. Errors: `unsupported_mutation` where somebody else would see the change, or
  /// may do so. Needs all nodes before `id` to be taken in. O(nodes) at the first call, then O(nodes that are the same view).
  constexpr auto names_to_rebind(const Graph& graph, NodeId id) -> Expected<Pool<NodeId>> {
    const NodeId self = detail::written_operand(call_of(graph, id));
    if (self == no_node) return std::move(refuse_unknown(graph, id)).error();
    const NodeId object = object_of(self);
    const NodeKind kind = graph.node(object).kind;
    if (kind == NodeKind::placeholder || kind == NodeKind::get_attr)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of("changes the shape or the place of '", graph.name(object), "', which its owner would see"));
    if (is_member_access(graph, object))
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of("changes the shape or the place of '", graph.name(object), "', a tensor that is in a list"));
    const std::uint32_t view = view_of(graph, object);
    Pool<NodeId> names;
    names.push_back(object);
    if (view == no_view) return names;
    find_same_views(id);
    NodeId other = analysis_->storage_of(view).base;
    bool may_be_another = analysis_->storage_of(view).root == view && object_of(other) != object && current(other) == other;
    NodeId later = no_node;  // the one walked last that still means itself: what does not never will, and leaves the chain
    for (NodeId n = latest_[view]; n != no_node && !may_be_another; n = earlier_[n.index]) {
      if (current(n) != n) {
        (later == no_node ? latest_[view] : earlier_[later.index]) = earlier_[n.index];
        continue;
      }
      later = n;
      if (n == object) continue;
      if (object_of(n) == object)
        names.push_back(n);
      else
        may_be_another = true;
      other = n;
    }
    if (may_be_another)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of("changes the shape or the place of '", graph.name(object), "', which may be the same tensor as '",
                              graph.name(other), "'"));
    return names;
  }
  /// From now on, each of `names` means `by`, a node that has been taken in.
  constexpr void rebind(Span<const NodeId> names, NodeId by) {
    for (const NodeId name : names) {
      if (rebound_.size() <= name.index) rebound_.resize(name.index + 1, no_node);
      rebound_[name.index] = by;
    }
  }
  /// The node that `id` means by now.
  [[nodiscard]] constexpr auto current(NodeId id) -> NodeId {
    NodeId last = id;
    while (last.index < rebound_.size() && rebound_[last.index] != no_node) last = rebound_[last.index];
    while (id != last) {  // what was walked once is walked in one step from now on
      const NodeId after = rebound_[id.index];
      rebound_[id.index] = last;
      id = after;
    }
    return last;
  }

  /// Refuses the first write into an input of `inner`, a graph that a call runs, of those that `allowed` is zero for.
  [[nodiscard]] static constexpr auto refuse_writes_of_inputs(const Graph& inner, const AliasAnalysis& analysis,
                                                              Span<const std::uint8_t> allowed) -> Status {
    for (const Write& write : analysis.writes()) {
      const NodeId base = analysis.storage_of(write.view).base;
      const std::uint32_t input = inner.input_of(base);
      if (input != no_input && allowed[input] == 0)
        return error_at(inner, write.node, DiagnosticCode::unsupported_mutation,
                        text_of("writes into '", inner.name(base), "', an operand of the graph that it is in; of the "
                                "operators that run graphs, fxpass carries this out for torch.cond alone"));
    }
    return {};
  }

 private:
  /// The node whose value is the tensor that `id` is: the result of `x.add_(1)` is x.
  [[nodiscard]] constexpr auto object_of(NodeId id) -> NodeId {
    id = current(id);
    const NodeId object = id.index < objects_.size() && objects_[id.index] != no_node ? objects_[id.index] : id;
    return current(object);
  }
  /// Chains the nodes before `id` that are the same view, the latest first.
  constexpr void find_same_views(NodeId id) {
    latest_.resize(analysis_->view_count(), no_node);
    earlier_.resize(id.index, no_node);
    for (; chained_.index < id.index; ++chained_.index) {
      const std::uint32_t view = analysis_->view_of(chained_);
      if (view == no_view) continue;
      earlier_[chained_.index] = latest_[view];
      latest_[view] = chained_;
    }
  }

  constexpr auto add_fresh(const Graph& graph, NodeId id) -> std::uint32_t {
    const std::uint32_t view = analysis_->add_storage(graph, id);
    analysis_->set_view(id, view);
    return view;
  }

  [[nodiscard]] constexpr auto call_of(const Graph& graph, NodeId id) -> Call {
    return {graph, id, parameters_.of(graph, graph.node(id).op)};
  }
  /// The view that an operand is; `no_view` if it is no tensor.
  constexpr auto view_of(const Graph& graph, NodeId id) -> std::uint32_t {
    if (id == no_node) return no_view;
    id = current(id);
    const std::uint32_t view = analysis_->view_of(id);
    if (view != no_view) return view;
    const ValueKind kind = graph.node(id).value_kind;
    return kind == ValueKind::sym_int || kind == ValueKind::scalar ? no_view : add_fresh(graph, id);
  }

  /// A call that may write for all that is known: it may, if nothing else writes what it is given, which then is in one place
  /// and has one value.
  constexpr auto meet_unknown(const Graph& graph, NodeId id) -> Status {
    Status met;
    graph.for_each_operand(id, [&](NodeId operand) {
      const std::uint32_t view = view_of(graph, operand);
      if (view == no_view || !met) return;
      const std::uint32_t storage = analysis_->view(view).storage;
      if (analysis_->storage(storage).written) met = unseen_write(graph, id, id, analysis_->storage(storage).base);
      if (unknown_calls_.size() <= storage) unknown_calls_.resize(storage + 1, no_node);
      unknown_calls_[storage] = id;
    });
    return met;
  }
  /// The error at node `id`, that `call` may write into a tensor that others write.
  static constexpr auto unseen_write(const Graph& graph, NodeId id, NodeId call, NodeId base) -> Diagnostic {
    return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                    text_of("'", graph.name(base), "' is written, and ", graph.target(call), ", which is called with it, has no "
                            "schema: it may write it, too"));
  }
  /// The result of an operator without schema may share storage with any of its operands.
  constexpr void add_unknown(const Graph& graph, NodeId id) {
    Pool<std::int64_t> bases;
    graph.for_each_operand(id, [&](NodeId operand) {
      if (const std::uint32_t view = view_of(graph, operand); view != no_view)
        bases.push_back(analysis_->view(view).storage);
    });
    add_fresh(graph, id);
    analysis_->mark_unknown_origin(id, bases.view());
  }

  /// Inputs with one storage number share one storage: they are the same view where they are the same tensor, undecidable where
  /// they overlap, and as good as two storages where they have no place in common, as the caches of two layers in one buffer.
  /// O(1) where they come in the order of their places, else O(inputs of the storage).
  constexpr auto visit_placeholder(const Graph& graph, NodeId id) -> Status {
    const std::uint32_t input = graph.input_of(id);
    const std::uint32_t number = input == no_input ? own_storage : graph.inputs()[input].storage;
    const TensorMeta* meta = graph.tensor(id);
    if (number == own_storage || meta == nullptr) return {};
    const auto places = places_of(graph, id);
    if (places && places->element_count() == 0) return {};
    NodeId same = no_node;
    Pool<NodeId> overlapping;
    shared_.add(number, id.index, false, places ? stretch(*places) : anywhere, [&](std::uint32_t other, bool) {
      const NodeId earlier{other};
      const auto others = places_of(graph, earlier);
      if (same_window(graph, earlier, id))
        same = earlier;
      else if (!places || !others || !are_apart(*places, *others))
        overlapping.push_back(earlier);
    });
    if (same == no_node)
      add_fresh(graph, id);
    else
      analysis_->set_view(id, analysis_->view_of(same));
    if (!overlapping.empty()) overlapping.push_back(id);
    for (const NodeId one : overlapping) analysis_->mark_undecidable(analysis_->view(analysis_->view_of(one)).storage);
    return {};
  }
  /// The places of a tensor in bytes; none if they are not known.
  [[nodiscard]] static constexpr auto places_of(const Graph& graph, NodeId id) -> std::optional<Geometry> {
    const auto geometry = geometry_of(graph, id);
    return geometry ? std::optional(in_bytes(*geometry, byte_size(graph.tensor(id)->dtype))) : std::nullopt;
  }
  [[nodiscard]] static constexpr auto same_window(const Graph& graph, NodeId a, NodeId b) -> bool {
    const TensorMeta* x = graph.tensor(a);
    const TensorMeta* y = graph.tensor(b);
    if (x == nullptr || y == nullptr || x->dtype != y->dtype || x->rank != y->rank ||
        !(x->storage_offset == y->storage_offset))
      return false;
    for (std::uint32_t i = 0; i < x->rank; ++i)
      if (!(graph.sizes(*x)[i] == graph.sizes(*y)[i]) || !(graph.strides(*x)[i] == graph.strides(*y)[i])) return false;
    return true;
  }

  constexpr auto visit_call(const Graph& graph, NodeId id) -> Status {
    const Operator& op = graph.op(id);
    if (graph.runs_graphs(id)) return visit_graph_call(graph, id);
    const bool is_tensor = graph.node(id).value_kind != ValueKind::sym_int && graph.node(id).value_kind != ValueKind::scalar;
    if (detail::lacks_schema(graph, op) && (op.writes || is_tensor))
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of(graph.target(id), " has no schema here, so what it writes is not known; state it (--custom-op), "
                              "decompose the program (run_decompositions), which makes writes explicit, or use FX JSON, "
                              "which carries schemas"));
    if (op.writes) {
      const ops::WriteRule rule = op.write_rule;
      if (Status recorded = record_writes(graph, id, rule); !recorded) return recorded;
      // `x.add_(1)` is x; a kernel, a normalisation and setitem return something else.
      if (rule == ops::WriteRule::out || rule == ops::WriteRule::each || rule == ops::WriteRule::custom) return {};
      if (rule != ops::WriteRule::kernel && rule != ops::WriteRule::batch_norm && rule != ops::WriteRule::setitem &&
          rule != ops::WriteRule::unknown) {
        if (const NodeId self = self_of(graph, id); self != no_node) identify(graph, id, self);
        return {};
      }
    }
    if (detail::may_write_unseen(graph, id))
      if (Status met = meet_unknown(graph, id); !met) return met;
    if (!is_tensor) return {};
    if (op.view == ops::ViewRule::getitem && is_member_access(graph, id)) {
      visit_member(graph, id);
      return {};
    }
    // What is written is a copy of the operand; a result that is what was written is two of the results.
    if (is_either_functional_form(graph, op)) {
      if (ops::Schema(graph.schema(op)).returns_alias()) add_unknown(graph, id);
      return {};
    }
    if (op.row == ops::no_row && op.schema == TextId{}) {
      if (!ops::makes_new_tensor(graph.text(op.spelling))) add_unknown(graph, id);
      return {};
    }
    if (ViewRules::views_each(graph, id)) {
      visit_list(graph, id);
      return {};
    }
    const NodeId viewed = ViewRules::viewed_operand(graph, id);
    if (viewed == no_node) return {};
    const std::uint32_t parent = view_of(graph, viewed);
    if (parent == no_view) return {};
    if (const auto view = ViewRules(graph, *analysis_).derive(call_of(graph, id), parent)) analysis_->set_view(id, *view);
    return {};
  }

  /// `getitem(k, 1)` where k has several results: one of a list of views (`split`), or a tensor of its own, the same one
  /// each time it is asked for.
  [[nodiscard]] static constexpr auto is_member_access(const Graph& graph, NodeId id) -> bool {
    const auto arguments = graph.arguments(id);
    return arguments.size() == 2 && arguments[0].is_node() &&
           graph.node(arguments[0].node()).value_kind == ValueKind::tuple;
  }
  constexpr void visit_member(const Graph& graph, NodeId id) {
    const auto arguments = graph.arguments(id);
    const NodeId tuple = arguments[0].node();
    const std::uint32_t list = analysis_->view_of(tuple);
    const bool is_list = list != no_view && analysis_->view(list).step.kind == ViewStep::Kind::list;
    if (is_list || (graph.op(tuple).view != ops::ViewRule::none && list != no_view)) {
      analysis_->set_view(id, ViewRules(graph, *analysis_).member(analysis_->view_of(tuple), arguments[1], id));
      return;
    }
    const std::int64_t index = arguments[1].is(ArgumentKind::integer) ? arguments[1].integer() : -1;
    const std::uint64_t product =
        (std::uint64_t{tuple.index} << 32U | static_cast<std::uint32_t>(index)) * 0x9e3779b97f4a7c15ULL;
    const std::uint64_t hash = product ^ product >> 32U;  // the tuple is in the upper half alone
    const std::uint32_t known = member_table_.find(hash, [&](std::uint32_t i) {
      return members_[i].tuple == tuple && members_[i].index == index;
    });
    if (known != detail::IdTable::absent) {
      analysis_->set_view(id, members_[known].view);
      return;
    }
    member_table_.insert(hash, members_.push_back({tuple, index, add_fresh(graph, id)}));
    // What may be any of the operands may be so in each of its parts.
    const std::uint32_t whole = analysis_->view_of(tuple);
    if (whole == no_view || !analysis_->storage_of(whole).of_unknown_origin) return;
    Pool<std::int64_t> bases;
    bases.append(analysis_->possible_bases(analysis_->view(whole).storage));
    analysis_->mark_unknown_origin(id, bases.view());
  }

  /// A list of views of several tensors.
  constexpr void visit_list(const Graph& graph, NodeId id) {
    Pool<std::int64_t> parents;
    for (const NodeId operand : ViewRules::listed_operands(graph, id))
      if (const std::uint32_t view = view_of(graph, operand); view != no_view) parents.push_back(view);
    if (parents.empty()) return;
    analysis_->set_view(id, ViewRules(graph, *analysis_).derive_each(call_of(graph, id), parents.view()));
  }

  // Graphs that calls run ----------------------------------------------------------------------------------------------
  /// What a graph inside the graph does, as its caller sees it.
  struct Effects {
    Status analysed;            ///< an error if that is not known
    Pool<OutputSpec> written;   ///< the inputs it writes, as far as they are among its outputs
    std::uint32_t results = 0;  ///< outputs that are none of these
    bool is_fresh = true;       ///< none of its results is an input, part of one, or part of another result
  };
  constexpr auto effects_of(const Graph& graph, std::uint32_t number) -> const Effects& {
    if (effects_.size() < graph.subgraphs().size()) effects_.resize(graph.subgraphs().size());
    std::optional<Effects>& known = effects_[number];
    if (!known) known = analyse(graph.subgraphs()[number], number);
    return *known;
  }
  /// O(nodes + arguments).
  [[nodiscard]] constexpr auto analyse(const Graph& inner, std::uint32_t number) const -> Effects {
    Effects effects;
    AliasAnalysis analysis;
    AliasAnalyser analyser(analysis, kernels_, unknown_kernels_);
    effects.analysed = analyser.visit_all(inner);
    if (!effects.analysed) {
      effects.analysed = detail::in_subgraph(number, std::move(effects.analysed.error()));
      return effects;
    }
    const auto values = inner.arguments(inner.output_node());
    Pool<std::uint8_t> is_surfaced;
    is_surfaced.resize(static_cast<std::uint32_t>(inner.inputs().size()), 0);
    Pool<std::int64_t> storages;
    for (std::uint32_t i = 0; i < inner.outputs().size(); ++i) {
      const OutputSpec& output = inner.outputs()[i];
      if (is_mutation(output.kind)) {
        is_surfaced[output.input] = 1;
        effects.written.push_back(output);
        continue;
      }
      ++effects.results;
      if (values[i].is_node()) effects.is_fresh = effects.is_fresh && is_fresh(inner, analysis, values[i].node(), storages);
    }
    if (Status refused = refuse_writes_of_inputs(inner, analysis, is_surfaced.view()); !refused)
      effects.analysed = detail::in_subgraph(number, std::move(refused.error()));
    return effects;
  }
  /// Whether a value that a graph returns is a tensor of its own. `storages` has those of the values before.
  [[nodiscard]] static constexpr auto is_fresh(const Graph& inner, const AliasAnalysis& analysis, NodeId value,
                                               Pool<std::int64_t>& storages) -> bool {
    const std::uint32_t view = analysis.view_of(value);
    const NodeId base = view == no_view ? value : analysis.storage_of(view).base;
    const NodeKind kind = inner.node(base).kind;
    if (kind == NodeKind::placeholder || kind == NodeKind::get_attr) return false;
    if (view != no_view && analysis.storage_of(view).of_unknown_origin) return false;
    for (const std::int64_t storage : storages)
      if (storage == base.index) return false;
    storages.push_back(base.index);
    return true;
  }
  /// Whether the operator gives what its graphs return, or copies of that, and nothing else.
  [[nodiscard]] static constexpr auto returns_what_graphs_do(const Graph& graph, NodeId id) -> bool {
    constexpr std::string_view operators[] = {"cond", "while_loop", "map_impl", "scan", "associative_scan"};
    std::string_view name = graph.target(id);
    constexpr std::string_view prefix = "torch.ops.higher_order.";
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    for (const std::string_view known : operators)
      if (name == known) return true;
    return false;
  }
  constexpr auto visit_graph_call(const Graph& graph, NodeId id) -> Status {
    Status status;
    bool is_fresh = returns_what_graphs_do(graph, id);
    std::uint32_t first = no_view;  // of the graphs that write operands
    graph.for_each_subgraph(id, [&](std::uint32_t number) {
      if (!status) return;
      const Effects& effects = effects_of(graph, number);
      status = effects.analysed;
      is_fresh = is_fresh && effects.is_fresh;
      if (first == no_view && !effects.written.empty()) first = number;
    });
    if (status && first != no_view) status = record_graph_writes(graph, id, effects_of(graph, first));
    if (!status) return status;
    if (!is_fresh) add_unknown(graph, id);
    return {};
  }
  /// The operands that the branches of `cond` write get their new values from its last results: `surface_writes` has
  /// seen to it that branches agree.
  constexpr auto record_graph_writes(const Graph& graph, NodeId id, const Effects& effects) -> Status {
    const auto operands = detail::cond_operands(graph, id);
    std::uint32_t result = effects.results;
    for (const OutputSpec& written : effects.written) {
      const Argument operand = operands && written.input < operands->size() ? (*operands)[written.input] : Argument();
      const std::uint32_t view = operand.is_node() ? view_of(graph, operand.node()) : no_view;
      if (view == no_view)
        return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                        text_of("a graph that it runs writes into operand ", written.input, ", which is no tensor here, or "
                                "not one that fxpass can give a new value"));
      std::uint32_t sharers = 0;
      for (const Argument& other : *operands)
        if (other.is_node() && may_share_places(analysis_->view_of(current(other.node())), view)) ++sharers;
      if (sharers > 1)
        return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                        text_of("a graph that it runs writes into '", graph.name(operand.node()), "', and another operand "
                                "may be part of the same tensor"));
      if (Status recorded = record(graph, id, view, result++, false); !recorded) return recorded;
    }
    return {};
  }
  /// Whether two views may be of one storage.
  [[nodiscard]] constexpr auto may_share(std::uint32_t other, std::uint32_t view) const -> bool {
    if (other == no_view) return false;
    const std::uint32_t storage = analysis_->view(view).storage;
    if (analysis_->view(other).storage == storage) return true;
    for (const std::int64_t base : analysis_->possible_bases(analysis_->view(other).storage))
      if (base == storage) return true;
    return false;
  }

  /// Whether they may have places in common.
  [[nodiscard]] constexpr auto may_share_places(std::uint32_t other, std::uint32_t view) const -> bool {
    return may_share(other, view) && !is_apart(analysis_->view(other), analysis_->view(view));
  }

  // Writes -----------------------------------------------------------------------------------------------------------
  [[nodiscard]] constexpr auto self_of(const Graph& graph, NodeId id) -> NodeId {
    return detail::written_operand(call_of(graph, id));
  }

  constexpr auto record_writes(const Graph& graph, NodeId id, ops::WriteRule rule) -> Status {
    switch (rule) {
      case ops::WriteRule::unknown:
        if (!detail::may_update_statistics(graph, id)) return {};
        return refuse_unknown(graph, id);
      case ops::WriteRule::nothing: return {};
      case ops::WriteRule::setitem: return record_setitem(graph, id);
      case ops::WriteRule::batch_norm: return record_batch_norm(graph, id);
      case ops::WriteRule::kernel: return record_kernel(graph, id);
      case ops::WriteRule::out: return record_outs(graph, id);
      case ops::WriteRule::each: return record_each(graph, id);
      case ops::WriteRule::custom: return record_custom(graph, id);
      case ops::WriteRule::diagonal: return record_diagonal(graph, id);
      case ops::WriteRule::rebinding: return refuse_unknown(graph, id);  // the pass has made a view of all that it can
      case ops::WriteRule::dropout: {
        const auto drops = detail::drops_elements(call_of(graph, id));
        if (drops == false) return {};
        if (!drops)
          return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                          "whether dropout changes its argument in place is not known before the program runs");
        const std::string_view target = graph.target(id);
        if (target.ends_with("dropout1d") || target.ends_with("dropout3d"))
          return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                          "drops channels in place, which are another dimension of a tensor without a batch dimension");
        break;
      }
      default: break;
    }
    const NodeId self = self_of(graph, id);
    const std::uint32_t view = view_of(graph, self);
    if (view == no_view)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of(graph.target(id), " writes into something that is no tensor of this graph"));
    return record(graph, id, view, 0,
                  rule == ops::WriteRule::fill || rule == ops::WriteRule::zero);
  }

  [[nodiscard]] static constexpr auto refuse_unknown(const Graph& graph, NodeId id) -> Status {
    return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                    text_of(Call(graph, id).name(), " writes into a tensor in a way that fxpass does not carry out"));
  }

  constexpr auto record_setitem(const Graph& graph, NodeId id) -> Status {
    const auto arguments = graph.arguments(id);
    const bool has_target = arguments.size() == 3 && arguments[0].is_node();
    const std::uint32_t self = has_target ? view_of(graph, arguments[0].node()) : no_view;
    if (self == no_view)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      "setitem on something that is no tensor of this graph");
    const NodeId maker = has_index_tensors(graph, arguments[1]) ? no_node : id;
    const IndexedView target = ViewMaker(graph, *analysis_).index(self, arguments[1], maker);
    if (target.view == no_view) {
      if (Status refused = check_target(graph, id, self, true); !refused) return refused;
      const Text why = why_no_geometry(graph, arguments[0].node());
      if (!analysis_->view(self).has_geometry && !why.empty())
        return error_at(graph, id, DiagnosticCode::missing_metadata,
                        text_of("setitem needs the sizes and strides of its target: ", why));
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      "setitem with an index that fxpass does not carry out, or that is out of range");
    }
    if (target.writes_nothing) return {};
    return record(graph, id, target.view, 0, !arguments[2].is_node() && !target.has_tensors);
  }

  /// The diagonal is a view that is filled; of more than two dimensions, which then are of one size, that of them all.
  constexpr auto record_diagonal(const Graph& graph, NodeId id) -> Status {
    const Call call = call_of(graph, id);
    std::optional<std::uint32_t> view = view_of(graph, detail::written_operand(call));
    const auto wrap = call.boolean("wrap");
    const bool is_known = *view != no_view && analysis_->view(*view).has_geometry && analysis_->view(*view).rank > 1;
    if (is_known && wrap) {
      const View& whole = analysis_->view(*view);
      const auto sizes = analysis_->sizes(whole);
      const bool wraps = *wrap && whole.rank == 2 && sizes[0] > sizes[1] + 1;
      for (std::uint32_t rank = whole.rank; rank > 1 && view; --rank)
        view = wraps ? std::nullopt : ViewMaker(graph, *analysis_).diagonal(*view, 0, 0, rank == whole.rank ? 1 : rank - 1);
      if (view) return record(graph, id, *view, 0, true);
    }
    return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                    "fills a diagonal that fxpass does not find: that of a tensor of unknown shape, or one that wraps around");
  }

  constexpr auto record_batch_norm(const Graph& graph, NodeId id) -> Status {
    const Call call = call_of(graph, id);
    const bool is_update = call.schema().base() == "aten._batch_norm_with_update";
    const bool is_of_instances = call.schema().base() == "aten.instance_norm";
    const auto training =
        is_update ? std::optional(true) : call.boolean(is_of_instances ? "use_input_stats" : "training");
    if (!training)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      "whether a normalisation updates its statistics is not known before the program runs");
    if (!*training) return {};
    std::uint32_t result = is_update ? 4 : 3;  // of the functional form
    for (const std::string_view name : {"running_mean", "running_var"}) {
      const NodeId statistics = call.operand(name);
      if (statistics != no_node)
        if (Status recorded = record(graph, id, view_of(graph, statistics), result, false); !recorded)
          return recorded;
      ++result;
    }
    return {};
  }

  constexpr auto record_kernel(const Graph& graph, NodeId id) -> Status {
    const KernelCall kernel(graph, id);
    auto aliases = kernel_aliases(kernel, kernel.entry_in(kernels_));
    if (!aliases) {
      const bool is_unknown = aliases.error().front().code == DiagnosticCode::unknown_kernel;
      if (is_unknown && unknown_kernels_ == UnknownKernels::take_for_pure) return {};
      return std::move(aliases).error();
    }
    for (const KernelAlias alias : *aliases)
      if (Status recorded =
              record(graph, id, view_of(graph, kernel.tensor_at(alias.operand)), alias.result, false);
          !recorded)
        return recorded;
    return {};
  }

  /// Each result goes into a tensor, which is from then on what the call returns.
  constexpr auto record_outs(const Graph& graph, NodeId id) -> Status {
    const Pool<Argument> outs = detail::out_arguments(call_of(graph, id));
    const auto metas = graph.values(id);
    Pool<std::int64_t> views;
    for (std::uint32_t i = 0; i < outs.size(); ++i) {
      const std::uint32_t view = outs[i].is_node() ? view_of(graph, outs[i].node()) : no_view;
      if (view == no_view)
        return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                        text_of(graph.target(id), " writes a result into something that is no tensor of this graph"));
      const auto name = [&] { return graph.name(outs[i].node()); };
      const auto result = metas.size() == outs.size() && metas[i].known ? geometry_of(graph, metas[i]) : std::nullopt;
      if (!result || !analysis_->view(view).has_geometry)
        return error_at(graph, id, DiagnosticCode::missing_metadata,
                        text_of("writing a result into '", name(), "' needs dtype, sizes and strides of both"));
      if (!same_elements(result->sizes.view(), analysis_->sizes(analysis_->view(view))))
        return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                        text_of("PyTorch gives '", name(), "' the shape of the result; make it of that shape beforehand"));
      for (const std::int64_t other : views)
        if (may_share(static_cast<std::uint32_t>(other), view))
          return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                          text_of("writes two results into tensors that may share memory, one of them '", name(), "'"));
      views.push_back(view);
      if (Status recorded = record(graph, id, view, i, false); !recorded) return recorded;
    }
    analysis_->set_view(id, views.size() == 1 ? static_cast<std::uint32_t>(views[0])
                                              : ViewMaker(graph, *analysis_).list(views.view()));
    return {};
  }

  /// The tensors of the list are written one after the other.
  constexpr auto record_each(const Graph& graph, NodeId id) -> Status {
    const auto self = call_of(graph, id).given("self");
    Pool<std::int64_t> views;
    if (self && self->is_node() && view_of(graph, self->node()) != no_view) {
      const View& list = analysis_->view(view_of(graph, self->node()));
      if (list.step.kind == ViewStep::Kind::list) views.append(analysis_->order(list));
    } else if (self && self->is_sequence()) {
      for (const Argument& member : graph.children(*self))
        views.push_back(member.is_node() ? view_of(graph, member.node()) : no_view);
    }
    for (std::uint32_t i = 0; i < views.size(); ++i) {
      const auto view = static_cast<std::uint32_t>(views[i]);
      if (view == no_view) {
        views.clear();
        break;
      }
      if (Status recorded = record(graph, id, view, i, false); !recorded) return recorded;
    }
    if (Status refused = check_members(graph, id, views.view()); !refused) return refused;
    for (const Argument& list : graph.arguments(id)) {
      Pool<std::int64_t> read;
      if (!add_views(graph, list, read) || read.size() != views.size()) continue;
      for (std::uint32_t i = 0; i < views.size(); ++i)
        if (Status refused = check_side_by_side(graph, id, static_cast<std::uint32_t>(views[i]),
                                                static_cast<std::uint32_t>(read[i]));
            !refused)
          return refused;
    }
    if (!views.empty() || (self && self->is_sequence() && graph.children(*self).empty())) return {};
    return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                    text_of(graph.target(id), " writes into a list of which not each member is a tensor of this graph"));
  }

  /// Each operand that the schema marks gets a new value; where one of them is what the call returns, the call is that tensor.
  constexpr auto record_custom(const Graph& graph, NodeId id) -> Status {
    const Call call = call_of(graph, id);
    const ops::Schema schema = call.schema();
    if (const std::string_view why = ops::why_not_functional(schema); !why.empty())
      return error_at(graph, id, DiagnosticCode::unsupported_mutation, text_of(schema.name(), " ", why));
    Pool<std::int64_t> written, read;
    ops::ParameterReader reader = schema.parameters();
    std::uint32_t position = 0;
    for (auto p = reader.next(); p; p = reader.next(), ++position) {
      const auto given = call.given(position, *p);
      const bool is_found = !given || given->is_none() || add_views(graph, *given, p->written ? written : read);
      if (p->written && !is_found)
        return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                        text_of(schema.name(), " writes into '", p->name, "', which is no tensor of this graph and no list of "
                                "such"));
    }
    if (const std::uint32_t shared = find_shared(written.view(), read.view()); shared != no_view)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of(schema.name(), " writes into '", graph.name(analysis_->storage_of(shared).base),
                              "', and another of its operands may be part of the same tensor; clone() that one first"));
    for (std::uint32_t i = 0; i < written.size(); ++i)
      if (Status recorded = record(graph, id, static_cast<std::uint32_t>(written[i]), i, false); !recorded) return recorded;
    if (const auto returned = ops::returned_parameter(schema))
      if (const NodeId self = call.operand(returned->name); self != no_node) identify(graph, id, self);
    return {};
  }
  /// A view that is written and may have places in common with another operand; `no_view` if there is none. O(operands) where
  /// those of one storage come in the order of their places.
  [[nodiscard]] constexpr auto find_shared(Span<const std::int64_t> written, Span<const std::int64_t> read) const
      -> std::uint32_t {
    detail::TensorPlaces places;
    std::uint32_t shared = no_view;
    const auto add = [&](std::uint32_t view, bool is_written) {
      const View& v = analysis_->view(view);
      if (v.has_geometry && analysis_->is_empty(v)) return;
      places.add(v.storage, view, is_written, stretch_of(v), [&](std::uint32_t other, bool other_is_written) {
        if ((is_written || other_is_written) && !is_apart(v, analysis_->view(other))) shared = is_written ? view : other;
      });
      // What may be part of another storage is looked for there.
      if (analysis_->storage_of(view).of_unknown_origin)
        for (const std::int64_t other : written)
          if (analysis_->view(static_cast<std::uint32_t>(other)).storage != v.storage &&
              may_share(view, static_cast<std::uint32_t>(other)))
            shared = static_cast<std::uint32_t>(other);
    };
    for (const std::int64_t view : written) add(static_cast<std::uint32_t>(view), true);
    for (const std::int64_t view : read) add(static_cast<std::uint32_t>(view), false);
    return shared;
  }
  /// The views that an argument is, of a list each member. Whether it is a tensor, or a list of tensors alone.
  constexpr auto add_views(const Graph& graph, const Argument& argument, Pool<std::int64_t>& views) -> bool {
    if (argument.is_sequence()) {
      bool are_tensors = true;
      for (const Argument& member : graph.children(argument)) {
        const std::uint32_t view = member.is_node() ? view_of(graph, member.node()) : no_view;
        are_tensors = are_tensors && view != no_view;
        if (view != no_view) views.push_back(view);
      }
      return are_tensors;
    }
    const std::uint32_t view = argument.is_node() ? view_of(graph, argument.node()) : no_view;
    if (view == no_view) return false;
    if (analysis_->view(view).step.kind == ViewStep::Kind::list)
      views.append(analysis_->order(analysis_->view(view)));
    else
      views.push_back(view);
    return graph.node(argument.node()).value_kind != ValueKind::tuple ||
           analysis_->view(view).step.kind == ViewStep::Kind::list;
  }
  /// Node `id` is the tensor that `self` is.
  constexpr void identify(const Graph& graph, NodeId id, NodeId self) {
    analysis_->set_view(id, view_of(graph, self));
    if (objects_.size() <= id.index) objects_.resize(id.index + 1, no_node);
    objects_[id.index] = object_of(self);
  }

  constexpr auto record(const Graph& graph, NodeId id, std::uint32_t view, std::uint32_t result,
                        bool writes_one_value) -> Status {
    const View& target = analysis_->view(view);
    if (target.has_geometry && analysis_->is_empty(target)) return {};
    if (Status refused = check_target(graph, id, view, writes_one_value); !refused) return refused;
    if (Status refused = check_overlap(graph, id, view); !refused) return refused;
    if (target.storage < unknown_calls_.size() && unknown_calls_[target.storage] != no_node)
      return unseen_write(graph, id, unknown_calls_[target.storage], analysis_->storage(target.storage).base);
    analysis_->add_write({id, view, result});
    return {};
  }

  /// Refuses targets that PyTorch refuses, and those that cannot be inverted.
  [[nodiscard]] constexpr auto check_target(const Graph& graph, NodeId id, std::uint32_t view_id,
                                            bool writes_one_value) const -> Status {
    const View& view = analysis_->view(view_id);
    const Storage& storage = analysis_->storage_of(view_id);
    const auto base = [&] { return graph.name(storage.base); };
    if (storage.undecidable)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of("writes into input '", base(), "', which shares its storage with another input at another "
                              "place; what the other input holds afterwards is not decidable"));
    if (storage.of_unknown_origin)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of("writes into '", base(), "', the result of ", graph.target(storage.base),
                              ", an operator without schema: it may be a view of its operands"));
    if (graph.node(storage.base).kind == NodeKind::get_attr)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of("writes into attribute '", graph.target(storage.base),
                              "'; lift it to an input of the graph, or its new value is lost"));
    bool takes_part = false;
    bool takes_part_of_shared = false;
    for (std::uint32_t v = view_id; v != no_view; v = analysis_->view(v).parent) {
      const View& above = analysis_->view(v);
      const ViewStep& step = above.step;
      if (step.is_opaque()) return opaque_error(graph, id, view_id);
      takes_part_of_shared = takes_part_of_shared || (takes_part && analysis_->overlaps_itself(above));
      takes_part = takes_part || step.takes_part();
      if (step.kind == ViewStep::Kind::bitcast &&
          (above.dtype == DType::boolean || analysis_->view(above.parent).dtype == DType::boolean))
        return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                        text_of("writes into '", base(), "' through a view that takes bools for numbers or numbers for "
                                "bools; a byte that is neither 0 nor 1 is no bool"));
    }
    if (takes_part_of_shared)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of("writes into part of a view of '", base(), "' in which elements share places, and the "
                              "places of '", base(), "' do not fill a stretch of memory; fxpass cannot tell which "
                              "places that is"));
    if (view.has_geometry && !writes_one_value && analysis_->overlaps_itself(view) &&
        !has_expanded_dimension(analysis_->sizes(view), analysis_->strides(view)))
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of("writes into windows of '", base(), "' that overlap, several elements of which are one "
                              "place; which of their values stays is not defined, clone() them first"));
    if (view.has_geometry && !writes_one_value && has_expanded_dimension(analysis_->sizes(view), analysis_->strides(view))) {
      const Text what = text_of("writes into an expanded view of '", base(), "', several elements of which are one place; ");
      // Writes by a mask or by indices PyTorch lets through with a warning, and says no more of what they do.
      const std::string_view op = graph.schema(graph.op(id)).base();
      const bool is_custom = graph.op(id).write_rule == ops::WriteRule::custom;  // who knows what that does
      if (is_custom || op == "aten.masked_fill_" || op == "aten.index_put_" || op == "operator.setitem")
        return error_at(graph, id, DiagnosticCode::unsupported_mutation, text_of(what, "clone() it first"));
      return error_at(graph, id, DiagnosticCode::eager_would_raise,
                      text_of(what, "PyTorch raises here, clone() it first"));
    }
    return {};
  }

  /// A view is opaque by its operator, or because a number that decides where it lies is not known.
  [[nodiscard]] constexpr auto opaque_error(const Graph& graph, NodeId id, std::uint32_t view_id) const -> Diagnostic {
    std::uint32_t outermost = no_view;  // what is made from an opaque view is opaque on its account
    for (std::uint32_t v = view_id; v != no_view; v = analysis_->view(v).parent)
      if (analysis_->view(v).step.kind == ViewStep::Kind::opaque) outermost = v;
    const NodeId base = analysis_->storage_of(view_id).base;
    const NodeId maker = outermost == no_view ? no_node : maker_of(graph, outermost);
    if (maker != no_node && graph.op(maker).view != ops::ViewRule::opaque) {
      Text why = why_no_geometry(graph, base);
      if (why.empty() && graph.node(maker).value_kind != ValueKind::tuple) why = why_no_geometry(graph, maker);
      if (!why.empty())
        return error_at(graph, id, DiagnosticCode::missing_metadata,
                        text_of("writes into '", graph.name(base), "' through the view '", graph.name(maker),
                                "', whose place in it is not known: ", why));
    }
    if (maker != no_node && graph.op(maker).view == ops::ViewRule::getitem)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of("writes into '", graph.name(base), "' through '", graph.name(maker), "', a view whose place is known only "
                              "when the program runs; write to the index itself (x[i] = value, or index_copy_)"));
    return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                    text_of("writes into '", graph.name(base), "' through a view that fxpass cannot invert"));
  }
  /// The first node that is the view. O(nodes), for errors alone.
  [[nodiscard]] constexpr auto maker_of(const Graph& graph, std::uint32_t view) const -> NodeId {
    for (NodeId id; id.index < graph.node_count(); ++id.index)
      if (analysis_->view_of(id) == view) return id;
    return no_node;
  }

  /// Refuses an operand of an `out=` call that shares memory with the tensor written, unless the operator, which has an in-place
  /// form, reads of it what it writes next.
  [[nodiscard]] constexpr auto check_out_overlap(const Graph& graph, NodeId id, std::uint32_t view_id) -> Status {
    const ops::Schema schema = graph.schema(graph.op(id));
    const ops::WriteRule rule = ops::rule_of_result(schema);
    const bool is_elementwise = rule == ops::WriteRule::promoting || rule == ops::WriteRule::floating ||
                                rule == ops::WriteRule::comparing;
    NodeId shared = no_node;
    bool is_first = true;
    for (const Argument& a : graph.arguments(id)) {
      const bool is_out = a.is_keyword() && (graph.text(a.keyword()) == "out" || is_written(schema, graph.text(a.keyword())));
      const bool may_be_written = rule != ops::WriteRule::unknown && (is_elementwise || is_first);
      is_first = false;
      if (is_out) continue;
      graph.for_each_operand(a, [&](NodeId operand) {
        const std::uint32_t other = analysis_->view_of(current(operand));
        if (!may_share_places(other, view_id) || (other == view_id && may_be_written)) return;
        const View& source = analysis_->view(other);
        const bool is_told = source.has_geometry && source.storage == analysis_->view(view_id).storage;
        if (!is_elementwise || !is_told || !check_side_by_side(graph, id, view_id, other)) shared = operand;
      });
    }
    if (shared == no_node) return {};
    return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                    text_of("reads '", graph.name(shared), "', which may share memory with the out= tensor that it writes; "
                            "clone() the operand first"));
  }
  /// Whether eager's in-place operator meets in its other operands what it has written already, wherever the two share memory:
  /// it does not go through them side by side.
  [[nodiscard]] static constexpr auto reads_while_it_writes(std::string_view base) -> bool {
    for (const std::string_view one : {"aten.addbmm_", "aten.addmm_", "aten.addmv_", "aten.addr_", "aten.baddbmm_",
                                       "aten.embedding_renorm_", "aten.index_add_", "aten.index_copy_", "aten.index_fill_",
                                       "aten.index_put_", "aten.index_reduce_", "aten.masked_scatter_", "aten.put_",
                                       "aten.scatter_", "aten.scatter_add_", "aten.scatter_reduce_"})
      if (base == one) return true;
    return false;
  }
  /// The operand that a call takes as a number before it writes anything: the value that it fills with; `no_node` if there is none.
  [[nodiscard]] constexpr auto number_of(const Graph& graph, NodeId id) -> NodeId {
    const ops::WriteRule rule = graph.op(id).write_rule;
    if (rule == ops::WriteRule::setitem) {
      const NodeId value = graph.arguments(id)[2].is_node() ? graph.arguments(id)[2].node() : no_node;
      return value != no_node && fills_by_mask(graph, index_items(graph, graph.arguments(id)[1]).view(), value) ? value : no_node;
    }
    if (rule == ops::WriteRule::fill) return call_of(graph, id).operand("value");
    if (rule != ops::WriteRule::same_dtype) return no_node;
    const std::string_view base = graph.schema(graph.op(id)).base();
    if (base == "aten.masked_fill_" || base == "aten.index_fill_") return call_of(graph, id).operand("value");
    if (base != "aten.index_put_") return no_node;
    return detail::is_put_by_mask(call_of(graph, id)) ? call_of(graph, id).operand("values") : no_node;
  }

  /// Refuses lists in which a tensor that is written and another one overlap without being the same. O(members) where those
  /// of one storage come in the order of their places, as parts of one buffer do.
  [[nodiscard]] constexpr auto check_members(const Graph& graph, NodeId id, Span<const std::int64_t> written) -> Status {
    detail::TensorPlaces places;
    Pool<std::uint32_t> seen;
    detail::IdTable views;
    std::uint32_t overlapping = no_view;
    const auto add = [&](std::uint32_t view, bool is_written) {
      const View& v = analysis_->view(view);
      if (!v.has_geometry || analysis_->is_empty(v)) return;
      const std::uint64_t hash = view * 0x9e3779b97f4a7c15ULL;
      if (views.find(hash, [&](std::uint32_t i) { return seen[i] == view; }) != detail::IdTable::absent) return;
      views.insert(hash, seen.push_back(view));
      places.add(v.storage, view, is_written, stretch_of(v), [&](std::uint32_t other, bool other_is_written) {
        if ((is_written || other_is_written) && overlap_in_list(v, analysis_->view(other))) overlapping = view;
      });
    };
    for (const std::int64_t view : written) add(static_cast<std::uint32_t>(view), true);
    graph.for_each_operand(id, [&](NodeId operand) {
      if (const std::uint32_t view = analysis_->view_of(current(operand)); view != no_view) add(view, false);
    });
    if (overlapping == no_view) return {};
    return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                    text_of("writes into part of '", graph.name(analysis_->storage_of(overlapping).base),
                            "', another part of which overlaps it and is in a list of the same call"));
  }
  /// The places of a view in bytes: views of one storage may differ in their dtypes.
  [[nodiscard]] constexpr auto bytes_of(const View& view) const -> Geometry {
    return in_bytes(analysis_->geometry(view), byte_size(view.dtype));
  }
  /// What a view lies in: itself, or what an index that is not known takes it out of.
  [[nodiscard]] constexpr auto placed(const View& view) const -> const View& {
    const View* v = &view;
    while (!v->is_placed) v = &analysis_->view(v->parent);
    return *v;
  }
  /// The first and the last byte that a view can take.
  [[nodiscard]] constexpr auto stretch_of(const View& view) const -> std::pair<std::int64_t, std::int64_t> {
    return view.has_geometry ? stretch(bytes_of(placed(view))) : anywhere;
  }
  [[nodiscard]] constexpr auto overlap(const View& a, const View& b) const -> bool {
    return a.is_placed && b.is_placed && partially_overlap(bytes_of(a), bytes_of(b));
  }
  [[nodiscard]] constexpr auto overlap_in_list(const View& a, const View& b) const -> bool {
    return a.is_placed && b.is_placed ? overlap(a, b) : !is_apart(a, b);
  }
  /// Whether two views of one storage certainly have no place in common.
  [[nodiscard]] constexpr auto is_apart(const View& a, const View& b) const -> bool {
    if (a.storage != b.storage || !a.has_geometry || !b.has_geometry) return false;
    return are_apart(bytes_of(placed(a)), bytes_of(placed(b)));
  }
  /// Of what takes places that are not known.
  static constexpr std::pair<std::int64_t, std::int64_t> anywhere{std::numeric_limits<std::int64_t>::min(),
                                                                  std::numeric_limits<std::int64_t>::max() - 1};
  /// The first and the last place that a geometry takes.
  [[nodiscard]] static constexpr auto stretch(const Geometry& g) -> std::pair<std::int64_t, std::int64_t> {
    std::pair<std::int64_t, std::int64_t> places{g.offset, g.offset};
    for (std::uint32_t i = 0; i < g.rank(); ++i)
      (g.strides[i] < 0 ? places.first : places.second) += (g.sizes[i] - 1) * g.strides[i];
    return places;
  }
  [[nodiscard]] static constexpr auto is_written(const ops::Schema& schema, std::string_view parameter) -> bool {
    const auto found = schema.find(parameter);
    return found && found->parameter.written;
  }

  /// Refuses a call that reads what it writes, unless reading all of it first is what PyTorch does, or amounts to the same.
  [[nodiscard]] constexpr auto check_overlap(const Graph& graph, NodeId id, std::uint32_t view_id) -> Status {
    const ops::WriteRule rule = graph.op(id).write_rule;
    switch (rule) {
      case ops::WriteRule::out: return check_out_overlap(graph, id, view_id);
      case ops::WriteRule::kernel:    // whose operands are its own affair,
      case ops::WriteRule::custom:    // which has seen to it that all others are apart,
      case ops::WriteRule::each:      // of which each member is looked at with its own operands,
      case ops::WriteRule::diagonal:  // and which reads a number alone.
        return {};
      default: break;
    }
    Status status;
    bool is_self = rule != ops::WriteRule::setitem;  // which reads its value and its index alone
    const auto check = [&](NodeId operand) {
      const std::uint32_t other = analysis_->view_of(current(operand));
      const bool is_target = is_self && other == view_id;
      if (is_target) is_self = false;
      if (!status || is_target || !may_share_places(other, view_id) || operand == number_of(graph, id)) return;
      // What is conjugated or negated when it is read, PyTorch copies beforehand, unless it copies anyway.
      const bool is_side_by_side = goes_side_by_side(graph, id);
      if (is_side_by_side && analysis_->lazy_bits(other).any() && !is_copy(graph, id)) return;
      if (!is_side_by_side)
        status = error_at(graph, id, DiagnosticCode::unsupported_mutation,
                          text_of("reads '", graph.name(operand), "', which may share memory with the tensor that it writes; "
                                  "clone() the operand first"));
      else
        status = check_side_by_side(graph, id, view_id, other);
    };
    if (rule == ops::WriteRule::setitem)
      for (const Argument& read : graph.arguments(id).subspan(1)) graph.for_each_operand(read, check);
    else
      graph.for_each_operand(id, check);
    return status;
  }
  /// Whether a call goes through what it writes and what it reads element by element: not where indices say what is written.
  [[nodiscard]] static constexpr auto goes_side_by_side(const Graph& graph, NodeId id) -> bool {
    const ops::WriteRule rule = graph.op(id).write_rule;
    if (rule == ops::WriteRule::batch_norm) return false;
    if (rule == ops::WriteRule::same_dtype) return !reads_while_it_writes(graph.schema(graph.op(id)).base());
    return rule != ops::WriteRule::setitem || !has_index_tensors(graph, graph.arguments(id)[1]);
  }
  /// Refuses views that overlap, the one to be written while the other one is read element by element: where PyTorch does, and
  /// where it gives something else than reading first.
  [[nodiscard]] constexpr auto check_side_by_side(const Graph& graph, NodeId id, std::uint32_t written, std::uint32_t read) const
      -> Status {
    const View& target = analysis_->view(written);
    const View& source = analysis_->view(read);
    if (source.storage != target.storage || !target.has_geometry || !source.has_geometry || is_apart(source, target) ||
        are_same_or_apart(written, read))
      return {};
    const auto refused = [&](DiagnosticCode code, std::string_view why) {
      return error_at(graph, id, code,
                      text_of("writes into part of '", graph.name(analysis_->storage_of(written).base),
                              "' while it reads an overlapping part; ", why, ", clone() the operand first"));
    };
    const Geometry to = analysis_->geometry(target);
    const Geometry from = analysis_->geometry(source);
    // setitem expands the value before it copies, and what is expanded is not dense.
    const bool expands = graph.op(id).write_rule == ops::WriteRule::setitem && from.element_count() != to.element_count();
    if (!expands && overlap(target, source)) return refused(DiagnosticCode::eager_would_raise, "PyTorch raises here");
    const bool reads_what_was = reads_ahead(to, from) || (is_copy(graph, id) && is_broadcast_onto_itself(to, from));
    if (source.dtype == target.dtype && target.is_placed && source.is_placed && reads_what_was) return {};
    return refused(DiagnosticCode::unsupported_mutation,
                   "what that gives hangs on the order in which PyTorch goes through them");
  }
  /// Whether two views, made alike of one but for indices, are the same places in the same order or have none in common,
  /// whichever numbers the indices turn out to be: `x[i, 1:]` and `x[j, 1:]`.
  [[nodiscard]] constexpr auto are_same_or_apart(std::uint32_t a, std::uint32_t b) const -> bool {
    const auto takes_one = [](const ViewStep& step) {
      return step.kind == ViewStep::Kind::select || step.kind == ViewStep::Kind::pick;
    };
    if (a == b) return true;
    while (a != b) {
      const View& x = analysis_->view(a);
      const View& y = analysis_->view(b);
      if (x.parent == no_view || y.parent == no_view) return false;
      const bool take_one = takes_one(x.step) && takes_one(y.step) && x.step.dim == y.step.dim;
      if (!take_one && (x.step.kind != ViewStep::Kind::slice || !(x.step == y.step))) return false;
      a = x.parent;
      b = y.parent;
    }
    return !analysis_->overlaps_itself(analysis_->view(a));
  }
  /// Whether elements are written as they are read.
  [[nodiscard]] static constexpr auto is_copy(const Graph& graph, NodeId id) -> bool {
    const Operator& op = graph.op(id);
    return op.write_rule == ops::WriteRule::copy || op.write_rule == ops::WriteRule::setitem ||
           (op.write_rule == ops::WriteRule::each && graph.schema(op).base() == "aten._foreach_copy_");
  }

  struct Member {
    NodeId tuple;
    std::int64_t index = 0;
    std::uint32_t view = no_view;
  };

  AliasAnalysis* analysis_;
  const KernelRegistry* kernels_;
  UnknownKernels unknown_kernels_;
  ParameterTable parameters_;
  detail::TensorPlaces shared_;  ///< inputs that share storages, by their numbers
  Pool<Member> members_;
  detail::IdTable member_table_;
  Pool<NodeId> objects_;   ///< by node: the tensor that it is, if that is an operand
  Pool<NodeId> rebound_;   ///< by node: what it means by now
  Pool<NodeId> unknown_calls_;  ///< by storage: a call that may write it for all that is known
  Pool<NodeId> latest_;    ///< by view: the last of the nodes before `chained_` that are it
  Pool<NodeId> earlier_;   ///< by node: the one before it that is the same view
  NodeId chained_;
  std::vector<std::optional<Effects>> effects_;  ///< by subgraph
};

}  // namespace fxpass

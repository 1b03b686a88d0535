// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/functional_form.hpp>
#include <fxpass/ops/custom_operators.hpp>
#include <fxpass/ops/promotion.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/pass/kernel_registry.hpp>
#include <fxpass/passes/call_of_bases.hpp>
#include <fxpass/passes/functionaliser.hpp>
#include <fxpass/passes/view_rules.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

/// @file
/// `OutOfPlaceRewriter`: what becomes of each node when writes turn into values.

namespace fxpass {

/// How many writes of each kind were rewritten.
struct RewriteCounts {
  std::int64_t in_place_methods = 0;  ///< writes by an operator that has a functional twin
  std::int64_t copies = 0;            ///< writes by `copy_`
  std::int64_t setitems = 0;          ///< writes by `x[index] = value`
};

/// Rewrites the nodes of one graph in the course of a sweep.
class OutOfPlaceRewriter {
 public:
  /// For a graph that `analysis` was made for, which has to outlive it.
  constexpr explicit OutOfPlaceRewriter(const AliasAnalysis& analysis) : analysis_(&analysis), values_(analysis) {}

  /// What was rewritten so far.
  [[nodiscard]] constexpr auto counts() const -> const RewriteCounts& { return counts_; }
  /// Whether there was anything to rewrite. If not, the graph is what it was.
  [[nodiscard]] constexpr auto has_rewritten() const -> bool { return has_rewritten_; }

  /// Whether nodes of this operator have to be visited before anything has been written; from then on, all have to.
  [[nodiscard]] static constexpr auto concerns(const Operator& op) -> bool {
    const bool may_run_graphs = op.kind == NodeKind::call_function && op.row == ops::no_row;
    return op.writes || op.view != ops::ViewRule::none || may_run_graphs;
  }
  /// Rewrites the node under the cursor. Needs all nodes before it to have been visited that concern it.
  constexpr auto visit(Sweep& sweep) -> Status {
    Status done = rewrite(sweep);
    if (values_.changes_operands() && !wants_every_node_) {
      wants_every_node_ = true;
      first_change_ = sweep.id();
      sweep.want_every_node();
    }
    return done;
  }

 private:
  constexpr auto rewrite(Sweep& sweep) -> Status {
    const Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    const Operator& op = graph.op(id);
    if (!op.writes) {
      if (next_write_ < analysis_->writes().size() && analysis_->writes()[next_write_].node == id)
        return rewrite_graph_call(sweep, take_writes(id));
      if (is_functional_form_of_bases(graph, op)) return rewrite_bases(sweep);
      // Not by ?:, which g++ 12 evaluates wrongly for class types in constant expressions.
      if (op.view == ops::ViewRule::none && op.row != ops::no_row) return read_operands(sweep);
      return keep(sweep);
    }
    const ops::WriteRule rule = op.write_rule;
    const auto writes = take_writes(id);
    if (!writes.empty() || rule == ops::WriteRule::kernel || rule == ops::WriteRule::custom) values_.attach(sweep.editor());
    // Batch norm in evaluation mode is a write by its operator alone.
    has_rewritten_ = has_rewritten_ || !writes.empty() ||
                     (rule != ops::WriteRule::unknown && rule != ops::WriteRule::batch_norm);
    switch (rule) {
      case ops::WriteRule::nothing: return drop(sweep);
      case ops::WriteRule::kernel: return rewrite_kernel(sweep, writes);
      case ops::WriteRule::custom: return rewrite_custom(sweep, writes);
      case ops::WriteRule::setitem:
        ++counts_.setitems;
        if (Status done = writes.empty() ? Status() : rewrite_setitem(sweep, writes.front()); !done) return done;
        sweep.editor().erase(id);
        return {};
      default: break;
    }
    if (writes.empty()) {
      if (rule == ops::WriteRule::unknown || rule == ops::WriteRule::batch_norm) return keep(sweep);
      if (rule == ops::WriteRule::each && has_no_members(graph, id)) {
        sweep.editor().erase(id);
        return {};
      }
      const bool has_no_effect = rule == ops::WriteRule::dropout && detail::drops_elements(Call(graph, id)) == false;
      if (!has_no_effect && !writes_no_elements(graph, id)) return unseen_write(graph, id);
      return drop(sweep);
    }
    if (rule == ops::WriteRule::batch_norm) return rewrite_batch_norm(sweep, writes);
    if (rule == ops::WriteRule::out || rule == ops::WriteRule::each) {
      ++counts_.in_place_methods;
      Status done = rule == ops::WriteRule::out ? rewrite_out(sweep, writes) : rewrite_each(sweep, writes);
      if (done) sweep.editor().erase(id);
      return done;
    }
    Status done = rewrite_in_place(sweep, rule, writes.front().view);
    if (done) sweep.editor().erase(id);
    return done;
  }
  /// The writes of node `id`, which is the next one of those that write.
  constexpr auto take_writes(NodeId id) -> Span<const Write> {
    const std::uint32_t first = next_write_;
    while (next_write_ < analysis_->writes().size() && analysis_->writes()[next_write_].node == id) ++next_write_;
    return analysis_->writes().subspan(first, next_write_ - first);
  }
  /// A node that writes nothing stays, and reads newest values.
  constexpr auto keep(Sweep& sweep) -> Status {
    const NodeId id = sweep.id();
    const NodeId operand = first_operand(sweep.graph(), id);
    if (const NodeId base = new_base(sweep.graph(), id, operand); base != no_node) {
      values_.substitute(id, base);
      sweep.editor().erase(id);
      return {};
    }
    if (is_stale_member(sweep, id, operand)) {
      const NodeId value = values_.value_of(analysis_->view_of(id), id);
      if (value == no_node) return stale_error(sweep.graph(), id, operand);
      values_.substitute(id, value);
      sweep.editor().erase(id);
      return {};
    }
    const ops::ViewRule view = sweep.graph().op(id).view;
    if (view == ops::ViewRule::strided || (values_.changes_operands() && demands_strides(sweep.graph(), id))) {
      if (!has_eager_strides(sweep.graph(), operand, view)) return make_anew(sweep, operand);
    }
    if (Status done = read_operands(sweep); !done) return done;
    if (view == ops::ViewRule::reshape && values_.changes_operands() && !has_eager_strides(sweep.graph(), operand, view))
      retarget_to_reshape(sweep);
    values_.define(id);
    return {};
  }
  /// Whether PyTorch refuses the call, or means other elements by it, if its operand has other strides.
  [[nodiscard]] static constexpr auto demands_strides(const Graph& graph, NodeId id) -> bool {
    const ops::ViewRule rule = graph.op(id).view;
    return rule == ops::ViewRule::strided || rule == ops::ViewRule::bitcast || rule == ops::ViewRule::as_complex;
  }
  /// Whether `operand` certainly lies in memory as its metadata says when the rewritten program runs: it is an input, or was made
  /// before the first write, or is a view of such a tensor, and nobody has written it. A window into memory has to be one of the
  /// whole tensor, which has to be contiguous, since HLO knows no memory beside that of the operand.
  [[nodiscard]] constexpr auto has_eager_strides(const Graph& graph, NodeId operand, ops::ViewRule rule) -> bool {
    if (operand == no_node || !values_.is_unwritten(operand)) return false;
    const std::uint32_t view = analysis_->view_of(operand);
    if (view == no_view) return false;
    const NodeId base = analysis_->storage_of(view).base;
    const bool is_untouched =
        !values_.changes_operands() || base.index < first_change_.index || graph.node(base).kind == NodeKind::placeholder;
    if (rule != ops::ViewRule::strided) return is_untouched;
    const View& v = analysis_->view(view);
    return is_untouched && v.parent == no_view && v.has_geometry && v.offset == 0 && is_contiguous(analysis_->geometry(v));
  }
  /// The view that the node under the cursor is, made from its base by what does not depend on the strides of values.
  constexpr auto make_anew(Sweep& sweep, NodeId operand) -> Status {
    const NodeId id = sweep.id();
    const std::uint32_t view = analysis_->view_of(id);
    if (view == no_view) return read_operands(sweep);
    if (analysis_->view(view).step.is_opaque()) {
      if (values_.changes_operands() && !has_eager_strides(sweep.graph(), operand, ops::ViewRule::bitcast))
        return stale_error(sweep.graph(), id, id);
      if (Status done = read_operands(sweep); !done) return done;
      values_.define(id);
      return {};
    }
    values_.attach(sweep.editor());
    const NodeId value = values_.value_of(view, id);
    if (value == no_node) return stale_error(sweep.graph(), id, id);
    has_rewritten_ = true;
    values_.substitute(id, value);
    sweep.editor().erase(id);
    return {};
  }
  [[nodiscard]] constexpr auto writes_no_elements(const Graph& graph, NodeId id) const -> bool {
    const NodeId self = target_of(graph, id);
    const std::uint32_t view = self == no_node ? no_view : analysis_->view_of(self);
    return view != no_view && analysis_->view(view).has_geometry && analysis_->is_empty(analysis_->view(view));
  }
  /// The tensor that a call writes, the first one if there are several.
  [[nodiscard]] static constexpr auto target_of(const Graph& graph, NodeId id) -> NodeId {
    if (graph.op(id).write_rule != ops::WriteRule::out) return detail::written_operand(Call(graph, id));
    const Pool<Argument> outs = detail::out_arguments(Call(graph, id));
    return !outs.empty() && outs[0].is_node() ? outs[0].node() : no_node;
  }
  /// Whether a call writes into each tensor of a list that holds none, or none with elements.
  [[nodiscard]] constexpr auto has_no_members(const Graph& graph, NodeId id) const -> bool {
    const auto self = Call(graph, id).given("self");
    if (!self || !self->is_sequence()) return false;
    for (const Argument& member : graph.children(*self)) {
      const std::uint32_t view = member.is_node() ? analysis_->view_of(member.node()) : no_view;
      if (view == no_view || !analysis_->view(view).has_geometry || !analysis_->is_empty(analysis_->view(view))) return false;
    }
    return true;
  }
  /// A pass that ran since the analysis has made a call a write.
  [[nodiscard]] static constexpr auto unseen_write(const Graph& graph, NodeId id) -> Diagnostic {
    return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                    text_of(graph.target(id), " writes into a tensor and was not there when aliases were analysed; let the "
                            "pass that made it run before that"));
  }
  [[nodiscard]] static constexpr auto first_operand(const Graph& graph, NodeId id) -> NodeId {
    const auto arguments = graph.arguments(id);
    return arguments.empty() || !arguments[0].is_node() ? no_node : arguments[0].node();
  }
  /// Whether `id` takes a member out of a list of views made before their base was written, or out of what is no node any
  /// more: the results that a call put into `out=` tensors.
  [[nodiscard]] constexpr auto is_stale_member(Sweep& sweep, NodeId id, NodeId list) -> bool {
    const Graph& graph = sweep.graph();
    if (graph.op(id).view != ops::ViewRule::getitem || list == no_node) return false;
    if (graph.node(list).value_kind != ValueKind::tuple) return false;
    return !values_.is_newest(list) || (values_.is_list(list) && sweep.editor().is_erased(list));
  }
  /// `view` demands strides that the newest value, made by other operations than eager's, need not have.
  constexpr void retarget_to_reshape(Sweep& sweep) {
    const auto shape = geometry_of(sweep.graph(), sweep.id());
    if (!shape) return;
    const Argument arguments[] = {first_operand(sweep.graph(), sweep.id()), values_.list(shape->sizes.view())};
    sweep.graph().set_arguments(sweep.id(), arguments);
    sweep.editor().retarget(sweep.id(), "torch.ops.aten.reshape.default");
  }

  // Operands ---------------------------------------------------------------------------------------------------------
  [[nodiscard]] static constexpr auto stale_error(const Graph& graph, NodeId id, NodeId operand) -> Diagnostic {
    return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                    text_of("reads '", graph.name(operand), "', a view made by ", graph.target(operand),
                            " before its base was written; fxpass cannot make that view anew"));
  }
  constexpr auto read(Sweep& sweep, NodeId operand) -> Expected<NodeId> {
    const NodeId value = values_.read(operand, sweep.id());
    if (value == no_node) return stale_error(sweep.graph(), sweep.id(), operand);
    return value;
  }
  /// The argument with each operand at its newest value.
  constexpr auto read(Sweep& sweep, Argument a) -> Expected<Argument> {
    if (a.is_node()) {
      const auto value = read(sweep, a.node());
      if (!value) {
        const auto members = read_list(sweep, a);
        if (members) return *members;
        return value.error();
      }
      return Argument(*value).with_keyword(a.keyword());
    }
    if (!a.is_group()) return a;
    Pool<Argument> members;
    members.append(sweep.graph().children(a));
    for (Argument& member : members) {
      const auto value = read(sweep, member);
      if (!value) return value.error();
      member = *value;
    }
    return Argument::group(a.kind(), sweep.graph().add_arguments(members.view())).with_keyword(a.keyword());
  }
  /// A list of views that was written since, as a list of their newest values; none for what is no list, and where a
  /// member cannot be replayed.
  constexpr auto read_list(Sweep& sweep, Argument a) -> std::optional<Argument> {
    if (!values_.is_list(a.node())) return std::nullopt;
    Pool<Argument> members;
    for (const NodeId member : values_.read_members(a.node(), sweep.id())) {
      if (member == no_node) return std::nullopt;
      members.push_back(member);
    }
    return Argument::group(ArgumentKind::list, sweep.graph().add_arguments(members.view())).with_keyword(a.keyword());
  }
  /// Lets the node under the cursor read newest values.
  constexpr auto read_operands(Sweep& sweep) -> Status {
    if (!values_.changes_operands()) return {};
    Graph& graph = sweep.graph();
    return read_members(sweep, graph.node(sweep.id()).arguments);
  }
  constexpr auto read_members(Sweep& sweep, Range range) -> Status {
    Graph& graph = sweep.graph();
    for (std::uint32_t i = range.begin; i < range.end(); ++i) {
      const Argument a = graph.arguments_in({i, 1})[0];
      if (a.is_node()) {
        const NodeId value = values_.read(a.node(), sweep.id());
        if (value == no_node) {
          const auto members = read_list(sweep, a);
          if (!members) return stale_error(graph, sweep.id(), a.node());
          graph.mutable_arguments_in({i, 1})[0] = *members;
          continue;
        }
        if (value != a.node()) graph.mutable_arguments_in({i, 1})[0] = Argument(value).with_keyword(a.keyword());
      } else if (a.is_group()) {
        if (Status done = read_members(sweep, a.children()); !done) return done;
      }
    }
    return {};
  }

  /// `requires_grad_`, `detach_`, a write into no elements: the node is its operand.
  constexpr auto drop(Sweep& sweep) -> Status {
    values_.attach(sweep.editor());
    const auto value = read(sweep, target_of(sweep.graph(), sweep.id()));
    if (!value) return value.error();
    values_.substitute(sweep.id(), *value);
    sweep.editor().erase(sweep.id());
    return {};
  }

  // Values that are written ------------------------------------------------------------------------------------------
  [[nodiscard]] constexpr auto sizes(std::uint32_t view) const -> Span<const std::int64_t> {
    return analysis_->sizes(analysis_->view(view));
  }
  [[nodiscard]] constexpr auto dtype(std::uint32_t view) const -> DType { return analysis_->view(view).dtype; }
  [[nodiscard]] constexpr auto needs_metadata(Sweep& sweep, NodeId of) const -> Diagnostic {
    const Text why = why_no_geometry(sweep.graph(), of);
    return error_at(sweep.graph(), sweep.id(), DiagnosticCode::missing_metadata,
                    text_of("carrying out this write needs dtype, sizes and strides of '", sweep.graph().name(of), "'",
                            why.empty() ? "" : ": ", why));
  }
  constexpr auto emit(Sweep& sweep, std::string_view target, std::initializer_list<Argument> arguments, DType type,
                      Span<const std::int64_t> shape, std::uint32_t view, bool is_final) -> NodeId {
    TextId name;
    if (is_final) name = values_.modified_name(view);
    return values_.emit(sweep.id(), target, arguments, type, shape, view, name);
  }
  constexpr auto cast(Sweep& sweep, NodeId value, DType to, Span<const std::int64_t> shape, std::uint32_t view,
                      bool is_final) -> NodeId {
    return emit(sweep, "torch.ops.aten._to_copy.default", {value, keyword(sweep, "dtype", to)}, to, shape, view,
                is_final);
  }
  static constexpr auto keyword(Sweep& sweep, std::string_view name, Argument value) -> Argument {
    return value.with_keyword(sweep.editor().text(name));
  }

  /// `source` as a value of `view`: cast, without leading 1s where Python's setitem drops them, and expanded.
  constexpr auto fit(Sweep& sweep, NodeId source, std::uint32_t view, bool drops_leading_ones) -> Expected<NodeId> {
    const TensorMeta* meta = sweep.graph().tensor(source);
    const auto shape = geometry_of(sweep.graph(), source);
    if (!shape) return needs_metadata(sweep, source);
    const DType from = meta->dtype;
    const auto value = read(sweep, source);
    if (!value) return value.error();
    NodeId node = *value;
    Dims now = shape->sizes;
    const auto wanted = sizes(view);
    Dims stripped;
    for (std::uint32_t i = 0; i < now.size(); ++i)
      if (!stripped.empty() || now[i] != 1) stripped.push_back(now[i]);
    const auto& broadcast_from = drops_leading_ones ? stripped : now;
    if (!broadcasts_to(broadcast_from.view(), wanted))
      return error_at(sweep.graph(), sweep.id(), DiagnosticCode::eager_would_raise,
                      "the value does not broadcast to the shape of what it is written into; PyTorch raises here");
    const bool casts = from != dtype(view);
    const bool expands = !same_elements(now.view(), wanted);
    const bool strips = expands && now.size() > wanted.size();
    // A negated view PyTorch copies as it is stored, and then negates what it has cast: unsigned numbers may be negative then.
    const std::uint32_t read_view = analysis_->view_of(source);
    const bool negates = casts && read_view != no_view && analysis_->lazy_bits(read_view).negative;
    if (negates) node = emit(sweep, "torch.ops.aten.neg.default", {node}, from, now.view(), view, false);
    if (casts) node = cast(sweep, node, dtype(view), now.view(), view, !expands && !negates);
    if (negates) node = emit(sweep, "torch.ops.aten.neg.default", {node}, dtype(view), now.view(), view, !expands);
    if (strips) {
      node = emit(sweep, "torch.ops.aten.reshape.default", {node, values_.list(stripped.view())}, dtype(view),
                  stripped.view(), view, same_elements(stripped.view(), wanted));
      now = stripped;
    }
    if (!same_elements(now.view(), wanted))
      node = emit(sweep, "torch.ops.aten.expand.default", {node, values_.list(wanted)}, dtype(view), wanted, view, true);
    return node;
  }
  constexpr auto filled(Sweep& sweep, const Argument& number, std::uint32_t view) -> Expected<NodeId> {
    const NodeId like = values_.like(view, sweep.id());
    if (like == no_node) return needs_metadata(sweep, sweep.id());
    return emit(sweep, "torch.ops.aten.full_like.default", {like, number.with_keyword({})}, dtype(view), sizes(view),
                view, true);
  }
  constexpr auto write(Sweep& sweep, std::uint32_t view, const Expected<NodeId>& value) -> Status {
    if (!value) return value.error();
    values_.write(view, *value, sweep.id());
    return {};
  }

  // In-place operators -----------------------------------------------------------------------------------------------
  /// A parameter of an in-place operator, and what its name says.
  struct TwinParameter {
    ops::Parameter parameter;
    TextId name;
    bool is_needed = false;   ///< the twin has no default for it
    bool broadcasts = false;  ///< to the shape of what is written
    bool promotes = false;    ///< takes part in finding the dtype of the result
    bool is_source = false;   ///< what an operator that keeps dtypes writes
  };
  /// A writing operator, and the target of the one that does the same without writing.
  struct Twin {
    ops::CatalogRow row = ops::no_row;
    TextId target;
    Range parameters;           ///< of the writing operator, in `parameters_`
    bool makes_dtype = false;   ///< the other one can be told the dtype of its result
  };
  /// What the call at hand gives for a parameter.
  struct Given {
    bool is_given = false;
    Argument argument;
  };

  constexpr auto rewrite_in_place(Sweep& sweep, ops::WriteRule rule, std::uint32_t view) -> Status {
    if (!analysis_->view(view).has_geometry)
      return needs_metadata(sweep, sweep.graph().arguments(sweep.id())[0].node());
    const Call call(sweep.graph(), sweep.id(), parameter_table_.of(sweep.graph(), sweep.node().op));
    if (rule == ops::WriteRule::copy) {
      ++counts_.copies;
      return write(sweep, view, fit(sweep, call.operand("src"), view, false));
    }
    ++counts_.in_place_methods;
    if (rule == ops::WriteRule::diagonal)
      return write(sweep, view, filled(sweep, call.given("fill_value").value_or(Argument()), view));
    if (rule == ops::WriteRule::zero) return write(sweep, view, filled(sweep, Argument(0), view));
    if (rule == ops::WriteRule::fill) {
      const Argument value = call.given("value").value_or(Argument());
      return write(sweep, view, value.is_node() ? fit(sweep, value.node(), view, false) : filled(sweep, value, view));
    }
    const auto twin = twin_of(sweep, sweep.graph().op(sweep.id()).row);
    if (!twin) return twin.error();
    take_given(sweep, *twin);
    return write(sweep, view, functional(sweep, *twin, rule, view));
  }
  /// What the call at hand gives for each parameter.
  constexpr void take_given(Sweep& sweep, const Twin& twin) {
    given_.clear();
    const Call call(sweep.graph(), sweep.id());
    for (std::uint32_t i = 0; i < twin.parameters.count; ++i) {
      const ops::Parameter& parameter = parameters_[twin.parameters.begin + i].parameter;
      auto argument = call.given(i, parameter);
      // One by one: `torch.zeros(4, 4, out=x)`.
      const bool is_member = argument && (argument->is(ArgumentKind::integer) || argument->is(ArgumentKind::sym_int));
      if (is_member && parameter.type.ends_with("[]"))
        if (const auto list = call.integers(parameter.name)) argument = list_of(sweep, *list);
      given_.push_back({argument.has_value(), argument ? *argument : Argument()});
    }
  }

  static constexpr auto list_of(Sweep& sweep, const Pool<SymInt>& numbers) -> Argument {
    Pool<Argument> members;
    for (const SymInt number : numbers) members.push_back(Argument(number));
    return Argument::group(ArgumentKind::list, sweep.graph().add_arguments(members.view()));
  }

  /// The functional twin on the newest values of what is given, in the dtype of `view`.
  constexpr auto functional(Sweep& sweep, const Twin& twin, ops::WriteRule rule, std::uint32_t view) -> Expected<NodeId> {
    const NodeId id = sweep.id();
    const Span<const TwinParameter> parameters = parameters_.view(twin.parameters);
    if (Status refused = check_operands(sweep, parameters, rule, view); !refused) return std::move(refused).error();
    const auto result = result_dtype_to_write(sweep, parameters, rule, view);
    if (!result) return result.error();
    if (Status done = take_twin_arguments(sweep, twin, view); !done) return std::move(done).error();
    // Left to itself, cumsum makes int64 of integers.
    if (twin.makes_dtype && !gives(sweep, "dtype"))
      twin_arguments_.push_back(keyword(sweep, "dtype", dtype(view)));
    const bool casts = *result != dtype(view);
    TextId name;  // not by ?:, which g++ 12 evaluates wrongly for class types in constant expressions
    if (!casts) name = values_.modified_name(view);
    NodeId node = values_.emit(id, twin.target, twin_arguments_.view(), *result, sizes(view), view, name);
    if (casts) node = cast(sweep, node, dtype(view), sizes(view), view, true);
    return node;
  }

  /// What is to be known of a writing operator, found out when it is met first. An error if there is no operator that computes
  /// the same.
  constexpr auto twin_of(Sweep& sweep, ops::CatalogRow row) -> Expected<Twin> {
    for (const Twin& known : twins_)
      if (known.row == row) return known;
    const ops::CatalogRow functional = ops::functional_twin(row);
    if (functional == ops::no_row)
      return error_at(sweep.graph(), sweep.id(), DiagnosticCode::unsupported_mutation,
                      text_of(Call(sweep.graph(), sweep.id()).name(), " has no twin that does not write"));
    Twin twin;
    twin.row = row;
    twin.target = sweep.editor().text(text_of("torch.ops.", ops::schema(functional).name()));
    twin.makes_dtype = ops::schema(functional).find("dtype").has_value();
    twin.parameters.begin = parameters_.size();
    ops::ParameterReader reader = ops::schema(row).parameters();
    ops::ParameterReader twin_reader = ops::schema(functional).parameters();
    for (auto p = reader.next(); p; p = reader.next()) {
      TwinParameter parameter;
      parameter.parameter = *p;
      const auto counterpart = twin_reader.next();
      parameter.is_needed = counterpart && !counterpart->has_default;
      parameter.name = sweep.editor().text(p->name);
      parameter.broadcasts = is_elementwise_operand(p->name) && !p->written;
      parameter.promotes = (parameter.broadcasts && p->name != "value") || (p->name == "self" && !p->written);
      parameter.is_source = p->name == "values" || p->name == "source" || p->name == "src";
      parameters_.push_back(parameter);
    }
    twin.parameters.count = parameters_.size() - twin.parameters.begin;
    twins_.push_back(twin);
    return twin;
  }
  /// Arguments in ATen's order, operands at their newest value, what the call leaves out left out.
  constexpr auto take_twin_arguments(Sweep& sweep, const Twin& twin, std::uint32_t view) -> Status {
    const Span<const TwinParameter> parameters = parameters_.view(twin.parameters);
    twin_arguments_.clear();
    bool by_keyword = false;
    for (std::uint32_t i = 0; i < parameters.size(); ++i) {
      Argument a;
      if (ops::detail::is_out_tensor(parameters[i].parameter)) continue;
      if (parameters[i].parameter.written) {
        a = values_.value_of(view, sweep.id());
      } else if (!given_[i].is_given) {
        const auto value = parameters[i].is_needed ? default_of(sweep, parameters[i]) : std::nullopt;
        if (!value) {
          by_keyword = true;
          continue;
        }
        a = *value;
      } else {
        auto value = read(sweep, given_[i].argument);
        if (!value) return std::move(value).error();
        a = value->with_keyword({});
      }
      by_keyword = by_keyword || parameters[i].parameter.keyword_only;
      twin_arguments_.push_back(a.with_keyword(by_keyword ? parameters[i].name : TextId()));
    }
    return {};
  }

  /// The number or truth value that a parameter is where the call at hand does not give it.
  [[nodiscard]] static constexpr auto default_of(Sweep& sweep, const TwinParameter& parameter) -> std::optional<Argument> {
    const Call call(sweep.graph(), sweep.id());
    if (const auto truth = call.boolean(parameter.parameter.name)) return Argument(*truth);
    if (const auto number = call.real(parameter.parameter.name)) return Argument(*number);
    return std::nullopt;
  }

  /// Operands that take part in broadcasting and promotion, by PyTorch's names for them.
  [[nodiscard]] static constexpr auto is_elementwise_operand(std::string_view parameter) -> bool {
    for (const std::string_view name :
         {"other", "exponent", "min", "max", "mask", "end", "weight", "tensor1", "tensor2", "value"})
      if (parameter == name) return true;
    return false;
  }
  /// An in-place operator does not grow its target: PyTorch raises where an operand would make it.
  constexpr auto check_operands(Sweep& sweep, Span<const TwinParameter> parameters, ops::WriteRule rule,
                                std::uint32_t view) const -> Status {
    const Graph& graph = sweep.graph();
    const auto shape = analysis_->sizes(analysis_->view(view));
    for (std::uint32_t i = 0; i < parameters.size(); ++i) {
      const Argument argument = given_[i].argument;
      if (!argument.is_node() || parameters[i].parameter.written) continue;
      const NodeId operand = argument.node();
      const TensorMeta* meta = graph.tensor(operand);
      if (meta == nullptr || !has_numbers(graph, *meta)) return needs_metadata(sweep, operand);
      if (parameters[i].broadcasts && !broadcasts_to(graph.sizes(*meta), shape))
        return error_at(graph, sweep.id(), DiagnosticCode::eager_would_raise,
                        text_of("'", graph.name(operand), "' does not broadcast to the shape of what is written; "
                                "PyTorch raises here"));
      if (rule != ops::WriteRule::same_dtype || !parameters[i].is_source || meta->dtype == dtype(view)) continue;
      // PyTorch takes index_put_ of one element by a mask for masked_fill_, which casts.
      const bool fills = parameters[i].parameter.name == "values" && detail::is_put_by_mask(Call(graph, sweep.id()));
      if (!fills)
        return error_at(graph, sweep.id(), DiagnosticCode::eager_would_raise,
                        text_of("'", graph.name(operand), "' is ", dtype_info(meta->dtype).torch_name, ", its target ",
                                dtype_info(dtype(view)).torch_name, "; PyTorch wants one dtype here"));
    }
    return {};
  }
  constexpr auto result_dtype(Sweep& sweep, Span<const TwinParameter> parameters, ops::WriteRule rule,
                              std::uint32_t view) const -> Expected<DType> {
    if (rule == ops::WriteRule::same_dtype || rule == ops::WriteRule::dropout) return dtype(view);
    if (rule == ops::WriteRule::comparing) return DType::boolean;
    const Graph& graph = sweep.graph();
    ops::ResultType common;
    if (!parameters.empty() && parameters[0].parameter.written)
      common.add_tensor(dtype(view), analysis_->view(view).rank != 0);
    for (std::uint32_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].promotes) continue;
      const Argument a = given_[i].argument;
      if (a.is_node()) {
        if (const TensorMeta* meta = graph.tensor(a.node())) common.add_tensor(meta->dtype, meta->rank != 0);
      } else if (a.is(ArgumentKind::boolean)) {
        common.add_number(DTypeCategory::boolean);
      } else if (a.is(ArgumentKind::integer) || a.is(ArgumentKind::sym_int)) {
        common.add_number(DTypeCategory::integral);
      } else if (a.is(ArgumentKind::real)) {
        common.add_number(DTypeCategory::floating);
      } else if (a.is(ArgumentKind::complex)) {
        common.add_number(DTypeCategory::complex);
      }
    }
    const auto promoted = common.get();
    if (!promoted)
      return error_at(graph, sweep.id(), DiagnosticCode::eager_would_raise,
                      "the operands have dtypes that PyTorch does not promote together");
    if (rule == ops::WriteRule::floating && category(*promoted) <= DTypeCategory::integral) return DType::f32;
    return *promoted;
  }
  /// The same; an error if PyTorch does not cast it to the dtype of `view`.
  constexpr auto result_dtype_to_write(Sweep& sweep, Span<const TwinParameter> parameters, ops::WriteRule rule,
                                       std::uint32_t view) const -> Expected<DType> {
    auto result = result_dtype(sweep, parameters, rule, view);
    if (result && !can_cast(*result, dtype(view)))
      return error_at(sweep.graph(), sweep.id(), DiagnosticCode::eager_would_raise,
                      text_of("the result is ", dtype_info(*result).torch_name, ", which PyTorch does not write into a ",
                              dtype_info(dtype(view)).torch_name, " tensor"));
    return result;
  }

  // Lists of tensors, results put into tensors -------------------------------------------------------------------------
  /// `_foreach_add_(xs, ys)` is `x.add_(y)` for each, one after the other.
  constexpr auto rewrite_each(Sweep& sweep, Span<const Write> writes) -> Status {
    Pool<Write> targets;  // the analysis' own list may grow
    targets.append(writes);
    if (Status done = resolve_operands(sweep, targets.view()); !done) return done;
    for (const Write& target : targets)
      if (Status done = rewrite_member(sweep, target); !done) return done;
    return {};
  }
  /// What is read conjugated or negated, PyTorch reads before it writes the first member (its MathBitsFallback.h).
  constexpr auto resolve_operands(Sweep& sweep, Span<const Write> targets) -> Status {
    resolved_.clear();
    Pool<std::int64_t> views;
    sweep.graph().for_each_operand(sweep.id(), [&](NodeId operand) {
      const std::uint32_t view = analysis_->view_of(operand);
      if (values_.is_list(operand))
        views.append(analysis_->order(analysis_->view(view)));
      else if (view != no_view)
        views.push_back(view);
    });
    for (const std::int64_t number : views) {
      const auto view = static_cast<std::uint32_t>(number);
      if (!analysis_->lazy_bits(view).any() || !is_storage_written(targets, analysis_->view(view).storage)) continue;
      const NodeId value = values_.value_of(view, sweep.id());
      if (value == no_node) return stale_error(sweep.graph(), sweep.id(), analysis_->storage_of(view).base);
      // A node of its own, which no later write brings up to date.
      resolved_.push_back({view, emit(sweep, "torch.ops.aten.clone.default", {value}, dtype(view), sizes(view), view, false)});
    }
    return {};
  }
  [[nodiscard]] constexpr auto is_storage_written(Span<const Write> targets, std::uint32_t storage) const -> bool {
    for (const Write& target : targets)
      if (analysis_->view(target.view).storage == storage) return true;
    return false;
  }
  /// The node that `resolve_operands` made for a view; `no_node` if none.
  [[nodiscard]] constexpr auto resolved(std::uint32_t view) const -> NodeId {
    for (const ResolvedOperand& operand : resolved_)
      if (operand.view == view) return operand.value;
    return no_node;
  }
  constexpr auto rewrite_member(Sweep& sweep, const Write& target) -> Status {
    if (!analysis_->view(target.view).has_geometry) return needs_metadata(sweep, sweep.id());
    const Operator op = sweep.graph().op(sweep.id());
    const ops::Schema schema = sweep.graph().schema(op);
    std::string_view name = schema.base();
    name.remove_prefix(std::string_view("aten._foreach_").size());
    if (name == "zero_") return write(sweep, target.view, filled(sweep, Argument(0), target.view));
    auto arguments = arguments_of_member(sweep, schema, target.result);
    if (!arguments) return std::move(arguments).error();
    if (name == "copy_") return write(sweep, target.view, fit(sweep, (*arguments)[1].node(), target.view, false));
    const Text base = text_of("aten.", name == "maximum_" ? "clamp_min_" : name == "minimum_" ? "clamp_max_" : name);
    const ops::CatalogRow row =
        detail::choose_overload(sweep.graph(), ops::find_overloads(base), {}, arguments->view());
    if (row == ops::no_row)
      return error_at(sweep.graph(), sweep.id(), DiagnosticCode::unsupported_mutation,
                      text_of(schema.name(), " is carried out as ", base, " of each tensor, which does not take the arguments"));
    const auto twin = twin_of(sweep, row);
    if (!twin) return twin.error();
    given_.clear();
    for (std::uint32_t i = 0; i < twin->parameters.count; ++i) given_.push_back(given_for(*arguments, i, *twin));
    const ops::WriteRule rule = ops::in_place_rule(base, ops::schema(row).overload());
    return write(sweep, target.view, functional(sweep, *twin, rule, target.view));
  }
  [[nodiscard]] constexpr auto given_for(const Pool<Argument>& arguments, std::uint32_t position, const Twin& twin) const
      -> Given {
    const TwinParameter& parameter = parameters_[twin.parameters.begin + position];
    if (!parameter.parameter.keyword_only && position < arguments.size() && !arguments[position].is_keyword())
      return {true, arguments[position]};
    for (const Argument& a : arguments)
      if (a.is_keyword() && a.keyword() == parameter.name) return {true, a};
    return {};
  }
  /// What the call says of member `index`: of each list the member, of all else the same for all.
  constexpr auto arguments_of_member(Sweep& sweep, const ops::Schema& schema, std::uint32_t index)
      -> Expected<Pool<Argument>> {
    const Call call(sweep.graph(), sweep.id());
    const bool has_factor = schema.base() == "aten._foreach_addcmul_" || schema.base() == "aten._foreach_addcdiv_";
    Pool<Argument> arguments;
    ops::ParameterReader reader = schema.parameters();
    std::uint32_t position = 0;
    for (auto p = reader.next(); p; p = reader.next(), ++position) {
      const auto given = call.given(position, *p);
      if (!given || p->name == "non_blocking") continue;
      auto member = p->type.ends_with("[]") ? member_of(sweep, *given, index) : Expected<Argument>(given->with_keyword({}));
      if (!member) return std::move(member).error();
      const bool is_factor = has_factor && (p->name == "value" || p->name == "scalars");
      if (is_factor || p->keyword_only) member = keyword(sweep, is_factor ? "value" : p->name, *member);
      arguments.push_back(*member);
    }
    return arguments;
  }
  constexpr auto member_of(Sweep& sweep, Argument list, std::uint32_t index) -> Expected<Argument> {
    const Graph& graph = sweep.graph();
    if (list.is_sequence() && index < graph.children(list).size()) {
      const Argument member = graph.children(list)[index];
      const NodeId value = member.is_node() ? resolved(analysis_->view_of(member.node())) : no_node;
      if (value == no_node) return member;
      return Argument(value);
    }
    if (list.is_node() && values_.is_list(list.node())) {
      const View views = analysis_->view(analysis_->view_of(list.node()));
      if (index < views.step.order.count) {
        const auto view = static_cast<std::uint32_t>(analysis_->order(views)[index]);
        NodeId value = resolved(view);
        if (value == no_node) value = values_.value_of(view, sweep.id());
        if (value == no_node) return stale_error(graph, sweep.id(), list.node());
        return Argument(value);
      }
    } else if (list.is_node() && graph.node(list.node()).value_kind == ValueKind::tuple) {
      const auto metas = graph.values(list.node());
      if (index < metas.size()) return Argument(member(sweep, list.node(), index, metas[index], sweep.id(), {}));
    }
    return error_at(graph, sweep.id(), DiagnosticCode::unsupported_mutation,
                    text_of(graph.target(sweep.id()), " has lists that fxpass cannot take apart, or of unequal lengths"));
  }

  /// The results of the functional twin become the newest values of the `out=` tensors, cast to their dtypes.
  constexpr auto rewrite_out(Sweep& sweep, Span<const Write> writes) -> Status {
    Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    const auto twin = twin_of(sweep, graph.op(id).row);
    if (!twin) return twin.error();
    take_given(sweep, *twin);
    Pool<Write> targets;
    targets.append(writes);
    const std::uint32_t first = targets[0].view;
    const bool is_only_result = graph.node(id).value_kind == ValueKind::tensor;
    const auto computed = dtype_of_result(sweep, *twin, first, is_only_result);
    if (!computed) return computed.error();
    if (Status done = take_twin_arguments(sweep, *twin, first); !done) return done;
    if (twin->makes_dtype && !gives(sweep, "dtype") && is_only_result)
      twin_arguments_.push_back(keyword(sweep, "dtype", *computed));
    if (is_only_result) {
      const bool casts = *computed != dtype(first) || !is_sure_of_dtype(sweep, *twin, first);
      TextId name;
      if (!casts) name = values_.modified_name(first);
      NodeId node = values_.emit(id, twin->target, twin_arguments_.view(), *computed, sizes(first), first, name);
      if (casts) node = cast(sweep, node, dtype(first), sizes(first), first, true);
      values_.write(first, node, id);
      return {};
    }
    Pool<TensorMeta> metas;
    metas.append(graph.values(id));
    const ValueSpec tuple{ValueKind::tuple, graph.add_metas(metas.view())};
    const NodeId results = sweep.editor().insert_before(id, twin->target, twin_arguments_.view(), tuple, TextId());
    for (const Write& target : targets) {
      const NodeId result = member(sweep, results, target.result, metas[target.result], id, {});
      values_.write(target.view, cast(sweep, result, dtype(target.view), sizes(target.view), target.view, true), id);
    }
    return {};
  }
  [[nodiscard]] constexpr auto gives(Sweep& sweep, std::string_view parameter) const -> bool {
    return Call(sweep.graph(), sweep.id()).has(parameter);
  }
  /// The dtype in which the twin gives what goes into an `out=` tensor.
  constexpr auto dtype_of_result(Sweep& sweep, const Twin& twin, std::uint32_t view, bool is_only_result) const
      -> Expected<DType> {
    const ops::WriteRule rule = ops::rule_of_result(Call(sweep.graph(), sweep.id()).schema());
    if (!is_only_result || rule == ops::WriteRule::unknown || twin.makes_dtype) return dtype(view);
    return result_dtype_to_write(sweep, parameters_.view(twin.parameters), rule, view);
  }
  /// Whether the twin certainly gives what `dtype_of_result` says.
  [[nodiscard]] constexpr auto is_sure_of_dtype(Sweep& sweep, const Twin& twin, std::uint32_t view) const -> bool {
    const ops::WriteRule rule = ops::rule_of_result(Call(sweep.graph(), sweep.id()).schema());
    if (twin.makes_dtype || rule == ops::WriteRule::promoting || rule == ops::WriteRule::floating) return true;
    bool is_sure = true;
    sweep.graph().for_each_operand(sweep.id(), [&](NodeId operand) {
      const TensorMeta* meta = sweep.graph().tensor(operand);
      is_sure = is_sure && meta != nullptr && meta->dtype == dtype(view);
    });
    return is_sure;
  }

  // setitem, statistics, kernels -------------------------------------------------------------------------------------
  constexpr auto rewrite_setitem(Sweep& sweep, const Write& target) -> Status {
    const bool has_tensors = has_index_tensors(sweep.graph(), sweep.graph().arguments(sweep.id())[1]);
    const Range range = sweep.node().arguments;
    // An integer that is picked by is read here, whatever is written into it later.
    if (!has_tensors && values_.changes_operands())
      if (Status done = read_members(sweep, {range.begin + 1, 1}); !done) return done;
    const auto arguments = sweep.graph().arguments(sweep.id());
    const Argument index = arguments[1];
    const Argument value = arguments[2];
    if (has_tensors) return write(sweep, target.view, index_put(sweep, target, index, value));
    return write(sweep, target.view, value.is_node() ? fit(sweep, value.node(), target.view, true)
                                                     : filled(sweep, value, target.view));
  }
  /// `view[i, :, mask] = value` as index_put: None where a dimension has no index tensor.
  constexpr auto index_put(Sweep& sweep, const Write& target, const Argument& index, const Argument& value)
      -> Expected<NodeId> {
    const auto items = index_items(sweep.graph(), index);
    Pool<Argument> indices;
    const std::uint32_t rank = analysis_->view(target.view).rank;
    // Dimensions of the view that the items account for; an Ellipsis stands for the others.
    std::uint32_t named = 0;
    for (const Argument& item : items) {
      const bool adds_one = item.is_none() || item.is(ArgumentKind::boolean);
      if (!item.is(ArgumentKind::integer)) named += adds_one ? 1 : dimensions_indexed(sweep.graph(), item);
    }
    for (const Argument& item : items) {
      if (item.is_node()) {
        const auto tensor = read(sweep, item.node());
        if (!tensor) return tensor.error();
        indices.push_back(*tensor);
      } else if (item.is(ArgumentKind::list)) {
        indices.push_back(index_tensor(sweep, item, target.view));
      } else if (item.is(ArgumentKind::ellipsis)) {
        for (std::uint32_t i = named; i < rank; ++i) indices.push_back(Argument());
      } else if (!item.is(ArgumentKind::integer)) {
        indices.push_back(Argument());
      }
    }
    const Argument list =
        Argument::group(ArgumentKind::list, sweep.graph().add_arguments(indices.view()));
    const NodeId self = values_.value_of(target.view, sweep.id());
    const auto put_value = index_put_value(sweep, value, target.view);
    if (!put_value) return put_value.error();
    return emit(sweep, "torch.ops.aten.index_put.default", {self, list, *put_value}, dtype(target.view),
                sizes(target.view), target.view, true);
  }
  /// A list of an index as the tensor that it stands for.
  constexpr auto index_tensor(Sweep& sweep, const Argument& list, std::uint32_t view) -> NodeId {
    const auto members = sweep.graph().children(list);
    Dims length;
    length.push_back(static_cast<std::int64_t>(members.size()));
    const DType type = members[0].is(ArgumentKind::boolean) ? DType::boolean : DType::i64;
    return emit(sweep, "torch.tensor", {list.with_keyword({})}, type, length.view(), view, false);
  }
  constexpr auto index_put_value(Sweep& sweep, const Argument& value, std::uint32_t view) -> Expected<NodeId> {
    if (!value.is_node()) {
      const NodeId like = values_.like(view, sweep.id());
      if (like == no_node) return needs_metadata(sweep, sweep.id());
      const Dims scalar;
      return emit(sweep, "torch.ops.aten.new_full.default", {like, values_.list(scalar.view()), value.with_keyword({})},
                  dtype(view), scalar, view, false);
    }
    const TensorMeta* meta = sweep.graph().tensor(value.node());
    const auto g = geometry_of(sweep.graph(), value.node());
    if (!g) return needs_metadata(sweep, value.node());
    const DType from = meta->dtype;
    const auto newest = read(sweep, value.node());
    if (!newest) return newest.error();
    if (from == dtype(view)) return *newest;
    return cast(sweep, *newest, dtype(view), g->sizes, view, false);
  }

  /// Training-mode batch norm: the functional form returns the new statistics.
  constexpr auto rewrite_batch_norm(Sweep& sweep, Span<const Write> writes) -> Status {
    const NodeId id = sweep.id();
    if (sweep.graph().node(id).value_kind == ValueKind::tuple) return rewrite_native_batch_norm(sweep, writes);
    if (Call(sweep.graph(), id).schema().base() == "aten.instance_norm") return rewrite_instance_norm(sweep, writes);
    Pool<Argument> arguments;
    for (const std::string_view name :
         {"input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"}) {
      const auto given = Call(sweep.graph(), id).given(name);
      Argument a = given.value_or(Argument());
      if (!given && name == "momentum") a = Call(sweep.graph(), id).real(name).value_or(0.1);
      if (!given && name == "eps") a = Call(sweep.graph(), id).real(name).value_or(1e-5);
      const auto value = read(sweep, a);
      if (!value) return value.error();
      arguments.push_back(value->with_keyword({}));
    }
    if (!arguments[3].is_node() || !arguments[4].is_node() || writes.size() != 2)
      return error_at(sweep.graph(), id, DiagnosticCode::unsupported_mutation,
                      "batch_norm in training mode with one of its two statistics only");
    Graph& graph = sweep.graph();
    const TensorMeta* out = graph.tensor(id);
    const TensorMeta* mean = graph.tensor(arguments[3].node());
    const TensorMeta* variance = graph.tensor(arguments[4].node());
    if (out == nullptr || mean == nullptr || variance == nullptr) return needs_metadata(sweep, id);
    const TensorMeta members[] = {*out, *mean, *variance, *mean, *variance};
    const ValueSpec tuple{ValueKind::tuple, graph.add_metas(members)};
    const NodeId norm = sweep.editor().insert_before(id, "torch.ops.aten._native_batch_norm_legit_functional.default",
                                                     arguments.view(), tuple);
    values_.substitute(id, member(sweep, norm, 0, members[0], id, {}));
    for (const Write& w : writes)
      values_.write(w.view, member(sweep, norm, w.result, members[w.result], id, values_.modified_name(w.view)), id);
    sweep.editor().erase(id);
    return {};
  }
  /// Training-mode instance norm as eager computes it: the batch norm of one instance that has all channels of all instances.
  /// The new statistics of a channel are the means over the instances.
  constexpr auto rewrite_instance_norm(Sweep& sweep, Span<const Write> writes) -> Status {
    const NodeId id = sweep.id();
    const NodeId input = Call(sweep.graph(), id).operand("input");
    const auto g = input == no_node ? std::nullopt : geometry_of(sweep.graph(), input);
    if (!g || sweep.graph().tensor(id) == nullptr) return needs_metadata(sweep, id);
    if (writes.size() != 2)
      return error_at(sweep.graph(), id, DiagnosticCode::unsupported_mutation,
                      "instance_norm in training mode with one of its two statistics only");
    const DType type = sweep.graph().tensor(id)->dtype;
    const Dims all = g->sizes;
    if (all.size() < 2)
      return error_at(sweep.graph(), id, DiagnosticCode::eager_would_raise, "instance_norm of a tensor without channels");
    const std::uint32_t device = writes[0].view;
    const std::int64_t instances = all[0], channels = all[1];
    Dims joined = all, list;
    joined[0] = 1;
    joined[1] = instances * channels;
    list.push_back(joined[1]);
    Dims times;
    times.push_back(instances);
    Pool<Argument> arguments;
    for (const std::string_view name : {"input", "weight", "bias", "running_mean", "running_var"}) {
      const auto given = Call(sweep.graph(), id).given(name);
      const auto value = read(sweep, given.value_or(Argument()));
      if (!value) return value.error();
      const Argument a = value->with_keyword({});
      if (name == "input")
        arguments.push_back(emit(sweep, "torch.ops.aten.reshape.default", {a, values_.list(joined.view())}, type,
                                 joined.view(), device, false));
      else if (a.is_node() && sweep.graph().tensor(a.node()) != nullptr)
        arguments.push_back(emit(sweep, "torch.ops.aten.repeat.default", {a, values_.list(times.view())},
                                 sweep.graph().tensor(a.node())->dtype, list.view(), device, false));
      else
        arguments.push_back(a);
    }
    if (!arguments[3].is_node() || !arguments[4].is_node()) return needs_metadata(sweep, id);
    arguments.push_back(true);
    arguments.push_back(Call(sweep.graph(), id).real("momentum").value_or(0.1));
    arguments.push_back(Call(sweep.graph(), id).real("eps").value_or(1e-5));
    Graph& graph = sweep.graph();
    const TensorMeta out = *graph.tensor(arguments[0].node()), mean = *graph.tensor(arguments[3].node()),
                     variance = *graph.tensor(arguments[4].node());
    const TensorMeta members[] = {out, mean, variance, mean, variance};
    const ValueSpec tuple{ValueKind::tuple, graph.add_metas(members)};
    const NodeId norm = sweep.editor().insert_before(id, "torch.ops.aten._native_batch_norm_legit_functional.default",
                                                     arguments.view(), tuple);
    const NodeId joined_result = member(sweep, norm, 0, members[0], id, {});
    values_.substitute(id, emit(sweep, "torch.ops.aten.reshape.default", {joined_result, values_.list(all.view())}, type,
                                all.view(), device, false));
    Dims table, first, channel;
    table.push_back(instances);
    table.push_back(channels);
    first.push_back(0);
    channel.push_back(channels);
    for (const Write& w : writes) {
      const NodeId each = member(sweep, norm, w.result, members[w.result], id, {});
      const NodeId rows = emit(sweep, "torch.ops.aten.reshape.default", {each, values_.list(table.view())}, dtype(w.view),
                               table.view(), device, false);
      values_.write(w.view, emit(sweep, "torch.ops.aten.mean.dim", {rows, values_.list(first.view())}, dtype(w.view),
                                 channel.view(), w.view, true), id);
    }
    sweep.editor().erase(id);
    return {};
  }
  /// The functional form returns what the operator returns, and the new statistics behind it.
  constexpr auto rewrite_native_batch_norm(Sweep& sweep, Span<const Write> writes) -> Status {
    Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    const bool is_update = Call(graph, id).schema().base() == "aten._batch_norm_with_update";
    Pool<Write> targets;
    targets.append(writes);
    Pool<TensorMeta> metas;
    metas.append(graph.values(id));
    Pool<Argument> arguments;
    for (const std::string_view name :
         {"input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"}) {
      if (is_update && name == "training") continue;
      const auto given = Call(graph, id).given(name);
      if (!given) return unseen_write(graph, id);
      const auto value = read(sweep, *given);
      if (!value) return value.error();
      arguments.push_back(value->with_keyword({}));
      const TensorMeta* meta = name.starts_with("running_") && given->is_node() ? graph.tensor(given->node()) : nullptr;
      if (meta != nullptr) metas.push_back(*meta);
    }
    if (targets.size() != 2 || metas.size() != targets[1].result + 1)
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      "batch norm in training mode with one of its two statistics only, or results of which nothing is known");
    const ValueSpec tuple{ValueKind::tuple, graph.add_metas(metas.view())};
    const NodeId norm = sweep.editor().insert_before(id,
                                                     is_update ? "torch.ops.aten._batch_norm_with_update_functional.default"
                                                               : "torch.ops.aten._native_batch_norm_legit_functional.default",
                                                     arguments.view(), tuple);
    values_.substitute(id, norm);
    for (const Write& w : targets)
      values_.write(w.view, member(sweep, norm, w.result, metas[w.result], id, values_.modified_name(w.view)), id);
    sweep.editor().erase(id);
    return {};
  }
  static constexpr auto member(Sweep& sweep, NodeId tuple, std::uint32_t index, TensorMeta meta, NodeId position,
                               TextId name) -> NodeId {
    const TensorMeta metas[] = {meta};
    const Argument arguments[] = {tuple, index};
    const ValueSpec value{ValueKind::tensor, sweep.graph().add_metas(metas)};
    return sweep.editor().insert_before(position, sweep.editor().text("operator.getitem"), arguments, value, name);
  }

  /// A kernel returns the new values of the operands it writes; they become the newest values after the call.
  constexpr auto rewrite_kernel(Sweep& sweep, Span<const Write> writes) -> Status {
    const NodeId id = sweep.id();
    if (Status done = read_operands(sweep); !done) return done;
    sweep.editor().retarget(id, text_of("torch.ops.", functional_kernel_operator));
    values_.define(id);
    return take_results(sweep, writes);
  }
  // Custom operators -------------------------------------------------------------------------------------------------
  /// A tensor that a custom operator writes, in the order of the schema, members of lists one by one.
  struct NewValue {
    std::uint32_t view = no_view;
    std::uint32_t result = 0;  ///< of the functional form
    std::uint32_t member = 0;  ///< of a list
    bool is_in_list = false;
    TensorMeta meta;
  };

  /// The call gives what it gave, and behind that the new values of what the schema says is written.
  constexpr auto rewrite_custom(Sweep& sweep, Span<const Write> writes) -> Status {
    Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    const Text schema_text(Call(graph, id).schema().text());  // texts of the graph move as it grows
    const ops::Schema schema(schema_text.view());
    const auto returned = ops::returned_parameter(schema);
    Pool<TensorMeta> metas;
    if (!schema.returns().starts_with("()")) metas.append(graph.values(id));
    metas.resize(schema.return_count() > 1 ? schema.return_count() : 1, TensorMeta());
    Pool<Argument> arguments;
    arguments.push_back(Argument::operation(sweep.editor().text(text_of("torch.ops.", schema.name()))));
    Pool<NewValue> written;
    NewValue same;  // as what the call returns
    ops::ParameterReader reader = schema.parameters();
    std::uint32_t position = 0;
    for (auto p = reader.next(); p; p = reader.next(), ++position) {
      const auto given = Call(graph, id).given(position, *p);
      if (!given && !p->written) continue;
      Argument value;
      if (given && p->written && p->is_tensor_list() && !given->is_none()) {
        auto list = read_written_list(sweep, *given, metas.size(), written);
        if (!list) return std::move(list).error();
        value = *list;
      } else if (given) {
        auto newest = read(sweep, *given);
        if (!newest) return std::move(newest).error();
        value = as_stored(sweep, *newest, p->written);
      }
      arguments.push_back(keyword(sweep, p->name, value));
      if (!p->written) continue;
      const bool is_one = value.is_node();
      if (is_one) {
        written.push_back({analysis_->view_of(given->node()), metas.size(), 0, false, meta_of(graph, value.node())});
        if (returned && returned->name == p->name) same = written.back();
      }
      metas.push_back(is_one ? written.back().meta : TensorMeta());
    }
    Pool<Write> targets;  // the analysis' own list may grow
    targets.append(writes);
    const NodeId call = insert_functional(sweep, arguments.view(), metas.view());
    std::uint32_t next = 0;
    for (const NewValue& value : written) {
      if (next == targets.size() || targets[next].view != value.view) {
        if (!is_empty(value.view)) return unseen_write(graph, id);
        continue;
      }
      ++next;
      if (!analysis_->view(value.view).has_geometry) return needs_metadata(sweep, analysis_->storage_of(value.view).base);
      values_.write(value.view, new_value(sweep, call, value, written.view(), values_.modified_name(value.view)), id);
    }
    if (same.view != no_view && is_empty(same.view))
      values_.substitute(id, new_value(sweep, call, same, written.view(), {}));
    else if (same.view != no_view)
      values_.substitute(id, values_.value_of(same.view, id));
    else if (graph.node(id).value_kind == ValueKind::tensor)
      values_.substitute(id, member(sweep, call, 0, metas[0], id, {}));
    else if (graph.node(id).value_kind == ValueKind::tuple)
      values_.substitute(id, call);
    sweep.editor().erase(id);
    return {};
  }
  /// An operand of the functional form as a tensor that the operator can read, or write: PyTorch resolves for each operator what
  /// is conjugated or negated when it is read, but the functional form is none; and its copy of an expanded tensor is expanded.
  constexpr auto as_stored(Sweep& sweep, Argument value, bool is_written) -> Argument {
    Graph& graph = sweep.graph();
    if (value.is_group()) {
      Pool<Argument> members;
      members.append(graph.children(value));
      for (Argument& member : members) member = as_stored(sweep, member, is_written);
      return Argument::group(value.kind(), graph.add_arguments(members.view())).with_keyword(value.keyword());
    }
    auto geometry = value.is_node() ? geometry_of(graph, value.node()) : std::nullopt;
    if (!geometry) return value;
    const std::uint32_t view = analysis_->view_of(value.node());
    const bool is_lazy = view != no_view && analysis_->lazy_bits(view).any();
    if (!is_lazy && !(is_written && is_expanded(graph, value.node()))) return value;
    geometry->strides = contiguous_strides(geometry->sizes.view());
    geometry->offset = 0;
    return of_base(sweep, "torch.ops.aten.clone.default",
                   {value.with_keyword({}), keyword(sweep, "memory_format", MemoryFormat::contiguous_format)}, value.node(),
                   *geometry);
  }
  /// Whether a node is a view, step by step, of an expanded tensor.
  [[nodiscard]] static constexpr auto is_expanded(const Graph& graph, NodeId id) -> bool {
    while (id != no_node && graph.node(id).op != OpId{} && graph.op(id).view != ops::ViewRule::none) {
      const ops::ViewRule rule = graph.op(id).view;
      if (rule == ops::ViewRule::expand || rule == ops::ViewRule::broadcast_in_dim) return true;
      id = first_operand(graph, id);
    }
    return false;
  }
  [[nodiscard]] constexpr auto is_empty(std::uint32_t view) const -> bool {
    return analysis_->view(view).has_geometry && analysis_->is_empty(analysis_->view(view));
  }
  [[nodiscard]] static constexpr auto meta_of(const Graph& graph, NodeId id) -> TensorMeta {
    const TensorMeta* meta = graph.tensor(id);
    return meta == nullptr ? TensorMeta() : *meta;
  }
  /// The call without a write, before the one under the cursor.
  static constexpr auto insert_functional(Sweep& sweep, Span<const Argument> arguments, Span<const TensorMeta> metas)
      -> NodeId {
    const ValueSpec results{ValueKind::tuple, sweep.graph().add_metas(metas)};
    const NodeId call = sweep.editor().insert_before(sweep.id(), functional_form, arguments, results);
    sweep.graph().mutable_node(call).replica_groups = sweep.node().replica_groups;
    return call;
  }
  /// A list that is written, as a list of the newest values of its members, which are added to `written`.
  constexpr auto read_written_list(Sweep& sweep, const Argument& given, std::uint32_t result, Pool<NewValue>& written)
      -> Expected<Argument> {
    Pool<Argument> members;
    const auto add = [&](std::uint32_t view, NodeId value) {
      written.push_back({view, result, members.size(), true, meta_of(sweep.graph(), value)});
      members.push_back(as_stored(sweep, value, true));
    };
    if (given.is_node()) {
      const View list = analysis_->view(analysis_->view_of(given.node()));
      Pool<std::int64_t> views;
      views.append(analysis_->order(list));
      for (const std::int64_t view : views) {
        const NodeId value = values_.value_of(static_cast<std::uint32_t>(view), sweep.id());
        if (value == no_node) return stale_error(sweep.graph(), sweep.id(), given.node());
        add(static_cast<std::uint32_t>(view), value);
      }
    } else {
      Pool<Argument> nodes;
      nodes.append(sweep.graph().children(given));
      for (const Argument& node : nodes) {
        const auto value = read(sweep, node.node());
        if (!value) return value.error();
        add(analysis_->view_of(node.node()), *value);
      }
    }
    return Argument::group(ArgumentKind::list, sweep.graph().add_arguments(members.view()));
  }
  /// What `call`, a functional form, gives for a tensor that it would write.
  constexpr auto new_value(Sweep& sweep, NodeId call, const NewValue& value, Span<const NewValue> all, TextId name) -> NodeId {
    if (!value.is_in_list) return member(sweep, call, value.result, value.meta, sweep.id(), name);
    if (value.result != list_result_ || call != list_call_) {
      Pool<TensorMeta> metas;
      for (const NewValue& other : all)
        if (other.result == value.result) metas.push_back(other.meta);
      const Argument arguments[] = {call, value.result};
      const ValueSpec tuple{ValueKind::tuple, sweep.graph().add_metas(metas.view())};
      list_ = sweep.editor().insert_before(sweep.id(), sweep.editor().text("operator.getitem"), arguments, tuple, TextId());
      list_result_ = value.result;
      list_call_ = call;
    }
    return member(sweep, list_, value.member, value.meta, sweep.id(), name);
  }

  // The second form says which views of which bases are written, and gives new values of the bases -----------------------
  /// A call of the second form that has become one of the first.
  struct ReplacedCall {
    NodeId old;
    std::uint32_t results = 0;  ///< of the operator itself; the bases are behind them
    Range bases;                ///< their new values, in `new_bases_`
  };
  /// The new value of a base that node `id` takes out of a call of the second form; `no_node` for anything else.
  [[nodiscard]] constexpr auto new_base(const Graph& graph, NodeId id, NodeId operand) const -> NodeId {
    if (operand == no_node || replaced_calls_.empty() || graph.op(id).view != ops::ViewRule::getitem) return no_node;
    if (!is_functional_form_of_bases(graph, graph.op(operand))) return no_node;
    const auto arguments = graph.arguments(id);
    for (std::uint32_t i = replaced_calls_.size(); i-- > 0;) {  // what is taken out of a call stands close behind it
      const ReplacedCall& call = replaced_calls_[i];
      if (call.old != operand || arguments.size() != 2 || !arguments[1].is(ArgumentKind::integer)) continue;
      const std::int64_t base = arguments[1].integer() - call.results;
      if (base >= 0 && base < call.bases.count)
        return new_bases_[call.bases.begin + static_cast<std::uint32_t>(base)];
    }
    return no_node;
  }
  /// Makes one of the first form of it: what is written is taken out of the bases, and put back into them. A call of which
  /// that is not known to be the same stays as it is.
  constexpr auto rewrite_bases(Sweep& sweep) -> Status {
    const NodeId id = sweep.id();
    if (!CallOfBases(sweep.graph(), id).is_understood()) return keep(sweep);
    values_.attach(sweep.editor());
    has_rewritten_ = true;
    if (Status done = read_operands(sweep); !done) return done;
    Graph& graph = sweep.graph();
    const CallOfBases old(graph, id);
    const std::uint32_t results = old.result_count();
    const Text schema = schema_of(old, Call(graph, id).schema(), graph.values(id));
    Pool<NodeId> bases;
    for (const Argument& base : old.bases()) bases.push_back(base.node());
    Pool<TensorMeta> metas;
    metas.append(graph.values(id).first(results));
    Pool<Argument> arguments;
    arguments.push_back(graph.arguments(id)[0]);
    arguments.append(old.read_only().view());
    // From here on the graph grows, and texts of it move.
    const std::vector<WrittenParameter>& written = old.written();
    std::vector<Text> names;
    names.reserve(written.size());
    for (const WrittenParameter& p : written) names.emplace_back(p.name);
    sweep.editor().declare_operator(schema);
    Pool<NewValue> tensors;
    for (std::size_t i = 0; i < written.size(); ++i) {
      Pool<Argument> members;
      for (const ViewOfBase& view : written[i].views) {
        if (view.kind == ViewOfBase::Kind::none) continue;
        const NodeId value = take_out(sweep, view, bases[view.base]);
        tensors.push_back({view.base, metas.size(), members.size(), written[i].is_list, meta_of(graph, value)});
        members.push_back(value);
      }
      Argument value;
      if (written[i].is_list && !written[i].is_none)
        value = Argument::group(ArgumentKind::list, graph.add_arguments(members.view()));
      else if (!written[i].is_none)
        value = members[0];
      arguments.push_back(keyword(sweep, names[i], value));
      metas.push_back(written[i].is_list || written[i].is_none ? TensorMeta() : tensors.back().meta);
    }
    const NodeId call = insert_functional(sweep, arguments.view(), metas.view());
    std::uint32_t next = 0;
    for (const WrittenParameter& p : written)
      for (const ViewOfBase& view : p.views) {
        if (view.kind == ViewOfBase::Kind::none) continue;
        const NodeId value = new_value(sweep, call, tensors[next++], tensors.view(), {});
        bases[view.base] = put_back(sweep, view, bases[view.base], value);
      }
    replaced_calls_.push_back({id, results, {new_bases_.size(), bases.size()}});
    for (const NodeId base : bases) new_bases_.push_back(base);
    values_.substitute(id, call);
    sweep.editor().erase(id);
    return {};
  }
  /// The operator's schema; where that is not known, one that says what the call does: what is written, what is not, and how
  /// many results there are.
  [[nodiscard]] static constexpr auto schema_of(const CallOfBases& call, ops::Schema known, Span<const TensorMeta> values)
      -> Text {
    if (known.text() != known.name()) return known.text();
    Text schema = text_of(known.name(), '(');
    std::string_view separator;
    for (const WrittenParameter& p : call.written())
      append_all(schema, std::exchange(separator, ", "), p.is_list ? "Tensor(a!)[] " : "Tensor(a!)? ", p.name);
    for (const Argument& a : call.read_only())
      append_all(schema, std::exchange(separator, ", "), "Any ", call.graph().text(a.keyword()));
    append_to(schema, ") -> (");
    separator = {};
    for (std::uint32_t i = 0; i < call.result_count() && values[0].known; ++i)
      append_all(schema, std::exchange(separator, ", "), "Tensor");
    return schema.append(")");
  }
  /// A view of a base.
  constexpr auto take_out(Sweep& sweep, const ViewOfBase& view, NodeId base) -> NodeId {
    if (view.kind == ViewOfBase::Kind::whole) return base;
    const bool is_slice = view.kind == ViewOfBase::Kind::slice;
    return of_base(sweep, is_slice ? "torch.ops.aten.slice.Tensor" : "torch.ops.aten.as_strided.default",
                   {base, view.arguments[0], view.arguments[1], view.arguments[2]}, base, view.geometry);
  }
  /// The base with `value` in place of a view of it.
  constexpr auto put_back(Sweep& sweep, const ViewOfBase& view, NodeId base, NodeId value) -> NodeId {
    if (view.kind == ViewOfBase::Kind::whole) return value;
    const bool is_slice = view.kind == ViewOfBase::Kind::slice;
    const auto geometry = geometry_of(sweep.graph(), base);
    return of_base(sweep, is_slice ? "torch.ops.aten.slice_scatter.default" : "torch.ops.aten.as_strided_scatter.default",
                   {base, value, view.arguments[0], view.arguments[1], view.arguments[2]}, base, *geometry);
  }
  static constexpr auto of_base(Sweep& sweep, std::string_view target, std::initializer_list<Argument> arguments, NodeId base,
                                const Geometry& geometry) -> NodeId {
    Graph& graph = sweep.graph();
    TensorMeta meta = *graph.tensor(base);
    meta.storage_offset = geometry.offset;
    SmallPool<SymInt, 8> sizes, strides;
    for (const std::int64_t size : geometry.sizes) sizes.push_back(size);
    for (const std::int64_t stride : geometry.strides) strides.push_back(stride);
    const ValueSpec value{ValueKind::tensor, graph.add_meta(meta, sizes.view(), strides.view())};
    return sweep.editor().insert_before(sweep.id(), target, arguments, value);
  }

  /// The last results of `cond` are the new values of the operands that a branch writes.
  constexpr auto rewrite_graph_call(Sweep& sweep, Span<const Write> writes) -> Status {
    values_.attach(sweep.editor());
    has_rewritten_ = true;
    if (Status done = read_operands(sweep); !done) return done;
    values_.define(sweep.id());
    return take_results(sweep, writes);
  }
  /// Results of the node under the cursor become the newest values of what `writes` says.
  constexpr auto take_results(Sweep& sweep, Span<const Write> writes) -> Status {
    const NodeId id = sweep.id();
    const NodeId after{id.index + 1};
    for (const Write& w : writes) {
      const Node node = sweep.graph().node(id);
      const auto metas = sweep.graph().values(id);
      const bool is_tuple = node.value_kind == ValueKind::tuple;
      if (w.result >= metas.size() || !metas[w.result].known || (!is_tuple && w.result != 0))
        return error_at(sweep.graph(), id, DiagnosticCode::missing_metadata,
                        text_of("nothing is known of result ", w.result, ", which an operand is aliased with"));
      const TensorMeta meta = metas[w.result];
      const auto g = geometry_of(sweep.graph(), meta);
      if (!analysis_->view(w.view).has_geometry) return needs_metadata(sweep, id);
      if (!g || meta.dtype != dtype(w.view) || !(same_elements(g->sizes.view(), sizes(w.view))))
        return error_at(sweep.graph(), id, DiagnosticCode::unsupported_mutation,
                        text_of("result ", w.result, " has not the dtype and shape of the operand it is aliased with"));
      const NodeId value =
          is_tuple ? member(sweep, id, w.result, meta, after, values_.modified_name(w.view)) : id;
      values_.write(w.view, value, after);
    }
    return {};
  }

  const AliasAnalysis* analysis_;
  Functionaliser values_;
  RewriteCounts counts_;
  bool has_rewritten_ = false;
  std::uint32_t next_write_ = 0;
  bool wants_every_node_ = false;
  NodeId first_change_;  ///< the node that was replaced first, once there is one
  Pool<Twin> twins_;  ///< of the operators met so far; few
  Pool<TwinParameter> parameters_;
  ParameterTable parameter_table_;
  Pool<Given> given_;             ///< by parameter; kept for its memory, as is the next
  Pool<Argument> twin_arguments_;
  struct ResolvedOperand {
    std::uint32_t view = no_view;
    NodeId value;
  };
  Pool<ResolvedOperand> resolved_;  ///< of the call at hand, what it reads before it writes anything
  NodeId list_ = no_node;  ///< a list of new values that was taken out of a call last,
  NodeId list_call_ = no_node;  ///< of this one,
  std::uint32_t list_result_ = 0;  ///< where it is this result
  Pool<ReplacedCall> replaced_calls_;
  Pool<NodeId> new_bases_;
};

}  // namespace fxpass

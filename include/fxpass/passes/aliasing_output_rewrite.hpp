// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/passes/alias_analyser.hpp>
#include <fxpass/passes/facts.hpp>

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

/// @file
/// `AliasingOutputRewritePass`: every input that ends up written becomes an output.

namespace fxpass {

/// Finds aliases and writes, and appends one output for each input that is written, in the order of the inputs: the
/// input itself, whose value at the end of the program is the one written last. The output's spec names the input
/// (io_map). Counts `original_output_count`.
///
/// Graphs that calls run are treated alike: an operand that a branch of `cond` writes is a result more of both branches and
/// of the call, and the call then is what writes it. Of other operators whose graphs write operands the write is refused.
///
/// Errors: `unsupported_mutation` for a write that cannot be carried out; `eager_would_raise` for one that
/// PyTorch refuses itself; `unknown_kernel` for a kernel of which nobody says what it writes; `unsupported`
/// for a call of a module. O(nodes + arguments + rank of views).
struct AliasingOutputRewritePass {
  static constexpr std::string_view name = "aliasing_output_rewrite";
  using forbids = facts<OutOfPlace>;
  using establishes = facts<AliasesAnalysed, MutationsSurfaced>;
  using keeps = everything;

  /// Where the writes of kernels are looked up that do not declare them. May be null: such a kernel is then an error.
  const KernelRegistry* kernels = nullptr;

  struct State {
    AliasAnalysis* analysis;  ///< the artifact that is filled
    AliasAnalyser analyser;   ///< which fills it
    bool has_changed = false;  ///< the graph: an output more, or what the registry knows of a kernel
    Pool<NodeId> callers = {};  ///< by subgraph: the first call that runs it
  };

  constexpr auto begin(Graph&, Artifacts<AliasingOutputRewritePass>& artifacts, Context&) const -> State {
    AliasAnalysis& analysis = artifacts.template get<AliasesAnalysed>();
    return {&analysis, AliasAnalyser(analysis, kernels)};
  }
  [[nodiscard]] static constexpr auto wants(const Operator& op) -> bool { return AliasAnalyser::concerns(op); }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    if (graph.node(id).kind == NodeKind::output) {
      const std::size_t outputs = graph.outputs().size();
      Status done = append_written_inputs(*state.analysis, graph, id);
      state.has_changed = state.has_changed || graph.outputs().size() != outputs;
      return done;
    }
    if (!graph.subgraphs().empty())
      if (Status done = surface_writes_of_graphs(state, graph, id); !done) return done;
    if (graph.op(id).write_rule == ops::WriteRule::rebinding && graph.op(id).writes) return rebind(state, sweep);
    if (Status visited = state.analyser.visit(graph, id); !visited) return visited;
    // What the registry knew is said in the graph from now on, so that nothing later has to ask it again.
    if (is_kernel_call(graph.op(id))) {
      state.has_changed = true;
      const KernelCall kernel(graph, id);
      if (const auto aliases = kernel_aliases(kernel, kernel.entry_in(kernels))) set_kernel_aliases(graph, kernel, *aliases);
    }
    return {};
  }
  constexpr auto finish(State& state, Graph& graph, Context& context) const -> Status {
    context.count("original_output_count", graph.original_output_count());
    if (!state.has_changed) context.claim_unchanged();
    return {};
  }

 private:
  // Tensors that become views of themselves ----------------------------------------------------------------------------
  /// `x.t_()` becomes the view `t(x)`, which all later uses of x mean.
  static constexpr auto rebind(State& state, Sweep& sweep) -> Status {
    Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    auto names = state.analyser.names_to_rebind(graph, id);
    if (!names) return std::move(names).error();
    if (!make_view(sweep))
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of(Call(graph, id).name(), " makes of its tensor what is no view of elements that are there"));
    state.has_changed = true;
    if (Status visited = state.analyser.visit(graph, id); !visited) return visited;
    if (!agrees_with_metadata(*state.analysis, graph, id, (*names)[0]))
      return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                      text_of("makes of '", graph.name((*names)[0]), "' a tensor of another shape than the graph says: what it "
                              "says of '", graph.name((*names)[0]), "' has to hold before this change; note shapes as tensors "
                              "are made, as torch.fx.passes.fake_tensor_prop does"));
    for (Argument& a : graph.mutable_arguments(id))
      if (a.is_node()) a = Argument(sweep.replacement(a.node())).with_keyword(a.keyword());
    for (const NodeId of : *names) sweep.editor().replace_uses(of, id);
    state.analyser.rebind(names->view(), id);
    return {};
  }
  /// Has the node call the operator that gives as a view what its tensor is to be. Whether there is one.
  static constexpr auto make_view(Sweep& sweep) -> bool {
    Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    const Call call(graph, id);
    const ops::Schema schema = call.schema();
    const std::string_view base = schema.base();
    if (base == "aten.set_" || base == "aten.set_data") {
      const NodeId source = call.operand(base == "aten.set_" ? "source" : "new_data");
      if (source == no_node) return false;
      if (schema.overload() == "source_Tensor_storage_offset") {
        const auto size = call.given("size");
        const auto stride = call.given("stride");
        const auto offset = call.given("storage_offset");
        return size && stride && offset && become(sweep, "torch.ops.aten.as_strided.default", {source, *size, *stride, *offset});
      }
      if (graph.tensor(id) == nullptr) {  // x.data = y has no value
        const Node from = graph.node(source);
        graph.mutable_node(id).values = from.values;
        graph.mutable_node(id).value_kind = from.value_kind;
      }
      return become(sweep, "torch.ops.aten.alias.default", {source});
    }
    if (base == "aten.resize_" || base == "aten.resize_as_") return make_resized(sweep);
    const ops::CatalogRow row = ops::functional_twin(graph.op(id).row);
    if (row == ops::no_row) return false;
    sweep.editor().retarget(id, text_of("torch.ops.", ops::schema(row).name()));
    return true;
  }
  /// Whether the view that `object` becomes has the sizes that its metadata states. Dynamo notes of a tensor what it is in the
  /// end, wherever it is noted.
  static constexpr auto agrees_with_metadata(const AliasAnalysis& analysis, const Graph& graph, NodeId id, NodeId object)
      -> bool {
    const auto stated = geometry_of(graph, id);
    const std::uint32_t found = analysis.view_of(id);
    if (!stated || found == no_view || !analysis.view(found).has_geometry) return true;
    if (const auto before = geometry_of(graph, object); before && Call(graph, id).schema().base() == "aten.unsqueeze")
      return stated->rank() == before->rank() + 1;
    return same_elements(stated->sizes.view(), analysis.sizes(analysis.view(found)));
  }
  /// A tensor of another shape holds the first elements of the old one, as far as these lie one after the other.
  static constexpr auto make_resized(Sweep& sweep) -> bool {
    const Graph& graph = sweep.graph();
    const NodeId self = detail::written_operand(Call(graph, sweep.id()));
    const auto now = geometry_of(graph, self);
    const auto wanted = geometry_of(graph, sweep.id());
    if (!now || !wanted) return false;
    if (same_elements(now->sizes.view(), wanted->sizes.view()))
      return same_elements(now->strides.view(), wanted->strides.view()) &&
             become(sweep, "torch.ops.aten.alias.default", {self});
    if (!is_contiguous(*now) || !is_contiguous(*wanted) || wanted->element_count() > now->element_count()) return false;
    const Argument size = numbers(sweep, wanted->sizes.view());
    const Argument stride = numbers(sweep, wanted->strides.view());
    return become(sweep, "torch.ops.aten.as_strided.default", {self, size, stride, now->offset});
  }
  static constexpr auto numbers(Sweep& sweep, Span<const std::int64_t> values) -> Argument {
    Pool<Argument> items;
    for (const std::int64_t value : values) items.push_back(value);
    return Argument::group(ArgumentKind::list, sweep.graph().add_arguments(items.view()));
  }
  static constexpr auto become(Sweep& sweep, std::string_view target, std::initializer_list<Argument> arguments) -> bool {
    Pool<Argument> positional;
    for (const Argument& a : arguments) positional.push_back(a.with_keyword({}));
    sweep.graph().set_arguments(sweep.id(), positional.view());
    sweep.editor().retarget(sweep.id(), target);
    return true;
  }

  // Graphs that a call runs ------------------------------------------------------------------------------------------
  /// Has each graph that the call runs return the operands that it writes.
  constexpr auto surface_writes_of_graphs(State& state, Graph& graph, NodeId id) const -> Status {
    Pool<std::uint32_t> numbers;
    graph.for_each_subgraph(id, [&](std::uint32_t number) { numbers.push_back(number); });
    const bool is_cond = detail::cond_operands(graph, id).has_value();
    for (const std::uint32_t number : numbers) {
      if (state.callers.size() <= number) state.callers.resize(number + 1, no_node);
      if (state.callers[number] != no_node) continue;
      state.callers[number] = id;
      if (Status done = surface_writes(state, graph.mutable_subgraph(number), is_cond); !done)
        return detail::in_subgraph(number, std::move(done.error()));
    }
    if (is_cond) return surface_writes_of_cond(state, graph, id);
    return {};
  }
  constexpr auto surface_writes(State& state, Graph& inner, bool may_write_inputs) const -> Status {
    detail::ArtifactSlots<AliasesAnalysed> slots;
    Context context;
    auto outcome = detail::SweepRunner<AliasingOutputRewritePass>::run(
        inner, &context, Artifacts<AliasingOutputRewritePass>(slots), *this);
    if (outcome.failed != detail::no_pass) return std::move(outcome.errors);
    state.has_changed = state.has_changed || !context.claims_unchanged();
    if (may_write_inputs) return {};
    Pool<std::uint8_t> none;
    none.resize(static_cast<std::uint32_t>(inner.inputs().size()), 0);
    const auto& slot = static_cast<const detail::ArtifactSlot<AliasesAnalysed>&>(slots);
    return AliasAnalyser::refuse_writes_of_inputs(inner, slot.value, none.view());
  }
  /// What one branch writes, the other returns as it is; and both are results of the call.
  static constexpr auto surface_writes_of_cond(State& state, Graph& graph, NodeId id) -> Status {
    const std::uint32_t branches[] = {graph.arguments(id)[1].subgraph(), graph.arguments(id)[2].subgraph()};
    const Pool<std::uint32_t> written = written_by(graph.subgraphs()[branches[0]], graph.subgraphs()[branches[1]]);
    if (written.empty()) return {};
    const Graph& first = graph.subgraphs()[branches[0]];
    if (graph.node(id).value_kind != ValueKind::tuple || graph.values(id).size() != first.original_output_count())
      return error_at(graph, id, DiagnosticCode::missing_metadata,
                      "a branch writes into an operand, and it is not known what the call returns");
    for (const std::uint32_t branch : branches)
      if (return_inputs(graph.mutable_subgraph(branch), written.view()) && state.callers[branch] != id)
        return error_at(graph, id, DiagnosticCode::unsupported_mutation,
                        text_of("one of its graphs writes into an operand, and one is run by '",
                                graph.name(state.callers[branch]), "' too"));
    Pool<TensorMeta> results;
    results.append(graph.values(id));
    for (const std::uint32_t input : written) {
      const auto operands = *detail::cond_operands(graph, id);
      const TensorMeta* meta =
          input < operands.size() && operands[input].is_node() ? graph.tensor(operands[input].node()) : nullptr;
      if (meta == nullptr)
        return error_at(graph, id, DiagnosticCode::missing_metadata,
                        text_of("a branch writes into operand ", input, ", of which nothing is known"));
      results.push_back(*meta);
    }
    const Range values = graph.add_metas(results.view());
    graph.mutable_node(id).values = values;
    return {};
  }
  /// The inputs that have a new value among the outputs of one of the graphs, in ascending order.
  [[nodiscard]] static constexpr auto written_by(const Graph& a, const Graph& b) -> Pool<std::uint32_t> {
    Pool<std::uint8_t> is_written = detail::surfaced_inputs(a);
    const Pool<std::uint8_t> by_b = detail::surfaced_inputs(b);
    if (is_written.size() < by_b.size()) is_written.resize(by_b.size(), 0);
    Pool<std::uint32_t> written;
    for (std::uint32_t i = 0; i < is_written.size(); ++i)
      if (is_written[i] != 0 || (i < by_b.size() && by_b[i] != 0)) written.push_back(i);
    return written;
  }
  /// Has a graph return `inputs`, in that order, behind its own results. Whether it did not.
  static constexpr auto return_inputs(Graph& inner, Span<const std::uint32_t> inputs) -> bool {
    const std::uint32_t own = inner.original_output_count();
    const std::uint32_t before = static_cast<std::uint32_t>(inner.outputs().size());
    Pool<Argument> values;
    values.append(inner.arguments(inner.output_node()).first(own));
    for (const std::uint32_t input : inputs) {
      OutputSpec spec;
      spec.kind = OutputKind::user_input_mutation;
      spec.input = input;
      const std::uint32_t at = values.size();
      if (at == inner.outputs().size()) inner.add_output(spec);
      inner.mutable_outputs()[at] = spec;
      values.push_back(inner.inputs()[input].node);
    }
    inner.set_arguments(inner.output_node(), values.view());
    return inner.outputs().size() != before;
  }

  static constexpr auto append_written_inputs(const AliasAnalysis& analysis, Graph& graph, NodeId output) -> Status {
    Pool<Argument> values;
    values.append(graph.arguments(output));
    const Pool<std::uint8_t> surfaced = detail::surfaced_inputs(graph);
    for (std::uint32_t i = 0; i < surfaced.size(); ++i) {
      const InputSpec input = graph.inputs()[i];
      const std::uint32_t view = analysis.view_of(input.node);
      if (view == no_view || !analysis.storage_of(view).written) continue;
      if (surfaced[i] != 0)
        return error_at(graph, input.node, DiagnosticCode::unsupported_mutation,
                        "is written in place and also has its new value among the outputs already");
      values.push_back(input.node);
      OutputSpec spec;
      const bool is_state = input.kind == InputKind::buffer || input.kind == InputKind::tensor_constant;
      spec.kind = is_state                               ? OutputKind::buffer_mutation
                  : input.kind == InputKind::parameter ? OutputKind::parameter_mutation
                                                       : OutputKind::user_input_mutation;
      spec.input = i;
      spec.target = input.target;
      graph.add_output(spec);
    }
    if (values.size() != graph.arguments(output).size()) graph.set_arguments(output, values.view());
    return {};
  }
};

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/passes/alias_analyser.hpp>
#include <fxpass/passes/facts.hpp>

#include <string_view>

/// @file
/// `AliasingOutputRewritePass`: every input that ends up written becomes an output.

namespace fxpass {

/// Finds aliases and writes, and appends one output for each input that is written, in the order of the inputs: the
/// input itself, whose value at the end of the program is the one written last. The output's spec names the input
/// (io_map). Counts `original_output_count`.
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
      spec.kind = input.kind == InputKind::buffer      ? OutputKind::buffer_mutation
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/passes/facts.hpp>
#include <fxpass/passes/out_of_place.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

/// @file
/// `InPlaceToOutOfPlacePass`: no operation writes any more; every write has become a value.

namespace fxpass {

/// Carries out each write out of place: the new value of the written view is computed, broadcast to its shape and cast
/// to its dtype as PyTorch does, put into its storage, and read from there by everything that comes later, whatever
/// view it uses. What PyTorch refuses is an error here, with the node's name.
///
/// Values written into `x` are named `x_modified`, `x_modified_1`, ... Results of kernels are snapshots: `k` read
/// after a later write still is what kernel k returned, while the operand it aliases is the newest value.
/// Counts `inplace_methods`, `copy_`, `setitem`.
///
/// Graphs that calls run are rewritten too, each by an analysis of its own. What a branch of `cond` writes into an operand
/// is a result of the call, and from then on the operand's newest value.
///
/// Errors: `unsupported_mutation` for a write, or a read behind one, that cannot be carried out;
/// `eager_would_raise`; `missing_metadata` where shape or dtype of what is written is not known. O(nodes +
/// operands + new nodes).
struct InPlaceToOutOfPlacePass {
  static constexpr std::string_view name = "inplace_to_outofplace";
  using needs = facts<AliasesAnalysed, MutationsSurfaced>;
  using establishes = facts<OutOfPlace>;
  using keeps = everything_but<AliasesAnalysed>;

  /// Forward pass: what it keeps during a run.
  struct State {
    OutOfPlaceRewriter rewriter;      ///< the writes that were met so far
    Context nested;                   ///< what was said of graphs that calls run
    Pool<std::uint8_t> is_done = {};  ///< by subgraph
  };

  constexpr auto begin(Graph&, Artifacts<InPlaceToOutOfPlacePass>& artifacts, Context&) const -> State {
    State state{OutOfPlaceRewriter(artifacts.template get<AliasesAnalysed>()), {}};
    state.nested.claim_unchanged();
    return state;
  }
  [[nodiscard]] static constexpr auto wants(const Operator& op) -> bool { return OutOfPlaceRewriter::concerns(op); }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    if (!sweep.graph().subgraphs().empty())
      if (Status done = rewrite_graphs_of(state, sweep); !done) return done;
    return state.rewriter.visit(sweep);
  }
  constexpr auto finish(State& state, Graph&, Context& context) const -> Status {
    context.count("inplace_methods", state.rewriter.counts().in_place_methods);
    context.count("copy_", state.rewriter.counts().copies);
    context.count("setitem", state.rewriter.counts().setitems);
    if (!state.rewriter.has_rewritten()) context.claim_unchanged();
    context.add_nested(state.nested);
    return {};
  }

 private:
  /// The graphs that the node visited runs.
  constexpr auto rewrite_graphs_of(State& state, Sweep& sweep) const -> Status {
    Graph& graph = sweep.graph();
    Status status;
    graph.for_each_subgraph(sweep.id(), [&](std::uint32_t number) {
      if (state.is_done.size() <= number) state.is_done.resize(number + 1, 0);
      if (!status || state.is_done[number] != 0) return;
      state.is_done[number] = 1;
      status = rewrite(state, graph.mutable_subgraph(number));
      if (!status) status = detail::in_subgraph(number, std::move(status.error()));
    });
    return status;
  }
  /// Analyses the graph anew, which takes no longer than to rewrite it: so nothing that other passes have done to it since
  /// it was analysed last can be missed. What kernels write, their calls say by now.
  constexpr auto rewrite(State& state, Graph& inner) const -> Status {
    detail::ArtifactSlots<AliasesAnalysed> slots;
    AliasAnalyser analyser(static_cast<detail::ArtifactSlot<AliasesAnalysed>&>(slots).value, nullptr);
    if (Status visited = analyser.visit_all(inner); !visited) return visited;
    Context context;
    auto outcome = detail::SweepRunner<InPlaceToOutOfPlacePass>::run(
        inner, &context, Artifacts<InPlaceToOutOfPlacePass>(slots), *this);
    if (outcome.failed != detail::no_pass) return std::move(outcome.errors);
    state.nested.add_nested(context);
    // The call writes by now what the graph wrote: its last results are like any other.
    for (OutputSpec& output : inner.mutable_outputs())
      if (is_mutation(output.kind)) output = OutputSpec();
    return {};
  }
};

}  // namespace fxpass

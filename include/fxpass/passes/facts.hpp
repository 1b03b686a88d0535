// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/fact.hpp>
#include <fxpass/passes/alias_analyser.hpp>

#include <string_view>
#include <utility>

/// @file
/// The facts that the five passes establish and lowering needs.

namespace fxpass {

struct DeviceRewriterPass;
struct AliasingOutputRewritePass;
struct InPlaceToOutOfPlacePass;
struct NkiKernelWriteBackendConfigPass;
struct CollectiveReplicaGroupsPass;

namespace detail {
/// Whether the node writes into an operand, given its arguments: batch_norm does in training mode only.
[[nodiscard]] constexpr auto writes(const Graph& graph, NodeId id) -> bool {
  return graph.op(id).writes && may_update_statistics(graph, id);
}
/// For each input whether an output is its new value. O(inputs + outputs).
[[nodiscard]] constexpr auto surfaced_inputs(const Graph& graph) -> Pool<std::uint8_t> {
  Pool<std::uint8_t> surfaced;
  surfaced.resize(static_cast<std::uint32_t>(graph.inputs().size()), 0);
  for (const OutputSpec& spec : graph.outputs())
    if (is_mutation(spec.kind) && spec.input < surfaced.size()) surfaced[spec.input] = 1;
  return surfaced;
}
/// The first error of `check` at a node of the graph, or of a graph that one of its nodes runs. O(nodes + arguments), and
/// what `check` takes.
template <class Check>
constexpr auto check_nodes(const Graph& graph, Check&& check) -> Status {
  for (NodeId id; id.index < graph.node_count(); ++id.index)
    if (Status done = check(graph, id); !done) return done;
  for (const std::uint32_t number : graph.subgraphs_in_use())
    if (Status done = check_nodes(graph.subgraphs()[number], check); !done)
      return in_subgraph(number, std::move(done.error()));
  return {};
}
}  // namespace detail

/// Every device argument names the target. The check sees only whether they agree with each other.
struct OnTargetDevice {
  static constexpr std::string_view name = "on_target_device";
  using provider = DeviceRewriterPass;

  static constexpr auto check(const Graph& graph) -> Status {
    std::string_view first;
    return detail::check_nodes(graph, [&](const Graph& g, NodeId id) -> Status {
      for (const Argument& a : g.arguments(id)) {
        if (!a.is(ArgumentKind::device)) continue;
        const std::string_view device = g.device(a.device());
        const std::string_view type = device.substr(0, device.find(':'));
        if (first.empty()) first = type;
        if (type != first)
          return error_at(g, id, DiagnosticCode::fact_violated,
                          text_of("names device '", type, "', an earlier node '", first, "'"));
      }
      return {};
    });
  }
};

/// It is known which values share storage and who writes where.
struct AliasesAnalysed {
  static constexpr std::string_view name = "aliases_analysed";
  using provider = AliasingOutputRewritePass;
  using artifact = AliasAnalysis;
  /// Writes and storages are those of nodes at their places: what is put in or taken out may be one of them.
  static constexpr bool of_nodes_in_place = true;
};

/// Every input that the program writes has an output that is its new value: io_map is complete.
struct MutationsSurfaced {
  static constexpr std::string_view name = "mutations_surfaced";
  using provider = AliasingOutputRewritePass;

  /// O(nodes + arguments): analyses the graph anew.
  static constexpr auto check(const Graph& graph) -> Status {
    AliasAnalysis analysis;
    AliasAnalyser analyser(analysis, nullptr, UnknownKernels::take_for_pure);
    if (Status visited = analyser.visit_all(graph); !visited) return visited;
    const Pool<std::uint8_t> surfaced = detail::surfaced_inputs(graph);
    for (std::uint32_t i = 0; i < surfaced.size(); ++i) {
      const NodeId input = graph.inputs()[i].node;
      const std::uint32_t view = analysis.view_of(input);
      if (view == no_view || !analysis.storage_of(view).written) continue;
      if (surfaced[i] == 0)
        return error_at(graph, input, DiagnosticCode::fact_violated, "is written, but no output is its new value");
    }
    return {};
  }
};

/// No node writes into an operand.
struct OutOfPlace {
  static constexpr std::string_view name = "out_of_place";
  using provider = InPlaceToOutOfPlacePass;

  static constexpr auto check(const Graph& graph) -> Status {
    return detail::check_nodes(graph, [](const Graph& g, NodeId id) -> Status {
      if (!detail::writes(g, id)) return {};
      return error_at(g, id, DiagnosticCode::fact_violated, text_of(g.target(id), " writes into an operand"));
    });
  }
};

/// Every kernel call carries its backend configuration.
struct KernelsConfigured {
  static constexpr std::string_view name = "kernels_configured";
  using provider = NkiKernelWriteBackendConfigPass;

  static constexpr auto check(const Graph& graph) -> Status {
    return detail::check_nodes(graph, [](const Graph& g, NodeId id) -> Status {
      if (!is_kernel_call(g.op(id)) || !KernelCall(g, id).backend_config().empty()) return {};
      return error_at(g, id, DiagnosticCode::fact_violated, "is a kernel call without backend_config");
    });
  }
};

/// Every collective carries the replica groups of the whole world.
struct ReplicaGroupsResolved {
  static constexpr std::string_view name = "replica_groups_resolved";
  using provider = CollectiveReplicaGroupsPass;

  static constexpr auto check(const Graph& graph) -> Status {
    return detail::check_nodes(graph, [](const Graph& g, NodeId id) -> Status {
      if (!g.op(id).names_group || g.replica_groups(id) != nullptr) return {};
      return error_at(g, id, DiagnosticCode::fact_violated, "is a collective without replica groups");
    });
  }
};

}  // namespace fxpass

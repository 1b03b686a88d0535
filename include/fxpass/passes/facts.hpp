// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/fact.hpp>
#include <fxpass/passes/alias_analyser.hpp>

#include <string_view>

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
}  // namespace detail

/// Every device argument names the target. The check sees only whether they agree with each other.
struct OnTargetDevice {
  static constexpr std::string_view name = "on_target_device";
  using provider = DeviceRewriterPass;

  static constexpr auto check(const Graph& graph) -> Status {
    std::string_view first;
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      for (const Argument& a : graph.arguments(NodeId{i})) {
        if (!a.is(ArgumentKind::device)) continue;
        const std::string_view device = graph.device(a.device());
        const std::string_view type = device.substr(0, device.find(':'));
        if (first.empty()) first = type;
        if (type != first)
          return error_at(graph, NodeId{i}, DiagnosticCode::fact_violated,
                          text_of("names device '", type, "', an earlier node '", first, "'"));
      }
    return {};
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
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (Status visited = analyser.visit(graph, NodeId{i}); !visited) return visited;
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
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (detail::writes(graph, NodeId{i}))
        return error_at(graph, NodeId{i}, DiagnosticCode::fact_violated,
                        text_of(graph.target(NodeId{i}), " writes into an operand"));
    return {};
  }
};

/// Every kernel call carries its backend configuration.
struct KernelsConfigured {
  static constexpr std::string_view name = "kernels_configured";
  using provider = NkiKernelWriteBackendConfigPass;

  static constexpr auto check(const Graph& graph) -> Status {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (is_kernel_call(graph.op(NodeId{i})) && KernelCall(graph, NodeId{i}).backend_config().empty())
        return error_at(graph, NodeId{i}, DiagnosticCode::fact_violated, "is a kernel call without backend_config");
    return {};
  }
};

/// Every collective carries the replica groups of the whole world.
struct ReplicaGroupsResolved {
  static constexpr std::string_view name = "replica_groups_resolved";
  using provider = CollectiveReplicaGroupsPass;

  static constexpr auto check(const Graph& graph) -> Status {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (graph.op(NodeId{i}).names_group && graph.replica_groups(NodeId{i}) == nullptr)
        return error_at(graph, NodeId{i}, DiagnosticCode::fact_violated, "is a collective without replica groups");
    return {};
  }
};

}  // namespace fxpass

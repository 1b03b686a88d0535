// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/pass/process_groups.hpp>
#include <fxpass/passes/facts.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// `CollectiveReplicaGroupsPass`: process-group names become replica groups.

namespace fxpass {

/// Writes the complete partition of all ranks beside each collective that names a process group. A name is looked up
/// among the registered groups; the default group ("0"), and a group as large as the world, is the world. Any other
/// name is an error: taking the world for a group that nobody knows would silently sum too much.
/// Counts `resolved_count`, the collectives.
///
/// Error: `unresolved_group`. O(operators + collectives x groups named + ranks).
struct CollectiveReplicaGroupsPass {
  static constexpr std::string_view name = "collective_replica_groups";
  using establishes = facts<ReplicaGroupsResolved>;
  using keeps = everything;

  /// May be null: then no group is known.
  const ProcessGroups* groups = nullptr;

  /// A process group as a collective names it, and the partition that the graph got for it.
  struct Resolved {
    TextId name;                  ///< of the group
    std::uint32_t partition = 0;  ///< as `Node::replica_groups` stores it
  };
  /// Where an operator has the name of its group.
  struct Place {
    OpId op;                     ///< the collective's
    std::uint32_t position = 0;  ///< among positional arguments
  };
  struct State {
    Pool<Resolved> resolved;          ///< each name once; few
    std::int64_t resolved_count = 0;  ///< collectives so far
    Pool<Place> places;               ///< of the operators met; few
  };

  constexpr auto begin(Graph&, Artifacts<CollectiveReplicaGroupsPass>&, Context&) const -> State { return {}; }
  [[nodiscard]] static constexpr auto wants(const Operator& op) -> bool {
    return op.kind == NodeKind::call_function && op.names_group;
  }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    const TextId group = group_of(state, graph, id);
    if (group == TextId{}) return error_at(graph, id, DiagnosticCode::unresolved_group, "names no process group");
    std::uint32_t partition = find(state, graph, group);
    if (partition == 0) {
      const auto added = add_partition(graph, id, graph.text(group), Call(graph, id).integer("group_size"));
      if (!added) return added.error();
      partition = *added;
      state.resolved.push_back({group, partition});
    }
    graph.mutable_node(id).replica_groups = partition;
    ++state.resolved_count;
    return {};
  }
  constexpr auto finish(State& state, Graph&, Context& context) const -> Status {
    context.count("resolved_count", state.resolved_count);
    if (state.resolved_count == 0) context.claim_unchanged();
    return {};
  }

 private:
  static constexpr std::uint32_t not_positional = 0xffffffffU;

  /// The name of the group of a collective; none if it names none.
  static constexpr auto group_of(State& state, const Graph& graph, NodeId id) -> TextId {
    const auto arguments = graph.arguments(id);
    const std::uint32_t position = place_of(state, graph, graph.node(id).op);
    const bool is_positional = position < arguments.size() && !arguments[position].is_keyword();
    Argument group;
    if (is_positional)
      group = arguments[position];
    else
      group = Call(graph, id).given("group_name").value_or(Argument());
    return group.is(ArgumentKind::string) ? group.text() : TextId();
  }
  static constexpr auto place_of(State& state, const Graph& graph, OpId op) -> std::uint32_t {
    for (const Place& place : state.places)
      if (place.op == op) return place.position;
    const auto found = graph.schema(graph.op(op)).find("group_name");
    const bool is_positional = found && !found->parameter.keyword_only && graph.op(op).parameters == TextId{};
    state.places.push_back({op, is_positional ? found->position : not_positional});
    return state.places.back().position;
  }
  /// The partition of a group that has been met; 0 if it has not. A name is one text of the graph, as a rule.
  static constexpr auto find(const State& state, const Graph& graph, TextId group) -> std::uint32_t {
    for (const Resolved& r : state.resolved)
      if (r.name == group) return r.partition;
    for (const Resolved& r : state.resolved)
      if (graph.text(r.name) == graph.text(group)) return r.partition;
    return 0;
  }
  constexpr auto add_partition(Graph& graph, NodeId id, std::string_view group,
                               std::optional<std::int64_t> group_size) const -> Expected<std::uint32_t> {
    const ProcessGroups::Group* known = groups != nullptr ? groups->find(group) : nullptr;
    if (known != nullptr) return graph.add_partition(known->ranks.view(), known->group_size);
    const std::int64_t world = groups != nullptr ? groups->world_size() : 0;
    if (world > 0 && (group == "0" || group_size == world)) {
      Pool<std::int64_t> ranks;
      for (std::int64_t rank = 0; rank < world; ++rank) ranks.push_back(rank);
      return graph.add_partition(ranks.view(), static_cast<std::uint32_t>(world));
    }
    return error_at(graph, id, DiagnosticCode::unresolved_group,
                    text_of("names process group '", group, "', of which no partition of all ranks is registered "
                            "(--process-group ", group, "=0,1;2,3)"));
  }
};

}  // namespace fxpass

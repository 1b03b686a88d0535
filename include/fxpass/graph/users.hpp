// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/graph.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>

/// @file
/// `Users`: which nodes use which, as a table beside the graph.

namespace fxpass {

namespace detail {
/// Calls `visit(operand, user)` once for each pair, the last user first. An operand that is no node of the graph, which a
/// pass may leave that erased what was in use, is passed over: a graph that is broken can still be printed.
template <class F>
constexpr void for_each_use_backwards(const Graph& graph, F visit) {
  Pool<NodeId> last_user;
  last_user.resize(graph.node_count(), no_node);
  for (std::uint32_t i = graph.node_count(); i-- > 0;)
    graph.for_each_operand(NodeId{i}, [&](NodeId operand) {
      if (!graph.holds(operand) || last_user[operand.index] == NodeId{i}) return;
      last_user[operand.index] = NodeId{i};
      visit(operand, NodeId{i});
    });
}
}  // namespace detail

/// The users of each node of one graph, in program order. A graph holds operands only, so that editing it is cheap; who
/// has to look the other way makes this table. Valid for the graph it was made of, as long as no operand changes.
///
///     const Users users(graph);
///     const bool is_read = !users[id].empty();
class Users {
 public:
  /// O(nodes + arguments).
  constexpr explicit Users(const Graph& graph) {
    const std::uint32_t count = graph.node_count();
    // Counts, then where each node's users end, then, filling from behind, where they begin.
    begin_.resize(count + 1, 0);
    detail::for_each_use_backwards(graph, [&](NodeId operand, NodeId) { ++begin_[operand.index]; });
    std::uint32_t total = 0;
    for (std::uint32_t& b : begin_) b = total += b;
    users_.resize(total);
    detail::for_each_use_backwards(graph, [&](NodeId operand, NodeId user) { users_[--begin_[operand.index]] = user; });
  }

  /// The nodes that use `id`; one that uses it twice stands once.
  [[nodiscard]] constexpr auto operator[](NodeId id) const -> Span<const NodeId> {
    return users_.view(Range{begin_[id.index], begin_[id.index + 1] - begin_[id.index]});
  }

 private:
  Pool<std::uint32_t> begin_;  ///< of each node's users, in `users_`; one more at the end
  Pool<NodeId> users_;
};

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/builder.hpp>
#include <fxpass/graph/users.hpp>

#include "twice.hpp"

#include <algorithm>
#include <initializer_list>

namespace {

using namespace fxpass;

constexpr auto are(fxpass::Span<const NodeId> users, std::initializer_list<NodeId> expected) -> bool {
  return std::equal(users.begin(), users.end(), expected.begin(), expected.end());
}

constexpr auto users_stand_in_program_order() -> bool {
  GraphBuilder g;
  const NodeId x = g.placeholder("x", {});
  const NodeId a = g.call_function("torch.neg", {x});
  const NodeId b = g.call_function("torch.add", {x, a});
  const NodeId c = g.call_function("torch.mul", {a, b});
  const NodeId out = g.output({c, x});
  const Users users(g.graph());
  return are(users[x], {a, b, out}) && are(users[a], {b, c}) && are(users[b], {c}) && are(users[c], {out}) &&
         users[out].empty();
}
FXPASS_TEST_TWICE(users_stand_in_program_order)

constexpr auto one_that_uses_a_node_twice_stands_once() -> bool {
  GraphBuilder g;
  const NodeId x = g.placeholder("x", {});
  const NodeId unused = g.placeholder("unused", {});
  const NodeId sum = g.call_function("torch.add", {x, g.keyword("other", x)});
  const NodeId both = g.call_function("torch.cat", {g.list({x, sum, g.tuple_of({x})})});
  g.output({});
  const Users users(g.graph());
  return are(users[x], {sum, both}) && are(users[sum], {both}) && users[unused].empty() && users[both].empty();
}
FXPASS_TEST_TWICE(one_that_uses_a_node_twice_stands_once)

}  // namespace

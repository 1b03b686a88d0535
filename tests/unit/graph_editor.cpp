// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/editor.hpp>
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/verify.hpp>

#include "twice.hpp"

namespace {

using namespace fxpass;

constexpr auto printed(const Graph& graph) -> Text { return text_of(graph); }

struct Chain {
  Graph graph;
  NodeId x{0}, a{1}, b{2}, c{3}, out{4};
};
/// a = add(x, 1); b = mul(a, 2); c = sub(b, a); return (c, a)
constexpr auto chain() -> Chain {
  GraphBuilder g;
  const NodeId x = g.placeholder("x", g.tensor(DType::f32, {2}));
  const NodeId a = g.call_function("torch.add", {x, 1}, {}, "a");
  const NodeId b = g.call_function("torch.mul", {a, 2}, {}, "b");
  const NodeId c = g.call_function("torch.sub", {b, a}, {}, "c");
  g.output({c, a});
  return {std::move(g).finish()};
}

constexpr auto an_edit_without_changes_changes_nothing() -> bool {
  Chain t = chain();
  Editor edit(t.graph);
  const Renumbering moved = edit.commit();
  return t.graph == chain().graph && moved.size() == 5 && moved[t.c] == t.c;
}
FXPASS_TEST_TWICE(an_edit_without_changes_changes_nothing)

constexpr auto a_node_is_replaced_by_its_twin() -> bool {
  Chain t = chain();
  Editor edit(t.graph);
  const NodeId twin = edit.insert_before(t.b, "torch.ops.aten.neg.default", {t.a}, {});
  edit.replace_uses(t.b, twin);
  edit.erase(t.b);
  const Renumbering moved = edit.commit();
  return verify(t.graph).has_value() && moved[t.b] == no_node && moved[twin] == NodeId{2} &&
         moved[t.c] == NodeId{3} &&
         printed(t.graph) ==
             "graph():\n"
             "    %x : [num_users=1] = placeholder[target=x]\n"
             "    %a : [num_users=3] = call_function[target=torch.add](args = (%x, 1), kwargs = {})\n"
             "    %neg : [num_users=1] = call_function[target=torch.ops.aten.neg.default](args = (%a,), "
             "kwargs = {})\n"
             "    %c : [num_users=1] = call_function[target=torch.sub](args = (%neg, %a), kwargs = {})\n"
             "    return (c, a)\n";
}
FXPASS_TEST_TWICE(a_node_is_replaced_by_its_twin)

constexpr auto a_replacement_may_use_what_it_replaces() -> bool {
  Chain t = chain();
  Editor edit(t.graph);
  const NodeId wrapped = edit.insert_before(t.b, "torch.neg", {t.a}, {});
  edit.replace_uses(t.a, wrapped);
  edit.commit();
  return verify(t.graph).has_value() &&
         printed(t.graph) ==
             "graph():\n"
             "    %x : [num_users=1] = placeholder[target=x]\n"
             "    %a : [num_users=1] = call_function[target=torch.add](args = (%x, 1), kwargs = {})\n"
             "    %neg : [num_users=3] = call_function[target=torch.neg](args = (%a,), kwargs = {})\n"
             "    %b : [num_users=1] = call_function[target=torch.mul](args = (%neg, 2), kwargs = {})\n"
             "    %c : [num_users=1] = call_function[target=torch.sub](args = (%b, %neg), kwargs = {})\n"
             "    return (c, neg)\n";
}
FXPASS_TEST_TWICE(a_replacement_may_use_what_it_replaces)

constexpr auto insertions_may_come_in_any_order() -> bool {
  Chain t = chain();
  Editor edit(t.graph);
  edit.insert_before(t.out, "torch.f4", {t.c}, {});
  edit.insert_before(t.a, "torch.f1", {t.x}, {});
  edit.insert_before(t.c, "torch.f3", {t.b}, {});
  const NodeId second = edit.insert_before(t.a, "torch.f2", {t.x}, {});
  const Renumbering moved = edit.commit();
  return verify(t.graph).has_value() && moved[second] == NodeId{2} && moved[t.out] == NodeId{8} &&
         t.graph.name(NodeId{1}) == "f1" && t.graph.name(NodeId{2}) == "f2" &&
         t.graph.name(NodeId{3}) == "a" && t.graph.name(NodeId{4}) == "b" &&
         t.graph.name(NodeId{5}) == "f3" && t.graph.name(NodeId{6}) == "c" && t.graph.name(NodeId{7}) == "f4";
}
FXPASS_TEST_TWICE(insertions_may_come_in_any_order)

constexpr auto erasing_may_come_in_any_order_and_twice() -> bool {
  for (const bool forwards : {true, false}) {
    Chain t = chain();
    Editor edit(t.graph);
    edit.replace_uses(t.c, t.x);
    edit.replace_uses(t.a, t.x);
    for (const std::uint32_t i : {1u, 2u, 3u}) edit.erase(NodeId{forwards ? i : 4 - i});
    edit.erase(t.b);
    const NodeId late = edit.insert_before(t.out, "torch.neg", {t.x}, {});
    edit.erase(late);
    edit.commit();
    if (!verify(t.graph).has_value() || t.graph.node_count() != 2 ||
        t.graph.arguments(t.graph.output_node())[0].node() != t.x)
      return false;
  }
  return true;
}
FXPASS_TEST_TWICE(erasing_may_come_in_any_order_and_twice)

constexpr auto erasing_what_is_used_is_found_by_verify() -> bool {
  Chain t = chain();
  Editor edit(t.graph);
  edit.erase(t.b);
  edit.commit();
  const Status status = verify(t.graph);
  return !status && status.error().size() == 1 && status.error().front().node == "c";
}
FXPASS_TEST_TWICE(erasing_what_is_used_is_found_by_verify)

constexpr auto chains_of_replacements_are_followed() -> bool {
  Chain t = chain();
  Editor edit(t.graph);
  edit.replace_uses(t.c, t.b);
  edit.replace_uses(t.b, t.a);
  edit.replace_uses(t.a, t.x);
  edit.commit();
  return t.graph.arguments(t.out)[0].node() == t.x && t.graph.arguments(t.b)[0].node() == t.x &&
         t.graph.arguments(t.c)[0].node() == t.x;
}
FXPASS_TEST_TWICE(chains_of_replacements_are_followed)

constexpr auto a_chain_that_comes_back_ends() -> bool {
  Chain t = chain();
  Editor edit(t.graph);
  edit.replace_uses(t.a, t.x);
  edit.replace_uses(t.x, t.a);  // the later word holds
  edit.replace_uses(t.c, t.c);
  edit.commit();
  return t.graph.arguments(t.b)[0].node() == t.a && t.graph.arguments(t.out)[0].node() == t.c;
}
FXPASS_TEST_TWICE(a_chain_that_comes_back_ends)

constexpr auto the_last_word_on_a_node_holds() -> bool {
  Chain t = chain();
  Editor edit(t.graph);
  edit.replace_uses(t.c, t.x);
  edit.replace_uses(t.c, t.b);
  edit.commit();
  return t.graph.arguments(t.out)[0].node() == t.b;
}
FXPASS_TEST_TWICE(the_last_word_on_a_node_holds)

constexpr auto uses_are_replaced_wherever_they_are() -> bool {
  GraphBuilder g;
  const NodeId x = g.placeholder("x", g.tensor(DType::f32, {2}));
  const NodeId y = g.call_function("torch.neg", {x}, {}, "y");
  const NodeId deep =
      g.call_function("torch.f",
                      {g.list({y, g.tuple_of({1, g.list({y})})}),
                       g.group(ArgumentKind::dict, {g.string("k"), g.tuple_of({y})}), g.slice(y, 4, y),
                       g.keyword("at", y), g.keyword("all", g.list({y, y}))},
                      {}, "deep");
  g.output({g.tuple_of({deep, y})});
  Graph graph = std::move(g).finish();
  Editor edit(graph);
  const NodeId z = edit.insert_before(y, "torch.abs", {x}, {}, "z");
  edit.replace_uses(y, z);
  edit.erase(y);
  edit.commit();
  return verify(graph).has_value() &&
         printed(graph) ==
             "graph():\n"
             "    %x : [num_users=1] = placeholder[target=x]\n"
             "    %z : [num_users=2] = call_function[target=torch.abs](args = (%x,), kwargs = {})\n"
             "    %deep : [num_users=1] = call_function[target=torch.f](args = ([%z, (1, [%z])], {k: (%z,)}, "
             "slice(z, 4, z)), kwargs = {at: %z, all: [%z, %z]})\n"
             "    return ((deep, z),)\n";
}
FXPASS_TEST_TWICE(uses_are_replaced_wherever_they_are)

constexpr auto inserted_arguments_are_copies() -> bool {
  GraphBuilder g;
  const NodeId x = g.placeholder("x", g.tensor(DType::f32, {2}));
  const NodeId y = g.call_function("torch.cat", {g.list({x, x})}, {}, "y");
  g.output({y});
  Graph graph = std::move(g).finish();
  Editor edit(graph);
  NodeId last = y;
  for (int i = 0; i < 20; ++i) {
    // The node's own arguments and target, in the pools that the insertion makes grow.
    last = edit.insert_before(y, edit.graph().target(y), edit.graph().arguments(y), {});
    edit.replace_uses(x, x);
  }
  edit.replace_uses(y, last);
  edit.commit();
  return verify(graph).has_value() && graph.node_count() == 23 && graph.name(NodeId{1}) == "cat" &&
         graph.name(NodeId{20}) == "cat_19" && graph.target(NodeId{20}) == "torch.cat" &&
         graph.children(graph.arguments(NodeId{20})[0])[1].node() == x;
}
FXPASS_TEST_TWICE(inserted_arguments_are_copies)

constexpr auto inserted_nodes_take_the_stack_trace_and_a_free_name() -> bool {
  GraphBuilder g;
  g.set_stack_trace("File \"m.py\", line 7, in forward");
  const NodeId x = g.placeholder("x", g.tensor(DType::f32, {2}));
  const NodeId y = g.call_function("torch.ops.aten.sum.default", {x});
  g.output({y});
  Graph graph = std::move(g).finish();
  Editor edit(graph);
  const NodeId z = edit.insert_before(y, "torch.ops.aten.sum.default", {x}, {});
  const NodeId m = edit.insert_before(y, "torch.ops.aten.neg.default", {x}, {}, "x");
  const Renumbering moved = edit.commit();
  return graph.name(moved[y]) == "sum_1" && graph.name(moved[z]) == "sum_2" &&
         graph.name(moved[m]) == "x_1" && model_line(graph, moved[z]).line == 7 &&
         graph.op(moved[z]).row == graph.op(moved[y]).row &&
         graph.node(moved[z]).op == graph.node(moved[y]).op;
}
FXPASS_TEST_TWICE(inserted_nodes_take_the_stack_trace_and_a_free_name)

constexpr auto a_name_is_given_up_at_commit() -> bool {
  Chain t = chain();
  Editor edit(t.graph);
  edit.rename(t.b, "a");
  edit.rename(t.c, "b");  // b is taken as long as the edit lasts
  static_cast<void>(edit.commit());
  Editor again(t.graph);
  again.rename(t.c, "b");
  static_cast<void>(again.commit());
  return verify(t.graph).has_value() && t.graph.name(t.b) == "a_1" && t.graph.name(t.c) == "b";
}
FXPASS_TEST_TWICE(a_name_is_given_up_at_commit)

/// Renaming and inserting, two authors in turns: names are what they would be one after the other.
constexpr auto authors_in_turns_name_as_one_after_the_other() -> bool {
  Chain t = chain();
  Editor edit(t.graph);
  edit.set_author(1);
  const NodeId late = edit.insert_before(t.b, "torch.neg", {t.a}, {}, "c");
  edit.set_author(0);
  edit.rename(t.c, "free");
  const NodeId early = edit.insert_before(t.c, "torch.neg", {t.b}, {}, "d");
  edit.set_author(1);
  edit.rename(early, "free");
  const Renumbering moved = edit.commit();
  // Author 0 gave up "c", which author 1 may take then.
  return verify(t.graph).has_value() && t.graph.name(moved[late]) == "c" && t.graph.name(moved[t.c]) == "free" &&
         t.graph.name(moved[early]) == "free_1";
}
FXPASS_TEST_TWICE(authors_in_turns_name_as_one_after_the_other)

constexpr auto specs_follow_their_placeholders() -> bool {
  GraphBuilder g;
  const NodeId x = g.placeholder("x", g.tensor(DType::f32, {2}));
  const NodeId y = g.placeholder("y", g.tensor(DType::f32, {2}));
  g.output({x, y});
  Graph graph = std::move(g).finish();
  Editor edit(graph);
  edit.insert_before(graph.output_node(), "torch.neg", {y}, {});
  edit.commit();
  return verify(graph).has_value() && graph.inputs()[1].node == y && graph.input_of(y) == 1;
}
FXPASS_TEST_TWICE(specs_follow_their_placeholders)

TEST_CASE("a long chain of replacements costs linear time") {
  GraphBuilder g;
  NodeId last = g.placeholder("x", {});
  const NodeId x = last;
  for (int i = 0; i < 50'000; ++i) last = g.call_function("torch.neg", {last}, {});
  g.output({last});
  Graph graph = std::move(g).finish();
  Editor edit(graph);
  for (std::uint32_t i = 50'000; i > 0; --i) edit.replace_uses(NodeId{i}, NodeId{i - 1});
  const Renumbering moved = edit.commit();
  CHECK(moved.size() == 50'002);
  CHECK(graph.arguments(graph.output_node())[0].node() == x);
}

}  // namespace

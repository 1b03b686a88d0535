// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/builder.hpp>
#include <fxpass/graph/verify.hpp>

#include "twice.hpp"

namespace {

using namespace fxpass;

// A sound graph in which every rule has something to look at:
//   x, k = inputs; s = add(x, [k, {'a': k}], alpha=1); p = max(x, 0); v = getitem(p, 0); output (v, k' = s)
constexpr NodeId x{0}, k{1}, s{2}, p{3}, v{4}, out{5};

constexpr auto sound() -> Graph {
  GraphBuilder b;
  b.placeholder("x", b.tensor(DType::f32, {4, 3}));
  InputSpec buffer;
  buffer.kind = InputKind::buffer;
  buffer.target = b.text("cache.k");
  b.placeholder("b_k", b.tensor(DType::f32, {4}), buffer);
  const SymInt symbol = b.add_expression("s0");
  b.call_function("torch.f",
                  {x, b.list({k, b.group(ArgumentKind::dict, {b.string("a"), k})}), b.slice(symbol, {}),
                   b.group(ArgumentKind::complex, {0.0, 1}), b.device("cpu"), b.keyword("alpha", 1),
                   b.keyword("beta", 2)},
                  b.tensor(DType::f32, {4}), "s");
  b.call_function("torch.ops.aten.max.dim", {x, 1},
                  b.tuple({b.tensor(DType::f32, {4}), b.tensor(DType::i64, {4}), ValueSpec{}}), "p");
  b.call_function("operator.getitem", {p, 0}, b.tensor(DType::f32, {4}), "v");
  const Argument values[] = {v, s};
  const OutputSpec specs[] = {{}, {OutputKind::buffer_mutation, 1, buffer.target}};
  b.output(values, specs);
  const std::int64_t ranks[] = {0, 2, 1, 3};
  b.mutable_graph().mutable_node(s).replica_groups = b.mutable_graph().add_partition(ranks, 2);
  return std::move(b).finish();
}

constexpr auto a_sound_graph_verifies() -> bool { return verify(sound()).has_value(); }
FXPASS_TEST_TWICE(a_sound_graph_verifies)

/// Whether verify finds exactly one violation in the graph that `spoil` made of the sound one, about node
/// `node` (empty: about no node), with `message` in it.
template <class Spoil>
constexpr auto finds(std::string_view node, std::string_view message, Spoil spoil) -> bool {
  Graph graph = sound();
  spoil(graph);
  const Status status = verify(graph);
  if (status || status.error().size() != 1) return false;
  const Diagnostic& d = status.error().front();
  return d.code == DiagnosticCode::invalid_graph && d.node == node &&
         d.message.view().find(message) != std::string_view::npos;
}

constexpr auto placeholders_come_first_and_are_inputs() -> bool {
  Graph g = sound();
  Node& late = g.mutable_node(v);
  late.kind = NodeKind::placeholder;
  late.op = {};
  late.arguments = {};
  const Status status = verify(g);
  if (status || status.error().size() != 2) return false;
  const auto found = status.error().begin();
  return found[0].node == "v" &&
         found[0].message.view().find("placeholders come first") != std::string_view::npos &&
         found[1].message == "the graph has 3 placeholders and 2 inputs";
}
FXPASS_TEST_TWICE(placeholders_come_first_and_are_inputs)

constexpr auto inputs_are_the_placeholders() -> bool {
  return finds("", "input 1 does not name placeholder 1", [](Graph& g) { g.mutable_inputs()[1].node = s; }) &&
         finds("", "input 0 does not name placeholder 0",
               [](Graph& g) { g.mutable_inputs()[0].node = no_node; }) &&
         finds("", "the target of input 0", [](Graph& g) { g.mutable_inputs()[0].target = TextId{999}; }) &&
         finds("", "the constant of input 0",
               [](Graph& g) { g.mutable_inputs()[0].constant = Argument(s); }) &&
         finds("b_k", "a placeholder has at most one argument", [](Graph& g) {
           const Argument two[] = {1, 2};
           g.set_arguments(k, two);
         });
}
FXPASS_TEST_TWICE(inputs_are_the_placeholders)

constexpr auto the_output_node_is_last() -> bool {
  Graph without = sound();
  Pool<Node> nodes;
  for (const Node& n : without.nodes().first(5)) nodes.push_back(n);
  without.replace_nodes(nodes);
  const Status missing = verify(without);
  Graph twice = sound();
  Node second = twice.node(out);
  second.name = {twice.add_text("output_1"), 0};
  second.arguments = twice.add_arguments(twice.arguments(out));
  twice.add_node(second);
  const Status doubled = verify(twice);
  const Status empty = verify(Graph());
  return !missing && missing.error().front().message == "the last node is not the output node" && !doubled &&
         doubled.error().front().message == "the output node is not the last node" && !empty &&
         empty.error().front().message == "the graph has no output node";
}
FXPASS_TEST_TWICE(the_output_node_is_last)

constexpr auto outputs_are_the_values_of_the_output_node() -> bool {
  return finds("output", "2 values and the graph 3 outputs", [](Graph& g) { g.add_output({}); }) &&
         finds("output", "output 1, which the program returns, stands behind",
               [](Graph& g) {
                 const Argument swapped[] = {s, v};
                 g.set_arguments(out, swapped);
                 g.mutable_outputs()[1] = {};
                 g.mutable_outputs()[0] = {OutputKind::buffer_mutation, 1, {}};
               }) &&
         finds("output", "an output has a keyword",
               [](Graph& g) { g.mutable_arguments(out)[1] = Argument(s).with_keyword(g.add_text("a")); }) &&
         finds("output", "the target of output 0",
               [](Graph& g) { g.mutable_outputs()[0].target = TextId{999}; }) &&
         finds("output", "output 0 names input 7", [](Graph& g) { g.mutable_outputs()[0].input = 7; });
}
FXPASS_TEST_TWICE(outputs_are_the_values_of_the_output_node)

constexpr auto mutations_name_their_inputs() -> bool {
  return finds("output", "of an input which the graph has not",
               [](Graph& g) { g.mutable_outputs()[1].input = no_input; }) &&
         finds("output", "outputs 1 and 2 are both the new value of input 1",
               [](Graph& g) {
                 const Argument values[] = {v, s, s};
                 g.set_arguments(out, values);
                 g.add_output(g.outputs()[1]);
               }) &&
         finds("output", "differs in dtype or sizes from input 1",
               [](Graph& g) { g.mutable_arguments(out)[1] = Argument(x); }) &&
         finds("output", "output 1 is a parameter_mutation of a buffer",
               [](Graph& g) { g.mutable_outputs()[1].kind = OutputKind::parameter_mutation; }) &&
         finds("output", "is the new value of an input, but no node",
               [](Graph& g) { g.mutable_arguments(out)[1] = Argument(1); });
}
FXPASS_TEST_TWICE(mutations_name_their_inputs)

constexpr auto operands_precede_their_users() -> bool {
  return finds("s", "operand v does not precede its user",
               [](Graph& g) { g.mutable_arguments(s)[0] = Argument(v); }) &&
         finds("s", "operand s does not precede",
               [](Graph& g) { g.mutable_arguments(s)[0] = Argument(s); }) &&
         finds("s", "no node of the graph",
               [](Graph& g) { g.mutable_children(g.arguments(s)[1])[0] = Argument(no_node); }) &&
         finds("s", "operand p does not precede", [](Graph& g) {
           const Argument dict = g.children(g.arguments(s)[1])[1];
           g.mutable_children(dict)[1] = Argument(p);
         });
}
FXPASS_TEST_TWICE(operands_precede_their_users)

constexpr auto names_are_unique() -> bool {
  return finds("x", "nodes 0 and 2 have the same name",
               [](Graph& g) { g.mutable_node(s).name = g.node(x).name; }) &&
         finds("s_1", "nodes 2 and 3 have the same name",
               [](Graph& g) {  // two records, one printed name
                 g.mutable_node(s).name = {g.add_text("s"), 2};
                 g.mutable_node(p).name = {g.add_text("s_1"), 0};
               }) &&
         finds("", "a node has no name", [](Graph& g) { g.mutable_node(s).name = {}; });
}
FXPASS_TEST_TWICE(names_are_unique)

constexpr std::uint32_t far = 4'000'000'000U;

constexpr auto records_of_nodes_are_of_this_graph() -> bool {
  return finds("", "node 2: its name is no text",
               [](Graph& g) { g.mutable_node(s).name.base = TextId{far}; }) &&
         finds("", "node 2: its stack trace is no text",
               [](Graph& g) { g.mutable_node(s).stack_trace = TextId{far}; }) &&
         finds("s", "its target is no text", [](Graph& g) { g.mutable_node(s).target = TextId{far}; }) &&
         finds("s", "its operator is no record", [](Graph& g) { g.mutable_node(s).op = OpId{far}; }) &&
         finds("s", "its replica groups are no record",
               [](Graph& g) { g.mutable_node(s).replica_groups = 2; }) &&
         finds("s", "its arguments are no records",
               [](Graph& g) { g.mutable_node(s).arguments = {far, far}; }) &&
         finds("s", "its metadata is no record", [](Graph& g) { g.mutable_node(s).values = {2, far}; });
}
FXPASS_TEST_TWICE(records_of_nodes_are_of_this_graph)

constexpr auto records_of_arguments_are_of_this_graph() -> bool {
  return finds("s", "members of an argument are no records",
               [](Graph& g) {
                 g.mutable_arguments(s)[1] = Argument::group(ArgumentKind::list, Range{far, 3});
               }) &&
         finds("s", "a string argument is no text",
               [](Graph& g) { g.mutable_arguments(s)[4] = Argument::string(TextId{far}); }) &&
         finds("s", "a device argument is no device",
               [](Graph& g) { g.mutable_arguments(s)[4] = Argument(DeviceId{far}); }) &&
         finds("s", "a symbolic argument is no expression",
               [](Graph& g) { g.mutable_arguments(s)[4] = Argument(SymInt::expression(7)); }) &&
         finds("s", "an argument is no subgraph",
               [](Graph& g) { g.mutable_arguments(s)[4] = Argument::subgraph(0); }) &&
         finds("s", "a keyword is no text",
               [](Graph& g) { g.mutable_arguments(s)[5] = Argument(1).with_keyword(TextId{far}); });
}
FXPASS_TEST_TWICE(records_of_arguments_are_of_this_graph)

constexpr auto operators_fit_their_nodes() -> bool {
  return finds("s", "its operator is that of another target",
               [](Graph& g) { g.mutable_node(s).op = g.node(p).op; }) &&
         finds("s", "its operator is that of another target",
               [](Graph& g) { g.mutable_node(s).kind = NodeKind::call_method; }) &&
         finds("s", "a call has no operator", [](Graph& g) { g.mutable_node(s).op = {}; }) &&
         finds("s", "only call_function and call_method nodes have an operator",
               [](Graph& g) { g.mutable_node(s).kind = NodeKind::call_module; }) &&
         finds("v", "a get_attr node has arguments",
               [](Graph& g) {
                 g.mutable_node(v).kind = NodeKind::get_attr;
                 g.mutable_node(v).op = {};
               }) &&
         finds("s", "a method is called without an object", [](Graph& g) {
           GraphBuilder b;
           const NodeId call = b.call_method("m", {});
           g.mutable_node(s).kind = NodeKind::call_method;
           g.mutable_node(s).target = g.add_text("m");
           g.mutable_node(s).arguments = {};
           Operator o = b.graph().op(call);
           o.spelling = g.node(s).target;
           g.mutable_node(s).op = g.add_operator(o);
         });
}
FXPASS_TEST_TWICE(operators_fit_their_nodes)

constexpr auto keywords_stand_behind_and_once() -> bool {
  return finds("s", "a positional argument stands behind a keyword argument",
               [](Graph& g) { g.mutable_arguments(s)[6] = Argument(2); }) &&
         finds("s", "keyword alpha is given twice",
               [](Graph& g) {  // the same text under another id
                 g.mutable_arguments(s)[6] = Argument(2).with_keyword(g.add_text("alpha"));
               }) &&
         finds("s", "a member of an argument has a keyword", [](Graph& g) {
           g.mutable_children(g.arguments(s)[1])[0] = Argument(k).with_keyword(g.add_text("a"));
         });
}
FXPASS_TEST_TWICE(keywords_stand_behind_and_once)

constexpr auto groups_are_what_they_are_called() -> bool {
  const auto with = [](ArgumentKind kind, std::initializer_list<Argument> members) {
    return [kind, members](Graph& g) {
      const Range r = g.add_arguments(fxpass::Span<const Argument>(members.begin(), members.size()));
      g.mutable_arguments(s)[4] = Argument::group(kind, r);
    };
  };
  return finds("s", "a slice has start, stop and step", with(ArgumentKind::slice, {1, 2})) &&
         finds("s", "a complex number has", with(ArgumentKind::complex, {1})) &&
         finds("s", "a complex number has", with(ArgumentKind::complex, {1, x})) &&
         finds("s", "a dict has a value for each key", with(ArgumentKind::dict, {1})) &&
         finds("s", "a key of a dict is a node", with(ArgumentKind::dict, {x, 1}));
}
FXPASS_TEST_TWICE(groups_are_what_they_are_called)

constexpr auto arguments_have_one_owner() -> bool {
  return finds("p", "it shares arguments with another node",
               [](Graph& g) {
                 const Argument shared[] = {x, g.arguments(s)[1]};
                 g.set_arguments(p, shared);
               }) &&
         finds("s", "or with itself", [](Graph& g) { g.mutable_arguments(s)[2] = g.arguments(s)[1]; }) &&
         finds("s", "or with itself", [](Graph& g) {  // a list that holds itself
           const Argument none[] = {Argument{}};
           const Range one = g.add_arguments(none);
           g.mutable_arguments(s)[4] = Argument::group(ArgumentKind::list, one);
           g.mutable_children(g.arguments(s)[4])[0] = g.arguments(s)[4];
         });
}
FXPASS_TEST_TWICE(arguments_have_one_owner)

constexpr auto metadata_fits_the_value() -> bool {
  constexpr SymInt symbol_of_nothing = SymInt::expression(9);
  const auto meta = [](std::initializer_list<SymInt> sizes, SymInt offset = 0) {
    return [sizes, offset](Graph& g) {
      TensorMeta m;
      m.storage_offset = offset;
      const fxpass::Span<const SymInt> dims(sizes.begin(), sizes.size());
      g.mutable_node(s).values = g.add_meta(m, dims, dims);
      g.mutable_node(s).value_kind = ValueKind::tensor;
      g.mutable_outputs()[1] = {OutputKind::token, no_input, {}};
    };
  };
  return finds("s", "a tensor has metadata of several tensors",
               [](Graph& g) { g.mutable_node(s).values = g.node(p).values; }) &&
         finds("s", "a value that holds no tensor has metadata of one",
               [](Graph& g) { g.mutable_node(s).value_kind = ValueKind::sym_int; }) &&
         finds("s", "a size is negative", meta({-1})) &&
         finds("s", "its storage offset is no expression", meta({1}, symbol_of_nothing)) &&
         finds("s", "its device is no device",
               [](Graph& g) {
                 TensorMeta m = *g.tensor(s);
                 m.device = DeviceId{9};
                 g.mutable_node(s).values = g.add_metas(fxpass::Span<const TensorMeta>(&m, 1));
               }) &&
         finds("s", "its sizes and strides are no records", [](Graph& g) {
           TensorMeta m = *g.tensor(s);
           m.rank = 0xffffffffU;
           g.mutable_node(s).values = g.add_metas(fxpass::Span<const TensorMeta>(&m, 1));
         });
}
FXPASS_TEST_TWICE(metadata_fits_the_value)

constexpr auto members_of_tuples_exist() -> bool {
  return finds("v", "member 3 of a tuple of 3 is read",
               [](Graph& g) { g.mutable_arguments(v)[1] = Argument(3); }) &&
         finds("v", "member -4 of a tuple of 3 is read",
               [](Graph& g) { g.mutable_arguments(v)[1] = Argument(-4); }) &&
         finds("v", "its dtype or sizes are not those",
               [](Graph& g) { g.mutable_arguments(v)[1] = Argument(-2); });
}
FXPASS_TEST_TWICE(members_of_tuples_exist)

constexpr auto partitions_hold_every_rank_once() -> bool {
  const auto partition = [](std::initializer_list<std::int64_t> ranks, std::uint32_t group_size) {
    return [ranks, group_size](Graph& g) {
      g.add_partition(fxpass::Span<const std::int64_t>(ranks.begin(), ranks.size()), group_size);
    };
  };
  return finds("", "partition 1 has 3 ranks in groups of 2", partition({0, 1, 2}, 2)) &&
         finds("", "partition 1 has 2 ranks in groups of 0", partition({0, 1}, 0)) &&
         finds("", "partition 1 has 0 ranks", partition({}, 1)) &&
         finds("", "partition 1 holds rank 0 twice", partition({0, 0}, 1)) &&
         finds("", "partition 1 of 2 ranks holds rank 2", partition({0, 2}, 1)) &&
         finds("", "partition 1 of 2 ranks holds rank -1", partition({0, -1}, 1));
}
FXPASS_TEST_TWICE(partitions_hold_every_rank_once)

constexpr auto ranges_are_of_sizes() -> bool {
  const auto range = [](fxpass::SizeRange r) { return [r](Graph& g) { g.add_size_range(r); }; };
  return finds("", "a range is one of no symbolic size", range({{}, 1, 2})) &&
         finds("", "a range is one of no symbolic size", range({fxpass::TextId{1000000}, 1, 2})) &&
         finds("", "is at least 3 and at most 2", range({fxpass::TextId{1}, 3, 2}));
}
FXPASS_TEST_TWICE(ranges_are_of_sizes)

constexpr auto subgraphs_are_verified() -> bool {
  return finds("s", "in subgraph 0: in subgraph 0: a call has no operator", [](Graph& g) {
    Graph inner = sound();
    inner.mutable_node(s).op = {};
    Graph middle = sound();
    middle.add_subgraph(std::move(inner));
    g.add_subgraph(std::move(middle));
  });
}
FXPASS_TEST_TWICE(subgraphs_are_verified)

constexpr auto every_violation_is_reported() -> bool {
  Graph g = sound();
  g.mutable_node(s).name = g.node(x).name;
  g.mutable_node(p).op = {};
  g.mutable_arguments(v)[1] = Argument(3);
  g.mutable_outputs()[1].input = 5;
  const Status status = verify(g);
  return !status && status.error().size() == 4;
}
FXPASS_TEST_TWICE(every_violation_is_reported)

}  // namespace

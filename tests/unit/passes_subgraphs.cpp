// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/verify_each.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <initializer_list>
#include <string_view>

#include "twice.hpp"

// Graphs that calls run: what the five passes make of them, what their facts say of them, and which writes in them are
// carried out. Each program runs with all passes in one traversal and again with each by itself, verified behind each.

namespace {

using namespace fxpass;

constexpr auto contains(const Text& text, std::string_view part) -> bool {
  return text.view().find(part) != std::string_view::npos;
}

constexpr auto registry() -> KernelRegistry {
  KernelEntry entry;
  entry.kernel_idx = 3;
  entry.backend_config = "eyJ9";
  entry.aliases.push_back({0, 0});
  KernelRegistry kernels;
  kernels.add(std::move(entry));
  return kernels;
}
constexpr auto world() -> ProcessGroups {
  ProcessGroups groups;
  groups.set_world_size(4);
  return groups;
}

/// The program after the passes; an error if it makes a difference whether they share a traversal.
constexpr auto run(GraphBuilder&& builder) -> Expected<Graph> {
  const KernelRegistry kernels = registry();
  const ProcessGroups groups = world();
  const auto passes = get_default_pass_manager({.kernels = &kernels, .groups = &groups});
  const Module<> program(std::move(builder).finish());
  auto fused = passes(program);
  VerifyEach verify_each;
  Context context;
  auto unfused = passes.run_passes(program, context, verify_each);
  const bool is_same = fused && unfused ? fused->graph() == unfused->graph()
                                        : !fused && !unfused && text_of(fused.error()) == text_of(unfused.error());
  if (!is_same && !unfused) return std::move(unfused).error();
  if (!is_same) return Diagnostic::error(DiagnosticCode::invalid_graph, "it makes a difference who shares a traversal");
  if (!fused) return std::move(fused).error();
  if (Status valid = verify(fused->graph()); !valid) return valid.error();
  return std::move(*fused).graph();
}
constexpr auto refused(GraphBuilder&& builder, std::string_view node, std::string_view part) -> bool {
  const auto graph = run(std::move(builder));
  return !graph && graph.error().size() == 1 && graph.error().front().code == DiagnosticCode::unsupported_mutation &&
         contains(graph.error().front().message, part) && graph.error().front().node == node;
}

/// A graph of f32[4] inputs `a` and `b` under construction.
struct Branch {
  GraphBuilder b;
  ValueSpec v = b.tensor(DType::f32, {4});
  NodeId x = b.placeholder("a", v);
  NodeId y = b.placeholder("b", v);

  constexpr auto call(std::string_view target, std::initializer_list<Argument> arguments) -> NodeId {
    return b.call_function(target, arguments, v);
  }
  constexpr auto method(std::string_view target, std::initializer_list<Argument> arguments) -> NodeId {
    return b.call_method(target, arguments, v);
  }
  constexpr auto returning(NodeId value) -> Graph {
    b.output({value});
    return std::move(b).finish();
  }
};
constexpr auto negation() -> Graph {
  Branch g;
  return g.returning(g.method("neg", {g.x}));
}
/// a' = a + b, a copy of which is a result; a' replaces a.
constexpr auto writer() -> Graph {
  Branch g;
  g.method("add_", {g.x, g.y});
  return g.returning(g.method("clone", {g.x}));
}

/// A program of a predicate and f32[4] inputs `x` and `y`.
struct Program {
  GraphBuilder b;
  ValueSpec v = b.tensor(DType::f32, {4});
  NodeId p = b.placeholder("p", b.tensor(DType::boolean, {}));
  NodeId x = b.placeholder("x", v);
  NodeId y = b.placeholder("y", v);

  constexpr auto run_either(Argument when_true, Argument when_false, std::initializer_list<Argument> operands) -> NodeId {
    return b.call_function("torch.ops.higher_order.cond", {p, when_true, when_false, b.tuple_of(operands)}, b.tuple({v}));
  }
  constexpr auto member(NodeId of, std::int64_t index) -> NodeId {
    return b.call_function("operator.getitem", {of, index}, v);
  }
};
/// cond(p, branch, negation, (x, y))[0]
constexpr auto with_branch(Graph branch) -> GraphBuilder {
  Program program;
  const Argument when_true = program.b.add_subgraph(std::move(branch));
  const NodeId call = program.run_either(when_true, program.b.add_subgraph(negation()), {program.x, program.y});
  program.b.output({program.member(call, 0)});
  return std::move(program.b);
}
/// The first graph inside the program, as text, or the errors.
constexpr auto branch_after(Graph branch) -> Text {
  const auto graph = run(with_branch(std::move(branch)));
  if (!graph) return text_of(graph.error());
  return text_of(graph->subgraphs()[0]);
}

constexpr auto custom_operators_write_operands_of_a_branch() -> bool {
  Branch g;
  g.b.declare_operator("torch.ops.mylib.scale_.default", "mylib.scale_.default(Tensor(a!) x, float by) -> ()");
  g.b.call_function("torch.ops.mylib.scale_.default", {g.x, 2.0});
  const auto graph = run(with_branch(g.returning(g.method("clone", {g.x}))));
  return graph && graph->outputs().size() == 2 && graph->outputs()[1].input == 1 &&
         contains(text_of(graph->subgraphs()[0]), "args = (mylib.scale_.default,), kwargs = {x: %") &&
         contains(text_of(graph->subgraphs()[0]), "operator.getitem](args = (%auto_functionalized, 1)");
}
FXPASS_TEST_TWICE(custom_operators_write_operands_of_a_branch)

constexpr auto devices_in_a_branch_become_the_target() -> bool {
  Branch g;
  const NodeId there = g.b.call_function("torch.ops.aten.ones.default",
                                         {g.b.list({4}), g.b.keyword("device", g.b.device("cuda:0"))}, g.v);
  const Text text = branch_after(g.returning(g.call("torch.ops.aten.add.Tensor", {g.x, there})));
  return contains(text, "device: xla:0");
}
FXPASS_TEST_TWICE(devices_in_a_branch_become_the_target)

constexpr auto collectives_in_a_branch_get_their_groups() -> bool {
  Branch g;
  const NodeId sum = g.call("torch.ops._c10d_functional.all_reduce.default", {g.x, g.b.string("sum"), g.b.string("0")});
  const auto graph = run(with_branch(g.returning(g.call("torch.ops._c10d_functional.wait_tensor.default", {sum}))));
  return graph && graph->subgraphs()[0].replica_groups(sum) != nullptr;
}
FXPASS_TEST_TWICE(collectives_in_a_branch_get_their_groups)

/// k, the result of a kernel that writes its first operand, which `written` is.
constexpr auto kernel_of(Branch& g, NodeId written) -> NodeId {
  const Argument keywords[] = {g.b.keyword("kernel_idx", 3),
                               g.b.keyword("grid", g.b.tuple_of({Argument(2)})),
                               g.b.keyword("backend_config", g.b.string("")),
                               g.b.keyword("operand_output_aliases", g.b.group(ArgumentKind::dict, {})),
                               g.b.keyword("args", g.b.tuple_of({Argument(written)})),
                               g.b.keyword("arg_names", g.b.list({g.b.string("a")})),
                               g.b.keyword("constant_args_key", -1)};
  return g.b.call_function("torch.ops.higher_order.nki_kernel_wrapper", keywords, g.v, "k");
}
constexpr auto kernels_in_a_branch_are_configured_and_write_what_is_their_own() -> bool {
  Branch g;
  const NodeId own = g.method("clone", {g.x});
  kernel_of(g, own);
  const Text text = branch_after(g.returning(g.method("exp", {own})));
  return contains(text, "backend_config: eyJ9") && contains(text, "(args = (%k,)");
}
FXPASS_TEST_TWICE(kernels_in_a_branch_are_configured_and_write_what_is_their_own)

constexpr auto a_branch_that_writes_into_its_own_values_is_made_out_of_place() -> bool {
  Branch g;
  const NodeId own = g.method("exp", {g.x});
  g.method("add_", {own, g.y});
  const auto graph = run(with_branch(g.returning(own)));
  return graph && graph->outputs().size() == 1 &&
         text_of(graph->subgraphs()[0]) ==
             "graph():\n"
             "    %a : [num_users=1] = placeholder[target=a]\n"
             "    %b : [num_users=1] = placeholder[target=b]\n"
             "    %exp : [num_users=1] = call_method[target=exp](args = (%a,), kwargs = {})\n"
             "    %exp_modified : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%exp, %b), "
             "kwargs = {})\n"
             "    return (exp_modified,)\n";
}
FXPASS_TEST_TWICE(a_branch_that_writes_into_its_own_values_is_made_out_of_place)

/// x is written by one branch; it is read behind the call, and is an output with its new value.
constexpr auto what_a_branch_writes_is_a_result_of_the_call() -> bool {
  Program program;
  const Argument when_true = program.b.add_subgraph(writer());
  const NodeId call = program.run_either(when_true, program.b.add_subgraph(negation()), {program.x, program.y});
  const NodeId result = program.member(call, 0);
  program.b.output({result, program.b.call_method("exp", {program.x}, program.v)});
  const auto graph = run(std::move(program.b));
  return graph && graph->outputs().size() == 3 && graph->outputs()[2].input == 1 &&
         graph->subgraphs()[0].original_output_count() == 2 &&
         contains(text_of(*graph), "    %x_modified : [num_users=2] = call_function[target=operator.getitem]"
                                   "(args = (%cond, 1), kwargs = {})\n") &&
         contains(text_of(*graph), "exp](args = (%x_modified,)") &&
         contains(text_of(*graph), "return (getitem, exp, x_modified)") &&
         contains(text_of(graph->subgraphs()[0]), "return (clone, a_modified)") &&
         contains(text_of(graph->subgraphs()[1]), "return (neg, a)");
}
FXPASS_TEST_TWICE(what_a_branch_writes_is_a_result_of_the_call)

/// The operand is one row of a matrix, an input: its other rows keep their values.
constexpr auto what_a_branch_writes_may_be_a_view() -> bool {
  Program program;
  const NodeId m = program.b.placeholder("m", program.b.tensor(DType::f32, {3, 4}));
  TensorMeta second;
  second.device = program.b.mutable_graph().add_device("cpu");
  second.storage_offset = 4;
  const SymInt sizes[] = {4};
  const SymInt strides[] = {1};
  const NodeId row =
      program.b.call_function("torch.ops.aten.select.int", {m, 0, 1}, program.b.tensor(second, sizes, strides));
  const Argument when_true = program.b.add_subgraph(writer());
  const NodeId call = program.run_either(when_true, program.b.add_subgraph(negation()), {row, program.y});
  program.b.output({program.member(call, 0)});
  const auto graph = run(std::move(program.b));
  return graph && graph->outputs().size() == 2 && graph->outputs()[1].input == 3 &&
         contains(text_of(*graph), "select_scatter.default](args = (%m, %m_modified, 0, 1)");
}
FXPASS_TEST_TWICE(what_a_branch_writes_may_be_a_view)

/// A branch that runs a graph which writes: into a value of the branch, or into an operand of the program.
constexpr auto nested(bool writes_own) -> Graph {
  Branch g;
  const NodeId p = g.b.call_function("torch.ops.aten.any.default", {g.y}, g.b.tensor(DType::boolean, {}));
  const NodeId written = writes_own ? g.method("clone", {g.x}) : g.x;
  const Argument when_true = g.b.add_subgraph(writer());
  const Argument when_false = g.b.add_subgraph(negation());
  const NodeId call = g.b.call_function("torch.ops.higher_order.cond",
                                        {p, when_true, when_false, g.b.tuple_of({written, g.y})}, g.b.tuple({g.v}));
  const NodeId member = g.b.call_function("operator.getitem", {call, 0}, g.v);
  return g.returning(g.call("torch.ops.aten.add.Tensor", {member, written}));
}
constexpr auto a_graph_in_a_branch_may_write_into_a_value_of_the_branch() -> bool {
  const auto graph = run(with_branch(nested(true)));
  return graph && graph->outputs().size() == 1 &&
         contains(text_of(graph->subgraphs()[0]), "add.Tensor](args = (%getitem, %clone_modified)");
}
FXPASS_TEST_TWICE(a_graph_in_a_branch_may_write_into_a_value_of_the_branch)
constexpr auto a_graph_in_a_branch_may_write_into_an_operand() -> bool {
  const auto graph = run(with_branch(nested(false)));
  return graph && graph->outputs().size() == 2 && contains(text_of(graph->subgraphs()[0]), "return (add, a_modified)");
}
FXPASS_TEST_TWICE(a_graph_in_a_branch_may_write_into_an_operand)

constexpr auto loop(Graph body) -> GraphBuilder {
  Program program;
  Branch condition;
  const NodeId any =
      condition.b.call_function("torch.ops.aten.any.default", {condition.x}, condition.b.tensor(DType::boolean, {}));
  const Argument holds = program.b.add_subgraph(condition.returning(any));
  const Argument repeated = program.b.add_subgraph(std::move(body));
  const NodeId call = program.b.call_function(
      "torch.ops.higher_order.while_loop",
      {holds, repeated, program.b.tuple_of({program.x}), program.b.tuple_of({program.y})}, program.b.tuple({program.v}));
  const NodeId result = program.member(call, 0);
  program.b.call_method("add_", {result, 1}, program.v);
  program.b.output({result});
  return std::move(program.b);
}
/// Only `cond` runs a graph at most once: what a body writes into an operand would have to be carried along.
constexpr auto a_loop_that_writes_an_operand_is_refused() -> bool {
  Branch own;
  const NodeId copy = own.method("clone", {own.x});
  own.method("add_", {copy, own.y});
  return run(loop(own.returning(copy))) &&
         refused(loop(writer()), "add_", "in subgraph 1: writes into 'a', an operand of the graph that it is in");
}
FXPASS_TEST_TWICE(a_loop_that_writes_an_operand_is_refused)

/// Inside the branch they are two tensors, outside they may be one.
constexpr auto a_written_operand_that_another_shares_is_refused() -> bool {
  const auto made = [](bool shares) {
    Program program;
    const NodeId fresh = program.b.call_method("exp", {program.x}, program.v);
    const NodeId other = program.b.call_method("view", {shares ? program.x : fresh, 4}, program.v);
    const Argument when_true = program.b.add_subgraph(writer());
    const NodeId call = program.run_either(when_true, program.b.add_subgraph(negation()), {program.x, other});
    program.b.output({program.member(call, 0)});
    return std::move(program.b);
  };
  return run(made(false)) && refused(made(true), "cond", "another operand may be part of the same tensor");
}
FXPASS_TEST_TWICE(a_written_operand_that_another_shares_is_refused)

/// The second call would have to return more than what it says.
constexpr auto a_writing_graph_of_two_calls_is_refused() -> bool {
  const auto made = [](bool shares) {
    Program program;
    const Argument one = program.b.add_subgraph(negation());
    const Argument writes = program.b.add_subgraph(writer());
    const Argument other = shares ? one : program.b.add_subgraph(negation());
    const NodeId first = program.run_either(one, one, {program.x, program.y});
    const NodeId second = program.run_either(other, writes, {program.x, program.y});
    program.b.output({program.member(first, 0), program.member(second, 0)});
    return std::move(program.b);
  };
  return run(made(false)) && refused(made(true), "cond_1", "one is run by 'cond' too");
}
FXPASS_TEST_TWICE(a_writing_graph_of_two_calls_is_refused)

/// A result that may be an operand: who writes into it may write into that.
constexpr auto a_write_into_a_result_is_refused_if_that_may_be_an_operand() -> bool {
  const auto made = [](bool is_operand) {
    Program program;
    Branch branch;
    const NodeId value = branch.method(is_operand ? "view" : "reshape", {branch.method("exp", {branch.x}), 4});
    const Argument when_true = program.b.add_subgraph(branch.returning(is_operand ? branch.x : value));
    const NodeId call = program.run_either(when_true, program.b.add_subgraph(negation()), {program.x, program.y});
    const NodeId result = program.member(call, 0);
    program.b.call_method("add_", {result, 1}, program.v);
    program.b.output({result});
    return std::move(program.b);
  };
  return run(made(false)) && refused(made(true), "add_", "it may be a view of its operands");
}
FXPASS_TEST_TWICE(a_write_into_a_result_is_refused_if_that_may_be_an_operand)

/// Facts speak of the graphs that calls run.
template <class Fact>
constexpr auto is_true_of(Graph branch) -> bool {
  return Fact::check(with_branch(std::move(branch)).finish()).has_value();
}
constexpr auto facts_look_into_graphs() -> bool {
  Branch writing;
  const NodeId own = writing.method("exp", {writing.x});
  writing.method("add_", {own, 1});
  Branch communicating;
  const NodeId sum = communicating.call("torch.ops._c10d_functional.all_reduce.default",
                                        {communicating.x, communicating.b.string("sum"), communicating.b.string("0")});
  Branch calling;
  const NodeId copy = calling.method("clone", {calling.x});
  const NodeId k = kernel_of(calling, copy);
  Branch on_two_devices;
  NodeId there;
  for (const std::string_view device : {"cuda:0", "cpu"})
    there = on_two_devices.b.call_function(
        "torch.ops.aten.ones.default",
        {on_two_devices.b.list({4}), on_two_devices.b.keyword("device", on_two_devices.b.device(device))}, on_two_devices.v);
  return !is_true_of<OutOfPlace>(writing.returning(own)) &&
         !is_true_of<ReplicaGroupsResolved>(communicating.returning(sum)) &&
         !is_true_of<KernelsConfigured>(calling.returning(k)) && !is_true_of<MutationsSurfaced>(writer()) &&
         !is_true_of<OnTargetDevice>(on_two_devices.returning(there)) && is_true_of<OutOfPlace>(negation()) &&
         is_true_of<ReplicaGroupsResolved>(negation()) && is_true_of<KernelsConfigured>(negation()) &&
         is_true_of<MutationsSurfaced>(negation()) && is_true_of<OnTargetDevice>(negation());
}
FXPASS_TEST_TWICE(facts_look_into_graphs)

/// A forward pass of one's own visits them without a word; one with an artifact has to see to them itself.
struct CountExp {
  static constexpr std::string_view name = "count_exp";
  using keeps = everything;
  struct State {
    std::int64_t found = 0;
  };
  constexpr auto begin(Graph&, Artifacts<CountExp>&, Context&) const -> State { return {}; }
  static constexpr auto wants(const Operator& op) -> bool { return op.kind == NodeKind::call_method; }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    if (sweep.graph().target(sweep.id()) == "exp") ++state.found;
    return {};
  }
  constexpr auto finish(State& state, Graph&, Context& context) const -> Status {
    context.count("found", state.found);
    return {};
  }
};
struct Found {
  std::int64_t* count;
  constexpr void after(const PassReport& report, const Graph&) {
    for (const Statistic& s : report.statistics) *count += s.value;
  }
};
constexpr auto passes_of_ones_own_visit_them() -> bool {
  Branch g;
  const NodeId value = g.method("exp", {g.method("exp", {g.x})});
  std::int64_t count = 0;
  Context context;
  Found found{&count};
  return pipeline(CountExp{}).run_passes(Module<>(with_branch(g.returning(value)).finish()), context, found) && count == 2;
}
FXPASS_TEST_TWICE(passes_of_ones_own_visit_them)

}  // namespace

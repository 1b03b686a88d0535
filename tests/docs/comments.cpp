// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code in the headers' comments, each piece as it stands there and with what it takes for granted around it, so
// that it compiles; and what a page of docs/ shows of testing. tools/check_docs.py looks each of them up here.
#include <fxpass/fxpass.hpp>
#include <fxpass/read/pt2.hpp>

#include <cstdio>
#include <string_view>
#include <utility>

using namespace fxpass;

namespace {

// graph/builder.hpp, graph/editor.hpp --------------------------------------------------------------------------------
[[maybe_unused]] constexpr auto build() -> Graph {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 3}));
  const NodeId y = b.call_method("add_", {x, 1}, b.tensor(DType::f32, {4, 3}));
  b.output({y});
  Graph graph = std::move(b).finish();
  return graph;
}
[[maybe_unused]] constexpr auto edit(Graph& graph, NodeId x, NodeId id, ValueSpec value) -> Renumbering {
  Editor edit(graph);
  const NodeId twin = edit.insert_before(id, "torch.ops.aten.relu.default", {x}, value);
  edit.replace_uses(id, twin);
  edit.erase(id);
  const Renumbering moved = edit.commit();
  return moved;
}

// ops/custom_operators.hpp ---------------------------------------------------------------------------------------------
[[maybe_unused]] auto read_scaled() -> bool {
  CustomOperators operators;
  const Status added = operators.add("mylib::scale_(Tensor(a!) x, float by) -> ()");
  const Expected<Module<>> program = read_pt2("model.pt2", &operators);
  return added && program;
}

// support/expected.hpp, graph/call.hpp, graph/users.hpp ---------------------------------------------------------------
[[maybe_unused]] auto first_node() -> int {
  const Expected<Module<>> program = read_pt2("model.pt2");
  if (!program) return report(stderr, program.error());
  const Graph& graph = program->graph();
  return graph.node_count() == 0 ? 1 : 0;
}
[[maybe_unused]] constexpr auto added(const Graph& graph, NodeId id) -> NodeId {
  const Call call(graph, id);
  if (call.name() != "aten.add.Tensor") return no_node;
  return call.operand("other");
}
[[maybe_unused]] constexpr auto read(const Graph& graph, NodeId id) -> bool {
  const Users users(graph);
  const bool is_read = !users[id].empty();
  return is_read;
}

// pass/contract.hpp, pass/fact.hpp, pass/pass.hpp ----------------------------------------------------------------------
struct Contracted {
  using needs = facts<AliasesAnalysed>;               // must be true before
  using forbids = facts<OutOfPlace>;                  // must not be true before
  using establishes = facts<OutOfPlace>;              // is true behind
  using keeps = everything_but<AliasesAnalysed>;      // what else stays true: or
                                                      // everything, nothing, facts<...>
};
namespace own {
using T = int;
struct OutOfPlace {
  static constexpr std::string_view name = "out_of_place";
  using provider = InPlaceToOutOfPlacePass;                       // what errors propose; may be incomplete
  static constexpr auto check(const Graph& graph) -> Status;      // where a graph can show it
  using artifact = T;                                             // where a value comes with it: an analysis
};
static_assert(FactWithArtifact<own::OutOfPlace> && CheckableFact<own::OutOfPlace>);
}  // namespace own
struct MyPass {
  static constexpr std::string_view name = "my_pass";
  constexpr auto run(Graph graph, Context& context) const -> Expected<Graph>;
};
static_assert(FXPass<MyPass>);

// pass/forward.hpp ---------------------------------------------------------------------------------------------------
constexpr auto is_dropout(const Operator& op) -> bool { return op.kind == NodeKind::call_module; }
struct CountDropout {
  static constexpr std::string_view name = "count_dropout";
  struct State { Context* context; };
  constexpr auto begin(Graph&, Artifacts<CountDropout>&, Context& context) const -> State { return {&context}; }
  static constexpr auto wants(const Operator& op) -> bool { return is_dropout(op); }
  constexpr auto visit(State& state, Sweep&) const -> Status { state.context->count("dropouts"); return {}; }
  constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
};
static_assert(ForwardPass<CountDropout>);

// pass/pipeline.hpp, pass/auto_order.hpp, pass/repeat.hpp, pass/optional_pass.hpp --------------------------------------
[[maybe_unused]] void run(const Graph& graph) {
  constexpr auto passes = pipeline(DeviceRewriterPass{}, AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{});
  Expected<Module<OnTargetDevice, MutationsSurfaced, OutOfPlace>> done = passes(Module<>(graph));
  static_cast<void>(done);
}
struct Fold : MyPass {};
struct Drop : MyPass {
  static constexpr std::string_view name = "drop";
};
[[maybe_unused]] constexpr auto ordered() {
  constexpr auto passes =
      auto_order(InPlaceToOutOfPlacePass{}, DeviceRewriterPass{}, AliasingOutputRewritePass{});
  // is pipeline(DeviceRewriterPass{}, AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{})
  return passes;
}
[[maybe_unused]] constexpr auto repeated() {
  constexpr auto simplify = repeat<20>(pipeline(Fold{}, Drop{}));  // a pass: "repeat(fold | drop)"
  return simplify;
}
struct Options {
  bool rewrites_devices = true;
};
[[maybe_unused]] auto choose(Options options) {
  const auto passes = get_default_pass_manager().replace<DeviceRewriterPass>(
      optional_pass(DeviceRewriterPass{}, options.rewrites_devices));
  return passes;
}

// passes/bind_symbols.hpp ----------------------------------------------------------------------------------------------
[[maybe_unused]] auto bound(const Expected<Module<>>& program) {
  const SymbolBinding bindings[] = {{"s77", 128}};
  const auto module = program.and_then(BindSymbolsPass{bindings} | get_default_pass_manager());
  return module.has_value();
}

// pass/kernel_registry.hpp, pass/process_groups.hpp, pass/module.hpp -----------------------------------------------------
[[maybe_unused]] auto with_kernels(const Text& config) {
  KernelRegistry kernels;
  kernels.add({.kernel_idx = 3, .backend_config = config, .aliases = {}});
  const auto passes = get_default_pass_manager({.kernels = &kernels});
  return passes(Module<>());
}
[[maybe_unused]] auto with_groups() {
  ProcessGroups groups(4);
  const Status known = groups.add("tp", {{0, 1}, {2, 3}});
  const auto passes = get_default_pass_manager({.groups = &groups});
  return known ? 0 : report(stderr, passes(Module<>()).error());
}
[[maybe_unused]] auto checked(const Module<>& module) {
  auto checked = check_facts<OutOfPlace, MutationsSurfaced>(module);
  return checked;
}

// pass/observer.hpp, pass/verify_each.hpp, pass/timer.hpp -----------------------------------------------------------------------------
struct Observer {
  void before(std::string_view pass, const Graph&);
  void after(const PassReport&, const Graph&);
  void failed(std::string_view pass, const Diagnostics&, const Graph& before);
};
static_assert(PassObserver<Observer>);
[[maybe_unused]] auto verified(const Module<>& module) {
  constexpr auto passes = get_default_pass_manager();
  Context context;
  VerifyEach verify;
  auto done = passes.run_passes(module, context, verify);
  return done;
}

[[maybe_unused]] auto compiled(const Expected<Module<>>& program) {
  const auto lowered = program.and_then(get_default_pass_manager()).and_then(lower(neuron::trn2));
  return lowered;
}

[[maybe_unused]] auto timed(const Module<>& module, Context& context) {
  constexpr auto passes = get_default_pass_manager();
  Text log;
  PassTimer timer(log);
  const auto done = passes.run_passes(module, context, timer);
  return done;
}

// hlo/builder.hpp, emit/file.hpp, lower/compile.hpp, lower/signature.hpp ------------------------------------------------
[[maybe_unused]] constexpr auto square() -> Expected<hlo::Module> {
  hlo::Builder b("squares");
  const hlo::Value x = b.parameter({DType::f32, {4}}, "x");
  const Expected<hlo::Module> squares = b.finish(b.multiply(x, x));
  return squares;
}
[[maybe_unused]] auto compiled(const Module<>& program, const KernelRegistry& kernels) {
  const Expected<LoweredModule> lowered = compile(program, {.kernels = &kernels}, neuron::trn2);
  return lowered;
}
[[maybe_unused]] auto written(const LoweredModule& lowered) {
  Text json;
  write_json(json, lowered.signature);
  const Text proto = emit<HloProto>(lowered);
  const Status written = write_files({{"model.pb", proto}, {"model.json", json}});
  return written;
}

// lower/ -------------------------------------------------------------------------------------------------------------
// docs/lowering.md has it too, with the test
struct LowerCube {
  static constexpr std::string_view op = "mylib.cube";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "x");
    return c.builder().multiply(x, c.builder().multiply(x, x));
  }
};
constexpr auto with_cube = default_lowerings + lowerings<LowerCube>{};
static_assert([] {
  GraphBuilder b;
  b.declare_operator("torch.ops.mylib.cube.default", "mylib.cube.default(Tensor x) -> Tensor");
  const ValueSpec vector = b.tensor(DType::f32, {4});
  const NodeId x = b.placeholder("x", vector);
  b.output({b.call_function("torch.ops.mylib.cube.default", {x}, vector)});

  const auto lowered = lower_graph(std::move(b).finish(), xla, with_cube.table());
  if (!lowered) return false;
  const Text text = emit<HloText>(*lowered);
  return text.view().find("multiply(%x.1, %multiply.2)") != std::string_view::npos;
}());
struct LowerSum {
  static constexpr std::string_view op = "mylib.sum";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [a, b] = c.operands(call, Meeting::arithmetic, "self", "other");
    return c.builder().add(a, b);
  }
};
[[maybe_unused]] constexpr auto more = with_cube + lowerings<LowerSum>{};

}  // namespace

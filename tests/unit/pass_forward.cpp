// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/call.hpp>
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/pipeline.hpp>

#include "twice.hpp"

#include <cstdint>

namespace {

using namespace fxpass;

/// A small linear congruential generator: the same programs everywhere, in constant evaluation too.
class Random {
 public:
  constexpr explicit Random(std::uint64_t seed) : state_(seed * 2862933555777941757ULL + 3037000493ULL) {}
  constexpr auto below(std::uint32_t bound) -> std::uint32_t {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state_ >> 33U) % bound;
  }

 private:
  std::uint64_t state_;
};

inline constexpr std::string_view operators[] = {
    "torch.ops.aten.relu.default", "torch.ops.aten.neg.default", "torch.ops.aten.abs.default",
    "torch.ops.aten.add.Tensor",   "torch.ops.aten.sin.default", "torch.ops.aten.cat.default",
};
/// Of two inputs. Larger ones run graphs inside themselves, `depth` deep.
constexpr auto random_graph(std::uint64_t seed, std::uint32_t calls, std::uint32_t depth = 2) -> Graph {
  Random random(seed);
  GraphBuilder b;
  const ValueSpec value = b.tensor(DType::f32, {2});
  Pool<NodeId> nodes;
  for (const char* input : {"x", "y"}) nodes.push_back(b.placeholder(input, value));
  for (std::uint32_t i = 0; i < calls; ++i) {
    const auto operand = [&] { return nodes[random.below(nodes.size())]; };
    if (i % 8 == 7 && depth != 0) {
      const auto branch = [&] { return b.add_subgraph(random_graph(random.below(1000), random.below(i + 4), depth - 1)); };
      const Argument first = branch();
      const Argument second = random.below(3) == 0 ? first : branch();
      const NodeId call = b.call_function("torch.ops.higher_order.cond",
                                          {operand(), first, second, b.tuple_of({operand(), operand()})},
                                          b.tuple({value, value}));
      nodes.push_back(b.call_function("operator.getitem", {call, std::int64_t{0}}, value));
      continue;
    }
    const std::string_view target = operators[random.below(6)];
    if (target == operators[5])
      nodes.push_back(b.call_function(target, {b.list({operand(), operand(), operand()}), 0}, value));
    else if (target == operators[3])
      nodes.push_back(b.call_function(target, {operand(), operand()}, value));
    else
      nodes.push_back(b.call_function(target, {operand()}, value));
  }
  b.output({nodes.back(), nodes[random.below(nodes.size())]});
  return std::move(b).finish();
}

/// What the passes below have in common: each wants the calls of one operator.
template <TextConstant Name, TextConstant Target>
struct ForwardBase {
  static constexpr std::string_view name = Name.view();
  using keeps = everything;
  struct State {
    Context* context;
    std::int64_t visits = 0;
  };
  template <class P>
  constexpr auto begin(Graph&, Artifacts<P>&, Context& context) const -> State { return {&context}; }
  static constexpr auto wants(const Operator& op) -> bool {
    return op.kind == NodeKind::call_function && op.row == ops::find_overload(Target.view());
  }
  constexpr auto finish(State& state, Graph&, Context& context) const -> Status {
    context.count("visits", state.visits);
    return {};
  }
  /// Takes note of the visit, by the node's operands, which do not depend on who else edits; names would.
  static constexpr void note(State& state, const Sweep& sweep) {
    ++state.visits;
    Text text = text_of(Name.view(), " sees ", sweep.graph().target(sweep.id()), " of");
    sweep.graph().for_each_operand(
        sweep.id(), [&](NodeId used) { append_all(text, ' ', sweep.graph().target(used)); });
    state.context->warn(Diagnostic::warning(DiagnosticCode::unsupported, std::move(text)));
  }
  static constexpr auto first_operand(Sweep& sweep) -> NodeId {
    return sweep.replacement(sweep.graph().arguments(sweep.id())[0].node());
  }
  static constexpr auto value(const Sweep& sweep) -> ValueSpec {
    return {sweep.node().value_kind, sweep.node().values};
  }
};

/// relu(x) becomes abs(neg(x)).
struct Expand : ForwardBase<"expand", "aten.relu.default"> {
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    note(state, sweep);
    const NodeId x = first_operand(sweep);
    const NodeId inner = sweep.editor().insert_before(sweep.id(), operators[1], {x}, value(sweep), "fresh");
    const NodeId outer = sweep.editor().insert_before(sweep.id(), operators[2], {inner}, value(sweep), "fresh");
    sweep.editor().replace_uses(sweep.id(), outer);
    sweep.editor().erase(sweep.id());
    return {};
  }
};
/// neg(x) becomes x, those that Expand made included.
struct Drop : ForwardBase<"drop", "aten.neg.default"> {
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    note(state, sweep);
    const NodeId x = first_operand(sweep);
    sweep.editor().replace_uses(sweep.id(), x);
    sweep.editor().erase(sweep.id());
    return {};
  }
};
/// abs(x) becomes abs(x + x): a new node before the one visited, which may be new itself, and another operand.
struct Double : ForwardBase<"double", "aten.abs.default"> {
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    note(state, sweep);
    const NodeId x = first_operand(sweep);
    const NodeId sum = sweep.editor().insert_before(sweep.id(), operators[3], {x, x}, value(sweep), "fresh");
    sweep.graph().mutable_arguments(sweep.id())[0] = Argument(sum);
    return {};
  }
};
/// Uses of a sum behind it become uses of a copy, the sum stays.
struct Shadow : ForwardBase<"shadow", "aten.add.Tensor"> {
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    note(state, sweep);
    // Before the sum there is no node to copy it, so the copy is of its first operand.
    const NodeId copy =
        sweep.editor().insert_before(sweep.id(), operators[4], {first_operand(sweep)}, value(sweep), "fresh");
    sweep.editor().replace_uses(sweep.id(), copy);
    return {};
  }
};
/// Cannot do with its `limit`-th sine.
template <TextConstant Name>
struct Refuse : ForwardBase<Name, "aten.sin.default"> {
  std::int64_t limit = 1;
  using State = typename ForwardBase<Name, "aten.sin.default">::State;
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    this->note(state, sweep);
    if (state.visits < limit) return {};
    return Diagnostic::error(DiagnosticCode::unsupported, text_of("sine number ", state.visits));
  }
};

/// Makes each pass run by itself.
struct Watcher {
  constexpr void before(std::string_view, const Graph&) {}
};

/// Whether the passes together, and one after the other, give the same: graph, or errors, and warnings in order.
template <class Passes>
constexpr auto fused_is_sequential(const Passes& passes, const Graph& graph) -> bool {
  Context together;
  Context apart;
  const auto fused = passes.run_passes(Module<>(graph), together);
  const auto sequential = passes.run_passes(Module<>(graph), apart, Watcher());
  if (!(together.warnings() == apart.warnings()) || fused.has_value() != sequential.has_value()) return false;
  if (!fused) return fused.error() == sequential.error();
  return fused->graph() == sequential->graph() && verify(fused->graph()).has_value();
}

constexpr auto both_orders(std::uint64_t seed, std::uint32_t size) -> bool {
  const Graph graph = random_graph(seed, size);
  return fused_is_sequential(pipeline(Expand{}, Drop{}, Double{}, Shadow{}), graph) &&
         fused_is_sequential(pipeline(Shadow{}, Double{}, Drop{}, Expand{}), graph) &&
         fused_is_sequential(pipeline(Drop{}, Shadow{}, Expand{}, Double{}, named<"drop_again">(Drop{})), graph);
}
constexpr auto with_failures(std::uint64_t seed, std::uint32_t size) -> bool {
  const Graph graph = random_graph(seed, size);
  Random random(seed);
  const auto limit = [&] { return std::int64_t{1} + random.below(size / 2); };
  return fused_is_sequential(pipeline(Shadow{}, Refuse<"first">{{}, limit()}, Expand{}, Refuse<"second">{{}, limit()}),
                             graph) &&
         fused_is_sequential(pipeline(Refuse<"first">{{}, limit()}, Shadow{}, Refuse<"second">{{}, limit()}), graph);
}

constexpr auto fused_passes_are_sequential_passes() -> bool {
  return fused_is_sequential(pipeline(Expand{}, Drop{}, Double{}), random_graph(1, 4));
}
FXPASS_TEST_TWICE(fused_passes_are_sequential_passes)
constexpr auto the_first_failure_is_the_sequential_one() -> bool {
  return fused_is_sequential(pipeline(Shadow{}, Refuse<"first">{{}, 2}, Refuse<"second">{{}, 1}), random_graph(7, 6));
}
FXPASS_TEST_TWICE(the_first_failure_is_the_sequential_one)

TEST_CASE("fused passes are sequential passes, on random graphs") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    REQUIRE(both_orders(seed, 1 + static_cast<std::uint32_t>(seed % 40)));
  }
}
TEST_CASE("the first failure of fused passes is that of sequential ones, on random graphs") {
  // Some programs have few sines, so that nothing fails; others make the second pass fail at an earlier node.
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    REQUIRE(with_failures(seed, 2 + static_cast<std::uint32_t>(seed % 40)));
  }
}

/// Does something else at each visit, as its random numbers say: nothing, insert, replace, erase, call another operator,
/// rename, ask for every node from there on; or fails at its `limit`-th. Passes of different `Rest` want different calls.
template <TextConstant Name, std::uint32_t Rest>
struct Act : ForwardBase<Name, "aten.relu.default"> {
  using Base = ForwardBase<Name, "aten.relu.default">;
  std::uint64_t seed = 0;
  std::int64_t limit = 0;

  struct State : Base::State {
    Random random;
  };
  constexpr auto begin(Graph&, Artifacts<Act>&, Context& context) const -> State { return {{&context}, Random(seed)}; }
  static constexpr auto wants(const Operator& op) -> bool {
    return op.kind == NodeKind::call_function && op.row % 3 != Rest;
  }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    ++state.visits;
    // Not what its operands call: a later pass may have had them call something else.
    state.context->warn(Diagnostic::warning(DiagnosticCode::unsupported,
                                            text_of(Name.view(), " sees ", sweep.graph().target(sweep.id()))));
    if (state.visits == limit)
      return Diagnostic::error(DiagnosticCode::unsupported, text_of("visit number ", state.visits));
    const std::uint32_t action = state.random.below(8);
    const Node node = sweep.node();
    if (node.kind != NodeKind::call_function || !sweep.graph().arguments(sweep.id())[0].is_node()) return {};
    const NodeId operand = this->first_operand(sweep);
    const std::string_view target = operators[state.random.below(3)];
    switch (action) {
      case 0: sweep.graph().mutable_arguments(sweep.id())[0] = Argument(copy_before(sweep, target, operand)); break;
      case 1: sweep.editor().replace_uses(sweep.id(), copy_before(sweep, target, operand)); break;
      case 2:
        sweep.editor().replace_uses(sweep.id(), copy_before(sweep, target, operand));
        sweep.editor().erase(sweep.id());
        break;
      case 3:
        sweep.editor().replace_uses(sweep.id(), operand);
        sweep.editor().erase(sweep.id());
        break;
      case 4:
        if (node.arguments.count == 1) sweep.editor().retarget(sweep.id(), target);
        break;
      case 5:
        sweep.editor().rename(sweep.id(), state.random.below(2) == 0 ? "fresh" : "add");
        break;
      case 6:
        if (state.random.below(8) == 0) sweep.want_every_node();
        break;
      default: break;
    }
    return {};
  }

 private:
  static constexpr auto copy_before(Sweep& sweep, std::string_view target, NodeId operand) -> NodeId {
    return sweep.editor().insert_before(sweep.id(), target, {operand}, Base::value(sweep), "fresh");
  }
};

constexpr auto random_passes_agree(std::uint64_t seed, std::uint32_t size, bool may_fail) -> bool {
  const Graph graph = random_graph(seed, size);
  Random random(seed + 1);
  const auto limit = [&] { return may_fail ? std::int64_t{random.below(2 * size)} : 0; };
  return fused_is_sequential(pipeline(Act<"a", 0>{{}, 3 * seed, limit()}, Act<"b", 1>{{}, 3 * seed + 1, limit()},
                                      Act<"c", 2>{{}, 3 * seed + 2, limit()}, Act<"d", 3>{{}, seed, limit()}),
                             graph);
}
constexpr auto random_passes_are_sequential_passes() -> bool {
  return random_passes_agree(2, 3, false) && random_passes_agree(5, 3, true);
}
FXPASS_TEST_TWICE(random_passes_are_sequential_passes)

TEST_CASE("fused random passes are sequential passes, on random graphs") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    REQUIRE(random_passes_agree(seed, 1 + static_cast<std::uint32_t>(seed % 40), seed % 2 == 1));
  }
}

// What a sweep does, step by step -------------------------------------------------------------------------------------
constexpr auto relu_of(std::string_view name) -> Graph {
  GraphBuilder b;
  const ValueSpec value = b.tensor(DType::f32, {2});
  const NodeId x = b.placeholder("x", value);
  const NodeId y = b.call_function(operators[0], {x}, value, name);
  b.output({y});
  return std::move(b).finish();
}

constexpr auto later_passes_visit_what_earlier_ones_inserted() -> bool {
  Context context;
  const auto done = pipeline(Expand{}, Double{}).run_passes(Module<>(relu_of("relu")), context);
  if (!done) return false;
  // neg, then the sum that Double put before abs, then abs; relu is gone.
  const Graph& g = done->graph();
  return text_of(g) ==
             "graph():\n"
             "    %x : [num_users=1] = placeholder[target=x]\n"
             "    %fresh : [num_users=1] = call_function[target=torch.ops.aten.neg.default](args = (%x,), kwargs = {})\n"
             "    %fresh_2 : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%fresh, %fresh), "
             "kwargs = {})\n"
             "    %fresh_1 : [num_users=1] = call_function[target=torch.ops.aten.abs.default](args = (%fresh_2,), "
             "kwargs = {})\n"
             "    return (fresh_1,)\n" &&
         context.warnings().size() == 2;
}
FXPASS_TEST_TWICE(later_passes_visit_what_earlier_ones_inserted)

/// The name of an erased node is free for later passes, as it would be had they run later.
constexpr auto names_of_erased_nodes_are_free() -> bool {
  const Graph graph = relu_of("fresh");
  const auto done = pipeline(Expand{}, Double{})(Module<>(graph));
  // Expand meets "fresh" and takes fresh_1, fresh_2; then it is gone, and Double takes "fresh".
  return done && done->graph().name(NodeId{1}) == "fresh_1" && done->graph().name(NodeId{2}) == "fresh" &&
         done->graph().name(NodeId{3}) == "fresh_2";
}
FXPASS_TEST_TWICE(names_of_erased_nodes_are_free)

/// How many nodes there are.
struct Numbered {
  static constexpr std::string_view name = "numbered";
  using artifact = std::int64_t;
};
struct Number : ForwardBase<"number", "aten.relu.default"> {
  using establishes = facts<Numbered>;
  struct State {
    std::int64_t* count;
  };
  constexpr auto begin(Graph&, Artifacts<Number>& artifacts, Context&) const -> State {
    return {&artifacts.get<Numbered>()};
  }
  static constexpr auto wants(const Operator&) -> bool { return true; }
  constexpr auto visit(State& state, Sweep&) const -> Status {
    ++*state.count;
    return {};
  }
  constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
};
/// Warns of the number when it is complete.
struct Tell : ForwardBase<"tell", "aten.relu.default"> {
  using needs = facts<Numbered>;
  struct State {
    const std::int64_t* count;
  };
  constexpr auto begin(Graph&, Artifacts<Tell>& artifacts, Context&) const -> State {
    return {&artifacts.get<Numbered>()};
  }
  constexpr auto visit(State&, Sweep&) const -> Status { return {}; }
  constexpr auto finish(State& state, Graph&, Context& context) const -> Status {
    context.warn(Diagnostic::warning(DiagnosticCode::unsupported, text_of(*state.count)));
    return {};
  }
};
constexpr auto an_artifact_in_use_is_not_filled_in_again() -> bool {
  const auto passes = pipeline(Number{}, Expand{}, Tell{}, named<"number_again">(Number{}));
  Context together;
  Context apart;
  const auto fused = passes.run_passes(Module<>(relu_of("relu")), together);
  const auto sequential = passes.run_passes(Module<>(relu_of("relu")), apart, Watcher());
  // x, relu and the output; then two calls in place of relu.
  return fused && sequential && *fused == *sequential && fused->artifact<Numbered>() == 4 &&
         together.warnings() == apart.warnings() && (together.warnings().end() - 1)->message == "3";
}
FXPASS_TEST_TWICE(an_artifact_in_use_is_not_filled_in_again)

/// Fails in `finish`.
struct Unfinished : ForwardBase<"unfinished", "aten.relu.default"> {
  constexpr auto visit(State&, Sweep&) const -> Status { return {}; }
  constexpr auto finish(State&, Graph&, Context&) const -> Status {
    return Diagnostic::error(DiagnosticCode::unsupported, "no end");
  }
};
constexpr auto an_earlier_pass_that_fails_at_the_end_comes_first() -> bool {
  const auto done = pipeline(Unfinished{}, Expand{}, Refuse<"refuse">{})(Module<>(random_graph(3, 20, 0)));
  return !done && done.error().size() == 1 && done.error().front().message == "in pass 'unfinished': no end";
}
FXPASS_TEST_TWICE(an_earlier_pass_that_fails_at_the_end_comes_first)

}  // namespace

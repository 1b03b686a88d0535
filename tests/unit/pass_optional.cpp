// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/verify.hpp>
#include <fxpass/lower/compile.hpp>
#include <fxpass/pass/describe.hpp>
#include <fxpass/pass/named_pipeline.hpp>
#include <fxpass/pass/optional_pass.hpp>
#include <fxpass/pass/timer.hpp>
#include <fxpass/pass/verify_each.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include "twice.hpp"

#include <concepts>
#include <string_view>

namespace {

using namespace fxpass;
using namespace fxpass::verdict;

constexpr std::string_view neg = "torch.ops.aten.neg.default";
constexpr std::string_view relu = "torch.ops.aten.relu.default";

/// x, then relu(x), returned; a neg in front if asked for.
constexpr auto sample(bool has_neg = false) -> Graph {
  GraphBuilder b;
  const ValueSpec value = b.tensor(DType::f32, {2});
  NodeId x = b.placeholder("x", value);
  if (has_neg) x = b.call_function(neg, {x}, value);
  b.output({b.call_function(relu, {x}, value)});
  return std::move(b).finish();
}
constexpr auto has(const Graph& graph, std::string_view target) -> bool {
  for (std::uint32_t i = 0; i < graph.node_count(); ++i)
    if (graph.target(NodeId{i}) == target) return true;
  return false;
}

struct NoNeg {
  static constexpr std::string_view name = "no_neg";
  static constexpr auto check(const Graph& graph) -> Status {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (graph.target(NodeId{i}) == neg)
        return error_at(graph, NodeId{i}, DiagnosticCode::unsupported, "is a neg");
    return {};
  }
};
/// Where the relu is.
struct ReluFound {
  static constexpr std::string_view name = "relu_found";
  struct Place {
    NodeId node;
    constexpr void renumber(const Renumbering& moved) { node = moved[node]; }
  };
  using artifact = Place;
};

/// Makes negs sins, and finds the relu on the way. One class for each form of a pass.
struct Turn {
  using establishes = facts<NoNeg, ReluFound>;
  using keeps = everything_but<ReluFound>;
  constexpr auto operator()(Graph& graph, ReluFound::Place& place) const -> Status {
    Editor edit(graph);
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
      if (graph.target(NodeId{i}) == neg) edit.retarget(NodeId{i}, "torch.ops.aten.sin.default");
      if (graph.target(NodeId{i}) == relu) place.node = NodeId{i};
    }
    edit.commit();
    return {};
  }
};
struct TurnAlone : Turn {
  static constexpr std::string_view name = "turn_alone";
  constexpr auto run(Graph& graph, Artifacts<TurnAlone>& artifacts, Context& context) const -> Status {
    context.count("turned");
    return Turn::operator()(graph, artifacts.get<ReluFound>());
  }
};
struct TurnForward : Turn {
  static constexpr std::string_view name = "turn_forward";
  struct State {
    ReluFound::Place* place;
  };
  constexpr auto begin(Graph&, Artifacts<TurnForward>& artifacts, Context& context) const -> State {
    context.count("turned");
    return {&artifacts.get<ReluFound>()};
  }
  static constexpr auto wants(const Operator&) -> bool { return true; }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    const std::string_view target = sweep.graph().target(sweep.id());
    if (target == relu) state.place->node = sweep.id();
    if (target == neg) sweep.editor().retarget(sweep.id(), "torch.ops.aten.sin.default");
    return {};
  }
  constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
};
struct TurnAnew {
  static constexpr std::string_view name = "turn_anew";
  using establishes = facts<NoNeg>;
  constexpr auto run(Graph graph, Context& context) const -> Expected<Graph> {
    context.count("turned");
    ReluFound::Place place;
    if (Status status = Turn()(graph, place); !status) return std::move(status).error();
    return graph;
  }
};
struct NeedsRelu {
  static constexpr std::string_view name = "needs_relu";
  using needs = facts<ReluFound>;
  using keeps = everything;
  constexpr auto run(Graph& graph, Artifacts<NeedsRelu>& artifacts, Context&) const -> Status {
    if (graph.target(artifacts.get<ReluFound>().node) == relu) return {};
    return error_at(graph, NodeId{0}, DiagnosticCode::unsupported, "is no relu");
  }
};
struct FindRelu {
  static constexpr std::string_view name = "find_relu";
  using establishes = facts<ReluFound>;
  using keeps = everything;
  constexpr auto run(Graph& graph, Artifacts<FindRelu>& artifacts, Context&) const -> Status {
    ReluFound::Place& place = artifacts.get<ReluFound>();
    while (graph.target(place.node) != relu) ++place.node.index;
    return {};
  }
};

// The contract ----------------------------------------------------------------------------------------------
template <class P>
constexpr bool promises_what_a_graph_shows =
    FXPass<OptionalPass<P>> && OptionalPass<P>::name == P::name &&
    std::same_as<establishes_of<OptionalPass<P>>, facts<NoNeg>> &&
    std::same_as<needs_of<OptionalPass<P>>, needs_of<P>> &&
    ForwardPass<OptionalPass<P>> == ForwardPass<P>;
static_assert(promises_what_a_graph_shows<TurnAlone> && promises_what_a_graph_shows<TurnForward> &&
              promises_what_a_graph_shows<TurnAnew>);
// What the pass establishes stays true if it is switched off.
static_assert(contract_of<TurnAlone>.listed.size() == 1 && contract_of<OptionalPass<TurnAlone>>.listed.empty());
static_assert(contract_of<OptionalPass<TurnAnew>>.keeping == Keeping::undeclared);
static_assert(std::same_as<establishes_when_on_of<OptionalPass<TurnAlone>>, facts<ReluFound>>);
static_assert(FXPass<NamedPass<"other", OptionalPass<TurnForward>>> &&
              FXPass<OptionalPass<NamedPass<"other", TurnAlone>>>);
static_assert(ForwardPass<NamedPass<"other", OptionalPass<TurnForward>>>);

static_assert(text_of(contract_of<OptionalPass<TurnAlone>>) ==
              "turn_alone\n"
              "  needs       -\n"
              "  forbids     -\n"
              "  establishes no_neg\n"
              "  if on       relu_found\n"
              "  keeps       everything\n");

// Found as the pass would be.
constexpr auto with_switch = pipeline(FindRelu{}, optional_pass(TurnAlone{}, true), NeedsRelu{});
static_assert(std::same_as<decltype(with_switch.insert_before<TurnAlone>(TurnForward{})),
                           Pipeline<FindRelu, TurnForward, OptionalPass<TurnAlone>, NeedsRelu>>);
static_assert(std::same_as<decltype(with_switch.replace<TurnAlone>(TurnAlone{})),
                           Pipeline<FindRelu, TurnAlone, NeedsRelu>>);
static_assert(with_switch.get<TurnAlone>().is_on() && with_switch.get<OptionalPass<TurnAlone>>().is_on());

// On and off ------------------------------------------------------------------------------------------------
template <class P>
constexpr auto switched_on_it_is_the_pass() -> bool {
  const auto passes = pipeline(optional_pass(P{}, true));
  const auto done = passes(Module<>(sample(true)));
  static_assert(std::same_as<decltype(done), const Expected<Module<NoNeg>>>);
  return done && done->graph() == pipeline(P{})(Module<>(sample(true)))->graph() && !has(done->graph(), neg) &&
         passes.template get<OptionalPass<P>>().is_on();
}
FXPASS_TEST_TWICE(switched_on_it_is_the_pass<TurnAlone>)
FXPASS_TEST_TWICE(switched_on_it_is_the_pass<TurnForward>)
FXPASS_TEST_TWICE(switched_on_it_is_the_pass<TurnAnew>)

template <class P>
constexpr auto switched_off_it_checks() -> bool {
  const auto passes = pipeline(optional_pass(P{}, true).switched(false));
  const auto kept = passes(Module<>(sample(false)));
  if (!kept || kept->graph() != sample(false)) return false;
  const auto refused = passes(Module<>(sample(true)));
  if (refused || refused.error().size() != 1) return false;
  const Diagnostic& d = refused.error().front();
  return d.code == DiagnosticCode::fact_violated && d.node == "neg" &&
         d.message == text_of("in pass '", P::name,
                              "': the pass is switched off, and the graph is not 'no_neg': is a neg");
}
FXPASS_TEST_TWICE(switched_off_it_checks<TurnAlone>)
FXPASS_TEST_TWICE(switched_off_it_checks<TurnForward>)
FXPASS_TEST_TWICE(switched_off_it_checks<TurnAnew>)

/// An analysis from before is there either way: made anew if the pass is on, untouched if it is off.
template <class P>
constexpr auto an_analysis_from_before_stays() -> bool {
  for (const bool on : {false, true}) {
    const auto passes = pipeline(FindRelu{}, optional_pass(P{}, on), NeedsRelu{});
    const auto done = passes(Module<>(sample(on)));
    static_assert(std::same_as<decltype(done), const Expected<Module<NoNeg, ReluFound>>>);
    if (!done || done->template artifact<ReluFound>().node != NodeId{on ? 2U : 1U}) return false;
  }
  return true;
}
FXPASS_TEST_TWICE(an_analysis_from_before_stays<TurnAlone>)
FXPASS_TEST_TWICE(an_analysis_from_before_stays<TurnForward>)

// Otherwise nobody can rely on it: an error at once, not when a module comes.
static_assert(std::same_as<order_verdict<OptionalPass<TurnAlone>, NeedsRelu>,
                           wrong_pass_order<pass<NeedsRelu>, needs<ReluFound>,
                                            is_established_only_when_on<TurnAlone>,
                                            to_mend<take_out_of_optional_pass<TurnAlone>>>>);
// The last one in front is the one to name.
static_assert(std::same_as<order_verdict<OptionalPass<TurnAlone>, OptionalPass<TurnForward>, NeedsRelu>,
                           wrong_pass_order<pass<NeedsRelu>, needs<ReluFound>,
                                            is_established_only_when_on<TurnForward>,
                                            to_mend<take_out_of_optional_pass<TurnForward>>>>);
static_assert(order_verdict<FindRelu, OptionalPass<TurnAlone>, NeedsRelu>::ok);

// Who looks on ----------------------------------------------------------------------------------------------
struct Diary {
  Text text;
  constexpr void before(std::string_view pass, const Graph&) { append_all(text, '<', pass); }
  constexpr void after(const PassReport& report, const Graph&) {
    append_all(text, report.skipped ? " skipped" : " ran");
    for (const Statistic& s : report.statistics) append_all(text, ' ', s.key, '=', s.value);
    for (const FactInfo& fact : report.facts) append_all(text, ' ', fact.name);
    append_to(text, "> ");
  }
};
template <class P>
constexpr auto observers_are_told() -> bool {
  Diary diary;
  Context context;
  const auto passes = pipeline(optional_pass(P{}, false), named<"again">(optional_pass(P{}, true)));
  const auto done = passes.run_passes(Module<>(sample(false)), context, diary, VerifyEach());
  return done && diary.text == text_of("<", P::name, " skipped no_neg> <again ran turned=1 no_neg> ");
}
FXPASS_TEST_TWICE(observers_are_told<TurnAlone>)
FXPASS_TEST_TWICE(observers_are_told<TurnForward>)

TEST_CASE("the timer says that a pass was skipped") {
  Text log;
  PassTimer timer(log);
  Context context;
  REQUIRE(pipeline(optional_pass(TurnAlone{}, false)).run_passes(Module<>(sample()), context, timer).has_value());
  CHECK(log == "FX Pass 'turn_alone' skipped\n");
}

// A pipeline with a name ------------------------------------------------------------------------------------
constexpr auto a_named_pipeline_has_one_switch() -> bool {
  for (const bool on : {false, true}) {
    const auto both = optional_pass(named<"turn_and_look">(pipeline(TurnForward{}, NeedsRelu{})), on);
    Context context;
    Diary diary;
    const auto done = pipeline(both).run_passes(Module<>(sample(on)), context, diary);
    static_assert(std::same_as<decltype(done), const Expected<Module<NoNeg>>>);
    if (!done || has(done->graph(), neg)) return false;
    if (diary.text != (on ? "<turn_and_look ran turn_forward.turned=1 no_neg> " : "<turn_and_look skipped no_neg> "))
      return false;
  }
  return true;
}
FXPASS_TEST_TWICE(a_named_pipeline_has_one_switch)

// The default pipeline --------------------------------------------------------------------------------------
constexpr auto on_cuda() -> Graph {
  GraphBuilder b;
  const ValueSpec value = b.tensor(DType::f32, {2}, "cuda:0");
  const NodeId x = b.placeholder("x", value);
  const NodeId ones =
      b.call_function("torch.ops.aten.ones.default", {b.list({2}), b.keyword("device", b.device("cuda:0"))}, value);
  b.output({b.call_function("torch.ops.aten.add.Tensor", {x, ones}, value)});
  return std::move(b).finish();
}
constexpr auto default_passes(bool rewrites_devices) {
  return get_default_pass_manager().replace<DeviceRewriterPass>(
      optional_pass(DeviceRewriterPass{}, rewrites_devices));
}
constexpr auto the_device_pass_of_the_default_pipeline_is_switched() -> bool {
  for (const bool on : {false, true}) {
    const auto done = default_passes(on)(Module<>(on_cuda()));
    if (!done) return false;
    bool is_on_target = false;
    for (const Argument& a : done->graph().arguments(NodeId{1}))
      if (a.is(ArgumentKind::device)) is_on_target = done->graph().device(a.device()) == "xla:0";
    if (is_on_target != on) return false;
  }
  return true;
}
FXPASS_TEST_TWICE(the_device_pass_of_the_default_pipeline_is_switched)

/// Optional forward passes share a traversal, whichever of them are on, as if each ran by itself.
constexpr auto any_setting_of_switches_runs_in_one_traversal(unsigned setting) -> bool {
  const bool rewrites_devices = (setting & 1U) != 0;
  const auto passes = pipeline(optional_pass(DeviceRewriterPass{}, rewrites_devices),
                               optional_pass(NkiKernelWriteBackendConfigPass{}, (setting & 2U) != 0),
                               optional_pass(CollectiveReplicaGroupsPass{}, (setting & 4U) != 0));
  const Module<> module(on_cuda());
  Diary diary;
  Context context;
  const auto together = passes(module);
  const auto one_by_one = passes.run_passes(module, context, diary);
  return together && one_by_one && *together == *one_by_one &&
         (together->graph() == module.graph()) == !rewrites_devices;
}
static_assert(any_setting_of_switches_runs_in_one_traversal(5));
TEST_CASE("optional passes share a traversal") {
  for (unsigned setting = 0; setting < 8; ++setting) CHECK(any_setting_of_switches_runs_in_one_traversal(setting));
}

TEST_CASE("the module lowers either way") {
  for (const bool on : {false, true})
    CHECK(default_passes(on)(Module<>(on_cuda())).and_then(lower(XlaTarget())).has_value());
}
static_assert(std::same_as<decltype(default_passes(true)(Module<>()).and_then(lower(XlaTarget()))),
                           Expected<LoweredModule>>);

}  // namespace

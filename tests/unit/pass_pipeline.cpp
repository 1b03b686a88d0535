// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/call.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/describe.hpp>
#include <fxpass/pass/named_pipeline.hpp>
#include <fxpass/pass/pipeline.hpp>

#include <boost/hana/basic_tuple.hpp>
#include <boost/hana/ext/std/tuple.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/tuple.hpp>

#include "twice.hpp"

#include <concepts>
#include <tuple>

namespace {

using namespace fxpass;

/// x, then relu(x), returned.
constexpr auto sample() -> Graph {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  const NodeId y = b.call_function("torch.ops.aten.relu.default", {x}, b.tensor(DType::f32, {2}));
  b.output({y});
  return std::move(b).finish();
}
/// The targets of the graph's calls, in order.
constexpr auto calls(const Graph& graph) -> Text {
  Text text;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i)
    if (graph.node(NodeId{i}).kind == NodeKind::call_function)
      append_all(text, text.empty() ? "" : " ", ops::last_name(ops::operation_of_function(graph.target(NodeId{i})).base));
  return text;
}
constexpr auto insert_first(Graph& graph, std::string_view target) -> Renumbering {
  Editor edit(graph);
  edit.insert_before(NodeId{1}, target, {NodeId{0}}, {});
  return edit.commit();
}

// One pass for each form of `run`.
struct Neg {
  static constexpr std::string_view name = "neg";
  using keeps = everything;
  constexpr auto run(Graph graph, Context& context) const -> Expected<Graph> {
    context.renumbered(insert_first(graph, "torch.ops.aten.neg.default"));
    return graph;
  }
};
struct Abs {
  static constexpr std::string_view name = "abs";
  using keeps = everything;
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    context.renumbered(insert_first(graph, "torch.ops.aten.abs.default"));
    return {};
  }
};
struct Sin {
  static constexpr std::string_view name = "sin";
  using keeps = everything;
  struct State {};
  constexpr auto begin(Graph&, Artifacts<Sin>&, Context&) const -> State { return {}; }
  static constexpr auto wants(const Operator& op) -> bool { return op.kind == NodeKind::output; }
  constexpr auto visit(State&, Sweep& sweep) const -> Status {
    sweep.editor().insert_before(sweep.id(), "torch.ops.aten.sin.default", {NodeId{0}}, {});
    return {};
  }
  constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
};

/// Which node is the relu.
struct ReluFound {
  static constexpr std::string_view name = "relu_found";
  struct Place {
    NodeId node;
    constexpr void renumber(const Renumbering& moved) { node = moved[node]; }
  };
  using artifact = Place;
};
struct FindRelu {
  static constexpr std::string_view name = "find_relu";
  using establishes = facts<ReluFound>;
  using keeps = everything;
  constexpr auto run(Graph& graph, Artifacts<FindRelu>& artifacts, Context&) const -> Status {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (graph.target(NodeId{i}) == "torch.ops.aten.relu.default") artifacts.get<ReluFound>().node = NodeId{i};
    return {};
  }
};
struct CountUse {
  static constexpr std::string_view name = "count_use";
  using needs = facts<ReluFound>;
  using keeps = everything;
  constexpr auto run(Graph& graph, Artifacts<CountUse>& artifacts, Context&) const -> Status {
    static_assert(std::same_as<decltype(artifacts.get<ReluFound>()), const ReluFound::Place&>);
    if (graph.target(artifacts.get<ReluFound>().node) == "torch.ops.aten.relu.default") return {};
    return error_at(graph, artifacts.get<ReluFound>().node, DiagnosticCode::unsupported, "is no relu");
  }
};

constexpr auto every_form_of_pass_runs() -> bool {
  const auto done = pipeline(Neg{}, Abs{}, Sin{})(Module<>(sample()));
  static_assert(std::same_as<decltype(done), const Expected<Module<>>>);
  return done && verify(done->graph()) && calls(done->graph()) == "abs neg relu sin";
}
FXPASS_TEST_TWICE(every_form_of_pass_runs)

constexpr auto artifacts_follow_their_nodes() -> bool {
  const auto passes = pipeline(FindRelu{}, Neg{}, Abs{}, Sin{}, CountUse{});
  const auto done = passes(Module<>(sample()));
  static_assert(std::same_as<decltype(done), const Expected<Module<ReluFound>>>);
  return done && done->artifact<ReluFound>().node == NodeId{3} && calls(done->graph()) == "abs neg relu sin";
}
FXPASS_TEST_TWICE(artifacts_follow_their_nodes)

/// Finds the relu behind an edit of its own.
struct NegThenFind {
  static constexpr std::string_view name = "neg_then_find";
  using establishes = facts<ReluFound>;
  using keeps = everything;
  constexpr auto run(Graph& graph, Artifacts<NegThenFind>& artifacts, Context& context) const -> Status {
    context.renumbered(insert_first(graph, "torch.ops.aten.neg.default"));
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (graph.target(NodeId{i}) == "torch.ops.aten.relu.default") artifacts.get<ReluFound>().node = NodeId{i};
    return {};
  }
};
constexpr auto what_a_pass_makes_names_the_nodes_that_it_leaves() -> bool {
  const auto done = pipeline(NegThenFind{}, Abs{}, CountUse{})(Module<>(sample()));
  return done && done->artifact<ReluFound>().node == NodeId{3};
}
FXPASS_TEST_TWICE(what_a_pass_makes_names_the_nodes_that_it_leaves)
// Passes that only look -------------------------------------------------------------------------------------
struct Census {
  static constexpr std::string_view name = "census";
  static constexpr auto run(const Graph& graph, Context& context) -> Status {
    context.count("nodes", graph.node_count());
    return {};
  }
};
/// An analysis, and one who reads it: no word of what they keep.
struct LookForRelu {
  static constexpr std::string_view name = "look_for_relu";
  using establishes = facts<ReluFound>;
  constexpr auto run(const Graph& graph, Artifacts<LookForRelu>& artifacts, Context&) const -> Status {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (graph.target(NodeId{i}) == "torch.ops.aten.relu.default")
        artifacts.get<ReluFound>().node = NodeId{i};
    return {};
  }
};
struct LookAtRelu {
  static constexpr std::string_view name = "look_at_relu";
  using needs = facts<ReluFound>;
  constexpr auto run(const Graph& graph, Artifacts<LookAtRelu>& artifacts, Context&) const -> Status {
    if (graph.target(artifacts.get<ReluFound>().node) == "torch.ops.aten.relu.default") return {};
    return error_at(graph, artifacts.get<ReluFound>().node, DiagnosticCode::unsupported, "is no relu");
  }
};
/// Writes down what each pass counted, and which passes changed nothing.
struct CountsSeen {
  Text text;
  constexpr void after(const PassReport& report, const Graph&) {
    append_all(text, report.claims_unchanged ? "=" : "!");
    for (const Statistic& s : report.statistics) append_all(text, s.value);
  }
};
constexpr auto looking_passes_keep_everything() -> bool {
  const auto passes = pipeline(LookForRelu{}, Census{}, Neg{}, LookAtRelu{}, Sin{}, named<"later">(Census{}),
                               named<"again">(LookAtRelu{}));
  const auto done = passes(Module<>(sample()));
  static_assert(std::same_as<decltype(done), const Expected<Module<ReluFound>>>);
  Context context;
  CountsSeen seen;
  const auto observed = passes.run_passes(Module<>(sample()), context, seen);
  return done && observed && done->graph() == observed->graph() &&
         done->artifact<ReluFound>().node == NodeId{2} && calls(done->graph()) == "neg relu sin" &&
         seen.text == "==3!=!=5=";
}
FXPASS_TEST_TWICE(looking_passes_keep_everything)

constexpr auto a_module_carries_its_artifacts_from_run_to_run() -> bool {
  const auto found = pipeline(FindRelu{})(Module<>(sample()));
  if (!found) return false;
  const auto used = found.and_then(Neg{} | pipeline(CountUse{}));
  return used && used->artifact<ReluFound>().node == NodeId{2} && found->artifact<ReluFound>().node == NodeId{1};
}
FXPASS_TEST_TWICE(a_module_carries_its_artifacts_from_run_to_run)

// Facts that nobody vouches for ---------------------------------------------------------------------------------------
struct NoNeg {
  static constexpr std::string_view name = "no_neg";
  static constexpr auto check(const Graph& graph) -> Status {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (graph.target(NodeId{i}) == "torch.ops.aten.neg.default")
        return error_at(graph, NodeId{i}, DiagnosticCode::unsupported, "is a neg");
    return {};
  }
};
struct SilentNeg {
  static constexpr std::string_view name = "silent_neg";
  constexpr auto run(Graph graph, Context& context) const -> Expected<Graph> { return Neg{}.run(graph, context); }
};
struct SilentAbs {
  static constexpr std::string_view name = "silent_abs";
  constexpr auto run(Graph graph, Context& context) const -> Expected<Graph> {
    if (Status status = Abs{}.run(graph, context); !status) return std::move(status).error();
    return graph;
  }
};

constexpr auto a_silent_pass_is_checked_behind() -> bool {
  const auto proved = check_facts<NoNeg>(Module<>(sample()));
  if (!proved) return false;
  const auto harmless = pipeline(SilentAbs{})(*proved);
  static_assert(std::same_as<decltype(harmless), const Expected<Module<NoNeg>>>);
  if (!harmless) return false;
  const auto broken = pipeline(SilentAbs{}, SilentNeg{})(*proved);
  return !broken && broken.error().size() == 1 && broken.error().front().code == DiagnosticCode::fact_violated &&
         broken.error().front().node == "neg" &&
         broken.error().front().message == "in pass 'silent_neg': the pass does not keep 'no_neg': is a neg";
}
FXPASS_TEST_TWICE(a_silent_pass_is_checked_behind)

static_assert(std::same_as<decltype(pipeline(FindRelu{}, SilentAbs{})(Module<>())), Expected<Module<>>>);

// Putting together ----------------------------------------------------------------------------------------------------
constexpr auto base = pipeline(Neg{}, Abs{});
static_assert(std::same_as<decltype(base.add_pass(Sin{})), Pipeline<Neg, Abs, Sin>>);
static_assert(std::same_as<decltype(base | Sin{}), Pipeline<Neg, Abs, Sin>>);
static_assert(std::same_as<decltype(Sin{} | base), Pipeline<Sin, Neg, Abs>>);
static_assert(std::same_as<decltype(pipeline(Sin{}, base, FindRelu{})), Pipeline<Sin, Neg, Abs, FindRelu>>);
static_assert(std::same_as<decltype(base.insert_before<Neg>(Sin{})), Pipeline<Sin, Neg, Abs>>);
static_assert(std::same_as<decltype(base.insert_before<Abs>(Sin{})), Pipeline<Neg, Sin, Abs>>);
static_assert(std::same_as<decltype(base.insert_before<const Abs>(Sin{})), Pipeline<Neg, Sin, Abs>>);
static_assert(std::same_as<decltype(base.insert_after<Abs>(Sin{})), Pipeline<Neg, Abs, Sin>>);
static_assert(std::same_as<decltype(base.insert_after<Neg>(pipeline(Sin{}, FindRelu{}))),
                           Pipeline<Neg, Sin, FindRelu, Abs>>);
static_assert(std::same_as<decltype(base.replace<Neg>(Sin{})), Pipeline<Sin, Abs>>);
static_assert(std::same_as<decltype(base.without<Neg>()), Pipeline<Abs>>);
static_assert(std::same_as<decltype(base.without<Neg>().without<Abs>()), FXPassManager>);
static_assert(std::same_as<decltype(FXPassManager{}.add_pass(Neg{}).add_pass(Abs{})), Pipeline<Neg, Abs>>);
static_assert(std::same_as<decltype(pipeline()), Pipeline<>>);
// Passes without members take no room, as many as there are.
static_assert(sizeof(Pipeline<Neg, Abs, Sin>) <= 3);

/// A pass with an option.
struct Insert {
  static constexpr std::string_view name = "insert";
  using keeps = everything;
  std::string_view target;
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    context.renumbered(insert_first(graph, target));
    return {};
  }
};
constexpr auto options_live_in_the_pass() -> bool {
  constexpr auto passes =
      pipeline(Insert{"torch.ops.aten.cos.default"}, named<"insert_again">(Insert{"torch.ops.aten.tan.default"}));
  constexpr auto changed = passes.replace<Insert>(Insert{"torch.ops.aten.exp.default"});
  static_assert(passes.get<Insert>().target == "torch.ops.aten.cos.default" &&
                changed.get<Insert>().target == "torch.ops.aten.exp.default" &&
                changed.get<NamedPass<"insert_again", Insert>>().target == "torch.ops.aten.tan.default");
  const auto done = passes.run_passes(Module<>(sample()));
  const auto other = changed.run_passes(Module<>(sample()));
  return done && calls(done->graph()) == "tan cos relu" && other && calls(other->graph()) == "tan exp relu";
}
FXPASS_TEST_TWICE(options_live_in_the_pass)

constexpr auto an_empty_pipeline_changes_nothing() -> bool {
  const auto done = FXPassManager{}(Module<>(sample()));
  return done && done->graph() == sample();
}
FXPASS_TEST_TWICE(an_empty_pipeline_changes_nothing)

constexpr auto hana_sequences_make_pipelines_and_back() -> bool {
  constexpr auto passes = pipeline_from(boost::hana::make_tuple(Neg{}, base.without<Neg>(), Insert{"sin"}));
  static_assert(std::same_as<decltype(passes), const Pipeline<Neg, Abs, Insert>>);
  Text names;
  boost::hana::for_each(passes.passes(), [&](const auto& pass) { append_all(names, pass.name, ' '); });
  return names == "neg abs insert " && passes.get<Insert>().target == "sin" &&
         pipeline(passes.passes()).get<Insert>().target == "sin";
}
FXPASS_TEST_TWICE(hana_sequences_make_pipelines_and_back)

// Tuples may be parts wherever passes are, and nest; any other sequence goes through pipeline_from.
namespace hana = boost::hana;
static_assert(std::same_as<decltype(pipeline(base.passes())), Pipeline<Neg, Abs>>);
static_assert(std::same_as<decltype(pipeline_from(base.passes())), Pipeline<Neg, Abs>>);
static_assert(std::same_as<decltype(pipeline(hana::make_basic_tuple(Neg{}, base.without<Neg>()))), Pipeline<Neg, Abs>>);
static_assert(std::same_as<decltype(base.add_pass(hana::make_tuple(Sin{}, FindRelu{}))),
                           Pipeline<Neg, Abs, Sin, FindRelu>>);
static_assert(std::same_as<decltype(base.insert_before<Abs>(hana::make_tuple(Sin{}, hana::make_tuple(FindRelu{})))),
                           Pipeline<Neg, Sin, FindRelu, Abs>>);
static_assert(std::same_as<decltype(base.replace<Neg>(hana::make_tuple())), Pipeline<Abs>>);
static_assert(std::same_as<decltype(base | hana::make_tuple(Sin{})), Pipeline<Neg, Abs, Sin>>);
static_assert(std::same_as<decltype(pipeline_from(std::make_tuple(Neg{}, base.without<Neg>()))), Pipeline<Neg, Abs>>);

// Passes of a pipeline within a pipeline are passes of the whole.
static_assert(std::same_as<decltype(pipeline(FindRelu{}, pipeline(Neg{}, pipeline(Abs{}))).insert_before<Abs>(Sin{})),
                           Pipeline<FindRelu, Neg, Sin, Abs>>);

// A pipeline with a name is one pass ----------------------------------------------------------------------------------
using Stage = NamedPipeline<"stage", FindRelu, Neg, CountUse, Sin>;
static_assert(std::same_as<decltype(named<"stage">(pipeline(FindRelu{}, Neg{}, CountUse{}, Sin{}))), Stage>);
static_assert(FXPass<Stage> && std::same_as<needs_of<Stage>, facts<>> &&
              std::same_as<establishes_of<Stage>, facts<ReluFound>>);
static_assert(std::same_as<needs_of<NamedPipeline<"uses", Neg, CountUse>>, facts<ReluFound>>);

/// Writes down what it sees.
struct Diary {
  Text text;
  constexpr void after(const PassReport& report, const Graph& graph) {
    append_all(text, report.name, ": ", calls(graph));
    for (const Statistic& s : report.statistics) append_all(text, ", ", s.key, '=', s.value);
    append_to(text, '\n');
  }
};
struct CountNodes {
  static constexpr std::string_view name = "count_nodes";
  constexpr auto run(const Graph& graph, Context& context) const -> Status {
    context.count("nodes", graph.node_count());
    context.warn(Diagnostic::warning(DiagnosticCode::unsupported, "nodes were counted"));
    return {};
  }
};
constexpr auto a_named_pipeline_is_one_step() -> bool {
  constexpr auto passes = pipeline(named<"stage">(pipeline(FindRelu{}, Neg{}, CountNodes{}, CountUse{})), Abs{},
                                   named<"uses">(pipeline(Sin{}, CountUse{})));
  Diary diary;
  Context context;
  const auto done = passes.run_passes(Module<>(sample()), context, diary);
  static_assert(std::same_as<decltype(done), const Expected<Module<ReluFound>>>);
  return done && done->artifact<ReluFound>().node == NodeId{3} && context.warnings().size() == 1 &&
         diary.text ==
             "stage: neg relu, count_nodes.nodes=4\n"
             "abs: abs neg relu\n"
             "uses: abs neg relu sin\n";
}
FXPASS_TEST_TWICE(a_named_pipeline_is_one_step)

// As text -------------------------------------------------------------------------------------------------------------
struct Careful {
  static constexpr std::string_view name = "careful";
  using needs = facts<ReluFound, NoNeg>;
  using forbids = facts<ReluFound>;
  using keeps = facts<NoNeg>;
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
struct Careless {
  static constexpr std::string_view name = "careless";
  using keeps = everything_but<ReluFound>;
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
constexpr auto a_pipeline_describes_itself() -> bool {
  return describe(pipeline(SilentNeg{}, FindRelu{}, Careless{})) ==
             "silent_neg\n"
             "  needs       -\n"
             "  forbids     -\n"
             "  establishes -\n"
             "  keeps       what a check after it confirms\n"
             "find_relu\n"
             "  needs       -\n"
             "  forbids     -\n"
             "  establishes relu_found\n"
             "  keeps       everything\n"
             "careless\n"
             "  needs       -\n"
             "  forbids     -\n"
             "  establishes -\n"
             "  keeps       everything but relu_found\n" &&
         text_of(contract_of<Careful>) ==
             "careful\n"
             "  needs       relu_found, no_neg\n"
             "  forbids     relu_found\n"
             "  establishes -\n"
             "  keeps       no_neg\n";
}
FXPASS_TEST_TWICE(a_pipeline_describes_itself)

// `|` of two passes of one's own ------------------------------------------------------------------------------------
}  // namespace

namespace someone_elses {
enum class Flags : unsigned { read = 1, write = 2 };
constexpr auto operator|(Flags a, Flags b) -> Flags {
  return static_cast<Flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
using fxpass::operator|;
struct First {
  static constexpr std::string_view name = "first";
  constexpr auto run(const fxpass::Graph&, fxpass::Context&) const -> fxpass::Status { return {}; }
};
struct Second {
  static constexpr std::string_view name = "second";
  constexpr auto run(const fxpass::Graph&, fxpass::Context&) const -> fxpass::Status { return {}; }
};
static_assert(std::same_as<decltype(First{} | Second{}), fxpass::Pipeline<First, Second>>);
static_assert((Flags::read | Flags::write) == Flags{3} && (1 | 2) == 3);
}  // namespace someone_elses
// Found by the passes' namespace from anywhere.
static_assert(std::same_as<decltype(someone_elses::First{} | someone_elses::Second{}),
                           fxpass::Pipeline<someone_elses::First, someone_elses::Second>>);

namespace {

// Errors --------------------------------------------------------------------------------------------------------------
struct Refuse {
  static constexpr std::string_view name = "refuse";
  constexpr auto run(Graph graph, Context&) const -> Expected<Graph> {
    Diagnostics errors;
    errors.add(error_at(graph, NodeId{1}, DiagnosticCode::symbolic_size, "is odd"));
    errors.add(error_at(graph, NodeId{0}, DiagnosticCode::unsupported, "is even"));
    return errors;
  }
};
constexpr auto errors_name_the_pass() -> bool {
  const auto done = Expected<Module<>>(Module<>(sample())).and_then(pipeline(Neg{}, Refuse{}, Abs{}));
  if (done || done.error().size() != 2) return false;
  const Diagnostic& first = done.error().front();
  return first.code == DiagnosticCode::symbolic_size && first.node == "neg" &&
         first.message == "in pass 'refuse': is odd" &&
         (done.error().begin() + 1)->message == "in pass 'refuse': is even";
}
FXPASS_TEST_TWICE(errors_name_the_pass)

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/verify.hpp>
#include <fxpass/pass/pipeline.hpp>
#include <fxpass/pass/optional_pass.hpp>
#include <fxpass/pass/repeat.hpp>
#include <fxpass/pass/verify_each.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include "twice.hpp"

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>

namespace {

using namespace fxpass;
using namespace fxpass::verdict;

/// x, then `depth` times relu, returned.
constexpr auto relus(int depth) -> Graph {
  GraphBuilder b;
  b.set_stack_trace("File \"model.py\", line 7, in forward");
  const ValueSpec value = b.tensor(DType::f32, {2});
  NodeId x = b.placeholder("x", value);
  for (int i = 0; i < depth; ++i) x = b.call_function("torch.ops.aten.relu.default", {x}, value);
  b.output({x});
  return std::move(b).finish();
}
constexpr auto target_of(std::string_view name) -> Text {
  return text_of("torch.ops.aten.", name, ".default");
}
/// How many calls of `name` there are.
constexpr auto count_of(const Graph& graph, std::string_view name) -> int {
  int count = 0;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i)
    if (graph.target(NodeId{i}) == target_of(name)) ++count;
  return count;
}
constexpr auto statistic(const Context& context, std::string_view key) -> std::int64_t {
  for (const Statistic& s : context.statistics())
    if (s.key == key) return s.value;
  return -1;
}

/// Folds the first relu(relu(x)) that it finds.
struct FoldRelu {
  static constexpr std::string_view name = "fold_relu";
  using keeps = everything;
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
      const NodeId id{i};
      if (graph.target(id) != target_of("relu")) continue;
      const NodeId operand = graph.arguments(id)[0].node();
      if (graph.target(operand) != target_of("relu")) continue;
      Editor edit(graph);
      edit.replace_uses(id, operand);
      edit.erase(id);
      context.renumbered(edit.commit());
      context.count("folded");
      break;
    }
    context.warn(Diagnostic::warning(DiagnosticCode::unsupported, "relus were counted"));
    return {};
  }
};
/// Calls of each of `T` become calls of the next, those of the last calls of the first.
template <class... T>
struct Turn {
  static constexpr std::string_view name = "turn";
  using keeps = everything;
  constexpr auto run(Graph& graph, Context&) const -> Status {
    constexpr std::array<std::string_view, sizeof...(T)> names{T::name...};
    Editor edit(graph);
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      for (std::size_t k = 0; k < names.size(); ++k)
        if (graph.target(NodeId{i}) == target_of(names[k])) {
          edit.retarget(NodeId{i}, target_of(names[(k + 1) % names.size()]));
          break;
        }
    edit.commit();
    return {};
  }
};
struct Relu {
  static constexpr std::string_view name = "relu";
};
struct Sin {
  static constexpr std::string_view name = "sin";
};
struct Cos {
  static constexpr std::string_view name = "cos";
};
/// Puts one more relu in front of the output.
struct Grow {
  static constexpr std::string_view name = "grow";
  using keeps = everything;
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    Editor edit(graph);
    const NodeId out = graph.output_node();
    edit.insert_before(out, target_of("relu"), {NodeId{0}}, {});
    context.renumbered(edit.commit());
    return {};
  }
};

// Until nothing changes -------------------------------------------------------------------------------------
constexpr auto a_pass_runs_until_it_changes_nothing() -> bool {
  constexpr auto folds = repeat<10>(FoldRelu{});
  static_assert(std::same_as<decltype(folds), const Repeat<10, FoldRelu>> && folds.name == "repeat(fold_relu)");
  Text seen;
  struct Watch {
    Text* seen;
    constexpr void after(const PassReport& report, const Graph&) const {
      append_all(*seen, report.name, report.skipped ? "?" : "");
      for (const Statistic& s : report.statistics) append_all(*seen, ' ', s.key, '=', s.value);
    }
  };
  Context context;
  const auto done = pipeline(folds).run_passes(Module<>(relus(4)), context, Watch{&seen});
  return done && verify(done->graph()) && done->graph() == relus(1) &&
         seen == "repeat(fold_relu) fold_relu.folded=3 rounds=4" && context.warnings().size() == 1;
}
FXPASS_TEST_TWICE(a_pass_runs_until_it_changes_nothing)

constexpr auto nothing_to_do_is_one_round() -> bool {
  struct Watch {
    bool* claims_unchanged;
    constexpr void after(const PassReport& report, const Graph&) const {
      *claims_unchanged = report.claims_unchanged;
    }
  };
  bool claims_unchanged = false;
  Context context;
  const auto done =
      pipeline(repeat<1>(FoldRelu{})).run_passes(Module<>(relus(1)), context, Watch{&claims_unchanged});
  return done && done->graph() == relus(1) && claims_unchanged;
}
FXPASS_TEST_TWICE(nothing_to_do_is_one_round)

// The limit -------------------------------------------------------------------------------------------------
constexpr auto the_limit_is_an_error() -> bool {
  const auto done = pipeline(repeat<3>(FoldRelu{}))(Module<>(relus(4)));
  if (done || done.error().size() != 1) return false;
  const Diagnostic& d = done.error().front();
  return d.code == DiagnosticCode::no_convergence && d.node == "output" &&
         d.message ==
             "in pass 'repeat(fold_relu)': round 3 is the last one allowed, and this node still changes" &&
         pipeline(repeat<4>(FoldRelu{}))(Module<>(relus(4))).has_value();
}
FXPASS_TEST_TWICE(the_limit_is_an_error)

constexpr auto growth_meets_the_limit() -> bool {
  const auto done = pipeline(repeat<7>(Grow{}))(Module<>(relus(1)));
  return !done && done.error().front().code == DiagnosticCode::no_convergence &&
         done.error().front().message.view().starts_with("in pass 'repeat(grow)': round 7 is the last one") &&
         done.error().front().node == "relu_7";
}
FXPASS_TEST_TWICE(growth_meets_the_limit)

// Cycles ----------------------------------------------------------------------------------------------------
template <class P>
constexpr auto error_of(const Graph& graph) -> Text {
  const auto done = pipeline(repeat<1000>(P{}))(Module<>(graph));
  if (done) return {};
  return text_of(done.error().front());
}
constexpr auto a_cycle_is_found_and_named() -> bool {
  constexpr std::string_view two =
      "relu (model.py:7): error: in pass 'repeat(turn)': round 2 gives back what round 1 began with: no number "
      "of rounds is enough (period 2), and this node still changes [no-convergence]";
  // Two rounds look out for what the first began with, the next four for what the third did.
  constexpr std::string_view three =
      "relu (model.py:7): error: in pass 'repeat(turn)': round 5 gives back what round 3 began with: no number "
      "of rounds is enough (period 3), and this node still changes [no-convergence]";
  return error_of<Turn<Relu, Sin>>(relus(1)) == two && error_of<Turn<Relu, Sin, Cos>>(relus(1)) == three &&
         error_of<Turn<Sin, Cos>>(relus(1)).empty();
}
FXPASS_TEST_TWICE(a_cycle_is_found_and_named)

/// Any function of four states: the state is which of four operators the graph calls.
constexpr std::array<std::string_view, 4> states{"relu", "sin", "cos", "neg"};
struct Step {
  static constexpr std::string_view name = "step";
  using keeps = everything;
  std::array<std::size_t, 4> next;
  constexpr auto run(Graph& graph, Context&) const -> Status {
    std::size_t now = 0;
    while (graph.target(NodeId{1}) != target_of(states[now])) ++now;
    Editor edit(graph);
    edit.retarget(NodeId{1}, target_of(states[next[now]]));
    edit.commit();
    return {};
  }
};
/// Against a simulation that remembers every state.
constexpr auto a_function_ends_as_it_has_to(const std::array<std::size_t, 4>& next) -> bool {
  std::array<int, 4> seen{-1, -1, -1, -1};  // before which round
  std::size_t now = 0;
  int round = 0;
  for (; seen[now] == -1; ++round) {
    seen[now] = round;
    now = next[now];
  }
  const int period = round - seen[now];
  Graph graph = relus(1);
  Context context;
  detail::ArtifactSlots<> none;
  Artifacts<Repeat<100, Step>> artifacts(none);
  const Status done = repeat<100>(Step{next}).run(graph, artifacts, context);
  if (period == 1)
    return done && graph.target(NodeId{1}) == target_of(states[now]) && statistic(context, "rounds") == round;
  const Text found = text_of("no number of rounds is enough (period ", period, ')');
  return !done && done.error().front().message.view().find(found) != std::string_view::npos;
}
static_assert(a_function_ends_as_it_has_to({1, 2, 3, 3}) && a_function_ends_as_it_has_to({1, 2, 3, 0}) &&
              a_function_ends_as_it_has_to({1, 2, 3, 2}));
TEST_CASE("every function of four states settles, or its period is told") {
  for (std::size_t function = 0; function < 256; ++function)
    CHECK(a_function_ends_as_it_has_to({function % 4, function / 4 % 4, function / 16 % 4, function / 64}));
}

/// What counts is the round, not the pass.
constexpr auto what_undoes_itself_within_a_round_is_settled() -> bool {
  using There = Turn<Relu, Sin>;
  const auto there_and_back = repeat<2>(pipeline(There{}, named<"back">(There{})));
  static_assert(there_and_back.name == "repeat(turn | back)");
  const auto done = pipeline(there_and_back)(Module<>(relus(1)));
  return done && done->graph() == relus(1);
}
FXPASS_TEST_TWICE(what_undoes_itself_within_a_round_is_settled)

// Facts and artifacts ---------------------------------------------------------------------------------------
/// Which node is the first relu.
struct ReluFound {
  static constexpr std::string_view name = "relu_found";
  struct Place {
    NodeId node;
    constexpr void renumber(const Renumbering& moved) { node = moved[node]; }
    friend constexpr auto operator==(const Place&, const Place&) -> bool = default;
  };
  using artifact = Place;
};
struct FindRelu {
  static constexpr std::string_view name = "find_relu";
  using establishes = facts<ReluFound>;
  using keeps = everything;
  constexpr auto run(Graph& graph, Artifacts<FindRelu>& artifacts, Context&) const -> Status {
    for (std::uint32_t i = graph.node_count(); i-- > 0;)
      if (graph.target(NodeId{i}) == target_of("relu")) artifacts.get<ReluFound>().node = NodeId{i};
    return {};
  }
};
/// Puts a sin in front of all, until there are three. Looks whether the analysis still speaks of a relu.
struct SinBeforeRelu {
  static constexpr std::string_view name = "sin_before_relu";
  using needs = facts<ReluFound>;
  using keeps = everything;
  constexpr auto run(Graph& graph, Artifacts<SinBeforeRelu>& artifacts, Context& context) const -> Status {
    const NodeId relu = artifacts.get<ReluFound>().node;
    if (graph.target(relu) != target_of("relu"))
      return error_at(graph, relu, DiagnosticCode::unsupported, "is no relu");
    if (count_of(graph, "sin") == 3) return {};
    Editor edit(graph);
    edit.insert_before(NodeId{1}, target_of("sin"), {NodeId{0}}, {});
    context.renumbered(edit.commit());
    context.count("put");
    return {};
  }
};

constexpr auto an_analysis_inside_is_made_anew_in_each_round() -> bool {
  constexpr auto passes = repeat<9>(pipeline(FindRelu{}, SinBeforeRelu{}));
  static_assert(std::same_as<decltype(pipeline(passes)(Module<>())), Expected<Module<ReluFound>>>);
  const auto done = pipeline(passes)(Module<>(relus(1)));
  return done && count_of(done->graph(), "sin") == 3 && done->artifact<ReluFound>().node == NodeId{4};
}
FXPASS_TEST_TWICE(an_analysis_inside_is_made_anew_in_each_round)

constexpr auto an_analysis_from_before_follows_its_nodes_through_the_rounds() -> bool {
  constexpr auto passes = pipeline(FindRelu{}, repeat<9>(SinBeforeRelu{}), named<"once_more">(SinBeforeRelu{}));
  static_assert(std::same_as<needs_of<Repeat<9, SinBeforeRelu>>, facts<ReluFound>>);
  const auto done = passes(Module<>(relus(1)));
  return done && count_of(done->graph(), "sin") == 3 && done->artifact<ReluFound>().node == NodeId{4};
}
FXPASS_TEST_TWICE(an_analysis_from_before_follows_its_nodes_through_the_rounds)

/// Changes the artifact and leaves the graph alone: it settles when the artifact does.
struct CountDown {
  static constexpr std::string_view name = "count_down";
  using needs = facts<ReluFound>;
  using establishes = facts<ReluFound>;
  using keeps = everything;
  constexpr auto run(Graph&, Artifacts<CountDown>& artifacts, Context&) const -> Status {
    NodeId& node = artifacts.get<ReluFound>().node;
    if (node.index > 0) --node.index;
    return {};
  }
};
constexpr auto artifacts_have_to_settle_too() -> bool {
  const auto done = pipeline(FindRelu{}, repeat<2>(CountDown{}))(Module<>(relus(1)));
  const auto failed = pipeline(FindRelu{}, repeat<1>(CountDown{}))(Module<>(relus(1)));
  return done && done->artifact<ReluFound>().node == NodeId{0} && !failed &&
         failed.error().front().message ==
             "in pass 'repeat(count_down)': round 1 is the last one allowed, and an analysis still changes";
}
FXPASS_TEST_TWICE(artifacts_have_to_settle_too)

/// The default passes that look at nodes alone have no more to do the second time, and share the traversal in
/// a round.
constexpr auto the_node_local_passes_are_idempotent() -> bool {
  GraphBuilder b;
  const ValueSpec value = b.tensor(DType::f32, {2}, "cuda:0");
  const NodeId ones =
      b.call_function("torch.ops.aten.ones.default", {b.list({2}), b.keyword("device", b.device("cuda:0"))}, value);
  b.output({b.call_function("torch.ops.aten.relu.default", {ones}, value)});
  const Module<> module(std::move(b).finish());
  constexpr auto passes =
      pipeline(DeviceRewriterPass{}, NkiKernelWriteBackendConfigPass{}, CollectiveReplicaGroupsPass{});
  Context context;
  const auto once = passes(module);
  const auto repeated = pipeline(repeat<2>(passes)).run_passes(module, context);
  static_assert(std::same_as<decltype(once), decltype(repeated)>);
  return once && repeated && *once == *repeated && once->graph() != module.graph();
}
FXPASS_TEST_TWICE(the_node_local_passes_are_idempotent)

// A repeat is a pass ----------------------------------------------------------------------------------------
using Fold = Repeat<5, FoldRelu>;
static_assert(FXPass<Fold> && FXPass<NamedPass<"again", Fold>>);
static_assert(std::same_as<decltype(pipeline(repeat<5>(FoldRelu{})).insert_before<Fold>(Grow{})),
                           Pipeline<Grow, Fold>>);
static_assert(std::same_as<decltype(repeat<5>(pipeline(Grow{}, FoldRelu{}))), Repeat<5, Grow, FoldRelu>>);
static_assert(contract_of<Fold>.keeping == Keeping::everything_but && contract_of<Fold>.listed.empty());

constexpr auto repeats_nest() -> bool {
  constexpr auto inner = repeat<10>(FoldRelu{});
  constexpr auto passes = repeat<3>(pipeline(inner, Turn<Sin, Cos>{}));
  static_assert(passes.name == "repeat(repeat(fold_relu) | turn)");
  Context context;
  Graph graph = relus(3);
  detail::ArtifactSlots<> none;
  Artifacts<Repeat<3, Repeat<10, FoldRelu>, Turn<Sin, Cos>>> artifacts(none);
  return passes.run(graph, artifacts, context) && graph == relus(1) && statistic(context, "rounds") == 2 &&
         statistic(context, "repeat(fold_relu).rounds") == 4 &&
         statistic(context, "repeat(fold_relu).fold_relu.folded") == 2;
}
FXPASS_TEST_TWICE(repeats_nest)

/// A name, a switch and a repetition around each other.
constexpr auto wrappers_nest() -> bool {
  for (const bool on : {false, true}) {
    const auto folding = named<"folding">(optional_pass(named<"fold">(repeat<10>(FoldRelu{})), on));
    Context context;
    const auto done = pipeline(FindRelu{}, folding, repeat<2>(optional_pass(SinBeforeRelu{}, false)))
                          .run_passes(Module<>(relus(3)), context, VerifyEach());
    if (!done || done->graph() != relus(on ? 1 : 3) || done->artifact<ReluFound>().node != NodeId{1}) return false;
  }
  return true;
}
FXPASS_TEST_TWICE(wrappers_nest)

struct Fail {
  static constexpr std::string_view name = "fail";
  constexpr auto run(Graph& graph, Context&) const -> Status {
    return error_at(graph, NodeId{0}, DiagnosticCode::unsupported, "is not liked");
  }
};
constexpr auto errors_name_the_pass_inside() -> bool {
  const auto done = pipeline(repeat<2>(Fail{}))(Module<>(relus(1)));
  return !done && done.error().front().message == "in pass 'repeat(fail)': in pass 'fail': is not liked";
}
FXPASS_TEST_TWICE(errors_name_the_pass_inside)

// What cannot be repeated -----------------------------------------------------------------------------------
struct Settled {
  static constexpr std::string_view name = "settled";
};
struct Shown {
  static constexpr std::string_view name = "shown";
  static constexpr auto check(const Graph&) -> Status { return {}; }
};
struct Idle {
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
struct UseUp : Idle {
  static constexpr std::string_view name = "use_up";
  using needs = facts<Settled>;
  using keeps = nothing;
};
struct Silent : Idle {
  static constexpr std::string_view name = "silent";
};
struct Reader : Idle {
  static constexpr std::string_view name = "reader";
  using needs = facts<Settled, Shown>;
  using keeps = everything;
};
struct Once : Idle {
  static constexpr std::string_view name = "once";
  using forbids = facts<Settled>;
  using keeps = everything;
};
struct Settle : Idle {
  static constexpr std::string_view name = "settle";
  using establishes = facts<Settled>;
  using keeps = everything;
};
template <int Limit, class... P>
using verdict_on = decltype(detail::judge_repeat<Limit, P...>());
static_assert(std::same_as<verdict_on<0, FoldRelu>,
                           not_repeatable<pass<Repeat<0, FoldRelu>>, has_no_round,
                                          to_mend<allow_at_least_one_round>>>);
static_assert(std::same_as<verdict_on<3, UseUp>, not_repeatable<pass<UseUp>, needs<Settled>, was_lost_by<UseUp>,
                                                                to_mend<establish<Settled>, before<UseUp>>>>);
static_assert(std::same_as<verdict_on<3, Reader, Silent>,
                           not_repeatable<pass<Reader>, needs<Settled>, was_lost_by<Silent>,
                                          to_mend<declare_keeps<Settled>, in<Silent>>>>);
static_assert(std::same_as<verdict_on<3, Once, Settle>,
                           not_repeatable<pass<Once>, forbids<Settled>, was_established_by<Settle>,
                                          to_mend<leave_out<Settle>>>>);
static_assert(verdict_on<3, Settle, UseUp>::ok && verdict_on<3, Reader>::ok && verdict_on<3, Settle>::ok);
static_assert(!verdict_on<3, int>::ok && std::same_as<verdict_on<3, int>, order_verdict<int>>);
static_assert(std::same_as<verdict_on<3, Rejected>, told_before>);

}  // namespace

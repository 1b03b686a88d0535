// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that do not do as they should: what the runner and lowering make of it.
#include <fxpass/graph/print.hpp>
#include <fxpass/lower/lower.hpp>
#include <fxpass/neuron/target.hpp>
#include <fxpass/pass/named_pipeline.hpp>
#include <fxpass/pass/repeat.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include "twice.hpp"

#include <string_view>
#include <utility>

namespace {

using namespace fxpass;

/// y = relu(dropout(x)), then y += 1, y returned
constexpr auto program() -> Graph {
  GraphBuilder b;
  const ValueSpec vector = b.tensor(DType::f32, {4});
  const NodeId x = b.placeholder("x", vector);
  const NodeId dropped = b.call_function("torch.ops.aten.dropout.default", {x, 0.5, false}, vector);
  const NodeId y = b.call_function("torch.ops.aten.relu.default", {dropped}, vector);
  b.call_function("torch.ops.aten.add_.Tensor", {y, 1}, vector);
  b.output({y});
  return std::move(b).finish();
}

enum class Manner { tells, is_silent, uses_stay };

/// Takes dropout out, and claims to keep what is known of aliases.
template <Manner How>
constexpr auto without_dropout(Graph& graph, Context& context) -> Status {
  Editor edit(graph);
  for (NodeId id; id.index < graph.node_count(); ++id.index) {
    if (graph.target(id) != "torch.ops.aten.dropout.default") continue;
    if (How != Manner::uses_stay) edit.replace_uses(id, graph.arguments(id)[0].node());
    edit.erase(id);
  }
  Renumbering moved = edit.commit();
  if (How != Manner::is_silent) context.renumbered(std::move(moved));
  return {};
}
template <Manner How>
struct Edits {
  static constexpr std::string_view name = "edits";
  using keeps = everything;
  constexpr auto run(Graph& graph, Context& context) const -> Status { return without_dropout<How>(graph, context); }
};
template <Manner How>
struct Rebuilds {
  static constexpr std::string_view name = "rebuilds";
  using keeps = everything;
  constexpr auto run(Graph graph, Context& context) const -> Expected<Graph> {
    if (Status done = without_dropout<How>(graph, context); !done) return std::move(done.error());
    return graph;
  }
};

/// The same as a forward pass.
struct Sweeps {
  static constexpr std::string_view name = "sweeps";
  using keeps = everything;
  struct State {};
  constexpr auto begin(Graph&, Artifacts<Sweeps>&, Context&) const -> State { return {}; }
  static constexpr auto wants(const Operator& op) -> bool { return op.row != ops::no_row; }
  constexpr auto visit(State&, Sweep& sweep) const -> Status {
    if (sweep.graph().target(sweep.id()) != "torch.ops.aten.dropout.default") return {};
    sweep.editor().replace_uses(sweep.id(), sweep.graph().arguments(sweep.id())[0].node());
    sweep.editor().erase(sweep.id());
    return {};
  }
  constexpr auto finish(State&, Graph&, Context&) const -> Status { return {}; }
};
/// Has the passes before it and behind it take a traversal each.
struct KeepsApart {
  static constexpr std::string_view name = "keeps_apart";
  using keeps = everything;
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
/// Has each pass take a traversal of its own.
struct Watcher {
  std::size_t steps = 0;
  constexpr void after(const PassReport&, const Graph&) { ++steps; }
};

/// Nodes are named by what is known here, and followed: where the call of relu is.
struct ReluFound {
  static constexpr std::string_view name = "relu_found";
  struct artifact {
    NodeId relu = no_node;
    constexpr void renumber(const Renumbering& moved) { relu = moved[relu]; }
  };
};
struct FindsRelu {
  static constexpr std::string_view name = "finds_relu";
  using establishes = facts<ReluFound>;
  using keeps = everything;
  constexpr auto run(const Graph& graph, Artifacts<FindsRelu>& artifacts, Context&) const -> Status {
    for (NodeId id; id.index < graph.node_count(); ++id.index)
      if (graph.target(id) == "torch.ops.aten.relu.default") artifacts.get<ReluFound>().relu = id;
    return {};
  }
};

/// The message of the one error that there is.
template <class M>
constexpr auto error_of(const M& module) -> Text {
  if (module || module.error().size() != 1) return {};
  return module.error().front().message;
}
constexpr auto says(const Text& message, std::string_view part) -> bool {
  return message.view().find(part) != std::string_view::npos;
}

/// Between alias analysis and the pass that uses it.
template <class P>
constexpr auto is_refused(P pass) -> bool {
  const auto passes = get_default_pass_manager().template insert_before<InPlaceToOutOfPlacePass>(pass);
  Watcher watcher;
  Context context;
  const Text message = error_of(passes(Module<>(program())));
  return message == error_of(passes.run_passes(Module<>(program()), context, watcher)) && watcher.steps == 2 &&
         says(message, text_of("in pass '", P::name, "': the pass moves nodes, and 'aliases_analysed', which it says to "
                               "keep, would speak of other ones; let it run before the pass that establishes"));
}
constexpr auto moves_behind_alias_analysis_are_refused() -> bool {
  return is_refused(Edits<Manner::tells>()) && is_refused(Edits<Manner::is_silent>()) &&
         is_refused(Rebuilds<Manner::tells>()) && is_refused(Rebuilds<Manner::is_silent>()) && is_refused(Sweeps()) &&
         is_refused(named<"stage">(pipeline(Sweeps()))) && is_refused(repeat<3>(Edits<Manner::tells>()));
}
FXPASS_TEST_TWICE(moves_behind_alias_analysis_are_refused)

constexpr auto moves_with_alias_analysis_lose_no_write() -> bool {
  // In the traversal of the analysis, which names nodes that the end of it moves.
  const auto module = get_default_pass_manager()
                          .insert_before<AliasingOutputRewritePass>(Sweeps())
                          .insert_before<InPlaceToOutOfPlacePass>(KeepsApart())(Module<>(program()));
  if (!module) return false;
  for (const Node& node : module->graph().nodes())
    if (module->graph().text(node.target) == "torch.ops.aten.add.Tensor") return true;
  return false;
}
FXPASS_TEST_TWICE(moves_with_alias_analysis_lose_no_write)

template <class P>
constexpr auto relu_behind(P pass) -> Expected<bool> {
  const auto module = pipeline(FindsRelu(), pass)(Module<>(program()));
  if (!module) return module.error();
  return module->graph().target(module->template artifact<ReluFound>().relu) == "torch.ops.aten.relu.default";
}
constexpr auto an_artifact_follows_moves_that_are_told() -> bool {
  const auto edited = relu_behind(Edits<Manner::tells>());
  const auto rebuilt = relu_behind(Rebuilds<Manner::tells>());
  const auto swept = relu_behind(Sweeps());
  return edited && *edited && rebuilt && *rebuilt && swept && *swept &&
         says(error_of(relu_behind(Edits<Manner::is_silent>())),
              "'relu_found', which it says to keep, would speak of other ones; say where they went, by "
              "context.renumbered(editor.commit())") &&
         says(error_of(relu_behind(Rebuilds<Manner::is_silent>())), "'relu_found'");
}
FXPASS_TEST_TWICE(an_artifact_follows_moves_that_are_told)

/// Has relu write into what it reads, behind the analysis.
struct MakesWrite {
  static constexpr std::string_view name = "makes_write";
  using keeps = everything;
  constexpr auto run(Graph& graph, Context&) const -> Status {
    Editor edit(graph);
    for (NodeId id; id.index < graph.node_count(); ++id.index)
      if (graph.target(id) == "torch.ops.aten.relu.default") edit.retarget(id, "torch.ops.aten.relu_.default");
    edit.commit();
    return {};
  }
};
constexpr auto writes_that_were_not_analysed_are_refused() -> bool {
  const auto passes = get_default_pass_manager().insert_before<InPlaceToOutOfPlacePass>(MakesWrite());
  return says(error_of(passes(Module<>(program()))), "relu_.default writes into a tensor and was not there");
}
FXPASS_TEST_TWICE(writes_that_were_not_analysed_are_refused)

/// Looks at the graph.
struct Looks {
  static constexpr std::string_view name = "looks";
  constexpr auto run(const Graph& graph, Context& context) const -> Status {
    context.count("nodes", graph.node_count());
    return {};
  }
};
constexpr auto who_moves_nothing_goes_on() -> bool {
  return get_default_pass_manager()
      .insert_before<InPlaceToOutOfPlacePass>(Looks())
      .insert_before<InPlaceToOutOfPlacePass>(KeepsApart())(Module<>(program()))
      .has_value();
}
FXPASS_TEST_TWICE(who_moves_nothing_goes_on)

constexpr auto moves_matter_only_to_artifacts() -> bool {
  const auto module =
      get_default_pass_manager().insert_before<AliasingOutputRewritePass>(Edits<Manner::is_silent>{})(Module<>(program()));
  return module.has_value();
}
FXPASS_TEST_TWICE(moves_matter_only_to_artifacts)

constexpr auto what_is_no_graph_is_not_lowered() -> bool {
  const auto empty = get_default_pass_manager()(Module<>(Graph()));
  if (!empty || lower(neuron::trn2)(*empty)) return false;
  const auto broken = get_default_pass_manager().add_pass(Edits<Manner::uses_stay>{})(Module<>(program()));
  return broken && !lower(neuron::trn2)(*broken);
}
FXPASS_TEST_TWICE(what_is_no_graph_is_not_lowered)

constexpr auto what_is_no_graph_is_printed() -> bool {
  Graph graph = program();
  Context context;
  if (!without_dropout<Manner::uses_stay>(graph, context)) return false;
  return text_of(graph).view().find("(args = (%<erased>,), kwargs = {})") != std::string_view::npos;
}
FXPASS_TEST_TWICE(what_is_no_graph_is_printed)

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/pass/optional_pass.hpp>
#include <fxpass/pass/pipeline.hpp>
#include <fxpass/pass/verify_each.hpp>

#include "twice.hpp"

#include <string_view>
#include <utility>

namespace {

using namespace fxpass;

/// x, then relu(x), returned.
constexpr auto sample() -> Graph {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  b.output({b.call_function("torch.relu", {x}, b.tensor(DType::f32, {2}))});
  return std::move(b).finish();
}

struct NoSigmoid {
  static constexpr std::string_view name = "no_sigmoid";
  static constexpr auto check(const Graph& graph) -> Status {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (graph.target(NodeId{i}) == "torch.sigmoid")
        return error_at(graph, NodeId{i}, DiagnosticCode::unsupported, "is a sigmoid");
    return {};
  }
};

constexpr auto put_in_sigmoid(Graph& graph) -> Renumbering {
  Editor edit(graph);
  edit.insert_before(graph.output_node(), "torch.sigmoid", {NodeId{0}}, {});
  return edit.commit();
}

// Passes that tell the truth --------------------------------------------------------------------------------
/// Looks for sigmoids, and refuses the program if there is one.
struct RefuseSigmoid {
  static constexpr std::string_view name = "refuse_sigmoid";
  using establishes = facts<NoSigmoid>;
  constexpr auto run(const Graph& graph, Context&) const -> Status { return NoSigmoid::check(graph); }
};
struct Idle {
  static constexpr std::string_view name = "idle";
  using keeps = everything;
  constexpr auto run(Graph&, Context& context) const -> Status {
    context.claim_unchanged();
    return {};
  }
};
struct PutIn {
  static constexpr std::string_view name = "put_in";
  using keeps = everything_but<NoSigmoid>;
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    context.renumbered(put_in_sigmoid(graph));
    return {};
  }
};

// Liars -----------------------------------------------------------------------------------------------------
/// Says that there is no sigmoid, without a look.
struct Boaster {
  static constexpr std::string_view name = "boaster";
  using establishes = facts<NoSigmoid>;
  using keeps = everything;
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
struct Careless : PutIn {
  static constexpr std::string_view name = "careless";
  using keeps = everything;
};
/// Changes something that no fact speaks of, and says that it did not.
struct Sneak {
  static constexpr std::string_view name = "sneak";
  using keeps = everything;
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    graph.mutable_node(NodeId{1}).stack_trace = graph.add_text("File \"m.py\", line 1, in f");
    context.claim_unchanged();
    return {};
  }
};
/// Leaves an output node that is none.
struct Breaker {
  static constexpr std::string_view name = "breaker";
  constexpr auto run(Graph& graph, Context&) const -> Status {
    graph.mutable_node(graph.output_node()).kind = NodeKind::call_function;
    return {};
  }
};

template <class Passes>
constexpr auto verified(const Passes& passes, Graph graph = sample()) {
  Context context;
  VerifyEach verify;
  return passes.run_passes(Module<>(std::move(graph)), context, verify);
}
/// The only error of a run, printed; "done" if there was none.
template <class Passes>
constexpr auto error_of(const Passes& passes) -> Text {
  const auto done = verified(passes);
  if (done) return "done";
  if (done.error().size() != 1) return text_of("not one error:\n", done.error());
  return text_of(done.error().front());
}

constexpr auto true_claims_are_proved() -> bool {
  const auto passes = pipeline(RefuseSigmoid{}, Idle{}, PutIn{});
  const auto done = verified(passes);
  return done && *done == *passes(Module<>(sample())) && done->graph() != sample();
}
FXPASS_TEST_TWICE(true_claims_are_proved)

constexpr auto a_fact_that_is_not_established_is_found() -> bool {
  return error_of(pipeline(PutIn{}, Boaster{}, Idle{})) ==
         "sigmoid: error: pass 'boaster' claims to establish 'no_sigmoid', which is not true behind it: is a "
         "sigmoid [fact-violated]";
}
FXPASS_TEST_TWICE(a_fact_that_is_not_established_is_found)

constexpr auto a_fact_that_is_not_kept_is_found() -> bool {
  return error_of(pipeline(RefuseSigmoid{}, Careless{}, Idle{})) ==
         "sigmoid: error: pass 'careless' claims to keep 'no_sigmoid', which is not true behind it: is a "
         "sigmoid [fact-violated]";
}
FXPASS_TEST_TWICE(a_fact_that_is_not_kept_is_found)

constexpr auto the_module_is_to_blame_for_what_it_brings() -> bool {
  Context context;
  VerifyEach verify;
  const auto lied = pipeline(PutIn{}, Boaster{})(Module<>(sample()));
  const auto done = pipeline(Idle{}).run_passes(*lied, context, verify);
  return !done && done.error().size() == 1 &&
         text_of(done.error().front()) == "sigmoid: error: pass 'idle' was given a module that is said to be "
                                          "'no_sigmoid', and is not: is a sigmoid [fact-violated]";
}
FXPASS_TEST_TWICE(the_module_is_to_blame_for_what_it_brings)

constexpr auto a_change_that_is_denied_is_found() -> bool {
  return error_of(pipeline(Sneak{})) ==
         "relu: error: pass 'sneak' claims to have changed nothing, but it changed this node [fact-violated]";
}
FXPASS_TEST_TWICE(a_change_that_is_denied_is_found)

/// A denied insertion is told at the node that was put in, or at the one whose place it took.
struct Denier : PutIn {
  static constexpr std::string_view name = "denier";
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    context.claim_unchanged();
    return PutIn::run(graph, context);
  }
};
constexpr auto an_insertion_that_is_denied_is_found() -> bool {
  return error_of(pipeline(Denier{})) == "output: error: pass 'denier' claims to have changed nothing, but "
                                         "it changed this node [fact-violated]";
}
FXPASS_TEST_TWICE(an_insertion_that_is_denied_is_found)

constexpr auto a_broken_graph_is_found() -> bool {
  const auto done = verified(pipeline(RefuseSigmoid{}, Breaker{}));
  return !done && done.error().front().code == DiagnosticCode::invalid_graph &&
         done.error().front().message.view().starts_with("behind pass 'breaker': ");
}
FXPASS_TEST_TWICE(a_broken_graph_is_found)

/// What the last pass claimed.
struct LastClaim {
  bool is_unchanged = false;
  constexpr void after(const PassReport& report, const Graph&) { is_unchanged = report.claims_unchanged; }
};
constexpr auto nothing_changes_where_a_pass_only_looks_or_is_off() -> bool {
  const auto claims = [](const auto& pass) {
    Context context;
    LastClaim claim;
    return pipeline(pass).run_passes(Module<>(sample()), context, claim) && claim.is_unchanged;
  };
  return claims(RefuseSigmoid{}) && claims(Idle{}) && !claims(PutIn{}) &&
         claims(optional_pass(PutIn{}, false)) && !claims(optional_pass(PutIn{}, true)) &&
         claims(optional_pass(RefuseSigmoid{}, false)) && claims(optional_pass(RefuseSigmoid{}, true));
}
FXPASS_TEST_TWICE(nothing_changes_where_a_pass_only_looks_or_is_off)

// Without an observer nobody looks, which is what makes the tests above tests.
constexpr auto liars_get_through_unobserved() -> bool {
  return pipeline(Boaster{}, Careless{}, Sneak{})(Module<>(sample())).has_value();
}
FXPASS_TEST_TWICE(liars_get_through_unobserved)

}  // namespace

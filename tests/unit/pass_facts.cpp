// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/call.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/pass/pass.hpp>

#include <boost/hana/type.hpp>
#include <boost/hana/tuple.hpp>

#include "twice.hpp"

#include <concepts>
#include <type_traits>

namespace {

using namespace fxpass;

struct HasInput {
  static constexpr std::string_view name = "has_input";
  static constexpr auto check(const Graph& graph) -> Status {
    if (!graph.inputs().empty()) return {};
    return Diagnostic::error(DiagnosticCode::unsupported, "there is no input");
  }
};
struct HasOutput {
  static constexpr std::string_view name = "has_output";
  static constexpr auto check(const Graph& graph) -> Status {
    if (!graph.outputs().empty()) return {};
    return error_at(graph, graph.output_node(), DiagnosticCode::unsupported, "returns nothing");
  }
};
struct Counted {
  static constexpr std::string_view name = "counted";
  using artifact = int;
};

// Modules -------------------------------------------------------------------------------------------------------------
static_assert(std::same_as<Module<HasInput, HasOutput>, Module<HasOutput, HasInput>>);
static_assert(std::same_as<Module<HasInput, HasOutput, HasInput>, Module<HasOutput, HasInput>>);
static_assert(!std::same_as<Module<HasInput>, Module<HasOutput>>);
static_assert(Module<HasInput, Counted>::has<Counted>() && !Module<HasInput>::has<Counted>());
static_assert(AnyModule<Module<>> && AnyModule<Module<Counted>> && !AnyModule<Graph>);

static_assert(std::regular<Module<>>);
// Only runners may claim that a fact is true, so there is no module with facts out of nothing.
static_assert(std::copyable<Module<HasInput, Counted>> && std::equality_comparable<Module<HasInput, Counted>> &&
              !std::default_initializable<Module<HasInput>> && !std::convertible_to<Graph, Module<HasInput>>);
static_assert(std::is_nothrow_move_constructible_v<Module<Counted>>);

constexpr auto graph_of(bool with_input, bool with_output) -> Graph {
  GraphBuilder b;
  NodeId x = no_node;
  if (with_input) x = b.placeholder("x", b.tensor(DType::f32, {2}));
  if (with_output) b.output({x});
  return std::move(b).finish();
}

constexpr auto a_module_is_its_graph() -> bool {
  const Module<> module(graph_of(true, true));
  Module<> other = module;
  if (!(other == module) || other == Module<>()) return false;
  return std::move(other).graph() == module.graph();
}
FXPASS_TEST_TWICE(a_module_is_its_graph)

constexpr auto checked_facts_are_added() -> bool {
  const auto proved = check_facts<HasInput>(Module<>(graph_of(true, true)));
  static_assert(std::same_as<decltype(proved), const Expected<Module<HasInput>>>);
  if (!proved) return false;
  const auto both = check_facts<HasOutput, HasInput>(*proved);
  static_assert(std::same_as<decltype(both), const Expected<Module<HasInput, HasOutput>>>);
  return both.has_value() && both->graph() == proved->graph();
}
FXPASS_TEST_TWICE(checked_facts_are_added)

constexpr auto all_facts_that_fail_are_told() -> bool {
  const auto proved = check_facts<HasInput, HasOutput>(Module<>(graph_of(false, false)));
  if (proved.has_value() || proved.error().size() != 2) return false;
  const Diagnostic& input = *proved.error().begin();
  const Diagnostic& output = *(proved.error().begin() + 1);
  return input.code == DiagnosticCode::fact_violated &&
         input.message == "the graph is not 'has_input': there is no input" && output.node == "output" &&
         output.message == "the graph is not 'has_output': returns nothing";
}
FXPASS_TEST_TWICE(all_facts_that_fail_are_told)

// Contracts -----------------------------------------------------------------------------------------------------------
struct Plain {
  static constexpr std::string_view name = "plain";
  constexpr auto run(Graph graph, Context&) const -> Expected<Graph> { return graph; }
};
struct Full {
  static constexpr std::string_view name = "full";
  using needs = facts<HasInput, Counted>;
  using forbids = facts<HasOutput>;
  using establishes = facts<HasOutput>;
  using keeps = everything_but<Counted>;
  constexpr auto run(Graph&, Artifacts<Full>&, Context&) const -> Status { return {}; }
};
struct InHana : Plain {
  using needs = decltype(boost::hana::tuple_t<HasInput, Counted>);
  using keeps = decltype(boost::hana::tuple_t<HasInput>);
};
struct Keeper : Plain {
  using keeps = everything;
};
struct Loser : Plain {
  using keeps = nothing;
};

static_assert(std::same_as<needs_of<Plain>, facts<>> && std::same_as<establishes_of<Plain>, facts<>>);
static_assert(std::same_as<needs_of<Full>, facts<HasInput, Counted>>);
static_assert(std::same_as<needs_of<InHana>, needs_of<Full>>);
static_assert(contract_of<Full>.name == "full" && contract_of<Full>.needs.size() == 2 &&
              contract_of<Full>.needs[1].name == "counted" && contract_of<Full>.forbids[0] == fact_info<HasOutput> &&
              contract_of<Full>.keeping == Keeping::everything_but && contract_of<Full>.listed.size() == 1);

static_assert(contract_of<Full>.keeps(fact_info<HasInput>) && !contract_of<Full>.keeps(fact_info<Counted>));
static_assert(contract_of<Keeper>.keeps(fact_info<Counted>) && !contract_of<Loser>.keeps(fact_info<HasInput>));
static_assert(contract_of<InHana>.keeps(fact_info<HasInput>) && !contract_of<InHana>.keeps(fact_info<HasOutput>));
// Nothing on trust: what a check can show stays, to be checked; an artifact may be stale.
static_assert(contract_of<Plain>.keeps(fact_info<HasInput>) && !contract_of<Plain>.keeps(fact_info<Counted>));

// What a pass is ------------------------------------------------------------------------------------------------------
struct InPlace {
  static constexpr std::string_view name = "in_place";
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};
struct OnlyLooks {
  static constexpr std::string_view name = "only_looks";
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};
struct Generic {
  static constexpr std::string_view name = "generic";
  constexpr auto run(auto& graph, auto& context) const -> Status {
    context.count("nodes", graph.node_count());
    return {};
  }
};
static_assert(FXPass<Plain> && FXPass<Full> && FXPass<InPlace> && FXPass<OnlyLooks> && FXPass<Generic>);
// What a pass cannot change it keeps, unless it says otherwise. `auto&` may be meant to edit.
struct Forgets : OnlyLooks {
  using keeps = everything_but<Counted>;
};
static_assert(contract_of<OnlyLooks>.keeping == Keeping::everything_but &&
              contract_of<OnlyLooks>.listed.empty());
static_assert(contract_of<NamedPass<"again", OnlyLooks>>.keeps(fact_info<Counted>));
static_assert(!contract_of<Forgets>.keeps(fact_info<Counted>) &&
              contract_of<Forgets>.keeps(fact_info<HasInput>));
static_assert(contract_of<InPlace>.keeping == Keeping::undeclared &&
              contract_of<Generic>.keeping == Keeping::undeclared);
static_assert(!ForwardPass<Plain> && !ForwardPass<InPlace>);
static_assert(FXPass<NamedPass<"again", Full>> && NamedPass<"again", Full>::name == "again" &&
              std::same_as<needs_of<NamedPass<"again", Full>>, needs_of<Full>>);
struct NoList : InPlace {
  using establishes = HasInput;
};
struct NoFact : InPlace {
  using keeps = everything_but<int>;
};
static_assert(!FXPass<NoList> && !FXPass<NoFact>);
static_assert(!FXPass<int> && !FXPass<Graph> && !FXPass<HasInput>);

TEST_CASE("facts, contracts and passes are types: the static assertions above are the test") { CHECK(FXPass<Plain>); }

}  // namespace

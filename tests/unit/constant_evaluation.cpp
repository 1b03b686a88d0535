// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/editor.hpp>
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/hlo/verify.hpp>
#include <fxpass/pass/verify_each.hpp>

#include <string_view>

#include "small_programs.hpp"
#include "twice.hpp"

// Each stage from a graph to HLO by itself, in constant expressions. The tests of a stage's own folder look
// at what it does; here it is that it can be had from a compiler, within a quarter of the evaluation steps
// that it allows.

namespace {

using namespace fxpass;
using namespace programs;

constexpr auto contains(const Text& text, std::string_view part) -> bool {
  return text.view().find(part) != std::string_view::npos;
}

constexpr auto small_graphs_are_built_and_verified() -> bool {
  return verify(arithmetic()) && verify(cache_write()) && verify(kernel_call());
}
FXPASS_TEST_TWICE(small_graphs_are_built_and_verified)
constexpr auto larger_graphs_are_built_and_verified() -> bool {
  return verify(collective()) && verify(cross_device()) && verify(attention());
}
FXPASS_TEST_TWICE(larger_graphs_are_built_and_verified)

constexpr auto graphs_are_values() -> bool {
  const Graph graph = attention();
  Graph copy = graph;
  const bool was_equal = copy == graph;
  copy.mutable_node(NodeId{0}).stack_trace = copy.node(NodeId{1}).target;
  return was_equal && !(copy == graph) && graph == attention();
}
FXPASS_TEST_TWICE(graphs_are_values)

constexpr auto graphs_are_printed() -> bool {
  return contains(text_of(arithmetic()),
                  "call_function[target=torch.ops.aten.sum.dim_IntList](args = (%exp, [-1])");
}
FXPASS_TEST_TWICE(graphs_are_printed)

constexpr auto graphs_are_edited() -> bool {
  Graph graph = arithmetic();
  const NodeId exp{4};
  Editor edit(graph);
  const NodeId product = edit.graph().arguments(exp)[0].node();
  const NodeId relu = edit.insert_before(exp, "torch.ops.aten.relu.default", {product}, {});
  edit.replace_uses(exp, relu);
  edit.erase(exp);
  const Renumbering moved = edit.commit();
  return moved[exp] == no_node && graph.name(moved[relu]) == "relu" && graph.node_count() == 7 &&
         verify(graph);
}
FXPASS_TEST_TWICE(graphs_are_edited)

constexpr auto a_graph_that_is_none_is_refused() -> bool {
  Graph graph = arithmetic();
  graph.mutable_arguments(NodeId{2})[0] = NodeId{5};
  return !verify(graph);
}
FXPASS_TEST_TWICE(a_graph_that_is_none_is_refused)

constexpr auto devices_are_rewritten() -> bool {
  const auto module = pipeline(DeviceRewriterPass{})(Module<>(cross_device()));
  return module && contains(text_of(module->graph()), "(%x, xla:0)");
}
FXPASS_TEST_TWICE(devices_are_rewritten)

constexpr auto aliases_are_analysed() -> bool {
  const auto module = pipeline(AliasingOutputRewritePass{})(Module<>(cache_write()));
  if (!module || !MutationsSurfaced::check(module->graph())) return false;
  const AliasAnalysis& aliases = module->artifact<AliasesAnalysed>();
  return aliases.storage_of(aliases.view_of(NodeId{0})).written;
}
FXPASS_TEST_TWICE(aliases_are_analysed)

constexpr auto writes_become_values() -> bool {
  const auto module =
      pipeline(AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{})(Module<>(cache_write()));
  return module && OutOfPlace::check(module->graph()) &&
         contains(text_of(module->graph()), "torch.ops.aten.select_scatter.default](args = (%cache, ");
}
FXPASS_TEST_TWICE(writes_become_values)

constexpr auto kernels_are_configured() -> bool {
  const Registries registries;
  const auto module =
      pipeline(NkiKernelWriteBackendConfigPass{.kernels = &registries.kernels})(Module<>(kernel_call()));
  return module && KernelsConfigured::check(module->graph());
}
FXPASS_TEST_TWICE(kernels_are_configured)

constexpr auto groups_are_resolved() -> bool {
  const Registries registries;
  const auto module =
      pipeline(CollectiveReplicaGroupsPass{.groups = &registries.groups})(Module<>(collective()));
  return module && ReplicaGroupsResolved::check(module->graph());
}
FXPASS_TEST_TWICE(groups_are_resolved)

constexpr auto the_default_pipeline_runs() -> bool {
  return prepared(arithmetic()) && prepared(cache_write()) && prepared(cross_device());
}
FXPASS_TEST_TWICE(the_default_pipeline_runs)

constexpr auto the_default_pipeline_asks_registries() -> bool {
  return prepared(kernel_call()) && prepared(collective());
}
FXPASS_TEST_TWICE(the_default_pipeline_asks_registries)

constexpr auto the_default_pipeline_is_observed() -> bool {
  Context context;
  return get_default_pass_manager().run_passes(Module<>(cache_write()), context, VerifyEach()).has_value();
}
FXPASS_TEST_TWICE(the_default_pipeline_is_observed)

constexpr auto errors_are_values() -> bool {
  const auto module = get_default_pass_manager()(Module<>(kernel_call()));
  return !module && module.error().front().code == DiagnosticCode::unknown_kernel &&
         module.error().front().node == "kernel";
}
FXPASS_TEST_TWICE(errors_are_values)

// A graph that needs no pass is lowered as it is.
constexpr auto graphs_are_lowered() -> bool { return lower_graph(attention(), neuron::trn2).has_value(); }
FXPASS_TEST_TWICE(graphs_are_lowered)

constexpr auto modules_are_verified() -> bool {
  return hlo::verify(lowered(cache_write()).module).has_value();
}
FXPASS_TEST_TWICE(modules_are_verified)

constexpr auto missing_lowerings_are_told() -> bool {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4}));
  b.output({b.call_function("torch.ops.mylib.strange.default", {2, x}, b.tensor(DType::f32, {4}))});
  const auto module = lower_graph(std::move(b).finish(), neuron::trn2);
  return !module && module.error().front().code == DiagnosticCode::missing_lowering;
}
FXPASS_TEST_TWICE(missing_lowerings_are_told)

}  // namespace

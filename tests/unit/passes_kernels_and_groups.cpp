// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <string_view>

#include "twice.hpp"

namespace {

using namespace fxpass;

/// `nki_kernel_wrapper(kernel_idx=3, args=arguments)` as Dynamo traces it: no configuration, no aliases.
constexpr auto kernel_call(GraphBuilder& b, std::initializer_list<Argument> arguments, ValueSpec value,
                           std::initializer_list<Argument> aliases = {}) -> NodeId {
  const Argument keywords[] = {b.keyword("kernel_idx", 3),
                               b.keyword("grid", b.tuple_of({Argument(2)})),
                               b.keyword("backend_config", b.string("")),
                               b.keyword("operand_output_aliases", b.group(ArgumentKind::dict, aliases)),
                               b.keyword("args", b.tuple_of(arguments)),
                               b.keyword("arg_names", b.list({b.string("a")})),
                               b.keyword("constant_args_key", -1)};
  return b.call_function("torch.ops.higher_order.nki_kernel_wrapper", keywords, value, "k");
}
constexpr auto registry(std::initializer_list<KernelAlias> aliases) -> KernelRegistry {
  KernelEntry entry;
  entry.kernel_idx = 3;
  entry.backend_config = "eyJ9";
  for (const KernelAlias alias : aliases) entry.aliases.push_back(alias);
  KernelRegistry kernels;
  kernels.add(std::move(entry));
  return kernels;
}
constexpr auto contains(const Text& text, std::string_view part) -> bool {
  return text.view().find(part) != std::string_view::npos;
}
template <class Passes>
constexpr auto rewritten(const Passes& passes, GraphBuilder&& builder) -> Text {
  const auto module = passes(Module<>(std::move(builder).finish()));
  if (!module) return text_of(module.error());
  if (Status valid = verify(module->graph()); !valid) return text_of("not valid: ", valid.error());
  return text_of(module->graph());
}

constexpr auto a_tuple_kernel(GraphBuilder&& b = GraphBuilder()) -> GraphBuilder {
  const ValueSpec m = b.tensor(DType::f32, {4, 3});
  const NodeId x = b.placeholder("x", m);
  const NodeId r = b.placeholder("r", m);
  kernel_call(b, {Argument(5), Argument(r), Argument(x)}, b.tuple({m, m}));
  b.output({b.call_method("sum", {x}, b.tensor(DType::f32, {}))});
  return std::move(b);
}

constexpr auto a_registered_kernel_writes_its_operand_in_either_order() -> bool {
  // Tensor argument 1 is the third of all arguments.
  const KernelRegistry kernels = registry({{1, 1}});
  const auto design_order = get_default_pass_manager({.kernels = &kernels});
  const auto configured_first =
      pipeline(DeviceRewriterPass{}, NkiKernelWriteBackendConfigPass{.kernels = &kernels},
               AliasingOutputRewritePass{.kernels = &kernels}, InPlaceToOutOfPlacePass{}, CollectiveReplicaGroupsPass{});
  const Text one = rewritten(design_order, a_tuple_kernel());
  const Text other = rewritten(configured_first, a_tuple_kernel());
  return one == other && contains(one, "operand_output_aliases: {2: 1}") && contains(one, "backend_config: eyJ9") &&
         contains(one, "%x_modified : [num_users=2] = call_function[target=operator.getitem](args = (%k, 1)") &&
         contains(one, "call_method[target=sum](args = (%x_modified,)") && contains(one, "return (sum_1, x_modified)");
}
FXPASS_TEST_TWICE(a_registered_kernel_writes_its_operand_in_either_order)

constexpr auto a_kernel_that_nobody_knows_is_an_error() -> bool {
  const Text text = rewritten(get_default_pass_manager(), a_tuple_kernel());
  return contains(text, "k: error:") && contains(text, "--nki-kernels") && contains(text, "[unknown-kernel]");
}
FXPASS_TEST_TWICE(a_kernel_that_nobody_knows_is_an_error)

constexpr auto kernels_on_one_input_form_a_chain() -> bool {
  const KernelRegistry kernels = registry({{0, 0}});
  GraphBuilder b;
  const ValueSpec m = b.tensor(DType::f32, {4, 3});
  const NodeId x = b.placeholder("x", m);
  const NodeId first = kernel_call(b, {Argument(x)}, m);
  const NodeId half = b.call_function("operator.getitem", {x, b.slice(0, 2)}, b.tensor(DType::f32, {2, 3}));
  kernel_call(b, {Argument(half)}, b.tensor(DType::f32, {2, 3}));
  b.output({first});
  const Text text = rewritten(get_default_pass_manager({.kernels = &kernels}), std::move(b));
  // The first result is a snapshot; the input ends with what the second kernel wrote into its half.
  return contains(text, "operator.getitem](args = (%k, slice(0, 2, None))") &&
         contains(text, "slice_scatter.default](args = (%k, %k_1, 0, 0, 2, 1)") &&
         contains(text, "return (k, x_modified)");
}
FXPASS_TEST_TWICE(kernels_on_one_input_form_a_chain)

constexpr auto a_kernel_result_of_another_shape_is_no_alias() -> bool {
  const KernelRegistry kernels = registry({{0, 0}});
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 3}));
  kernel_call(b, {Argument(x)}, b.tensor(DType::f32, {12}));
  return contains(rewritten(get_default_pass_manager({.kernels = &kernels}), std::move(b)),
                  "has not the dtype and shape of the operand");
}
FXPASS_TEST_TWICE(a_kernel_result_of_another_shape_is_no_alias)

constexpr auto groups_resolve_to_the_partition_of_the_world() -> bool {
  ProcessGroups groups(4);
  if (!groups.add("tp", {{2, 3}, {1, 0}})) return false;
  GraphBuilder b;
  const ValueSpec m = b.tensor(DType::f32, {4});
  const NodeId x = b.placeholder("x", m);
  const NodeId y = b.call_function("torch.ops._c10d_functional.all_reduce.default", {x, b.string("sum"), b.string("tp")}, m);
  const NodeId z = b.call_function("torch.ops._c10d_functional.all_reduce", {y, b.string("sum"), b.keyword("group_name", b.string("0"))}, m);
  const NodeId w = b.call_function("torch.ops._c10d_functional.all_reduce_.default", {z, b.string("sum"), b.string("tp")}, m);
  b.output({w});
  const auto passes = get_default_pass_manager({.groups = &groups});
  const auto module = passes(Module<>(std::move(b).finish()));
  if (!module) return false;
  const Graph& g = module->graph();
  const auto ranks_of = [&](NodeId id, std::initializer_list<std::int64_t> expected, std::uint32_t size) {
    const Partition* p = g.replica_groups(id);
    if (p == nullptr || p->group_size != size || g.ranks(*p).size() != expected.size()) return false;
    std::size_t i = 0;
    for (const std::int64_t rank : expected)
      if (g.ranks(*p)[i++] != rank) return false;
    return true;
  };
  // Groups are in order of their first rank; [1, 0] keeps its own order, which says who owns which shard.
  return ranks_of(y, {1, 0, 2, 3}, 2) && ranks_of(z, {0, 1, 2, 3}, 4) && ranks_of(NodeId{3}, {1, 0, 2, 3}, 2) &&
         g.schema(g.op(NodeId{3})).name() == "_c10d_functional.all_reduce.default";
}
FXPASS_TEST_TWICE(groups_resolve_to_the_partition_of_the_world)

constexpr auto an_unknown_group_is_not_the_world() -> bool {
  ProcessGroups groups(4);
  GraphBuilder b;
  const ValueSpec m = b.tensor(DType::f32, {4});
  const NodeId x = b.placeholder("x", m);
  b.call_function("torch.ops._c10d_functional.all_reduce.default", {x, b.string("sum"), b.string("5")}, m);
  return contains(rewritten(get_default_pass_manager({.groups = &groups}), std::move(b)), "[unresolved-group]");
}
FXPASS_TEST_TWICE(an_unknown_group_is_not_the_world)

constexpr auto partitions_are_checked() -> bool {
  ProcessGroups groups(4);
  return !groups.add("a", {{0, 1}, {2}}) && !groups.add("b", {{0, 1}, {1, 2}}) && !groups.add("c", {{0, 1}}) &&
         !groups.add("d", {{0, 1}, {2, 4}}) && groups.add("e", {{3, 1, 2, 0}}).has_value();
}
FXPASS_TEST_TWICE(partitions_are_checked)

constexpr auto devices_become_the_target() -> bool {
  GraphBuilder b;
  const ValueSpec m = b.tensor(DType::f32, {2});
  const NodeId t = b.placeholder("t", m);
  const NodeId e = b.call_function("torch.empty", {64, b.keyword("dtype", DType::f32), b.keyword("device", b.device("cpu"))}, m);
  b.call_function("torch.zeros", {2, b.keyword("device", b.string("cpu"))}, m);
  b.call_function("torch.zeros", {2, b.keyword("device", b.string("xla"))}, m);
  b.call_function("torch.zeros", {2, b.keyword("device", Argument())}, m);
  b.call_method("to", {t, b.string("meta"), DType::bf16, true, true}, b.tensor(DType::bf16, {2}, "meta"));
  b.call_method("to", {t, DType::bf16}, b.tensor(DType::bf16, {2}));
  b.call_method("to", {t, e}, m);
  b.output({t});
  Context context;
  const auto module = pipeline(DeviceRewriterPass{}).run_passes(Module<>(std::move(b).finish()), context);
  if (!module) return false;
  const Text text = text_of(module->graph());
  return contains(text, "{dtype: torch.float32, device: xla:0}") && contains(text, "kwargs = {device: xla})") &&
         !contains(text, "device: cpu") && !contains(text, "device: None") &&
         contains(text, "(%t, xla, torch.bfloat16, True, True)") && contains(text, "(%t, torch.bfloat16)") &&
         contains(text, "(%t, %empty)");
}
FXPASS_TEST_TWICE(devices_become_the_target)

}  // namespace

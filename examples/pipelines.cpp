// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Putting passes together: a pipeline that is repeated until it changes nothing, inserted into the default one; a
// pass that an option switches off; an order that the compiler finds; what it is told about all of them, as text.
// docs/facts-and-contracts.md shows parts of it.
#include <fxpass/fxpass.hpp>

#include <cstdio>
#include <string_view>
#include <type_traits>
#include <utility>

using fxpass::NodeId;

struct FoldNegations {  // the negation of a negation is what it began with
  static constexpr std::string_view name = "fold_negations";
  using keeps = fxpass::everything_but<fxpass::AliasesAnalysed>;

  constexpr auto run(fxpass::Graph& graph, fxpass::Context& context) const -> fxpass::Status {
    fxpass::Editor edit(graph);
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
      const NodeId inner = negated(graph, NodeId{i});
      const NodeId x = inner == fxpass::no_node ? inner : negated(graph, inner);
      if (x != fxpass::no_node) edit.replace_uses(NodeId{i}, x);
    }
    context.renumbered(edit.commit());
    return {};
  }

 private:
  static constexpr auto negated(const fxpass::Graph& graph, NodeId id) -> NodeId {
    const fxpass::Call call(graph, id);
    return call.schema().base() == "aten.neg" ? call.operand("self") : fxpass::no_node;
  }
};

struct DropUnused {  // nodes that nobody reads and that write nothing
  static constexpr std::string_view name = "drop_unused";
  using keeps = fxpass::everything_but<fxpass::AliasesAnalysed>;

  constexpr auto run(fxpass::Graph& graph, fxpass::Context& context) const -> fxpass::Status {
    const fxpass::Users users(graph);
    fxpass::Editor edit(graph);
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
      const bool is_call = graph.node(NodeId{i}).kind == fxpass::NodeKind::call_function;
      if (!is_call || !users[NodeId{i}].empty() || graph.op(NodeId{i}).writes) continue;
      edit.erase(NodeId{i});
      context.count("dropped");
    }
    context.renumbered(edit.commit());
    return {};
  }
};

// Four negations of x, and a device that was frozen at tracing.
constexpr auto program() -> fxpass::Graph {
  fxpass::GraphBuilder b;
  const auto value = b.tensor(fxpass::DType::f32, {4});
  NodeId x = b.placeholder("x", value);
  for (int i = 0; i < 4; ++i) x = b.call_function("torch.ops.aten.neg.default", {x}, value);
  b.output({b.call_function("torch.ops.aten.relu.default", {x}, value)});
  return std::move(b).finish();
}

constexpr auto simplify = fxpass::repeat<10>(fxpass::pipeline(FoldNegations{}, DropUnused{}));

constexpr auto passes_for(bool rewrites_devices) {
  return fxpass::get_default_pass_manager()
      .insert_before<fxpass::DeviceRewriterPass>(simplify)
      .replace<fxpass::DeviceRewriterPass>(fxpass::optional_pass(fxpass::DeviceRewriterPass{}, rewrites_devices));
}

constexpr auto found = fxpass::auto_order(fxpass::InPlaceToOutOfPlacePass{}, fxpass::AliasingOutputRewritePass{});
static_assert(std::is_same_v<decltype(found), const fxpass::Pipeline<fxpass::AliasingOutputRewritePass,
                                                                     fxpass::InPlaceToOutOfPlacePass>>);

// Passes run in constant expressions too, so that a test of one needs no program.
static_assert([] {
  auto module = fxpass::pipeline(simplify)(fxpass::Module<>(program()));
  return module && module->graph().node_count() == 3;  // x, relu, output
}());

int main() {
  const auto passes = passes_for(false);
  const fxpass::Text contracts = fxpass::describe(passes);
  std::fwrite(contracts.view().data(), 1, contracts.size(), stdout);

  auto module = passes(fxpass::Module<>(program()));
  if (!module) return fxpass::report(stderr, module.error());
  const fxpass::Text graph = fxpass::text_of(module->graph());
  std::fwrite(graph.view().data(), 1, graph.size(), stdout);
}

// It prints:
//   repeat(fold_negations | drop_unused)
//     needs       -
//     forbids     -
//     establishes -
//     keeps       everything but aliases_analysed
//   device_rewriter
//     needs       -
//     forbids     -
//     establishes on_target_device
//     keeps       everything
//   aliasing_output_rewrite
//     needs       -
//     forbids     out_of_place
//     establishes aliases_analysed, mutations_surfaced
//     keeps       everything
//   inplace_to_outofplace
//     needs       aliases_analysed, mutations_surfaced
//     forbids     -
//     establishes out_of_place
//     keeps       everything but aliases_analysed
//   nki_kernel_backend_config_pass
//     needs       -
//     forbids     -
//     establishes kernels_configured
//     keeps       everything
//   collective_replica_groups
//     needs       -
//     forbids     -
//     establishes replica_groups_resolved
//     keeps       everything
//   graph():
//       %x : [num_users=1] = placeholder[target=x]
//       %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
//       return (relu,)

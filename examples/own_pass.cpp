// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass of one's own: written, tested alone, put into the default pipeline, and its statistic read.
#include <fxpass/fxpass.hpp>

#include <cstdint>
#include <cstdio>
#include <string_view>

namespace {

using namespace fxpass;

/// Dropout of a model that is not trained gives its operand: such calls go.
struct RemoveDropout {
  static constexpr std::string_view name = "remove_dropout";

  constexpr auto run(Graph& graph, Context& context) const -> Status {
    Editor edit(graph);
    for (NodeId id; id.index < graph.node_count(); ++id.index) {
      const Call call(graph, id);
      if (call.name() != "aten.dropout.default" || call.boolean("train") != false) continue;
      edit.replace_uses(id, call.operand("input"));
      edit.erase(id);
      context.count("removed");
    }
    context.renumbered(edit.commit());  // nodes have moved
    return {};
  }
};

/// y = relu(dropout(x)), then y += 1
constexpr auto model(bool train) -> Graph {
  GraphBuilder b;
  const ValueSpec vector = b.tensor(DType::f32, {4});
  const NodeId x = b.placeholder("x", vector);
  const NodeId dropped = b.call_function("torch.ops.aten.dropout.default", {x, 0.5, train}, vector);
  const NodeId y = b.call_function("torch.ops.aten.relu.default", {dropped}, vector);
  b.call_function("torch.ops.aten.add_.Tensor", {y, 1}, vector);
  b.output({y});
  return std::move(b).finish();
}

// A pass is a function of a graph, so its test is a constant: no pipeline, no run of the program.
constexpr auto calls_left(bool train) -> std::int64_t {
  Graph graph = model(train);
  Context context;
  if (!RemoveDropout().run(graph, context) || !verify(graph)) return -1;
  return static_cast<std::int64_t>(graph.node_count()) - 2;  // less the input and the output
}
static_assert(calls_left(false) == 2);
static_assert(calls_left(true) == 3, "dropout of a model in training stays");

/// Prints what the passes counted.
struct PrintStatistics {
  static void after(const PassReport& report, const Graph&) {
    for (const Statistic& s : report.statistics) {
      const Text line = text_of(report.name, ": ", s.key, " = ", s.value, "\n");
      std::fwrite(line.view().data(), 1, line.size(), stdout);
    }
  }
};

}  // namespace

int main() {
  constexpr auto pipeline =
      get_default_pass_manager().insert_before<AliasingOutputRewritePass>(RemoveDropout{});
  Context context;
  const auto module = pipeline.run_passes(Module<>(model(false)), context, PrintStatistics{});
  return module ? 0 : report(stderr, module.error());
}

// It prints:
//   device_rewriter: rewrite_count = 0
//   remove_dropout: removed = 1
//   aliasing_output_rewrite: original_output_count = 1
//   inplace_to_outofplace: inplace_methods = 1
//   inplace_to_outofplace: copy_ = 0
//   inplace_to_outofplace: setitem = 0
//   nki_kernel_backend_config_pass: kernel_call_count = 0
//   collective_replica_groups: resolved_count = 0

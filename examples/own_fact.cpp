// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fact of one's own. One pass establishes it, another needs it, and VerifyEach finds who breaks it.
#include <fxpass/fxpass.hpp>

#include <cstdio>
#include <string_view>

namespace {

using namespace fxpass;

constexpr auto is_dropout(const Graph& graph, NodeId id) -> bool {
  return Call(graph, id).name() == "aten.dropout.default";
}

/// The program has no dropout. What a graph can show has a checker: VerifyEach runs it behind each pass that
/// claims or keeps the fact.
struct NoDropout {
  static constexpr std::string_view name = "no_dropout";
  static constexpr auto check(const Graph& graph) -> Status {
    for (NodeId id; id.index < graph.node_count(); ++id.index)
      if (is_dropout(graph, id)) return error_at(graph, id, DiagnosticCode::fact_violated, "is a dropout");
    return {};
  }
};

struct RemoveDropout {
  static constexpr std::string_view name = "remove_dropout";
  using establishes = facts<NoDropout>;
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    Editor edit(graph);
    for (NodeId id; id.index < graph.node_count(); ++id.index) {
      if (!is_dropout(graph, id)) continue;
      edit.replace_uses(id, Call(graph, id).operand("input"));
      edit.erase(id);
    }
    context.renumbered(edit.commit());
    return {};
  }
};

/// Only looks: the graph is const, and every fact stays what it was.
struct CountNodes {
  static constexpr std::string_view name = "count_nodes";
  using needs = facts<NoDropout>;
  constexpr auto run(const Graph& graph, Context& context) const -> Status {
    context.count("nodes", graph.node_count());
    return {};
  }
};

/// Says that it keeps all facts, and puts in a dropout.
struct AddDropout {
  static constexpr std::string_view name = "add_dropout";
  using keeps = everything;
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    Editor edit(graph);
    edit.insert_before(graph.output_node(), "torch.ops.aten.dropout.default", {NodeId{0}, 0.5, true}, {});
    context.renumbered(edit.commit());
    return {};
  }
};

// The fact is in the module's type. `CountNodes{} | RemoveDropout{}` does not compile: the need is
// established later.
constexpr auto honest = RemoveDropout{} | CountNodes{};
static_assert(decltype(honest(Module<>()))::value_type::has<NoDropout>());
constexpr auto dishonest = RemoveDropout{} | AddDropout{} | CountNodes{};

constexpr auto model() -> Graph {
  GraphBuilder b;
  const ValueSpec vector = b.tensor(DType::f32, {4});
  const NodeId x = b.placeholder("x", vector);
  b.output({b.call_function("torch.ops.aten.dropout.default", {x, 0.5, false}, vector)});
  return std::move(b).finish();
}

void run(const auto& pipeline) {
  Context context;
  const auto module = pipeline.run_passes(Module<>(model()), context, VerifyEach());
  const Text text = module ? text_of("every claim is true\n") : text_of(module.error().front().message, '\n');
  std::fwrite(text.view().data(), 1, text.size(), stdout);
}

}  // namespace

int main() {
  run(honest);
  run(dishonest);
}

// It prints:
//   every claim is true
//   pass 'add_dropout' claims to keep 'no_dropout', which is not true behind it: is a dropout

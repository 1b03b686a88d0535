// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fact of one's own, a pass that establishes it, and one that needs it. See
// docs/facts-and-contracts.md.
#include <fxpass/fxpass.hpp>

#include <cstdio>
#include <string_view>
#include <utility>

using fxpass::NodeId;

constexpr auto is_dropout(const fxpass::Graph& graph, NodeId id) -> bool {
  return graph.schema(graph.op(id)).base() == "aten.dropout";
}

struct WithoutDropout {
  static constexpr std::string_view name = "without_dropout";
  static constexpr auto check(const fxpass::Graph& graph) -> fxpass::Status {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (is_dropout(graph, NodeId{i}))
        return error_at(graph, NodeId{i}, fxpass::DiagnosticCode::fact_violated, "is a dropout");
    return {};
  }
};

struct RemoveDropout {  // outside training it is its argument
  static constexpr std::string_view name = "remove_dropout";
  using establishes = fxpass::facts<WithoutDropout>;
  using keeps = fxpass::everything_but<fxpass::AliasesAnalysed>;

  constexpr auto run(fxpass::Graph& graph, fxpass::Context& context) const -> fxpass::Status {
    fxpass::Editor edit(graph);
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
      if (!is_dropout(graph, NodeId{i})) continue;
      edit.replace_uses(NodeId{i}, fxpass::Call(graph, NodeId{i}).operand("input"));
      edit.erase(NodeId{i});
    }
    context.renumbered(edit.commit());
    return {};
  }
};

struct CountNodes {
  static constexpr std::string_view name = "count_nodes";
  using needs = fxpass::facts<WithoutDropout>;

  constexpr auto run(const fxpass::Graph& graph, fxpass::Context& context) const -> fxpass::Status {
    context.count("nodes", graph.node_count());
    return {};
  }
};

struct OnlyClaims {  // says what RemoveDropout says, and does nothing
  static constexpr std::string_view name = "only_claims";
  using establishes = fxpass::facts<WithoutDropout>;

  constexpr auto run(const fxpass::Graph&, fxpass::Context&) const -> fxpass::Status { return {}; }
};

constexpr auto program() -> fxpass::Graph {
  fxpass::GraphBuilder b;
  const auto value = b.tensor(fxpass::DType::f32, {4});
  const auto x = b.placeholder("x", value);
  b.output({b.call_function("torch.ops.aten.dropout.default", {x, 0.5, false}, value)});
  return std::move(b).finish();
}

int main() {
  // CountNodes needs what RemoveDropout establishes; the other way round this does not compile.
  constexpr auto passes = fxpass::pipeline(RemoveDropout{}, CountNodes{});

  fxpass::VerifyEach verify;
  fxpass::Context context;
  const auto done = passes.run_passes(fxpass::Module<>(program()), context, verify);
  if (!done) return fxpass::report(stderr, done.error());

  const auto caught =
      fxpass::pipeline(OnlyClaims{}, CountNodes{}).run_passes(fxpass::Module<>(program()), context, verify);
  if (caught) return 1;
  fxpass::report(stdout, caught.error());
}

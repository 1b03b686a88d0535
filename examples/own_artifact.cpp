// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fact with an artifact: one pass finds something out, and later passes and the caller read it. It names nodes, and
// follows them when a pass in between moves them.
#include <fxpass/fxpass.hpp>

#include <cstdio>
#include <string_view>
#include <utility>

namespace {

using namespace fxpass;

/// Where the matrix products are.
struct Products {
  Pool<NodeId> nodes;

  /// The runner calls it behind a pass that has moved nodes and keeps the fact.
  constexpr void renumber(const Renumbering& moved) {
    Pool<NodeId> kept;
    for (const NodeId id : nodes)
      if (moved[id] != no_node) kept.push_back(moved[id]);
    nodes = std::move(kept);
  }
};

struct FindProducts;
struct ProductsFound {
  static constexpr std::string_view name = "products_found";
  using artifact = Products;
  using provider = FindProducts;
};

struct FindProducts {
  static constexpr std::string_view name = "find_products";
  using establishes = facts<ProductsFound>;
  constexpr auto run(const Graph& graph, Artifacts<FindProducts>& artifacts, Context&) const -> Status {
    Products& found = artifacts.get<ProductsFound>();  // empty, to be filled in
    for (NodeId id; id.index < graph.node_count(); ++id.index)
      if (Call(graph, id).name() == "aten.mm.default") found.nodes.push_back(id);
    return {};
  }
};

/// Edits, and keeps the fact: it says where nodes went.
struct RemoveDropout {
  static constexpr std::string_view name = "remove_dropout";
  using keeps = everything;
  constexpr auto run(Graph& graph, Context& context) const -> Status {
    Editor edit(graph);
    for (NodeId id; id.index < graph.node_count(); ++id.index) {
      const Call call(graph, id);
      if (call.name() != "aten.dropout.default") continue;
      edit.replace_uses(id, call.operand("input"));
      edit.erase(id);
    }
    context.renumbered(edit.commit());
    return {};
  }
};

struct WarnOfHalfProducts {
  static constexpr std::string_view name = "warn_of_half_products";
  using needs = facts<ProductsFound>;
  constexpr auto run(const Graph& graph, Artifacts<WarnOfHalfProducts>& artifacts, Context& context) const -> Status {
    const Products& found = artifacts.get<ProductsFound>();  // const, since this pass only needs it
    for (const NodeId id : found.nodes)
      if (const TensorMeta* meta = graph.tensor(id); meta != nullptr && meta->dtype == DType::f16)
        context.warn(Diagnostic::warning(DiagnosticCode::unsupported,
                                         text_of("product '", graph.name(id), "' is summed up in half precision")));
    return {};
  }
};

/// y = mm(dropout(x), x)
constexpr auto model() -> Graph {
  GraphBuilder b;
  const ValueSpec matrix = b.tensor(DType::f16, {4, 4});
  const NodeId x = b.placeholder("x", matrix);
  const NodeId dropped = b.call_function("torch.ops.aten.dropout.default", {x, 0.5, false}, matrix);
  b.output({b.call_function("torch.ops.aten.mm.default", {dropped, x}, matrix)});
  return std::move(b).finish();
}

// What the caller reads: the node is 2 in the graph that was read, and 1 behind the pass that took the dropout out.
constexpr auto passes = pipeline(FindProducts{}, RemoveDropout{}, WarnOfHalfProducts{});
static_assert([] {
  const auto module = passes(Module<>(model()));
  return module && module->artifact<ProductsFound>().nodes[0] == NodeId{1};
}());

}  // namespace

int main() {
  Context context;
  const auto module = passes.run_passes(Module<>(model()), context, VerifyEach());
  if (!module) return report(stderr, module.error());
  report(stdout, context.warnings());
}

// It prints:
//   fxpass: warning: product 'mm' is summed up in half precision [unsupported]

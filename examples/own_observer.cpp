// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An observer of one's own: it prints the calls that each pass puts in and takes out. Any struct with
// `before`, `after` or `failed` is one; passes run one by one while somebody looks, and do the same.
#include <fxpass/fxpass.hpp>

#include <cstdio>
#include <string_view>

namespace {

using namespace fxpass;

class PrintChanges {
 public:
  void before(std::string_view, const Graph& graph) { calls_ = calls_of(graph); }
  void after(const PassReport& report, const Graph& graph) const {
    const Text calls = calls_of(graph);
    print(text_of(report.name, calls == calls_ ? ": no call changed\n" : ":\n"));
    print_lines_outside('-', calls_, calls);
    print_lines_outside('+', calls, calls_);
  }

 private:
  /// A line for each call, such as " relu = torch.relu".
  static auto calls_of(const Graph& graph) -> Text {
    Text text;
    for (NodeId id; id.index < graph.node_count(); ++id.index)
      if (graph.node(id).kind == NodeKind::call_function)
        append_all(text, ' ', graph.name(id), " = ", graph.target(id), '\n');
    return text;
  }
  static void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }
  /// The lines of `text` that `other` does not have.
  static void print_lines_outside(char sign, std::string_view text, std::string_view other) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n') + 1);
      if (other.find(line) == std::string_view::npos) print(text_of(sign, line));
      text.remove_prefix(line.size());
    }
  }

  Text calls_;
};

/// y = relu(x), y[1] = x[0]
auto model() -> Graph {
  GraphBuilder b;
  const ValueSpec matrix = b.tensor(DType::f32, {4, 3});
  const ValueSpec row = b.tensor(DType::f32, {3});
  const NodeId x = b.placeholder("x", matrix);
  const NodeId y = b.call_function("torch.relu", {x}, matrix);
  const NodeId first = b.call_function("operator.getitem", {x, 0}, row);
  b.call_function("operator.setitem", {y, 1, first});
  b.output({y});
  return std::move(b).finish();
}

}  // namespace

int main() {
  Context context;
  const auto module = get_default_pass_manager().run_passes(Module<>(model()), context, PrintChanges());
  return module ? 0 : report(stderr, module.error());
}

// It prints:
//   device_rewriter: no call changed
//   aliasing_output_rewrite: no call changed
//   inplace_to_outofplace:
//   - setitem = operator.setitem
//   + relu_modified = torch.ops.aten.select_scatter.default
//   nki_kernel_backend_config_pass: no call changed
//   collective_replica_groups: no call changed

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An observer of one's own: it prints the lines of the graph that each pass changes. Any struct with `before`, `after`
// or `failed` is one; passes run one by one while somebody looks, and do the same.
#include <fxpass/fxpass.hpp>

#include <cstdio>
#include <string_view>

namespace {

using namespace fxpass;

class PrintChanges {
 public:
  void before(std::string_view, const Graph& graph) { text_ = text_of(graph); }
  void after(const PassReport& report, const Graph& graph) const {
    const Text now = text_of(graph);
    const Text title = text_of(report.name, now == text_ ? ": no change\n" : ":\n");
    print(title);
    print_lines_outside('-', text_, now);
    print_lines_outside('+', now, text_);
  }

 private:
  static void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }
  /// The lines of `text` that `other` does not have.
  static void print_lines_outside(char sign, std::string_view text, std::string_view other) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n') + 1);
      if (other.find(line) == std::string_view::npos) print(text_of(sign, line));
      text.remove_prefix(line.size());
    }
  }

  Text text_;
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
//   device_rewriter: no change
//   aliasing_output_rewrite: no change
//   inplace_to_outofplace:
//   -    %relu : [num_users=2] = call_function[target=torch.relu](args = (%x,), kwargs = {})
//   -    %setitem : [num_users=0] = call_function[target=operator.setitem](args = (%relu, 1, %getitem), kwargs = {})
//   -    return (relu,)
//   +    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
//   +    %relu_modified : [num_users=1] = call_function[target=torch.ops.aten.select_scatter.default](args = (%relu, %getitem, 0, 1), kwargs = {})
//   +    return (relu_modified,)
//   nki_kernel_backend_config_pass: no change
//   collective_replica_groups: no change

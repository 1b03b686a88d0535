// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An observer of one's own: says of each pass what it counted, and shows the graph if the pass changed it.
// docs/observers.md explains it.
#include <fxpass/fxpass.hpp>

#include <cstdio>
#include <string_view>
#include <utility>

class ShowChanges {
 public:
  void before(std::string_view, const fxpass::Graph& graph) { before_ = graph; }

  void after(const fxpass::PassReport& report, const fxpass::Graph& graph) {
    fxpass::Text text = fxpass::text_of("== ", report.name);
    for (const fxpass::Statistic& s : report.statistics) fxpass::append_all(text, ", ", s.key, ' ', s.value);
    if (graph == before_)
      fxpass::append_to(text, ": no change\n");
    else
      fxpass::append_all(text, '\n', graph);
    std::printf("%.*s", static_cast<int>(text.size()), text.view().data());
  }

 private:
  fxpass::Graph before_;
};

constexpr auto program() -> fxpass::Graph {
  fxpass::GraphBuilder b;
  const auto value = b.tensor(fxpass::DType::f32, {4});
  const auto x = b.placeholder("x", value);
  b.call_method("add_", {x, 1}, value);
  b.output({b.call_function("torch.ops.aten.relu.default", {x}, value)});
  return std::move(b).finish();
}

int main() {
  ShowChanges changes;
  fxpass::VerifyEach verify;
  fxpass::Context context;
  const auto done =
      fxpass::get_default_pass_manager().run_passes(fxpass::Module<>(program()), context, changes, verify);
  return done ? 0 : fxpass::report(stderr, done.error());
}

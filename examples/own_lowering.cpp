// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lowering for an operator of one's own, mylib.scaled_add; and one in place of the library's. docs/lowering.md
// explains them.
#include <fxpass/fxpass.hpp>

#include <cstdio>
#include <string_view>
#include <utility>

using fxpass::hlo::Value;

struct LowerScaledAdd {  // self + scale * other
  static constexpr std::string_view op = "mylib.scaled_add";
  static constexpr auto lower(auto& c, const fxpass::Call& call) -> Value {
    const auto [self, other] = c.operands(call, fxpass::Meeting::arithmetic, "self", "other");
    const Value scaled = c.builder().multiply(other, c.full_like(other, c.number(call, "scale")));
    return c.to_result(call, c.builder().add(self, scaled));
  }
};

struct LowerReluBySelect {  // the library's own says max(x, 0)
  static constexpr std::string_view op = "aten.relu";
  static constexpr auto lower(auto& c, const fxpass::Call& call) -> Value {
    const Value x = c.tensor(call, "self"), zero = c.full_like(x, 0);
    return c.builder().select(c.builder().compare(x, zero, fxpass::hlo::Direction::lt), zero, x);
  }
};

constexpr auto mine = fxpass::default_lowerings + fxpass::lowerings<LowerScaledAdd>{};
constexpr auto with_select = mine.override_with(fxpass::lowerings<LowerReluBySelect>{});

// relu(scaled_add(x, y, 0.5)), as a reader would make it.
constexpr auto program() -> fxpass::Graph {
  fxpass::GraphBuilder b;
  b.declare_operator("torch.ops.mylib.scaled_add.default",
                     "mylib.scaled_add.default(Tensor self, Tensor other, Scalar scale=1) -> Tensor");
  const auto value = b.tensor(fxpass::DType::f32, {4});
  const auto x = b.placeholder("x", value);
  const auto y = b.placeholder("y", value);
  const auto sum = b.call_function("torch.ops.mylib.scaled_add.default", {x, y, 0.5}, value);
  b.output({b.call_function("torch.ops.aten.relu.default", {sum}, value)});
  return std::move(b).finish();
}

// A lowering is tested alone: no passes are needed for a graph that is as they would leave it.
static_assert([] {
  const auto lowered = fxpass::lower_graph(program(), fxpass::xla, mine.table());
  if (!lowered) return false;
  const fxpass::Text text = fxpass::emit<fxpass::HloText>(*lowered);
  return text.view().find("add(%x.1, %multiply.5)") != std::string_view::npos;
}());

int main() {
  auto prepared = fxpass::get_default_pass_manager()(fxpass::Module<>(program()));
  if (!prepared) return fxpass::report(stderr, prepared.error());
  const auto lowered = fxpass::lower(fxpass::xla, with_select)(*prepared);
  if (!lowered) return fxpass::report(stderr, lowered.error());
  const fxpass::Text text = fxpass::emit<fxpass::HloText>(*lowered);
  std::printf("%.*s", static_cast<int>(text.size()), text.view().data());
}

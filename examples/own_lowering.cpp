// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowerings of one's own: one for a custom operator, added to the library's, and one that replaces the
// library's for an operator that the target has a better form of.
#include <fxpass/fxpass.hpp>

#include <cstdio>
#include <string_view>

namespace {

using namespace fxpass;

/// x + alpha * y, by PyTorch's rules of broadcasting and promotion.
struct LowerScaledAdd {
  static constexpr std::string_view op = "mylib.scaled_add";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, y] = c.operands(call, Meeting::arithmetic, "x", "y");
    const hlo::Value scaled = c.builder().multiply(y, c.full_like(y, c.number(call, "alpha")));
    return c.to_result(call, c.builder().add(x, scaled));
  }
};

/// relu as a custom call.
struct LowerReluToCall {
  static constexpr std::string_view op = "aten.relu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return c.builder().custom_call({.target = "mylib_relu"}, {x}, c.builder().shape(x));
  }
};

constexpr auto mine =
    (default_lowerings + lowerings<LowerScaledAdd>{}).override_with(lowerings<LowerReluToCall>{});

constexpr auto model() -> Graph {
  GraphBuilder b;
  // What torch.library.define says of the operator; a file of torch.export has it.
  b.declare_operator("torch.ops.mylib.scaled_add.default",
                     "mylib.scaled_add.default(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor");
  const ValueSpec matrix = b.tensor(DType::f32, {4, 3});
  const NodeId x = b.placeholder("x", matrix);
  const NodeId y = b.placeholder("y", b.tensor(DType::f32, {3}));
  const NodeId sum =
      b.call_function("torch.ops.mylib.scaled_add.default", {x, y, b.keyword("alpha", 0.5)}, matrix);
  b.output({b.call_function("torch.ops.aten.relu.default", {sum}, matrix)});
  return std::move(b).finish();
}

/// The operations of the program's own computation, in order.
constexpr auto operations(const hlo::Module& module) -> Text {
  Text list;
  const hlo::Computation& entry = module.entry();
  for (const hlo::Instruction& i : module.instructions.view(entry.instructions))
    append_all(list, to_string(i.opcode), '\n');
  return list;
}

}  // namespace

int main() {
  const auto lowered = get_default_pass_manager()(Module<>(model())).and_then(lower(xla, mine));
  if (!lowered) return report(stderr, lowered.error());
  const Text list = operations(*lowered);
  std::fwrite(list.view().data(), 1, list.size(), stdout);
}

// It prints:
//   parameter
//   parameter
//   broadcast
//   constant
//   broadcast
//   multiply
//   add
//   custom-call
//   tuple

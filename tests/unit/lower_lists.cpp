// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/builder.hpp>
#include <fxpass/lower/lower.hpp>

#include "twice.hpp"

#include <algorithm>
#include <string>
#include <string_view>

// How lists of lowerings are put together and searched.

namespace {

using namespace fxpass;

/// Each lowering of these tests stands for itself by the operation it gives.
template <TextConstant Name, hlo::Opcode Code>
struct Makes {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().unary(Code, c.tensor(call, "self"));
  }
};
struct MakesForTwoNames {
  static constexpr std::array<std::string_view, 2> op{"aten.exp", "aten.log"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().tanh(c.tensor(call, "self"));
  }
};

/// The operation that `target(x)` becomes.
constexpr auto operation_for(LoweringTable table, std::string_view target) -> hlo::Opcode {
  GraphBuilder b;
  b.declare_operator("torch.ops.mylib.cube.default", "mylib.cube.default(Tensor x) -> Tensor");
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {2}));
  b.output({b.call_function(target, {x}, b.tensor(DType::f32, {2}))});
  const auto lowered = lower_graph(std::move(b).finish(), xla, table);
  if (!lowered) return hlo::Opcode::tuple;
  const hlo::Module& module = lowered->module;
  return module.instructions[module.entry().instructions.end() - 2].opcode;
}

constexpr lowerings<Makes<"aten.exp", hlo::Opcode::exponential>, Makes<"aten.neg", hlo::Opcode::negate>> base;

constexpr auto overloads_go_before_the_operator() -> bool {
  constexpr auto list = base + lowerings<Makes<"aten.exp.default", hlo::Opcode::sine>>{};
  return operation_for(list.table(), "torch.ops.aten.exp.default") == hlo::Opcode::sine &&
         operation_for(base.table(), "torch.ops.aten.exp.default") == hlo::Opcode::exponential &&
         operation_for(list.table(), "operator.neg") == hlo::Opcode::negate;
}
FXPASS_TEST_TWICE(overloads_go_before_the_operator)

constexpr auto what_overrides_replaces() -> bool {
  constexpr auto list = base.override_with(lowerings<MakesForTwoNames>{});
  constexpr auto again = list.override_with(lowerings<Makes<"aten.log", hlo::Opcode::log>>{});
  return list.table().entries().size() == 3 &&
         operation_for(list.table(), "torch.exp") == hlo::Opcode::tanh &&
         operation_for(list.table(), "torch.log") == hlo::Opcode::tanh &&
         operation_for(list.table(), "torch.neg") == hlo::Opcode::negate &&
         operation_for(again.table(), "torch.exp") == hlo::Opcode::tanh &&
         operation_for(again.table(), "torch.log") == hlo::Opcode::log;
}
FXPASS_TEST_TWICE(what_overrides_replaces)

static_assert(!lowerings<Makes<"aten.exp", hlo::Opcode::log>>::clash.exists());
static_assert(lowerings<Makes<"aten.exp", hlo::Opcode::log>, MakesForTwoNames>::clash.exists());
// An overload and its operator are different names.
static_assert(!lowerings<Makes<"aten.exp", hlo::Opcode::log>, Makes<"aten.exp.default", hlo::Opcode::log>>::clash.exists());

/// As the documentation shows it.
struct LowerCube {
  static constexpr std::string_view op = "mylib.cube";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "x");
    return c.builder().multiply(x, c.builder().multiply(x, x));
  }
};
constexpr auto custom_operators_have_lowerings() -> bool {
  constexpr auto list = default_lowerings + lowerings<LowerCube>{};
  return operation_for(list.table(), "torch.ops.mylib.cube.default") == hlo::Opcode::multiply;
}
FXPASS_TEST_TWICE(custom_operators_have_lowerings)

/// A misspelt name would never be found.
TEST_CASE("the default list names operators that there are, in order") {
  const auto entries = default_lowerings.table().entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string_view op = entries[i].op;
    CAPTURE(std::string(op));
    if (i != 0) CHECK(entries[i - 1].op < op);
    // The catalog leaves out Python's own functions, calls of graphs and assertions that compute nothing.
    const bool is_outside = op.starts_with("torch.") || op.starts_with("higher_order.") ||
                            std::ranges::count(LowerNothing::op, op) != 0;
    CHECK((is_outside || !ops::find_overloads(op).empty() || ops::find_overload(op) != ops::no_row));
  }
  CHECK(entries.size() > 250);
}

}  // namespace

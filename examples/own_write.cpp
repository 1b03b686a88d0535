// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Custom operators that write their operands: stated by their schemas, which training IR and printed graphs do not hold, and
// lowered. The passes have made each call one that writes nothing: it gives what the operator returns, and behind that the new
// values of what it writes. That is what a lowering returns.
//
// With arguments PROGRAM OUT SIGNATURE it compiles a file; without, the program below.
#include <fxpass/fxpass.hpp>
#include <fxpass/read/program.hpp>

#include <cstdio>
#include <string_view>

namespace {

using namespace fxpass;

/// x += alpha * y
struct LowerAxpy {
  static constexpr std::string_view op = "mylib.axpy";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "x"), y = c.broadcast_to(call, c.tensor(call, "y"), c.builder().dims(x));
    return c.builder().add(x, c.builder().multiply(y, c.full_like(y, c.number(call, "alpha"))));  // the new x
  }
};

/// Adds y to each of xs, and returns -y.
struct LowerAddToEach {
  static constexpr std::string_view op = "mylib.add_to_each";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value y = c.tensor(call, "y");
    Pool<hlo::Value> values;
    values.push_back(c.builder().negate(y));
    for (const hlo::Value x : c.tensors(call, "xs"))
      values.push_back(c.builder().add(x, c.broadcast_to(call, y, c.builder().dims(x))));
    return values;
  }
};

constexpr auto mine = default_lowerings + lowerings<LowerAxpy, LowerAddToEach>{};

constexpr std::string_view schemas[] = {
    "mylib::axpy(Tensor(a!) x, Tensor y, *, float alpha=1.0) -> ()",
    "mylib::add_to_each(Tensor(a!)[] xs, Tensor y) -> Tensor",
};

constexpr std::string_view program = R"py(
def forward(self, cache: "f32[4, 3][3, 1]cpu", y: "f32[3][1]cpu"):
    row: "f32[3][1]cpu" = torch.ops.aten.select.int(cache, 0, 1)
    axpy = torch.ops.mylib.axpy.default(row, y, alpha = 0.5)
    negated: "f32[3][1]cpu" = torch.ops.mylib.add_to_each.default([row], y)
    return (negated,)
)py";

auto read(const char* path, const CustomOperators& operators) -> Expected<Module<>> {
  if (path != nullptr) return read_program(path, {.operators = &operators});
  return parse_fx_code(program, "program", nullptr, &operators);
}

}  // namespace

int main(int argc, char** argv) {
  CustomOperators operators;
  for (const std::string_view schema : schemas)
    if (const Status added = operators.add(schema); !added) return report(stderr, added.error());
  const bool has_file = argc == 4;
  const auto lowered = read(has_file ? argv[1] : nullptr, operators)
                           .and_then(get_default_pass_manager())
                           .and_then(lower(xla, mine));
  if (!lowered) return report(stderr, lowered.error());
  if (has_file) {
    Text signature;
    write_json(signature, lowered->signature);
    const Status written = write_files({{argv[2], emit<HloText>(*lowered)}, {argv[3], signature}});
    return written ? 0 : report(stderr, written.error());
  }
  const hlo::Computation& entry = lowered->module.entry();
  for (const hlo::Instruction& i : lowered->module.instructions.view(entry.instructions))
    std::printf("%s\n", std::string(to_string(i.opcode)).c_str());
}

// It prints:
//   parameter
//   parameter
//   slice
//   reshape
//   constant
//   broadcast
//   multiply
//   add
//   negate
//   add
//   reshape
//   constant
//   constant
//   dynamic-update-slice
//   tuple

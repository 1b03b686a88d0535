// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/emit/hlo_proto.hpp>
#include <fxpass/emit/hlo_text.hpp>
#include <fxpass/emit/stablehlo.hpp>

#include "../support/hlo_samples.hpp"
#include "twice.hpp"

#include <string_view>

namespace {

using namespace fxpass;
using namespace fxpass::hlo;

static_assert(Emitter<HloText> && Emitter<HloProto> && Emitter<StableHlo>);
static_assert(!Emitter<int>);

constexpr auto small_module() -> hlo::Module {
  Builder b("small");
  const Value x = b.parameter({DType::f32, {2, 3}}, "x");
  b.set_metadata("aten.sum.dim_IntList", "sum_1", "model.py", 5);
  const Value zero = b.constant(DType::f32, 0);
  b.add_alias({0, 1, Alias::Kind::must});
  const Value y = b.parameter({DType::f32, {2}}, "y.weight");
  return *b.finish(b.add(b.reduce(x, zero, {1}, b.scalar_computation(Opcode::add, DType::f32)), y));
}

// clang-format off: as it is written
constexpr std::string_view small_text = R"(HloModule small, input_output_alias={ {}: (1, {}, must-alias) }, entry_computation_layout={(f32[2,3]{1,0}, f32[2]{0})->f32[2]{0}}

%add.1 (parameter.1: f32[], parameter.2: f32[]) -> f32[] {
  %parameter.1 = f32[] parameter(0)
  %parameter.2 = f32[] parameter(1)
  ROOT %add.3 = f32[] add(%parameter.1, %parameter.2)
}

ENTRY %main (x.4: f32[2,3]{1,0}, y.weight.5: f32[2]{0}) -> f32[2]{0} {
  %x.4 = f32[2,3]{1,0} parameter(0)
  %y.weight.5 = f32[2]{0} parameter(1), metadata={op_type="aten.sum.dim_IntList" op_name="sum_1" source_file="model.py" source_line=5}
  %constant.6 = f32[] constant(0), metadata={op_type="aten.sum.dim_IntList" op_name="sum_1" source_file="model.py" source_line=5}
  %reduce.7 = f32[2]{0} reduce(%x.4, %constant.6), to_apply=%add.1, dimensions={1}, metadata={op_type="aten.sum.dim_IntList" op_name="sum_1" source_file="model.py" source_line=5}
  ROOT %add.8 = f32[2]{0} add(%reduce.7, %y.weight.5), metadata={op_type="aten.sum.dim_IntList" op_name="sum_1" source_file="model.py" source_line=5}
}
)";
// clang-format on

constexpr auto text_is_as_expected() -> bool {
  return emit<HloText>(small_module()) == small_text;
}
FXPASS_TEST_TWICE(text_is_as_expected)

// clang-format off: as it is written
constexpr std::string_view small_stablehlo = R"(module @small attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v3: tensor<2x3xf32>, %v4: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<2xf32>) {
    %v5 = "stablehlo.constant"() {value = dense<0x00000000> : tensor<f32>} : () -> tensor<f32> loc("sum_1"("model.py":5:0))
    %v6 = "stablehlo.reduce"(%v3, %v5) ({
    ^bb0(%v0: tensor<f32>, %v1: tensor<f32>):
      %v2 = "stablehlo.add"(%v0, %v1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v2) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32> loc("sum_1"("model.py":5:0))
    %v7 = "stablehlo.add"(%v6, %v4) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("sum_1"("model.py":5:0))
    "func.return"(%v7) : (tensor<2xf32>) -> ()
  }
}
)";
// clang-format on

constexpr auto stablehlo_is_as_expected() -> bool {
  return emit<StableHlo>(small_module()) == small_stablehlo;
}
FXPASS_TEST_TWICE(stablehlo_is_as_expected)

/// The module of the smallest program there is: `main() -> pred[] constant(true)`.
constexpr auto smallest_module() -> hlo::Module {
  Builder b("m");
  return *b.finish(b.constant(DType::boolean, true));
}
// clang-format off: a line for each field
/// Byte by byte, by the field numbers of hlo.proto and xla_data.proto.
constexpr char smallest_proto[] =
    "\x0a\x01m\x12\x04main"      // name, entry_computation_name
    "\x1a\x3e"                   // computations
    "\x0a\x04main"               //   name
    "\x12\x2a"                   //   instructions
    "\x0a\x0a" "constant.1"      //     name
    "\x12\x08" "constant"        //     opcode
    "\x1a\x04\x10\x01\x2a\x00"   //     shape: PRED, an empty layout
    "\x42\x09"                   //     literal
    "\x0a\x04\x10\x01\x2a\x00"   //       shape
    "\x12\x01\x01"               //       preds
    "\x98\x02\x01"               //     id 1
    "\x22\x06"                   //   program_shape
    "\x12\x04\x10\x01\x2a\x00"   //     result
    "\x28\x02"                   //   id 2
    "\x30\x01"                   //   root_id
    "\x22\x06\x12\x04\x10\x01\x2a\x00"  // host_program_shape
    "\x30\x02";                         // entry_computation_id
// clang-format on

constexpr auto proto_is_as_expected() -> bool {
  return emit<HloProto>(smallest_module()) == std::string_view(smallest_proto, sizeof smallest_proto - 1);
}
FXPASS_TEST_TWICE(proto_is_as_expected)

constexpr auto text_constant = emit_constant<HloText>([] { return small_module(); });
constexpr auto proto_constant = emit_constant<HloProto>([] { return smallest_module(); });
static_assert(text_constant.view() == small_text);
static_assert(proto_constant.view() == std::string_view(smallest_proto, sizeof smallest_proto - 1));

TEST_CASE("constants of the program hold what is written at run time") {
  CHECK(text_constant.view() == emit<HloText>(small_module()));
  CHECK(proto_constant.view() == emit<HloProto>(smallest_module()));
}

TEST_CASE("the count that a constant is made with is the length that is written") {
  for (const samples::Sample& sample : samples::all) {
    const hlo::Module module = *samples::make(sample);
    CountingSink text, proto;
    HloText::write(text, module);
    HloProto::write(proto, module);
    CHECK(text.count() == emit<HloText>(module).size());
    CHECK(proto.count() == emit<HloProto>(module).size());
  }
}

/// The literal of a constant as text.
constexpr auto literal(auto make) -> Text {
  Builder b("m");
  const Text text = emit<HloText>(*b.finish(make(b)));
  const std::string_view all = text.view();
  const std::size_t begin = all.find("constant(") + 9;
  return all.substr(begin, all.find(")\n", begin) - begin);
}
constexpr auto literals_are_spelled_as_xla_reads_them() -> bool {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double values[4] = {-0.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
  constexpr std::string_view payload("\x01\x00\x80\xff", 4);
  return literal([&](Builder& b) { return b.constant(DType::f32, {2, 2}, fxpass::Span(values)); }) ==
             "{{-0.0, inf}, {-inf, nan}}" &&
         literal([](Builder& b) { return b.constant(DType::bf16, 0.1); }) == "0.100097656" &&
         literal([](Builder& b) { return b.constant(DType::f64, 0.1); }) == "0.1" &&
         literal([](Builder& b) { return b.constant(DType::i8, -128); }) == "-128" &&
         literal([](Builder& b) { return b.constant(DType::u64, ~std::uint64_t{0}); }) ==
             "18446744073709551615" &&
         literal([](Builder& b) { return b.constant_complex(DType::c64, 1.5, -2); }) == "(1.5, -2)" &&
         literal([](Builder& b) { return b.constant(DType::f32, {2, 0}, fxpass::Span<const double>()); }) ==
             "{{}, {}}" &&
         literal([&](Builder& b) { return b.constant_bytes(DType::f32, {}, payload); }) == "-nan(0x1)";
}
FXPASS_TEST_TWICE(literals_are_spelled_as_xla_reads_them)

}  // namespace

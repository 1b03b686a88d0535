// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/emit/hlo_proto.hpp>
#include <fxpass/emit/hlo_text.hpp>

#include <doctest/doctest.h>

#include <string_view>

#include "small_programs.hpp"

// From a graph to HLO text in one constant expression, within a quarter of the evaluation steps that
// compilers allow.

namespace {

using namespace fxpass;
using namespace programs;

constexpr auto has_part(std::string_view text, std::string_view part) -> bool {
  return text.find(part) != std::string_view::npos;
}

// clang-format off: as it is written
constexpr std::string_view arithmetic_hlo = R"(HloModule fxpass, entry_computation_layout={(f32[4,3]{1,0}, f32[3]{0})->(f32[4]{0})}

%add.1 (parameter.1: f32[], parameter.2: f32[]) -> f32[] {
  %parameter.1 = f32[] parameter(0)
  %parameter.2 = f32[] parameter(1)
  ROOT %add.3 = f32[] add(%parameter.1, %parameter.2)
}

ENTRY %main (x.4: f32[4,3]{1,0}, w.5: f32[3]{0}) -> (f32[4]{0}) {
  %x.4 = f32[4,3]{1,0} parameter(0)
  %w.5 = f32[3]{0} parameter(1)
  %broadcast.6 = f32[4,3]{1,0} broadcast(%w.5), dimensions={1}, metadata={op_type="aten.mul.Tensor" op_name="mul"}
  %multiply.7 = f32[4,3]{1,0} multiply(%x.4, %broadcast.6), metadata={op_type="aten.mul.Tensor" op_name="mul"}
  %constant.8 = f32[] constant(1.5), metadata={op_type="aten.add.Tensor" op_name="add"}
  %broadcast.9 = f32[4,3]{1,0} broadcast(%constant.8), dimensions={}, metadata={op_type="aten.add.Tensor" op_name="add"}
  %add.10 = f32[4,3]{1,0} add(%multiply.7, %broadcast.9), metadata={op_type="aten.add.Tensor" op_name="add"}
  %exponential.11 = f32[4,3]{1,0} exponential(%add.10), metadata={op_type="aten.exp.default" op_name="exp"}
  %constant.12 = f32[] constant(0), metadata={op_type="aten.sum.dim_IntList" op_name="sum_1"}
  %reduce.13 = f32[4]{0} reduce(%exponential.11, %constant.12), to_apply=%add.1, dimensions={1}, metadata={op_type="aten.sum.dim_IntList" op_name="sum_1"}
  ROOT %tuple.14 = (f32[4]{0}) tuple(%reduce.13)
}
)";
// clang-format on
constexpr auto arithmetic_text = emit_constant<HloText>([] { return lowered(arithmetic()); });
static_assert(arithmetic_text.view() == arithmetic_hlo);

// One row of the buffer is updated, in the buffer's own place.
constexpr auto cache_text = emit_constant<HloText>([] { return lowered(cache_write()); });
static_assert(has_part(cache_text.view(), "input_output_alias={ {1}: (0, {}, must-alias) }"));
static_assert(has_part(cache_text.view(), " = f32[8,4]{1,0} dynamic-update-slice(%cache."));

constexpr auto kernel_text = emit_constant<HloText>([] { return lowered(kernel_call()); });
static_assert(has_part(kernel_text.view(),
                       "custom_call_target=\"AwsNeuronCustomNativeKernel\", backend_config=\"eyJ9\", "
                       "output_to_operand_aliasing={{}: (0, {})}"));

constexpr auto collective_text = emit_constant<HloText>([] { return lowered(collective()); });
static_assert(has_part(collective_text.view(), "channel_id=1, replica_groups={{0,1},{2,3}}"));

constexpr auto device_text = emit_constant<HloText>([] { return lowered(cross_device()); });
static_assert(has_part(device_text.view(), " = (f32[4]{0}, f32[4]{0}) tuple(%multiply.4, %x.1)"));

constexpr auto attention_text = emit_constant<HloText>([] { return lowered(attention()); });
static_assert(has_part(attention_text.view(), "lhs_contracting_dims={1}, rhs_contracting_dims={0}"));

constexpr auto cache_proto = emit_constant<HloProto>([] { return lowered(cache_write()); });

TEST_CASE("what is made at run time is the same") {
  CHECK(emit<HloText>(lowered(arithmetic())) == arithmetic_text.view());
  CHECK(emit<HloText>(lowered(cache_write())) == cache_text.view());
  CHECK(emit<HloText>(lowered(kernel_call())) == kernel_text.view());
  CHECK(emit<HloText>(lowered(collective())) == collective_text.view());
  CHECK(emit<HloText>(lowered(cross_device())) == device_text.view());
  CHECK(emit<HloText>(lowered(attention())) == attention_text.view());
  CHECK(emit<HloProto>(lowered(cache_write())) == cache_proto.view());
}

}  // namespace

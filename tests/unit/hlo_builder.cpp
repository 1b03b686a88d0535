// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/hlo/builder.hpp>
#include <fxpass/hlo/verify.hpp>

#include "twice.hpp"

#include <array>
#include <limits>

namespace {

using namespace fxpass;
using namespace fxpass::hlo;

constexpr Shape x_shape{DType::f32, {2, 3}};

constexpr auto what_changes_nothing_is_its_operand() -> bool {
  Builder b("m");
  const Value x = b.parameter(x_shape), zero = b.constant(DType::f32, 0);
  const Value other = b.reshape(x, {6});
  return b.reshape(x, {2, 3}) == x && b.reshape(other, {2, 3}) == x &&
         b.broadcast_in_dim(x, {2, 3}, {0, 1}) == x && b.convert(x, DType::f32) == x &&
         b.bitcast_convert(x, DType::f32) == x && b.transpose(x, {0, 1}) == x &&
         b.slice(x, {0, 0}, {2, 3}, {1, 1}) == x && b.reverse(x, {}) == x && b.concatenate({x}, 0) == x &&
         b.pad(x, zero, {0, 0}, {0, 0}, {0, 0}) == x && b.get_tuple_element(b.tuple({zero, x}), 1) == x &&
         !(b.copy(x) == x);
}
FXPASS_TEST_TWICE(what_changes_nothing_is_its_operand)

constexpr auto equal_constants_are_one_instruction() -> bool {
  Builder b("m");
  const Value one = b.constant(DType::f32, 1), iota = b.iota({DType::i32, {4, 4}}, 1);
  bool inner_differs = false;
  b.computation("c", [&] {
    const Value inner = b.constant(DType::f32, 1);
    inner_differs = !(inner == one);
    return inner;
  });
  return b.constant(DType::f32, 1.0) == one && b.constant(DType::f32, true) == one && inner_differs &&
         !(b.constant(DType::f64, 1) == one) && !(b.constant(DType::f32, 2) == one) &&
         b.iota({DType::i32, {4, 4}}, 1) == iota && !(b.iota({DType::i32, {4, 4}}, 0) == iota) &&
         !(b.constant(DType::f32, 0.0) == b.constant(DType::f32, -0.0));
}
FXPASS_TEST_TWICE(equal_constants_are_one_instruction)

constexpr auto scalar_computations_are_shared() -> bool {
  Builder b("m");
  const ComputationId add = b.scalar_computation(Opcode::add, DType::f32);
  return b.scalar_computation(Opcode::add, DType::f32) == add &&
         !(b.scalar_computation(Opcode::add, DType::f16) == add) &&
         !(b.scalar_computation(Opcode::maximum, DType::f32) == add) &&
         b.scalar_computation(Opcode::copy, DType::f32) == b.scalar_computation(Opcode::copy, DType::f32);
}
FXPASS_TEST_TWICE(scalar_computations_are_shared)

constexpr auto errors_name_the_node_and_all_are_told() -> bool {
  Builder b("m");
  const Value x = b.parameter(x_shape);
  b.set_metadata("aten.view.default", "view", "model.py", 7);
  const Value bad = b.reshape(x, {5});
  const Value silent = b.negate(bad);
  b.set_metadata("aten.not.default", "not_1", "model.py", 9);
  b.not_(x);
  const Expected<hlo::Module> module = b.finish(silent);
  if (module || module.error().size() != 2) return false;
  const Diagnostic& first = module.error().front();
  const Diagnostic& second = *(module.error().begin() + 1);
  return first.node == "view" && first.model.file == "model.py" && first.model.line == 7 &&
         first.message == "reshape: keeps element type and number of elements (f32[2,3] and f32[5])" &&
         second.node == "not_1" && second.model.line == 9;
}
FXPASS_TEST_TWICE(errors_name_the_node_and_all_are_told)

constexpr auto an_invalid_value_does_no_harm() -> bool {
  Builder b("m");
  const Value none = b.fail(Diagnostic::error(DiagnosticCode::unsupported, "not this"));
  const Shape s = b.shape(none);
  const ComputationId inner = b.computation("c", [&] { return none; });
  const Value all[] = {b.add(none, none),
                       b.reshape(none, {2}),
                       b.broadcast(none, {3}),
                       b.tuple({none}),
                       b.slice_in_dim(none, 3, 0, 1),
                       b.get_tuple_element(none, 4),
                       b.transpose(none, {1, 0}),
                       b.reduce(none, none, {0}, inner),
                       b.reduce(b.constant(DType::f32, 1), none, {}, inner)};
  for (const Value v : all)
    if (v.valid()) return false;
  const Expected<hlo::Module> module = b.finish(none);
  return s == Shape{} && s.dims[5] == 0 && !inner.valid() && !module && module.error().size() == 1;
}
FXPASS_TEST_TWICE(an_invalid_value_does_no_harm)

constexpr auto a_value_of_another_computation_is_refused() -> bool {
  Builder b("m");
  const Value x = b.parameter({DType::f32, {}});
  Value leaked;
  b.computation("c", [&] { return leaked = b.parameter({DType::f32, {}}); });
  const bool outer = !b.negate(leaked).valid();
  b.computation("d", [&] { return b.negate(x); });
  b.computation("e", [&] { return x; });
  const Expected<hlo::Module> module = b.finish(x);
  return outer && !module && module.error().size() == 3;
}
FXPASS_TEST_TWICE(a_value_of_another_computation_is_refused)

constexpr auto what_nothing_needs_is_left_out() -> bool {
  Builder b("m");
  const Value x = b.parameter(x_shape, "x");
  b.parameter(x_shape, "unused");
  b.exponential(x);
  b.reduce(x, b.constant(DType::f32, 0), {0}, b.scalar_computation(Opcode::add, DType::f32));
  const Value effect =
      b.custom_call({.target = "print", .has_side_effect = true}, {b.negate(x)}, {DType::f32, {}});
  ReplicaGroups groups;
  b.collective_broadcast(x, groups);
  const Expected<hlo::Module> module = b.finish(b.abs(x));
  // Both parameters, the result, the effect with its operand, the collective; the computation of the sum is
  // gone.
  return effect.valid() && module && verify(*module) && module->instructions.size() == 6 &&
         module->computations.size() == 1 && module->parameters.size() == 2;
}
FXPASS_TEST_TWICE(what_nothing_needs_is_left_out)

/// Both orders in which a compiler may evaluate the arguments of `b.add(b.negate(x), b.abs(x))`.
constexpr auto sum(bool left_first) -> hlo::Module {
  Builder b("m");
  const Value x = b.parameter(x_shape);
  b.set_metadata("aten.first", "first");
  const Value exponential = b.exponential(x);
  b.set_metadata("aten.second", "second");
  const auto left = [&] {
    return b.reduce(x, b.constant(DType::f32, 0), {0}, b.scalar_computation(Opcode::add, DType::f32));
  };
  const auto right = [&] {
    return b.reduce(exponential, b.lowest(DType::f32), {0},
                    b.scalar_computation(Opcode::maximum, DType::f32));
  };
  Value l, r;
  if (left_first) {
    l = left();
    r = right();
  } else {
    r = right();
    l = left();
  }
  return *b.finish(b.add(l, r));
}
constexpr auto the_order_of_arguments_does_not_show() -> bool {
  const hlo::Module a = sum(true), b = sum(false);
  if (a.instructions.size() != b.instructions.size()) return false;
  for (std::uint32_t n = 0; n < a.instructions.size(); ++n)
    if (a.instructions[n].opcode != b.instructions[n].opcode) return false;
  const std::uint32_t entry = a.entry().instructions.begin;
  return a.operands == b.operands && a.called == b.called && a.parameters == b.parameters &&
         a.instructions[entry].opcode == Opcode::parameter &&
         a.instructions[entry + 1].opcode == Opcode::exponential &&
         a.instructions[entry + 2].opcode == Opcode::constant &&
         a.instructions[entry + 3].opcode == Opcode::reduce;
}
FXPASS_TEST_TWICE(the_order_of_arguments_does_not_show)

constexpr auto modules_are_values() -> bool {
  const hlo::Module a = sum(true);
  hlo::Module b = a;
  const bool equal = a == b && a == sum(true);
  b.numbers[0] += 1;
  return equal && !(a == b);
}
FXPASS_TEST_TWICE(modules_are_values)

/// The elements of a scalar constant as a number.
template <class T>
constexpr auto bits_of(DType dtype, T value) -> std::uint64_t {
  Builder b("m");
  const hlo::Module m = *b.finish(b.constant(dtype, value));
  return hlo::detail::little_endian(m.text(m[m.entry().root], AttributeKey::literal));
}
constexpr auto numbers_become_elements() -> bool {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return bits_of(DType::i8, -1) == 0xff && bits_of(DType::i32, 1.9) == 1 &&
         bits_of(DType::i32, -1.9) == 0xffffffff && bits_of(DType::i16, 1e9) == 0x7fff &&
         bits_of(DType::i16, -infinity) == 0x8000 && bits_of(DType::u8, -3.0) == 0 &&
         bits_of(DType::u8, 300.0) == 0xff && bits_of(DType::u64, infinity) == ~std::uint64_t{0} &&
         bits_of(DType::i64, 1e300) == ~std::uint64_t{0} >> 1 &&
         bits_of(DType::i32, std::numeric_limits<double>::quiet_NaN()) == 0 &&
         bits_of(DType::boolean, 0.5) == 1 && bits_of(DType::bf16, 1) == 0x3f80 &&
         bits_of(DType::c64, 1.0F) == 0x3f800000 &&
         bits_of(DType::i64, std::numeric_limits<std::int64_t>::min()) == std::uint64_t{1} << 63;
}
FXPASS_TEST_TWICE(numbers_become_elements)

constexpr auto extremes() -> bool {
  const auto bits = [](DType d, bool low) {
    Builder b("m");
    const hlo::Module m = *b.finish(low ? b.lowest(d) : b.highest(d));
    return hlo::detail::little_endian(m.text(m[m.entry().root], AttributeKey::literal));
  };
  return bits(DType::f32, true) == 0xff800000 && bits(DType::f16, false) == 0x7c00 &&
         bits(DType::i8, true) == 0x80 && bits(DType::u16, false) == 0xffff && bits(DType::u16, true) == 0 &&
         bits(DType::boolean, true) == 0 && bits(DType::boolean, false) == 1 &&
         bits(DType::f8e4m3fn, true) == 0xfe && bits(DType::f8e4m3fnuz, false) == 0x7f &&
         bits(DType::f8e8m0fnu, true) == 0 && bits(DType::i64, false) == ~std::uint64_t{0} >> 1;
}
FXPASS_TEST_TWICE(extremes)

}  // namespace

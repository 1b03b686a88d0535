// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>

#include <array>
#include <optional>
#include <string_view>

/// @file
/// Operators that work element by element: arithmetic, comparison, logic, bits, choice, conversion.

namespace fxpass {

// One operand ----------------------------------------------------------------------------------------------------------

/// A function of real numbers that is one operation of HLO.
template <hlo::Opcode Code, TextConstant... Names>
struct LowerRealFunction {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.to_result(call, c.builder().unary(Code, c.accurate(c.tensor(call, "self"))));
  }
};

/// Rounding to integers: integers already are.
template <hlo::Opcode Code, TextConstant... Names>
struct LowerRounding {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    if (!is_floating(c.builder().dtype(x))) return x;
    return call.schema().find("decimals") ? of_decimals(c, call, x) : c.builder().unary(Code, x);
  }

 private:
  /// Rounded as a multiple of a power of ten.
  static constexpr auto of_decimals(auto& c, const Call& call, hlo::Value given) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(given);
    const std::int64_t decimals = c.integer(call, "decimals");
    double power = 1.0;
    for (std::int64_t n = decimals < 0 ? -decimals : decimals; n > 0 && power < 1e300; --n) power *= 10.0;
    const hlo::Value factor = c.full_like(x, power);
    if (decimals < 0) return c.to_result(call, b.multiply(b.unary(Code, b.divide(x, factor)), factor));
    return c.to_result(call, b.divide(b.unary(Code, b.multiply(x, factor)), factor));
  }
};

struct LowerTrunc {
  static constexpr std::array<std::string_view, 3> op{"aten.trunc", "aten.fix", "prims.trunc"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    if (!is_floating(c.builder().dtype(x))) return x;
    auto& b = c.builder();
    return b.select(b.compare(x, c.full_like(x, 0), hlo::Direction::lt), b.ceil(x), b.floor(x));
  }
};

struct LowerNeg {
  static constexpr std::array<std::string_view, 3> op{"aten.neg", "aten.negative", "prims.neg"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().negate(c.tensor(call, "self"));
  }
};

struct LowerAbs {
  static constexpr std::array<std::string_view, 3> op{"aten.abs", "aten.absolute", "prims.abs"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return dtype_info(c.builder().dtype(x)).is_signed ? c.builder().abs(x) : x;
  }
};

/// As eager counts: (x > 0) - (x < 0), which is 0 for NaN.
struct LowerSign {
  static constexpr std::array<std::string_view, 3> op{"aten.sign", "aten.sgn", "prims.sign"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    const hlo::Value zero = c.full_like(x, 0);
    auto& b = c.builder();
    const DType type = b.dtype(x);
    const hlo::Value positive = b.convert(b.compare(x, zero, hlo::Direction::gt), type);
    if (!dtype_info(type).is_signed) return positive;
    return b.subtract(positive, b.convert(b.compare(x, zero, hlo::Direction::lt), type));
  }
};

struct LowerReciprocal {
  static constexpr std::array<std::string_view, 2> op{"aten.reciprocal", "prims.reciprocal"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    return c.to_result(call, c.builder().divide(c.full_like(x, 1), x));
  }
};

struct LowerSquare {
  static constexpr std::string_view op = "aten.square";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.to_result(call, c.tensor(call, "self"));  // the square of a bool is an integer
    return c.builder().multiply(x, x);
  }
};

/// log2 and log10: divided by the logarithm of the base, so that powers of it come out whole.
template <int Base, TextConstant... Names>
struct LowerLogOfBase {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    constexpr double log_of_base = Base == 2 ? 0.69314718055994530942 : 2.30258509299404568402;
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    return c.to_result(call, c.builder().divide(c.builder().log(x), c.full_like(x, log_of_base)));
  }
};

struct LowerExp2 {
  static constexpr std::array<std::string_view, 3> op{"aten.exp2", "aten.special_exp2", "prims.exp2"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    return c.to_result(call, c.builder().power(c.full_like(x, 2.0), x));
  }
};

struct LowerLogicalNot {
  static constexpr std::string_view op = "aten.logical_not";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.to_result(call, c.builder().not_(c.truth(c.tensor(call, "self"))));
  }
};

struct LowerBitwiseNot {
  static constexpr std::array<std::string_view, 2> op{"aten.bitwise_not", "prims.bitwise_not"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().not_(c.tensor(call, "self"));
  }
};

struct LowerIsNan {
  static constexpr std::string_view op = "aten.isnan";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return c.builder().compare(x, x, hlo::Direction::ne);
  }
};

struct LowerIsInf {
  static constexpr std::string_view op = "aten.isinf";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    auto& b = c.builder();
    if (!is_floating(b.dtype(x))) return b.full({DType::boolean, b.dims(x)}, false);
    return b.compare(b.abs(x), b.broadcast(b.highest(b.dtype(x)), b.dims(x)), hlo::Direction::eq);
  }
};

struct LowerIsFinite {
  static constexpr std::array<std::string_view, 2> op{"aten.isfinite", "prims.isfinite"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    auto& b = c.builder();
    return is_floating(b.dtype(x)) ? b.is_finite(x) : b.full({DType::boolean, b.dims(x)}, true);
  }
};

// Two operands ---------------------------------------------------------------------------------------------------------

/// Two operands in their common dtype, and one operation of HLO.
template <hlo::Opcode Code, Meeting How, TextConstant... Names>
struct LowerBinary {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [a, b] = c.operands(call, How, "self", "other");
    return c.to_result(call, c.builder().binary(Code, a, b));
  }
};

namespace detail {
/// `x` times the number given for `name`, which usually is 1.
constexpr auto times_number(auto& c, const Call& call, hlo::Value x, std::string_view name) -> hlo::Value {
  const Number factor = c.number(call, name);
  return factor.is(1) ? x : c.builder().multiply(x, c.full_like(x, factor));
}
}  // namespace detail

struct LowerAdd {
  static constexpr std::string_view op = "aten.add";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [a, b] = c.operands(call, Meeting::arithmetic, "self", "other");
    return c.to_result(call, c.builder().add(a, detail::times_number(c, call, b, "alpha")));
  }
};

struct LowerSub {
  static constexpr std::array<std::string_view, 2> op{"aten.sub", "aten.subtract"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [a, b] = c.operands(call, Meeting::arithmetic, "self", "other");
    return c.to_result(call, c.builder().subtract(a, detail::times_number(c, call, b, "alpha")));
  }
};

struct LowerRsub {
  static constexpr std::string_view op = "aten.rsub";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [a, b] = c.operands(call, Meeting::arithmetic, "self", "other");
    return c.to_result(call, c.builder().subtract(b, detail::times_number(c, call, a, "alpha")));
  }
};

namespace detail {

/// Whether a remainder is not zero and has another sign than the divisor.
constexpr auto signs_differ(auto& c, hlo::Value remainder, hlo::Value divisor) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Value zero = c.full_like(remainder, 0);
  const hlo::Value is_negative = b.compare(remainder, zero, hlo::Direction::lt);
  const hlo::Value divisor_is_negative = b.compare(divisor, zero, hlo::Direction::lt);
  return b.and_(b.compare(remainder, zero, hlo::Direction::ne), b.xor_(is_negative, divisor_is_negative));
}

/// Division towards minus infinity. Floats as eager (and CPython) do it: exact where the quotient is a whole number,
/// although `floor(x / y)` may round up to it.
constexpr auto floor_divide(auto& c, hlo::Value x, hlo::Value y) -> hlo::Value {
  auto& b = c.builder();
  const DType type = b.dtype(x);
  if (!is_floating(type)) {
    const hlo::Value quotient = b.divide(x, y);
    if (!dtype_info(type).is_signed) return quotient;
    const hlo::Value down = b.convert(signs_differ(c, b.remainder(x, y), y), type);
    return b.subtract(quotient, down);
  }
  const hlo::Value zero = c.full_like(x, 0), one = c.full_like(x, 1);
  const hlo::Value remainder = b.remainder(x, y);
  const hlo::Value whole = b.divide(b.subtract(x, remainder), y);
  const hlo::Value lowered = b.select(signs_differ(c, remainder, y), b.subtract(whole, one), whole);
  const hlo::Value floor = b.floor(lowered);
  const hlo::Value is_above = b.compare(b.subtract(lowered, floor), c.full_like(x, 0.5), hlo::Direction::gt);
  const hlo::Value rounded = b.select(is_above, b.add(floor, one), floor);
  // A zero has the sign of the true quotient, and division by zero is that of IEEE.
  const hlo::Value quotient = b.divide(x, y);
  const hlo::Value signed_zero = b.multiply(zero, quotient);
  const hlo::Value nearly = b.select(b.compare(lowered, zero, hlo::Direction::eq), signed_zero, rounded);
  return b.select(b.compare(y, zero, hlo::Direction::eq), quotient, nearly);
}

/// Division towards zero.
constexpr auto trunc_divide(auto& c, hlo::Value x, hlo::Value y) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Value quotient = b.divide(x, y);
  if (!is_floating(b.dtype(quotient))) return quotient;
  return b.select(b.compare(quotient, c.full_like(quotient, 0), hlo::Direction::lt), b.ceil(quotient),
                  b.floor(quotient));
}

}  // namespace detail

struct LowerDiv {
  static constexpr std::array<std::string_view, 3> op{"aten.div", "aten.divide", "aten.true_divide"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    if (!call.has("rounding_mode")) {
      const auto [x, y] = c.operands(call, Meeting::floating, "self", "other");
      return c.to_result(call, c.builder().divide(x, y));
    }
    const auto mode = call.string("rounding_mode");
    if (mode != "floor" && mode != "trunc") return c.unsupported(call, "rounding mode is neither floor nor trunc");
    const auto [x, y] = c.operands(call, Meeting::arithmetic, "self", "other");
    return c.to_result(call, mode == "floor" ? detail::floor_divide(c, x, y) : detail::trunc_divide(c, x, y));
  }
};

struct LowerFloorDivide {
  static constexpr std::string_view op = "aten.floor_divide";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, y] = c.operands(call, Meeting::arithmetic, "self", "other");
    return c.to_result(call, detail::floor_divide(c, x, y));
  }
};

/// Python's %, whose result has the divisor's sign.
struct LowerRemainder {
  static constexpr std::array<std::string_view, 2> op{"aten.remainder", "prims.remainder"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, y] = c.operands(call, Meeting::common, "self", "other");
    auto& b = c.builder();
    const hlo::Value rest = b.remainder(x, y);
    if (!dtype_info(b.dtype(rest)).is_signed) return c.to_result(call, rest);
    return c.to_result(call, b.select(detail::signs_differ(c, rest, y), b.add(rest, y), rest));
  }
};

struct LowerPow {
  static constexpr std::string_view op = "aten.pow";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const Operand exponent = c.operand(call, "exponent");
    const auto [x, y] = c.meet(call, Meeting::arithmetic, std::array<Operand, 2>{c.operand(call, "self"), exponent});
    if (exponent.is_number())
      if (const auto product = known_power(c, x, *exponent.number)) return c.to_result(call, *product);
    return c.to_result(call, c.builder().power(x, y));
  }

 private:
  /// The exponents for which eager does not call `pow`.
  static constexpr auto known_power(auto& c, hlo::Value x, const Number& exponent) -> std::optional<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value one = c.full_like(x, 1);
    if (exponent.is(1)) return x;
    if (exponent.is(2)) return b.multiply(x, x);
    if (exponent.is(3)) return b.multiply(b.multiply(x, x), x);
    if (!is_floating(b.dtype(x))) return std::nullopt;
    if (exponent.is(0.5)) return b.sqrt(x);
    if (exponent.is(-0.5)) return b.rsqrt(x);
    if (exponent.is(-1)) return b.divide(one, x);
    if (exponent.is(-2)) return b.divide(one, b.multiply(x, x));
    return std::nullopt;
  }
};

template <hlo::Direction How, TextConstant... Names>
struct LowerCompare {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [a, b] = c.operands(call, Meeting::common, "self", "other");
    return c.builder().compare(a, b, How);
  }
};

template <TextConstant Name, hlo::Opcode Code>
struct LowerLogical {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [a, b] = c.operands(call, Meeting::common, "self", "other");
    return c.to_result(call, c.builder().binary(Code, c.truth(a), c.truth(b)));
  }
};

/// Shifts by less than nothing or by more than the type's width, which HLO leaves to the backend, shift everything out.
struct LowerShiftLeft {
  static constexpr std::array<std::string_view, 3> op{"aten.bitwise_left_shift", "aten.__lshift__", "prims.shift_left"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, amount] = c.operands(call, Meeting::common, "self", "other");
    auto& b = c.builder();
    const hlo::Value zero = c.full_like(x, 0), width = c.full_like(x, byte_size(b.dtype(x)) * 8);
    const hlo::Value in_range = b.and_(b.compare(amount, zero, hlo::Direction::ge),
                                       b.compare(amount, width, hlo::Direction::lt));
    return b.select(in_range, b.shift_left(x, b.select(in_range, amount, zero)), zero);
  }
};

struct LowerShiftRight {
  static constexpr std::array<std::string_view, 3> op{"aten.bitwise_right_shift", "aten.__rshift__",
                                                      "prims.shift_right_arithmetic"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, amount] = c.operands(call, Meeting::common, "self", "other");
    auto& b = c.builder();
    const bool is_signed = dtype_info(b.dtype(x)).is_signed;
    const hlo::Value zero = c.full_like(x, 0), last = c.full_like(x, byte_size(b.dtype(x)) * 8 - 1);
    const hlo::Value in_range = b.and_(b.compare(amount, zero, hlo::Direction::ge),
                                       b.compare(amount, last, hlo::Direction::le));
    const hlo::Value by = b.select(in_range, amount, last);
    if (is_signed) return b.shift_right_arithmetic(x, by);
    return b.select(in_range, b.shift_right_logical(x, by), zero);
  }
};

// Three operands -------------------------------------------------------------------------------------------------------

struct LowerWhere {
  static constexpr std::string_view op = "aten.where";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    if (call.schema().overload() == "default")
      return c.unsupported(call, "the size of the result depends on the data");
    return choose(c, call, c.tensor(call, "condition"), c.operands(call, Meeting::common, "self", "other"));
  }
  /// The first of two tensors where `given` is not zero, else the second.
  static constexpr auto choose(auto& c, const Call& call, hlo::Value given, const std::array<hlo::Value, 2>& choices)
      -> hlo::Value {
    const auto [x, y] = choices;
    const hlo::Value condition = c.truth(given);
    auto& b = c.builder();
    const hlo::Dims dims = c.common_dims(call, b.dims(condition), b.dims(x));
    return b.select(c.broadcast_to(call, condition, dims), c.broadcast_to(call, x, dims),
                    c.broadcast_to(call, y, dims));
  }
};

/// `value` where the mask says so; it takes the tensor's dtype.
struct LowerMaskedFill {
  static constexpr std::string_view op = "aten.masked_fill";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self"), mask = c.truth(c.tensor(call, "mask"));
    auto& b = c.builder();
    const hlo::Dims dims = c.common_dims(call, b.dims(x), b.dims(mask));
    const Operand value = c.operand(call, "value");
    const hlo::Value filling = value.is_number()
                                   ? c.full({b.dtype(x), dims}, *value.number)
                                   : c.broadcast_to(call, b.convert(value.value, b.dtype(x)), dims);
    return b.select(c.broadcast_to(call, mask, dims), filling, c.broadcast_to(call, x, dims));
  }
};

/// min(max(x, low), high), in this order; a bound that is None is none.
struct LowerClamp {
  static constexpr std::array<std::string_view, 2> op{"aten.clamp", "aten.clip"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const Operand x = c.operand(call, "self");
    // A missing bound is x itself, which changes neither dtype nor value.
    const Operand low = call.has("min") ? c.operand(call, "min") : x;
    const Operand high = call.has("max") ? c.operand(call, "max") : x;
    const auto [value, lower_bound, upper_bound] =
        c.meet(call, Meeting::common, std::array<Operand, 3>{x, low, high});
    hlo::Value result = value;
    if (call.has("min")) result = c.builder().maximum(result, lower_bound);
    if (call.has("max")) result = c.builder().minimum(result, upper_bound);
    return c.to_result(call, result);
  }
};

template <TextConstant Name, TextConstant Bound, hlo::Opcode Code>
struct LowerClampOneSide {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, bound] = c.operands(call, Meeting::common, "self", Bound.view());
    return c.to_result(call, c.builder().binary(Code, x, bound));
  }
};

/// self + value * tensor1 * tensor2, or tensor1 / tensor2.
template <TextConstant Name, hlo::Opcode Code>
struct LowerAddCombined {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, first, second] = c.operands(call, Meeting::arithmetic, "self", "tensor1", "tensor2");
    const hlo::Value scaled = detail::times_number(c, call, first, "value");
    return c.to_result(call, c.builder().add(x, c.builder().binary(Code, scaled, second)));
  }
};

/// a * b + c, as Inductor spells addcmul.
struct LowerMultiplyAdd {
  static constexpr std::string_view op = "prims.fma";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [first, second, third] = c.operands(call, Meeting::arithmetic, "a", "b", "c");
    return c.to_result(call, c.builder().add(third, c.builder().multiply(first, second)));
  }
};

struct LowerLerp {
  static constexpr std::string_view op = "aten.lerp";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [start, end, weight] = c.operands(call, Meeting::arithmetic, "self", "end", "weight");
    auto& b = c.builder();
    // From the nearer end, so that both ends come out exactly.
    const hlo::Value difference = b.subtract(end, start);
    const hlo::Value from_start = b.add(start, b.multiply(weight, difference));
    const hlo::Value from_end = b.subtract(end, b.multiply(difference, b.subtract(c.full_like(weight, 1), weight)));
    const hlo::Value part = b.abs(weight);  // a real number of a complex one
    const hlo::Value is_near = b.compare(part, c.full_like(part, 0.5), hlo::Direction::lt);
    return c.to_result(call, b.select(is_near, from_start, from_end));
  }
};

// Conversion -----------------------------------------------------------------------------------------------------------

/// The elements of the tensor given for `Parameter` in the result's dtype; devices, layouts and memory formats are no matter
/// of HLO.
template <TextConstant Parameter, TextConstant... Names>
struct LowerConversion {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.converted(c.tensor(call, Parameter.view()), c.result_shape(call).dtype);
  }
};

/// `src` in shape and dtype of `self`.
struct LowerCopy {
  static constexpr std::string_view op = "aten.copy";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self"), source = c.tensor(call, "src");
    auto& b = c.builder();
    return c.broadcast_to(call, c.converted(source, b.dtype(x)), b.dims(x));
  }
};

/// The lowerings of this file.
using ElementwiseLowerings = lowerings<
    LowerRealFunction<hlo::Opcode::exponential, "aten.exp", "prims.exp">, LowerRealFunction<hlo::Opcode::exponential_minus_one, "aten.expm1", "aten.special_expm1", "prims.expm1">,
    LowerRealFunction<hlo::Opcode::log, "aten.log", "prims.log">, LowerRealFunction<hlo::Opcode::log_plus_one, "aten.log1p", "aten.special_log1p", "prims.log1p">,
    LowerRealFunction<hlo::Opcode::sine, "aten.sin", "prims.sin">, LowerRealFunction<hlo::Opcode::cosine, "aten.cos", "prims.cos">,
    LowerRealFunction<hlo::Opcode::tan, "aten.tan", "prims.tan">, LowerRealFunction<hlo::Opcode::tanh, "aten.tanh", "prims.tanh">,
    LowerRealFunction<hlo::Opcode::sqrt, "aten.sqrt", "prims.sqrt">, LowerRealFunction<hlo::Opcode::rsqrt, "aten.rsqrt", "prims.rsqrt">,
    LowerRealFunction<hlo::Opcode::logistic, "aten.sigmoid", "aten.special_expit">, LowerRealFunction<hlo::Opcode::erf, "aten.erf", "aten.special_erf", "prims.erf">,
    LowerRounding<hlo::Opcode::floor, "aten.floor", "prims.floor">, LowerRounding<hlo::Opcode::ceil, "aten.ceil", "prims.ceil">,
    LowerRounding<hlo::Opcode::round_nearest_even, "aten.round", "aten.special_round", "prims.round">,
    LowerTrunc, LowerNeg, LowerAbs, LowerSign, LowerReciprocal, LowerSquare, LowerLogOfBase<2, "aten.log2", "prims.log2">,
    LowerLogOfBase<10, "aten.log10", "prims.log10">, LowerExp2, LowerLogicalNot, LowerBitwiseNot, LowerIsNan, LowerIsInf,
    LowerIsFinite,
    LowerAdd, LowerSub, LowerRsub,
    LowerBinary<hlo::Opcode::multiply, Meeting::arithmetic, "aten.mul", "aten.multiply", "prims.mul">,
    LowerBinary<hlo::Opcode::add, Meeting::arithmetic, "prims.add">,
    LowerBinary<hlo::Opcode::subtract, Meeting::arithmetic, "prims.sub">,
    LowerBinary<hlo::Opcode::power, Meeting::arithmetic, "prims.pow">, LowerDiv, LowerFloorDivide, LowerRemainder,
    LowerBinary<hlo::Opcode::remainder, Meeting::common, "aten.fmod", "prims.fmod">, LowerPow,
    LowerBinary<hlo::Opcode::maximum, Meeting::common, "aten.maximum", "aten.max.other", "prims.maximum">,
    LowerBinary<hlo::Opcode::minimum, Meeting::common, "aten.minimum", "aten.min.other", "prims.minimum">,
    LowerBinary<hlo::Opcode::atan2, Meeting::floating, "aten.atan2", "prims.atan2">,
    LowerCompare<hlo::Direction::eq, "aten.eq", "prims.eq">, LowerCompare<hlo::Direction::ne, "aten.ne", "prims.ne">,
    LowerCompare<hlo::Direction::lt, "aten.lt", "prims.lt">, LowerCompare<hlo::Direction::le, "aten.le", "prims.le">,
    LowerCompare<hlo::Direction::gt, "aten.gt", "prims.gt">, LowerCompare<hlo::Direction::ge, "aten.ge", "prims.ge">,
    LowerLogical<"aten.logical_and", hlo::Opcode::and_>, LowerLogical<"aten.logical_or", hlo::Opcode::or_>,
    LowerLogical<"aten.logical_xor", hlo::Opcode::xor_>,
    LowerBinary<hlo::Opcode::and_, Meeting::common, "aten.bitwise_and", "aten.__and__", "prims.bitwise_and">,
    LowerBinary<hlo::Opcode::or_, Meeting::common, "aten.bitwise_or", "aten.__or__", "prims.bitwise_or">,
    LowerBinary<hlo::Opcode::xor_, Meeting::common, "aten.bitwise_xor", "aten.__xor__", "prims.bitwise_xor">,
    LowerShiftLeft, LowerShiftRight, LowerWhere, LowerMaskedFill, LowerClamp,
    LowerClampOneSide<"aten.clamp_min", "min", hlo::Opcode::maximum>,
    LowerClampOneSide<"aten.clamp_max", "max", hlo::Opcode::minimum>,
    LowerAddCombined<"aten.addcmul", hlo::Opcode::multiply>, LowerAddCombined<"aten.addcdiv", hlo::Opcode::divide>,
    LowerMultiplyAdd, LowerLerp,
    LowerConversion<"self", "aten.to", "aten.cpu", "aten._to_copy", "aten.type_as", "aten.to_dense", "aten.dequantize.self",
                    "aten._autocast_to_full_precision", "aten._autocast_to_reduced_precision">,
    LowerCopy>;

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

/// @file
/// Functions of one or two elements that HLO does not have, by formulas that hold where the obvious ones
/// overflow or cancel. Real functions are computed as eager computes them: halves and integers in float32.

namespace fxpass {

namespace detail {

inline constexpr double ln_2 = 0.69314718055994530942;
inline constexpr double pi = 3.14159265358979323846;

/// (1 - x)(1 + x): x * x would lose what is left near 1.
constexpr auto one_minus_square(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Value one = c.full_like(x, 1.0);
  return b.multiply(b.subtract(one, x), b.add(one, x));
}

// Formulas: of a value of a real type, in that type. --------------------------------------------------------
struct Asin {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value root = b.sqrt(one_minus_square(c, x));
    return b.multiply(c.full_like(x, 2.0), b.atan2(x, b.add(c.full_like(x, 1.0), root)));
  }
};
struct Acos {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value one = c.full_like(x, 1.0);
    const hlo::Value half = b.atan2(b.sqrt(one_minus_square(c, x)), b.add(one, x));
    // At -1 both are 0, and the angle is not.
    const hlo::Value is_end = b.compare(x, c.full_like(x, -1.0), hlo::Direction::eq);
    return b.select(is_end, c.full_like(x, pi), b.multiply(c.full_like(x, 2.0), half));
  }
};
struct Atan {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    return c.builder().atan2(x, c.full_like(x, 1.0));
  }
};
struct Sinh {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value one = c.full_like(x, 1.0), ln2 = c.full_like(x, ln_2);
    const hlo::Value large =
        b.subtract(b.exponential(b.subtract(x, ln2)), b.exponential(b.negate(b.add(x, ln2))));
    const hlo::Value e = b.exponential_minus_one(x);
    const hlo::Value small = b.multiply(c.full_like(x, 0.5), b.add(e, b.divide(e, b.add(e, one))));
    return b.select(b.compare(b.abs(x), one, hlo::Direction::lt), small, large);
  }
};
struct Cosh {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value ln2 = c.full_like(x, ln_2);
    return b.add(b.exponential(b.subtract(x, ln2)), b.exponential(b.negate(b.add(x, ln2))));
  }
};
struct Asinh {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value one = c.full_like(x, 1.0), a = b.abs(x);
    const hlo::Value square = b.multiply(a, a);
    const hlo::Value root = b.sqrt(b.add(square, one));
    const hlo::Value small = b.log_plus_one(b.add(a, b.divide(square, b.add(one, root))));
    const hlo::Value large = b.add(b.log(a), c.full_like(x, ln_2));
    const hlo::Value is_large = b.compare(a, c.full_like(x, 1e8), hlo::Direction::gt);
    const hlo::Value result = b.select(is_large, large, small);
    return b.select(b.compare(x, c.full_like(x, 0.0), hlo::Direction::lt), b.negate(result), result);
  }
};
struct Acosh {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value t = b.subtract(x, c.full_like(x, 1.0));
    const hlo::Value root = b.sqrt(b.multiply(t, b.add(t, c.full_like(x, 2.0))));
    const hlo::Value large = b.add(b.log(x), c.full_like(x, ln_2));
    const hlo::Value is_large = b.compare(x, c.full_like(x, 1e8), hlo::Direction::gt);
    const hlo::Value result = b.select(is_large, large, b.log_plus_one(b.add(t, root)));
    // Far below 1 rounding would make 0 of what is no number.
    const hlo::Value is_outside = b.compare(t, c.full_like(x, 0.0), hlo::Direction::lt);
    return b.select(is_outside, c.full_like(x, std::numeric_limits<double>::quiet_NaN()), result);
  }
};
struct Atanh {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value difference = b.subtract(b.log_plus_one(x), b.log_plus_one(b.negate(x)));
    return b.multiply(c.full_like(x, 0.5), difference);
  }
};
struct DegreesToRadians {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    return c.builder().multiply(x, c.full_like(x, pi / 180));
  }
};
struct RadiansToDegrees {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    return c.builder().multiply(x, c.full_like(x, 180 / pi));
  }
};
struct Softsign {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    return b.divide(x, b.add(b.abs(x), c.full_like(x, 1.0)));
  }
};
struct Tanhshrink {
  static constexpr auto of(auto& c, hlo::Value x) -> hlo::Value {
    auto& b = c.builder();
    return b.subtract(x, b.tanh(x));
  }
};

constexpr auto is_nan(auto& c, hlo::Value x) -> hlo::Value {
  return c.builder().compare(x, x, hlo::Direction::ne);
}
/// Whether the sign bit is set, which minus zero and some NaN have too. Needs a valid value.
constexpr auto has_sign_bit(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  const DType type = b.dtype(x);
  if (is_floating(type)) {
    constexpr std::array<DType, 4> integers{DType::i8, DType::i16, DType::i32, DType::i64};
    std::size_t i = 0;
    while (byte_size(integers[i]) < byte_size(type)) ++i;
    x = b.bitcast_convert(x, integers[i]);
  } else if (!dtype_info(type).is_signed) {
    return c.full({DType::boolean, b.dims(x)}, 0);
  }
  return b.compare(x, c.full_like(x, 0), hlo::Direction::lt);
}

}  // namespace detail

/// A real function by its formula.
template <class Formula, TextConstant... Names>
struct LowerFormula {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    return x.valid() ? c.to_result(call, Formula::of(c, x)) : x;
  }
};

/// A function that Python has and ATen has not.
template <class Formula, TextConstant Name>
struct LowerPythonFormula {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto input = c.python_argument(call, 0, "input");
    const hlo::Value x =
        input ? c.accurate(c.tensor(call, *input, "input")) : c.unsupported(call, "without input");
    return x.valid() ? c.to_result(call, Formula::of(c, x)) : x;
  }
};

struct LowerSignBit {
  static constexpr std::string_view op = "aten.signbit";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "self");
    return x.valid() ? detail::has_sign_bit(c, x) : x;
  }
};

struct LowerFrac {
  static constexpr std::string_view op = "aten.frac";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const hlo::Value is_negative = b.compare(x, c.full_like(x, 0), hlo::Direction::lt);
    return b.subtract(x, b.select(is_negative, b.ceil(x), b.floor(x)));
  }
};

/// Infinity of one sign.
template <TextConstant Name, hlo::Direction Side>
struct LowerIsInfinityOfSign {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return x;
    if (!is_floating(b.dtype(x))) return c.full({DType::boolean, b.dims(x)}, 0);
    const hlo::Value is_infinite =
        b.compare(b.abs(x), b.broadcast(b.highest(b.dtype(x)), b.dims(x)), hlo::Direction::eq);
    return b.and_(is_infinite, b.compare(x, c.full_like(x, 0), Side));
  }
};

/// NaN and infinities as numbers: 0 and the largest finite ones unless the call says otherwise.
struct LowerNanToNum {
  static constexpr std::string_view op = "aten.nan_to_num";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid() || !is_floating(b.dtype(x))) return x;
    const DType type = b.dtype(x);
    const double largest = type == DType::f64    ? 1.7976931348623157e308
                           : type == DType::f16  ? 65504.0
                           : type == DType::bf16 ? 3.3895313892515355e38
                                                 : 3.4028234663852886e38;
    const auto number = [&](std::string_view name, double otherwise) {
      return c.full_like(x, call.has(name) ? c.real(call, name) : otherwise);
    };
    const hlo::Value infinity = b.broadcast(b.highest(type), b.dims(x));
    const auto is = [&](hlo::Value what) { return b.compare(x, what, hlo::Direction::eq); };
    hlo::Value result = b.select(is(infinity), number("posinf", largest), x);
    result = b.select(is(b.negate(infinity)), number("neginf", -largest), result);
    return b.select(detail::is_nan(c, x), number("nan", 0.0), result);
  }
};

/// fmax and fmin: the operand that is a number, where one is NaN.
template <TextConstant Name, hlo::Opcode Code>
struct LowerNumberExtreme {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::common, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    hlo::Value result = b.binary(Code, x, y);
    if (is_floating(b.dtype(x)))
      result = b.select(detail::is_nan(c, x), y, b.select(detail::is_nan(c, y), x, result));
    return c.to_result(call, result);
  }
};

struct LowerCopysign {
  static constexpr std::string_view op = "aten.copysign";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, sign] = c.operands(call, Meeting::floating, "self", "other");
    if (!x.valid() || !sign.valid()) return {};
    const hlo::Value size = b.abs(x);
    return c.to_result(call, b.select(detail::has_sign_bit(c, sign), b.negate(size), size));
  }
};

/// The root of the sum of squares, scaled by the larger one so that neither square overflows.
struct LowerHypot {
  static constexpr std::string_view op = "aten.hypot";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::floating, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    const hlo::Value a = b.abs(x), d = b.abs(y), large = b.maximum(a, d), small = b.minimum(a, d);
    const hlo::Value ratio = b.divide(small, large);
    const hlo::Value root = b.sqrt(b.add(c.full_like(x, 1.0), b.multiply(ratio, ratio)));
    // 0 / 0 and inf / inf are NaN; the larger one is the answer then.
    const hlo::Value infinity = b.broadcast(b.highest(b.dtype(x)), b.dims(x));
    const hlo::Value is_plain =
        b.or_(b.compare(large, c.full_like(x, 0.0), hlo::Direction::eq),
              b.or_(b.compare(a, infinity, hlo::Direction::eq), b.compare(d, infinity, hlo::Direction::eq)));
    const hlo::Value is_infinite =
        b.or_(b.compare(a, infinity, hlo::Direction::eq), b.compare(d, infinity, hlo::Direction::eq));
    return c.to_result(call,
                       b.select(is_plain, b.select(is_infinite, infinity, large), b.multiply(large, root)));
  }
};

/// log(e^x + e^y), and the same for powers of two.
template <TextConstant Name, bool IsBase2>
struct LowerLogAddExp {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::floating, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    const hlo::Value large = b.maximum(x, y);
    hlo::Value difference = b.negate(b.abs(b.subtract(x, y)));
    if (IsBase2) difference = b.multiply(difference, c.full_like(x, detail::ln_2));
    hlo::Value rest = b.log_plus_one(b.exponential(difference));
    if (IsBase2) rest = b.divide(rest, c.full_like(x, detail::ln_2));
    // Equal infinities have no difference.
    const hlo::Value is_same = b.compare(x, y, hlo::Direction::eq);
    const hlo::Value ends = b.not_(b.is_finite(x));
    return c.to_result(call, b.select(b.and_(is_same, ends), x, b.add(large, rest)));
  }
};

/// x * log(y), and 0 where x is 0 whatever y is, unless it is NaN.
struct LowerXlogy {
  static constexpr std::string_view op = "aten.xlogy";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::floating, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    const hlo::Value is_zero = b.compare(x, c.full_like(x, 0.0), hlo::Direction::eq);
    const hlo::Value product = b.select(is_zero, c.full_like(x, 0.0), b.multiply(x, b.log(y)));
    return c.to_result(call, b.select(detail::is_nan(c, y), y, product));
  }
};

struct LowerHeaviside {
  static constexpr std::string_view op = "aten.heaviside";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, at_zero] = c.operands(call, Meeting::common, "self", "values");
    if (!x.valid() || !at_zero.valid()) return {};
    const hlo::Value zero = c.full_like(x, 0);
    const hlo::Value is_zero = b.compare(x, zero, hlo::Direction::eq);
    const hlo::Value step = b.select(b.compare(x, zero, hlo::Direction::lt), zero, c.full_like(x, 1));
    const hlo::Value result = b.select(is_zero, at_zero, step);
    return c.to_result(call, is_floating(b.dtype(x)) ? b.select(detail::is_nan(c, x), zero, result) : result);
  }
};

/// `value` where an element is not above the threshold.
struct LowerThreshold {
  static constexpr std::string_view op = "aten.threshold";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const hlo::Value is_low = b.compare(x, c.full_like(x, c.number(call, "threshold")), hlo::Direction::le);
    return b.select(is_low, c.full_like(x, c.number(call, "value")), x);
  }
};

/// Elements within `lambd` of 0 become 0; the others stay, or come nearer by `lambd`.
template <TextConstant Name, bool IsSoft>
struct LowerShrink {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    if (!x.valid()) return x;
    const hlo::Value lambda = c.full_like(x, c.number(call, "lambd"));
    const hlo::Value is_high = b.compare(x, lambda, hlo::Direction::gt);
    const hlo::Value is_low = b.compare(x, b.negate(lambda), hlo::Direction::lt);
    const hlo::Value high = IsSoft ? b.subtract(x, lambda) : x, low = IsSoft ? b.add(x, lambda) : x;
    const hlo::Value inside = b.select(detail::is_nan(c, x), x, c.full_like(x, 0));
    return b.select(is_high, high, b.select(is_low, low, inside));
  }
};

/// The lowerings of this file.
using SpecialFunctionLowerings =
    lowerings<LowerFormula<detail::Asin, "aten.asin", "aten.arcsin">,
              LowerFormula<detail::Acos, "aten.acos", "aten.arccos">,
              LowerFormula<detail::Atan, "aten.atan", "aten.arctan">, LowerFormula<detail::Sinh, "aten.sinh">,
              LowerFormula<detail::Cosh, "aten.cosh">,
              LowerFormula<detail::Asinh, "aten.asinh", "aten.arcsinh">,
              LowerFormula<detail::Acosh, "aten.acosh", "aten.arccosh">,
              LowerFormula<detail::Atanh, "aten.atanh", "aten.arctanh">,
              LowerFormula<detail::DegreesToRadians, "aten.deg2rad">,
              LowerFormula<detail::RadiansToDegrees, "aten.rad2deg">,
              LowerPythonFormula<detail::Softsign, "torch.nn.functional.softsign">,
              LowerPythonFormula<detail::Tanhshrink, "torch.nn.functional.tanhshrink">, LowerSignBit,
              LowerFrac, LowerIsInfinityOfSign<"aten.isposinf", hlo::Direction::gt>,
              LowerIsInfinityOfSign<"aten.isneginf", hlo::Direction::lt>, LowerNanToNum,
              LowerNumberExtreme<"aten.fmax", hlo::Opcode::maximum>,
              LowerNumberExtreme<"aten.fmin", hlo::Opcode::minimum>, LowerCopysign, LowerHypot,
              LowerLogAddExp<"aten.logaddexp", false>, LowerLogAddExp<"aten.logaddexp2", true>, LowerXlogy,
              LowerHeaviside, LowerThreshold, LowerShrink<"aten.softshrink", true>,
              LowerShrink<"aten.hardshrink", false>>;

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>
#include <fxpass/support/float_format.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

/// @file
/// Operators that make tensors out of numbers. Shape and dtype are those of the result's metadata.

namespace fxpass {

/// A number that the operator's name says.
template <int Value, TextConstant... Names>
struct LowerConstant {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.full(c.result_shape(call), Value);
  }
};

/// A number that the call gives.
template <TextConstant Parameter, TextConstant... Names>
struct LowerFilled {
  static constexpr std::array<std::string_view, sizeof...(Names)> op{Names.view()...};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const Operand value = c.operand(call, Parameter.view());
    const hlo::Shape result = c.result_shape(call);
    if (value.is_number()) return c.full(result, *value.number);
    return c.broadcast_to(call, c.builder().convert(value.value, result.dtype), result.dims);
  }
};

/// start + step * i
struct LowerArange {
  static constexpr std::array<std::string_view, 2> op{"aten.arange", "prims.iota"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    const Number start = call.schema().find("start") ? c.number(call, "start") : Number(0);
    const Number step = call.schema().find("step") ? c.number(call, "step") : Number(1);
    const bool is_whole = start.category < DTypeCategory::floating && step.category < DTypeCategory::floating;
    if (!is_whole && is_floating(result.dtype)) return table(c, result, start.real, step.real);
    // Counted in 64 bits: PyTorch's numbers are, whatever type takes them at the end.
    const DType type = is_floating(result.dtype) ? DType::i64 : result.dtype;
    hlo::Value numbers = b.iota(result.with(type), 0);
    if (!step.is(1)) numbers = b.multiply(numbers, c.full_like(numbers, step));
    if (!start.is(0)) numbers = b.add(numbers, c.full_like(numbers, start));
    return b.convert(numbers, result.dtype);
  }

 private:
  /// Eager computes each element in double precision, which not every target has: so it is done here.
  static constexpr auto table(auto& c, const hlo::Shape& result, double start, double step) -> hlo::Value {
    Pool<double> values;
    for (std::int64_t i = 0; i < result.element_count(); ++i) values.push_back(start + step * static_cast<double>(i));
    return c.builder().constant(result.dtype, result.dims, values.view());
  }
};

struct LowerEye {
  static constexpr std::string_view op = "aten.eye";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call), index = result.with(DType::i64);
    return b.convert(b.compare(b.iota(index, 0), b.iota(index, 1), hlo::Direction::eq), result.dtype);
  }
};

namespace detail {

/// e^x and log x in constant expressions, where std::exp and std::log are none: by series, of what is left when powers of 2
/// are taken out.
[[nodiscard]] constexpr auto natural_exponential(double x) -> double {
  constexpr double log_2 = 0.69314718055994530942;
  if (x < -750) return 0;
  if (x > 710) return std::numeric_limits<double>::infinity();
  const auto halvings = static_cast<int>(x / log_2);
  const double rest = x - halvings * log_2;
  double sum = 1, term = 1;
  for (int n = 1; n < 30; ++n) sum += term *= rest / n;
  for (int n = 0; n < halvings; ++n) sum *= 2;
  for (int n = 0; n > halvings; --n) sum /= 2;
  return sum;
}
[[nodiscard]] constexpr auto natural_logarithm(double x) -> double {
  constexpr double log_2 = 0.69314718055994530942;
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  int doublings = 0;
  for (; x > 1.5 && doublings < 1100; ++doublings) x /= 2;
  for (; x < 0.75; --doublings) x *= 2;
  const double ratio = (x - 1) / (x + 1);
  double sum = 0, power = ratio;
  for (int n = 1; n < 60; n += 2) {
    sum += power / n;
    power *= ratio * ratio;
  }
  return 2 * sum + doublings * log_2;
}

}  // namespace detail

/// Numbers at equal distances, or powers of a base with such exponents. The second half is counted from the end, as eager
/// does, so that both ends come out exactly.
template <TextConstant Name, bool IsPower>
struct LowerSpaced {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    const std::int64_t steps = c.integer(call, "steps");
    const Operand start = c.operand(call, "start"), end = c.operand(call, "end");
    double base = 10.0;
    if constexpr (IsPower) base = c.real(call, "base");
    if (start.is_number() && end.is_number()) {
      if (is_complex(result.dtype)) return c.unsupported(call, "of complex numbers");
      return table(c, result, steps, start.number->real, end.number->real, base);
    }
    // Ends that are tensors count in the type that eager computes in.
    const DType type = is_floating(result.dtype) ? ops::accumulate_type(result.dtype) : DType::f64;
    const auto line = [&](const Operand& o) {
      const hlo::Value scalar = o.is_number() ? c.scalar(type, *o.number) : b.reshape(b.convert(o.value, type), {});
      return b.broadcast(scalar, result.dims);
    };
    const hlo::Value first = line(start), last = line(end);
    if (steps == 1) return powers(c, first, base, result.dtype);
    const hlo::Value step = b.divide(b.subtract(last, first), c.full_like(first, static_cast<double>(steps - 1)));
    const hlo::Value number = b.convert(b.iota({DType::i64, result.dims}, 0), type);
    const hlo::Value from_end = b.subtract(c.full_like(number, static_cast<double>(steps - 1)), number);
    const std::int64_t half = steps / 2;
    const hlo::Value is_early = b.compare(number, c.full_like(number, static_cast<double>(half)), hlo::Direction::lt);
    const hlo::Value values = b.select(is_early, b.add(first, b.multiply(step, number)),
                                       b.subtract(last, b.multiply(step, from_end)));
    return powers(c, values, base, result.dtype);
  }

 private:
  static constexpr auto powers(auto& c, hlo::Value exponents, double base, DType type) -> hlo::Value {
    auto& b = c.builder();
    return b.convert(IsPower ? b.power(c.full_like(exponents, base), exponents) : exponents, type);
  }
  static constexpr auto table(auto& c, const hlo::Shape& result, std::int64_t steps, double start, double end, double base)
      -> hlo::Value {
    if (is_integral(result.dtype)) {
      start = static_cast<double>(static_cast<std::int64_t>(start));
      end = static_cast<double>(static_cast<std::int64_t>(end));
    }
    // The ends are halves if the result is: what lies between them is rounded once.
    const auto rounded = [&](double x) {
      if (!is_floating(result.dtype) || byte_size(result.dtype) > 2) return x;
      return float_from_bits(float_bits(x, result.dtype), float_format(result.dtype));
    };
    start = rounded(start);
    end = rounded(end);
    const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0.0;
    const double log_base = IsPower ? detail::natural_logarithm(base) : 0.0;
    Pool<double> values;
    for (std::int64_t i = 0; i < steps; ++i) {
      const bool is_early = i < steps / 2 || steps == 1;
      const double way = step * static_cast<double>(is_early ? i : steps - 1 - i);
      const double value = is_early ? start + way : end - way;
      values.push_back(IsPower ? power_of(base, log_base, value) : value);
    }
    return c.builder().constant(result.dtype, result.dims, values.view());
  }
  /// Whole powers of whole bases are whole.
  static constexpr auto power_of(double base, double log_base, double exponent) -> double {
    const auto whole = static_cast<std::int64_t>(exponent);
    if (static_cast<double>(whole) != exponent || whole < 0 || whole >= 64)
      return detail::natural_exponential(exponent * log_base);
    double power = 1;
    for (std::int64_t n = 0; n < whole; ++n) power *= base;
    return power;
  }
};

/// Rows and columns of the elements of a triangle, as two rows of a table.
template <TextConstant Name, bool IsUpper>
struct LowerTriangleIndices {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const std::int64_t rows = c.integer(call, "row"), columns = c.integer(call, "col"), offset = c.integer(call, "offset");
    const hlo::Shape result = c.result_shape(call);
    Pool<std::int64_t> numbers, second;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        if (IsUpper ? column - row < offset : column - row > offset) continue;
        numbers.push_back(row);
        second.push_back(column);
      }
    numbers.append(second.view());
    return c.builder().constant(result.dtype, result.dims, numbers.view());
  }
};

/// `torch.tensor([...])` as Dynamo leaves it: numbers in nested lists.
struct LowerTensorLiteral {
  static constexpr std::string_view op = "torch.tensor";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto arguments = c.graph().arguments(call.id());
    const hlo::Shape result = c.result_shape(call);
    Pool<std::int64_t> integers;
    Pool<double> reals;
    bool are_numbers = !arguments.empty();
    if (are_numbers) collect(c, arguments[0], integers, reals, are_numbers);
    if (!are_numbers || reals.size() != result.element_count())
      return c.unsupported(call, "what it holds is not all known numbers");
    if (integers.size() == reals.size()) return c.builder().constant(result.dtype, result.dims, integers.view());
    return c.builder().constant(result.dtype, result.dims, reals.view());
  }

 private:
  /// Integers are kept apart, since a double does not hold all of them.
  static constexpr void collect(auto& c, const Argument& a, Pool<std::int64_t>& integers, Pool<double>& reals,
                                bool& are_numbers) {
    if (a.is_sequence()) {
      for (const Argument& member : c.graph().children(a)) collect(c, member, integers, reals, are_numbers);
    } else if (const auto n = c.number_of(a); n && n->category != DTypeCategory::complex) {
      if (n->category != DTypeCategory::floating) integers.push_back(n->integer);
      reals.push_back(n->real);
    } else {
      are_numbers = false;
    }
  }
};

/// The lowerings of this file.
using CreationLowerings =
    lowerings<LowerConstant<0, "aten.zeros", "aten.zeros_like", "aten.new_zeros", "aten.empty", "aten.empty_like",
                            "aten.new_empty", "aten.empty_strided", "aten.new_empty_strided", "aten.empty_permuted",
                            "aten.zero", "prims.empty", "prims.empty_strided", "prims.empty_permuted">,
              LowerConstant<1, "aten.ones", "aten.ones_like", "aten.new_ones">,
              LowerFilled<"fill_value", "aten.full", "aten.full_like", "aten.new_full", "prims.full", "prims.full_like">,
              LowerFilled<"value", "aten.fill", "prims.fill">, LowerFilled<"s", "aten.scalar_tensor", "prims.scalar_tensor">,
              LowerArange, LowerEye,
              LowerSpaced<"aten.linspace", false>, LowerSpaced<"aten.logspace", true>,
              LowerTriangleIndices<"aten.tril_indices", false>, LowerTriangleIndices<"aten.triu_indices", true>,
              LowerTensorLiteral>;

}  // namespace fxpass

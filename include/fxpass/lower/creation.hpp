// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>

#include <array>
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
  static constexpr std::string_view op = "aten.arange";
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
                            "aten.zero">,
              LowerConstant<1, "aten.ones", "aten.ones_like", "aten.new_ones">,
              LowerFilled<"fill_value", "aten.full", "aten.full_like", "aten.new_full">,
              LowerFilled<"value", "aten.fill">, LowerFilled<"s", "aten.scalar_tensor">, LowerArange, LowerEye, LowerTensorLiteral>;

}  // namespace fxpass

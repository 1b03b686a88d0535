// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/dtype.hpp>

#include <optional>

/// @file
/// PyTorch's type promotion over the operands of one call. Source: the documentation of `torch.result_type` and the
/// "Type promotion" section of the tensor attributes page.

namespace fxpass::ops {

/// Collects the operands of a call and says which dtype they meet in.
///
/// Operands have three ranks: tensors with dimensions, tensors without, Python numbers. A lower rank changes the dtype
/// only if its category (bool < integral < floating < complex) is higher than that of all higher ranks together.
class ResultType {
 public:
  /// A tensor operand, with dimensions or without.
  constexpr void add_tensor(DType dtype, bool has_dimensions) { add(has_dimensions ? dimensioned_ : zero_dim_, dtype); }
  /// A Python number of the given category; numbers count as int64, float32 and complex64.
  constexpr void add_number(DTypeCategory category) {
    constexpr DType defaults[] = {DType::boolean, DType::i64, DType::f32, DType::c64};
    add(number_, defaults[static_cast<std::size_t>(category)]);
  }
  /// The common dtype; none where PyTorch refuses the mix, or nothing was added.
  [[nodiscard]] constexpr auto get() const -> std::optional<DType> {
    if (!valid_) return std::nullopt;
    const std::optional<DType> lower = combine(zero_dim_, number_);
    if (!lower && (zero_dim_ || number_)) return std::nullopt;
    return combine(dimensioned_, lower);
  }

 private:
  constexpr void add(std::optional<DType>& rank, DType dtype) {
    if (!rank) {
      rank = dtype;
      return;
    }
    rank = promote_types(*rank, dtype);
    valid_ = valid_ && rank.has_value();
  }
  [[nodiscard]] static constexpr auto combine(std::optional<DType> higher, std::optional<DType> lower)
      -> std::optional<DType> {
    if (!higher) return lower;
    if (!lower) return higher;
    if (category(*lower) <= category(*higher)) return higher;
    // A complex number makes a real tensor complex without widening it; there are no complex 8-bit floats.
    if (fxpass::detail::is_float8(*higher)) return std::nullopt;
    if (is_floating(*higher)) return fxpass::detail::complex_of(*higher);
    if (is_integral(*higher) && is_complex(*lower)) return lower;
    return promote_types(*higher, *lower);
  }

  std::optional<DType> dimensioned_;
  std::optional<DType> zero_dim_;
  std::optional<DType> number_;
  bool valid_ = true;
};

/// The dtype in which a function of real numbers, such as `exp` or a quotient, takes a tensor of type `dtype`: integers
/// and bools become float32, PyTorch's default.
[[nodiscard]] constexpr auto floating_type(DType dtype) -> DType {
  return category(dtype) < DTypeCategory::floating ? DType::f32 : dtype;
}

/// The dtype in which eager computes with values of type `dtype`: float32 for the 8- and 16-bit floats, which hold
/// results only. PyTorch calls it opmath.
[[nodiscard]] constexpr auto accumulate_type(DType dtype) -> DType {
  if (dtype == DType::c32) return DType::c64;
  return is_floating(dtype) && byte_size(dtype) < 4 ? DType::f32 : dtype;
}

}  // namespace fxpass::ops

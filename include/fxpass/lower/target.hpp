// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/dtype.hpp>

#include <concepts>
#include <string_view>

/// @file
/// What lowering asks of a target: its name, and which element types it takes.

namespace fxpass {

/// A target of lowering.
///
/// `name` is what messages call it. `reason_to_refuse(dtype)` is why the target does not take values of a type, as the
/// end of a sentence ("has no 64-bit floating point"), and empty for the types that it takes.
template <class T>
concept LoweringTarget = requires(const T& target, DType dtype) {
  { target.name } -> std::convertible_to<std::string_view>;
  { target.reason_to_refuse(dtype) } -> std::same_as<std::string_view>;
};

/// Any XLA backend.
struct XlaTarget {
  static constexpr std::string_view name = "xla";

  [[nodiscard]] static constexpr auto reason_to_refuse(DType dtype) -> std::string_view {
    return dtype_info(dtype).xla_name.empty() ? std::string_view("has no such type") : std::string_view();
  }
};
/// As a value: `lower(xla)`.
inline constexpr XlaTarget xla;

}  // namespace fxpass

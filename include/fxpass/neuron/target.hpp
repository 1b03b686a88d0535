// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/target.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// AWS Neuron as a target of lowering. Source of the rules: the error pages of neuronx-cc (EVRF...), of which each
/// reason names the one that the compiler would give.

/// AWS Neuron as a target of lowering.
namespace fxpass::neuron {

/// A generation of Neuron devices, by the names that neuronx-cc takes for `--target`.
enum class Generation : std::uint8_t { trn1, trn2, trn3 };

/// A Neuron device, as a target of `lower`.
struct Target {
  std::string_view name;  ///< as messages call it
  Generation generation;  ///< which decides what it takes

  [[nodiscard]] constexpr auto reason_to_refuse(DType dtype) const -> std::string_view {
    switch (dtype) {
      case DType::f64:
      case DType::c128: return "has no 64-bit floating point";
      case DType::u64: return "has no unsigned 64-bit integers that keep their value";
      case DType::c32: return "has no such type";
      case DType::f8e4m3fnuz:
      case DType::f8e5m2fnuz: return "has no 8-bit floats with unsigned zero (EVRF005)";
      case DType::f8e4m3fn:
        return generation < Generation::trn3 ? "takes float8_e4m3fn from trn3 on (EVRF051)" : std::string_view();
      default: return {};
    }
  }
};

/// Trainium 1.
inline constexpr Target trn1{"trn1", Generation::trn1};
/// Inferentia 2 has the same cores as trn1.
inline constexpr Target inf2{"inf2", Generation::trn1};
/// Trainium 2, and 3.
inline constexpr Target trn2{"trn2", Generation::trn2};
inline constexpr Target trn3{"trn3", Generation::trn3};
static_assert(LoweringTarget<Target>);

}  // namespace fxpass::neuron

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/config.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// Element types: PyTorch's names, the numbers of the export schema, XLA's names; promotion and legal casts.
/// Sources: `torch/_export/serde/schema.py` (ScalarType), `c10/core/ScalarType.h` (promotion, canCast),
/// `xla/xla_data.proto` (PrimitiveType).

namespace fxpass {

/// Element types that PyTorch has. `u` and `i` are integers without and with a sign; `c64` is a complex number of 64
/// bits in all.
enum class DType : std::uint8_t {
  boolean, u8, u16, u32, u64, i8, i16, i32, i64,
  f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0fnu,
  f16, bf16, f32, f64,
  c32, c64, c128,
};

/// Categories in the order in which they promote.
enum class DTypeCategory : std::uint8_t { boolean, integral, floating, complex };

/// What is known of an element type.
struct DTypeInfo {
  DType dtype;                  ///< the type described
  std::string_view torch_name;  ///< without "torch."
  std::string_view short_name;  ///< as in "f32[4, 3]" of PyTorch's printed graphs
  std::string_view xla_name;    ///< as in HLO text; empty: XLA has no such type
  std::uint8_t schema_number;   ///< ScalarType of the export schema
  std::uint8_t bytes;           ///< of one element
  DTypeCategory category;       ///< what it promotes with
  bool is_signed;               ///< whether it has negative values
};

/// All types, in the order of `DType`.
inline constexpr std::array<DTypeInfo, 21> dtype_table{{
    {DType::boolean, "bool", "b8", "pred", 12, 1, DTypeCategory::boolean, false},
    {DType::u8, "uint8", "u8", "u8", 1, 1, DTypeCategory::integral, false},
    {DType::u16, "uint16", "u16", "u16", 28, 2, DTypeCategory::integral, false},
    {DType::u32, "uint32", "u32", "u32", 34, 4, DTypeCategory::integral, false},
    {DType::u64, "uint64", "u64", "u64", 35, 8, DTypeCategory::integral, false},
    {DType::i8, "int8", "i8", "s8", 2, 1, DTypeCategory::integral, true},
    {DType::i16, "int16", "i16", "s16", 3, 2, DTypeCategory::integral, true},
    {DType::i32, "int32", "i32", "s32", 4, 4, DTypeCategory::integral, true},
    {DType::i64, "int64", "i64", "s64", 5, 8, DTypeCategory::integral, true},
    {DType::f8e4m3fn, "float8_e4m3fn", "f8e4m3fn", "f8e4m3fn", 29, 1, DTypeCategory::floating, true},
    {DType::f8e5m2, "float8_e5m2", "f8e5m2", "f8e5m2", 30, 1, DTypeCategory::floating, true},
    {DType::f8e4m3fnuz, "float8_e4m3fnuz", "f8e4m3fnuz", "f8e4m3fnuz", 31, 1, DTypeCategory::floating, true},
    {DType::f8e5m2fnuz, "float8_e5m2fnuz", "f8e5m2fnuz", "f8e5m2fnuz", 32, 1, DTypeCategory::floating, true},
    {DType::f8e8m0fnu, "float8_e8m0fnu", "f8e8m0fnu", "f8e8m0fnu", 33, 1, DTypeCategory::floating, false},
    {DType::f16, "float16", "f16", "f16", 6, 2, DTypeCategory::floating, true},
    {DType::bf16, "bfloat16", "bf16", "bf16", 13, 2, DTypeCategory::floating, true},
    {DType::f32, "float32", "f32", "f32", 7, 4, DTypeCategory::floating, true},
    {DType::f64, "float64", "f64", "f64", 8, 8, DTypeCategory::floating, true},
    {DType::c32, "complex32", "c32", "", 9, 4, DTypeCategory::complex, true},
    {DType::c64, "complex64", "c64", "c64", 10, 8, DTypeCategory::complex, true},
    {DType::c128, "complex128", "c128", "c128", 11, 16, DTypeCategory::complex, true},
}};

/// The row of a type. O(1).
[[nodiscard]] constexpr auto dtype_info(DType dtype) -> const DTypeInfo& {
  return dtype_table[static_cast<std::size_t>(dtype)];
}

/// Bytes of one element.
[[nodiscard]] constexpr auto byte_size(DType dtype) -> std::int64_t { return dtype_info(dtype).bytes; }
/// The signed integer that has the bits of `dtype`. Needs a type of at most 8 bytes.
[[nodiscard]] constexpr auto integer_of_same_size(DType dtype) -> DType {
  switch (byte_size(dtype)) {
    case 1: return DType::i8;
    case 2: return DType::i16;
    case 4: return DType::i32;
    default: return DType::i64;
  }
}

/// What it promotes with, and tests for it. O(1).
[[nodiscard]] constexpr auto category(DType dtype) -> DTypeCategory { return dtype_info(dtype).category; }
[[nodiscard]] constexpr auto is_floating(DType dtype) -> bool { return category(dtype) == DTypeCategory::floating; }
[[nodiscard]] constexpr auto is_integral(DType dtype) -> bool { return category(dtype) == DTypeCategory::integral; }
[[nodiscard]] constexpr auto is_complex(DType dtype) -> bool { return category(dtype) == DTypeCategory::complex; }

/// By PyTorch's name, with or without "torch.", aliases (`float`, `half`, `long`, ...) included.
[[nodiscard]] constexpr auto dtype_from_torch(std::string_view name) -> std::optional<DType> {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const DTypeInfo& info : dtype_table)
    if (info.torch_name == name) return info.dtype;
  struct Alias {
    std::string_view name;
    DType dtype;
  };
  constexpr std::array<Alias, 9> aliases{{{"float", DType::f32}, {"double", DType::f64}, {"half", DType::f16},
                                          {"short", DType::i16}, {"int", DType::i32}, {"long", DType::i64},
                                          {"cfloat", DType::c64}, {"cdouble", DType::c128}, {"chalf", DType::c32}}};
  for (const Alias& alias : aliases)
    if (alias.name == name) return alias.dtype;
  return std::nullopt;
}
/// By ScalarType number of the export schema; those are not c10's numbers.
[[nodiscard]] constexpr auto dtype_from_schema(std::int64_t number) -> std::optional<DType> {
  for (const DTypeInfo& info : dtype_table)
    if (info.schema_number == number) return info.dtype;
  return std::nullopt;
}

namespace detail {
[[nodiscard]] constexpr auto is_float8(DType d) -> bool { return d >= DType::f8e4m3fn && d <= DType::f8e8m0fnu; }
[[nodiscard]] constexpr auto is_barebones_unsigned(DType d) -> bool {
  return d == DType::u16 || d == DType::u32 || d == DType::u64;
}
/// The real type a complex type is made of.
[[nodiscard]] constexpr auto real_part(DType d) -> DType {
  return d == DType::c32 ? DType::f16 : d == DType::c64 ? DType::f32 : DType::f64;
}
[[nodiscard]] constexpr auto complex_of(DType d) -> DType {
  return d == DType::f64 ? DType::c128 : d == DType::f16 ? DType::c32 : DType::c64;
}
}  // namespace detail

/// The dtype that `a` and `b` promote to in PyTorch; none where `torch.promote_types` raises (float8 and the unsigned
/// types wider than a byte do not mix).
[[nodiscard]] constexpr auto promote_types(DType a, DType b) -> std::optional<DType> {
  if (a == b) return a;
  if (detail::is_float8(a) || detail::is_float8(b)) return std::nullopt;
  if (category(a) > category(b)) {
    const DType swap = a;
    a = b;
    b = swap;
  }
  // Of the other types these mix with the floating ones alone.
  if ((detail::is_barebones_unsigned(a) || detail::is_barebones_unsigned(b)) && !is_floating(b)) return std::nullopt;
  if (category(a) == DTypeCategory::boolean) return b;
  if (is_complex(b)) {
    if (category(a) == DTypeCategory::integral) return b;
    const DType real = is_complex(a) ? detail::real_part(a) : a;
    // complex32 has no bfloat16 twin: the pair meets in complex64.
    const std::optional<DType> common = promote_types(real, detail::real_part(b));
    return common ? std::optional(detail::complex_of(*common)) : std::nullopt;
  }
  if (is_floating(b)) {
    if (is_integral(a)) return b;
    if (byte_size(a) == byte_size(b)) return DType::f32;  // float16 with bfloat16
    return byte_size(a) > byte_size(b) ? a : b;
  }
  if (a == DType::u8 || b == DType::u8) {
    const DType other = a == DType::u8 ? b : a;
    return other == DType::i8 ? DType::i16 : other;
  }
  return byte_size(a) > byte_size(b) ? a : b;
}

/// Whether PyTorch writes a result of type `from` into a tensor of type `to` (`torch.can_cast`).
[[nodiscard]] constexpr auto can_cast(DType from, DType to) -> bool {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to)) return false;
  return to != DType::boolean || from == DType::boolean;
}

}  // namespace fxpass

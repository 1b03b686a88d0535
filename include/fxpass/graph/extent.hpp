// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/argument.hpp>
#include <fxpass/support/dtype.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// The check that lets everything behind the readers multiply sizes and strides without a second thought.

namespace fxpass::detail {

/// Whether the bytes of such a tensor, and of the storage up to its last element, can be counted in 63 bits. Symbolic
/// numbers count as 1. Needs sizes, strides and offset that are not negative, and as many strides as sizes.
[[nodiscard]] constexpr auto is_addressable(DType dtype, Span<const SymInt> sizes, Span<const SymInt> strides,
                                            SymInt offset) -> bool {
  const auto number = [](SymInt s) { return s.is_symbolic() ? 1 : s.value(); };
  std::int64_t bytes = byte_size(dtype);  // sizes of 0 count as 1, so that no order of multiplying overflows
  std::int64_t last = number(offset);
  bool fits = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t size = number(sizes[i]) > 1 ? number(sizes[i]) : 1;
    std::int64_t reach = 0;
    fits = fits && !__builtin_mul_overflow(bytes, size, &bytes) &&
           !__builtin_mul_overflow(size, number(strides[i]), &reach) && !__builtin_add_overflow(last, reach, &last);
  }
  return fits && !__builtin_add_overflow(last, 1, &last) && !__builtin_mul_overflow(last, byte_size(dtype), &last);
}

}  // namespace fxpass::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/ops/promotion.hpp>

#include "promotion_table.hpp"
#include "twice.hpp"

#include <span>
#include <string_view>

// Promotion of every pair of operands, against what PyTorch says.

namespace {

using namespace fxpass;

enum class Rank { dimensioned, zero_dim, number };

constexpr void add(ops::ResultType& type, Rank rank, std::size_t which) {
  if (rank == Rank::number)
    type.add_number(static_cast<DTypeCategory>(which));
  else
    type.add_tensor(static_cast<DType>(which), rank == Rank::dimensioned);
}

/// Whether both orders of every pair promote as the table says.
constexpr auto agrees(std::span<const std::string_view> table, Rank first, Rank second) -> bool {
  for (std::size_t a = 0; a < table.size(); ++a)
    for (std::size_t b = 0; b < table[a].size(); ++b) {
      ops::ResultType forward, backward;
      add(forward, first, a);
      add(forward, second, b);
      add(backward, second, b);
      add(backward, first, a);
      const auto result = forward.get();
      const char letter = result ? static_cast<char>('a' + static_cast<int>(*result)) : '-';
      if (letter != table[a][b] || backward.get() != result) return false;
    }
  return table.size() == dtype_table.size();
}

constexpr auto tensors_promote() -> bool {
  return agrees(dimensioned_dimensioned, Rank::dimensioned, Rank::dimensioned);
}
FXPASS_TEST_TWICE(tensors_promote)

constexpr auto tensors_without_dimensions_promote() -> bool {
  return agrees(dimensioned_zero_dim, Rank::dimensioned, Rank::zero_dim) &&
         agrees(zero_dim_zero_dim, Rank::zero_dim, Rank::zero_dim);
}
FXPASS_TEST_TWICE(tensors_without_dimensions_promote)

constexpr auto numbers_promote() -> bool {
  return agrees(dimensioned_number, Rank::dimensioned, Rank::number) &&
         agrees(zero_dim_number, Rank::zero_dim, Rank::number);
}
FXPASS_TEST_TWICE(numbers_promote)

static_assert(ops::floating_type(DType::i64) == DType::f32 && ops::floating_type(DType::boolean) == DType::f32 &&
              ops::floating_type(DType::bf16) == DType::bf16 && ops::floating_type(DType::c64) == DType::c64);
static_assert(ops::accumulate_type(DType::bf16) == DType::f32 && ops::accumulate_type(DType::f8e5m2) == DType::f32 &&
              ops::accumulate_type(DType::f64) == DType::f64 && ops::accumulate_type(DType::i8) == DType::i8);

}  // namespace

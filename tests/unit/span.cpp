// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/support/pool.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "twice.hpp"

using fxpass::Span;

namespace {

constexpr auto size(Span<const int> span) -> std::size_t { return span.size(); }
constexpr auto size_of_std(std::span<const int> span) -> std::size_t { return span.size(); }

constexpr auto is_made_of_what_lies_in_a_row() -> bool {
  const int array[]{1, 2};
  const std::vector<int> vector{1, 2, 3};
  fxpass::Pool<int> pool;
  pool.push_back(1);
  return size(array) == 2 && size(std::array<int, 4>()) == 4 && size(vector) == 3 && size(pool) == 1 &&
         size(std::vector<int>{1, 2}) == 2 && size({}) == 0 && Span(vector).data() == vector.data() &&
         Span<const char>(std::string_view("abc")).back() == 'c';
}
FXPASS_TEST_TWICE(is_made_of_what_lies_in_a_row)

constexpr auto converts_from_and_to_the_standard_one() -> bool {
  std::vector<int> vector{1, 2, 3};
  const Span<int> ours(vector);
  const std::span<int> theirs = ours;
  const Span<const int> again = theirs;
  return size_of_std(ours) == 3 && size(theirs) == 3 && again.data() == vector.data() && again.size() == 3;
}
FXPASS_TEST_TWICE(converts_from_and_to_the_standard_one)

constexpr auto shows_parts_and_lets_write() -> bool {
  int array[]{1, 2, 3, 4};
  const Span<int> span(array);
  span.subspan(1, 2).front() = 7;
  return array[1] == 7 && span.first(2).back() == 7 && span.subspan(3).size() == 1 && span.subspan(4).empty() &&
         same_elements(Span<const int>(span.first(1)), Span<const int>(array, 1)) &&
         !same_elements(Span<const int>(span), Span<const int>(array, 3)) &&
         !same_elements(Span<const int>(span.first(1)), Span<const int>(span.subspan(1, 1)));
}
FXPASS_TEST_TWICE(shows_parts_and_lets_write)

// Nothing that would let write what is const, outlive its elements, or see them as another type.
static_assert(!std::is_constructible_v<Span<int>, const std::vector<int>&>);
static_assert(!std::is_constructible_v<Span<int>, std::vector<int>>);
static_assert(!std::is_constructible_v<Span<int>, Span<const int>>);
static_assert(!std::is_constructible_v<Span<const int>, std::vector<long>>);

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/geometry.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "twice.hpp"

// Which places of a storage tensors take, and what becomes of them where one is written while another one is read.

namespace {

using namespace fxpass;

constexpr auto geometry(std::initializer_list<std::int64_t> sizes, std::initializer_list<std::int64_t> strides, std::int64_t offset)
    -> Geometry {
  Geometry g;
  for (const std::int64_t size : sizes) g.sizes.push_back(size);
  for (const std::int64_t stride : strides) g.strides.push_back(stride);
  g.offset = offset;
  return g;
}
/// The places, as bits.
constexpr auto places_of(const Geometry& g) -> std::uint64_t {
  std::uint64_t bits = 0;
  for (std::int64_t element = 0; element < g.element_count(); ++element) {
    std::int64_t place = g.offset;
    std::int64_t rest = element;
    for (std::uint32_t i = 0; i < g.rank(); ++i) {
      place += rest % g.sizes[i] * g.strides[i];
      rest /= g.sizes[i];
    }
    bits |= std::uint64_t{1} << place;
  }
  return bits;
}
/// Never said of tensors that have a place in common, and said of all parts of one contiguous tensor that have none, but for
/// those that leave out every other element.
constexpr auto parts_of_a_tensor_are_told_apart() -> bool {
  const auto has_step = [](const Geometry& g) { return g.rank() == 2 && g.strides[1] == 2; };
  const Geometry parts[] = {
      geometry({4, 2}, {6, 1}, 0),  geometry({4, 2}, {6, 1}, 2),    geometry({4, 2}, {6, 1}, 4), geometry({4}, {6}, 1),
      geometry({2, 6}, {12, 1}, 6), geometry({2, 3}, {12, 2}, 1),   geometry({6}, {1}, 6),       geometry({3, 4}, {1, 6}, 3),
      geometry({4, 2, 3}, {6, 3, 1}, 0), geometry({4, 6}, {6, 1}, 0), geometry({4, 1, 3}, {6, 3, 1}, 3), geometry({0, 3}, {6, 1}, 0),
      geometry({2, 6}, {0, 1}, 0),  geometry({}, {}, 5),
  };
  std::uint64_t places[std::size(parts)]{};
  for (std::size_t i = 0; i < std::size(parts); ++i) places[i] = places_of(parts[i]);
  for (std::size_t i = 0; i < std::size(parts); ++i)
    for (std::size_t j = 0; j < std::size(parts); ++j) {
      const bool apart = are_apart(parts[i], parts[j]);
      const bool is_true = (places[i] & places[j]) == 0;
      if (apart != is_true && (apart || (!has_step(parts[i]) && !has_step(parts[j])))) return false;
    }
  // Strides that are no multiples of one another: only by the stretches that they reach over.
  return !are_apart(geometry({2}, {2}, 0), geometry({2}, {3}, 1)) && are_apart(geometry({2}, {2}, 0), geometry({2}, {3}, 3)) &&
         !are_apart(geometry({3}, {4}, 2), geometry({4, 4}, {4, 1}, 0));
}
FXPASS_TEST_TWICE(parts_of_a_tensor_are_told_apart)

// Reading what is written ------------------------------------------------------------------------------------------------------
constexpr std::size_t place_count = 32;
/// A storage of different numbers.
struct Memory {
  std::int64_t places[place_count]{};

  Memory() {
    for (std::size_t i = 0; i < place_count; ++i) places[i] = static_cast<std::int64_t>(i * i + 1);
  }
  friend auto operator==(const Memory&, const Memory&) -> bool = default;
};
/// The place of an element that has number `element` in a tensor of the sizes of `g`.
auto place_of(const Geometry& g, Span<const std::int64_t> strides, std::int64_t element) -> std::size_t {
  std::int64_t place = g.offset;
  for (std::uint32_t i = g.rank(); i-- > 0;) {
    place += element % g.sizes[i] * strides[i];
    element /= g.sizes[i];
  }
  return static_cast<std::size_t>(place);
}
/// Adds the elements of `source` to those of `target`, or copies them: one after the other by ascending places, or all at once.
auto written(const Geometry& target, const Geometry& source, bool adds, bool in_order) -> Memory {
  Geometry from = target;
  from.offset = source.offset;
  from.strides = *broadcast_strides(source, target);
  const Memory before;
  Memory memory;
  std::int64_t element_at[place_count];
  for (std::int64_t& element : element_at) element = -1;
  for (std::int64_t i = 0; i < target.element_count(); ++i) element_at[place_of(target, target.strides.view(), i)] = i;
  for (std::size_t place = 0; place < place_count; ++place) {
    if (element_at[place] < 0) continue;
    const std::size_t read = place_of(from, from.strides.view(), element_at[place]);
    memory.places[place] = (in_order ? memory : before).places[read] + (adds ? before.places[place] : 0);
  }
  return memory;
}
// Beyond the steps that clang takes in a constant.
TEST_CASE("what is said of reading while writing is true") {
  const Geometry tensors[] = {
      geometry({4, 6}, {6, 1}, 0), geometry({4, 5}, {6, 1}, 0),  geometry({4, 5}, {6, 1}, 1),  geometry({3, 6}, {6, 1}, 6),
      geometry({4, 1}, {6, 1}, 0), geometry({4, 1}, {6, 1}, 3),  geometry({6}, {1}, 0),        geometry({6}, {1}, 12),
      geometry({4, 6}, {6, 0}, 2), geometry({6, 4}, {1, 6}, 0),  geometry({4, 4}, {6, 1}, 0),  geometry({4, 4}, {6, 1}, 2),
      geometry({4, 4}, {1, 6}, 0), geometry({4}, {7}, 0),        geometry({}, {}, 8),          geometry({3, 2}, {8, 4}, 0),
      geometry({3, 2}, {8, 4}, 4), geometry({2, 3, 4}, {12, 4, 1}, 0), geometry({3, 4}, {4, 1}, 12), geometry({1, 4}, {9, 1}, 8),
      geometry({2, 1, 4}, {12, 4, 1}, 8), geometry({3, 1, 4}, {4, 4, 1}, 0), geometry({5}, {4}, 0), geometry({5}, {4}, 4),
  };
  std::uint32_t ahead = 0, own = 0, undecided = 0;
  for (const Geometry& target : tensors)
    for (const Geometry& source : tensors) {
      if (overlaps_itself(target) || !broadcasts_to(source.sizes.view(), target.sizes.view())) continue;
      const bool adds_alike = written(target, source, true, true) == written(target, source, true, false);
      const bool copies_alike = written(target, source, false, true) == written(target, source, false, false);
      const bool reads = reads_ahead(target, source);
      const bool is_own = is_broadcast_onto_itself(target, source);
      CHECK((adds_alike || !reads));
      CHECK((copies_alike || !(reads || is_own || are_apart(target, source))));
      ahead += reads && &target != &source ? 1 : 0;
      own += is_own ? 1 : 0;
      undecided += !reads && !is_own && !are_apart(target, source) && copies_alike && adds_alike ? 1 : 0;
    }
  CHECK(ahead > 4);
  CHECK(own > 8);
  CHECK(undecided < 16);  // such as read further ahead the further they go
}

constexpr auto strides_of_what_broadcasts() -> bool {
  const auto strides = [](const Geometry& source, const Geometry& target, std::initializer_list<std::int64_t> expected) {
    const auto found = broadcast_strides(source, target);
    return found && same_elements(found->view(), Span<const std::int64_t>(expected.begin(), expected.size()));
  };
  const Geometry m43 = geometry({4, 3}, {3, 1}, 0);
  return strides(geometry({3}, {2}, 0), m43, {0, 2}) && strides(geometry({4, 1}, {5, 1}, 0), m43, {5, 0}) &&
         strides(geometry({}, {}, 0), m43, {0, 0}) && strides(geometry({1, 4, 3}, {12, 1, 4}, 0), m43, {1, 4}) &&
         !broadcast_strides(geometry({4}, {1}, 0), m43) && !broadcast_strides(geometry({2, 4, 3}, {12, 3, 1}, 0), m43);
}
FXPASS_TEST_TWICE(strides_of_what_broadcasts)

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/pool.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <type_traits>

/// @file
/// `SmallPool<T, N>`: a `Pool` whose first elements lie in place.

namespace fxpass {

/// A growing array of plain records that allocates only when it grows past `N`: for the sizes of a tensor and the like,
/// which are made and thrown away all the time and are nearly always few.
///
/// Regular: copyable, movable, `==` by elements. Element addresses are stable only until the next growth or move.
/// Appending is amortised O(1), copying and moving O(size).
template <class T, std::uint32_t N>
class SmallPool {
  static_assert(std::is_trivially_copyable_v<T>, "fxpass::SmallPool holds plain records only");

 public:
  /// As containers name it.
  using value_type = T;

  // The elements in place are left as they are until they are used: there may be many of them.
  /// No elements.
  constexpr SmallPool() {}  // NOLINT(modernize-use-equals-default)

  /// Copies the elements: O(size).
  constexpr explicit SmallPool(Span<const T> values) { append(values); }
  constexpr SmallPool(const SmallPool& other) { append(other.view()); }
  /// Takes the elements; `other` is then empty. O(1), or O(N) for those in place.
  constexpr SmallPool(SmallPool&& other) noexcept : size_(other.size_), more_(static_cast<Pool<T>&&>(other.more_)) {
    take_elements_in_place(other);
  }
  /// Copies the elements: O(size).
  constexpr auto operator=(const SmallPool& other) -> SmallPool& {
    if (this != &other) {
      clear();
      append(other.view());
    }
    return *this;
  }
  /// Takes the elements; `other` is then empty.
  constexpr auto operator=(SmallPool&& other) noexcept -> SmallPool& {
    if (this != &other) {
      size_ = other.size_;
      more_ = static_cast<Pool<T>&&>(other.more_);
      take_elements_in_place(other);
    }
    return *this;
  }
  constexpr ~SmallPool() = default;

  /// How many elements there are, and whether there is none.
  [[nodiscard]] constexpr auto size() const -> std::uint32_t { return size_; }
  [[nodiscard]] constexpr auto empty() const -> bool { return size_ == 0; }
  /// The elements, one behind the other. Valid until the next growth, and as long as the pool stays where it
  /// is.
  [[nodiscard]] constexpr auto data() -> T* { return is_in_place() ? few_ : more_.data(); }
  [[nodiscard]] constexpr auto data() const -> const T* { return is_in_place() ? few_ : more_.data(); }
  [[nodiscard]] constexpr auto begin() -> T* { return data(); }
  [[nodiscard]] constexpr auto end() -> T* { return data() + size_; }
  [[nodiscard]] constexpr auto begin() const -> const T* { return data(); }
  [[nodiscard]] constexpr auto end() const -> const T* { return data() + size_; }
  /// The element at `i`, and the last one. Need an `i < size()`, or an element; neither is checked.
  [[nodiscard]] constexpr auto operator[](std::uint32_t i) -> T& { return data()[i]; }
  [[nodiscard]] constexpr auto operator[](std::uint32_t i) const -> const T& { return data()[i]; }
  [[nodiscard]] constexpr auto back() -> T& { return data()[size_ - 1]; }
  [[nodiscard]] constexpr auto back() const -> const T& { return data()[size_ - 1]; }
  /// All elements.
  [[nodiscard]] constexpr auto view() const -> Span<const T> { return {data(), size_}; }

  /// Appends one record.
  constexpr void push_back(T value) {
    if (is_in_place() && size_ < N)
      few_[size_] = value;
    else
      push_back_out_of_place(value);
    ++size_;
  }
  /// Appends `values`, which lie elsewhere.
  constexpr void append(Span<const T> values) {
    if (is_in_place() && values.size() <= N - size_) {
      for (const T& value : values) few_[size_++] = value;
    } else {
      for (const T& value : values) push_back(value);
    }
  }
  /// Makes the pool `count` long; new elements are copies of `value`.
  constexpr void resize(std::uint32_t count, T value = T{}) {
    while (size_ < count) push_back(value);
    if (!is_in_place()) more_.resize(count);
    size_ = count;
  }
  /// No elements; memory that was allocated is kept.
  constexpr void clear() {
    more_.clear();
    size_ = 0;
  }

  /// Equal if the elements are. O(size).
  friend constexpr auto operator==(const SmallPool& a, const SmallPool& b) -> bool {
    return same_elements(a.view(), b.view());
  }

 private:
  [[nodiscard]] constexpr auto is_in_place() const -> bool { return more_.data() == nullptr; }
  [[gnu::noinline]] constexpr void push_back_out_of_place(T value) {
    if (is_in_place()) {
      more_.reserve(2 * N);
      for (const T& few : few_) more_.push_back(few);
    }
    more_.push_back(value);
  }
  /// `other`, whose other elements are here already, is left empty.
  constexpr void take_elements_in_place(SmallPool& other) {
    if (is_in_place())
      for (std::uint32_t i = 0; i < size_; ++i) few_[i] = other.few_[i];
    other.size_ = 0;
  }

  T few_[N];
  std::uint32_t size_ = 0;
  Pool<T> more_;  ///< all elements, once there have been more than N
};

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/config.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>  // for std::allocator and std::construct_at: <memory> costs each file 0.15 s more

/// @file
/// `Pool<T>`: a growing array of plain records, the one container of the graph.
///
/// Why not `std::vector`: a pool copies by `memcpy`, keeps no per-element state, indexes with 32 bits (half
/// the size of every range stored in a record), and works in constant evaluation at sizes where `std::vector`
/// of libstdc++ 12 meets Clang's step limit.

namespace fxpass {

/// Elements `[begin, begin + count)` of a pool, as stored inside records.
struct Range {
  std::uint32_t begin = 0;  ///< index of the first
  std::uint32_t count = 0;  ///< how many

  /// The index behind the last one.
  [[nodiscard]] constexpr auto end() const -> std::uint32_t { return begin + count; }
  /// Whether there is none.
  [[nodiscard]] constexpr auto empty() const -> bool { return count == 0; }
  friend constexpr auto operator==(Range, Range) -> bool = default;
};

namespace detail {
/// The capacity with which a block of `capacity` elements of `size` bytes is followed, so that `count` fit.
[[nodiscard]] constexpr auto enough(std::uint32_t count, std::uint32_t capacity, std::size_t size)
    -> std::uint32_t {
  // The first block is a cache line: short texts and lists are made often, and mostly stay short.
  const std::uint32_t first = size <= 8 ? static_cast<std::uint32_t>(64 / size) : 8;
  const std::uint32_t doubled = capacity < first ? first : capacity * 2;
  return doubled < count ? count : doubled;
}
}  // namespace detail

/// A growing array of trivially copyable records.
///
/// Regular: copyable, movable, `==` by elements. Element addresses are stable only until the next growth;
/// indices are stable for ever. Appending is amortised O(1), copying O(size) by `memcpy`.
template <class T>
class Pool {
  static_assert(std::is_trivially_copyable_v<T>, "fxpass::Pool holds plain records only");

 public:
  /// As containers name it.
  using value_type = T;

  /// No elements, and no memory.
  constexpr Pool() = default;
  /// Copies the elements: O(size).
  constexpr Pool(const Pool& other) { append(other.view()); }
  /// Takes the elements; `other` is then empty. O(1).
  constexpr Pool(Pool&& other) noexcept : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.forget();
  }
  /// Copies the elements, into the memory there is if it suffices: O(size).
  constexpr auto operator=(const Pool& other) -> Pool& {
    if (this != &other) {
      clear();
      append(other.view());
    }
    return *this;
  }
  /// Takes the elements; `other` is then empty. O(1).
  constexpr auto operator=(Pool&& other) noexcept -> Pool& {
    if (this != &other) {
      release();
      data_ = other.data_;
      size_ = other.size_;
      capacity_ = other.capacity_;
      other.forget();
    }
    return *this;
  }
  constexpr ~Pool() { release(); }

  /// How many elements there are, and whether there is none.
  [[nodiscard]] constexpr auto size() const -> std::uint32_t { return size_; }
  [[nodiscard]] constexpr auto empty() const -> bool { return size_ == 0; }
  /// The elements, one behind the other; null for a pool that never held one.
  [[nodiscard]] constexpr auto data() -> T* { return data_; }
  [[nodiscard]] constexpr auto data() const -> const T* { return data_; }
  [[nodiscard]] constexpr auto begin() -> T* { return data_; }
  [[nodiscard]] constexpr auto end() -> T* { return data_ + size_; }
  [[nodiscard]] constexpr auto begin() const -> const T* { return data_; }
  [[nodiscard]] constexpr auto end() const -> const T* { return data_ + size_; }
  /// The element at `i`, and the last one. Need an `i < size()`, or an element; neither is checked.
  [[nodiscard]] constexpr auto operator[](std::uint32_t i) -> T& { return data_[i]; }
  [[nodiscard]] constexpr auto operator[](std::uint32_t i) const -> const T& { return data_[i]; }
  [[nodiscard]] constexpr auto back() -> T& { return data_[size_ - 1]; }
  [[nodiscard]] constexpr auto back() const -> const T& { return data_[size_ - 1]; }

  /// All elements, or those of a range, which has to lie in the pool. Valid until the next growth.
  [[nodiscard]] constexpr auto view() const -> Span<const T> { return {data_, size_}; }
  [[nodiscard]] constexpr auto view(Range range) const -> Span<const T> {
    return {data_ + range.begin, range.count};
  }
  [[nodiscard]] constexpr auto view(Range range) -> Span<T> { return {data_ + range.begin, range.count}; }

  /// Appends one record and returns its index.
  constexpr auto push_back(T value) -> std::uint32_t {
    if (size_ == capacity_) grow(size_ + 1);
    std::construct_at(data_ + size_, value);
    return size_++;
  }

  /// Appends `values`, which may lie in this very pool, and returns where they are now.
  constexpr auto append(Span<const T> values) -> Range {
    const auto count = static_cast<std::uint32_t>(values.size());
    const Range added{size_, count};
    if (count == 0) return added;
    if (count > capacity_ - size_)
      grow_for(values.data(), count);
    else
      copy(values.data(), data_ + size_, count);
    size_ += count;
    return added;
  }

  /// Makes room for `count` elements in all, so that growing to that size moves none.
  constexpr void reserve(std::uint32_t count) {
    if (count > capacity_) grow(count);
  }
  /// Makes the pool `count` long; new elements are copies of `value`.
  constexpr void resize(std::uint32_t count, T value = T{}) {
    reserve(count);
    while (size_ < count) std::construct_at(data_ + size_++, value);
    size_ = count;
  }
  /// No elements; the memory is kept.
  constexpr void clear() { size_ = 0; }

  /// Equal if the elements are. O(size).
  friend constexpr auto operator==(const Pool& a, const Pool& b) -> bool
    requires requires(const T& x, const T& y) { x == y; }
  {
    if (a.size_ != b.size_) return false;
    for (std::uint32_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  // At run time by bytes, and by the builtin, which a compiler that does not optimise folds too: the
  // functions of std::allocator are otherwise compiled for each type of element.
  [[nodiscard]] static constexpr auto allocate(std::uint32_t count) -> T* {
    if (__builtin_is_constant_evaluated()) return std::allocator<T>().allocate(count);
    return static_cast<T*>(::operator new(sizeof(T) * count));
  }
  static constexpr void copy(const T* from, T* to, std::uint32_t count) {
    if (count == 0) return;
    if (__builtin_is_constant_evaluated()) {
      for (std::uint32_t i = 0; i < count; ++i) std::construct_at(to + i, from[i]);
    } else {
      std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), sizeof(T) * count);
    }
  }
  // Growing is rare, and kept out of line so that appending is not: nearly everything appends.
  [[gnu::noinline]] constexpr void grow_for(const T* values, std::uint32_t count) {
    // The old block is kept until the values are copied: they may lie in it.
    Pool old = static_cast<Pool&&>(*this);
    capacity_ = detail::enough(old.size_ + count, old.capacity_, sizeof(T));
    data_ = allocate(capacity_);
    size_ = old.size_;
    copy(old.data_, data_, size_);
    copy(values, data_ + size_, count);
  }
  [[gnu::noinline]] constexpr void grow(std::uint32_t count) {
    const std::uint32_t capacity = detail::enough(count, capacity_, sizeof(T));
    T* const data = allocate(capacity);
    copy(data_, data, size_);
    release();
    data_ = data;
    capacity_ = capacity;
  }
  constexpr void release() {
    if (data_ == nullptr) return;
    if (__builtin_is_constant_evaluated())
      std::allocator<T>().deallocate(data_, capacity_);
    else
      ::operator delete(static_cast<void*>(data_));
  }
  constexpr void forget() {
    data_ = nullptr;
    size_ = 0;
    capacity_ = 0;
  }

  T* data_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace fxpass

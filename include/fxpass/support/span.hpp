// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

/// @file
/// `Span<T>`: elements that lie one behind the other, and belong to somebody else.
///
/// Why not `std::span`: each element type of one costs g++ 12 some 9 ms, mostly in the concepts of its
/// iterators, where this costs 1 ms; and its iterators use up a constant evaluation's steps. The two convert
/// into each other.

namespace fxpass {

namespace detail {
/// Whether elements that `P` points to can be seen as `T`: the same type, or the same made const.
template <class P, class T>
inline constexpr bool points_to = std::is_same_v<P, T*> || std::is_same_v<P, std::remove_const_t<T>*>;
template <class C>
using pointer_into = decltype(std::declval<C&>().data());
}  // namespace detail

/// `size()` elements from `data()` on. A value of two words, passed by value; valid as long as the elements
/// are. Made of arrays, and of whatever has `data()` and `size()`: vectors, pools, `std::span`, texts.
/// Accesses are not checked.
template <class T>
class Span {
 public:
  /// As `std::span` names them.
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  /// No elements.
  constexpr Span() = default;

  /// Of elements that are at hand.
  constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}
  template <std::size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}  // NOLINT(google-explicit-constructor)
  /// Of a container; of one that is about to die only where elements are const, as an argument of a call.
  template <class C>
    requires(detail::points_to<detail::pointer_into<C>, T> &&
             (std::is_const_v<T> || std::is_lvalue_reference_v<C>))
  constexpr Span(C&& container)  // NOLINT(google-explicit-constructor)
      : data_(container.data()), size_(container.size()) {}

  /// The elements, one behind the other.
  [[nodiscard]] constexpr auto data() const -> T* { return data_; }
  /// How many there are, and whether there is none.
  [[nodiscard]] constexpr auto size() const -> std::size_t { return size_; }
  [[nodiscard]] constexpr auto empty() const -> bool { return size_ == 0; }

  /// The elements, as a range.
  [[nodiscard]] constexpr auto begin() const -> T* { return data_; }
  [[nodiscard]] constexpr auto end() const -> T* { return data_ + size_; }
  /// The element at `i`, the first and the last one. Need an `i < size()`, or an element; neither is checked.
  [[nodiscard]] constexpr auto operator[](std::size_t i) const -> T& { return data_[i]; }
  [[nodiscard]] constexpr auto front() const -> T& { return data_[0]; }
  [[nodiscard]] constexpr auto back() const -> T& { return data_[size_ - 1]; }

  /// The first `count` elements. Needs `count <= size()`.
  [[nodiscard]] constexpr auto first(std::size_t count) const -> Span { return {data_, count}; }
  /// The elements from `begin` on. Needs `begin <= size()`.
  [[nodiscard]] constexpr auto subspan(std::size_t begin) const -> Span {
    return {data_ + begin, size_ - begin};
  }
  /// `count` elements from `begin` on. Needs `begin + count <= size()`.
  [[nodiscard]] constexpr auto subspan(std::size_t begin, std::size_t count) const -> Span {
    return {data_ + begin, count};
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// `Span(container)` has the container's elements, const if it hands them out so.
template <class C>
Span(C&& container) -> Span<std::remove_pointer_t<detail::pointer_into<C>>>;

/// Whether two spans show equal elements. O(elements).
template <class T>
[[nodiscard]] constexpr auto same_elements(Span<const T> a, Span<const T> b) -> bool {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(a[i] == b[i])) return false;
  return true;
}

}  // namespace fxpass

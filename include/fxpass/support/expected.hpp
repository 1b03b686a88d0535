// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/diagnostic.hpp>

#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>  // for std::construct_at: <memory> costs each file 0.15 s more

/// @file
/// `Expected<T>`: a value, or the diagnostics that say why there is none.
///
/// It has the interface of `std::expected<T, Diagnostics>` in every language mode: switching to the standard type under
/// C++23 would give one function two signatures in a program that mixes modes.

namespace fxpass {

template <class T>
class Expected;

namespace detail {
template <class T>
inline constexpr bool is_expected = false;
template <class T>
inline constexpr bool is_expected<Expected<T>> = true;
}  // namespace detail

/// A value of `T`, or `Diagnostics`. Converts from both, so a function returns either as it is.
///
///     const Expected<Module<>> program = read_pt2("model.pt2");
///     if (!program) return report(stderr, program.error());
///     const Graph& graph = program->graph();
template <class T>
class [[nodiscard]] Expected {
  static_assert(!std::is_reference_v<T> && !std::same_as<T, Diagnostics> && !std::same_as<T, Diagnostic>,
                "fxpass::Expected<T> holds a value that is not itself an error");

 public:
  /// As `std::expected` names them.
  using value_type = T;
  using error_type = Diagnostics;

  /// A default value.
  constexpr Expected()
    requires std::default_initializable<T>
      : value_(), has_value_(true) {}

  /// A value, from anything that `T` is made from.
  template <class U = T>
    requires(!detail::is_expected<std::remove_cvref_t<U>> && !std::same_as<std::remove_cvref_t<U>, Diagnostics> &&
             !std::same_as<std::remove_cvref_t<U>, Diagnostic> && std::constructible_from<T, U>)
  constexpr Expected(U&& value)  // NOLINT(google-explicit-constructor)
      : value_(std::forward<U>(value)), has_value_(true) {}

  /// An error. Needs at least one diagnostic in it.
  constexpr Expected(Diagnostics error)  // NOLINT(google-explicit-constructor)
      : error_(std::move(error)), has_value_(false) {}
  constexpr Expected(Diagnostic error)  // NOLINT(google-explicit-constructor)
      : error_(Diagnostics(std::move(error))), has_value_(false) {}

  /// Copies and moves what is held; a moved-from object holds what moving leaves of it.
  constexpr Expected(const Expected& other) : has_value_(other.has_value_) {
    if (has_value_)
      std::construct_at(std::addressof(value_), other.value_);
    else
      std::construct_at(std::addressof(error_), other.error_);
  }
  constexpr Expected(Expected&& other) noexcept : has_value_(other.has_value_) {
    if (has_value_)
      std::construct_at(std::addressof(value_), std::move(other.value_));
    else
      std::construct_at(std::addressof(error_), std::move(other.error_));
  }
  constexpr auto operator=(const Expected& other) -> Expected& {
    if (this != std::addressof(other)) *this = Expected(other);
    return *this;
  }
  constexpr auto operator=(Expected&& other) noexcept -> Expected& {
    if (this != std::addressof(other)) {
      std::destroy_at(this);
      std::construct_at(this, std::move(other));
    }
    return *this;
  }
  constexpr ~Expected() {
    if (has_value_)
      std::destroy_at(std::addressof(value_));
    else
      std::destroy_at(std::addressof(error_));
  }

  /// Whether there is a value, not an error.
  [[nodiscard]] constexpr auto has_value() const -> bool { return has_value_; }
  constexpr explicit operator bool() const { return has_value_; }

  /// The value. Needs `has_value()`.
  [[nodiscard]] constexpr auto operator*() & -> T& { return value_; }
  [[nodiscard]] constexpr auto operator*() const& -> const T& { return value_; }
  [[nodiscard]] constexpr auto operator*() && -> T&& { return std::move(value_); }
  [[nodiscard]] constexpr auto operator->() -> T* { return std::addressof(value_); }
  [[nodiscard]] constexpr auto operator->() const -> const T* { return std::addressof(value_); }
  /// Why there is no value. Needs `!has_value()`.
  [[nodiscard]] constexpr auto error() & -> Diagnostics& { return error_; }
  [[nodiscard]] constexpr auto error() const& -> const Diagnostics& { return error_; }
  [[nodiscard]] constexpr auto error() && -> Diagnostics&& { return std::move(error_); }

  /// A copy of the value, or `otherwise` where there is none.
  template <class U>
  [[nodiscard]] constexpr auto value_or(U&& otherwise) const& -> T {
    return has_value_ ? value_ : static_cast<T>(std::forward<U>(otherwise));
  }

  /// `next(value)`, itself an `Expected`, or this error.
  template <class F>
  constexpr auto and_then(F&& next) && {
    if constexpr (is_called_with<F, T>) {
      using Result = std::remove_cvref_t<decltype(std::forward<F>(next)(std::move(value_)))>;
      if (has_value_) return std::forward<F>(next)(std::move(value_));
      return Result(std::move(error_));
    } else {
      return refuse<F>();
    }
  }
  template <class F>
  constexpr auto and_then(F&& next) const& {
    if constexpr (is_called_with<F, const T&>) {
      using Result = std::remove_cvref_t<decltype(std::forward<F>(next)(value_))>;
      if (has_value_) return std::forward<F>(next)(value_);
      return Result(error_);
    } else {
      return refuse<F>();
    }
  }
  /// `Expected` of `change(value)`, or this error.
  template <class F>
  constexpr auto transform(F&& change) && {
    using Result = Expected<std::remove_cvref_t<decltype(std::forward<F>(change)(std::move(value_)))>>;
    if (has_value_) return Result(std::forward<F>(change)(std::move(value_)));
    return Result(std::move(error_));
  }

 private:
  template <class F, class Value>
  static constexpr bool is_called_with = requires(F&& f, Value&& value) { std::forward<F>(f)(std::forward<Value>(value)); };
  /// What the compiler would say of the call names neither the reason nor the mend.
  template <class F>
  static constexpr auto refuse() -> Expected {
    static_assert(is_called_with<F, T>,
                  "fxpass: and_then takes a function: pipeline(pass), get_default_pass_manager()");
    return Diagnostics();
  }

  union {
    T value_;
    Diagnostics error_;
  };
  bool has_value_;
};

/// Done, or the diagnostics that say why not.
template <>
class [[nodiscard]] Expected<void> {
 public:
  /// As `std::expected` names them.
  using value_type = void;
  using error_type = Diagnostics;

  /// Done.
  constexpr Expected() = default;

  /// An error. Needs at least one diagnostic in it: an empty list is success.
  constexpr Expected(Diagnostics error) : error_(std::move(error)) {}          // NOLINT(google-explicit-constructor)
  constexpr Expected(Diagnostic error) : error_(Diagnostics(std::move(error))) {}  // NOLINT(google-explicit-constructor)

  /// Whether it was done.
  [[nodiscard]] constexpr auto has_value() const -> bool { return error_.empty(); }
  constexpr explicit operator bool() const { return has_value(); }

  /// Why it was not. Needs `!has_value()`.
  [[nodiscard]] constexpr auto error() & -> Diagnostics& { return error_; }
  [[nodiscard]] constexpr auto error() const& -> const Diagnostics& { return error_; }
  [[nodiscard]] constexpr auto error() && -> Diagnostics&& { return std::move(error_); }

 private:
  Diagnostics error_;
};

using Status = Expected<void>;

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/config.hpp>

#include <cstddef>
#include <string_view>

/// @file
/// Text as a template argument.

namespace fxpass {

/// A literal as a template argument: `named<"again">(pass)`.
template <std::size_t N>
struct TextConstant {
  char chars[N]{};  ///< public, as template arguments demand; ends with a null

  /// From a literal, in a template argument.
  consteval TextConstant(const char (&text)[N]) {  // NOLINT(google-explicit-constructor): written as a literal
    for (std::size_t i = 0; i < N; ++i) chars[i] = text[i];
  }
  /// The text without the null.
  [[nodiscard]] constexpr auto view() const -> std::string_view { return {chars, N - 1}; }
};

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/graph.hpp>
#include <fxpass/support/expected.hpp>
#include <fxpass/support/pool.hpp>
#include <fxpass/support/span.hpp>
#include <fxpass/support/text.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// Symbolic sizes as numbers: `2*s77 + 1` with s77 = 4 is 9. Expressions are sympy's, as PyTorch prints them, and its
/// functions on sizes those of torch/utils/_sympy/functions.py.

namespace fxpass {

/// A number for a symbol.
struct SymbolBinding {
  std::string_view symbol;  ///< as PyTorch names it: "s77"
  std::int64_t value = 0;   ///< what it is to be
};

namespace detail {

/// A ratio of whole numbers: sizes are whole, but what they are computed from, `s0*1/2`, need not be.
struct Ratio {
  std::int64_t over = 0;
  std::int64_t under = 1;  ///< greater than 0

  [[nodiscard]] constexpr auto is_whole() const -> bool { return under == 1; }
  friend constexpr auto operator==(const Ratio&, const Ratio&) -> bool = default;
};

/// Evaluates one expression by descent. Whatever goes wrong first is kept, and all that follows gives 0.
class SymbolicEvaluator {
 public:
  constexpr SymbolicEvaluator(std::string_view text, Span<const SymbolBinding> bindings)
      : text_(text), rest_(text), bindings_(bindings) {}

  /// The number, or what is wrong.
  [[nodiscard]] constexpr auto run() -> Expected<std::optional<std::int64_t>> {
    const Ratio result = sum();
    skip_spaces();
    if (!rest_.empty()) fail("is no expression of sizes");
    if (!error_.empty()) return Diagnostic::error(DiagnosticCode::symbolic_size, text_of("'", text_, "' ", error_));
    if (!result.is_whole())
      return Diagnostic::error(DiagnosticCode::symbolic_size,
                               text_of("'", text_, "' is ", result.over, '/', result.under, ", no whole number"));
    return std::optional<std::int64_t>(result.over);
  }

 private:
  // Text ------------------------------------------------------------------------------------------------------------
  [[nodiscard]] static constexpr auto is_digit(char c) -> bool { return c >= '0' && c <= '9'; }
  [[nodiscard]] static constexpr auto is_of_name(char c) -> bool {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
  }
  constexpr void skip_spaces() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  constexpr auto take(std::string_view sign) -> bool {
    skip_spaces();
    if (!rest_.starts_with(sign) || (sign == "*" && rest_.starts_with("**"))) return false;
    rest_.remove_prefix(sign.size());
    return true;
  }
  template <class F>
  constexpr auto take_while(F holds) -> std::string_view {
    std::size_t size = 0;
    while (size < rest_.size() && holds(rest_[size])) ++size;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  template <class... Parts>
  constexpr void fail(const Parts&... what) {
    if (error_.empty()) error_ = text_of(what...);
  }

  // Real sizes nest a handful of levels; the limit keeps a hostile file from exhausting the stack.
  static constexpr int max_depth = 100;

  // Grammar, as Python's: sums of products of powers of atoms -----------------------------------------------------
  constexpr auto sum() -> Ratio {
    Ratio left = product();
    while (error_.empty()) {
      if (take("+"))
        left = add(left, product());
      else if (take("-"))
        left = add(left, negative(product()));
      else
        break;
    }
    return left;
  }
  constexpr auto product() -> Ratio {
    Ratio left = signed_power();
    while (error_.empty()) {
      if (take("//"))
        left = floor_of(divide(left, signed_power()));
      else if (take("*"))
        left = multiply(left, signed_power());
      else if (take("/"))
        left = divide(left, signed_power());
      else if (take("%"))
        left = modulo(left, signed_power());
      else
        break;
    }
    return left;
  }
  constexpr auto signed_power() -> Ratio {
    if (take("-")) return negative(signed_power());
    const Ratio base = atom();
    return take("**") ? power(base, signed_power()) : base;
  }
  constexpr auto atom() -> Ratio {
    skip_spaces();
    if (depth_ == max_depth) fail("is nested too deeply");
    if (!error_.empty()) return {};
    if (take("(")) {
      ++depth_;
      const Ratio inner = sum();
      --depth_;
      if (!take(")")) fail("is no expression of sizes");
      return inner;
    }
    if (const std::string_view digits = take_while(is_digit); !digits.empty()) return number(digits);
    const std::string_view name = take_while(is_of_name);
    if (name.empty()) fail("is no expression of sizes");
    if (!take("(")) return symbol(name);
    Pool<Ratio> arguments;
    ++depth_;
    while (error_.empty() && !take(")")) {
      if (!arguments.empty() && !take(",")) fail("is no expression of sizes");
      arguments.push_back(sum());
    }
    --depth_;
    return call(name, arguments.view());
  }
  constexpr auto number(std::string_view digits) -> Ratio {
    Ratio result;
    for (const char c : digits) result = add(multiply(result, {10, 1}), {c - '0', 1});
    return result;
  }
  constexpr auto symbol(std::string_view name) -> Ratio {
    for (const SymbolBinding& b : bindings_)
      if (b.symbol == name) return {b.value, 1};
    fail("names the symbol ", name, ", which is not bound");
    return {};
  }
  constexpr auto call(std::string_view name, Span<const Ratio> arguments) -> Ratio {
    if (!error_.empty()) return {};
    const std::size_t count = arguments.size();
    if ((name == "Max" || name == "Min") && count > 0) {
      Ratio best = arguments[0];
      for (const Ratio& a : arguments)
        if ((add(a, negative(best)).over > 0) == (name == "Max")) best = a;
      return best;
    }
    if (count == 1) {
      const Ratio a = arguments[0];
      if (name == "Identity" || name == "ToFloat") return a;
      if (name == "Abs") return a.over < 0 ? negative(a) : a;
      if (name == "floor" || name == "FloorToInt") return floor_of(a);
      if (name == "ceiling" || name == "CeilToInt") return negative(floor_of(negative(a)));
      if (name == "TruncToInt" || name == "TruncToFloat")
        return a.over < 0 ? negative(floor_of(negative(a))) : floor_of(a);
    }
    if (count == 2) {
      const Ratio a = arguments[0];
      const Ratio b = arguments[1];
      if (name == "FloorDiv") return floor_of(divide(a, b));
      if (name == "CeilDiv") return negative(floor_of(negative(divide(a, b))));
      if (name == "CleanDiv" || name == "IntTrueDiv" || name == "FloatTrueDiv") return divide(a, b);
      if (name == "Mod" || name == "PythonMod") return modulo(a, b);
      if (name == "PowByNatural" || name == "Pow") return power(a, b);
    }
    if (name == "ModularIndexing" && count == 3)
      return modulo(floor_of(divide(arguments[0], arguments[1])), arguments[2]);
    fail("calls '", name, "', which fxpass does not evaluate");
    return {};
  }

  // Arithmetic ------------------------------------------------------------------------------------------------------
  constexpr auto ratio(std::int64_t over, std::int64_t under) -> Ratio {
    if (under < 0) {
      over = negated(over);
      under = negated(under);
    }
    std::int64_t a = over < 0 ? negated(over) : over;
    std::int64_t b = under;
    while (b != 0) {
      const std::int64_t rest = a % b;
      a = b;
      b = rest;
    }
    return a > 1 ? Ratio{over / a, under / a} : Ratio{over, under};
  }
  constexpr auto product_of(std::int64_t a, std::int64_t b) -> std::int64_t {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) fail("is too large");
    return error_.empty() ? result : 1;
  }
  constexpr auto negated(std::int64_t a) -> std::int64_t { return product_of(a, -1); }
  constexpr auto negative(Ratio a) -> Ratio { return {negated(a.over), a.under}; }
  constexpr auto add(Ratio a, Ratio b) -> Ratio {
    std::int64_t over = 0;
    if (__builtin_add_overflow(product_of(a.over, b.under), product_of(b.over, a.under), &over)) fail("is too large");
    return error_.empty() ? ratio(over, product_of(a.under, b.under)) : Ratio();
  }
  constexpr auto multiply(Ratio a, Ratio b) -> Ratio {
    return ratio(product_of(a.over, b.over), product_of(a.under, b.under));
  }
  constexpr auto divide(Ratio a, Ratio b) -> Ratio {
    if (b.over == 0) fail("divides by 0");
    return error_.empty() ? ratio(product_of(a.over, b.under), product_of(a.under, b.over)) : Ratio();
  }
  [[nodiscard]] static constexpr auto floor_of(Ratio a) -> Ratio {
    const std::int64_t whole = a.over / a.under;
    return {whole - (a.over % a.under < 0 ? 1 : 0), 1};
  }
  /// With the sign of the divisor, as Python's.
  constexpr auto modulo(Ratio a, Ratio b) -> Ratio { return add(a, negative(multiply(floor_of(divide(a, b)), b))); }
  constexpr auto power(Ratio base, Ratio exponent) -> Ratio {
    if (!exponent.is_whole()) fail("has an exponent that is no whole number");
    if (exponent.over < 0) return power(divide({1, 1}, base), negative(exponent));
    Ratio result{1, 1};
    // Past 64 rounds only 0, 1 and -1 have not overflowed; their powers go in a cycle of two.
    for (std::int64_t n = exponent.over > 64 ? 64 + exponent.over % 2 : exponent.over; n > 0 && error_.empty(); --n)
      result = multiply(result, base);
    return result;
  }

  std::string_view text_;
  std::string_view rest_;
  Span<const SymbolBinding> bindings_;
  Text error_;
  int depth_ = 0;
};

}  // namespace detail

/// Calls `visit(std::string_view)` for each symbol that an expression names, in order. O(length).
template <class F>
constexpr void for_each_symbol(std::string_view expression, F visit) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < expression.size();) {
    std::size_t end = i;
    while (end < expression.size() && (is_letter(expression[end]) || is_digit(expression[end]))) ++end;
    if (end > i && is_letter(expression[i]) && (end == expression.size() || expression[end] != '('))
      visit(expression.substr(i, end - i));
    i = end > i ? end : i + 1;
  }
}

/// What a symbolic expression is with symbols bound: a number, or nothing as long as one of its symbols is not bound.
/// Errors, as `symbolic_size`: what is no whole number, too large for 64 bits, divided by 0, or no expression; a
/// function that sizes do not need. O(length).
///
///     evaluate_symbolic("2*s77 + 1", bindings)  // 9, with s77 = 4
[[nodiscard]] constexpr auto evaluate_symbolic(std::string_view expression, Span<const SymbolBinding> bindings)
    -> Expected<std::optional<std::int64_t>> {
  bool is_bound = true;
  for_each_symbol(expression, [&](std::string_view symbol) {
    bool is_known = false;
    for (const SymbolBinding& b : bindings) is_known = is_known || b.symbol == symbol;
    is_bound = is_bound && is_known;
  });
  if (!is_bound) return std::optional<std::int64_t>();
  return detail::SymbolicEvaluator(expression, bindings).run();
}

}  // namespace fxpass

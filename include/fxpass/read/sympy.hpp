// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// Symbolic sizes for people: `Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(1))`, the form in which
/// exports store them (sympy's `srepr`), as `2*s77 + 1`.

namespace fxpass {

namespace detail {

/// Rewrites one `srepr` text. Gives nothing where the text is not of that form, as in older files: those are infix.
class SreprParser {
 public:
  explicit SreprParser(std::string_view text) : rest_(text) {}

  [[nodiscard]] auto run() -> std::optional<std::string> {
    auto term = parse(0);
    if (!term || !rest_.empty()) return std::nullopt;
    return std::move(term->text);
  }

 private:
  /// How tightly the outermost operator of a term binds.
  enum class Binding : std::uint8_t { comparison, sum, quotient, product, power, atom };
  struct Term {
    std::string text;
    Binding binding = Binding::atom;
    bool is_number = false;
  };
  // Real sizes nest a handful of levels; the limit keeps a hostile file from exhausting the stack.
  static constexpr int max_depth = 100;

  auto parse(int depth) -> std::optional<Term> {
    if (depth > max_depth) return std::nullopt;
    if (rest_.starts_with('\'') || rest_.starts_with('"')) return quoted();
    const auto end = rest_.find_first_of("(), ");
    const std::string_view head = rest_.substr(0, end);
    if (head.empty()) return std::nullopt;
    rest_.remove_prefix(head.size());
    if (!rest_.starts_with('(')) return Term{std::string(head)};  // true, precision=53
    rest_.remove_prefix(1);
    std::vector<Term> arguments;
    while (!rest_.starts_with(')')) {
      if (!arguments.empty()) {
        if (!rest_.starts_with(", ")) return std::nullopt;
        rest_.remove_prefix(2);
      }
      auto argument = parse(depth + 1);
      if (!argument) return std::nullopt;
      arguments.push_back(*std::move(argument));
    }
    rest_.remove_prefix(1);
    return apply(head, arguments);
  }
  auto quoted() -> std::optional<Term> {
    const auto close = rest_.find(rest_.front(), 1);
    if (close == std::string_view::npos) return std::nullopt;
    Term term{std::string(rest_.substr(0, close + 1))};
    rest_.remove_prefix(close + 1);
    return term;
  }

  static auto apply(std::string_view head, const std::vector<Term>& arguments) -> Term {
    const std::size_t count = arguments.size();
    // The keyword arguments of these two, assumptions and precision, say nothing about the size.
    if (head == "Symbol" && count >= 1) return {unquoted(arguments[0].text)};
    if ((head == "Integer" || head == "Float") && count >= 1) return number(unquoted(arguments[0].text));
    if (head == "Rational" && count == 2) return {arguments[0].text + "/" + arguments[1].text, Binding::product, true};
    if (head == "Add" && count >= 1) return sum(arguments);
    if (head == "Mul" && count >= 1) return product(arguments);
    if (head == "Pow" && count == 2)
      return {inside(arguments[0], Binding::atom) + "**" + inside(arguments[1], Binding::atom), Binding::power};
    if (head == "FloorDiv" && count == 2)
      return {inside(arguments[0], Binding::power) + "//" + inside(arguments[1], Binding::power), Binding::quotient};
    struct Comparison {
      std::string_view head;
      std::string_view sign;
    };
    constexpr Comparison comparisons[] = {{"GreaterThan", " >= "},   {"StrictGreaterThan", " > "},
                                          {"LessThan", " <= "},      {"StrictLessThan", " < "},
                                          {"Equality", " == "},      {"Unequality", " != "}};
    for (const Comparison& c : comparisons)
      if (head == c.head && count == 2)
        return {inside(arguments[0], Binding::sum).append(c.sign) + inside(arguments[1], Binding::sum),
                Binding::comparison};
    return function(head, arguments);
  }
  static auto unquoted(const std::string& text) -> std::string {
    return text.starts_with('\'') || text.starts_with('"') ? text.substr(1, text.size() - 2) : text;
  }
  static auto number(const std::string& digits) -> Term {
    return {digits, digits.starts_with('-') ? Binding::sum : Binding::atom, true};
  }
  /// Numbers last, as people write them: sympy stores them first.
  static auto sum(const std::vector<Term>& terms) -> Term {
    std::string text;
    for (const bool numbers : {false, true}) {
      for (const Term& term : terms) {
        if (term.is_number != numbers) continue;
        const std::string summand = inside(term, Binding::sum);
        if (text.empty()) {
          text = summand;
        } else if (summand.starts_with('-')) {
          text.append(" - ").append(summand, 1);
        } else {
          text.append(" + ").append(summand);
        }
      }
    }
    return {text, Binding::sum};
  }
  static auto product(const std::vector<Term>& factors) -> Term {
    std::string text;
    for (const Term& factor : factors) {
      if (&factor == &factors.front() && factor.text == "-1" && factors.size() > 1) {
        text = "-";
        continue;
      }
      if (!text.empty() && text != "-") text += '*';
      text += text.empty() && factor.is_number ? factor.text : inside(factor, Binding::product);
    }
    return {text, Binding::product};
  }
  static auto function(std::string_view head, const std::vector<Term>& arguments) -> Term {
    std::string text(head);
    text += '(';
    for (const Term& argument : arguments) {
      if (&argument != &arguments.front()) text += ", ";
      text += argument.text;
    }
    return {text + ')'};
  }
  /// The term as an operand of an operator that binds like `binding`.
  static auto inside(const Term& term, Binding binding) -> std::string {
    return term.binding < binding ? "(" + term.text + ")" : term.text;
  }

  std::string_view rest_;
};

}  // namespace detail

/// `srepr` text as infix text; heads without an infix form stay calls, and text of another form stays as it is.
/// O(length of the text x depth).
[[nodiscard]] inline auto infix_from_srepr(std::string_view text) -> std::string {
  return detail::SreprParser(text).run().value_or(std::string(text));
}

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/editor.hpp>
#include <fxpass/graph/extent.hpp>
#include <fxpass/graph/geometry.hpp>
#include <fxpass/graph/symbolic.hpp>
#include <fxpass/pass/verdict.hpp> // first: see tools/check_includes.py
#include <fxpass/pass/context.hpp>
#include <fxpass/pass/contract.hpp>
#include <fxpass/passes/facts.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

/// @file
/// `BindSymbolsPass`: a program that was exported for sizes s0, s1, ... becomes one for numbers.

namespace fxpass {

namespace detail {

/// A number or a truth value that a node computes: what Python's operators make of sizes.
class SizeArithmetic {
 public:
  /// What the call `target(operands)` is; none if it cannot be said, since an operand is no number or the operator is
  /// not one of sizes. Errors: what Python raises.
  [[nodiscard]] static constexpr auto call(std::string_view target, Span<const Argument> operands)
      -> Expected<std::optional<Argument>> {
    const std::string_view function = target.substr(target.rfind('.') + 1);
    for (const Argument& a : operands)
      if (!is_number(a)) return none();
    const bool is_python = target.starts_with("operator.") || target.starts_with("math.") || target.starts_with("builtins.");
    const bool is_torch = target.starts_with("torch.sym_");
    if (!is_python && !is_torch) return none();
    if (operands.size() == 1) return unary(is_torch ? function.substr(4) : function, operands[0]);
    if (operands.size() == 2) return binary(is_torch ? function.substr(4) : function, operands[0], operands[1]);
    if (operands.size() == 3 && target == "torch.sym_ite") return some(truth(operands[0]) ? operands[1] : operands[2]);
    return none();
  }
  [[nodiscard]] static constexpr auto is_number(const Argument& a) -> bool {
    return a.is(ArgumentKind::integer) || a.is(ArgumentKind::boolean) || a.is(ArgumentKind::real);
  }
  /// Python's `bool(a)`.
  [[nodiscard]] static constexpr auto truth(const Argument& a) -> bool { return real(a) != 0; }

 private:
  using Result = Expected<std::optional<Argument>>;

  [[nodiscard]] static constexpr auto none() -> Result { return std::optional<Argument>(); }
  [[nodiscard]] static constexpr auto some(Argument a) -> Result { return std::optional<Argument>(a); }
  [[nodiscard]] static constexpr auto raises(std::string_view what) -> Result {
    return Diagnostic::error(DiagnosticCode::eager_would_raise, what);
  }
  [[nodiscard]] static constexpr auto integer(const Argument& a) -> std::int64_t {
    return a.is(ArgumentKind::boolean) ? static_cast<std::int64_t>(a.boolean()) : a.integer();
  }
  [[nodiscard]] static constexpr auto real(const Argument& a) -> double {
    return a.is(ArgumentKind::real) ? a.real() : static_cast<double>(integer(a));
  }
  /// To the next whole number below, above, or towards 0; none for what 64 bits do not hold.
  enum class Rounding : std::uint8_t { down, up, to_zero };
  [[nodiscard]] static constexpr auto rounded(double x, Rounding rounding) -> Result {
    constexpr double limit = 4611686018427387904.0;  // 2^62
    if (!(x > -limit && x < limit)) return none();
    auto whole = static_cast<std::int64_t>(x);
    if (rounding == Rounding::down && static_cast<double>(whole) > x) --whole;
    if (rounding == Rounding::up && static_cast<double>(whole) < x) ++whole;
    return some(Argument(whole));
  }

  [[nodiscard]] static constexpr auto unary(std::string_view function, const Argument& a) -> Result {
    const bool is_real = a.is(ArgumentKind::real);
    if (function == "float") return some(Argument(real(a)));
    if (function == "not_" || function == "not") return some(Argument(!truth(a)));
    if (function == "pos") return some(is_real ? a : Argument(integer(a)));
    if (function == "floor") return is_real ? rounded(a.real(), Rounding::down) : some(Argument(integer(a)));
    if (function == "ceil") return is_real ? rounded(a.real(), Rounding::up) : some(Argument(integer(a)));
    if (function == "int" || function == "trunc")
      return is_real ? rounded(a.real(), Rounding::to_zero) : some(Argument(integer(a)));
    if (function == "neg" || (function == "abs" && real(a) < 0))
      return is_real ? some(Argument(-a.real())) : binary("sub", Argument(0), a);
    if (function == "abs") return some(is_real ? a : Argument(integer(a)));
    return none();
  }

  [[nodiscard]] static constexpr auto binary(std::string_view function, const Argument& a, const Argument& b) -> Result {
    if (function == "eq") return some(Argument(real(a) == real(b)));
    if (function == "ne") return some(Argument(real(a) != real(b)));
    if (function == "lt") return some(Argument(real(a) < real(b)));
    if (function == "le") return some(Argument(real(a) <= real(b)));
    if (function == "gt") return some(Argument(real(a) > real(b)));
    if (function == "ge") return some(Argument(real(a) >= real(b)));
    if (function == "max") return some(real(a) < real(b) ? b : a);
    if (function == "min") return some(real(b) < real(a) ? b : a);
    if (function == "truediv") {
      if (real(b) == 0) return raises("divides by zero; PyTorch raises here");
      return some(Argument(real(a) / real(b)));
    }
    if (a.is(ArgumentKind::real) || b.is(ArgumentKind::real)) return of_reals(function, real(a), real(b));
    const bool are_truths = a.is(ArgumentKind::boolean) && b.is(ArgumentKind::boolean);
    if (are_truths && function == "and_") return some(Argument(a.boolean() && b.boolean()));
    if (are_truths && function == "or_") return some(Argument(a.boolean() || b.boolean()));
    return of_integers(function, integer(a), integer(b));
  }
  [[nodiscard]] static constexpr auto of_reals(std::string_view function, double a, double b) -> Result {
    if (function == "add") return some(Argument(a + b));
    if (function == "sub") return some(Argument(a - b));
    if (function == "mul") return some(Argument(a * b));
    return none();
  }
  [[nodiscard]] static constexpr auto of_integers(std::string_view function, std::int64_t a, std::int64_t b) -> Result {
    std::int64_t result = 0;
    bool overflows = false;
    if (function == "add") {
      overflows = __builtin_add_overflow(a, b, &result);
    } else if (function == "sub") {
      overflows = __builtin_sub_overflow(a, b, &result);
    } else if (function == "mul") {
      overflows = __builtin_mul_overflow(a, b, &result);
    } else if (function == "floordiv" || function == "mod") {
      if (b == 0) return raises("divides by zero; PyTorch raises here");
      const bool rounds_down = a % b != 0 && (a % b < 0) != (b < 0);
      result = function == "mod" ? a % b + (rounds_down ? b : 0) : a / b - (rounds_down ? 1 : 0);
    } else if (function == "pow" && b >= 0) {
      result = 1;
      // Past 64 rounds only 0, 1 and -1 have not overflowed; their powers go in a cycle of two.
      for (std::int64_t n = b > 64 ? 64 + b % 2 : b; n > 0 && !overflows; --n)
        overflows = __builtin_mul_overflow(result, a, &result);
    } else {
      return none();
    }
    return overflows ? none() : some(Argument(result));
  }
};

/// Binds the symbols of one graph.
class SymbolBinder {
 public:
  constexpr SymbolBinder(Graph& graph, Span<const SymbolBinding> bindings)
      : graph_(graph), bindings_(bindings), edit_(graph) {}

  /// How many nodes were computed.
  [[nodiscard]] constexpr auto folded() const -> std::int64_t { return folded_; }
  constexpr auto run(Context& context) -> Status {
    check_ranges();
    bind_expressions();
    if (!errors_.empty()) return std::move(errors_);
    known_.resize(graph_.node_count(), 0);
    values_.resize(graph_.node_count(), Argument());
    for (NodeId id; id.index < graph_.node_count(); ++id.index) visit(id);
    if (!errors_.empty()) return std::move(errors_);
    context.renumbered(edit_.commit());
    return {};
  }

 private:
  /// Sizes that the program was not exported for give no module.
  constexpr void check_ranges() {
    Pool<SizeRange> open;
    for (const SizeRange& range : graph_.size_ranges()) {
      const std::string_view expression = graph_.text(range.expression);
      const auto value = evaluate_symbolic(expression, bindings_);
      if (!value) {
        errors_.add(value.error());
      } else if (!*value) {
        open.push_back(range);
      } else if (**value < range.min || **value > range.max) {
        Text bounds = text_of("at least ", range.min);
        if (range.max != std::numeric_limits<std::int64_t>::max()) append_all(bounds, " and at most ", range.max);
        errors_.add(Diagnostic::error(DiagnosticCode::invalid_option,
                                      text_of(expression, " would be ", **value,
                                              ", but the program was exported for ", bounds)));
      }
    }
    graph_.clear_size_ranges();
    for (const SizeRange& range : open) graph_.add_size_range(range);
  }
  constexpr void bind_expressions() {
    Pool<SymInt> numbers;
    for (std::uint32_t i = 0; i < graph_.expression_count(); ++i) {
      numbers.push_back(SymInt::expression(i));
      const auto value = evaluate_symbolic(graph_.expression(numbers.back()), bindings_);
      if (!value) errors_.add(value.error());
      if (value && *value) numbers.back() = **value;
    }
    if (errors_.empty()) graph_.replace_expressions(numbers.view());
  }

  constexpr void visit(NodeId id) {
    check_extent(id);
    substitute(graph_.mutable_arguments(id));
    const auto value = value_of(id);
    if (!value) {
      for (const Diagnostic& d : value.error()) errors_.add(error_at(graph_, id, d.code, d.message));
      return;
    }
    if (!*value) return;
    known_[id.index] = 1;
    values_[id.index] = **value;
    if (graph_.node(id).kind == NodeKind::placeholder) return;
    edit_.erase(id);
    ++folded_;
  }
  constexpr void check_extent(NodeId id) {
    for (const TensorMeta& meta : graph_.values(id)) {
      if (!meta.known) continue;
      bool is_negative = false;
      for (const SymInt size : graph_.sizes(meta))
        is_negative = is_negative || (!size.is_symbolic() && size.value() < 0);
      if (is_negative || !is_addressable(meta.dtype, graph_.sizes(meta), graph_.strides(meta), meta.storage_offset))
        errors_.add(error_at(graph_, id, DiagnosticCode::invalid_option,
                             is_negative ? "has a size below 0 for these symbols"
                                         : "is too large for any memory for these symbols"));
    }
  }
  constexpr void substitute(Span<Argument> arguments) {
    for (Argument& a : arguments) {
      if (a.is_node()) {
        if (known_[a.node().index] != 0) a = Argument(values_[a.node().index]).with_keyword(a.keyword());
      } else if (a.is_group()) {
        substitute(graph_.mutable_children(a));
      }
    }
  }

  /// What the node is, if that is a number now; `None` for an assertion that holds.
  constexpr auto value_of(NodeId id) -> Expected<std::optional<Argument>> {
    const Node& node = graph_.node(id);
    const std::string_view target = graph_.target(id);
    const auto arguments = graph_.arguments(id);
    if (node.kind == NodeKind::placeholder) return placeholder(id);
    if (node.kind != NodeKind::call_function && node.kind != NodeKind::call_method) return std::optional<Argument>();
    if (const auto assertion = assertion_on(target, arguments)) {
      if (*assertion) return std::optional<Argument>(Argument());
      return Diagnostic::error(DiagnosticCode::eager_would_raise,
                               "what the program asserts of its sizes does not hold for these symbols");
    }
    if (node.value_kind != ValueKind::sym_int && node.value_kind != ValueKind::scalar) return std::optional<Argument>();
    if (const auto number = number_of_tensor(target, arguments); number) return number;
    return SizeArithmetic::call(target, arguments);
  }
  /// Dynamo calls an input that is a size by its symbol.
  [[nodiscard]] constexpr auto placeholder(NodeId id) const -> std::optional<Argument> {
    if (graph_.node(id).value_kind != ValueKind::sym_int) return std::nullopt;
    for (const SymbolBinding& b : bindings_)
      if (graph_.name(id) == b.symbol) return Argument(b.value);
    return std::nullopt;
  }
  /// Whether an assertion holds; none for what is no assertion, or not on numbers.
  [[nodiscard]] constexpr auto assertion_on(std::string_view target, Span<const Argument> arguments) const
      -> std::optional<bool> {
    if (arguments.empty() || !SizeArithmetic::is_number(arguments[0])) return std::nullopt;
    if (target == "torch.ops.aten._assert_scalar.default" || target == "torch._check")
      return SizeArithmetic::truth(arguments[0]);
    const bool is_range = target == "torch.ops.aten.sym_constrain_range.default" ||
                          target == "torch.ops.aten.sym_constrain_range_for_size.default" ||
                          target == "torch._check_is_size" || target == "torch._constrain_as_size";
    if (!is_range || !arguments[0].is(ArgumentKind::integer)) return std::nullopt;
    bool holds = arguments[0].integer() >= 0 || target == "torch.ops.aten.sym_constrain_range.default";
    for (const Argument& a : arguments.subspan(1)) {
      if (!a.is(ArgumentKind::integer)) continue;
      if (graph_.text(a.keyword()) == "min") holds = holds && arguments[0].integer() >= a.integer();
      if (graph_.text(a.keyword()) == "max") holds = holds && arguments[0].integer() <= a.integer();
    }
    return holds;
  }
  /// A size, or another number of a tensor, that its metadata states.
  [[nodiscard]] constexpr auto number_of_tensor(std::string_view target, Span<const Argument> arguments) const
      -> std::optional<Argument> {
    if (arguments.empty() || !arguments[0].is_node()) return std::nullopt;
    const TensorMeta* meta = graph_.tensor(arguments[0].node());
    if (meta == nullptr) return std::nullopt;
    const auto number = [](SymInt s) -> std::optional<Argument> {
      if (s.is_symbolic()) return std::nullopt;
      return Argument(s.value());
    };
    if (target == "torch.ops.aten.sym_storage_offset.default") return number(meta->storage_offset);
    if (target == "torch.ops.aten.sym_numel.default" || target == "numel") {
      std::int64_t count = 1;
      for (const SymInt size : graph_.sizes(*meta)) {
        if (size.is_symbolic()) return std::nullopt;
        count *= size.value();
      }
      return Argument(count);
    }
    const bool is_size = target == "torch.ops.aten.sym_size.int" || target == "size";
    if (!is_size && target != "torch.ops.aten.sym_stride.int") return std::nullopt;
    if (arguments.size() != 2 || !arguments[1].is(ArgumentKind::integer)) return std::nullopt;
    const std::int64_t rank = meta->rank;
    const std::int64_t dim = arguments[1].integer() + (arguments[1].integer() < 0 ? rank : 0);
    if (dim < 0 || dim >= rank) return std::nullopt;
    return number((is_size ? graph_.sizes(*meta) : graph_.strides(*meta))[static_cast<std::size_t>(dim)]);
  }

  Graph& graph_;
  Span<const SymbolBinding> bindings_;
  Editor edit_;
  Pool<std::uint8_t> known_;  ///< by node: whether it is a number
  Pool<Argument> values_;     ///< and which
  Diagnostics errors_;
  std::int64_t folded_ = 0;
};

/// Calls `visit` for each symbol of a graph and of those that it calls, some several times.
template <class F>
constexpr void for_each_symbol_of(const Graph& graph, F visit) {
  for (const SizeRange& range : graph.size_ranges()) for_each_symbol(graph.text(range.expression), visit);
  for (std::uint32_t i = 0; i < graph.expression_count(); ++i)
    for_each_symbol(graph.expression(SymInt::expression(i)), [&](std::string_view symbol) {
      if (symbol != unknown_number) visit(symbol);
    });
  for (const InputSpec& input : graph.inputs())
    if (graph.node(input.node).value_kind == ValueKind::sym_int) visit(graph.name(input.node).view());
  for (const Graph& inner : graph.subgraphs()) for_each_symbol_of(inner, visit);
}

}  // namespace detail

/// Puts numbers in the place of symbols: in metadata, in arguments, and in what nodes compute from sizes. Nodes that
/// become numbers are taken out; assertions on sizes are checked and taken out. Symbols without a number stay. Counts
/// `folded_nodes`. To be run before aliases are analysed.
///
///     const SymbolBinding bindings[] = {{"s77", 128}};
///     const auto module = program.and_then(BindSymbolsPass{bindings} | get_default_pass_manager());
///
/// Errors: `invalid_option` for a symbol that the program has not, or a number outside of what it was exported for;
/// `symbolic_size` for an expression that is no whole number then; `eager_would_raise` for an assertion that does not
/// hold. O(nodes + arguments + expressions x bindings).
struct BindSymbolsPass {
  static constexpr std::string_view name = "bind_symbols";
  using keeps = everything_but<AliasesAnalysed>;

  /// What is bound; has to outlive the run.
  Span<const SymbolBinding> bindings;

  constexpr auto run(Graph& graph, Context& context) const -> Status {
    context.count("folded_nodes", 0);
    if (bindings.empty()) {
      context.claim_unchanged();
      return {};
    }
    if (Status known = check_symbols(graph); !known) return known;
    return bind(graph, context);
  }

 private:
  constexpr auto bind(Graph& graph, Context& context) const -> Status {
    detail::SymbolBinder binder(graph, bindings);
    if (Status done = binder.run(context); !done) return done;
    context.count("folded_nodes", binder.folded());
    // Their moves are of nobody else's concern.
    for (std::uint32_t i = 0; i < graph.subgraphs().size(); ++i) {
      Context own;
      if (Status done = bind(graph.mutable_subgraph(i), own); !done) return done;
    }
    return {};
  }
  constexpr auto check_symbols(const Graph& graph) const -> Status {
    Diagnostics errors;
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      bool is_there = false;
      detail::for_each_symbol_of(graph, [&](std::string_view symbol) { is_there = is_there || symbol == bindings[i].symbol; });
      if (!is_there)
        errors.add(Diagnostic::error(DiagnosticCode::invalid_option,
                                     text_of("no size of the program is called ", bindings[i].symbol, symbols_of(graph))));
      for (std::size_t k = 0; k < i; ++k)
        if (bindings[k].symbol == bindings[i].symbol)
          errors.add(Diagnostic::error(DiagnosticCode::invalid_option,
                                       text_of(bindings[i].symbol, " is bound twice")));
    }
    if (!errors.empty()) return errors;
    return {};
  }
  /// For a message: "; it has s27 s77".
  [[nodiscard]] static constexpr auto symbols_of(const Graph& graph) -> Text {
    Text names(" ");
    detail::for_each_symbol_of(graph, [&](std::string_view symbol) {
      if (names.view().find(text_of(' ', symbol, ' ').view()) == std::string_view::npos) append_all(names, symbol, ' ');
    });
    if (names.size() == 1) return Text("; all its sizes are numbers");
    return text_of("; it has", names.view().substr(0, names.size() - 1));
  }
};

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/span.hpp>
#include <fxpass/support/text.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// What went wrong, as a value: a code, a sentence, the node, the line of the model, the place in the file.

namespace fxpass {

/// The kind of a mistake; printed in brackets behind the sentence, stable for scripts.
enum class DiagnosticCode : std::uint8_t {
  invalid_graph,          ///< a rule of graph/verify.hpp is broken
  invalid_hlo,            ///< a rule of hlo/verify.hpp is broken
  file_unreadable,        ///< the file cannot be opened or is cut short
  file_unwritable,        ///< the file cannot be written
  file_malformed,         ///< the file is not what its format demands
  schema_unsupported,     ///< a schema version that this reader does not know
  unknown_dtype,          ///< a dtype that this version does not know
  missing_lowering,       ///< no lowering for an operator
  missing_metadata,       ///< a decision needs shapes, strides or dtypes that the graph does not hold
  symbolic_size,          ///< a size that is not a number where a number is needed
  unsupported,            ///< legal PyTorch that fxpass does not carry out
  unsupported_mutation,   ///< a write that fxpass cannot carry out; never dropped
  eager_would_raise,      ///< PyTorch itself refuses this program
  unknown_kernel,         ///< a kernel that no registry knows
  unresolved_group,       ///< a process group without a partition of all ranks
  invalid_process_group,  ///< a partition that is not one
  fact_violated,          ///< a module is not what it is said to be
  illegal_for_target,     ///< the target refuses this type or operation
  no_convergence,         ///< a repeated pass does not settle
  invalid_option,         ///< a command-line or API option that makes no sense
};

/// The name that is printed in brackets and never changes: "missing-lowering".
[[nodiscard]] constexpr auto to_string(DiagnosticCode code) -> std::string_view {
  switch (code) {
    case DiagnosticCode::invalid_graph: return "invalid-graph";
    case DiagnosticCode::invalid_hlo: return "invalid-hlo";
    case DiagnosticCode::file_unreadable: return "file-unreadable";
    case DiagnosticCode::file_unwritable: return "file-unwritable";
    case DiagnosticCode::file_malformed: return "file-malformed";
    case DiagnosticCode::schema_unsupported: return "schema-unsupported";
    case DiagnosticCode::unknown_dtype: return "unknown-dtype";
    case DiagnosticCode::missing_lowering: return "missing-lowering";
    case DiagnosticCode::missing_metadata: return "missing-metadata";
    case DiagnosticCode::symbolic_size: return "symbolic-size";
    case DiagnosticCode::unsupported: return "unsupported";
    case DiagnosticCode::unsupported_mutation: return "unsupported-mutation";
    case DiagnosticCode::eager_would_raise: return "eager-would-raise";
    case DiagnosticCode::unknown_kernel: return "unknown-kernel";
    case DiagnosticCode::unresolved_group: return "unresolved-group";
    case DiagnosticCode::invalid_process_group: return "invalid-process-group";
    case DiagnosticCode::fact_violated: return "fact-violated";
    case DiagnosticCode::illegal_for_target: return "illegal-for-target";
    case DiagnosticCode::no_convergence: return "no-convergence";
    case DiagnosticCode::invalid_option: return "invalid-option";
  }
  return "unknown";
}

/// An error ends what was being done; a warning does not.
enum class Severity : std::uint8_t { error, warning };

/// A place in a text file. Line and column count from 1; 0 is "not known".
struct SourcePlace {
  Text file;                 ///< as it was given, or as Python's traceback has it
  std::uint32_t line = 0;    ///< from 1
  std::uint32_t column = 0;  ///< from 1

  friend constexpr auto operator==(const SourcePlace&, const SourcePlace&) -> bool = default;
};

/// One finding. `node` and `model` say where in the program, `input` where in the file that was read; `error_at` of
/// graph/call.hpp fills in the former.
struct Diagnostic {
  DiagnosticCode code = DiagnosticCode::unsupported;  ///< what kind of mistake
  Severity severity = Severity::error;  ///< whether it ends the run
  Text message;       ///< one sentence, no trailing full stop
  Text node;          ///< name of the node concerned, or empty
  SourcePlace model;  ///< line of the user's model, from the node's stack trace
  SourcePlace input;  ///< place in the file that was read

  /// An error or a warning that names no place yet: whoever knows one adds it.
  [[nodiscard]] static constexpr auto error(DiagnosticCode code, Text message) -> Diagnostic {
    Diagnostic d;
    d.code = code;
    d.message = std::move(message);
    return d;
  }
  [[nodiscard]] static constexpr auto warning(DiagnosticCode code, Text message) -> Diagnostic {
    Diagnostic d = error(code, std::move(message));
    d.severity = Severity::warning;
    return d;
  }

  friend constexpr auto operator==(const Diagnostic&, const Diagnostic&) -> bool = default;
};

/// Writes a diagnostic on one line: `file:line:col: error: message [code]` where a file is at fault,
/// `node (model.py:12): error: message [code]` where a node is.
template <TextSink Sink>
constexpr void append_to(Sink& sink, const Diagnostic& d) {
  const auto place = [&](const SourcePlace& p) {
    append_to(sink, p.file);
    if (p.line != 0) append_all(sink, ':', p.line);
    if (p.line != 0 && p.column != 0) append_all(sink, ':', p.column);
  };
  bool located = false;
  if (!d.input.file.empty()) {
    place(d.input);
    append_to(sink, ": ");
    located = true;
  }
  if (!d.node.empty()) {
    append_to(sink, d.node);
    if (!d.model.file.empty()) {
      append_to(sink, " (");
      place(d.model);
      append_to(sink, ")");
    }
    append_to(sink, ": ");
    located = true;
  }
  if (!located) append_to(sink, "fxpass: ");
  append_to(sink, d.severity == Severity::error ? "error: " : "warning: ");
  append_all(sink, d.message, " [", to_string(d.code), "]");
}

/// Findings in the order they were made. As the error of an `Expected` it holds at least one error.
class Diagnostics {
 public:
  constexpr Diagnostics() = default;
  /// One finding, as the error of an `Expected` or to be added to.
  constexpr Diagnostics(Diagnostic d) { add(std::move(d)); }  // NOLINT(google-explicit-constructor)
  constexpr Diagnostics(const Diagnostics& other) {
    if (other.list_ != nullptr) list_ = new std::vector<Diagnostic>(*other.list_);
  }
  constexpr Diagnostics(Diagnostics&& other) noexcept : list_(std::exchange(other.list_, nullptr)) {}
  constexpr auto operator=(const Diagnostics& other) -> Diagnostics& { return *this = Diagnostics(other); }
  constexpr auto operator=(Diagnostics&& other) noexcept -> Diagnostics& {
    std::swap(list_, other.list_);
    return *this;
  }
  constexpr ~Diagnostics() {
    if (list_ != nullptr) destroy(list_);
  }

  /// Appends one finding, or all those of another list in their order. Amortised O(1) each.
  constexpr void add(Diagnostic d) {
    if (list_ == nullptr) list_ = new std::vector<Diagnostic>();
    list_->push_back(std::move(d));
  }
  constexpr void add(Diagnostics more) {
    for (Diagnostic& d : more) add(std::move(d));
  }

  /// The findings, in the order in which they were made.
  [[nodiscard]] constexpr auto data() const -> const Diagnostic* { return begin(); }
  [[nodiscard]] constexpr auto begin() const -> const Diagnostic* { return empty() ? nullptr : list_->data(); }
  [[nodiscard]] constexpr auto end() const -> const Diagnostic* { return begin() + size(); }
  [[nodiscard]] constexpr auto begin() -> Diagnostic* { return empty() ? nullptr : list_->data(); }
  [[nodiscard]] constexpr auto end() -> Diagnostic* { return begin() + size(); }
  /// How many there are, and whether there is none.
  [[nodiscard]] constexpr auto size() const -> std::size_t { return empty() ? 0 : list_->size(); }
  [[nodiscard]] constexpr auto empty() const -> bool { return list_ == nullptr; }
  /// The first finding. Needs one.
  [[nodiscard]] constexpr auto front() const -> const Diagnostic& { return list_->front(); }
  /// Whether one of them is an error, not a warning. O(size).
  [[nodiscard]] constexpr auto has_error() const -> bool {
    for (const Diagnostic& d : *this)
      if (d.severity == Severity::error) return true;
    return false;
  }
  friend constexpr auto operator==(const Diagnostics& a, const Diagnostics& b) -> bool {
    return same_elements(Span<const Diagnostic>(a), Span<const Diagnostic>(b));
  }

 private:
  [[gnu::noinline]] static constexpr void destroy(std::vector<Diagnostic>* list) { delete list; }

  // Null if there are none: they are what a `Status` is made of, one of which is returned for each node by each pass.
  std::vector<Diagnostic>* list_ = nullptr;
};

/// One finding a line, each with a line break behind it.
template <TextSink Sink>
constexpr void append_to(Sink& sink, const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics) append_all(sink, d, '\n');
}

namespace detail {
/// Says in which graph inside the graph errors are.
[[nodiscard]] constexpr auto in_subgraph(std::uint32_t number, Diagnostics errors) -> Diagnostics {
  for (Diagnostic& d : errors) d.message = text_of("in subgraph ", number, ": ", d.message);
  return errors;
}
}  // namespace detail

}  // namespace fxpass

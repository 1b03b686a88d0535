// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/call.hpp>
#include <fxpass/support/expected.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// What is known of compiled kernels, and the reading of `nki_kernel_wrapper` calls.

namespace fxpass {

/// Operand `operand` of a kernel is written: its new value is result `result`.
struct KernelAlias {
  std::uint32_t operand = 0;  ///< counted among the arguments of the call, or its tensor arguments
  std::uint32_t result = 0;   ///< 0 for a kernel with one result
  friend constexpr auto operator==(KernelAlias, KernelAlias) -> bool = default;
};

/// One compiled kernel, as the kernel compiler describes it.
struct KernelEntry {
  std::int64_t kernel_idx = 0;  ///< the index that the call names
  Text backend_config;          ///< opaque text for the backend
  Pool<KernelAlias> aliases;    ///< operands are counted among the tensor arguments alone
};

/// Compiled kernels by their index. A value; filled before the pipeline runs.
///
///     KernelRegistry kernels;
///     kernels.add({.kernel_idx = 3, .backend_config = config, .aliases = {}});
///     const auto passes = get_default_pass_manager({.kernels = &kernels});
class KernelRegistry {
 public:
  /// Adds a kernel, or replaces the one with its index.
  constexpr void add(KernelEntry entry) {
    for (KernelEntry& e : entries_)
      if (e.kernel_idx == entry.kernel_idx) {
        e = std::move(entry);
        return;
      }
    entries_.push_back(std::move(entry));
  }
  /// The kernel with that index; null if unknown. O(kernels).
  [[nodiscard]] constexpr auto find(std::int64_t kernel_idx) const -> const KernelEntry* {
    for (const KernelEntry& e : entries_)
      if (e.kernel_idx == kernel_idx) return &e;
    return nullptr;
  }
  /// All kernels, in the order in which they were added.
  [[nodiscard]] constexpr auto entries() const -> Span<const KernelEntry> { return entries_; }

 private:
  std::vector<KernelEntry> entries_;
};

/// The operator of kernel calls as traced, and as functionalisation leaves it: the same call, but its results are
/// values of their own and none of its operands changes.
inline constexpr std::string_view kernel_operator = "higher_order.nki_kernel_wrapper";
inline constexpr std::string_view functional_kernel_operator = "higher_order.nki_kernel_wrapper_functional";

namespace detail {
inline constexpr ops::CatalogRow kernel_row = ops::find_overload("higher_order.nki_kernel_wrapper.default");
inline constexpr ops::CatalogRow functional_kernel_row =
    ops::find_overload("higher_order.nki_kernel_wrapper_functional.default");
}  // namespace detail

/// Whether calls of `op` call a kernel, in either form.
[[nodiscard]] constexpr auto is_kernel_call(const Operator& op) -> bool {
  return op.row == detail::kernel_row || op.row == detail::functional_kernel_row;
}

/// Where the arguments of kernel calls are: calls of one graph give them in one order, as a rule, so that the next call is
/// read without a look at the texts of its keywords.
class KernelKeywords {
 public:
  /// What an argument is to the call.
  enum class Role : std::uint8_t { other, kernel_idx, backend_config, aliases, arguments };
  /// Stands for an argument that the call does not have.
  static constexpr std::uint32_t not_given = 0xffffffffU;
  /// By role, the position among the arguments.
  struct Positions {
    /// Indexed by `Role`.
    std::uint32_t of[5] = {not_given, not_given, not_given, not_given, not_given};
  };

  /// The positions in a call with these arguments. Valid until the next call.
  constexpr auto positions(const Graph& graph, Span<const Argument> arguments) -> const Positions& {
    if (!matches(arguments)) learn(graph, arguments);
    return positions_;
  }

 private:
  [[nodiscard]] constexpr auto matches(Span<const Argument> arguments) const -> bool {
    if (keywords_.size() != arguments.size()) return false;
    for (std::uint32_t i = 0; i < keywords_.size(); ++i)
      if (keywords_[i] != arguments[i].keyword()) return false;
    return true;
  }
  constexpr void learn(const Graph& graph, Span<const Argument> arguments) {
    keywords_.clear();
    positions_ = {};
    for (std::uint32_t i = 0; i < arguments.size(); ++i) {
      keywords_.push_back(arguments[i].keyword());
      positions_.of[static_cast<std::size_t>(role_of(graph.text(arguments[i].keyword())))] = i;
    }
  }
  [[nodiscard]] static constexpr auto role_of(std::string_view keyword) -> Role {
    if (keyword == "kernel_idx") return Role::kernel_idx;
    if (keyword == "backend_config") return Role::backend_config;
    if (keyword == "operand_output_aliases") return Role::aliases;
    return keyword == "args" ? Role::arguments : Role::other;
  }

  Pool<TextId> keywords_;  ///< of the last call
  Positions positions_;
};

/// Reads one kernel call, all of whose arguments have names. Valid while the node has the arguments it has.
class KernelCall {
  using Role = KernelKeywords::Role;

 public:
  /// Stands for an argument that the call does not have.
  static constexpr std::uint32_t not_given = KernelKeywords::not_given;

  /// Of node `id`, a kernel call. O(arguments).
  constexpr KernelCall(const Graph& graph, NodeId id)
      : graph_(&graph), id_(id), positions_(KernelKeywords().positions(graph, graph.arguments(id))) {}
  /// The same, for those who read many calls of the graph.
  constexpr KernelCall(const Graph& graph, NodeId id, KernelKeywords& keywords)
      : graph_(&graph), id_(id), positions_(keywords.positions(graph, graph.arguments(id))) {}

  /// What is read.
  [[nodiscard]] constexpr auto graph() const -> const Graph& { return *graph_; }
  [[nodiscard]] constexpr auto id() const -> NodeId { return id_; }
  /// The index of the kernel in a registry; none where the call names none.
  [[nodiscard]] constexpr auto kernel_idx() const -> std::optional<std::int64_t> {
    const Argument a = argument(Role::kernel_idx);
    return a.is(ArgumentKind::integer) ? std::optional(a.integer()) : std::nullopt;
  }
  /// Its configuration; empty where it has none.
  [[nodiscard]] constexpr auto backend_config() const -> std::string_view {
    const Argument a = argument(Role::backend_config);
    return a.is(ArgumentKind::string) ? graph_->text(a.text()) : std::string_view();
  }
  /// The kernel's arguments: tensors and constants mixed.
  [[nodiscard]] constexpr auto arguments() const -> Span<const Argument> {
    const Argument a = argument(Role::arguments);
    return a.is_sequence() ? graph_->children(a) : Span<const Argument>();
  }
  /// Where the call has its configuration and its aliases, among its arguments; `not_given` where it has none.
  [[nodiscard]] constexpr auto backend_config_position() const -> std::uint32_t { return position(Role::backend_config); }
  [[nodiscard]] constexpr auto aliases_position() const -> std::uint32_t { return position(Role::aliases); }
  /// The tensor behind argument `position`, or `no_node`.
  [[nodiscard]] constexpr auto tensor_at(std::uint32_t position) const -> NodeId {
    const auto all = arguments();
    if (position >= all.size() || !all[position].is_node()) return no_node;
    return graph_->node(all[position].node()).value_kind == ValueKind::tensor ? all[position].node() : no_node;
  }
  /// Position among all arguments of the `k`-th tensor argument, or none.
  [[nodiscard]] constexpr auto tensor_position(std::uint32_t k) const -> std::optional<std::uint32_t> {
    const auto count = static_cast<std::uint32_t>(arguments().size());
    for (std::uint32_t i = 0; i < count; ++i)
      if (tensor_at(i) != no_node && k-- == 0) return i;
    return std::nullopt;
  }
  /// Appends the aliases that the call itself declares, by position among all arguments. False if they are malformed.
  [[nodiscard]] constexpr auto declared_aliases(Pool<KernelAlias>& aliases) const -> bool {
    const Argument dict = argument(Role::aliases);
    if (dict.is_none()) return true;
    if (!dict.is(ArgumentKind::dict)) return false;
    const auto items = graph_->children(dict);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (!items[i].is(ArgumentKind::integer) || !items[i + 1].is(ArgumentKind::integer)) return false;
      aliases.push_back({static_cast<std::uint32_t>(items[i].integer()),
                         static_cast<std::uint32_t>(items[i + 1].integer())});
    }
    return true;
  }
  /// What `registry`, which may be null, knows of the kernel; null if nothing. O(kernels).
  [[nodiscard]] constexpr auto entry_in(const KernelRegistry* registry) const -> const KernelEntry* {
    const auto idx = kernel_idx();
    return idx && registry != nullptr ? registry->find(*idx) : nullptr;
  }

 private:
  /// None where it is not given.
  [[nodiscard]] constexpr auto argument(Role role) const -> Argument {
    if (position(role) == not_given) return {};
    return graph_->arguments(id_)[position(role)];
  }

  [[nodiscard]] constexpr auto position(Role role) const -> std::uint32_t {
    return positions_.of[static_cast<std::size_t>(role)];
  }

  const Graph* graph_;
  NodeId id_;
  KernelKeywords::Positions positions_;
};

/// The operands that a kernel call writes, by position among all its arguments: as the call declares them, else as
/// `entry`, what is registered of the kernel, says. A call that declares none and is not registered, so that `entry` is
/// null, is an error: it is not known to write nothing. O(arguments x aliases).
[[nodiscard]] constexpr auto kernel_aliases(const KernelCall& kernel, const KernelEntry* entry)
    -> Expected<Pool<KernelAlias>> {
  const Graph& graph = kernel.graph();
  const NodeId id = kernel.id();
  Pool<KernelAlias> aliases;
  if (!kernel.declared_aliases(aliases))
    return error_at(graph, id, DiagnosticCode::unsupported,
                    "operand_output_aliases is not a dict of integers to integers");
  if (aliases.empty()) {
    // A configured call has been through the kernel compiler: an empty map then means that nothing is written.
    if (entry == nullptr && !kernel.backend_config().empty()) return aliases;
    if (entry == nullptr)
      return error_at(graph, id, DiagnosticCode::unknown_kernel,
                      text_of("kernel ", kernel.kernel_idx().value_or(-1), " declares no aliases and is in no kernel "
                              "registry, so what it writes is not known; register it (--nki-kernels)"));
    for (const KernelAlias alias : entry->aliases) {
      const auto position = kernel.tensor_position(alias.operand);
      if (!position)
        return error_at(graph, id, DiagnosticCode::unknown_kernel,
                        text_of("kernel ", entry->kernel_idx, " is registered with an alias of tensor argument ",
                                alias.operand, ", which the call does not have"));
      aliases.push_back({*position, alias.result});
    }
  }
  for (const KernelAlias alias : aliases)
    if (kernel.tensor_at(alias.operand) == no_node)
      return error_at(graph, id, DiagnosticCode::unsupported,
                      text_of("operand_output_aliases names argument ", alias.operand, ", which is no tensor"));
  return aliases;
}

/// Writes `aliases`, by position among all arguments, into the call's keyword `operand_output_aliases`, if they are not
/// those it has.
constexpr void set_kernel_aliases(Graph& graph, const KernelCall& kernel, const Pool<KernelAlias>& aliases) {
  if (kernel.aliases_position() == KernelCall::not_given) return;
  const std::uint32_t at = graph.node(kernel.id()).arguments.begin + kernel.aliases_position();
  const Argument old = graph.arguments_in({at, 1})[0];
  // What a call declares is what it is said to have; only one that declares nothing is told.
  if (old.is(ArgumentKind::dict) && old.children().count == 2 * aliases.size()) return;
  Range items{graph.argument_count(), 2 * aliases.size()};
  for (const KernelAlias alias : aliases) {
    const Argument item[] = {alias.operand, alias.result};
    graph.add_arguments(item);
  }
  graph.mutable_arguments_in({at, 1})[0] = Argument::group(ArgumentKind::dict, items).with_keyword(old.keyword());
}

}  // namespace fxpass

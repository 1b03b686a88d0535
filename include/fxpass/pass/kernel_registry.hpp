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
  std::uint32_t operand = 0;
  std::uint32_t result = 0;
  friend constexpr auto operator==(KernelAlias, KernelAlias) -> bool = default;
};

/// One compiled kernel, as the kernel compiler describes it.
struct KernelEntry {
  std::int64_t kernel_idx = 0;  ///< the index that the call names
  Text backend_config;          ///< opaque text for the backend
  Pool<KernelAlias> aliases;    ///< operands are counted among the tensor arguments alone
};

/// Compiled kernels by their index. A value; filled before the pipeline runs.
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
  /// Null if unknown. O(kernels).
  [[nodiscard]] constexpr auto find(std::int64_t kernel_idx) const -> const KernelEntry* {
    for (const KernelEntry& e : entries_)
      if (e.kernel_idx == kernel_idx) return &e;
    return nullptr;
  }
  [[nodiscard]] constexpr auto entries() const -> Span<const KernelEntry> { return entries_; }

 private:
  std::vector<KernelEntry> entries_;
};

/// The operator of kernel calls as traced, and as functionalisation leaves it: the same call, but its results are
/// values of their own and none of its operands changes.
inline constexpr std::string_view kernel_operator = "higher_order.nki_kernel_wrapper";
inline constexpr std::string_view functional_kernel_operator = "higher_order.nki_kernel_wrapper_functional";

/// Whether node `id` calls a kernel, in either form.
[[nodiscard]] constexpr auto is_kernel_call(const Graph& graph, const Operator& op) -> bool {
  if (op.row < ops::aten_rows || op.row == ops::no_row) return false;  // what most nodes are
  const std::string_view base = graph.schema(op).base();
  return base == kernel_operator || base == functional_kernel_operator;
}

/// Reads one kernel call.
class KernelCall {
 public:
  constexpr KernelCall(const Graph& graph, NodeId id) : call_(graph, id) {}

  [[nodiscard]] constexpr auto kernel_idx() const -> std::optional<std::int64_t> {
    return call_.integer("kernel_idx");
  }
  [[nodiscard]] constexpr auto backend_config() const -> std::string_view {
    return call_.string("backend_config").value_or("");
  }
  /// The kernel's arguments: tensors and constants mixed.
  [[nodiscard]] constexpr auto arguments() const -> Span<const Argument> {
    return call_.list("args").value_or(Span<const Argument>());
  }
  /// The tensor behind argument `position`, or `no_node`.
  [[nodiscard]] constexpr auto tensor_at(std::uint32_t position) const -> NodeId {
    const auto all = arguments();
    if (position >= all.size() || !all[position].is_node()) return no_node;
    return call_.graph().node(all[position].node()).value_kind == ValueKind::tensor ? all[position].node() : no_node;
  }
  /// Position among all arguments of the `k`-th tensor argument, or none.
  [[nodiscard]] constexpr auto tensor_position(std::uint32_t k) const -> std::optional<std::uint32_t> {
    const auto count = static_cast<std::uint32_t>(arguments().size());
    for (std::uint32_t i = 0; i < count; ++i)
      if (tensor_at(i) != no_node && k-- == 0) return i;
    return std::nullopt;
  }
  /// The aliases that the call itself declares, by position among all arguments. None if malformed.
  [[nodiscard]] constexpr auto declared_aliases() const -> std::optional<Pool<KernelAlias>> {
    Pool<KernelAlias> aliases;
    const auto dict = call_.given("operand_output_aliases");
    if (!dict || dict->is_none()) return aliases;
    if (!dict->is(ArgumentKind::dict)) return std::nullopt;
    const auto items = call_.graph().children(*dict);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (!items[i].is(ArgumentKind::integer) || !items[i + 1].is(ArgumentKind::integer)) return std::nullopt;
      aliases.push_back({static_cast<std::uint32_t>(items[i].integer()),
                         static_cast<std::uint32_t>(items[i + 1].integer())});
    }
    return aliases;
  }
  [[nodiscard]] constexpr auto call() const -> const Call& { return call_; }

 private:
  Call call_;
};

/// The operands that a kernel call writes, by position among all its arguments: as the call declares them, else as the
/// registry knows them. A call that declares none and is not registered is an error: it is not known to write nothing.
[[nodiscard]] constexpr auto kernel_aliases(const Graph& graph, NodeId id, const KernelRegistry* registry)
    -> Expected<Pool<KernelAlias>> {
  const KernelCall kernel(graph, id);
  auto declared = kernel.declared_aliases();
  if (!declared)
    return error_at(graph, id, DiagnosticCode::unsupported,
                    "operand_output_aliases is not a dict of integers to integers");
  if (declared->empty()) {
    const auto idx = kernel.kernel_idx();
    const KernelEntry* entry = idx && registry != nullptr ? registry->find(*idx) : nullptr;
    // A configured call has been through the kernel compiler: an empty map then means that nothing is written.
    if (entry == nullptr && !kernel.backend_config().empty()) return *declared;
    if (entry == nullptr)
      return error_at(graph, id, DiagnosticCode::unknown_kernel,
                      text_of("kernel ", idx.value_or(-1), " declares no aliases and is in no kernel registry, so "
                              "what it writes is not known; register it (--nki-kernels)"));
    for (const KernelAlias alias : entry->aliases) {
      const auto position = kernel.tensor_position(alias.operand);
      if (!position)
        return error_at(graph, id, DiagnosticCode::unknown_kernel,
                        text_of("kernel ", entry->kernel_idx, " is registered with an alias of tensor argument ",
                                alias.operand, ", which the call does not have"));
      declared->push_back({*position, alias.result});
    }
  }
  for (const KernelAlias alias : *declared)
    if (kernel.tensor_at(alias.operand) == no_node)
      return error_at(graph, id, DiagnosticCode::unsupported,
                      text_of("operand_output_aliases names argument ", alias.operand, ", which is no tensor"));
  return std::move(*declared);
}

/// Writes `aliases`, by position among all arguments, into the call's keyword `operand_output_aliases`.
constexpr void set_kernel_aliases(Graph& graph, NodeId id, const Pool<KernelAlias>& aliases) {
  Pool<Argument> items;
  for (const KernelAlias alias : aliases) {
    items.push_back(alias.operand);
    items.push_back(alias.result);
  }
  const Argument dict = Argument::group(ArgumentKind::dict, graph.add_arguments(items.view()));
  for (Argument& a : graph.mutable_arguments(id))
    if (a.is_keyword() && graph.text(a.keyword()) == "operand_output_aliases") a = dict.with_keyword(a.keyword());
}

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/pass/kernel_registry.hpp>
#include <fxpass/passes/facts.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// `NkiKernelWriteBackendConfigPass`: kernel calls get the configuration of the compiled kernel.

namespace fxpass {

/// Writes `backend_config` and `operand_output_aliases` of the registered kernel into each call of
/// `nki_kernel_wrapper`. The registry counts tensor arguments alone; the call counts all arguments. A call that has a
/// configuration and is not registered keeps it. Counts `kernel_call_count`.
struct NkiKernelWriteBackendConfigPass {
  static constexpr std::string_view name = "nki_kernel_backend_config_pass";
  using establishes = facts<KernelsConfigured>;
  using keeps = everything;

  /// May be null: then every call has to carry its configuration already.
  const KernelRegistry* kernels = nullptr;

  struct State {
    std::int64_t kernel_call_count = 0;  ///< calls so far
  };

  constexpr auto begin(Graph&, Artifacts<NkiKernelWriteBackendConfigPass>&, Context&) const -> State { return {}; }
  [[nodiscard]] static constexpr auto wants(const Operator& op) -> bool {
    return op.kind == NodeKind::call_function && op.row >= ops::aten_rows && op.row != ops::no_row;
  }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    if (!is_kernel_call(graph, graph.op(id))) return {};
    ++state.kernel_call_count;
    const auto kernel_idx = KernelCall(graph, id).kernel_idx();
    const KernelEntry* entry = kernel_idx && kernels != nullptr ? kernels->find(*kernel_idx) : nullptr;
    if (entry == nullptr) {
      if (!KernelCall(graph, id).backend_config().empty()) return {};
      return error_at(graph, id, DiagnosticCode::unknown_kernel,
                      text_of("kernel ", kernel_idx.value_or(-1), " is in no kernel registry, so it has no "
                              "backend_config; register it (--nki-kernels)"));
    }
    const auto aliases = kernel_aliases(graph, id, kernels);
    if (!aliases) return aliases.error();
    set_kernel_aliases(graph, id, *aliases);
    const TextId config = graph.add_text(entry->backend_config);
    for (Argument& a : graph.mutable_arguments(id))
      if (a.is_keyword() && graph.text(a.keyword()) == "backend_config")
        a = Argument::string(config).with_keyword(a.keyword());
    return {};
  }
  constexpr auto finish(State& state, Graph&, Context& context) const -> Status {
    context.count("kernel_call_count", state.kernel_call_count);
    return {};
  }
};

}  // namespace fxpass

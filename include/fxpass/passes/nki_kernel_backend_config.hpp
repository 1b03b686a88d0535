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
///
/// Errors: `unknown_kernel` for a kernel that has no configuration and is not registered; `unsupported` for
/// aliases that do not fit the call. O(operators + arguments of kernel calls).
struct NkiKernelWriteBackendConfigPass {
  static constexpr std::string_view name = "nki_kernel_backend_config_pass";
  using establishes = facts<KernelsConfigured>;
  using keeps = everything;

  /// May be null: then every call has to carry its configuration already.
  const KernelRegistry* kernels = nullptr;

  /// A kernel, and its configuration as a text of the graph.
  struct Config {
    std::int64_t kernel_idx = 0;  ///< the kernel
    TextId text;                  ///< its configuration, in the graph
  };
  struct State {
    std::int64_t kernel_call_count = 0;  ///< calls so far
    bool has_configured = false;         ///< one of them, at least
    KernelKeywords keywords;             ///< of the call before
    Pool<Config> configs;                ///< of the kernels met so far; few
  };

  constexpr auto begin(Graph&, Artifacts<NkiKernelWriteBackendConfigPass>&, Context&) const -> State { return {}; }
  [[nodiscard]] static constexpr auto wants(const Operator& op) -> bool {
    return op.kind == NodeKind::call_function && is_kernel_call(op);
  }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    ++state.kernel_call_count;
    const KernelCall kernel(graph, id, state.keywords);
    const KernelEntry* entry = kernel.entry_in(kernels);
    if (entry == nullptr) {
      if (!kernel.backend_config().empty()) return {};
      return error_at(graph, id, DiagnosticCode::unknown_kernel,
                      text_of("kernel ", kernel.kernel_idx().value_or(-1), " is in no kernel registry, so it has no "
                              "backend_config; register it (--nki-kernels)"));
    }
    const auto aliases = kernel_aliases(kernel, entry);
    if (!aliases) return aliases.error();
    state.has_configured = true;
    set_kernel_aliases(graph, kernel, *aliases);
    if (kernel.backend_config_position() != KernelCall::not_given) {
      Argument& config = graph.mutable_arguments(id)[kernel.backend_config_position()];
      config = Argument::string(config_of(state, graph, *entry)).with_keyword(config.keyword());
    }
    return {};
  }
  constexpr auto finish(State& state, Graph&, Context& context) const -> Status {
    context.count("kernel_call_count", state.kernel_call_count);
    if (!state.has_configured) context.claim_unchanged();
    return {};
  }

 private:
  static constexpr auto config_of(State& state, Graph& graph, const KernelEntry& entry) -> TextId {
    for (const Config& known : state.configs)
      if (known.kernel_idx == entry.kernel_idx) return known.text;
    state.configs.push_back({entry.kernel_idx, graph.add_text(entry.backend_config)});
    return state.configs.back().text;
  }
};

}  // namespace fxpass

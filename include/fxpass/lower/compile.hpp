// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that errors are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/lower/lower.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <string_view>
#include <utility>

/// @file
/// `compile(module, options)`: the default pipeline, then lowering.

namespace fxpass {

/// The registries have to outlive the call.
struct CompileOptions {
  bool enable_fx_passes = true;  ///< false: the module has to be in the form that the passes would give it
  std::string_view target_device = "xla";  ///< what device arguments become
  const KernelRegistry* kernels = nullptr;  ///< kernels that the program calls; null: none
  const ProcessGroups* groups = nullptr;  ///< groups that its collectives name; null: none
};

/// The HLO of a program as it was read. With the passes switched off the facts' checkers decide whether it
/// can be lowered as it is: no write into an operand, every written input with its new value among the
/// outputs, one device, no kernel or process group without its configuration. Errors: those of the passes,
/// `fact_violated` if they are switched off, and those of `lower_graph`. O(nodes + arguments + what passes
/// and lowerings make).
///
///     const Expected<LoweredModule> lowered = compile(program, {.kernels = &kernels}, neuron::trn2);
template <class Target, class List>
[[nodiscard]] constexpr auto compile(Module<> module, const CompileOptions& options, const Target& target,
                                     List list) -> Expected<LoweredModule> {
  using Verdict = detail::verdict_on_lower<Target, List>;
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  const auto to_hlo = lower(target, list);
  if (!options.enable_fx_passes)
    return check_facts<OnTargetDevice, MutationsSurfaced, OutOfPlace, KernelsConfigured, ReplicaGroupsResolved>(
               std::move(module))
        .and_then(to_hlo);
  const auto pipeline = get_default_pass_manager(
      {.target_device = options.target_device, .kernels = options.kernels, .groups = options.groups});
  return pipeline(std::move(module)).and_then(to_hlo);
}
template <class Target = XlaTarget>
[[nodiscard]] constexpr auto compile(Module<> module, const CompileOptions& options = {},
                                     const Target& target = {}) -> Expected<LoweredModule> {
  using Verdict = decltype(detail::judge_target<Target>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  return compile(std::move(module), options, target, default_lowerings);
}
/// For what is easily taken for a module: an error that says what to do.
template <detail::NoModule T, class Target = XlaTarget, class List = DefaultLowerings>
constexpr auto compile(const T&, const CompileOptions& = {}, const Target& = {}, const List& = {}) {
  using Verdict = decltype(detail::judge_argument<verdict::compile, T, verdict::give_what_it_holds>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  return Rejected();
}

}  // namespace fxpass

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/argument.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// What tracing leaves of `with` blocks, checkpoints and regions that are compiled once: graphs that are run where they
/// are called, and that a program compiled for inference may as well hold as plain code. So the readers take the
/// wrapping off, and what such a graph writes is written by the program.

namespace fxpass::detail {

/// Where, among the operands of a call that runs a region, its graph and the first of the region's own operands stand.
struct Region {
  std::uint32_t graph_at = 0;
  std::uint32_t operands_at = 1;
};
/// None for any other operator.
[[nodiscard]] constexpr auto region_of(std::string_view target) -> std::optional<Region> {
  constexpr std::string_view prefix = "torch.ops.higher_order.";
  if (!target.starts_with(prefix)) return std::nullopt;
  target.remove_prefix(prefix.size());
  if (target == "wrap_with_set_grad_enabled") return Region{1, 2};  // (enabled, graph, ...)
  if (target == "wrap_with_autocast") return Region{4, 5};          // (device, dtype, enabled, cache, graph, ...)
  if (target == "invoke_subgraph") return Region{0, 2};             // (graph, identifier, ...)
  // Keywords say how the backward pass goes about it.
  if (target == "wrap" || target == "wrap_activation_checkpoint" || target == "tag_activation_checkpoint")
    return Region{0, 1};  // (graph, ...)
  return std::nullopt;
}
/// Whether a call only opens or closes a region, or counts uses of a feature: nothing of it is to be computed.
[[nodiscard]] constexpr auto is_bookkeeping(std::string_view target) -> bool {
  return target == "torch._C._set_grad_enabled" || target == "torch._C._log_api_usage_once" ||
         target == "torch.amp.autocast_mode._enter_autocast" || target == "torch.amp.autocast_mode._exit_autocast";
}
/// Whether a call with these operands turns automatic casts on, which changes what the operators inside compute.
[[nodiscard]] constexpr auto enables_autocast(std::string_view target, Span<const Argument> operands) -> bool {
  if (target != "torch.ops.higher_order.wrap_with_autocast" && target != "torch.amp.autocast_mode._enter_autocast")
    return false;
  constexpr std::size_t enabled = 2;  // (device, dtype, enabled, cache_enabled, ...)
  return operands.size() <= enabled || !operands[enabled].is(ArgumentKind::boolean) || operands[enabled].boolean();
}
inline constexpr std::string_view autocast_is_enabled =
    "automatic casts (torch.autocast) are on here: export with autocast off, or decompose the program first";

}  // namespace fxpass::detail

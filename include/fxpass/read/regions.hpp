// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/argument.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// What tracing leaves of `with` blocks: regions that switch gradients or automatic casts. A program that is compiled
/// for inference runs them as plain code, so the readers take the wrapping off.

namespace fxpass::detail {

/// Where, among the operands of a call that runs a region, its subgraph stands; the region's own operands follow it.
/// None for any other operator.
[[nodiscard]] constexpr auto region_operand(std::string_view target) -> std::optional<std::uint32_t> {
  if (target == "torch.ops.higher_order.wrap_with_set_grad_enabled") return 1;  // (enabled, graph, ...)
  if (target == "torch.ops.higher_order.wrap_with_autocast") return 4;  // (device, dtype, enabled, cache, graph, ...)
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

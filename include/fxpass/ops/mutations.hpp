// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/ops/catalog.hpp>

#include <string_view>

/// @file
/// Which operators write into their arguments. PyTorch's schemas say so with `(a!)`; this file adds those that write
/// without saying so, and the rule for operators whose schema nobody gave.

namespace fxpass::ops {

/// Operators that update statistics in training mode though their schema has no `(a!)`.
inline constexpr std::string_view unannotated_writers[] = {
    "aten.batch_norm", "aten.cudnn_batch_norm", "aten.instance_norm", "aten.native_batch_norm",
};

/// Whether calls of the operator may write into an argument.
[[nodiscard]] constexpr auto may_write(const Schema& schema) -> bool {
  if (schema.writes()) return true;
  for (const std::string_view base : unannotated_writers)
    if (schema.base() == base) return true;
  return schema.base() == "higher_order.nki_kernel_wrapper";
}

/// Whether an operator of unknown schema has to be taken for one that writes: PyTorch's convention is a trailing
/// underscore, Python's the i of `operator.iadd`.
[[nodiscard]] constexpr auto name_says_write(std::string_view base) -> bool {
  const std::string_view last = base.substr(base.rfind('.') + 1);
  return last.ends_with('_') && !last.starts_with("__") && !last.ends_with("__");
}

}  // namespace fxpass::ops

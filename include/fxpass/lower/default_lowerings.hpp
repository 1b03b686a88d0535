// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/elementwise.hpp>
#include <fxpass/lower/shape_ops.hpp>

/// @file
/// All lowerings of the library in one list.

namespace fxpass {

inline constexpr joined_lowerings<ElementwiseLowerings, ShapeLowerings> default_lowerings;

}  // namespace fxpass

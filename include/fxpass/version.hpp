// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The one place of the version: CMake reads these three lines.
#define FXPASS_VERSION_MAJOR 0
#define FXPASS_VERSION_MINOR 1
#define FXPASS_VERSION_PATCH 0

// One number to compare with: FXPASS_VERSION >= 1'02'003 means 1.2.3 or later.
#define FXPASS_VERSION (FXPASS_VERSION_MAJOR * 100000 + FXPASS_VERSION_MINOR * 1000 + FXPASS_VERSION_PATCH)

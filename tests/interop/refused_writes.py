# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
REFUSED = {}
NOT_LOWERED = {}
NOT_SAMPLED = {}

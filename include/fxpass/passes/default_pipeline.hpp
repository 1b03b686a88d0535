// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that errors are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/pass/pipeline.hpp>
#include <fxpass/passes/aliasing_output_rewrite.hpp>
#include <fxpass/passes/collective_replica_groups.hpp>
#include <fxpass/passes/device_rewriter.hpp>
#include <fxpass/passes/inplace_to_outofplace.hpp>
#include <fxpass/passes/nki_kernel_backend_config.hpp>

#include <string_view>

/// @file
/// The default pipeline: the one place to read the order of the passes.

namespace fxpass {

/// What the passes of the default pipeline are told. The registries have to outlive the pipeline.
struct PassOptions {
  std::string_view target_device = "xla";   ///< what device arguments become
  const KernelRegistry* kernels = nullptr;  ///< kernels that the program calls; null: none
  const ProcessGroups* groups = nullptr;    ///< groups that its collectives name; null: none
};

/// Device, aliasing, in-place, kernel configuration, replica groups. Alias analysis asks the kernel registry
/// itself, so configuring kernels before it gives the same program. Errors are those of the passes. A run on
/// a `Module<>` is O(nodes + arguments + new nodes), and gives a module that `lower` takes. See
/// examples/guide.cpp.
[[nodiscard]] constexpr auto get_default_pass_manager(PassOptions options = {}) {
  return pipeline(DeviceRewriterPass{.target = options.target_device},
                  AliasingOutputRewritePass{.kernels = options.kernels}, InPlaceToOutOfPlacePass{},
                  NkiKernelWriteBackendConfigPass{.kernels = options.kernels},
                  CollectiveReplicaGroupsPass{.groups = options.groups});
}

}  // namespace fxpass

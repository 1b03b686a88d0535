// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/activations.hpp>
#include <fxpass/lower/attention.hpp>
#include <fxpass/lower/collectives.hpp>
#include <fxpass/lower/control_flow.hpp>
#include <fxpass/lower/convolution.hpp>
#include <fxpass/lower/creation.hpp>
#include <fxpass/lower/distances.hpp>
#include <fxpass/lower/elementwise.hpp>
#include <fxpass/lower/gradients.hpp>
#include <fxpass/lower/indexing.hpp>
#include <fxpass/lower/kernels.hpp>
#include <fxpass/lower/linear_algebra.hpp>
#include <fxpass/lower/losses.hpp>
#include <fxpass/lower/matrix_factors.hpp>
#include <fxpass/lower/memory.hpp>
#include <fxpass/lower/normalization.hpp>
#include <fxpass/lower/pooling.hpp>
#include <fxpass/lower/prims.hpp>
#include <fxpass/lower/quantization.hpp>
#include <fxpass/lower/recurrent.hpp>
#include <fxpass/lower/reductions.hpp>
#include <fxpass/lower/resampling.hpp>
#include <fxpass/lower/shape_ops.hpp>
#include <fxpass/lower/sorting.hpp>
#include <fxpass/lower/special_functions.hpp>
#include <fxpass/lower/spectral.hpp>

/// @file
/// All lowerings of the library in one list.

namespace fxpass {

/// All lowerings of the library, as a type with a short name.
struct DefaultLowerings
    : joined_lowerings<ElementwiseLowerings, ShapeLowerings, IndexingLowerings, CreationLowerings, ReductionLowerings,
                       LinearAlgebraLowerings, ActivationLowerings, AttentionLowerings, NormalizationLowerings,
                       ConvolutionLowerings, PoolingLowerings, CollectiveLowerings, KernelLowerings, SpecialFunctionLowerings,
                       SortingLowerings, ResamplingLowerings, MemoryLowerings, LossLowerings, ControlFlowLowerings,
                       SpectralLowerings, MatrixFactorLowerings, DistanceLowerings, GradientLowerings,
                       RecurrentLowerings, QuantizationLowerings, PrimLowerings> {};
/// The list as a value: `default_lowerings + lowerings<Mine>{}`.
inline constexpr DefaultLowerings default_lowerings;

}  // namespace fxpass

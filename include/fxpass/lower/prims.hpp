// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/elementwise.hpp>
#include <fxpass/lower/memory.hpp>
#include <fxpass/lower/reductions.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// The operators of `torch.ops.prims` whose parameters have other names or another meaning than those of ATen; the others
/// stand beside ATen's of the same name. Tracing leaves them where PyTorch's decompositions are written in terms of prims.

namespace fxpass {

/// The quotient; that of integers is rounded towards zero.
struct LowerPrimDivide {
  static constexpr std::string_view op = "prims.div";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, y] = c.operands(call, Meeting::arithmetic, "self", "other");
    return c.to_result(call, c.builder().divide(x, y));
  }
};

struct LowerPrimWhere {
  static constexpr std::string_view op = "prims.where";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return LowerWhere::choose(c, call, c.tensor(call, "pred"), c.operands(call, Meeting::common, "a", "b"));
  }
};

/// The same elements, row by row, in the result's shape.
struct LowerPrimReshape {
  static constexpr std::array<std::string_view, 5> op{"prims.reshape", "prims.split_dim", "prims.collapse",
                                                      "prims.collapse_view", "prims.squeeze"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().reshape(c.tensor(call, "a"), c.result_shape(call).dims);
  }
};

/// Says for each dimension of the tensor which one of the result it is; sizes of 1 are stretched.
struct LowerPrimBroadcast {
  static constexpr std::string_view op = "prims.broadcast_in_dim";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "a");
    const hlo::Dims from = b.dims(x), to = c.result_shape(call).dims, given = c.integers(call, "broadcast_dimensions");
    if (!x.valid() || given.size() != from.size()) return {};
    hlo::Dims kept, places;
    for (std::size_t d = 0; d < from.size(); ++d) {
      const std::size_t place = c.wrapped_dim(call, given[d], to.size());
      if (place >= to.size() || (from[d] == 1 && to[place] != 1)) continue;
      kept.push_back(from[d]);
      places.push_back(static_cast<std::int64_t>(place));
    }
    return b.broadcast_in_dim(b.reshape(x, kept), to, places);
  }
};

struct LowerPrimTranspose {
  static constexpr std::string_view op = "prims.transpose";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().transpose(c.tensor(call, "a"), c.integers(call, "permutation"));
  }
};

struct LowerPrimReverse {
  static constexpr std::string_view op = "prims.rev";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.builder().reverse(c.tensor(call, "a"), c.integers(call, "dims"));
  }
};

struct LowerPrimViewDtype {
  static constexpr std::string_view op = "prims.view_of_dtype";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return LowerViewDtype::cast(c, call, c.tensor(call, "a"));
  }
};

struct LowerPrimConjugate {
  static constexpr std::string_view op = "prims.conj";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return LowerConjugate::conjugate(c, c.tensor(call, "a"));
  }
};

/// Reduces `dims`, which go away. Halves are summed and multiplied in float32.
template <hlo::Opcode Code, TextConstant Name>
struct LowerPrimReduction {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const DType type = c.result_shape(call).dtype;
    constexpr bool accumulates = Code == hlo::Opcode::add || Code == hlo::Opcode::multiply;
    const hlo::Value x = c.builder().convert(c.tensor(call, "inp"), accumulates ? ops::accumulate_type(type) : type);
    return c.to_result(call, detail::reduce(c, x, c.dims(call, "dims", c.builder().rank(x)), Code));
  }
};

struct LowerPrimVariance {
  static constexpr std::string_view op = "prims.var";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "inp"));
    const hlo::Dims dims = c.dims(call, "dims", c.builder().rank(x));
    const hlo::Value variance = detail::variance_keeping(c, x, dims, detail::correction_of(c, call));
    return c.to_result(call, c.builder().reshape(variance, c.result_shape(call).dims));
  }
};

/// The lowerings of this file.
using PrimLowerings =
    lowerings<LowerPrimDivide, LowerPrimWhere, LowerPrimReshape, LowerPrimBroadcast, LowerPrimTranspose, LowerPrimReverse,
              LowerPrimViewDtype, LowerPrimConjugate,
              LowerConversion<"a", "prims.convert_element_type", "prims.device_put", "prims.copy_strided", "prims.view_of">,
              LowerRealFunction<hlo::Opcode::cbrt, "prims.cbrt">, LowerPrimReduction<hlo::Opcode::add, "prims.sum">,
              LowerPrimReduction<hlo::Opcode::multiply, "prims.prod">,
              LowerPrimReduction<hlo::Opcode::maximum, "prims.amax">,
              LowerPrimReduction<hlo::Opcode::minimum, "prims.amin">, LowerPrimVariance>;

}  // namespace fxpass

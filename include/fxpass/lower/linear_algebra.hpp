// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>

#include <array>
#include <string_view>

/// @file
/// Products of matrices. Halves are multiplied as they are, summed in float32, and rounded once, as in eager.

namespace fxpass {

namespace detail {

/// The product of `a` and `b` with `dims`, in the type that eager sums in. Needs operands of one type.
constexpr auto dot(auto& c, hlo::Value a, hlo::Value b, const hlo::DotDims& dims) -> hlo::Value {
  return c.builder().dot_general(a, b, dims, ops::accumulate_type(c.builder().dtype(a)));
}

/// The last dimension of `a` with the next-to-last of `b`, or with its only one; the dimensions before are batches, which
/// broadcast.
constexpr auto matmul(auto& c, const Call& call, hlo::Value a, hlo::Value b) -> hlo::Value {
  auto& m = c.builder();
  if (!a.valid() || !b.valid()) return {};
  const std::size_t rank_a = m.rank(a), rank_b = m.rank(b);
  if (rank_a == 0 || rank_b == 0) return c.fail(call, DiagnosticCode::eager_would_raise, "needs vectors or matrices");
  const auto last_of_a = static_cast<std::int64_t>(rank_a - 1);
  // A vector or a single matrix on the right: no batches to pair.
  if (rank_b <= 2) return dot(c, a, b, {{last_of_a}, {0}, {}, {}});
  if (rank_a == 1) {
    // The vector meets each matrix: exchange the sides, so that the batches stay in front.
    return dot(c, b, a, {{static_cast<std::int64_t>(rank_b - 2)}, {0}, {}, {}});
  }
  const hlo::Dims dims_a = m.dims(a), dims_b = m.dims(b);
  const hlo::Dims batch_a = dims_a.view().first(rank_a - 2), batch_b = dims_b.view().first(rank_b - 2);
  hlo::Dims full_a = c.common_dims(call, batch_a, batch_b), full_b = full_a;
  const std::size_t batches = full_a.size();
  for (const std::size_t d : {std::size_t{2}, std::size_t{1}}) {
    full_a.push_back(dims_a[rank_a - d]);
    full_b.push_back(dims_b[rank_b - d]);
  }
  const hlo::Dims batch = hlo::iota_dims(batches);
  return dot(c, c.broadcast_to(call, a, full_a), c.broadcast_to(call, b, full_b),
             {{static_cast<std::int64_t>(batches + 1)}, {static_cast<std::int64_t>(batches)}, batch, batch});
}

/// beta * addend + alpha * product; an addend times zero is not read, so that NaN in it does not matter.
constexpr auto add_product(auto& c, const Call& call, hlo::Value addend, hlo::Value product) -> hlo::Value {
  auto& b = c.builder();
  if (!addend.valid() || !product.valid()) return {};
  const Number alpha = c.number(call, "alpha"), beta = c.number(call, "beta");
  if (!alpha.is(1)) product = b.multiply(product, c.full_like(product, alpha));
  if (beta.is(0)) return product;
  addend = b.convert(addend, b.dtype(product));
  if (!beta.is(1)) addend = b.multiply(addend, c.full_like(addend, beta));
  return b.add(c.broadcast_to(call, addend, b.dims(product)), product);
}

}  // namespace detail

struct LowerMatmul {
  static constexpr std::string_view op = "aten.matmul";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.to_result(call, detail::matmul(c, call, c.tensor(call, "self"), c.tensor(call, "other")));
  }
};

template <TextConstant Name, TextConstant Right>
struct LowerProduct {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.to_result(call, detail::matmul(c, call, c.tensor(call, "self"), c.tensor(call, Right.view())));
  }
};

template <TextConstant Name, TextConstant Left, TextConstant Right>
struct LowerAddProduct {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value product = detail::matmul(c, call, c.tensor(call, Left.view()), c.tensor(call, Right.view()));
    return c.to_result(call, detail::add_product(c, call, c.tensor(call, "self"), product));
  }
};

/// x * weight^T + bias.
struct LowerLinear {
  static constexpr std::string_view op = "aten.linear";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "input"), weight = c.tensor(call, "weight");
    if (!x.valid() || !weight.valid()) return {};
    hlo::Value y = detail::dot(c, x, weight,
                               {{static_cast<std::int64_t>(b.rank(x)) - 1},
                                {static_cast<std::int64_t>(b.rank(weight)) - 1}, {}, {}});
    if (call.has("bias")) {
      const hlo::Value bias = b.convert(c.tensor(call, "bias"), b.dtype(y));
      y = b.add(y, c.broadcast_to(call, bias, b.dims(y)));
    }
    return c.to_result(call, y);
  }
};

/// The lowerings of this file.
using LinearAlgebraLowerings =
    lowerings<LowerMatmul, LowerProduct<"aten.mm", "mat2">, LowerProduct<"aten.bmm", "mat2">,
              LowerProduct<"aten.mv", "vec">, LowerProduct<"aten.dot", "tensor">,
              LowerAddProduct<"aten.addmm", "mat1", "mat2">, LowerAddProduct<"aten.baddbmm", "batch1", "batch2">,
              LowerAddProduct<"aten.addmv", "mat", "vec">, LowerLinear>;

}  // namespace fxpass

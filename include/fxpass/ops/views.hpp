// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/ops/catalog.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// Which operators return a view of their first argument, and by which rule. Source: the alias annotations of
/// PyTorch's schemas, plus the operators that return their argument itself without saying so (`dropout`, `contiguous`).

namespace fxpass::ops {

/// How the result of an operator shares storage with its first argument: what alias analysis and in-place
/// rewriting do with the operator.
enum class ViewRule : std::uint8_t {
  none,              ///< a fresh tensor
  identity,          ///< the same elements in the same shape: detach, alias, ...
  identity_if_real,  ///< so too unless the tensor is complex: real, conj, ...
  select,
  slice,
  narrow,
  reshape,        ///< a view, or an error: view, view_as, ...
  flatten,        ///< a view where strides allow it, else a copy
  ravel,          ///< a view of what is contiguous, else a copy, even where strides would allow a view
  maybe_reshape,  ///< reshape, reshape_as: a view where strides allow it, else a copy
  transpose,
  permute,
  matrix_transpose,      ///< t
  reverse_dimensions,    ///< T
  swap_last_dimensions,  ///< mT, mH
  move_dimensions,       ///< movedim
  diagonal,
  split,   ///< a list of slices: split, chunk, ...
  unbind,  ///< a list of selections
  unsqueeze,
  squeeze,
  expand,
  getitem,      ///< operator.getitem on a tensor
  maybe_cast,   ///< to.*, type_as: the argument itself unless dtype, device, layout or `copy` ask for more
  maybe_contiguous,  ///< contiguous: the argument itself if it is
  maybe_dropout,     ///< dropout: the argument itself outside training
  opaque,       ///< a view that fxpass cannot invert; writes near it are refused
};

/// A row of `view_operators`.
struct ViewOperator {
  std::string_view base;  ///< the operator without overload: "aten.view"
  ViewRule rule;          ///< what its result is
};

/// Operators whose results may be views of an argument, sorted by name.
inline constexpr ViewOperator view_operators[] = {
    {"_c10d_functional.wait_tensor", ViewRule::identity},
    {"aten._conj", ViewRule::identity_if_real},
    {"aten._unsafe_view", ViewRule::reshape},
    {"aten.adjoint", ViewRule::swap_last_dimensions},
    {"aten.alias", ViewRule::identity},
    {"aten.alpha_dropout", ViewRule::maybe_dropout},
    {"aten.atleast_1d", ViewRule::reshape},
    {"aten.atleast_2d", ViewRule::reshape},
    {"aten.atleast_3d", ViewRule::reshape},
    {"aten.broadcast_tensors", ViewRule::opaque},
    {"aten.broadcast_to", ViewRule::expand},
    {"aten.cartesian_prod", ViewRule::opaque},
    {"aten.chunk", ViewRule::split},
    {"aten.conj", ViewRule::identity_if_real},
    {"aten.conj_physical", ViewRule::identity_if_real},
    {"aten.contiguous", ViewRule::maybe_contiguous},
    {"aten.detach", ViewRule::identity},
    {"aten.detach_", ViewRule::identity},
    {"aten.diagonal", ViewRule::diagonal},
    {"aten.dropout", ViewRule::maybe_dropout},
    {"aten.expand", ViewRule::expand},
    {"aten.expand_as", ViewRule::expand},
    {"aten.feature_alpha_dropout", ViewRule::maybe_dropout},
    {"aten.feature_dropout", ViewRule::maybe_dropout},
    {"aten.flatten", ViewRule::flatten},
    {"aten.lift_fresh", ViewRule::identity},
    {"aten.mT", ViewRule::swap_last_dimensions},
    {"aten.matrix_H", ViewRule::swap_last_dimensions},
    {"aten.meshgrid", ViewRule::opaque},
    {"aten.moveaxis", ViewRule::move_dimensions},
    {"aten.movedim", ViewRule::move_dimensions},
    {"aten.narrow", ViewRule::narrow},
    {"aten.numpy_T", ViewRule::reverse_dimensions},
    {"aten.permute", ViewRule::permute},
    {"aten.positive", ViewRule::identity},
    {"aten.ravel", ViewRule::ravel},
    {"aten.real", ViewRule::identity_if_real},
    {"aten.requires_grad_", ViewRule::identity},
    {"aten.reshape", ViewRule::maybe_reshape},
    {"aten.reshape_as", ViewRule::maybe_reshape},
    {"aten.resolve_conj", ViewRule::identity_if_real},
    {"aten.resolve_neg", ViewRule::identity_if_real},
    {"aten.select", ViewRule::select},
    {"aten.slice", ViewRule::slice},
    {"aten.split", ViewRule::split},
    {"aten.split_with_sizes", ViewRule::split},
    {"aten.squeeze", ViewRule::squeeze},
    {"aten.swapaxes", ViewRule::transpose},
    {"aten.swapdims", ViewRule::transpose},
    {"aten.t", ViewRule::matrix_transpose},
    {"aten.tensor_split", ViewRule::split},
    {"aten.to", ViewRule::maybe_cast},
    {"aten.to_dense", ViewRule::opaque},
    {"aten.transpose", ViewRule::transpose},
    {"aten.type_as", ViewRule::maybe_cast},
    {"aten.unbind", ViewRule::unbind},
    {"aten.unflatten", ViewRule::reshape},
    {"aten.unsafe_chunk", ViewRule::split},
    {"aten.unsafe_split", ViewRule::split},
    {"aten.unsafe_split_with_sizes", ViewRule::split},
    {"aten.unsqueeze", ViewRule::unsqueeze},
    {"aten.view", ViewRule::reshape},
    {"aten.view_as", ViewRule::reshape},
    {"operator.getitem", ViewRule::getitem},
};

/// The rule of an operator overload. O(number of view operators): asked once for each operator of a graph.
[[nodiscard]] constexpr auto view_rule(const Schema& schema) -> ViewRule {
  // view.dtype reinterprets bytes: a view, but not one of shapes.
  if (schema.name() == "aten.view.dtype") return ViewRule::opaque;
  const std::string_view base = schema.base();
  for (const ViewOperator& v : view_operators)
    if (v.base == base) return v.rule;
  return schema.returns_alias() && !schema.writes() ? ViewRule::opaque : ViewRule::none;
}

}  // namespace fxpass::ops

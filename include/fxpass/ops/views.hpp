// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/ops/catalog.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// Which operators return views of an argument, and by which rule. Source: the alias annotations of
/// PyTorch's schemas, plus the operators that return their argument itself without saying so (`dropout`, `contiguous`).

namespace fxpass::ops {

/// How the result of an operator shares storage with an argument, the first or those of a list: what alias analysis and in-place
/// rewriting do with the operator.
enum class ViewRule : std::uint8_t {
  none,                   ///< a fresh tensor
  identity,               ///< the same elements in the same shape: detach, alias, ...
  identity_if_real,       ///< so too, and of complex numbers a copy: conj_physical
  identity_if_resolved,   ///< so too unless the view conjugates or negates: resolve_conj, ...
  identity_if_same_size,  ///< so too unless it sums: sum_to_size
  conjugate,              ///< complex numbers conjugated when they are read; real ones are themselves
  negate,                 ///< numbers negated when they are read
  real,                   ///< real parts; of real numbers, the tensor itself
  imag,                   ///< imaginary parts
  as_real,                ///< view_as_real: pairs of reals
  as_complex,             ///< view_as_complex
  bitcast,                ///< view.dtype: the same bytes as elements of another type
  strided,                ///< as_strided: a window into the storage
  unfold,                 ///< windows of one dimension
  select,
  slice,
  narrow,
  reshape,        ///< a view, or an error: view, view_as, ...
  flatten,        ///< a view where strides allow it, else a copy
  ravel,          ///< a view of what is contiguous, else a copy, even where strides would allow a view
  maybe_reshape,  ///< reshape, reshape_as: a view where strides allow it, else a copy
  transpose,
  permute,
  einsum,                ///< a permutation, where one tensor is given and nothing is summed
  matrix_transpose,      ///< t
  reverse_dimensions,    ///< T
  swap_last_dimensions,  ///< mT
  conjugate_transpose,   ///< mH: the last two dimensions exchanged, complex numbers conjugated
  move_dimensions,       ///< movedim
  diagonal,
  split,           ///< a list of slices: split, chunk, ...
  split_columns,   ///< hsplit: of dimension 1, or of the only one
  split_rows,      ///< vsplit
  split_depth,     ///< dsplit: of dimension 2
  unbind,          ///< a list of selections
  unflatten,       ///< a list of slices of a vector, each in a shape of its own: unflatten_dense_tensors
  broadcast_each,  ///< a list of expanded views, one of each tensor of a list: broadcast_tensors
  reshape_each,    ///< a list of reshaped views, one of each tensor of a list: atleast_1d, ...
  cast_each,       ///< a list of the tensors of a list, those that had another dtype copied: dequantize
  mesh,            ///< a list of expanded views, one of each vector of a list: meshgrid
  only_one,        ///< the tensor itself where a list holds one, else a copy: cartesian_prod
  only_one_flat,   ///< so too, as a vector
  unsqueeze,
  squeeze,
  expand,
  broadcast_in_dim,  ///< expanded, dimensions put where the call says
  getitem,           ///< operator.getitem on a tensor
  maybe_cast,        ///< to.*, type_as: the argument itself unless dtype, device, layout or `copy` ask for more
  maybe_contiguous,  ///< contiguous: the argument itself if it is
  maybe_dropout,     ///< dropout: the argument itself outside training
  opaque,            ///< a view that fxpass cannot invert; writes near it are refused
};

/// A row of `view_operators`.
struct ViewOperator {
  std::string_view base;  ///< the operator without overload: "aten.view"
  ViewRule rule;          ///< what its result is
};

/// Operators whose results may be views of an argument, sorted by name.
inline constexpr ViewOperator view_operators[] = {
    {"_c10d_functional.wait_tensor", ViewRule::identity},
    {"aten._add_batch_dim", ViewRule::opaque},  // vmap's, as is the one that removes it
    {"aten._autocast_to_full_precision", ViewRule::maybe_cast},
    {"aten._autocast_to_reduced_precision", ViewRule::maybe_cast},
    {"aten._conj", ViewRule::conjugate},
    {"aten._neg_view", ViewRule::negate},
    {"aten._remove_batch_dim", ViewRule::opaque},
    {"aten._reshape_alias", ViewRule::strided},
    {"aten._to_cpu", ViewRule::cast_each},
    {"aten._unsafe_view", ViewRule::reshape},
    {"aten.adjoint", ViewRule::conjugate_transpose},
    {"aten.alias", ViewRule::identity},
    {"aten.alpha_dropout", ViewRule::maybe_dropout},
    {"aten.as_strided", ViewRule::strided},
    {"aten.atleast_1d", ViewRule::reshape},
    {"aten.atleast_2d", ViewRule::reshape},
    {"aten.atleast_3d", ViewRule::reshape},
    {"aten.broadcast_tensors", ViewRule::broadcast_each},
    {"aten.broadcast_to", ViewRule::expand},
    {"aten.cartesian_prod", ViewRule::only_one},
    {"aten.chunk", ViewRule::split},
    {"aten.conj", ViewRule::conjugate},
    {"aten.conj_physical", ViewRule::identity_if_real},
    {"aten.contiguous", ViewRule::maybe_contiguous},
    {"aten.cpu", ViewRule::maybe_cast},
    {"aten.cuda", ViewRule::maybe_cast},
    {"aten.data", ViewRule::identity},
    {"aten.dequantize", ViewRule::maybe_cast},
    {"aten.detach", ViewRule::identity},
    {"aten.detach_", ViewRule::identity},
    {"aten.diagonal", ViewRule::diagonal},
    {"aten.dropout", ViewRule::maybe_dropout},
    {"aten.dsplit", ViewRule::split_depth},
    {"aten.einsum", ViewRule::einsum},
    {"aten.expand", ViewRule::expand},
    {"aten.expand_as", ViewRule::expand},
    {"aten.feature_alpha_dropout", ViewRule::maybe_dropout},
    {"aten.feature_dropout", ViewRule::maybe_dropout},
    {"aten.flatten", ViewRule::flatten},
    {"aten.flatten_dense_tensors", ViewRule::only_one_flat},
    {"aten.hsplit", ViewRule::split_columns},
    {"aten.imag", ViewRule::imag},
    {"aten.lift", ViewRule::identity},
    {"aten.lift_fresh", ViewRule::identity},
    {"aten.linalg_diagonal", ViewRule::diagonal},
    {"aten.mH", ViewRule::conjugate_transpose},
    {"aten.mT", ViewRule::swap_last_dimensions},
    {"aten.matrix_H", ViewRule::conjugate_transpose},
    {"aten.meshgrid", ViewRule::mesh},
    {"aten.moveaxis", ViewRule::move_dimensions},
    {"aten.movedim", ViewRule::move_dimensions},
    {"aten.narrow", ViewRule::narrow},
    {"aten.numpy_T", ViewRule::reverse_dimensions},
    {"aten.permute", ViewRule::permute},
    {"aten.positive", ViewRule::identity},
    {"aten.ravel", ViewRule::ravel},
    {"aten.real", ViewRule::real},
    {"aten.requires_grad_", ViewRule::identity},
    {"aten.reshape", ViewRule::maybe_reshape},
    {"aten.reshape_as", ViewRule::maybe_reshape},
    {"aten.resolve_conj", ViewRule::identity_if_resolved},
    {"aten.resolve_neg", ViewRule::identity_if_resolved},
    {"aten.select", ViewRule::select},
    {"aten.slice", ViewRule::slice},
    {"aten.split", ViewRule::split},
    {"aten.split_with_sizes", ViewRule::split},
    {"aten.squeeze", ViewRule::squeeze},
    {"aten.sum_to_size", ViewRule::identity_if_same_size},
    {"aten.swapaxes", ViewRule::transpose},
    {"aten.swapdims", ViewRule::transpose},
    {"aten.t", ViewRule::matrix_transpose},
    {"aten.tensor_split", ViewRule::split},
    {"aten.to", ViewRule::maybe_cast},
    {"aten.to_dense", ViewRule::maybe_cast},
    {"aten.transpose", ViewRule::transpose},
    {"aten.type_as", ViewRule::maybe_cast},
    {"aten.unbind", ViewRule::unbind},
    {"aten.unflatten", ViewRule::reshape},
    {"aten.unflatten_dense_tensors", ViewRule::unflatten},
    {"aten.unfold", ViewRule::unfold},
    {"aten.unsafe_chunk", ViewRule::split},
    {"aten.unsafe_split", ViewRule::split},
    {"aten.unsafe_split_with_sizes", ViewRule::split},
    {"aten.unsqueeze", ViewRule::unsqueeze},
    {"aten.view", ViewRule::reshape},
    {"aten.view_as", ViewRule::reshape},
    {"aten.view_as_complex", ViewRule::as_complex},
    {"aten.view_as_real", ViewRule::as_real},
    {"aten.vsplit", ViewRule::split_rows},
    {"operator.getitem", ViewRule::getitem},
    {"prims.as_strided", ViewRule::strided},
    {"prims.broadcast_in_dim", ViewRule::broadcast_in_dim},
    {"prims.collapse_view", ViewRule::reshape},
    {"prims.conj", ViewRule::conjugate},
    {"prims.imag", ViewRule::imag},
    {"prims.real", ViewRule::real},
    {"prims.split_dim", ViewRule::reshape},
    {"prims.squeeze", ViewRule::reshape},
    {"prims.transpose", ViewRule::permute},
    {"prims.view_of", ViewRule::identity},
    {"prims.view_of_dtype", ViewRule::bitcast},
};

/// The rule of an operator overload. O(number of view operators): asked once for each operator of a graph.
[[nodiscard]] constexpr auto view_rule(const Schema& schema) -> ViewRule {
  const std::string_view base = schema.base();
  const std::string_view overload = schema.overload();
  if (base == "aten.view" && overload == "dtype") return ViewRule::bitcast;
  if (base.starts_with("aten.atleast_") && overload == "Sequence") return ViewRule::reshape_each;
  if (base == "aten.dequantize" && overload == "tensors") return ViewRule::cast_each;
  if (base.starts_with("aten._cast_")) return ViewRule::maybe_cast;  // _cast_Float and its like
  for (const ViewOperator& v : view_operators)
    if (v.base == base) return v.rule;
  return schema.returns_alias() && !schema.writes() ? ViewRule::opaque : ViewRule::none;
}

}  // namespace fxpass::ops

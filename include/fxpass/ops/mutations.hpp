// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/ops/catalog.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// Which operators write into their arguments. PyTorch's schemas say so with `(a!)`; this file adds those that write
/// without saying so, and the rule for operators whose schema nobody gave.

namespace fxpass::ops {

/// How a write is carried out without writing.
enum class WriteRule : std::uint8_t {
  unknown,     ///< fxpass cannot carry it out: refused
  nothing,     ///< touches no element: `requires_grad_`, `detach_`
  promoting,   ///< the functional twin, in the dtype its operands promote to
  floating,    ///< the functional twin, whose result is floating even for integers
  comparing,   ///< the functional twin, whose result is bool
  same_dtype,  ///< the functional twin, whose result has the dtype of self
  copy,        ///< copy_(self, src)
  dropout,     ///< the functional twin in training; else it touches no element
  fill,        ///< fill_(self, value)
  zero,        ///< zero_(self)
  setitem,     ///< self[index] = value
  out,         ///< the functional twin, whose results go into the tensors given as `out=`
  each,        ///< an in-place operator on each tensor of a list, one after the other: `_foreach_add_`
  batch_norm,  ///< running statistics in training mode
  diagonal,    ///< fill_diagonal_(self, fill_value)
  rebinding,   ///< no element: which places of its memory the tensor has, and in what order: `t_`, `resize_`, `set_`
  kernel,      ///< operands that a kernel declares as aliases of its results
  custom,      ///< operands that the schema of an operator outside of PyTorch's own marks
};

/// A row of `writing_operators`.
struct WritingOperator {
  std::string_view base;  ///< the operator without overload: "aten.add_"
  WriteRule rule;         ///< how its overloads write
};

/// Operators that write and that fxpass carries out, sorted by name.
inline constexpr WritingOperator writing_operators[] = {
    {"_c10d_functional.all_reduce_", WriteRule::same_dtype},
    {"_c10d_functional.broadcast_", WriteRule::same_dtype},
    {"aten.__iand__", WriteRule::promoting},
    {"aten.__ilshift__", WriteRule::promoting},
    {"aten.__ior__", WriteRule::promoting},
    {"aten.__irshift__", WriteRule::promoting},
    {"aten.__ixor__", WriteRule::promoting},
    {"aten._batch_norm_with_update", WriteRule::batch_norm},
    {"aten._native_batch_norm_legit", WriteRule::batch_norm},
    {"aten.abs_", WriteRule::same_dtype},
    {"aten.absolute_", WriteRule::same_dtype},
    {"aten.acos_", WriteRule::floating},
    {"aten.acosh_", WriteRule::floating},
    {"aten.add_", WriteRule::promoting},
    {"aten.addbmm_", WriteRule::same_dtype},
    {"aten.addcdiv_", WriteRule::promoting},
    {"aten.addcmul_", WriteRule::promoting},
    {"aten.addmm_", WriteRule::same_dtype},
    {"aten.addmv_", WriteRule::same_dtype},
    {"aten.addr_", WriteRule::same_dtype},
    {"aten.alpha_dropout_", WriteRule::dropout},
    {"aten.arccos_", WriteRule::floating},
    {"aten.arccosh_", WriteRule::floating},
    {"aten.arcsin_", WriteRule::floating},
    {"aten.arcsinh_", WriteRule::floating},
    {"aten.arctan2_", WriteRule::floating},
    {"aten.arctan_", WriteRule::floating},
    {"aten.arctanh_", WriteRule::floating},
    {"aten.as_strided_", WriteRule::rebinding},
    {"aten.asin_", WriteRule::floating},
    {"aten.asinh_", WriteRule::floating},
    {"aten.atan2_", WriteRule::floating},
    {"aten.atan_", WriteRule::floating},
    {"aten.atanh_", WriteRule::floating},
    {"aten.baddbmm_", WriteRule::same_dtype},
    {"aten.batch_norm", WriteRule::batch_norm},
    {"aten.bernoulli_", WriteRule::same_dtype},
    {"aten.bitwise_and_", WriteRule::promoting},
    {"aten.bitwise_left_shift_", WriteRule::promoting},
    {"aten.bitwise_not_", WriteRule::same_dtype},
    {"aten.bitwise_or_", WriteRule::promoting},
    {"aten.bitwise_right_shift_", WriteRule::promoting},
    {"aten.bitwise_xor_", WriteRule::promoting},
    {"aten.cauchy_", WriteRule::same_dtype},
    {"aten.ceil_", WriteRule::same_dtype},
    {"aten.celu_", WriteRule::same_dtype},
    {"aten.clamp_", WriteRule::promoting},
    {"aten.clamp_max_", WriteRule::promoting},
    {"aten.clamp_min_", WriteRule::promoting},
    {"aten.clip_", WriteRule::promoting},
    {"aten.conj_physical_", WriteRule::same_dtype},
    {"aten.copy_", WriteRule::copy},
    {"aten.copysign_", WriteRule::floating},
    {"aten.cos_", WriteRule::floating},
    {"aten.cosh_", WriteRule::floating},
    {"aten.cumprod_", WriteRule::same_dtype},
    {"aten.cumsum_", WriteRule::same_dtype},
    {"aten.deg2rad_", WriteRule::floating},
    {"aten.detach_", WriteRule::nothing},
    {"aten.digamma_", WriteRule::floating},
    {"aten.div_", WriteRule::floating},
    {"aten.divide_", WriteRule::floating},
    {"aten.dropout_", WriteRule::dropout},
    {"aten.elu_", WriteRule::same_dtype},
    {"aten.embedding_renorm_", WriteRule::same_dtype},
    {"aten.eq_", WriteRule::comparing},
    {"aten.erf_", WriteRule::floating},
    {"aten.erfc_", WriteRule::floating},
    {"aten.erfinv_", WriteRule::floating},
    {"aten.exp2_", WriteRule::floating},
    {"aten.exp_", WriteRule::floating},
    {"aten.expm1_", WriteRule::floating},
    {"aten.exponential_", WriteRule::same_dtype},
    {"aten.feature_alpha_dropout_", WriteRule::dropout},
    {"aten.feature_dropout_", WriteRule::dropout},
    {"aten.fill_", WriteRule::fill},
    {"aten.fill_diagonal_", WriteRule::diagonal},
    {"aten.fix_", WriteRule::same_dtype},
    {"aten.floor_", WriteRule::same_dtype},
    {"aten.floor_divide_", WriteRule::promoting},
    {"aten.fmod_", WriteRule::promoting},
    {"aten.frac_", WriteRule::same_dtype},
    {"aten.gcd_", WriteRule::promoting},
    {"aten.ge_", WriteRule::comparing},
    {"aten.gelu_", WriteRule::same_dtype},
    {"aten.geometric_", WriteRule::same_dtype},
    {"aten.greater_", WriteRule::comparing},
    {"aten.greater_equal_", WriteRule::comparing},
    {"aten.gt_", WriteRule::comparing},
    {"aten.hardsigmoid_", WriteRule::same_dtype},
    {"aten.hardswish_", WriteRule::same_dtype},
    {"aten.hardtanh_", WriteRule::same_dtype},
    {"aten.heaviside_", WriteRule::promoting},
    {"aten.hypot_", WriteRule::promoting},
    {"aten.i0_", WriteRule::floating},
    {"aten.igamma_", WriteRule::promoting},
    {"aten.igammac_", WriteRule::promoting},
    {"aten.index_add_", WriteRule::same_dtype},
    {"aten.index_copy_", WriteRule::same_dtype},
    {"aten.index_fill_", WriteRule::same_dtype},
    {"aten.index_put_", WriteRule::same_dtype},
    {"aten.index_reduce_", WriteRule::same_dtype},
    {"aten.instance_norm", WriteRule::batch_norm},
    {"aten.lcm_", WriteRule::promoting},
    {"aten.ldexp_", WriteRule::floating},
    {"aten.le_", WriteRule::comparing},
    {"aten.leaky_relu_", WriteRule::same_dtype},
    {"aten.lerp_", WriteRule::same_dtype},
    {"aten.less_", WriteRule::comparing},
    {"aten.less_equal_", WriteRule::comparing},
    {"aten.lgamma_", WriteRule::floating},
    {"aten.log10_", WriteRule::floating},
    {"aten.log1p_", WriteRule::floating},
    {"aten.log2_", WriteRule::floating},
    {"aten.log_", WriteRule::floating},
    {"aten.log_normal_", WriteRule::same_dtype},
    {"aten.logical_and_", WriteRule::comparing},
    {"aten.logical_not_", WriteRule::comparing},
    {"aten.logical_or_", WriteRule::comparing},
    {"aten.logical_xor_", WriteRule::comparing},
    {"aten.logit_", WriteRule::floating},
    {"aten.lt_", WriteRule::comparing},
    {"aten.masked_fill_", WriteRule::same_dtype},
    {"aten.masked_scatter_", WriteRule::same_dtype},
    {"aten.mish_", WriteRule::same_dtype},
    {"aten.mul_", WriteRule::promoting},
    {"aten.multiply_", WriteRule::promoting},
    {"aten.mvlgamma_", WriteRule::floating},
    {"aten.nan_to_num_", WriteRule::same_dtype},
    {"aten.native_batch_norm", WriteRule::batch_norm},
    {"aten.ne_", WriteRule::comparing},
    {"aten.neg_", WriteRule::same_dtype},
    {"aten.negative_", WriteRule::same_dtype},
    {"aten.nextafter_", WriteRule::promoting},
    {"aten.normal_", WriteRule::same_dtype},
    {"aten.not_equal_", WriteRule::comparing},
    {"aten.pow_", WriteRule::promoting},
    {"aten.put_", WriteRule::same_dtype},
    {"aten.rad2deg_", WriteRule::floating},
    {"aten.random_", WriteRule::same_dtype},
    {"aten.reciprocal_", WriteRule::floating},
    {"aten.relu6_", WriteRule::same_dtype},
    {"aten.relu_", WriteRule::same_dtype},
    {"aten.remainder_", WriteRule::promoting},
    {"aten.renorm_", WriteRule::same_dtype},
    {"aten.requires_grad_", WriteRule::nothing},
    {"aten.resize_", WriteRule::rebinding},
    {"aten.resize_as_", WriteRule::rebinding},
    {"aten.round_", WriteRule::same_dtype},
    {"aten.rrelu_", WriteRule::same_dtype},
    {"aten.rsqrt_", WriteRule::floating},
    {"aten.scatter_", WriteRule::same_dtype},
    {"aten.scatter_add_", WriteRule::same_dtype},
    {"aten.scatter_reduce_", WriteRule::same_dtype},
    {"aten.selu_", WriteRule::same_dtype},
    {"aten.set_", WriteRule::rebinding},
    {"aten.set_data", WriteRule::rebinding},
    {"aten.sgn_", WriteRule::same_dtype},
    {"aten.sigmoid_", WriteRule::floating},
    {"aten.sign_", WriteRule::same_dtype},
    {"aten.silu_", WriteRule::same_dtype},
    {"aten.sin_", WriteRule::floating},
    {"aten.sinc_", WriteRule::floating},
    {"aten.sinh_", WriteRule::floating},
    {"aten.sqrt_", WriteRule::floating},
    {"aten.square_", WriteRule::same_dtype},
    {"aten.squeeze_", WriteRule::rebinding},
    {"aten.sub_", WriteRule::promoting},
    {"aten.subtract_", WriteRule::promoting},
    {"aten.swapaxes_", WriteRule::rebinding},
    {"aten.swapdims_", WriteRule::rebinding},
    {"aten.t_", WriteRule::rebinding},
    {"aten.tan_", WriteRule::floating},
    {"aten.tanh_", WriteRule::floating},
    {"aten.threshold_", WriteRule::same_dtype},
    {"aten.transpose_", WriteRule::rebinding},
    {"aten.tril_", WriteRule::same_dtype},
    {"aten.triu_", WriteRule::same_dtype},
    {"aten.true_divide_", WriteRule::floating},
    {"aten.trunc_", WriteRule::same_dtype},
    {"aten.uniform_", WriteRule::same_dtype},
    {"aten.unsqueeze_", WriteRule::rebinding},
    {"aten.xlogy_", WriteRule::floating},
    {"aten.zero_", WriteRule::zero},
    {"higher_order.nki_kernel_wrapper", WriteRule::kernel},
    {"operator.setitem", WriteRule::setitem},
};

/// Operators that update statistics in training mode, and in no other, whatever their schemas say.
inline constexpr std::string_view statistics_writers[] = {
    "aten._batch_norm_impl_index",
    "aten._native_batch_norm_legit",
    "aten.batch_norm",
    "aten.batch_norm_gather_stats",
    "aten.batch_norm_gather_stats_with_counts",
    "aten.batch_norm_update_stats",
    "aten.cudnn_batch_norm",
    "aten.instance_norm",
    "aten.miopen_batch_norm",
    "aten.native_batch_norm",
};

/// Whether the operator is one of those: it writes in training mode, if it is given statistics.
[[nodiscard]] constexpr auto is_statistics_writer(std::string_view base) -> bool {
  for (const std::string_view writer : statistics_writers)
    if (base == writer) return true;
  return false;
}
[[nodiscard]] constexpr auto is_statistics_writer(const Schema& schema) -> bool { return is_statistics_writer(schema.base()); }

/// Whether all that the operator writes are its `out=` tensors, which come to hold its results. Not so of those that leave in
/// them what was there (`empty`) or change what the tensor is (`set`). O(schema length).
[[nodiscard]] constexpr auto writes_results(const Schema& schema) -> bool {
  constexpr std::string_view others[] = {"empty",     "empty_like",       "empty_permuted", "empty_strided",
                                         "new_empty", "new_empty_strided", "resize",         "resize_as",
                                         "set",       "resize_as_sparse", "_resize_output", "sym_constrain_range"};
  std::string_view name = schema.base();
  name.remove_prefix(name.rfind('.') + 1);
  for (const std::string_view other : others)
    if (name == other) return false;
  if ((is_statistics_writer(schema) && !schema.overload().starts_with("no_stats")) || schema.returns() == "()") return false;
  bool found = false;
  ParameterReader reader = schema.parameters();
  for (auto p = reader.next(); p; p = reader.next()) {
    if (p->written && (!p->keyword_only || p->type != "Tensor")) return false;
    found = found || p->written;
  }
  return found;
}

namespace detail {
/// The rule that `writing_operators` has for an operator. O(log of the number of writing operators).
[[nodiscard]] constexpr auto find_write_rule(std::string_view base) -> WriteRule {
  std::size_t low = 0;
  std::size_t high = std::size(writing_operators);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (writing_operators[middle].base < base)
      low = middle + 1;
    else
      high = middle;
  }
  const bool is_there = low < std::size(writing_operators) && writing_operators[low].base == base;
  return is_there ? writing_operators[low].rule : WriteRule::unknown;
}
}  // namespace detail

/// The rule of in-place operator `base` for the overload of it that `overload` tells of; that of `add.out` is the one of
/// `add_`. O(log of the number of writing operators).
[[nodiscard]] constexpr auto in_place_rule(std::string_view base, std::string_view overload) -> WriteRule {
  // Division that rounds stays integral.
  if ((base == "aten.div_" || base == "aten.divide_") && overload.find("_mode") != std::string_view::npos)
    return WriteRule::promoting;
  return detail::find_write_rule(base);
}
/// The rule by which an operator with `out=` tensors finds the dtype of its result: that of the operator that computes the same
/// in place, or would if there were one. O(log of the number of writing operators).
[[nodiscard]] constexpr auto rule_of_result(const Schema& schema) -> WriteRule {
  for (const std::string_view base : {"aten.fmax", "aten.fmin", "aten.maximum", "aten.minimum"})
    if (schema.base() == base) return WriteRule::promoting;
  return in_place_rule(text_of(schema.base(), '_'), schema.overload());
}
/// How calls of the operator write. O(log of the number of writing operators + schema length).
[[nodiscard]] constexpr auto write_rule(const Schema& schema) -> WriteRule {
  if (writes_results(schema)) return WriteRule::out;
  if (schema.base().starts_with("aten._foreach_") && schema.writes()) return WriteRule::each;
  return detail::has_out_tensor(schema) ? WriteRule::unknown : in_place_rule(schema.base(), schema.overload());
}
static_assert([] {
  for (std::size_t i = 1; i < std::size(writing_operators); ++i)
    if (!(writing_operators[i - 1].base < writing_operators[i].base)) return false;
  return true;
}(), "write_rule searches by bisection");

/// Whether calls of the operator may write into an argument.
[[nodiscard]] constexpr auto may_write(const Schema& schema) -> bool {
  for (const std::string_view silent : {"aten._copy_from", "aten._copy_from_and_resize", "aten._saturate_weight_to_fp16",
                                        "higher_order.nki_kernel_wrapper"})
    if (schema.base() == silent) return true;  // although its schema does not say so
  return schema.writes() || is_statistics_writer(schema);
}

/// Whether an operator of unknown schema has to be taken for one that writes: PyTorch's convention is a trailing
/// underscore, Python's the i of `operator.iadd`.
[[nodiscard]] constexpr auto name_says_write(std::string_view base) -> bool {
  const std::string_view last = base.substr(base.rfind('.') + 1);
  for (const std::string_view write :
       {"setattr", "delattr", "setitem", "delitem", "iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imatmul", "imod", "imul",
        "ior", "ipow", "irshift", "isub", "itruediv", "ixor"})
    if (last == write || (last.size() == write.size() + 4 && last.starts_with("__") && last.ends_with("__") &&
                          last.substr(2, write.size()) == write))
      return true;
  return last.ends_with('_') && !last.starts_with("__") && !last.ends_with("__");
}

}  // namespace fxpass::ops

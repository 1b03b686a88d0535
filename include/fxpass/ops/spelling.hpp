// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/ops/catalog.hpp>
#include <fxpass/support/dtype.hpp>

#include <optional>
#include <string_view>

/// @file
/// How Python spells an operator: `torch.ops.aten.add.Tensor`, `torch.add`, `operator.iadd`, method `add_`. Everything
/// after reading speaks of ATen's operator; this table is the one place where the spellings meet.

namespace fxpass::ops {

/// A spelling whose operator cannot be had by rule, or whose parameters stand in another order than ATen's.
struct PythonSpelling {
  std::string_view spelling;                  ///< as FX has it: "operator.iadd", "float"
  std::string_view base;                      ///< ATen operator without overload
  std::string_view parameters;                ///< by ATen's names in Python's order; empty: as ATen
  std::optional<DType> dtype = std::nullopt;  ///< what `x.float()` says without saying it
};

/// Functions, by their full names in Python.
inline constexpr PythonSpelling python_functions[] = {
    {"operator.add", "aten.add", ""},
    {"operator.sub", "aten.sub", ""},
    {"operator.mul", "aten.mul", ""},
    {"operator.truediv", "aten.div", ""},
    {"operator.floordiv", "aten.floor_divide", ""},
    {"operator.mod", "aten.remainder", ""},
    {"operator.pow", "aten.pow", ""},
    {"operator.matmul", "aten.matmul", ""},
    {"operator.neg", "aten.neg", ""},
    {"operator.pos", "aten.positive", ""},
    {"operator.abs", "aten.abs", ""},
    {"operator.invert", "aten.bitwise_not", ""},
    {"operator.and_", "aten.bitwise_and", ""},
    {"operator.or_", "aten.bitwise_or", ""},
    {"operator.xor", "aten.bitwise_xor", ""},
    {"operator.lshift", "aten.__lshift__", ""},
    {"operator.rshift", "aten.__rshift__", ""},
    {"operator.eq", "aten.eq", ""},
    {"operator.ne", "aten.ne", ""},
    {"operator.lt", "aten.lt", ""},
    {"operator.le", "aten.le", ""},
    {"operator.gt", "aten.gt", ""},
    {"operator.ge", "aten.ge", ""},
    {"operator.iadd", "aten.add_", ""},
    {"operator.isub", "aten.sub_", ""},
    {"operator.imul", "aten.mul_", ""},
    {"operator.itruediv", "aten.div_", ""},
    {"operator.ifloordiv", "aten.floor_divide_", ""},
    {"operator.imod", "aten.remainder_", ""},
    {"operator.ipow", "aten.pow_", ""},
    {"operator.iand", "aten.bitwise_and_", ""},
    {"operator.ior", "aten.bitwise_or_", ""},
    {"operator.ixor", "aten.bitwise_xor_", ""},
    {"operator.ilshift", "aten.__ilshift__", ""},
    {"operator.irshift", "aten.__irshift__", ""},
    // Tensors have no __imatmul__: `x @= y` rebinds x to a new tensor.
    {"operator.imatmul", "aten.matmul", ""},
    {"torch.nn.functional.batch_norm", "aten.batch_norm",
     "Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, "
     "bool training=False, float momentum=0.1, float eps=1e-05"},
    {"torch.nn.functional.instance_norm", "aten.instance_norm",
     "Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? bias=None, "
     "bool use_input_stats=True, float momentum=0.1, float eps=1e-05"},
    {"torch.nn.functional.softmax", "aten.softmax",
     "Tensor self, int dim, int _stacklevel=3, ScalarType? dtype=None"},
    {"torch.nn.functional.log_softmax", "aten.log_softmax",
     "Tensor self, int dim, int _stacklevel=3, ScalarType? dtype=None"},
    {"torch.nn.functional.embedding", "aten.embedding",
     "Tensor indices, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, "
     "bool scale_grad_by_freq=False, bool sparse=False"},
    // Of other parameters and results than ATen's, which no call of it means.
    {"torch.nn.functional.embedding_bag", "torch.embedding_bag",
     "Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2"},
    {"torch.nn.functional.max_pool1d", "aten.max_pool1d",
     "Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, "
     "bool ceil_mode=False, bool return_indices=False"},
    {"torch.nn.functional.max_pool2d", "aten.max_pool2d",
     "Tensor self, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, "
     "bool ceil_mode=False, bool return_indices=False"},
    {"torch.nn.functional.max_pool3d", "aten.max_pool3d",
     "Tensor self, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, "
     "bool ceil_mode=False, bool return_indices=False"},
    {"torch.nn.functional.max_pool2d_with_indices", "aten.max_pool2d_with_indices",
     "Tensor self, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, "
     "bool ceil_mode=False, bool return_indices=False"},
    {"torch.nn.functional.max_pool3d_with_indices", "aten.max_pool3d_with_indices",
     "Tensor self, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, "
     "bool ceil_mode=False, bool return_indices=False"},
    {"torch.nn.functional.max_pool1d_with_indices", "aten.max_pool1d_with_indices",
     "Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, "
     "bool ceil_mode=False, bool return_indices=False"},
    {"torch.nn.functional.adaptive_max_pool1d", "aten.adaptive_max_pool1d",
     "Tensor self, int?[1] output_size, bool return_indices=False"},
    {"torch.nn.functional.adaptive_max_pool2d", "aten.adaptive_max_pool2d",
     "Tensor self, int?[2] output_size, bool return_indices=False"},
    {"torch.nn.functional.adaptive_max_pool3d", "aten.adaptive_max_pool3d",
     "Tensor self, int?[3] output_size, bool return_indices=False"},
    // ATen's unfold is another function.
    {"torch.nn.functional.unfold", "aten.im2col",
     "Tensor self, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1"},
    {"torch.nn.functional.fold", "aten.col2im",
     "Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1"},
    {"torch.nn.functional.grid_sample", "aten.grid_sampler",
     "Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None"},
    {"torch.nn.functional.dropout", "aten.dropout", "Tensor input, float p=0.5, bool train=True, bool inplace=False"},
    {"torch.nn.functional.dropout1d", "aten.feature_dropout",
     "Tensor input, float p=0.5, bool train=True, bool inplace=False"},
    {"torch.nn.functional.dropout2d", "aten.feature_dropout",
     "Tensor input, float p=0.5, bool train=True, bool inplace=False"},
    {"torch.nn.functional.dropout3d", "aten.feature_dropout",
     "Tensor input, float p=0.5, bool train=True, bool inplace=False"},
    {"torch.nn.functional.alpha_dropout", "aten.alpha_dropout",
     "Tensor input, float p=0.5, bool train=False, bool inplace=False"},
    {"torch.nn.functional.feature_alpha_dropout", "aten.feature_alpha_dropout",
     "Tensor input, float p=0.5, bool train=False, bool inplace=False"},
    {"torch._C._autograd._get_data_attr", "aten.data", ""},
    {"torch.as_tensor", "aten.to", "Tensor self, ScalarType? dtype=None, Device? device=None"},
    {"torch.asarray", "aten.to",
     "Tensor self, *, ScalarType? dtype=None, Device? device=None, bool? copy=None, bool requires_grad=False"},
    {"torch.nn.functional.rrelu", "aten.rrelu",
     "Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, bool inplace=False"},
    {"torch.nn.functional.relu", "aten.relu", "Tensor self, bool inplace=False"},
    {"torch.nn.functional.relu6", "aten.relu6", "Tensor self, bool inplace=False"},
    {"torch.nn.functional.silu", "aten.silu", "Tensor self, bool inplace=False"},
    {"torch.nn.functional.mish", "aten.mish", "Tensor self, bool inplace=False"},
    {"torch.nn.functional.selu", "aten.selu", "Tensor self, bool inplace=False"},
    {"torch.nn.functional.celu", "aten.celu", "Tensor self, Scalar alpha=1.0, bool inplace=False"},
    {"torch.nn.functional.elu", "aten.elu", "Tensor self, Scalar alpha=1.0, bool inplace=False"},
    {"torch.nn.functional.hardswish", "aten.hardswish", "Tensor self, bool inplace=False"},
    {"torch.nn.functional.hardsigmoid", "aten.hardsigmoid", "Tensor self, bool inplace=False"},
    {"torch.nn.functional.hardtanh", "aten.hardtanh",
     "Tensor self, Scalar min_val=-1, Scalar max_val=1, bool inplace=False"},
    {"torch.nn.functional.leaky_relu", "aten.leaky_relu",
     "Tensor self, Scalar negative_slope=0.01, bool inplace=False"},
    {"torch.nn.functional.threshold", "aten.threshold",
     "Tensor self, Scalar threshold, Scalar value, bool inplace=False"},
    // Python's losses name the reduction, ATen numbers it.
    {"torch.nn.functional.mse_loss", "aten.mse_loss",
     "Tensor self, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', "
     "Tensor? weight=None"},
    {"torch.nn.functional.l1_loss", "aten.l1_loss",
     "Tensor self, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', "
     "Tensor? weight=None"},
    {"torch.nn.functional.smooth_l1_loss", "aten.smooth_l1_loss",
     "Tensor self, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', float beta=1.0"},
    {"torch.nn.functional.huber_loss", "aten.huber_loss",
     "Tensor self, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None"},
    {"torch.nn.functional.binary_cross_entropy", "aten.binary_cross_entropy",
     "Tensor self, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, "
     "str reduction='mean'"},
    {"torch.nn.functional.binary_cross_entropy_with_logits", "aten.binary_cross_entropy_with_logits",
     "Tensor self, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, "
     "str reduction='mean', Tensor? pos_weight=None"},
    {"torch.nn.functional.kl_div", "aten.kl_div",
     "Tensor self, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', "
     "bool log_target=False"},
    {"torch.nn.functional.margin_ranking_loss", "aten.margin_ranking_loss",
     "Tensor input1, Tensor input2, Tensor target, float margin=0.0, bool? size_average=None, bool? reduce=None, "
     "str reduction='mean'"},
    {"torch.nn.functional.cosine_embedding_loss", "aten.cosine_embedding_loss",
     "Tensor input1, Tensor input2, Tensor target, float margin=0.0, bool? size_average=None, bool? reduce=None, "
     "str reduction='mean'"},
    {"torch.nn.functional.hinge_embedding_loss", "aten.hinge_embedding_loss",
     "Tensor self, Tensor target, float margin=1.0, bool? size_average=None, bool? reduce=None, str reduction='mean'"},
    {"torch.nn.functional.poisson_nll_loss", "aten.poisson_nll_loss",
     "Tensor input, Tensor target, bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-08, "
     "bool? reduce=None, str reduction='mean'"},
    {"torch.nn.functional.nll_loss", "aten.nll_loss_nd",
     "Tensor self, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, "
     "bool? reduce=None, str reduction='mean'"},
    {"torch.nn.functional.cross_entropy", "aten.cross_entropy_loss",
     "Tensor self, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, "
     "bool? reduce=None, str reduction='mean', float label_smoothing=0.0"},
};

/// Methods of tensors.
inline constexpr PythonSpelling python_methods[] = {
    {"float", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::f32},
    {"double", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::f64},
    {"half", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::f16},
    {"bfloat16", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::bf16},
    {"bool", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::boolean},
    {"int", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::i32},
    {"long", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::i64},
    {"short", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::i16},
    {"char", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::i8},
    {"byte", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::u8},
    {"chalf", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::c32},
    {"cfloat", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::c64},
    {"cdouble", "aten.to", "Tensor self, *, MemoryFormat? memory_format=None", DType::c128},
    {"type", "aten.to", "Tensor self, ScalarType dtype, bool non_blocking=False"},
    // Views of what is contiguous, and no operators of ATen, whose functions of these names copy.
    {"resize", "python.resize", ""},
    {"resize_as", "python.resize_as", ""},
};

/// Methods of operators whose left operand is no tensor: `x.__rsub__(2)` is 2 - x.
inline constexpr PythonSpelling reflected_methods[] = {
    {"__radd__", "aten.add", "Tensor other, Tensor self"},
    {"__rsub__", "aten.sub", "Tensor other, Tensor self"},
    {"__rmul__", "aten.mul", "Tensor other, Tensor self"},
    {"__rdiv__", "aten.div", "Tensor other, Tensor self"},
    {"__rtruediv__", "aten.div", "Tensor other, Tensor self"},
    {"__rfloordiv__", "aten.floor_divide", "Tensor other, Tensor self"},
    {"__rmod__", "aten.remainder", "Tensor other, Tensor self"},
    {"__rpow__", "aten.pow", "Tensor exponent, Tensor self"},
    {"__rmatmul__", "aten.matmul", "Tensor other, Tensor self"},
    {"__rand__", "aten.bitwise_and", "Tensor other, Tensor self"},
    {"__ror__", "aten.bitwise_or", "Tensor other, Tensor self"},
    {"__rxor__", "aten.bitwise_xor", "Tensor other, Tensor self"},
};

/// Attributes of tensors that are operators: `getattr(x, "T")`.
struct PythonAttribute {
  std::string_view attribute;  ///< "mT"
  std::string_view base;       ///< ATen operator without overload
};

/// All of them.
inline constexpr PythonAttribute python_attributes[] = {
    {"T", "aten.numpy_T"}, {"mT", "aten.mT"},   {"H", "aten.matrix_H"},
    {"mH", "aten.adjoint"}, {"real", "aten.real"}, {"imag", "aten.imag"}, {"data", "aten.detach"},
};

/// Keywords that Python's functions give to parameters ATen names otherwise.
struct KeywordAlias {
  std::string_view python;  ///< as the call writes it
  std::string_view aten;    ///< the parameter that may be meant
};

/// All of them. A keyword may stand for several parameters: it means the one that the operator has.
inline constexpr KeywordAlias keyword_aliases[] = {
    {"input", "self"}, {"self", "input"}, {"input", "indices"}, {"training", "train"}, {"axis", "dim"},
    {"shape", "size"}, {"sizes", "size"}, {"split_size_or_sections", "split_size"},
    // NumPy's names, which PyTorch takes too.
    {"keepdims", "keepdim"}, {"x", "self"}, {"a", "self"}, {"x1", "self"}, {"x2", "other"},
};

/// What a spelling says: the operator without overload, and where its parameters stand.
struct Operation {
  std::string_view base;                      ///< "aten.add"; empty: unknown
  std::string_view overload;                  ///< "Tensor"; empty: to be resolved by the arguments
  std::string_view parameters;                ///< Python's order; empty: as ATen
  std::optional<DType> dtype = std::nullopt;  ///< what `x.float()` says without saying it
};

/// Takes a call_function target apart. The result's views point into `target` or into the tables.
[[nodiscard]] constexpr auto operation_of_function(std::string_view target) -> Operation {
  if (target.starts_with("torch.ops.")) {
    std::string_view name = target.substr(10);
    const auto first = name.find('.');
    const auto last = name.rfind('.');
    if (first == last) return {name, name.starts_with("higher_order.") ? "default" : "", ""};
    return {name.substr(0, last), name.substr(last + 1), ""};
  }
  for (const PythonSpelling& s : python_functions)
    if (s.spelling == target) return {s.base, "", s.parameters, s.dtype};
  if (target.starts_with("operator.")) return {target, "", ""};
  return {};
}

/// What `getattr(x, attribute)` computes; an empty base for what is no operator.
[[nodiscard]] constexpr auto operation_of_attribute(std::string_view attribute) -> Operation {
  for (const PythonAttribute& a : python_attributes)
    if (a.attribute == attribute) return {a.base, "", "Tensor self, str name"};
  return {};
}

/// Whether Python's function `target` is ATen's operator of the same last name.
[[nodiscard]] constexpr auto is_torch_function(std::string_view target) -> bool {
  return target.starts_with("torch.") && !target.starts_with("torch.ops.");
}
/// "relu" of "torch.nn.functional.relu".
[[nodiscard]] constexpr auto last_name(std::string_view target) -> std::string_view {
  return target.substr(target.rfind('.') + 1);
}

/// Whether a call that means no operator of ATen is one of PyTorch's functions in Python that write nothing, unless the call says
/// so (`out=`), and return tensors of their own.
[[nodiscard]] constexpr auto makes_new_tensor(std::string_view target) -> bool {
  constexpr std::string_view functions[] = {
      "affine_grid", "block_diag", "cdist",     "interpolate", "local_response_norm", "lp_pool1d", "lp_pool2d", "lp_pool3d",
      "max_unpool1d", "max_unpool2d", "max_unpool3d", "nonzero", "normalize", "softmin", "softsign", "tanhshrink", "tensor",
      "tensordot", "unique", "unique_consecutive", "upsample", "upsample_bilinear", "upsample_nearest",
  };
  if (target == "new_tensor") return true;
  if (!is_torch_function(target)) return false;
  for (const std::string_view function : functions)
    if (last_name(target) == function) return true;
  return false;
}

/// Takes a call_method target apart: `float`, `__iadd__` and their like; anything else is ATen's by name.
[[nodiscard]] constexpr auto operation_of_method(std::string_view method) -> Operation {
  for (const PythonSpelling& s : python_methods)
    if (s.spelling == method) return {s.base, "dtype", s.parameters, s.dtype};
  if (method.size() > 4 && method.starts_with("__") && method.ends_with("__")) {
    const std::string_view plain = method.substr(2, method.size() - 4);
    if (plain == "setitem") return {"operator.setitem", "", ""};
    if (plain == "getitem") return {"operator.getitem", "", ""};
    for (const PythonSpelling& s : reflected_methods)
      if (s.spelling == method) return {s.base, "", s.parameters};
    for (const PythonSpelling& s : python_functions) {
      std::string_view name = s.spelling;
      if (!name.starts_with("operator.")) continue;
      name.remove_prefix(9);
      if (name == plain || (name.ends_with('_') && name.substr(0, name.size() - 1) == plain)) return {s.base, "", ""};
    }
  }
  return {};
}

}  // namespace fxpass::ops

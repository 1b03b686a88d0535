# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that write and that fxpass does not carry out, with the reason that it gives. These tables may only shrink: a test
fails where an operator in them works by now, and where one that is not in them does not."""


def _lines(text):
    return [line.strip() for line in text.strip().splitlines()]


# What an operator is refused with. "plain" stands behind it where that is so of inputs, and not of views of them.
REFUSED = {}

# Lists as out=, results beside statistics, and operators whose functional form has other parameters or other results.
REFUSED |= dict.fromkeys(
    _lines(
        """
        aten._batch_norm_with_update.out
        aten._foreach_abs.out
        aten._foreach_acos.out
        aten._foreach_add.List_out
        aten._foreach_add.ScalarList_out
        aten._foreach_add.Scalar_out
        aten._foreach_add.Tensor_out
        aten._foreach_addcdiv.ScalarList_out
        aten._foreach_addcdiv.Scalar_out
        aten._foreach_addcdiv.Tensor_out
        aten._foreach_addcmul.ScalarList_out
        aten._foreach_addcmul.Scalar_out
        aten._foreach_addcmul.Tensor_out
        aten._foreach_asin.out
        aten._foreach_atan.out
        aten._foreach_ceil.out
        aten._foreach_clamp_max.List_out
        aten._foreach_clamp_max.ScalarList_out
        aten._foreach_clamp_max.Scalar_out
        aten._foreach_clamp_min.List_out
        aten._foreach_clamp_min.ScalarList_out
        aten._foreach_clamp_min.Scalar_out
        aten._foreach_clone.out
        aten._foreach_copy.out
        aten._foreach_cos.out
        aten._foreach_cosh.out
        aten._foreach_div.List_out
        aten._foreach_div.ScalarList_out
        aten._foreach_div.Scalar_out
        aten._foreach_div.Tensor_out
        aten._foreach_erf.out
        aten._foreach_erfc.out
        aten._foreach_exp.out
        aten._foreach_expm1.out
        aten._foreach_floor.out
        aten._foreach_frac.out
        aten._foreach_lerp.List_out
        aten._foreach_lerp.ScalarList_out
        aten._foreach_lerp.Scalar_out
        aten._foreach_lgamma.out
        aten._foreach_log.out
        aten._foreach_log10.out
        aten._foreach_log1p.out
        aten._foreach_log2.out
        aten._foreach_max.out
        aten._foreach_maximum.List_out
        aten._foreach_maximum.ScalarList_out
        aten._foreach_maximum.Scalar_out
        aten._foreach_minimum.List_out
        aten._foreach_minimum.ScalarList_out
        aten._foreach_minimum.Scalar_out
        aten._foreach_mul.List_out
        aten._foreach_mul.ScalarList_out
        aten._foreach_mul.Scalar_out
        aten._foreach_mul.Tensor_out
        aten._foreach_neg.out
        aten._foreach_norm.Scalar_out
        aten._foreach_pow.List_out
        aten._foreach_pow.ScalarList_out
        aten._foreach_pow.Scalar_out
        aten._foreach_powsum.Scalar_out
        aten._foreach_reciprocal.out
        aten._foreach_round.out
        aten._foreach_rsqrt.out
        aten._foreach_sigmoid.out
        aten._foreach_sign.out
        aten._foreach_sin.out
        aten._foreach_sinh.out
        aten._foreach_sqrt.out
        aten._foreach_sub.List_out
        aten._foreach_sub.ScalarList_out
        aten._foreach_sub.Scalar_out
        aten._foreach_tan.out
        aten._foreach_tanh.out
        aten._foreach_trunc.out
        aten._foreach_zero.out
        aten._histogramdd_from_bin_cts.out
        aten._histogramdd_from_bin_tensors.out
        aten._native_batch_norm_legit.out
        aten.float_power_.Tensor
        aten.native_batch_norm.out
        aten.new_empty.out
        aten.polygamma_.default
        aten.resize.out
        aten.resize_as.out
        aten.rrelu_with_noise.default
        aten.rrelu_with_noise.out
        aten.rrelu_with_noise_.default
        aten.set.source_Tensor_out
        """
    ),
    r"in a way that fxpass does not carry out",
)

# PyTorch has no operator of these parameters that does not write.
REFUSED |= dict.fromkeys(
    _lines(
        """
        aten._foreach_addcdiv_.Tensor
        aten._foreach_addcmul_.Tensor
        aten.normal.out
        """
    ),
    r"has no twin that does not write|does not take the arguments",
)

# The caller of a program sees the shape of its inputs change.
REFUSED |= dict.fromkeys(
    _lines(
        """
        aten.as_strided_.default plain
        aten.resize_.default plain
        aten.resize_as_.default plain
        aten.set_.source_Tensor plain
        aten.set_data.default plain
        aten.squeeze_.default plain
        aten.squeeze_.dim plain
        aten.squeeze_.dims plain
        aten.swapaxes_.default plain
        aten.swapdims_.default plain
        aten.t_.default plain
        aten.transpose_.default plain
        aten.unsqueeze_.default plain
        """
    ),
    r"which its owner would see",
)

# An input, or a tensor without elements.
REFUSED |= dict.fromkeys(
    _lines(
        """
        aten.set_.default
        """
    ),
    r"which its owner would see|what is no view of elements",
)

# Operators that PyTorch has for backends, layouts and number systems of its own, or of which its test suite makes no call that
# could be repeated with a tensor to write to: nobody has called them here.
NOT_SAMPLED = """
    aten._adaptive_avg_pool2d.out aten._adaptive_avg_pool2d_backward.out aten._adaptive_avg_pool3d.out
    aten._adaptive_avg_pool3d_backward.out aten._add_relu.Scalar_out aten._add_relu.out
    aten._add_relu_.Scalar aten._add_relu_.Tensor aten._addmm_activation.out aten._aminmax.dim_out
    aten._aminmax.out aten._amp_foreach_non_finite_check_and_unscale.out
    aten._amp_foreach_non_finite_check_and_unscale_.default aten._amp_update_scale.out
    aten._amp_update_scale_.default aten._batch_norm_no_update.out aten._cdist_backward.out
    aten._cholesky_solve_helper.out aten._coalesce.out aten._coalesced.out aten._coalesced_.default
    aten._compute_linear_combination.out aten._conj_copy.out aten._conv_depthwise2d.out
    aten._convert_indices_from_coo_to_csr.out aten._convert_indices_from_csr_to_coo.out
    aten._convolution.out aten._copy_from.out aten._copy_from_and_resize.out aten._ctc_loss.Tensor_out
    aten._ctc_loss.out aten._ctc_loss_backward.out aten._cudnn_ctc_loss.out
    aten._cudnn_init_dropout_state.out aten._cudnn_rnn.out aten._cudnn_rnn_backward.out
    aten._cudnn_rnn_flatten_weight.out aten._cummax_helper.default aten._cummin_helper.default
    aten._dirichlet_grad.out aten._efficientzerotensor.out aten._embedding_bag_dense_backward.out
    aten._embedding_bag_forward_only.out aten._embedding_bag_per_sample_weights_backward.out
    aten._empty_affine_quantized.out aten._empty_per_channel_affine_quantized.out aten._euclidean_dist.out
    aten._fake_quantize_learnable_per_channel_affine.out aten._fake_quantize_learnable_per_tensor_affine.out
    aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.out
    aten._fill_mem_eff_dropout_mask_.default aten._flash_attention_forward_no_dropout_inplace.default
    aten._foobar.out aten._fused_adagrad.out aten._fused_adagrad.tensor_lr_out aten._fused_adagrad_.default
    aten._fused_adagrad_.tensor_lr aten._fused_adam.out aten._fused_adam.tensor_lr_out
    aten._fused_adam_.default aten._fused_adam_.tensor_lr aten._fused_adamw.out
    aten._fused_adamw.tensor_lr_out aten._fused_adamw_.default aten._fused_adamw_.tensor_lr
    aten._fused_dropout.out aten._fused_moving_avg_obs_fq_helper.default
    aten._fused_moving_avg_obs_fq_helper.out aten._fused_sgd.out aten._fused_sgd.tensor_lr_out
    aten._fused_sgd_.default aten._fused_sgd_.tensor_lr aten._fw_primal_copy.out
    aten._grid_sampler_2d_cpu_fallback.out aten._histogramdd_bin_edges.out aten._index_put_impl.out
    aten._index_put_impl_.default aten._indices_copy.out aten._int_mm.out aten._linalg_svd.U
    aten._logcumsumexp.out aten._lstm_mps.out aten._make_dual_copy.out
    aten._make_per_channel_quantized_tensor.out aten._make_per_tensor_quantized_tensor.out
    aten._masked_scale.out aten._masked_softmax.out aten._masked_softmax_backward.out
    aten._mkldnn_reshape.out aten._mkldnn_transpose.out aten._mkldnn_transpose_.default
    aten._mps_convolution.out aten._mps_convolution_transpose.out aten._native_batch_norm_legit.no_stats_out
    aten._native_batch_norm_legit_no_training.out aten._native_multi_head_attention.out
    aten._neg_view_copy.out aten._nested_from_padded.out aten._nested_from_padded_and_nested_example.out
    aten._nested_get_values_copy.out aten._nested_tensor_from_mask.out
    aten._nested_tensor_from_tensor_list.out aten._nested_tensor_size.out
    aten._nested_tensor_storage_offsets.out aten._nested_tensor_strides.out
    aten._nested_view_from_buffer_copy.out aten._nested_view_from_jagged_copy.out
    aten._new_zeros_with_same_feature_meta.out aten._nnpack_spatial_convolution.out
    aten._pack_padded_sequence.out aten._pdist_forward.out aten._philox_normal.out
    aten._philox_normal_.default aten._philox_uniform.out aten._philox_uniform_.default aten._pin_memory.out
    aten._reshape_alias_copy.out aten._resize_output.out aten._resize_output_.default
    aten._sample_dirichlet.out aten._scaled_mm.out aten._scaled_mm_v2.out aten._segment_reduce_backward.out
    aten._slow_conv2d_backward.grad_input aten._slow_conv2d_backward.output_mask_out
    aten._slow_conv2d_forward.output aten._sobol_engine_ff_.default
    aten._sobol_engine_initialize_state_.default aten._sobol_engine_scramble_.default aten._sparse_addmm.out
    aten._sparse_broadcast_to_copy.out aten._sparse_coo_tensor_with_dims.out
    aten._sparse_coo_tensor_with_dims_and_tensors.out aten._sparse_csr_prod.dim_dtype_out
    aten._sparse_csr_sum.dim_dtype_out aten._sparse_log_softmax.out
    aten._sparse_log_softmax_backward_data.out aten._sparse_mask_projection.out aten._sparse_softmax.out
    aten._sparse_softmax_backward_data.out aten._sparse_sparse_matmul.out aten._sparse_sum.dim_out
    aten._sparse_sum_backward.out aten._spdiags.out aten._stack.out aten._standard_gamma.out
    aten._standard_gamma_grad.out aten._test_autograd_multiple_dispatch.fullcoverage_out
    aten._test_autograd_multiple_dispatch_view_copy.out aten._test_functorch_fallback.out
    aten._test_optional_filled_intlist.out aten._test_optional_floatlist.out aten._test_optional_intlist.out
    aten._test_warn_in_autograd.out aten._thnn_fused_gru_cell.out aten._thnn_fused_gru_cell_backward.out
    aten._thnn_fused_lstm_cell.out aten._thnn_fused_lstm_cell_backward_impl.out aten._to_copy.out
    aten._to_dense.out aten._to_sparse.out aten._to_sparse.sparse_dim_out aten._to_sparse_bsc.out
    aten._to_sparse_bsr.out aten._to_sparse_csc.out aten._to_sparse_csr.out
    aten._transform_bias_rescale_qkv.out aten._transformer_encoder_layer_fwd.out
    aten._triton_multi_head_attention.out aten._triton_scaled_dot_attention.out aten._unique.out
    aten._upsample_bicubic2d_aa.out aten._upsample_bicubic2d_aa_backward.grad_input
    aten._upsample_bilinear2d_aa.out aten._upsample_bilinear2d_aa_backward.grad_input
    aten._upsample_lanczos2d_aa.out aten._upsample_lanczos2d_aa_backward.grad_input
    aten._upsample_nearest_exact1d_backward.grad_input aten._upsample_nearest_exact2d.out
    aten._upsample_nearest_exact2d_backward.grad_input aten._upsample_nearest_exact3d.out
    aten._upsample_nearest_exact3d_backward.grad_input aten._values_copy.out aten._weight_norm_interface.out
    aten._weight_norm_interface_backward.out aten.adaptive_avg_pool1d.out
    aten.adaptive_avg_pool3d_backward.grad_input aten.adaptive_max_pool2d_backward.grad_input
    aten.adaptive_max_pool3d_backward.grad_input aten.addmm.dtype_out aten.affine_grid_generator.out
    aten.all.dims_out aten.any.dims_out aten.arange.out aten.arange.start_out aten.argsort.stable_out
    aten.avg_pool1d.out aten.avg_pool3d_backward.grad_input aten.baddbmm.dtype_out aten.bartlett_window.out
    aten.bartlett_window.periodic_out aten.batch_norm_backward_elemt.out aten.batch_norm_backward_reduce.out
    aten.batch_norm_elemt.out aten.batch_norm_gather_stats.out aten.batch_norm_gather_stats_with_counts.out
    aten.batch_norm_stats.out aten.batch_norm_update_stats.out aten.bernoulli.Tensor_out
    aten.bitwise_and.Scalar_Tensor_out aten.bitwise_left_shift.Scalar_Tensor_out
    aten.bitwise_or.Scalar_Tensor_out aten.bitwise_right_shift.Scalar_Tensor_out
    aten.bitwise_xor.Scalar_Tensor_out aten.blackman_window.out aten.blackman_window.periodic_out
    aten.bmm.dtype_out aten.bucketize.Scalar_out aten.ccol_indices_copy.out aten.chain_matmul.out
    aten.col2im.out aten.col_indices_copy.out aten.column_stack.out aten.conv_depthwise3d.out
    aten.conv_tbc.out aten.convolution_backward.out aten.convolution_backward_overrideable.out
    aten.convolution_overrideable.out aten.copy_sparse_to_sparse.out aten.copy_sparse_to_sparse_.default
    aten.cross.out aten.crow_indices_copy.out aten.cudnn_affine_grid_generator.out
    aten.cudnn_affine_grid_generator_backward.out aten.cudnn_batch_norm.out
    aten.cudnn_batch_norm_backward.out aten.cudnn_convolution.out aten.cudnn_convolution_add_relu.out
    aten.cudnn_convolution_relu.out aten.cudnn_convolution_transpose.out aten.cudnn_grid_sampler.out
    aten.cudnn_grid_sampler_backward.out aten.dequantize.tensors_out aten.diagonal_backward.out
    aten.diff.out aten.div.Scalar_mode_out aten.dstack.out aten.elu_backward.grad_input
    aten.embedding_dense_backward.out aten.embedding_renorm.out aten.empty.out aten.empty_like.out
    aten.empty_permuted.out aten.empty_quantized.out aten.empty_strided.out aten.eye.m_out aten.eye.out
    aten.fake_quantize_per_channel_affine_cachemask.out aten.fake_quantize_per_tensor_affine_cachemask.out
    aten.fbgemm_linear_fp16_weight.out aten.fbgemm_linear_fp16_weight_fp32_activation.out aten.fft_fft.out
    aten.fft_fft2.out aten.fft_fftfreq.out aten.fft_fftn.out aten.fft_hfft.out aten.fft_hfft2.out
    aten.fft_hfftn.out aten.fft_ifft.out aten.fft_ifft2.out aten.fft_ifftn.out aten.fft_ihfft.out
    aten.fft_ihfft2.out aten.fft_ihfftn.out aten.fft_irfft.out aten.fft_irfft2.out aten.fft_irfftn.out
    aten.fft_rfft.out aten.fft_rfft2.out aten.fft_rfftfreq.out aten.fft_rfftn.out
    aten.float_power.Scalar_out aten.float_power_.Scalar aten.fractional_max_pool2d_backward.grad_input
    aten.fractional_max_pool3d_backward.grad_input aten.from_file.out aten.full.out aten.full_like.out
    aten.fused_moving_avg_obs_fake_quant.default aten.gelu_backward.grad_input aten.glu_backward_jvp.out
    aten.glu_jvp.out aten.grid_sampler_2d_backward.out aten.grid_sampler_3d_backward.out
    aten.hamming_window.out aten.hamming_window.periodic_alpha_beta_out
    aten.hamming_window.periodic_alpha_out aten.hamming_window.periodic_out aten.hann_window.out
    aten.hann_window.periodic_out aten.hardtanh_backward.grad_input aten.hspmm.out aten.hstack.out
    aten.im2col.out aten.indices_copy.out aten.int_repr.out aten.isin.Scalar_Tensor_out
    aten.isin.Tensor_Scalar_out aten.kaiser_window.beta_out aten.kaiser_window.out
    aten.kaiser_window.periodic_out aten.leaky_relu_backward.grad_input aten.linalg_cholesky.out
    aten.linalg_cond.out aten.linalg_cond.p_str_out aten.linalg_matrix_norm.out
    aten.linalg_matrix_norm.str_ord_out aten.linalg_matrix_rank.atol_rtol_float_out
    aten.linalg_matrix_rank.out aten.linalg_multi_dot.out aten.linalg_norm.ord_str_out aten.linalg_norm.out
    aten.linalg_pinv.atol_rtol_float_out aten.linalg_pinv.out aten.linalg_solve.out aten.linalg_svd.U
    aten.linalg_svdvals.out aten.linalg_tensorsolve.out aten.linear.out aten.linear_backward.out
    aten.linspace.Scalar_Tensor_out aten.linspace.Tensor_Scalar_out aten.linspace.out
    aten.logit_backward.grad_input aten.logspace.Scalar_Tensor_out aten.logspace.Tensor_Scalar_out
    aten.logspace.Tensor_Tensor_out aten.logspace.out aten.lstm_mps_backward.out aten.lu_solve.out
    aten.matmul_backward.out aten.max_pool2d_backward.out aten.max_pool3d_with_indices_backward.grad_input
    aten.miopen_batch_norm.out aten.miopen_batch_norm_backward.out aten.miopen_convolution.out
    aten.miopen_convolution_transpose.out aten.miopen_ctc_loss.out aten.miopen_depthwise_convolution.out
    aten.miopen_rnn.out aten.miopen_rnn_backward.out aten.mkldnn_adaptive_avg_pool2d.out
    aten.mkldnn_adaptive_avg_pool2d_backward.out aten.mkldnn_convolution.out aten.mkldnn_linear.out
    aten.mkldnn_linear_backward.out aten.mkldnn_linear_backward_input.out
    aten.mkldnn_linear_backward_weights.out aten.mkldnn_max_pool2d.out aten.mkldnn_max_pool2d_backward.out
    aten.mkldnn_max_pool3d.out aten.mkldnn_max_pool3d_backward.out aten.mkldnn_reorder_conv2d_weight.out
    aten.mkldnn_reorder_conv3d_weight.out aten.mkldnn_rnn_layer.out aten.mkldnn_rnn_layer_backward.out
    aten.mm.dtype_out aten.mps_convolution_backward.out aten.mps_convolution_transpose_backward.out
    aten.nanquantile.out aten.nanquantile.scalar_out aten.native_batch_norm_backward.out
    aten.native_dropout.out aten.native_group_norm_backward.out aten.native_layer_norm_backward.out
    aten.native_norm.ScalarOpt_dim_dtype_out aten.native_norm.out aten.new_empty_strided.out
    aten.new_full.out aten.nll_loss2d.out aten.nll_loss2d_backward.grad_input aten.nll_loss2d_forward.output
    aten.nonzero_static.out aten.norm.ScalarOpt_dtype_out aten.norm.dtype_out aten.normal.float_Tensor_out
    aten.normal.float_float_out aten.nuclear_norm.dim_out aten.ones.out aten.pow.Scalar_out
    aten.q_per_channel_scales.out aten.q_per_channel_zero_points.out aten.quantile.out
    aten.quantile.scalar_out aten.quantize_per_channel.out aten.quantize_per_tensor.out
    aten.quantize_per_tensor.tensor_qparams_out aten.quantize_per_tensor.tensors_out
    aten.quantize_per_tensor_dynamic.out aten.quantized_batch_norm.out aten.quantized_max_pool1d.out
    aten.quantized_max_pool2d.out aten.quantized_max_pool3d.out aten.rand.generator_out aten.rand.out
    aten.rand_like.generator_out aten.randint.generator_out aten.randint.low_generator_out
    aten.randint.low_out aten.randint.out aten.randint_like.Tensor_generator_out
    aten.randint_like.Tensor_out aten.randint_like.generator_out aten.randint_like.low_dtype_out
    aten.randint_like.low_generator_dtype_out aten.randn.generator_out aten.randn.out
    aten.randn_like.generator_out aten.random.from_out aten.random.to_out aten.randperm.generator_out
    aten.randperm.out aten.range.out aten.range.out_ aten.record_stream.default
    aten.reflection_pad1d_backward.grad_input aten.reflection_pad2d.out
    aten.reflection_pad2d_backward.grad_input aten.reflection_pad3d.out
    aten.reflection_pad3d_backward.grad_input aten.remainder.Scalar_Tensor_out
    aten.repeat_interleave.Tensor_out aten.replication_pad1d_backward.grad_input
    aten.replication_pad2d_backward.grad_input aten.replication_pad3d.out
    aten.replication_pad3d_backward.grad_input aten.resize_as_sparse.out aten.resize_as_sparse_.default
    aten.retain_grad.default aten.roll.out aten.row_indices_copy.out aten.rrelu_with_noise_backward.out
    aten.scalar_tensor.out aten.scatter.value_reduce_out aten.searchsorted.Scalar_out
    aten.searchsorted.Tensor_out aten.select_backward.out aten.set.out aten.set.source_Storage_out
    aten.set.source_Storage_storage_offset_out aten.set_.source_Storage
    aten.set_.source_Storage_storage_offset aten.set_.source_Tensor_storage_offset aten.slice_backward.out
    aten.slice_scatter.out aten.slow_conv3d.out aten.slow_conv3d_forward.output aten.slow_conv_dilated2d.out
    aten.slow_conv_dilated3d.out aten.slow_conv_transpose2d.out aten.slow_conv_transpose3d.out
    aten.softplus_backward.grad_input aten.sort.values_stable aten.sparse_coo_tensor.size_out
    aten.sparse_mask.out aten.sparse_resize.out aten.sparse_resize_.default aten.sparse_resize_and_clear.out
    aten.sparse_resize_and_clear_.default aten.sparse_sampled_addmm.out
    aten.special_chebyshev_polynomial_t.x_scalar_out aten.special_chebyshev_polynomial_u.x_scalar_out
    aten.special_chebyshev_polynomial_v.x_scalar_out aten.special_chebyshev_polynomial_w.x_scalar_out
    aten.special_hermite_polynomial_h.x_scalar_out aten.special_hermite_polynomial_he.x_scalar_out
    aten.special_laguerre_polynomial_l.x_scalar_out aten.special_legendre_polynomial_p.x_scalar_out
    aten.special_shifted_chebyshev_polynomial_t.x_scalar_out
    aten.special_shifted_chebyshev_polynomial_u.x_scalar_out
    aten.special_shifted_chebyshev_polynomial_v.x_scalar_out
    aten.special_shifted_chebyshev_polynomial_w.x_scalar_out aten.special_xlog1py.self_scalar_out
    aten.special_xlogy.self_scalar_out aten.special_zeta.self_scalar_out aten.split_copy.Tensor_out
    aten.split_with_sizes_copy.out aten.sspaddmm.out aten.std.out aten.take_along_dim.out aten.tensordot.out
    aten.thnn_conv2d.out aten.to_mkldnn.out aten.to_padded_tensor.out aten.tril_indices.out
    aten.triu_indices.out aten.unbind_copy.int_out aten.unfold_backward.out aten.unique_dim.out
    aten.unique_dim_consecutive.out aten.unsafe_split.Tensor_out aten.unsafe_split_with_sizes.out
    aten.upsample_bicubic2d_backward.grad_input aten.upsample_bilinear2d.vec_out
    aten.upsample_bilinear2d_backward.grad_input aten.upsample_linear1d_backward.grad_input
    aten.upsample_nearest1d_backward.grad_input aten.upsample_nearest2d.out aten.upsample_nearest2d.vec_out
    aten.upsample_nearest2d_backward.grad_input aten.upsample_nearest3d.out
    aten.upsample_nearest3d_backward.grad_input aten.upsample_trilinear3d_backward.grad_input
    aten.values_copy.out aten.var.out aten.xlogy.OutScalar_Self aten.zeros.out
""".split()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators that training IR keeps and that a backend is asked for by name, and which entries of PyTorch's operator
database are samples of each: `op_samples.py --named` judges these.

An operator of which the database has no entry names the test that covers it.
"""

import fnmatch

# Name -> the entries of the database, as patterns.
NAMED = {
    "linear": "nn.functional.linear",
    "matmul": "matmul mm bmm mv addmm addmm.decomposed addmv addbmm addr baddbmm dot vdot inner outer __rmatmul__ linalg.multi_dot "
    "linalg.vecdot tensordot kron",
    "einsum": "einsum",
    "layer_norm": "nn.functional.layer_norm native_layer_norm",
    "group_norm": "nn.functional.group_norm native_group_norm",
    "rms_norm": "nn.functional.rms_norm",
    "scaled_dot_product_attention": "nn.functional.scaled_dot_product_attention nn.functional.multi_head_attention_forward",
    "softmax": "softmax softmax.with_dtype nn.functional.softmin nn.functional.softmin.with_dtype masked.softmax masked.softmin "
    "torch.ops.aten._safe_softmax.default",
    "log_softmax": "log_softmax log_softmax.with_dtype masked.log_softmax",
    "losses": "nn.functional.*_loss nn.functional.cross_entropy nn.functional.binary_cross_entropy nn.functional.kl_div "
    "nn.functional.binary_cross_entropy_with_logits nn.functional.linear_cross_entropy* nn.functional.cosine_similarity",
    "conv": "nn.functional.conv?d",
    "conv_transpose": "nn.functional.conv_transpose?d",
    "pool": "nn.functional.*_pool?d max_pool2d_with_indices_backward",
    "batch_norm": "nn.functional.batch_norm nn.functional.batch_norm.without_cudnn native_batch_norm _native_batch_norm_legit "
    "_batch_norm_with_update",
    "instance_norm": "nn.functional.instance_norm",
    "interpolate": "nn.functional.interpolate.* nn.functional.upsample_* _upsample_bilinear2d_aa",
    "pad": "nn.functional.pad.* constant_pad_nd",
    "activations": "nn.functional.relu nn.functional.relu6 nn.functional.hardswish nn.functional.leaky_relu nn.functional.glu "
    "nn.functional.elu nn.functional.prelu nn.functional.celu nn.functional.rrelu nn.functional.selu nn.functional.silu "
    "nn.functional.silu.complex nn.functional.hardsigmoid nn.functional.logsigmoid nn.functional.mish nn.functional.softsign "
    "nn.functional.tanhshrink nn.functional.threshold nn.functional.softshrink nn.functional.hardshrink "
    "nn.functional.hardtanh nn.functional.gelu nn.functional.softplus sigmoid tanh",
    "to": "to bfloat16 bool byte char double float half int long short cdouble cfloat chalf",
    "where": "where",
    "one_hot": "nn.functional.one_hot",
    "scatter": "scatter scatter_add scatter_reduce.*",
    "gather": "gather take_along_dim",
    "index": "index_* __getitem__ _unsafe_masked_index _unsafe_masked_index_put_accumulate",
    "masked": "masked_fill masked_scatter masked_select",
    "cumsum": "cumsum masked.cumsum",
    "cumprod": "cumprod masked.cumprod",
    "logsumexp": "logsumexp masked.logsumexp",
    "sort": "sort msort",
    "topk": "topk",
    "argsort": "argsort",
    "unfold": "unfold unfold_copy nn.functional.unfold",
    "grid_sampler": "nn.functional.grid_sample grid_sampler_2d grid_sampler_3d",
    "fft": "fft.* stft istft",
    "cholesky": "cholesky cholesky_inverse cholesky_solve linalg.cholesky linalg.cholesky_ex",
    "triangular_solve": "triangular_solve linalg.solve_triangular",
    "qr": "qr linalg.qr linalg.householder_product ormqr geqrf",
    "lu": "lu lu_solve lu_unpack linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve",
    "inv": "linalg.inv linalg.inv_ex linalg.tensorinv",
    "det": "linalg.det linalg.slogdet logdet",
    "solve": "linalg.solve linalg.solve_ex linalg.tensorsolve",
    "linalg norms": "norm norm.* linalg.norm linalg.norm.subgradients_at_zero linalg.matrix_norm linalg.vector_norm masked.norm "
    "nn.functional.normalize",
    "matrix_power": "linalg.matrix_power",
    "linalg, rest": "linalg.cross linalg.diagonal linalg.vander",
    "exp2": "exp2",
    "view.dtype": "view_as_real view_as_complex",
    "shifts": "bitwise_left_shift bitwise_right_shift",
    "frexp": "frexp",
    "ldexp": "ldexp",
    "integer multiply": "mul __rmul__",
}

# What the database has no entry of -> the file that covers it, and a word that stands in it.
COVERED_ELSEWHERE = {
    "fold": ("lowering_cases.py", "F.fold"),
    "lstm": ("lowering_cases.py", 'recurrent("lstm"'),
    "gru": ("lowering_cases.py", 'recurrent("gru"'),
    "quantise": ("test_quantized.py", "quantize_per_tensor"),
    "dequantise": ("test_quantized.py", "dequantize_per_tensor"),
    "view.dtype": ("test_view_operators.py", "view\\.dtype"),
    "cond": ("test_control_flow.py", "torch.cond"),
    "while_loop": ("test_control_flow.py", "while_loop"),
    "map": ("test_control_flow.py", "map"),
    "prims": ("test_prims.py", "prims."),
}


def entries_of(name, entries):
    """Those of `entries` that are samples of the operator, in their order."""
    patterns = NAMED[name].split()
    return [entry for entry in entries if any(fnmatch.fnmatchcase(entry, pattern) for pattern in patterns)]


def named_entries(entries):
    """Those of `entries` that are samples of any of the operators, each once, in their order."""
    chosen = {entry for name in NAMED for entry in entries_of(name, entries)}
    return [entry for entry in entries if entry in chosen]

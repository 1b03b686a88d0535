# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small programs for test_lowering.py: groups of expressions over the same inputs, outputs of one module."""

import torch
import torch.nn.functional as F

f32, f16, bf16, f64 = torch.float32, torch.float16, torch.bfloat16, torch.float64
i64, i32, u8 = torch.int64, torch.int32, torch.uint8
NAN, INF = float("nan"), float("inf")

GROUPS = {}


def group(name, inputs, **expressions):
    """`inputs` makes the tensors by name; every expression is a function of them, in order."""
    assert name not in GROUPS
    GROUPS[name] = (inputs, expressions)


def normal(*shape, dtype=f32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def whole(*shape, low=-9, high=10, dtype=i64, seed=0):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def nonzero(*shape, dtype=i64, seed=0):
    numbers = whole(*shape, dtype=dtype, seed=seed)
    return numbers + (numbers == 0).to(dtype)


def special(dtype=f32):
    return torch.tensor(
        [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, 2.5, -0.3, 3.7, 100.0], dtype=dtype
    )


# Element by element ---------------------------------------------------------------------------------------

FUNCTIONS = {
    "exp": torch.exp,
    "expm1": torch.expm1,
    "log": torch.log,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "log10": torch.log10,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "tanh": torch.tanh,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "sigmoid": torch.sigmoid,
    "erf": torch.erf,
    "exp2": torch.exp2,
    "reciprocal": torch.reciprocal,
}
KEEPING = {
    "neg": torch.neg,
    "abs": torch.abs,
    "sign": torch.sign,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "round": torch.round,
    "square": torch.square,
    "positive": torch.positive,
    "logical_not": torch.logical_not,
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "isfinite": torch.isfinite,
}
for dtype in (f32, bf16, f16, f64):
    short = str(dtype).removeprefix("torch.")
    group(f"unary_{short}", lambda dtype=dtype: {"x": normal(4, 5, dtype=dtype)}, **FUNCTIONS, **KEEPING)
    group(f"unary_special_{short}", lambda dtype=dtype: {"x": special(dtype)}, **FUNCTIONS, **KEEPING)
group(
    "unary_int",
    lambda: {"x": whole(3, 4)},
    **FUNCTIONS,
    bitwise_not=torch.bitwise_not,
    **{name: f for name, f in KEEPING.items()},
)
group(
    "unary_bool",
    lambda: {"x": whole(6, low=0, high=2, dtype=torch.bool)},
    exp=torch.exp,
    sin=torch.sin,
    bitwise_not=torch.bitwise_not,
    logical_not=torch.logical_not,
    sigmoid=torch.sigmoid,
)
group(
    "unary_u8",
    lambda: {"x": whole(6, low=0, high=200, dtype=u8)},
    sqrt=torch.sqrt,
    neg=torch.neg,
    bitwise_not=torch.bitwise_not,
    sign=torch.sign,
    abs=torch.abs,
)

ARITHMETIC = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "add_alpha": lambda x, y: torch.add(x, y, alpha=3),
    "sub_alpha": lambda x, y: torch.sub(x, y, alpha=2),
    "rsub": lambda x, y: torch.rsub(x, y),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "floor_divide": torch.floor_divide,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "div_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}
COMPARISONS = {
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}
for dtype in (f32, bf16, f64):
    short = str(dtype).removeprefix("torch.")
    group(
        f"binary_{short}",
        lambda dtype=dtype: {"x": normal(4, 1, 5, dtype=dtype), "y": normal(3, 1, dtype=dtype, seed=1)},
        atan2=torch.atan2,
        **ARITHMETIC,
        **COMPARISONS,
    )
group(
    "binary_special",
    lambda: {"x": special()[:, None], "y": special()},
    **{n: f for n, f in ARITHMETIC.items()},
    **COMPARISONS,
)
group(
    "binary_int",
    lambda: {"x": whole(7, 5), "y": nonzero(5, seed=1)},
    bitwise_and=torch.bitwise_and,
    bitwise_or=torch.bitwise_or,
    bitwise_xor=torch.bitwise_xor,
    left_shift=lambda x, y: x << (y & 7),
    right_shift=lambda x, y: x >> (y & 7),
    **ARITHMETIC,
    **COMPARISONS,
)
group(
    "binary_i32_u8",
    lambda: {"x": whole(7, 5, dtype=i32), "y": nonzero(5, dtype=i32).abs().to(u8)},
    **ARITHMETIC,
    **COMPARISONS,
)
group(
    "binary_bool",
    lambda: {
        "x": whole(2, 6, low=0, high=2, dtype=torch.bool),
        "y": whole(6, low=0, high=2, dtype=torch.bool, seed=3),
    },
    add=torch.add,
    mul=torch.mul,
    bitwise_and=torch.bitwise_and,
    bitwise_or=torch.bitwise_or,
    maximum=torch.maximum,
    eq=torch.eq,
    div=lambda x, y: x / (y | True),
    **{n: COMPARISONS[n] for n in ("lt", "logical_xor")},
)
group(
    "numbers_float",
    lambda: {"x": normal(3, 4)},
    add=lambda x: x + 1,
    add_half=lambda x: x + 0.1,
    radd=lambda x: 1 - x,
    mul=lambda x: x * 3,
    div=lambda x: x / 3,
    rdiv=lambda x: 2 / x,
    floordiv=lambda x: x // 0.3,
    mod=lambda x: x % 0.7,
    mod_negative=lambda x: x % -2,
    eq=lambda x: x == 0.5,
    gt=lambda x: x > 0,
    lt_bool=lambda x: x < True,
)
group(
    "numbers_bf16",
    lambda: {"x": normal(64, dtype=bf16)},
    add=lambda x: x + 0.1,
    mul=lambda x: x * 0.1,
    sub=lambda x: 0.3 - x,
    div=lambda x: x / 0.3,
    rdiv=lambda x: 0.7 / x,
    floordiv=lambda x: x // 0.3,
    eq=lambda x: x == 0.1,
    gt=lambda x: x > 0.1,
    mod=lambda x: x % 0.7,
    add_alpha=lambda x: torch.add(x, x, alpha=0.3),
)
group(
    "numbers_int",
    lambda: {"x": whole(20)},
    add=lambda x: x + 1,
    add_float=lambda x: x + 0.5,
    mul=lambda x: x * 3,
    div=lambda x: x / 3,
    floordiv=lambda x: x // 3,
    floordiv_negative=lambda x: x // -4,
    mod=lambda x: x % 4,
    mod_negative=lambda x: x % -4,
    eq=lambda x: x == 2,
    gt_float=lambda x: x > 1.5,
    and_=lambda x: x & 6,
    or_=lambda x: x | 1,
    xor=lambda x: x ^ 5,
    shift=lambda x: x << 3,
    rshift=lambda x: x >> 2,
    pow=lambda x: x**3,
    square=lambda x: x**2,
    add_bool=lambda x: x + True,
)
group(
    "promotion_0dim",
    lambda: {
        "x": normal(3, dtype=bf16),
        "s": torch.tensor(0.3),
        "d": torch.tensor(1.7, dtype=f64),
        "i": torch.tensor(3),
        "n": whole(3, dtype=i32),
    },
    half_float=lambda x, s, d, i, n: x * s,
    half_double=lambda x, s, d, i, n: x + d,
    half_int=lambda x, s, d, i, n: x - i,
    int_int=lambda x, s, d, i, n: n + i,
    int_float=lambda x, s, d, i, n: n * s,
    int_double=lambda x, s, d, i, n: n / d,
    zero_zero=lambda x, s, d, i, n: s + d,
    zero_int=lambda x, s, d, i, n: s * i,
    mixed=lambda x, s, d, i, n: x * n,
    compare=lambda x, s, d, i, n: x > s,
    number=lambda x, s, d, i, n: i + 0.5,
    where=lambda x, s, d, i, n: torch.where(x > 0, x, s),
)
group(
    "pow",
    lambda: {"x": normal(3, 4).abs() + 0.1, "y": normal(4, seed=2)},
    tensor=lambda x, y: x**y,
    half=lambda x, y: x**0.5,
    minus_half=lambda x, y: x**-0.5,
    square=lambda x, y: x**2,
    cube=lambda x, y: x**3,
    inverse=lambda x, y: x**-1,
    inverse_square=lambda x, y: x**-2,
    zero=lambda x, y: x**0,
    other=lambda x, y: x**1.7,
    negative_base=lambda x, y: (-x) ** 2,
    base=lambda x, y: 2**y,
    base_float=lambda x, y: torch.pow(0.5, y),
)
group(
    "choice",
    lambda: {
        "c": whole(4, 1, low=0, high=2, dtype=torch.bool),
        "x": normal(3),
        "y": normal(4, 3, seed=1),
        "i": whole(3),
    },
    where=lambda c, x, y, i: torch.where(c, x, y),
    scalar_other=lambda c, x, y, i: torch.where(c, x, -3.4028234663852886e38),
    scalar_self=lambda c, x, y, i: torch.where(c, 1.5, y),
    scalars=lambda c, x, y, i: torch.where(c, 1.0, 0.0),
    promoting=lambda c, x, y, i: torch.where(c, i, y),
    masked_fill=lambda c, x, y, i: y.masked_fill(c, -INF),
    masked_fill_int=lambda c, x, y, i: i.expand(4, 3).masked_fill(c, 7),
    masked_fill_tensor=lambda c, x, y, i: y.masked_fill(c, x[0]),
    clamp=lambda c, x, y, i: y.clamp(-0.5, 0.5),
    clamp_min=lambda c, x, y, i: y.clamp(min=0.1),
    clamp_max=lambda c, x, y, i: y.clamp(max=0.1),
    clamp_tensor=lambda c, x, y, i: torch.clamp(y, x, x + 1),
    clamp_min_f=lambda c, x, y, i: torch.clamp_min(y, 0.2),
    clamp_int=lambda c, x, y, i: i.clamp(-2, 3),
    clamp_int_float=lambda c, x, y, i: i.clamp(-2.5, 3),
    clamp_max_tensor=lambda c, x, y, i: torch.clamp_max(y, x),
    lerp=lambda c, x, y, i: torch.lerp(y, x, 0.3),
    lerp_tensor=lambda c, x, y, i: torch.lerp(y, x, x),
    addcmul=lambda c, x, y, i: torch.addcmul(y, x, y, value=0.5),
    addcdiv=lambda c, x, y, i: torch.addcdiv(y, x, y.abs() + 1, value=-2),
)
group(
    "conversion",
    lambda: {
        "x": normal(3, 4) * 5,
        "i": whole(3, 4, low=-300, high=300),
        "b": whole(5, low=0, high=2, dtype=torch.bool),
    },
    to_int=lambda x, i, b: x.to(i64),
    to_i32=lambda x, i, b: x.int(),
    to_half=lambda x, i, b: x.half(),
    to_bf16=lambda x, i, b: x.bfloat16(),
    to_bool=lambda x, i, b: x.bool(),
    to_double=lambda x, i, b: x.double(),
    int_float=lambda x, i, b: i.float(),
    int_i8=lambda x, i, b: i.to(torch.int8),
    int_u8=lambda x, i, b: i.to(u8),
    int_bool=lambda x, i, b: i.bool(),
    bool_int=lambda x, i, b: b.long(),
    bool_float=lambda x, i, b: b.to(f32),
    type_as=lambda x, i, b: i.type_as(x),
    to_other=lambda x, i, b: i.to(x),
    bits=lambda x, i, b: x.view(i32),
    view_as_bytes=lambda x, i, b: x.view(u8),
    wide=lambda x, i, b: x.view(i64),
    clone=lambda x, i, b: x.clone(),
    contiguous=lambda x, i, b: x.t().contiguous(),
)

# Movement of elements -----------------------------------------------------------------------------------

group(
    "views",
    lambda: {"x": normal(2, 3, 4)},
    view=lambda x: x.view(6, 4),
    minus_one=lambda x: x.view(2, -1),
    reshape=lambda x: x.reshape(4, 6),
    flatten=lambda x: x.flatten(),
    flatten_from=lambda x: x.flatten(1),
    unflatten=lambda x: x.unflatten(2, (2, 2)),
    permute=lambda x: x.permute(2, 0, 1),
    permute_negative=lambda x: x.permute(-1, 0, -2),
    transpose=lambda x: x.transpose(0, -1),
    swapaxes=lambda x: x.swapaxes(0, 1),
    mT=lambda x: x.mT.clone(),
    t=lambda x: x[0].t(),
    movedim=lambda x: x.movedim(0, -1),
    unsqueeze=lambda x: x.unsqueeze(-1),
    squeeze=lambda x: x.unsqueeze(1).squeeze(1),
    squeeze_all=lambda x: x[:, :1].squeeze(),
    squeeze_dims=lambda x: x[None, :, :1].squeeze((0, 2)),
    squeeze_none=lambda x: x.squeeze(0),
    expand=lambda x: x[:, :1].expand(2, 5, 4),
    expand_new=lambda x: x.expand(3, 2, 3, 4),
    expand_minus=lambda x: x[:, :1].expand(-1, 3, -1),
    expand_as=lambda x: x[:1].expand_as(x),
    broadcast_to=lambda x: x[0].broadcast_to(2, 3, 4),
    detach=lambda x: x.detach(),
    view_as=lambda x: x.view_as(x),
    reshape_transposed=lambda x: x.transpose(1, 2).reshape(-1),
    ravel=lambda x: x.ravel(),
)
group(
    "slices",
    lambda: {"x": normal(5, 6)},
    slice=lambda x: x[1:3],
    step=lambda x: x[::2, 1::3],
    negative=lambda x: x[-3:-1],
    beyond=lambda x: x[2:100],
    empty=lambda x: x[4:2],
    select=lambda x: x[2],
    select_last=lambda x: x[:, -1],
    ellipsis=lambda x: x[..., 1],
    new=lambda x: x[None, :, None, 2],
    narrow=lambda x: x.narrow(1, 2, 3),
    narrow_negative=lambda x: x.narrow(0, -2, 1),
    split=lambda x: x.split(2)[2],
    split_sizes=lambda x: x.split([1, 4], 0)[1],
    chunk=lambda x: x.chunk(4, 1)[1],
    unbind=lambda x: x.unbind(1)[3],
    tuple_=lambda x: x[1:4, 2],
    flip=lambda x: x.flip(0, -1),
    roll=lambda x: x.roll(2, 1),
    roll_flat=lambda x: x.roll(-3),
    roll_two=lambda x: x.roll((1, -2), (0, 1)),
    cat=lambda x: torch.cat([x, x[:2]]),
    cat_dim=lambda x: torch.cat((x, x[:, :1]), dim=-1),
    cat_types=lambda x: torch.cat([x, torch.arange(6)[None]]),
    stack=lambda x: torch.stack([x, x + 1], 1),
    stack_last=lambda x: torch.stack([x, x], -1),
    repeat=lambda x: x.repeat(2, 3),
    repeat_new=lambda x: x.repeat(3, 1, 2),
    interleave=lambda x: x.repeat_interleave(2, 0),
    interleave_flat=lambda x: x.repeat_interleave(3),
    pad=lambda x: F.pad(x, (1, 2)),
    pad_value=lambda x: F.pad(x, (0, 1, 2, -1), value=3.5),
    tril=lambda x: x.tril(),
    triu=lambda x: x.triu(1),
    tril_minus=lambda x: x[:3].tril(-1),
)
group(
    "scatters_of_slices",
    lambda: {"x": normal(5, 6), "r": normal(6, seed=1), "s": normal(2, 6, seed=2), "c": normal(5, seed=3)},
    select=lambda x, r, s, c: x.select_scatter(r, 0, 2),
    select_last=lambda x, r, s, c: x.select_scatter(c, 1, -1),
    slice=lambda x, r, s, c: x.slice_scatter(s, 0, 1, 3),
    step=lambda x, r, s, c: x.slice_scatter(s, 0, 1, 5, 3),
    whole=lambda x, r, s, c: x.slice_scatter(x + 1, 0),
    to_end=lambda x, r, s, c: x.slice_scatter(s, 0, start=-2),
    empty=lambda x, r, s, c: x.slice_scatter(s[:0], 0, 3, 3),
    copy=lambda x, r, s, c: torch.ops.aten.copy(x, r),
    copy_int=lambda x, r, s, c: torch.ops.aten.copy(x.long(), r),
)
group(
    "diagonals",
    lambda: {"x": normal(3, 5), "y": normal(2, 3, 4, seed=1), "d": normal(3, seed=2), "p": normal(3, 2, seed=3)},
    main=lambda x, y, d, p: x.diagonal(),
    above=lambda x, y, d, p: x.diagonal(2),
    below=lambda x, y, d, p: x.diagonal(-1),
    single=lambda x, y, d, p: x.diagonal(4),
    outside=lambda x, y, d, p: x.diagonal(5),
    planes=lambda x, y, d, p: y.diagonal(0, 0, 2),
    turned=lambda x, y, d, p: y.diagonal(1, -1, 0),
    neighbours=lambda x, y, d, p: y.diagonal(-1, 1, 2),
    scatter=lambda x, y, d, p: x.diagonal_scatter(d),
    scatter_above=lambda x, y, d, p: x.diagonal_scatter(d[:1], 4),
    scatter_planes=lambda x, y, d, p: y.diagonal_scatter(p, 0, 0, 2),
)
group(
    "creation",
    lambda: {"x": normal(3, 4)},
    zeros=lambda x: torch.zeros(2, 3) + x[0, 0],
    full=lambda x: torch.full((2,), 1.5) + x[0, 0],
    ones=lambda x: torch.ones(2, dtype=i64) + 1,
    full_bool=lambda x: torch.full((), True) & (x > 0),
    zeros_like=lambda x: torch.zeros_like(x),
    ones_like=lambda x: torch.ones_like(x, dtype=i64),
    full_like=lambda x: torch.full_like(x, -INF),
    new_ones=lambda x: x.new_ones((), dtype=torch.bool),
    new_zeros=lambda x: x.new_zeros(3),
    new_full=lambda x: x.new_full((2, 2), 7),
    arange=lambda x: torch.arange(5) + 1,
    arange_start=lambda x: torch.arange(2, 9) * 1,
    arange_step=lambda x: torch.arange(9, -3, -2) * 1,
    arange_float=lambda x: torch.arange(0.1, 1.7, 0.3) + x[0, 0],
    arange_dtype=lambda x: torch.arange(4, dtype=bf16) + 1,
    scalar_tensor=lambda x: torch.scalar_tensor(2.5) + x,
    eye=lambda x: torch.eye(3, 4) + x,
    fill=lambda x: torch.fill(x, 2),
)

# Indices --------------------------------------------------------------------------------------------------

INDEXED = lambda: {
    "x": normal(4, 5, 6),
    "i": torch.tensor([3, -1, 0]),
    "j": torch.tensor([[1], [-2]]),
    "k": torch.tensor(2),
    "one": torch.tensor([-2]),
}
group(
    "index",
    INDEXED,
    first=lambda x, i, j, k, one: x[i],
    second=lambda x, i, j, k, one: x[:, i],
    last=lambda x, i, j, k, one: x[..., i],
    two=lambda x, i, j, k, one: x[i, j],
    apart=lambda x, i, j, k, one: x[i, :, j],
    adjacent_inner=lambda x, i, j, k, one: x[:, i, j],
    three=lambda x, i, j, k, one: x[i, j, i],
    number_and_tensor=lambda x, i, j, k, one: x[1, :, i],
    list_=lambda x, i, j, k, one: x[[0, 2]],
    single=lambda x, i, j, k, one: x[one],
    single_inner=lambda x, i, j, k, one: x[:, :, one],
    slice_and_tensor=lambda x, i, j, k, one: x[1:3, i],
    new_and_tensor=lambda x, i, j, k, one: x[None, i],
    index_select=lambda x, i, j, k, one: x.index_select(1, i.abs()),
    one_hot=lambda x, i, j, k, one: torch.nn.functional.one_hot(i.abs(), 7),
    one_hot_scalar=lambda x, i, j, k, one: torch.nn.functional.one_hot(k.abs(), 4),
    index_select_scalar=lambda x, i, j, k, one: x.index_select(0, k),
    int32=lambda x, i, j, k, one: x[i.int()],
    embedding=lambda x, i, j, k, one: F.embedding(i.abs(), x[0]),
    embedding_2d=lambda x, i, j, k, one: F.embedding(j.abs(), x[0]),
    embedding_one=lambda x, i, j, k, one: F.embedding(one.abs(), x[0]),
    gather=lambda x, i, j, k, one: x.gather(2, torch.zeros(4, 5, 2, dtype=i64) + k),
    gather_inner=lambda x, i, j, k, one: x.gather(1, i.abs().view(1, 3, 1).expand(4, 3, 2)),
    reversed=lambda x, i, j, k, one: torch.flip(x, [0])[i],
)
group(
    "masked_scatter",
    lambda: {"x": normal(3, 4), "m": whole(3, 4) > 0, "row": whole(4, seed=4) > 0, "v": normal(2, 6, seed=1)},
    each=lambda x, m, row, v: x.masked_scatter(m, v),
    by_row=lambda x, m, row, v: x.masked_scatter(row, v),
    spread=lambda x, m, row, v: x[0].masked_scatter(m, v),
    one=lambda x, m, row, v: x.masked_scatter(m & (m.cumsum(1) == 1) & (m.cumsum(0) == 3), v[:1, 0]),
    none=lambda x, m, row, v: x.masked_scatter(m & ~m, v[:0]),
    scalar=lambda x, m, row, v: x[0, 0].masked_scatter(m[0, 0] | ~m[0, 0], v),
)
group(
    "index_put",
    lambda: {
        "x": normal(4, 5, 6),
        "i": torch.tensor([3, -1, 0]),
        "k": torch.tensor(-2),
        "one": torch.tensor([-2]),
        "v": normal(3, 5, 6, seed=1),
        "r": normal(6, seed=2),
    },
    first=lambda x, i, k, one, v, r: x.index_put((i,), v),
    broadcast=lambda x, i, k, one, v, r: x.index_put((i,), r),
    accumulate=lambda x, i, k, one, v, r: x.index_put((i,), v, accumulate=True),
    two=lambda x, i, k, one, v, r: x.index_put((i, i), r),
    single=lambda x, i, k, one, v, r: x.index_put((one,), r),
    single_0dim=lambda x, i, k, one, v, r: x.index_put((k,), v[0]),
    single_accumulate=lambda x, i, k, one, v, r: x.index_put((k,), v[0], accumulate=True),
    single_two=lambda x, i, k, one, v, r: x.index_put((one, k), r),
    inner=lambda x, i, k, one, v, r: torch.ops.aten.index_put(x, [None, None, one], v[0, 0, 0]),
    inner_many=lambda x, i, k, one, v, r: torch.ops.aten.index_put(
        x, [None, i], v[:, 0][None].expand(4, 3, 6)
    ),
    apart=lambda x, i, k, one, v, r: torch.ops.aten.index_put(x, [one, None, k], v[0, :, 0]),
    number=lambda x, i, k, one, v, r: torch.ops.aten.index_put(x, [i], torch.tensor(7.0)),
    mask=lambda x, i, k, one, v, r: x.index_put((x > 0,), torch.tensor(-1.0)),
    mask_rows=lambda x, i, k, one, v, r: x.index_put((x[:, 0, 0] > 0,), r),
    mask_inner=lambda x, i, k, one, v, r: torch.ops.aten.index_put(x, [None, x[0, :, 0] > 0], r),
    mask_list=lambda x, i, k, one, v, r: x.index_put((x > 9,), v[0, 0, :0]),
    mask_values=lambda x, i, k, one, v, r: r.index_put((torch.arange(6) % 2 == 1,), v[0, 0, :3]),
)
group(
    "index_copy",
    lambda: {
        "x": normal(4, 5),
        "i": torch.tensor([3, 0]),
        "one": torch.tensor([2]),
        "k": torch.tensor(1),
        "s": normal(2, 5, seed=1),
        "w": whole(4, 5),
    },
    copy=lambda x, i, one, k, s, w: x.index_copy(0, i, s),
    copy_one=lambda x, i, one, k, s, w: x.index_copy(0, one, s[:1]),
    copy_inner=lambda x, i, one, k, s, w: x.index_copy(1, i, s.t()[:4]),
    copy_0dim=lambda x, i, one, k, s, w: x.index_copy(0, k, s[:1]),
    copy_vector=lambda x, i, one, k, s, w: x[0].index_copy(0, k, s[0, 0]),
    add=lambda x, i, one, k, s, w: x.index_add(0, i, s),
    add_alpha=lambda x, i, one, k, s, w: x.index_add(0, i, s, alpha=2),
    add_one=lambda x, i, one, k, s, w: x.index_add(0, one, s[:1]),
    add_repeated=lambda x, i, one, k, s, w: x.index_add(0, i * 0, s),
    add_int=lambda x, i, one, k, s, w: w.index_add(0, i, s.long()),
    fill=lambda x, i, one, k, s, w: x.index_fill(0, i, 7.0),
    fill_one=lambda x, i, one, k, s, w: x.index_fill(1, one, 7),
    fill_tensor=lambda x, i, one, k, s, w: x.index_fill(0, i, x[0, 0]),
)
group(
    "scatter",
    lambda: {"x": normal(4, 5), "i": whole(2, 3, low=0, high=4), "s": normal(4, 5, seed=1)},
    src=lambda x, i, s: x.scatter(1, torch.tensor([[0, 2], [4, 1]]), s),
    value=lambda x, i, s: x.scatter(0, i, 7.0),
    add=lambda x, i, s: x.scatter_add(0, i, s),
    reduce=lambda x, i, s: x.scatter_reduce(0, i, s, "amax"),
    multiply=lambda x, i, s: x.scatter(0, torch.tensor([[1, 2]]), s, reduce="multiply"),
)

# Reductions -----------------------------------------------------------------------------------------------

REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "sum_dim": lambda x: x.sum(1),
    "sum_dims": lambda x: x.sum((0, -1)),
    "sum_keep": lambda x: x.sum(-1, keepdim=True),
    "amax": lambda x: x.amax(1),
    "amax_all": lambda x: x.amax(),
    "amin": lambda x: x.amin((0, 2), keepdim=True),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "max_values": lambda x: x.max(1).values,
    "max_places": lambda x: x.max(1).indices,
    "min_keep": lambda x: x.min(-1, keepdim=True)[1],
    "argmax": lambda x: x.argmax(),
    "argmax_dim": lambda x: x.argmax(2),
    "argmin": lambda x: x.argmin(0, keepdim=True),
    "any": lambda x: x.any(),
    "any_dim": lambda x: x.any(1),
    "all": lambda x: x.all(),
    "all_dim": lambda x: x.all(-1, keepdim=True),
    "cumsum": lambda x: x.cumsum(1),
    "cumsum_last": lambda x: x.cumsum(-1),
}
REAL = {
    "mean": lambda x: x.mean(),
    "mean_dim": lambda x: x.mean(-1, keepdim=True),
    "mean_dims": lambda x: x.mean((1, 2)),
    "var": lambda x: x.var(),
    "var_dim": lambda x: x.var(1, correction=0),
    "std": lambda x: x.std(-1),
    "var_biased": lambda x: x.var(2, unbiased=False, keepdim=True),
    "var_mean": lambda x: torch.var_mean(x, 1)[0],
    "sum_dtype": lambda x: x.sum(1, dtype=f32),
    "prod": lambda x: x.prod(2),
}
group("reductions_f32", lambda: {"x": normal(3, 4, 5)}, **REDUCTIONS, **REAL)
group("reductions_bf16", lambda: {"x": normal(3, 4, 5, dtype=bf16)}, **REDUCTIONS, **REAL)
group(
    "reductions_int",
    lambda: {"x": whole(3, 4, 5, low=0, high=4)},
    prod=lambda x: x.prod(1),
    mean=lambda x: x.mean(dtype=f32),
    **REDUCTIONS,
)
group("reductions_i32", lambda: {"x": whole(3, 4, 5, low=-4, high=4, dtype=i32)}, **REDUCTIONS)
group(
    "reductions_bool",
    lambda: {"x": whole(3, 4, 5, low=0, high=2, dtype=torch.bool)},
    **{n: REDUCTIONS[n] for n in ("sum", "sum_dim", "amax", "any", "any_dim", "all", "all_dim", "cumsum")},
)
group(
    "reductions_nan",
    lambda: {"x": special()[:12].view(1, 3, 4).repeat(2, 1, 1)},
    **{
        n: REDUCTIONS[n]
        for n in (
            "amax",
            "max",
            "min",
            "max_values",
            "max_places",
            "min_keep",
            "argmax",
            "argmax_dim",
            "any",
            "all",
        )
    },
)
group(
    "reductions_0dim",
    lambda: {"x": torch.tensor(2.5)},
    sum=lambda x: x.sum(),
    sum_dim=lambda x: x.sum(0),
    mean=lambda x: x.mean(),
    amax=lambda x: x.amax(),
    max=lambda x: x.max(0).indices,
    argmax=lambda x: x.argmax(),
    cumsum=lambda x: x.cumsum(0),
    softmax=lambda x: x.softmax(0),
    any=lambda x: x.any(0),
)

# Products --------------------------------------------------------------------------------------------------


def products(dtype):
    return lambda: {
        "a": normal(2, 3, 4, dtype=dtype),
        "b": normal(2, 4, 5, dtype=dtype, seed=1),
        "w": normal(5, 4, dtype=dtype, seed=2),
        "v": normal(4, dtype=dtype, seed=3),
        "c": normal(5, dtype=dtype, seed=4),
    }


PRODUCTS = {
    "mm": lambda a, b, w, v, c: torch.mm(a[0], b[0]),
    "bmm": lambda a, b, w, v, c: torch.bmm(a, b),
    "matmul": lambda a, b, w, v, c: a @ b,
    "batch_matrix": lambda a, b, w, v, c: a @ b[0],
    "matrix_batch": lambda a, b, w, v, c: a[0] @ b,
    "vector_batch": lambda a, b, w, v, c: v @ b,
    "batch_vector": lambda a, b, w, v, c: a @ v,
    "vector_vector": lambda a, b, w, v, c: v @ v,
    "matrix_vector": lambda a, b, w, v, c: torch.mv(w, v),
    "vector_matrix": lambda a, b, w, v, c: v @ b[0],
    "batches": lambda a, b, w, v, c: a[:, None] @ b[None],
    "linear": lambda a, b, w, v, c: F.linear(a, w),
    "linear_bias": lambda a, b, w, v, c: F.linear(a, w, c),
    "linear_vector": lambda a, b, w, v, c: F.linear(v, w, c),
    "addmm": lambda a, b, w, v, c: torch.addmm(c, a[0], b[0]),
    "addmm_factors": lambda a, b, w, v, c: torch.addmm(c, a[0], b[0], beta=0.5, alpha=2),
    "addmm_zero": lambda a, b, w, v, c: torch.addmm(c * NAN, a[0], b[0], beta=0),
    "baddbmm": lambda a, b, w, v, c: torch.baddbmm(c, a, b),
    "dot": lambda a, b, w, v, c: torch.dot(v, v),
    "addmv": lambda a, b, w, v, c: torch.addmv(c, w, v),
}
group("products_f32", products(f32), **PRODUCTS)
group("products_bf16", products(bf16), **PRODUCTS)
group(
    "products_int",
    lambda: {"a": whole(3, 4), "b": whole(4, 5)},
    matmul=lambda a, b: a @ b,
    mm=lambda a, b: torch.mm(a, b),
)

# Networks --------------------------------------------------------------------------------------------------

ACTIVATIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "elu": F.elu,
    "elu_alpha": lambda x: F.elu(x, 0.7),
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 0.6),
    "softplus": F.softplus,
    "softplus_beta": lambda x: F.softplus(x, 2, 1),
    "mish": F.mish,
    "logsigmoid": F.logsigmoid,
    "hardtanh": F.hardtanh,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "softmax": lambda x: F.softmax(x, dim=-1),
    "softmax_first": lambda x: x.softmax(0),
    "softmax_dtype": lambda x: F.softmax(x, dim=-1, dtype=f32),
    "log_softmax": lambda x: F.log_softmax(x, dim=1),
    "dropout": lambda x: F.dropout(x, 0.5, False),
}
for dtype in (f32, bf16):
    short = str(dtype).removeprefix("torch.")
    group(f"activations_{short}", lambda dtype=dtype: {"x": 3 * normal(4, 9, dtype=dtype)}, **ACTIVATIONS)
    group(
        f"normalization_{short}",
        lambda dtype=dtype: {
            "x": normal(2, 6, 4, 5, dtype=dtype),
            "w": normal(5, dtype=dtype, seed=1),
            "b": normal(5, dtype=dtype, seed=2),
            "g": normal(6, dtype=dtype, seed=3),
            "v": normal(6, dtype=dtype, seed=4).abs() + 0.1,
        },
        layer_norm=lambda x, w, b, g, v: F.layer_norm(x, (5,), w, b),
        layer_norm_two=lambda x, w, b, g, v: F.layer_norm(x, (4, 5)),
        layer_norm_weight=lambda x, w, b, g, v: F.layer_norm(x, (5,), w, None, 1e-3),
        rms_norm=lambda x, w, b, g, v: F.rms_norm(x, (5,), w, 1e-6),
        rms_norm_plain=lambda x, w, b, g, v: F.rms_norm(x, (5,)),
        group_norm=lambda x, w, b, g, v: F.group_norm(x, 3, g, v),
        group_norm_plain=lambda x, w, b, g, v: F.group_norm(x, 2),
        batch_norm=lambda x, w, b, g, v: F.batch_norm(x, g, v),
        batch_norm_affine=lambda x, w, b, g, v: F.batch_norm(x, g, v, v, g, eps=1e-3),
        batch_norm_by_batch=lambda x, w, b, g, v: F.batch_norm(x, None, None, g, v, True),
        batch_norm_2d=lambda x, w, b, g, v: F.batch_norm(x[:, :, 0, 0], g, v),
    )
group(
    "attention",
    lambda: {
        "q": normal(2, 4, 3, 8),
        "k": normal(2, 4, 5, 8, seed=1),
        "v": normal(2, 4, 5, 8, seed=2),
        "m": whole(2, 1, 3, 5, low=0, high=2, dtype=torch.bool),
        "f": normal(3, 5, seed=3),
        "g": normal(2, 2, 5, 8, seed=4),
    },
    plain=lambda q, k, v, m, f, g: F.scaled_dot_product_attention(q, k, v),
    mask=lambda q, k, v, m, f, g: F.scaled_dot_product_attention(q, k, v, m),
    float_mask=lambda q, k, v, m, f, g: F.scaled_dot_product_attention(q, k, v, f),
    causal=lambda q, k, v, m, f, g: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    scale=lambda q, k, v, m, f, g: F.scaled_dot_product_attention(q, k, v, scale=0.3),
    grouped=lambda q, k, v, m, f, g: F.scaled_dot_product_attention(q, g, g, enable_gqa=True),
    hidden=lambda q, k, v, m, f, g: F.scaled_dot_product_attention(q, k, v, m & False),
)
group(
    "convolution",
    lambda: {
        "x": normal(2, 4, 9, 8),
        "w": normal(6, 4, 3, 2, seed=1),
        "d": normal(8, 2, 3, 3, seed=2),
        "b": normal(6, seed=3),
        "l": normal(2, 4, 11, seed=4),
        "k": normal(3, 4, 3, seed=5),
        "t": normal(4, 3, 3, 2, seed=6),
        "c": normal(1, 2, 4, 5, 6, seed=7),
        "e": normal(3, 2, 2, 3, 2, seed=8),
    },
    plain=lambda x, w, d, b, l, k, t, c, e: F.conv2d(x, w),
    bias=lambda x, w, d, b, l, k, t, c, e: F.conv2d(x, w, b, 2, 1),
    stride=lambda x, w, d, b, l, k, t, c, e: F.conv2d(x, w, None, (2, 1), (1, 2), (2, 1)),
    groups=lambda x, w, d, b, l, k, t, c, e: F.conv2d(x, d, padding=1, groups=2),
    same=lambda x, w, d, b, l, k, t, c, e: F.conv2d(x, w, b, padding="same"),
    valid=lambda x, w, d, b, l, k, t, c, e: F.conv2d(x, w, padding="valid"),
    unbatched=lambda x, w, d, b, l, k, t, c, e: F.conv2d(x[0], w, b),
    conv1d=lambda x, w, d, b, l, k, t, c, e: F.conv1d(l, k, stride=2, padding=1),
    conv3d=lambda x, w, d, b, l, k, t, c, e: F.conv3d(c, e, padding=1),
    half=lambda x, w, d, b, l, k, t, c, e: F.conv2d(x.bfloat16(), w.bfloat16(), b.bfloat16()),
    transposed=lambda x, w, d, b, l, k, t, c, e: F.conv_transpose2d(x, t),
    transposed_stride=lambda x, w, d, b, l, k, t, c, e: F.conv_transpose2d(
        x, t, None, 2, 1, (1, 0), 1, (2, 1)
    ),
    transposed_groups=lambda x, w, d, b, l, k, t, c, e: F.conv_transpose2d(x, t, stride=2, groups=2),
)
group(
    "pooling",
    lambda: {"x": normal(2, 3, 9, 8), "l": normal(2, 3, 10, seed=1), "c": normal(1, 2, 4, 5, 6, seed=2)},
    max_pool=lambda x, l, c: F.max_pool2d(x, 2),
    max_padded=lambda x, l, c: F.max_pool2d(x, 3, 2, 1),
    max_ceil=lambda x, l, c: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    max_dilated=lambda x, l, c: F.max_pool2d(x, 3, 1, 1, 2),
    max_places=lambda x, l, c: F.max_pool2d(x, (3, 2), 2, (1, 0), return_indices=True)[1],
    max_places_ties=lambda x, l, c: F.max_pool2d((x > 0).float(), 3, 2, 1, return_indices=True)[1],
    max1d=lambda x, l, c: F.max_pool1d(l, 3, 2),
    max3d=lambda x, l, c: F.max_pool3d(c, 2, 1),
    max_unbatched=lambda x, l, c: F.max_pool2d(x[0], 2),
    avg=lambda x, l, c: F.avg_pool2d(x, 2),
    avg_padded=lambda x, l, c: F.avg_pool2d(x, 3, 2, 1),
    avg_not_counting=lambda x, l, c: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    avg_ceil=lambda x, l, c: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    avg_ceil_bare=lambda x, l, c: F.avg_pool2d(x, 3, 2, 0, ceil_mode=True),
    avg_divisor=lambda x, l, c: F.avg_pool2d(x, 2, divisor_override=3),
    avg1d=lambda x, l, c: F.avg_pool1d(l, 3, 2, 1),
    avg3d=lambda x, l, c: F.avg_pool3d(c, 2, 1),
    adaptive_one=lambda x, l, c: F.adaptive_avg_pool2d(x, 1),
    adaptive=lambda x, l, c: F.adaptive_avg_pool2d(x, (3, 4)),
    adaptive_uneven=lambda x, l, c: F.adaptive_avg_pool2d(x, (4, 3)),
    adaptive1d=lambda x, l, c: F.adaptive_avg_pool1d(l, 3),
    adaptive_half=lambda x, l, c: F.adaptive_avg_pool2d(x.bfloat16(), (1, 1)),
)


# Functions that HLO does not have -------------------------------------------------------------------------

INVERSE = {"asin": torch.asin, "acos": torch.acos, "atanh": torch.atanh}
HYPERBOLIC = {"atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "asinh": torch.asinh, "acosh": torch.acosh}
OTHERS = {
    "deg2rad": torch.deg2rad,
    "rad2deg": torch.rad2deg,
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "signbit": torch.signbit,
    "frac": torch.frac,
    "isposinf": torch.isposinf,
    "isneginf": torch.isneginf,
    "nan_to_num": torch.nan_to_num,
    "nan_to_numbers": lambda x: torch.nan_to_num(x, nan=3.0, posinf=4.0, neginf=-5.0),
    "threshold": lambda x: F.threshold(x, 0.5, -7.0),
    "softshrink": lambda x: F.softshrink(x, 0.75),
    "hardshrink": lambda x: F.hardshrink(x, 0.75),
}
for dtype, name in ((f32, "f32"), (bf16, "bf16")):
    near_one = torch.tensor([NAN, 0.0, -0.0, 1.0, -1.0, 0.5, -0.999, 0.999, 1e-4, -1e-4, 1.5, -2.0]).to(dtype)
    wide = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1e-4, -1e-4, 0.3, -2.5, 1.0, 7.0, 30.0, 1e9, -1e9, 1.0001]).to(dtype)
    group(f"inverse_{name}", lambda x=near_one: {"x": x}, **INVERSE)
    group(f"hyperbolic_{name}", lambda x=wide: {"x": x}, **HYPERBOLIC)
    group(f"functions_{name}", lambda dtype=dtype: {"x": special(dtype)}, **OTHERS)
group("functions_int", lambda: {"x": whole(9)}, signbit=torch.signbit, asinh=torch.asinh, atan=torch.atan, rad2deg=torch.rad2deg)
group(
    "functions_of_two",
    lambda: {
        "x": special().repeat_interleave(14),
        "y": special().repeat(14),
    },
    fmax=torch.fmax,
    fmin=torch.fmin,
    copysign=torch.copysign,
    hypot=torch.hypot,
    logaddexp=torch.logaddexp,
    logaddexp2=torch.logaddexp2,
    xlogy=torch.xlogy,
    heaviside=torch.heaviside,
)
group(
    "functions_of_two_int",
    lambda: {"x": whole(12), "y": nonzero(12, seed=1)},
    fmax=torch.fmax,
    fmin=torch.fmin,
    copysign=torch.copysign,
    xlogy=lambda x, y: torch.xlogy(x, y.abs()),
    heaviside=torch.heaviside,
)

# Order ----------------------------------------------------------------------------------------------------

UNEQUAL = torch.tensor([[3.0, NAN, -INF, 0.5, INF, -2.0], [1.0, 5.0, -0.25, 4.0, 9.0, -7.0]])
group(
    "sort",
    lambda: {"x": UNEQUAL.clone()},
    values=lambda x: torch.sort(x)[0],
    places=lambda x: torch.sort(x)[1],
    descending=lambda x: torch.sort(x, descending=True)[1],
    dim=lambda x: torch.sort(x, dim=0)[0],
    argsort=torch.argsort,
    argsort_descending=lambda x: x.argsort(dim=0, descending=True),
    msort=torch.msort,
    topk=lambda x: torch.topk(x, 3)[0],
    topk_places=lambda x: torch.topk(x, 3)[1],
    topk_smallest=lambda x: torch.topk(x, 2, largest=False)[1],
    topk_dim=lambda x: torch.topk(x, 1, dim=0)[0],
    kthvalue=lambda x: torch.kthvalue(x[1:], 2)[0],
    kthvalue_place=lambda x: torch.kthvalue(x[1:], 4, keepdim=True)[1],
    median=torch.median,
    median_of_numbers=lambda x: torch.median(x[1]),
    median_dim=lambda x: torch.median(x, dim=1)[0],
    median_place=lambda x: torch.median(x, dim=1)[1],
)
group(
    "sort_equal",
    lambda: {"x": whole(4, 20, low=-2, high=3), "zero": torch.tensor([0.0, -0.0, 0.0, -0.0]), "one": torch.tensor(4)},
    stable=lambda x, zero, one: torch.sort(x, stable=True)[1],
    stable_descending=lambda x, zero, one: torch.sort(x, stable=True, descending=True)[1],
    stable_zeros=lambda x, zero, one: torch.sort(zero, stable=True)[1],
    argsort_stable=lambda x, zero, one: torch.argsort(x, dim=0, stable=True),
    bools=lambda x, zero, one: torch.sort(x > 0, stable=True)[1],
    bytes=lambda x, zero, one: torch.sort(x.to(u8), stable=True)[0],
    scalar=lambda x, zero, one: torch.sort(one)[1],
    topk_scalar=lambda x, zero, one: torch.topk(one, 1)[0],
)

# Sums and norms -------------------------------------------------------------------------------------------

group(
    "norms",
    lambda: {"x": normal(3, 4, seed=5), "s": torch.tensor([[1.0, -INF, 2.0], [-INF, -INF, -INF], [3.0, INF, 0.0]])},
    logsumexp=lambda x, s: torch.logsumexp(x, 1),
    logsumexp_all=lambda x, s: torch.logsumexp(x, (0, 1), keepdim=True),
    logsumexp_infinite=lambda x, s: torch.logsumexp(s, 1),
    norm=lambda x, s: torch.linalg.vector_norm(x),
    norm_1=lambda x, s: torch.linalg.vector_norm(x, 1, dim=1),
    norm_3=lambda x, s: torch.linalg.vector_norm(x, 3, dim=(0, 1), keepdim=True),
    norm_0=lambda x, s: torch.linalg.vector_norm(x, 0, dim=0),
    norm_inf=lambda x, s: torch.linalg.vector_norm(x, INF, dim=0),
    norm_minus_inf=lambda x, s: torch.linalg.vector_norm(x, -INF, dim=-1),
    torch_norm=lambda x, s: torch.norm(x, dim=1),
    torch_norm_half=lambda x, s: torch.norm(x, p=0.5),
    normalize=lambda x, s: F.normalize(x, dim=1),
    std_mean=lambda x, s: torch.std_mean(x, dim=1)[0],
    aminmax=lambda x, s: torch.aminmax(x, dim=1)[0],
    aminmax_all=lambda x, s: torch.aminmax(x)[1],
    nansum=lambda x, s: torch.nansum(s + s.flip(0), 1),
    count=lambda x, s: torch.count_nonzero(x > 0),
    count_dim=lambda x, s: torch.count_nonzero(x > 0, dim=1),
    count_dims=lambda x, s: torch.count_nonzero(x > 0, dim=(0, 1)),
)
group(
    "running",
    lambda: {"x": normal(3, 7), "n": whole(2, 9), "s": torch.tensor([1.0, 3.0, 3.0, NAN, 2.0, 9.0])},
    cumprod=lambda x, n, s: torch.cumprod(x, 1),
    cumprod_first=lambda x, n, s: x.cumprod(0),
    cumprod_int=lambda x, n, s: torch.cumprod(n, 1),
    cumprod_float=lambda x, n, s: torch.cumprod(n, 1, dtype=f32),
    cummax=lambda x, n, s: torch.cummax(x, 1)[0],
    cummax_places=lambda x, n, s: torch.cummax(n, 1)[1],
    cummin_places=lambda x, n, s: torch.cummin(n, 0)[1],
    cummax_nan=lambda x, n, s: torch.cummax(s, 0)[0],
    cummax_nan_places=lambda x, n, s: torch.cummax(s, 0)[1],
    diff=lambda x, n, s: x.diff(),
    diff_first_twice=lambda x, n, s: torch.diff(x, n=2, dim=0),
    diff_of_too_few=lambda x, n, s: torch.diff(x, n=5, dim=0),
    diff_around=lambda x, n, s: torch.diff(n, prepend=n[:, :2], append=n[:, :1]),
    diff_bool=lambda x, n, s: (n > 0).diff(),
)
group(
    "weight_norm",
    lambda: {"v": normal(4, 3, 5), "g": normal(4, 1, 1, seed=1), "h": normal(1, 1, 5, seed=2), "one": normal(1)},
    first=lambda v, g, h, one: torch._weight_norm(v, g, 0),
    last=lambda v, g, h, one: torch._weight_norm(v, h, 2),
    all=lambda v, g, h, one: torch._weight_norm(v, one[0], -1),
    half=lambda v, g, h, one: torch._weight_norm(v.half(), g.half(), 0),
)

# Products of labelled dimensions --------------------------------------------------------------------------


def einsum(equation):
    return lambda *tensors: torch.einsum(equation, *tensors)


group(
    "einsum_one",
    lambda: {"x": normal(3, 4), "q": normal(4, 4)},
    transpose=lambda x, q: torch.einsum("ij->ji", x),
    total=lambda x, q: torch.einsum("ij->", x),
    rows=lambda x, q: torch.einsum("ij->i", x),
    trace=lambda x, q: torch.einsum("ii->", q),
    diagonal=lambda x, q: torch.einsum("ii->i", q),
    implicit=lambda x, q: torch.einsum("ba", x),
    implicit_trace=lambda x, q: torch.einsum("ii", q),
)
group(
    "einsum_two",
    lambda: {"x": normal(2, 3, 4), "y": normal(2, 4, 5, seed=1)},
    batched=einsum("bij,bjk->bik"),
    implicit=einsum("bij,bjk"),
    spaces=einsum("b i j, b j k -> k b i"),
    summed=einsum("bij,bjk->k"),
    ellipsis=einsum("...ij,...jk->...ik"),
    ellipsis_summed=einsum("...ij,...jk->ik"),
    outer=einsum("abc,dce->abcde"),
    unshared=lambda x, y: torch.einsum("bij,bkl->ik", x, y),
)
group(
    "einsum_three",
    lambda: {"x": normal(2, 3), "y": normal(3, 4, seed=1), "z": normal(1, 4, seed=2)},
    chain=einsum("ij,jk,ik->i"),
    attention=lambda x, y, z: torch.einsum("ij,jk,lk->il", x, y, z),
    outer=lambda x, y, z: torch.outer(x[0], y[0]),
    ger=lambda x, y, z: torch.ger(x[0], y[0]),
    inner=lambda x, y, z: torch.inner(y.t(), x),
    inner_vectors=lambda x, y, z: torch.inner(x[0], x[1]),
)

# Images ---------------------------------------------------------------------------------------------------


def resized(mode, **options):
    return lambda x: F.interpolate(x, mode=mode, **options)


group(
    "resize",
    lambda: {"x": normal(2, 3, 5, 4)},
    nearest=resized("nearest", scale_factor=2),
    nearest_size=resized("nearest", size=(3, 7)),
    nearest_factor=resized("nearest", scale_factor=(1.7, 0.6), recompute_scale_factor=False),
    exact=resized("nearest-exact", size=(8, 3)),
    bilinear=resized("bilinear", scale_factor=2),
    bilinear_size=resized("bilinear", size=(3, 9)),
    bilinear_corners=resized("bilinear", size=(9, 3), align_corners=True),
    bilinear_one=resized("bilinear", size=(1, 1), align_corners=True),
    shuffle=lambda x: F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2),
    unshuffle=lambda x: F.pixel_unshuffle(x[:, :, :4], 2),
)
group(
    "resize_lines",
    lambda: {"x": normal(2, 3, 5)},
    nearest=resized("nearest", scale_factor=3),
    linear=resized("linear", size=8),
    linear_corners=resized("linear", size=3, align_corners=True),
    reflect=lambda x: F.pad(x, (2, 3), mode="reflect"),
    replicate=lambda x: F.pad(x, (1, 4), mode="replicate"),
    circular=lambda x: F.pad(x, (2, 5), mode="circular"),
)
group(
    "resize_volumes",
    lambda: {"x": normal(1, 2, 3, 4, 2)},
    nearest=resized("nearest", scale_factor=2),
    trilinear=resized("trilinear", size=(4, 3, 5)),
    reflect=lambda x: F.pad(x, (1, 1, 2, 0, 1, 2), mode="reflect"),
    replicate=lambda x: F.pad(x, (1, 0, 2, 3, 1, 1), mode="replicate"),
)
group(
    "pad_images",
    lambda: {"x": normal(2, 3, 5, 4)},
    reflect=lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect"),
    replicate=lambda x: F.pad(x, (0, 2, 1, 3), mode="replicate"),
    circular=lambda x: F.pad(x, (1, 0, 2, 4), mode="circular"),
    constant=lambda x: F.pad(x, (1, -1), value=3.0),
)
group(
    "windows",
    lambda: {"x": normal(3, 7), "line": normal(9, seed=2)},
    unfold=lambda x, line: x.unfold(1, 3, 2),
    unfold_first=lambda x, line: x.unfold(0, 2, 1),
    unfold_whole=lambda x, line: line.unfold(0, 9, 1),
    strided=lambda x, line: torch.as_strided(x, (2, 3), (5, 2), 1),
    overlapping=lambda x, line: line.as_strided((4, 3), (2, 1)),
)

# Losses ---------------------------------------------------------------------------------------------------

for reduction in ("none", "mean", "sum"):
    group(
        f"losses_{reduction}",
        lambda: {"x": normal(3, 4), "y": normal(3, 4, seed=1), "p": normal(3, 4, seed=2).sigmoid(), "w": normal(4, seed=3).abs()},
        mse=lambda x, y, p, w, r=reduction: F.mse_loss(x, y, reduction=r),
        l1=lambda x, y, p, w, r=reduction: F.l1_loss(x, y, reduction=r),
        smooth_l1=lambda x, y, p, w, r=reduction: F.smooth_l1_loss(x, y, reduction=r, beta=0.7),
        huber=lambda x, y, p, w, r=reduction: F.huber_loss(x, y, reduction=r, delta=0.7),
        bce=lambda x, y, p, w, r=reduction: F.binary_cross_entropy(p, y.sigmoid(), weight=w, reduction=r),
        logits=lambda x, y, p, w, r=reduction: F.binary_cross_entropy_with_logits(x, p, w, pos_weight=w + 1, reduction=r),
        kl=lambda x, y, p, w, r=reduction: F.kl_div(x, p.round(), reduction=r),
        kl_log=lambda x, y, p, w, r=reduction: F.kl_div(x, y, reduction=r, log_target=True),
    )
    group(
        f"class_losses_{reduction}",
        lambda: {
            "x": normal(4, 5),
            "t": torch.tensor([1, -100, 4, 0]),
            "w": normal(5, seed=3).abs(),
            "image": normal(2, 3, 2, 2, seed=4),
            "classes": whole(2, 2, 2, low=0, high=3),
        },
        nll=lambda x, t, w, image, classes, r=reduction: F.nll_loss(x, t, reduction=r),
        nll_weight=lambda x, t, w, image, classes, r=reduction: F.nll_loss(x, t, w, reduction=r),
        nll_ignore=lambda x, t, w, image, classes, r=reduction: F.nll_loss(x, t.clamp(min=0), w, ignore_index=4, reduction=r),
        nll_image=lambda x, t, w, image, classes, r=reduction: F.nll_loss(image, classes, reduction=r),
        entropy=lambda x, t, w, image, classes, r=reduction: F.cross_entropy(x, t, reduction=r),
        entropy_weight=lambda x, t, w, image, classes, r=reduction: F.cross_entropy(x, t, w, reduction=r),
        entropy_smooth=lambda x, t, w, image, classes, r=reduction: F.cross_entropy(x, t, w, reduction=r, label_smoothing=0.2),
        entropy_image=lambda x, t, w, image, classes, r=reduction: F.cross_entropy(image, classes, reduction=r),
    )
group(
    "entropy_of_probabilities",
    lambda: {"x": normal(4, 5), "p": normal(4, 5, seed=2).softmax(1), "w": normal(5, seed=3).abs()},
    none=lambda x, p, w: F.cross_entropy(x, p, reduction="none"),
    weight=lambda x, p, w: F.cross_entropy(x, p, w, label_smoothing=0.1, reduction="sum"),
    mean=lambda x, p, w: F.cross_entropy(x, p),
    single=lambda x, p, w: F.cross_entropy(x[0], p[0]),
)

# Special functions, where they are not smooth ---------------------------------------------------------------

SPECIAL = torch.special
SPECIAL_FUNCTIONS = {
    "erfc": SPECIAL.erfc,
    "erfcx": SPECIAL.erfcx,
    "erfinv": SPECIAL.erfinv,
    "ndtr": SPECIAL.ndtr,
    "log_ndtr": SPECIAL.log_ndtr,
    "ndtri": SPECIAL.ndtri,
    "lgamma": torch.lgamma,
    "digamma": torch.digamma,
    "trigamma": lambda x: torch.polygamma(1, x),
    "i0": torch.i0,
    "i0e": SPECIAL.i0e,
    "i1": SPECIAL.i1,
    "i1e": SPECIAL.i1e,
    "sinc": torch.sinc,
    "entr": SPECIAL.entr,
    "logit": torch.logit,
    "angle": torch.angle,
    "frexp_mantissa": lambda x: torch.frexp(x)[0],
    "frexp_exponent": lambda x: torch.frexp(x)[1],
    "round_decimals": lambda x: torch.round(x, decimals=1),
    "round_tens": lambda x: torch.round(x, decimals=-1),
    "isreal": torch.isreal,
}
for dtype in (f32, bf16, f64):
    short = str(dtype).removeprefix("torch.")
    functions = {k: f for k, f in SPECIAL_FUNCTIONS.items() if dtype != bf16 or k not in ("erfcx", "log_ndtr", "ndtri")}
    group(f"special_functions_{short}", lambda dtype=dtype: {"x": special(dtype)}, **functions)
    group(f"special_functions_normal_{short}", lambda dtype=dtype: {"x": normal(40, dtype=dtype) * 3}, **functions)
group(
    "special_functions_of_two",
    lambda: {"x": special().repeat_interleave(14), "y": special().repeat(14)},
    xlogy=torch.xlogy,
    xlog1py=SPECIAL.xlog1py,
    nextafter=torch.nextafter,
    isclose=torch.isclose,
    isclose_nan=lambda x, y: torch.isclose(x, y, equal_nan=True),
    float_power=torch.float_power,
    ldexp=torch.ldexp,
    zeta=lambda x, y: SPECIAL.zeta(x.clamp(min=1.5), y.clamp(min=-5.0, max=50.0)),
)
group(
    "small_numbers",
    lambda: {"x": torch.tensor([1e-45, -1e-45, 1.1754944e-38, 3e-39, 1e-30, 0.0, -0.0])},
    frexp_mantissa=lambda x: torch.frexp(x)[0],
    frexp_exponent=lambda x: torch.frexp(x)[1],
    nextafter=lambda x: torch.nextafter(x, torch.zeros_like(x)),
    away=lambda x: torch.nextafter(x, torch.ones_like(x)),
)
group(
    "divisors",
    lambda: {"x": torch.tensor([0, 12, -12, 7, 0, -9, 2**40, 5]), "y": torch.tensor([0, 18, 18, -3, 5, 0, 2**20 * 3, 5])},
    gcd=torch.gcd,
    lcm=torch.lcm,
)

# Positions and orders -----------------------------------------------------------------------------------------

group(
    "sorted_places",
    lambda: {"lines": torch.tensor([[-1.0, 0.0, 2.0, 2.0, 5.0], [0.0, 1.0, 1.0, 1.0, NAN]]), "x": torch.tensor([[2.0, NAN, -3.0], [1.0, 9.0, -0.0]])},
    left=lambda lines, x: torch.searchsorted(lines, x),
    right=lambda lines, x: torch.searchsorted(lines, x, right=True),
    side=lambda lines, x: torch.searchsorted(lines, x, side="right"),
    narrow=lambda lines, x: torch.searchsorted(lines, x, out_int32=True),
    buckets=lambda lines, x: torch.bucketize(x, lines[0]),
    buckets_right=lambda lines, x: torch.bucketize(x, lines[0], right=True),
    number=lambda lines, x: torch.searchsorted(lines[0], 2.0),
    isin=lambda lines, x: torch.isin(x, lines),
    not_in=lambda lines, x: torch.isin(x, 1.0, invert=True),
)
group(
    "orders_with_nan",
    lambda: {"x": torch.tensor([[3.0, NAN, 1.0, 2.0], [NAN, NAN, 5.0, 4.0], [NAN, NAN, NAN, NAN], [1.0, 1.0, 2.0, 2.0]])},
    nanmedian=lambda x: torch.nanmedian(x, 1).values,
    nanmedian_whole=torch.nanmedian,
    nanmean=lambda x: torch.nanmean(x, 1),
    mode=lambda x: torch.mode(x[3], 0).values,
    quantile=lambda x: torch.quantile(x, torch.tensor([0.0, 0.3, 1.0]), dim=1),
    nanquantile=lambda x: torch.nanquantile(x, 0.6, dim=1, keepdim=True),
    nanquantile_whole=lambda x: torch.nanquantile(x, 0.25),
    lower=lambda x: torch.quantile(x[3], 0.4, interpolation="lower"),
    nearest=lambda x: torch.quantile(x[3], 0.5, interpolation="nearest"),
    midpoint=lambda x: torch.quantile(x[3], 0.5, interpolation="midpoint"),
    logcumsumexp=lambda x: torch.logcumsumexp(torch.cat([x, torch.tensor([[-INF, -INF, 1.0, INF]])]), 1),
)
for dtype in (f32, i64):
    short = str(dtype).removeprefix("torch.")
    group(
        f"reduced_writes_{short}",
        lambda dtype=dtype: {"x": whole(4, 3, dtype=dtype), "i": torch.tensor([0, 2, 0, 0]), "y": whole(4, 3, dtype=dtype, seed=3)},
        **{
            f"{how}_{own}": lambda x, i, y, how=how, own=own: torch.index_reduce(x, 0, i, y, how, include_self=own)
            for how in ("prod", "mean", "amax", "amin")
            for own in (True, False)
        },
        **{
            f"scatter_{how}_{own}": lambda x, i, y, how=how, own=own: x.scatter_reduce(
                0, i[:, None].expand(4, 3), y, how, include_self=own
            )
            for how in ("sum", "prod", "mean", "amax", "amin")
            for own in (True, False)
        },
        take=lambda x, i, y: torch.take(x, i - 3),
        put=lambda x, i, y: x.put(i[:2] - 3, y[0, :2]),
        put_add=lambda x, i, y: x.put(i, y[:, 0], accumulate=True),
        along=lambda x, i, y: torch.take_along_dim(x, i[:, None] - 2, 0),
        added_by_mask=lambda x, i, y: x.index_put((y > 0,), torch.ones((), dtype=x.dtype), accumulate=True),
    )
group(
    "writes_without_dimensions",
    lambda: {"x": torch.tensor(2.0), "i": torch.tensor(0), "y": torch.tensor(5.0)},
    scatter=lambda x, i, y: x.scatter(0, i, y),
    scatter_add=lambda x, i, y: x.scatter_add(0, i, y),
    scatter_reduce=lambda x, i, y: x.scatter_reduce(0, i, y, "mean", include_self=False),
)

# Recurrent networks --------------------------------------------------------------------------------------------


def recurrent(kind, **options):
    """A cell of 5 numbers over inputs of 4; all weights come from one vector."""
    gates = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}[kind] * 5
    layers, both = options.get("num_layers", 1), options.get("bidirectional", False)
    biases, first = options.get("has_biases", True), options.get("batch_first", False)

    def run(x, w):
        taken, params = 0, []
        for layer in range(layers):
            for _ in range(2 if both else 1):
                width = 4 if layer == 0 else 10 if both else 5
                shapes = [(gates, width), (gates, 5)] + ([(gates,), (gates,)] if biases else [])
                for shape in shapes:
                    count = torch.Size(shape).numel()
                    params.append(w[taken : taken + count].reshape(shape))
                    taken += count
        state = w[: layers * (2 if both else 1) * 3 * 5].reshape(-1, 3, 5)
        hidden = (state, state * 2) if kind == "lstm" else state
        x = x.transpose(0, 1) if first else x
        return torch.cat([t.flatten() for t in getattr(torch, kind)(x, hidden, params, biases, layers, 0.0, False, both, first)])

    return run


group(
    "recurrent",
    lambda: {"x": normal(6, 3, 4), "w": normal(2000, seed=1) * 0.4},
    lstm=recurrent("lstm"),
    lstm_deep=recurrent("lstm", num_layers=2, bidirectional=True),
    lstm_batch_first=recurrent("lstm", batch_first=True, has_biases=False),
    gru=recurrent("gru"),
    gru_deep=recurrent("gru", num_layers=2, bidirectional=True, batch_first=True),
    tanh=recurrent("rnn_tanh", bidirectional=True),
    relu=recurrent("rnn_relu", has_biases=False),
)

# Gradients that are operators of their own ----------------------------------------------------------------------

aten = torch.ops.aten
group(
    "gradients_of_pools",
    lambda: {"x": normal(2, 3, 7, 6), "g": normal(2, 3, 4, 3, seed=1)},
    avg=lambda x, g: aten.avg_pool2d_backward(g, x, [3, 2], [2, 2], [1, 0], False, True, None),
    avg_no_padding=lambda x, g: aten.avg_pool2d_backward(g, x, [3, 2], [2, 2], [1, 0], False, False, None),
    avg_divided=lambda x, g: aten.avg_pool2d_backward(g, x, [3, 2], [2, 2], [1, 0], False, True, 5),
    adaptive=lambda x, g: aten._adaptive_avg_pool2d_backward(g, x),
    max=lambda x, g: aten.max_pool2d_with_indices_backward(
        g, x, [3, 2], [2, 2], [1, 0], [1, 1], False, aten.max_pool2d_with_indices(x, [3, 2], [2, 2], [1, 0])[1]
    ),
    col2im=lambda x, g: aten.col2im(aten.im2col(x, [3, 2], [1, 1], [1, 0], [2, 2]), [7, 6], [3, 2], [1, 1], [1, 0], [2, 2]),
)


def convolution_gradients(x, w, **options):
    settings = {"stride": [2, 1], "padding": [1, 0], "dilation": [1, 2], "transposed": False, "output_padding": [0, 0], "groups": 2, **options}
    y = aten.convolution(x, w, None, **settings)
    results = aten.convolution_backward(torch.cos(y), x, w, [y.shape[1]], **settings, output_mask=[True, True, True])
    return torch.cat([result.flatten() for result in results])


group(
    "gradients_of_convolutions",
    lambda: {"x": normal(2, 4, 7, 6), "w": normal(6, 2, 3, 2, seed=1), "t": normal(4, 3, 3, 2, seed=2)},
    plain=lambda x, w, t: convolution_gradients(x, w),
    one_group=lambda x, w, t: convolution_gradients(x[:, :2], w, groups=1),
    transposed=lambda x, w, t: convolution_gradients(x, t, transposed=True, dilation=[1, 1]),
    spread=lambda x, w, t: convolution_gradients(x, t, transposed=True, dilation=[1, 1], output_padding=[1, 0]),
)


def norm_gradients(x, g, w):
    """Of a layer norm and a group norm, all results in one line."""
    _, mean, inverse = aten.native_layer_norm(x, [6], w, None, 1e-5)
    layer = aten.native_layer_norm_backward(g, x, [6], mean, inverse, w, w, [True, True, True])
    _, mean, inverse = aten.native_group_norm(x, w[:4], None, 2, 4, 6, 2, 1e-5)
    group_norm = aten.native_group_norm_backward(g, x, mean, inverse, w[:4], 2, 4, 6, 2, [True, True, True])
    return torch.cat([result.flatten() for result in (*layer, *group_norm)])


group(
    "gradients_of_norms",
    lambda: {"x": normal(2, 4, 6), "g": normal(2, 4, 6, seed=1), "w": normal(6, seed=2)},
    norms=norm_gradients,
    softmax=lambda x, g, w: aten._softmax_backward_data(g, x.softmax(1), 1, f32),
    log_softmax=lambda x, g, w: aten._log_softmax_backward_data(g, x.log_softmax(2), 2, f32),
)
group(
    "gradients_of_embeddings",
    lambda: {"g": normal(5, 3), "i": torch.tensor([0, 2, 2, 4, 2])},
    plain=lambda g, i: aten.embedding_dense_backward(g, i, 6, -1, False),
    padding=lambda g, i: aten.embedding_dense_backward(g, i, 6, 4, False),
    scaled=lambda g, i: aten.embedding_dense_backward(g, i, 6, -1, True),
)
group(
    "bags",
    lambda: {"w": normal(6, 3), "i": torch.tensor([0, 2, 2, 4, 5, 1]), "o": torch.tensor([0, 2, 2, 5]), "s": normal(6, seed=4)},
    sum=lambda w, i, o, s: torch.embedding_bag(w, i, o)[0],
    mean=lambda w, i, o, s: torch.embedding_bag(w, i, o, mode=1)[0],
    max=lambda w, i, o, s: torch.embedding_bag(w, i, o, mode=2)[0],
    weighted=lambda w, i, o, s: torch.embedding_bag(w, i, o, per_sample_weights=s)[0],
    padding=lambda w, i, o, s: torch.embedding_bag(w, i, o, False, 1, False, None, False, 2)[0],
    last=lambda w, i, o, s: torch.embedding_bag(w, i, o, include_last_offset=True)[0],
)

# What Python spells otherwise than ATen ---------------------------------------------------------------------------

group(
    "python_images",
    lambda: {"x": normal(2, 3, 6, 5), "columns": normal(2, 12, 20, seed=1), "grid": normal(2, 4, 3, 2, seed=2) * 1.3},
    unfold=lambda x, columns, grid: F.unfold(x, (2, 3), padding=1, stride=(2, 1)),
    unfold_numbers=lambda x, columns, grid: F.unfold(x, 2, 1, 0),
    fold=lambda x, columns, grid: F.fold(columns, (6, 5), (2, 2)),
    fold_numbers=lambda x, columns, grid: F.fold(columns[:, :, :16], 5, kernel_size=2),
    grid_sample=lambda x, columns, grid: F.grid_sample(x, grid, align_corners=False),
    grid_sample_border=lambda x, columns, grid: F.grid_sample(x, grid, "nearest", "border", True),
    grid_sample_cubic=lambda x, columns, grid: F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection"),
    area=lambda x, columns, grid: F.interpolate(x, (4, 5), mode="area"),
    upsample=lambda x, columns, grid: F.upsample(x, scale_factor=2, mode="bilinear", align_corners=True),
    upsample_bilinear=lambda x, columns, grid: F.upsample_bilinear(x, (7, 9)),
    upsample_nearest=lambda x, columns, grid: F.upsample_nearest(x, scale_factor=2),
    adaptive=lambda x, columns, grid: F.adaptive_max_pool2d(x, (None, 2)),
    adaptive_places=lambda x, columns, grid: F.adaptive_max_pool2d(x, 4, return_indices=True)[1],
    adaptive_line=lambda x, columns, grid: F.adaptive_max_pool1d(x[0], 3),
    max_places=lambda x, columns, grid: F.max_pool2d_with_indices(x, 2)[1],
)
group(
    "python_losses",
    lambda: {"x": normal(4, 5), "y": normal(4, 5, seed=1), "t": whole(4, low=0, high=2) * 2 - 1, "m": whole(4, 5, low=0, high=2)},
    margin_ranking=lambda x, y, t, m: F.margin_ranking_loss(x[:, 0], y[:, 0], t, margin=0.3),
    cosine_embedding=lambda x, y, t, m: F.cosine_embedding_loss(x, y, t, margin=0.2, reduction="sum"),
    hinge_embedding=lambda x, y, t, m: F.hinge_embedding_loss(x[:, 0], t, reduction="none"),
    poisson=lambda x, y, t, m: F.poisson_nll_loss(x, y.abs(), full=True),
    poisson_plain=lambda x, y, t, m: F.poisson_nll_loss(x.abs(), y.abs(), log_input=False, reduction="sum"),
    multilabel=lambda x, y, t, m: F.multilabel_soft_margin_loss(x, m),
    multilabel_weighted=lambda x, y, t, m: F.multilabel_soft_margin_loss(x, m, weight=y[0], reduction="none"),
    softmin=lambda x, y, t, m: F.softmin(x, dim=1),
    softmin_half=lambda x, y, t, m: F.softmin(x, 0, dtype=bf16),
)
group(
    "python_bags",
    lambda: {"w": normal(6, 3), "i": torch.tensor([0, 2, 2, 4, 5, 1]), "o": torch.tensor([0, 2, 2, 5]), "s": normal(6, seed=4)},
    mean=lambda w, i, o, s: F.embedding_bag(i, w, o),
    sum=lambda w, i, o, s: F.embedding_bag(i, w, offsets=o, mode="sum", per_sample_weights=s),
    rows=lambda w, i, o, s: F.embedding_bag(i.reshape(2, 3), w, mode="max"),
    padding=lambda w, i, o, s: F.embedding_bag(i, w, o, padding_idx=-4),
    last=lambda w, i, o, s: F.embedding_bag(i[:5], w, o, include_last_offset=True),
)
group(
    "python_algebra",
    lambda: {"a": normal(3, 4, 5), "b": normal(4, 5, 2, seed=1), "c": normal(4, 4, seed=2), "n": whole(4, 4, low=1)},
    tensordot=lambda a, b, c, n: torch.tensordot(a, b),
    tensordot_one=lambda a, b, c, n: torch.tensordot(a, b.mT, dims=0).sum(),
    tensordot_lists=lambda a, b, c, n: torch.tensordot(a, b, dims=([2, 1], [1, 0])),
    lu=lambda a, b, c, n: torch.lu(c)[0],
    lu_pivots=lambda a, b, c, n: torch.lu(c, get_infos=True)[1],
    stft=lambda a, b, c, n: torch.view_as_real(torch.stft(a.reshape(2, 30), 8, 3, return_complex=True)),
    stft_zeros=lambda a, b, c, n: torch.view_as_real(
        torch.stft(a.reshape(2, 30), 8, 3, pad_mode="constant", return_complex=True)
    ),
    rsub=lambda a, b, c, n: c.__rsub__(2),
    rdiv=lambda a, b, c, n: c.__rdiv__(2.5),
    rpow=lambda a, b, c, n: c.__rpow__(2),
    rmod=lambda a, b, c, n: n.__rmod__(7),
    rand=lambda a, b, c, n: n.__rand__(5),
    rmatmul=lambda a, b, c, n: c.__rmatmul__(a.mT),
)

# Images and signals ----------------------------------------------------------------------------------------------

group(
    "grid_samples",
    lambda: {"x": normal(2, 3, 5, 4), "grid": normal(2, 4, 3, 2, seed=1) * 1.3},
    **{
        f"{mode}_{padding}_{corners}": lambda x, grid, mode=mode, padding=padding, corners=corners: torch.grid_sampler(
            x, grid, mode, padding, corners
        )
        for mode in range(3)
        for padding in range(3)
        for corners in (True, False)
    },
)
group(
    "resize_cubic",
    lambda: {"x": normal(2, 3, 5, 4)},
    bicubic=resized("bicubic", size=(7, 3)),
    bicubic_factor=resized("bicubic", scale_factor=(1.7, 0.6)),
    bicubic_corners=resized("bicubic", size=(3, 9), align_corners=True),
    filtered=resized("bilinear", size=(3, 2), antialias=True),
    filtered_cubic=resized("bicubic", size=(3, 6), antialias=True),
)
group(
    "complex_numbers",
    lambda: {"z": torch.complex(normal(2, 3), normal(2, 3, seed=1)), "w": torch.complex(normal(2, 3, seed=2), normal(2, 3, seed=3))},
    lerp=lambda z, w: torch.view_as_real(torch.lerp(z, w, 0.25)),
    lerp_tensor=lambda z, w: torch.view_as_real(torch.lerp(z, w, w)),
    either=lambda z, w: torch.logical_or(z * torch.tensor([0.0, 1, 0]), w.imag > 0),
    neither=lambda z, w: torch.logical_not(w * torch.tensor([0.0, 1, 0])),
    is_some=lambda z, w: (z * torch.tensor([0.0, 1, 0])).to(torch.bool),
    real_part=lambda z, w: z.to(torch.float64),
    cut=lambda z, w: (z * 10).to(torch.int64),
    bytes_of_some=lambda z, w: z.view(torch.int64),
    bytes_of_one=lambda z, w: z[1, 2].view(torch.int64),
    one_of_bytes=lambda z, w: z[1, 2].view(torch.int64).view(torch.complex64).imag * 1,
)
group(
    "spectra",
    lambda: {"x": normal(3, 6), "z": torch.complex(normal(3, 6), normal(3, 6, seed=1))},
    fft=lambda x, z: torch.view_as_real(torch.fft.fft(x)),
    ifft=lambda x, z: torch.view_as_real(torch.fft.ifft(z, n=8, dim=0, norm="ortho")),
    rfft=lambda x, z: torch.view_as_real(torch.fft.rfft(x, n=5, norm="forward")),
    irfft=lambda x, z: torch.fft.irfft(z, n=9),
    hfft=lambda x, z: torch.fft.hfft(z, dim=0),
    ihfft=lambda x, z: torch.view_as_real(torch.fft.ihfft(x, norm="ortho").resolve_conj()),
    fft2=lambda x, z: torch.view_as_real(torch.fft.fft2(z, s=(4, 5))),
    irfft2=lambda x, z: torch.fft.irfft2(z),
    rfftn=lambda x, z: torch.view_as_real(torch.fft.rfftn(x, dim=(1, 0))),
    hfftn=lambda x, z: torch.fft.hfftn(z),
    shift=lambda x, z: torch.fft.fftshift(x),
    back=lambda x, z: torch.fft.ifftshift(x, dim=1),
    frequencies=lambda x, z: torch.fft.fftfreq(7, d=0.5) + x[0, 0],
)

# Factors of matrices ------------------------------------------------------------------------------------------------

group(
    "factors",
    lambda: {"a": normal(2, 4, 4), "y": normal(2, 4, 3, seed=1), "wide": normal(3, 5, seed=2)},
    cholesky=lambda a, y, wide: torch.linalg.cholesky_ex(a @ a.mT + torch.eye(4)).L,
    cholesky_info=lambda a, y, wide: torch.linalg.cholesky_ex(a @ a.mT - torch.tensor([0.0, 0, 100, 0]).diag()).info,
    lu=lambda a, y, wide: torch.linalg.lu_factor_ex(a).LU,
    pivots=lambda a, y, wide: torch.linalg.lu_factor_ex(wide).pivots,
    lower=lambda a, y, wide: torch.linalg.lu(wide)[0] @ torch.linalg.lu(wide)[1],
    det=lambda a, y, wide: torch.linalg.det(a),
    det_singular=lambda a, y, wide: torch.linalg.det(a * torch.tensor([1.0, 0, 1, 1])),
    slogdet=lambda a, y, wide: torch.linalg.slogdet(a)[1],
    inv=lambda a, y, wide: torch.linalg.inv_ex(a).inverse,
    solve=lambda a, y, wide: torch.linalg.solve_ex(a, y).result,
    solve_vector=lambda a, y, wide: torch.linalg.solve_ex(a[0], y[0, :, 0]).result,
    q=lambda a, y, wide: torch.linalg.qr(wide.mT)[0],
    r=lambda a, y, wide: torch.linalg.qr(wide.mT)[1],
    complete=lambda a, y, wide: torch.linalg.qr(wide.mT, mode="complete")[0],
    power=lambda a, y, wide: torch.linalg.matrix_power(a, 5),
    triangular=lambda a, y, wide: torch.linalg.solve_triangular(a.triu() + 3 * torch.eye(4), y, upper=True),
    kron=lambda a, y, wide: torch.kron(a[0], wide),
    cross=lambda a, y, wide: torch.linalg.cross(y, y.flip(1)),
    norm=lambda a, y, wide: torch.linalg.matrix_norm(a, 1),
    norm_by_default=lambda a, y, wide: torch.linalg.matrix_norm(a),
    cdist=lambda a, y, wide: torch.cdist(a, y.mT, p=1.5),
)

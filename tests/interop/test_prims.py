# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of torch.ops.prims, which AOTAutograd and PyTorch's references leave in graphs: what real XLA makes of
each, against eager PyTorch."""

import torch
import torch._inductor.inductor_prims  # registers prims.fma
from capture import close
from fx_to_json import dump
from torch._prims.context import TorchRefsMode
from torch.fx.experimental.proxy_tensor import make_fx
from xla_runner import Executable, Session

prims = torch.ops.prims
f32, i64, u8, bf16 = torch.float32, torch.int64, torch.uint8, torch.bfloat16
OPTIONS = {"device": torch.device("cpu"), "requires_grad": False}

REFUSED = {
    "bessel_j0": "no formula here",
    "bessel_j1": "no formula here",
    "copy_to": "a write",
    "igamma": "no formula here",
    "igammac": "no formula here",
    "item": "a number that depends on the data",
    "normal": "random numbers",
    "resize": "a write that changes the size of a tensor",
    "spherical_bessel_j0": "no formula here",
    "svd": "singular values",
    "uniform": "random numbers",
    "xor_sum": "eager has none either",
}


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def whole(*shape, low=-9, high=10, seed=0):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def inputs():
    floats = {"x": normal(3, 4), "y": normal(3, 4, seed=1), "p": normal(3, 4).abs() + 1}
    return {**floats, "n": whole(3, 4), "m": whole(3, 4, seed=1)}


# Of what domain the functions of one tensor are.
UNARY = {
    "x": "abs asinh atan bessel_i0 bessel_i0e bessel_i1 bessel_i1e cbrt ceil cos cosh digamma erf erfc erfcx exp exp2 expm1 "
    "floor isfinite lgamma neg reciprocal round sign signbit sin sinh tan tanh trunc clone view_of",
    "p": "acosh log log10 log1p log2 rsqrt sqrt",
    "x * 0.2": "acos asin atanh erf_inv",
    "n": "bitwise_not abs sign neg",
}
BINARY = {
    "x, y": "add sub mul div atan2 eq ne lt le gt ge fmax fmin fmod hypot maximum minimum nextafter remainder",
    "p, y": "pow",
    "p, p": "zeta",
    "n, m": "add sub mul bitwise_and bitwise_or bitwise_xor gcd maximum eq lt",
    "n, m.abs() + 1": "div remainder fmod",
    "n, m.abs()": "shift_left shift_right_arithmetic",
}
CASES = {
    "where": lambda x, y, **_: prims.where(x > 0, x, y),
    "fma": lambda x, y, p, **_: prims.fma(x, y, p),
    "cat": lambda x, y, **_: prims.cat([x, y], 1),
    "rev": lambda x, **_: prims.rev(x, [0, 1]),
    "reshape": lambda x, **_: prims.reshape(x, [2, 6]),
    "transpose": lambda x, **_: prims.transpose(x, [1, 0]),
    "split_dim": lambda x, **_: prims.split_dim(x, 1, 2),
    "collapse": lambda x, **_: prims.collapse(x, 0, 1),
    "collapse_view": lambda x, **_: prims.collapse_view(x, 0, 1),
    "squeeze": lambda x, **_: prims.squeeze(x[:1], [0]),
    "broadcast_in_dim": lambda x, **_: prims.broadcast_in_dim(x[:, :1], [3, 2, 4], [0, 2]),
    "broadcast_in_dim.number": lambda x, **_: prims.broadcast_in_dim(x[0, 0], [2, 2], []),
    "convert_element_type": lambda x, **_: prims.convert_element_type(x, bf16),
    "convert_element_type.int": lambda x, **_: prims.convert_element_type(x * 3, i64),
    "device_put": lambda x, **_: prims.device_put(x, torch.device("cpu")),
    "copy_strided": lambda x, **_: prims.copy_strided(x, [1, 3]),
    "as_strided": lambda x, **_: prims.as_strided(x, [2, 3], [4, 1], 1),
    "as_strided_scatter": lambda x, y, **_: prims.as_strided_scatter(x, y[0, :2], [2], [5], 1),
    "view_of_dtype": lambda x, **_: prims.view_of_dtype(x, torch.int32),
    "conj": lambda x, y, **_: torch.view_as_real(prims.conj(torch.complex(x, y)).resolve_conj()),
    "conj_physical": lambda x, y, **_: torch.view_as_real(prims.conj_physical(torch.complex(x, y))),
    "real": lambda x, y, **_: prims.real(torch.complex(x, y)) + 0,
    "imag": lambda x, y, **_: prims.imag(torch.complex(x, y)) + 0,
    "frexp": lambda x, **_: prims.frexp(x)[0],
    "frexp.exponent": lambda x, **_: prims.frexp(x)[1],
    "ndtri": lambda x, **_: prims.ndtri(torch.sigmoid(x)),
    "fill": lambda x, **_: prims.fill(x, 2.5),
    "full": lambda x, **_: prims.full([2, 3], 7, dtype=i64, **OPTIONS),
    "full_like": lambda x, **_: prims.full_like(x, 1.5, dtype=bf16, **OPTIONS),
    "empty": lambda x, **_: prims.empty([2, 3], dtype=f32, **OPTIONS) * 0 == 0,
    "empty_strided": lambda x, **_: prims.fill(prims.empty_strided([2, 3], [1, 2], dtype=f32, **OPTIONS), 1),
    "empty_permuted": lambda x, **_: prims.fill(prims.empty_permuted([2, 3], [1, 0], dtype=f32, **OPTIONS), 1),
    "iota": lambda x, **_: prims.iota(5, start=3, step=-2, dtype=i64, **OPTIONS),
    "scalar_tensor": lambda x, **_: prims.scalar_tensor(2.5, dtype=f32, device=torch.device("cpu")) + x,
    "sum": lambda x, **_: prims.sum(x, [1]),
    "sum.all": lambda x, **_: prims.sum(x, [0, 1]),
    "sum.half": lambda x, **_: prims.sum(prims.convert_element_type(x, bf16), [0]),
    "prod": lambda x, **_: prims.prod(x, [0]),
    "amax": lambda x, **_: prims.amax(x, [1]),
    "amin": lambda n, **_: prims.amin(n, [0]),
    "var": lambda x, **_: prims.var(x, [1], 1.0),
    "var.none": lambda x, **_: prims.var(x, [0, 1], 0.0),
    "fft_r2c": lambda x, **_: torch.view_as_real(prims.fft_r2c(x, dim=[1], onesided=True)),
    "fft_c2c": lambda x, y, **_: torch.view_as_real(prims.fft_c2c(torch.complex(x, y), dim=[0, 1], forward=False)),
    "fft_c2r": lambda x, y, **_: prims.fft_c2r(torch.complex(x, y), dim=[1], last_dim_size=6),
}
for table in (UNARY, BINARY):
    for arguments, names in table.items():
        for name in names.split():
            call = eval(f"lambda x, y, p, n, m: prims.{name}({arguments})", {"prims": prims})
            CASES[f"{name}.{arguments}"] = call


def run(fxpassc, directory, functions, tensors):
    """What XLA makes of the functions, all in one graph as make_fx traces them."""

    def program(*given):
        named = dict(zip(tensors, given, strict=True))
        return tuple(function(**named) for function in functions)

    graph_module = make_fx(program)(*tensors.values())
    names = [node.name for node in graph_module.graph.nodes if node.op == "placeholder"]
    path = directory / "prims.json"
    dump(graph_module, path, list(tensors.values()))
    text, signature = fxpassc.compile(path)
    values = dict(zip(names, tensors.values(), strict=True))
    return graph_module, Session(Executable(text), signature, values).run()


def test_each_as_eager(fxpassc, tmp_path):
    tensors = inputs()
    _, results = run(fxpassc, tmp_path, CASES.values(), tensors)
    wrong = []
    for (name, function), actual in zip(CASES.items(), results, strict=True):
        expected = function(**inputs())
        if not close(actual, expected):
            wrong.append(f"{name}: {actual.tolist()}, eager has {expected.tolist()}")
    assert not wrong, "\n".join(wrong)


def test_every_one_is_lowered_or_refused(fxpassc):
    lowered = {name.split(".")[1] for name in fxpassc.run("ops").stdout.split() if name.startswith("prims.")}
    assert lowered == {name.split(".")[0] for name in CASES}
    # Those of inductor and of tests are none of these, but for one that inductor puts into Dynamo's graphs, nor are those that
    # make no tensor.
    internal = ("_", "inductor_", "prepare_softmax_online", "make_token", "maximum_value", "minimum_value")
    of_pytorch = {
        schema.name.removeprefix("prims::")
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith("prims::")
    }
    assert {name for name in of_pytorch if not name.startswith(internal)} - lowered == set(REFUSED)


# PyTorch's references are written in terms of prims.
REFERENCES = {
    "layer_norm": lambda x, **_: torch.nn.functional.layer_norm(x, [4]),
    "softmax": lambda x, **_: torch.softmax(x, 1),
    "log_softmax": lambda x, **_: torch.log_softmax(x, 0),
    "gelu": lambda x, **_: torch.nn.functional.gelu(x),
    "silu": lambda x, **_: torch.nn.functional.silu(x),
    "mean": lambda x, **_: torch.mean(x, 1),
    "var_mean": lambda x, **_: torch.var_mean(x, 1)[0],
    "logsumexp": lambda x, **_: torch.logsumexp(x, 1),
    "addcmul": lambda x, y, p, **_: torch.addcmul(x, y, p, value=0.5),
    "true_divide": lambda n, p, **_: n / p,
    "floor_divide": lambda n, p, **_: n // p,
    "where": lambda x, n, **_: torch.where(x > 0, x, n),
    "stack": lambda x, y, **_: torch.stack([x, y], 1),
    "masked_fill": lambda x, y, **_: x.masked_fill(y > 0, -1.0),
    "expand": lambda x, **_: x[:, None].expand(3, 2, 4) + 1,
    "flip": lambda x, **_: x.flip([1]),
    "linspace": lambda x, **_: torch.linspace(0, 1, 4) + x,
    "clamp": lambda x, **_: x.clamp(-0.5, 0.5),
    "rfft": lambda x, **_: torch.view_as_real(torch.fft.rfft(x)),
    "unfold": lambda x, **_: x.unfold(1, 2, 1) * 2,
    "narrow": lambda x, **_: x.narrow(1, 1, 2).t() + 0,
    "pad": lambda x, **_: torch.nn.functional.pad(x, (1, 1), value=3.0),
    "cross_entropy": lambda x, n, **_: torch.nn.functional.l1_loss(x, n.float()),
}


def test_references_as_eager(fxpassc, tmp_path):
    tensors = inputs()
    with TorchRefsMode():
        graph_module, results = run(fxpassc, tmp_path, REFERENCES.values(), tensors)
    called = {str(node.target).split(".")[0] for node in graph_module.graph.nodes if node.op == "call_function"}
    assert called <= {"prims", "aten", "<built-in function getitem>"} and "prims" in called
    for (case, function), actual in zip(REFERENCES.items(), results, strict=True):
        expected = function(**inputs())
        assert close(actual, expected), f"{case}: {actual.tolist()}, eager has {expected.tolist()}"

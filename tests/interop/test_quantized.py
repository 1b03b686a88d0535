# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantised programs: the operators that PT2E exports hold, torch.ops.quantized_decomposed, and aten.fake_quantize_*, in real
XLA against eager PyTorch."""

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  registers the operators
from capture import Function, capture, close
from xla_runner import Executable, Session

quantized, aten = torch.ops.quantized_decomposed, torch.ops.aten
f32, f64, f16, bf16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
i64, i32, i16, i8, u8 = torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8
RANGES = {i8: (-128, 127), u8: (0, 255), i16: (-(2**15), 2**15 - 1)}


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def halves():
    """Numbers that are halfway between two quantised ones, at a scale of 0.5 or 0.25, and some far outside of every range."""
    return torch.cat([torch.arange(-6, 7) * 0.125, torch.tensor([1e6, -1e6, float("inf"), float("-inf"), -0.0])])


def inputs():
    return {
        "x": normal(3, 4) * 3,
        "h": halves(),
        "scales": torch.tensor([0.5, 0.03, 0.25]),
        "zeros": torch.tensor([0, 3, -5]),
        "columns": torch.tensor([0.1, 0.25, 0.5, 0.07]),
        "scale": torch.tensor(0.25),
        "zero": torch.tensor(3, dtype=i32),
        "q": torch.tensor([[-128, -1, 0, 127], [5, 6, 7, 8], [100, -100, 50, -50]], dtype=i8),
    }


CASES = {
    # One scale for all.
    **{
        f"quantize.{dtype}": lambda h, dtype=dtype, **_: quantized.quantize_per_tensor(h, 0.25, 1, *RANGES[dtype], dtype)
        for dtype in RANGES
    },
    "quantize.int32": lambda x, **_: quantized.quantize_per_tensor(x, 0.01, 7, -(2**31), 2**31 - 1, i32),
    "quantize.narrow": lambda h, **_: quantized.quantize_per_tensor(h, 0.25, 0, -7, 7, i8),
    "quantize.bfloat16": lambda x, **_: quantized.quantize_per_tensor(x.to(bf16), 0.1, 0, -128, 127, i8),
    "quantize.float16": lambda x, **_: quantized.quantize_per_tensor(x.half(), 0.3, 128, 0, 255, u8),
    "quantize.tensor": lambda h, scale, zero, **_: quantized.quantize_per_tensor.tensor(h, scale, zero, -128, 127, i8),
    "quantize.tensor.double": lambda x, scale, **_: quantized.quantize_per_tensor.tensor(
        x, scale.double() / 3, torch.zeros((1,), dtype=i64), -128, 127, i8
    ),
    "quantize.tensor2": lambda h, scale, zero, **_: quantized.quantize_per_tensor.tensor2(
        h, scale, zero, zero - 3, zero + 20, u8
    ),
    "dequantize": lambda q, **_: quantized.dequantize_per_tensor(q, 0.1, 3, -128, 127, i8),
    "dequantize.uint8": lambda q, **_: quantized.dequantize_per_tensor(q.to(u8), 0.1, 128, 0, 255, u8),
    "dequantize.bfloat16": lambda q, **_: quantized.dequantize_per_tensor(q, 0.1, 3, -128, 127, i8, out_dtype=bf16),
    "dequantize.tensor": lambda q, scale, zero, **_: quantized.dequantize_per_tensor.tensor(q, scale, zero, -128, 127, i8),
    "dequantize.tensor2": lambda q, scale, zero, **_: quantized.dequantize_per_tensor.tensor2(
        q, scale, zero, zero, zero, i8, out_dtype=f16
    ),
    # One for each place along a dimension.
    "quantize.channel": lambda x, scales, zeros, **_: quantized.quantize_per_channel(x, scales, zeros, 0, -128, 127, i8),
    "quantize.last": lambda x, columns, **_: quantized.quantize_per_channel(
        x, columns, torch.tensor([128, 0, 1, 255]), 1, 0, 255, u8
    ),
    "quantize.double": lambda x, scales, zeros, **_: quantized.quantize_per_channel(
        x.half(), scales.double(), zeros.float(), 0, -128, 127, i8
    ),
    "dequantize.channel": lambda q, scales, zeros, **_: quantized.dequantize_per_channel(q, scales, zeros, 0, -128, 127, i8),
    "dequantize.no zero": lambda q, columns, **_: quantized.dequantize_per_channel(q, columns, None, 1, -128, 127, i8),
    "dequantize.wraps": lambda q, scales, zeros, **_: quantized.dequantize_per_channel(
        q, scales, zeros.to(i8), 0, -128, 127, i8, out_dtype=bf16
    ),
    # One for each row, or for each group of a row.
    "quantize.token": lambda x, scales, zeros, **_: quantized.quantize_per_token(
        x, scales[:, None], zeros[:, None], -128, 127, i8
    ),
    "dequantize.token": lambda q, scales, zeros, **_: quantized.dequantize_per_token(
        q, scales[:, None].double(), zeros[:, None], -128, 127, i8, f32
    ),
    "quantize.group": lambda x, scales, zeros, **_: quantized.quantize_per_channel_group(
        x, torch.stack([scales, scales * 2], 1), torch.stack([zeros, zeros], 1), -8, 7, i8, 2
    ),
    "quantize.one column": lambda x, scales, zeros, **_: quantized.quantize_per_channel_group(
        x, scales[:, None], zeros[:, None], -8, 7, i8, 128
    ),
    "dequantize.group": lambda q, scales, zeros, **_: quantized.dequantize_per_channel_group(
        q, torch.stack([scales, scales * 2], 1), torch.stack([zeros, zeros], 1), -8, 7, i8, 2, f32
    ),
    "dequantize.group.no zero": lambda q, scales, **_: quantized.dequantize_per_channel_group(
        q, torch.stack([scales, scales * 2], 1), None, -8, 7, i8, 2, bf16
    ),
    # Parameters.
    **{
        f"choose.{dtype}.{factor}": lambda x, k=k, dtype=dtype, factor=factor, **_: quantized.choose_qparams.tensor(
            x.abs() * factor if dtype == u8 else x, *RANGES[dtype], 1e-5, dtype
        )[k].to(f32)
        for dtype, factor, k in [(i8, 1, 0), (i8, 1, 1), (u8, 1, 0), (u8, 1, 1), (u8, -2, 1), (u8, 0, 0)]
    },
    "choose.half": lambda x, **_: quantized.choose_qparams.tensor(x.half(), -128, 127, 1e-5, i8)[1],
    "choose.symmetric": lambda x, **_: quantized.choose_qparams_symmetric.tensor(x, -128, 127, 1e-5, i8)[0],
    "choose.symmetric.zero": lambda x, **_: quantized.choose_qparams_symmetric.tensor(x, 0, 255, 1e-5, u8)[1],
    "choose.token": lambda x, **_: quantized.choose_qparams_per_token(x, i8)[0].to(f32),
    "choose.asymmetric": lambda x, **_: quantized.choose_qparams_per_token_asymmetric(x, i8)[0].to(f32),
    "choose.asymmetric.zero": lambda x, **_: quantized.choose_qparams_per_token_asymmetric(x, i8)[1],
    "convert": lambda q, **_: quantized.convert_element_type.no_fuse(q, f32),
    # Quantised and dequantised.
    "fake": lambda h, **_: torch.fake_quantize_per_tensor_affine(h, 0.25, 3, -7, 7),
    "fake.nan": lambda h, **_: torch.fake_quantize_per_tensor_affine(h * 0, 0.25, 3, 0, 255),
    "fake.half": lambda x, **_: torch.fake_quantize_per_tensor_affine(x.half(), 0.1, 3, -128, 127),
    "fake.tensor": lambda x, scale, zero, **_: torch.fake_quantize_per_tensor_affine(x, scale, zero, -8, 7),
    "fake.channel": lambda x, scales, zeros, **_: torch.fake_quantize_per_channel_affine(x, scales, zeros.int(), 0, -8, 7),
    "fake.fraction": lambda x, columns, **_: torch.fake_quantize_per_channel_affine(
        x, columns, torch.tensor([0.4, 2.5, -1.3, 0.0]), 1, -8, 7
    ),
    "fake.mask": lambda h, **_: aten.fake_quantize_per_tensor_affine_cachemask(h, 0.25, 3, -7, 7)[1],
    "fake.channel.mask": lambda x, scales, zeros, **_: aten.fake_quantize_per_channel_affine_cachemask(
        x, scales, zeros.int(), 0, -8, 7
    )[1],
    **{
        f"fake.enabled.{enabled}.{k}": lambda x, scale, zero, k=k, enabled=enabled, **_: (
            aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
                x, scale, zero, torch.tensor([enabled]), -8, 7
            )[k]
        )
        for enabled in (0, 1)
        for k in (0, 1)
    },
    "fake.decomposed": lambda x, scales, zeros, **_: quantized.fake_quant_per_channel(x, scales, zeros, 0, -8, 7),
    "fake.gradient": lambda x, **_: aten.fake_quantize_per_tensor_affine_cachemask_backward(x, x > 0),
    "fake.channel.gradient": lambda x, **_: aten.fake_quantize_per_channel_affine_cachemask_backward(x, x < 0),
}


def run(fxpassc, directory, module, tensors, form):
    program = capture(module, tensors, form, directory)
    text, signature = fxpassc.compile(program.path)
    return Session(Executable(text), signature, program.values(tensors)).run()


@pytest.mark.parametrize("form", ["training", "decomposed", "dynamo"])
def test_each_as_eager(fxpassc, tmp_path, form):
    names = list(inputs())
    # PyTorch exports these as what it has of shapes and dtypes alone; Dynamo looks into some.
    module = Function(lambda *given: tuple(case(**dict(zip(names, given))) for case in CASES.values()))
    with torch.no_grad():
        results = run(fxpassc, tmp_path, module, inputs(), form)
        expected = module(*inputs().values())
    wrong = [
        f"{name}: {actual.dtype} {actual.tolist()}, eager {eager.dtype} {eager.tolist()}"
        for name, actual, eager in zip(CASES, results, expected, strict=True)
        if not close(actual, eager)
    ]
    assert not wrong, "\n".join(wrong)


class Quantized(torch.nn.Module):
    """A linear layer as PT2E leaves it: weights as int8, activations quantised by parameters that are known or chosen."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        weight = torch.randn(5, 8)
        scales = weight.abs().amax(1) / 127
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", torch.zeros(5, dtype=i64))
        self.register_buffer("weight", quantized.quantize_per_channel(weight, scales, self.zeros, 0, -127, 127, i8))
        self.bias = torch.nn.Parameter(torch.randn(5))

    def forward(self, x):
        x = quantized.quantize_per_tensor(x, 0.04, 2, -128, 127, i8)
        x = quantized.dequantize_per_tensor(x, 0.04, 2, -128, 127, i8)
        weight = quantized.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -127, 127, i8)
        y = torch.nn.functional.relu(torch.nn.functional.linear(x, weight, self.bias))
        scale, zero = quantized.choose_qparams.tensor(y, 0, 255, 1e-5, u8)
        y = quantized.quantize_per_tensor.tensor(y, scale, zero, 0, 255, u8)
        return quantized.dequantize_per_tensor.tensor(y, scale, zero, 0, 255, u8)


@pytest.mark.parametrize("form", ["training", "decomposed"])
def test_a_layer(fxpassc, tmp_path, form):
    module, x = Quantized(), normal(4, 8)
    program = capture(module, {"x": x}, form, tmp_path / "source")
    text, signature = fxpassc.compile(program.path)
    values = program.values({"x": x, **dict(module.named_parameters()), **dict(module.named_buffers())})
    (actual,) = Session(Executable(text), signature, values).run()
    with torch.no_grad():
        assert close(actual, module(x))
    # As Python it imports what defines the operators.
    code, signature = fxpassc.compile(program.path, "fx-python")
    scope = {}
    exec(compile(code, "quantized.py", "exec"), scope)
    with torch.no_grad():
        keys = [Session.key(entry) for entry in signature["inputs"]]
        assert close(scope["forward"](*(values[key] for key in keys))[0], module(x))
    assert "import torch.ao.quantization.fx._decomposed" in code

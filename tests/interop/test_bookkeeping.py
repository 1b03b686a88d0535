# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes of exports that compute nothing: assertions, ranges of sizes, what is printed, regions without gradients. They are
dropped, or refused with the reason."""

import pytest
import torch
from capture import Function, assert_close, capture
from torch.utils.checkpoint import checkpoint
from xla_runner import Executable, Session


@torch.library.custom_op("fxpass_bookkeeping::log", mutates_args=())
def log(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@log.register_fake
def _(x):
    return torch.empty_like(x)


log.register_effect(torch._library.effects.EffectType.ORDERED)


def checked(x):
    torch._check(x.shape[0] > 2)
    assert x.shape[1] == 4
    return x + 1


def asserted(x):
    torch._assert_async((x > -100).all(), "too small")
    torch._assert_async((x < 100).all())
    return x * 2


def printed(x):
    torch.ops.aten._print("one")
    y = x + 1
    torch.ops.aten._print("two")
    return y


def without_gradient(x):
    with torch.no_grad():
        y = x * 2
    with torch.enable_grad():
        return y + x


def of_data(x):
    torch._check(x.sum().to(torch.int64).item() >= 0)
    return x + 1


def checkpointed(x):
    return checkpoint(lambda t: t.sin().cos(), x, use_reentrant=False)


@pytest.mark.parametrize("form", ["training", "decomposed", "dynamo"])
@pytest.mark.parametrize(
    "function", [checked, asserted, printed, without_gradient, of_data, checkpointed], ids=lambda f: f.__name__
)
def test_as_eager(fxpassc, tmp_path, function, form):
    x = torch.rand(3, 4)
    program = capture(Function(function), {"x": x}, form, tmp_path / "source")
    text, signature = fxpassc.compile(program.path)
    # A token is a tensor without elements, which goes in and comes out.
    tokens = {entry["name"]: torch.zeros(0) for entry in signature["inputs"] if entry["kind"] == "token"}
    values = {key: x for key, name in program.names.items() if name == "x"}
    (actual,) = Session(Executable(text), signature, {**values, **tokens}).run()
    assert_close(actual, function(x), function.__name__)
    assert bool(tokens) == (function is printed and form == "decomposed")


def test_other_effects_are_refused(fxpassc, tmp_path):
    program = capture(Function(lambda x: log(x) + 1), {"x": torch.rand(3)}, "decomposed", tmp_path / "source")
    result = fxpassc.run("compile", program.path, "-o", tmp_path / "out.hlo")
    assert result.returncode == 1
    assert "the effects of torch.ops.fxpass_bookkeeping.log.default are outside of the program" in result.stderr

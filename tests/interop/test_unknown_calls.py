# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of which nobody says what they write: none is passed over because its result is not looked at, and none stands beside
a write that is carried out."""

import operator
import re
import subprocess

import pytest
import torch
from capture import emitted_function
from fx_to_json import dump


def bump(x):
    x.add_(1)
    return x.sum()


def doubled(*calls):
    """A program that makes calls, does not look at what they give, and returns 2 * x."""
    graph = torch.fx.Graph()
    nodes = {"x": graph.placeholder("x")}
    nodes["y"] = graph.call_method("clone", (nodes["x"],))
    nodes["row"] = graph.call_function(operator.getitem, (nodes["x"], 0))
    for function, *arguments in calls:
        make = graph.call_method if isinstance(function, str) else graph.call_function
        make(function, tuple(nodes.get(a, a) if isinstance(a, str) else a for a in arguments))
    graph.output((graph.call_function(operator.mul, (nodes["x"], 2)),))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def number():
    return torch.arange(1.0, 7.0).reshape(2, 3)


def compiled(fxpassc_path, tmp_path, gm, emit, name=None):
    """What is emitted, or the message. With a name, `bump` is called so in the file."""
    path, out = tmp_path / "graph.json", tmp_path / f"out.{emit}"
    dump(gm, path, [number()])
    if name is not None:
        text = path.read_text()
        assert text.count('.bump"') == 1
        path.write_text(re.sub(r'"[\w.]+\.bump"', f'"{name}"', text))
    command = [fxpassc_path, "compile", path, "-o", out, "--emit", emit]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode == 0) == out.exists()
    return out.read_text() if out.exists() else result.stderr


UNSEEN = [
    "mine.bump",
    "torch.distributed.distributed_c10d.all_reduce",
    "torch.utils.swap_tensors",
    "torch._C._autograd._set_data_attr",
    "torch.no_such_function",
    "torch.ops.higher_order.no_such_operator",
]


@pytest.mark.parametrize("given", ["x", "row"])
@pytest.mark.parametrize("name", UNSEEN)
def test_is_not_dropped(fxpassc_path, tmp_path, name, given):
    message = compiled(fxpassc_path, tmp_path, doubled((bump, given)), "hlo-text", name)
    assert f"no lowering for {name.removeprefix('torch.ops.')}, called 1 time: bump" in message


def test_stays_in_python(fxpassc_path, tmp_path):
    code = compiled(fxpassc_path, tmp_path, doubled((bump, "x")), "fx-python")
    code = code.replace(f"{bump.__module__}.bump", "function")
    x = number()
    (result,) = emitted_function(code, function=bump)(x)
    assert torch.equal(result, 2 * (number() + 1))


@pytest.mark.parametrize("name", ["torch._assert_async", "torch.ops.aten._assert_async.default"])
def test_assertions_write_nothing(fxpassc_path, tmp_path, name):
    gm = doubled((bump, "x"), ("add_", "row", 1))
    assert "dynamic-update-slice" in compiled(fxpassc_path, tmp_path, gm, "hlo-text", name)


@pytest.mark.parametrize("emit", ["hlo-text", "fx-python"])
@pytest.mark.parametrize("order", [1, -1])
def test_not_beside_a_write(fxpassc_path, tmp_path, emit, order):
    calls = [("add_", "row", 1), (bump, "x")][::order]
    message = compiled(fxpassc_path, tmp_path, doubled(*calls), emit)
    assert "'x' is written, and " in message and "bump, which is called with it, has no schema" in message
    # What it is not given may be written.
    accepted = compiled(fxpassc_path, tmp_path, doubled(("add_", "row", 1), (bump, "y")), "fx-python")
    assert "select_scatter" in accepted


WRITES = {
    "norm": (torch.functional.norm, "y", 2, 1, False, "x"),
    "normalize": (torch.nn.functional.normalize, "y", 2.0, 1, 1e-12, "x"),
    "tensordot": (torch.functional.tensordot, "y", "y", 2, "x"),
    "statistics": (torch.ops.aten.batch_norm_update_stats.default, "y", "row", "row", 0.1),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_without_a_schema_that_says_so(fxpassc_path, tmp_path, name):
    message = compiled(fxpassc_path, tmp_path, doubled(WRITES[name]), "hlo-text")
    assert "writes into a tensor in a way that fxpass does not carry out" in message


@pytest.mark.parametrize("name", ["norm", "normalize"])
def test_without_out_it_is_lowered(fxpassc_path, tmp_path, name):
    assert "HloModule" in compiled(fxpassc_path, tmp_path, doubled(WRITES[name][:-1]), "hlo-text")

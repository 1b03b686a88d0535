# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The FX forms that fxpassc writes: text as PyTorch prints it, and Python code that runs as the program does."""

import math
import operator
import random
import struct

import pytest
import torch
from capture import FORMS, Function, assert_close, capture, emitted_function, state_of
from fx_to_json import dump
from models import llama, llama_step, pixels, resnet
from xla_runner import Session


def as_printed(graph):
    """What `print(graph)` prints, without what a compiler has no use for: type annotations, and a call that counts
    how often an API is used."""
    for node in graph.nodes:
        node.type = None
    return "".join(f"{line}\n" for line in str(graph).splitlines() if "_log_api_usage_once" not in line)


def random_doubles(count):
    generator = random.Random(0)
    bits = (struct.unpack("<d", generator.randbytes(8))[0] for _ in range(count))
    decimals = (generator.uniform(-1, 1) * 10.0 ** generator.randint(-8, 20) for _ in range(count))
    short = (round(generator.uniform(0, 100), generator.randint(0, 4)) for _ in range(count))
    special = [0.0, -0.0, 5e-324, 2.0**53, 1e16, 1e15, 9999999999999998.0, 1e-4, 1e-5, math.inf, -math.inf]
    return [value for value in (*bits, *decimals, *short, *special) if not math.isnan(value)]


def hand_made():
    """A graph with every kind of argument in every kind of place."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    flag = graph.placeholder("flag")
    first = graph.call_function(torch.add, (x, x), {"alpha": 2})
    views = [slice(None), slice(1, None, -1), slice(first, 2**62), Ellipsis, None, True, (), [], (x,)]
    indexed = graph.call_function(operator.getitem, (x, tuple(views)))
    values = {
        "dtype": torch.bfloat16,
        "device": torch.device("cuda:1"),
        "layout": torch.strided,
        "memory_format": torch.channels_last_3d,
        "operator": torch.ops.aten.add.Tensor,
        "text": "it's, \"so\" (quoted) {x}\n",
        "dict": {"key": [x, "s"], 1: (x, slice(first, "t", 2.5)), None: {}},
        "complex": [1j, complex(-0.0, 2), complex(1e16, -1.5), complex(math.nan, -math.inf)],
        "integers": [2**63 - 1, -(2**63), 0, -1],
    }
    values["nested"] = [values["dict"], (values["text"],)]
    graph.call_method("scatter_", (indexed, -1, first), values)
    graph.call_function(torch.ops.aten.cat.default, (random_doubles(200), math.nan))
    return graph


def test_text_of_every_kind_of_argument(fxpassc, tmp_path):
    graph = hand_made()
    x, flag, add, *_ = graph.nodes
    # The outputs of a graph are flat, here as they are in the text.
    graph.output((add, None, flag, "it's", 2.5, torch.device("cuda:1"), torch.ops.aten.add.Tensor, x))
    program, out = tmp_path / "graph.json", tmp_path / "graph.fx"
    dump(torch.fx.GraphModule(torch.nn.Module(), graph), program)
    result = fxpassc.run("compile", program, "-o", out, "--no-fx-passes")
    assert result.returncode == 0, result.stderr
    assert out.read_text() == as_printed(graph)


@pytest.mark.parametrize("model", ["llama", "resnet"])
def test_text_of_models(fxpassc, tmp_path, model):
    module, inputs = (llama(), llama_step(0)) if model == "llama" else (resnet(True), pixels())
    printed = []

    def backend(gm, example_inputs):
        dump(gm, tmp_path / "graph.json", example_inputs)
        printed.append(as_printed(gm.graph))
        return gm.forward

    torch.compile(module, backend=backend, fullgraph=True, dynamic=False)(*inputs.values())
    text, _ = fxpassc.compile(tmp_path / "graph.json", "fx-text", "--no-fx-passes")
    assert [text] == printed


def run_python(code, signature, program, state):
    """Runs emitted code on a copy of `state`. The program's own outputs, the state that the code leaves behind,
    and the state after what io_map names has been written back."""
    forward = emitted_function(code)
    state = {name: tensor.clone() for name, tensor in {**program.constants, **state}.items()}
    names = [program.names[Session.key(entry)] for entry in signature["inputs"]]
    outputs = forward(*(state[name] for name in names))
    assert isinstance(outputs, tuple) and len(outputs) == len(signature["outputs"])
    outputs = [value.clone() if isinstance(value, torch.Tensor) else value for value in outputs]
    written = {names[target]: outputs[int(output)] for output, target in signature["io_map"].items()}
    return outputs[: signature["original_output_count"]], state, {**state, **written}


MODELS = {
    "llama": lambda: (llama(), llama_step(0)),
    "llama in bfloat16": lambda: (llama(dtype=torch.bfloat16), llama_step(0)),
    "resnet": lambda: (resnet(False), pixels()),
    "resnet in training mode": lambda: (resnet(True), pixels()),
}


@pytest.mark.parametrize("passes", [True, False], ids=["passes", "no passes"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS)
def test_python_of_models(fxpassc, tmp_path, model, form, passes):
    module, inputs = MODELS[model]()
    program = capture(module, inputs, form, tmp_path / "program")
    code, signature = fxpassc.compile(program.path, "fx-python", *([] if passes else ["--no-fx-passes"]))
    state = state_of(module, inputs)
    start = state_of(module, inputs)
    (output,), left, after = run_python(code, signature, program, start)
    if passes:
        assert all(torch.equal(left[name], tensor) for name, tensor in start.items()), "a write is in place"
    assert_close(output, module(*inputs.values()), "output")
    for name in program.names.values():
        if name in start:  # which holds the module's own tensors, written by now
            assert_close(after[name], start[name], name)


def every_kind_of_argument(x, slice, input):
    a = x.to(torch.float64, copy=True, memory_format=torch.contiguous_format)
    b = torch.full((2, 3), float("-inf"), dtype=torch.float32, device=torch.device("cpu"), layout=torch.strided)
    c = torch.nn.functional.pad(x, (1, 0), value=float("nan")).nan_to_num(nan=1e-7, posinf=3.4028234663852886e38)
    d = torch.einsum("ij,kj->ik", x, slice) * 0.1
    e = (x * (1 - 2j)).abs() + torch.where(input > 0, -0.0, 1e30)
    f = torch.stack([x[..., None, 1::2].squeeze(1), slice[:, [2, 0]][:, :1]], -1)
    g = torch.max(x, dim=1, keepdim=True)
    h = torch.zeros(3, dtype=torch.bool, device="cpu").logical_not()
    x[1:, 0] = 5
    x[input > 0] = 0.5
    return a, b, c, d, e, f, g.values, g.indices, h, x.sum(dtype=torch.float64), None


@pytest.mark.parametrize("form", FORMS)
def test_python_of_every_kind_of_argument(fxpassc, tmp_path, form):
    torch.manual_seed(0)
    # `slice` and `input` are names that Python code needs otherwise.
    inputs = {"x": torch.randn(2, 3), "slice": torch.randn(2, 3), "input": torch.randn(2, 3)}
    program = capture(Function(every_kind_of_argument), inputs, form, tmp_path / "program")
    code, signature = fxpassc.compile(program.path, "fx-python", "--no-fx-passes")
    outputs, _, after = run_python(code, signature, program, inputs)
    expected = every_kind_of_argument(*inputs.values())
    if form == "dynamo":  # which returns None itself and leaves it out of the graph
        expected = expected[:-1]
    for k, (output, value) in enumerate(zip(outputs, expected, strict=True)):
        if value is None:
            assert output is None
        else:
            assert output.dtype == value.dtype and torch.equal(output, value), f"output {k}: {output}, not {value}"
    assert torch.equal(after["x"], inputs["x"])


def test_python_keeps_devices_unless_told(fxpassc, tmp_path):
    program = capture(
        Function(lambda x: torch.zeros(3, device="cpu") + x), {"x": torch.ones(3)}, "dynamo", tmp_path / "program"
    )
    kept, _ = fxpassc.compile(program.path, "fx-python")
    moved, _ = fxpassc.compile(program.path, "fx-python", "--target-device", "meta")
    assert "device='cpu'" in kept.replace("torch.device('cpu')", "'cpu'") and "meta" not in kept
    assert "meta" in moved and "cpu" not in moved


def a_module():
    class Root(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.linear(x)

    return torch.fx.symbolic_trace(Root()), None


def an_attribute():
    """A branch with a tensor of its own: no caller hands it in."""
    inner = torch.nn.Module()
    inner.table = torch.ones(3)
    branch = torch.fx.Graph()
    x = branch.placeholder("x")
    branch.output((branch.call_function(torch.add, (x, branch.get_attr("table"))),))
    root = torch.nn.Module()
    root.branch = torch.fx.GraphModule(inner, branch)
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    # FX warns of attributes that are modules and not in use as such.
    branch = graph.create_node("get_attr", "branch")
    taken = graph.call_function(torch.ops.higher_order.cond, (True, branch, branch, (x,)))
    graph.output((graph.call_function(operator.getitem, (taken, 0)),))
    return torch.fx.GraphModule(root, graph), None


def a_symbolic_integer():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(torch.add, (x, 12345)),))
    return torch.fx.GraphModule(torch.nn.Module(), graph), ("12345", '{"symint": "s0"}')


CANNOT_SAY = {
    "a call of module linear": a_module,
    "attribute table": an_attribute,
    "the symbolic integer s0": a_symbolic_integer,
}


@pytest.mark.parametrize("what", CANNOT_SAY)
def test_python_refuses_what_it_cannot_say(fxpassc, tmp_path, what):
    gm, replaced = CANNOT_SAY[what]()
    program, out = tmp_path / "graph.json", tmp_path / "out.py"
    dump(gm, program)
    if replaced:
        program.write_text(program.read_text().replace(*replaced))
    result = fxpassc.run("compile", program, "-o", out, "--no-fx-passes")
    assert result.returncode == 1 and f"Python code cannot hold {what}" in result.stderr and not out.exists()

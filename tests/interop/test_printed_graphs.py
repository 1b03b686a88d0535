# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs as PyTorch prints them, read back: as code, as text, in logs, in programs that reproduce a failure; and FX JSON,
which fxpassc writes as well as it reads it. Each is to give the program that the exporter's own form gives."""

import io
import os
import re
import subprocess
import sys

import pytest
import torch
from capture import Function, assert_close, capture, emitted_function, state_of
from fx_to_json import dump
from models import llama, llama_step, pixels, resnet
from torch._dynamo.repro.after_aot import save_graph_repro
from torch.fx.experimental.proxy_tensor import make_fx
from xla_runner import Executable, Session


def writes_through_views(x, y, flag):
    """Writes through views, several results, keywords, slices, numbers of all kinds."""
    first, second = torch.split(x, 2, dim=1)
    first += y[:, None, 0]
    x[..., 1:3] = second.max(dim=1, keepdim=True)[0] * 2.5e-3
    rows = x.reshape(-1)
    rows[::2].clamp_(min=-1e-05, max=float("inf"))
    numbers = torch.full((2,), -3, dtype=torch.int64, device=torch.device("cpu"))
    return {"rows": rows, "sums": [x.sum(dim=[0], dtype=torch.float64), ~flag], "numbers": numbers}


def program(name):
    if name == "llama":
        return llama(), llama_step(0)
    if name == "resnet":
        return resnet(True), pixels()
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(3, 4, generator=generator), torch.randn(3, 5, generator=generator)
    return Function(writes_through_views), {"x": x, "y": y, "flag": torch.tensor([True, False])}


PROGRAMS = ["writes", "llama", "resnet"]


def dynamo_graph(name):
    """The graph that a backend of torch.compile gets, and its example inputs."""
    module, inputs = program(name)
    caught = []

    def backend(gm, example_inputs):
        caught.append((gm, example_inputs))
        return gm.forward

    torch.compile(module, backend=backend, fullgraph=True, dynamic=False)(*inputs.values())
    return caught[0]


def readable(gm, **options):
    return gm.print_readable(print_output=False, include_stride=True, include_device=True, **options)


def as_log(text):
    """As TORCH_LOGS=graph_code writes it: each line with its prefix, the file of the class before it."""
    lines = ["TRACED GRAPH", " ===== __compiled_fn_1 =====", *(" /p/graph_module.py " + text).splitlines(), ""]
    prefix = "[rank0]:V0829 14:22:33.123000 12345 torch/_dynamo/output_graph.py:1340] [0/0_1] [__graph_code] "
    return "V0829 14:22:33.100000 12345 torch/_dynamo/guards.py:2] [0/0] [__guards] GUARDS: (x)\n" + "".join(
        f"{prefix}{line}\n" for line in lines
    )


def reformatted(text):
    """As black would have it: a statement a line, calls with a bracket and a trailing comma."""
    text = text.replace(";  ", "\n        ")
    return re.sub(r"^([^#\n]*torch\.[\w.]+\()(.*)\)$", r"\1\n            \2,\n        )", text, flags=re.M)


CODE_FORMS = {
    "readable": readable,
    "coloured": lambda gm: readable(gm, colored=True),
    "log": lambda gm: as_log(readable(gm)),
    "reformatted": lambda gm: reformatted(readable(gm)),
    "windows": lambda gm: readable(gm).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("form", CODE_FORMS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_code(fxpassc, tmp_path, name, form):
    gm, example_inputs = dynamo_graph(name)
    code, json = tmp_path / "graph.txt", tmp_path / "graph.json"
    code.write_text(CODE_FORMS[form](gm), newline="")
    dump(gm, json, example_inputs)
    assert fxpassc.compile(code, "fx-text", "--no-fx-passes") == fxpassc.compile(json, "fx-text", "--no-fx-passes")
    assert fxpassc.compile(code, "fx-python") == fxpassc.compile(json, "fx-python")
    assert without_places(fxpassc.compile(code)[0]) == without_places(fxpassc.compile(json)[0])


def without_places(hlo):
    """Comments show the innermost line of the model alone, FX JSON has the whole stack."""
    return re.sub(r", metadata=\{[^}]*\}", "", hlo)


def test_code_knows_the_lines_of_the_model(fxpassc, tmp_path):
    gm, _ = dynamo_graph("writes")
    code = tmp_path / "graph.txt"
    code.write_text(readable(gm).replace("clamp_(", "no_such_method_("))
    result = fxpassc.run("compile", code, "-o", tmp_path / "out.hlo")
    line = next(n for n, text in enumerate(open(__file__), 1) if ".clamp_(" in text)
    assert result.returncode == 1 and f"test_printed_graphs.py:{line}" in result.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_text(fxpassc, tmp_path, name):
    gm, example_inputs = dynamo_graph(name)
    text, json, inputs = tmp_path / "fxgraph.txt", tmp_path / "graph.json", tmp_path / "example_inputs.txt"
    # The cache of a compiler holds the graph and its code in one file, and the inputs beside it.
    text.write_text(f"{gm.graph}\n\n{gm.code}")
    blocks = [
        f"Input {k}:\n  Shape: {tuple(x.shape)}\n  Dtype: {str(x.dtype)[6:]}\n  Device: {x.device}\n"
        f"  Strides: {x.stride()}\n"
        for k, x in enumerate(example_inputs)
    ]
    inputs.write_text("\n".join(blocks))
    dump(gm, json, example_inputs)
    direct = fxpassc.compile(json, "fx-text", "--no-fx-passes")[0]
    # What PyTorch prints, and what fxpassc prints of it, is read as the same graph.
    printed = tmp_path / "printed.fx"
    for file in (text, printed):
        printed.write_text(direct)
        options = ["--emit", "fx-text", "--no-fx-passes", "--example-inputs", inputs]
        result = fxpassc.run("compile", file, "-o", tmp_path / "out.fx", *options)
        assert result.returncode == 0, result.stderr
        assert (tmp_path / "out.fx").read_text() == direct
    inputs.write_text("\n".join(blocks[1:]).replace("Input 1", "Input 0"))
    result = fxpassc.run("compile", text, "-o", tmp_path / "out.fx", "--example-inputs", inputs)
    assert result.returncode == 1 and "example_inputs.txt" in result.stderr


def test_text_through_the_passes(fxpassc, tmp_path):
    """A printed graph whose inputs are known can be made functional."""

    def function(x, y):
        x[0] = 2.0
        x.mul_(y)
        row = x[1]
        row += 1
        return x.sum()

    caught = []

    def backend(gm, _):
        caught.append(gm)
        return gm.forward

    torch.compile(function, backend=backend)(torch.ones(4, 3), torch.ones(3))
    gm = caught[0]
    text, inputs = tmp_path / "graph.fx", tmp_path / "inputs.txt"
    text.write_text(f"{gm.graph}\n")
    inputs.write_text("Input 0:\n Shape: (4, 3)\n Dtype: float32\nInput 1:\n Shape: torch.Size([3])\n Dtype: float32\n")
    x, y = torch.randn(4, 3), torch.randn(3)
    expected = x.clone()
    result = function(expected, y)
    out = tmp_path / "out.py"
    run = fxpassc.run("compile", text, "-o", out, "--example-inputs", inputs)
    assert run.returncode == 0, run.stderr
    results = emitted_function(out.read_text())(x.clone(), y)
    assert_close(results[0], result, "the sum")
    assert_close(results[1], expected, "x")


@pytest.mark.parametrize("name", ["llama", "resnet"])
def test_printed_export(fxpassc, tmp_path, name):
    module, inputs = program(name)
    exported = torch.export.export(module, tuple(inputs.values())).run_decompositions()
    text, archive = tmp_path / "printed.txt", tmp_path / "program.pt2"
    text.write_text(str(exported))
    torch.export.save(exported, archive)
    hlo, signature = fxpassc.compile(text)
    expected_hlo, expected = fxpassc.compile(archive)
    assert signature == expected
    assert without_places(hlo) == without_places(expected_hlo)


def test_strides_that_are_not_printed_are_not_guessed(fxpassc, tmp_path):
    """Whether `reshape` is a view, and the write into it seen by `x`, depends on strides."""
    code = tmp_path / "graph.txt"
    forward = """class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[4, 3]STRIDES"):
        reshape: "f32[12][1]cpu" = x.reshape(-1)
        add_: "f32[12][1]cpu" = reshape.add_(1);  reshape = add_ = None
        return (x,)
"""
    out = tmp_path / "out.py"
    for strides, written in (("[3, 1]cpu", True), ("[1, 4]cpu", False)):
        code.write_text(forward.replace("STRIDES", strides))
        assert ("mutation" in fxpassc.compile(code, "fx-text")[1]["outputs"][-1]["kind"]) == written
    code.write_text(forward.replace("STRIDES", ""))
    result = fxpassc.run("compile", code, "-o", out)
    assert result.returncode == 1 and not out.exists()


UNKNOWN_STRIDES = {
    "view = x.view(12); written = view.add_(1)": "the view 'view', whose place in it is not known: the strides of 'x'",
    "view = x.as_strided((2,), (1,), 0); written = view.add_(1)": "the view 'view', whose place in it is not known: the",
    "written = x.add_(1)": "this write needs dtype, sizes and strides of 'x': the strides of 'x' are not known",
    "written = operator.setitem(x, 0, 1)": "setitem needs the sizes and strides of its target: the strides of 'x'",
}


@pytest.mark.parametrize("write", UNKNOWN_STRIDES)
def test_what_is_missing_is_told(fxpassc, tmp_path, write):
    """A graph printed without strides is refused for that, and the message says how to print it."""
    code, out = tmp_path / "graph.txt", tmp_path / "out.py"
    statements = write.replace("; ", "\n        ")
    code.write_text(
        "class GraphModule(torch.nn.Module):\n"
        f'    def forward(self, x: "f32[4, 3]"):\n        {statements}\n        return (x,)\n'
    )
    result = fxpassc.run("compile", code, "-o", out)
    assert result.returncode == 1 and UNKNOWN_STRIDES[write] in result.stderr
    assert "include_stride=True" in result.stderr and "[missing-metadata]" in result.stderr


def test_a_view_that_cannot_be_inverted_is_no_missing_stride(fxpassc, tmp_path):
    code = tmp_path / "graph.txt"
    code.write_text(
        'class GraphModule(torch.nn.Module):\n    def forward(self, x: "f32[4, 3]"):\n'
        "        part = torch.ops.aten.values.default(x)\n        written = part.add_(1)\n        return (x,)\n"
    )
    result = fxpassc.run("compile", code, "-o", tmp_path / "out.py")
    assert result.returncode == 1 and "through a view that fxpass cannot invert" in result.stderr


def test_a_signature_needs_shapes(fxpassc, tmp_path):
    text, signature = tmp_path / "graph.fx", tmp_path / "signature.json"
    text.write_text(
        "graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
        "    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})\n    return (relu,)\n"
    )
    result = fxpassc.run("compile", text, "-o", tmp_path / "out.py", "--signature", signature)
    assert result.returncode == 1 and not signature.exists()
    assert "shape of output 0: dtype and shape of 'relu' are not known" in result.stderr


def test_real_log(fxpassc, tmp_path):
    script = "import torch\ndef f(x):\n    x[0] += 1\n    return x.t().reshape(-1) * 2\n"
    script += "torch.compile(f, backend='eager')(torch.ones(2, 3))\n"
    source = tmp_path / "script.py"
    source.write_text(script)
    run = subprocess.run(
        [sys.executable, source], capture_output=True, text=True, env={**os.environ, "TORCH_LOGS": "graph_code"}, check=True
    )
    log = tmp_path / "run.log"
    log.write_text(run.stderr)
    assert "__graph_code" in run.stderr
    hlo, signature = fxpassc.compile(log)
    x = torch.arange(6.0).reshape(2, 3)
    expected = x.clone()
    expected[0] += 1
    session = Session(Executable(hlo), signature, {"l_x_": x})
    assert_close(session.run()[0], expected.t().reshape(-1) * 2, "the result")
    assert_close(session.get("l_x_"), expected, "x")


def test_reproducing_program(fxpassc, tmp_path):
    """`load_args` of a program that PyTorch writes to reproduce a failure describes the inputs, shared storage included."""
    base = torch.randn(4, 6)
    function = lambda a, b: (a.add_(1), b * 2)  # noqa: E731
    repro, out = tmp_path / "repro.py", tmp_path / "out.fx"
    for other, is_refused in ((torch.randn(6, 4).t(), False), (base[1:], True)):
        gm = make_fx(function)(base, other)
        text = io.StringIO()
        save_graph_repro(text, gm, [base, other], "inductor")
        assert "reader.tensor" in text.getvalue()
        repro.write_text(text.getvalue())
        result = fxpassc.run("compile", repro, "-o", out)
        assert (result.returncode == 1) == is_refused, result.stderr
    assert "share" in result.stderr or "storage" in result.stderr


def test_several_graphs_are_listed(fxpassc, tmp_path):
    gm, _ = dynamo_graph("writes")
    log = tmp_path / "two.log"
    log.write_text(as_log(readable(gm)) + as_log(readable(gm)).replace("__compiled_fn_1", "__compiled_fn_2"))
    result = fxpassc.run("compile", log, "-o", tmp_path / "out.hlo")
    assert result.returncode == 1
    assert re.search(r"there are 2 graphs here; keep one: __compiled_fn_1 line 4, __compiled_fn_2 line \d+", result.stderr)


@pytest.mark.parametrize("form", ["training", "decomposed", "dynamo"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_json_round_trip(fxpassc, tmp_path, name, form):
    module, inputs = program(name)
    path = capture(module, inputs, form, tmp_path / "captured").path
    json, _ = fxpassc.compile(path, "fx-json", "--no-fx-passes")
    again = tmp_path / "again.json"
    again.write_text(json)
    assert fxpassc.compile(again, "fx-json", "--no-fx-passes")[0] == json
    assert fxpassc.compile(again) == fxpassc.compile(path)
    assert fxpassc.compile(again, "fx-python") == fxpassc.compile(path, "fx-python")


def test_json_of_a_prepared_program_runs(fxpassc, tmp_path):
    """FX JSON may be taken behind the passes too."""
    module, inputs = program("llama")
    captured = capture(module, inputs, "dynamo", tmp_path / "captured")
    prepared = tmp_path / "prepared.json"
    prepared.write_text(fxpassc.compile(captured.path, "fx-json")[0])
    hlo, signature = fxpassc.compile(prepared, "hlo-text", "--no-fx-passes")
    direct, direct_signature = fxpassc.compile(captured.path)
    assert hlo == direct and signature["io_map"] == direct_signature["io_map"]
    assert len(captured.values(state_of(module, inputs))) == len(signature["inputs"])

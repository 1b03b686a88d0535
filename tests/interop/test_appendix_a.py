# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every row of `rows.py`, captured by Dynamo and by export, rewritten by fxpassc and judged by eager PyTorch.

The judgement is how a device would run the program: the rewritten program mutates no input; the outputs that
io_map names are written back; then outputs and inputs equal eager's, bit for bit, in value, shape and type. What
eager refuses is refused, and nothing else.
"""

import pytest
import torch
from capture import Function, assert_close, capture, emitted_function
from rows import ROWS
from xla_runner import Executable, Session

SOURCES = ["dynamo", "training"]

# R3 and R11b are what eager takes in their place.
REFUSED_BY_EAGER = {"R2", "R11"}

CASES = [pytest.param((row, source), id=f"{row.id}-{source}") for row in ROWS for source in SOURCES]


@pytest.fixture(params=CASES)
def program(tmp_path, request):
    row, source = request.param
    raises = (RuntimeError,) if row.id in REFUSED_BY_EAGER else ()
    directory = tmp_path / "source"
    return row, source, capture(Function(row.function()), row.arguments(), source, directory, raises)


def eager(row):
    arguments = row.arguments()
    output = row.function()(*arguments.values())
    return output, arguments


def compile_or_refusal(fxpassc, program, emit):
    """What fxpassc emitted and its signature; None where it refused in the proper way."""
    out = fxpassc.directory / ("out.py" if emit == "fx-python" else "out.hlo")
    signature = fxpassc.directory / "signature.json"
    result = fxpassc.run("compile", program.path, "-o", out, "--emit", emit, "--signature", signature)
    if result.returncode == 0:
        return fxpassc.compile(program.path, emit)
    assert result.returncode == 1, result.stderr
    assert "error: " in result.stderr
    assert not out.exists() and not signature.exists()
    return None


def check_io_map(row, signature, program, before, after):
    names = [program.names[Session.key(entry)] for entry in signature["inputs"]]
    mutated = [names.index("x")]
    written = not torch.equal(before["x"], after["x"])
    targets = list(signature["io_map"].values())
    assert len(set(targets)) == len(targets)
    assert targets == (mutated if written else [target for target in targets if target in mutated])


def same(actual, expected, what):
    equal = actual.dtype == expected.dtype and torch.equal(actual, expected)
    assert equal, f"{what}: {actual}, eager has {expected}"


def test_rewritten(program, fxpassc):
    row, source, captured = program
    compiled = compile_or_refusal(fxpassc, captured, "fx-python")
    if row.id in REFUSED_BY_EAGER:
        assert compiled is None
        return
    assert compiled is not None
    code, signature = compiled
    expected, expected_inputs = eager(row)
    forward = emitted_function(code)
    inputs = {**captured.constants, **row.arguments()}
    order = [captured.names[Session.key(entry)] for entry in signature["inputs"]]
    outputs = forward(*(inputs[name] for name in order))
    assert len(outputs) == len(signature["outputs"]) and signature["original_output_count"] == 1
    for name, tensor in row.arguments().items():
        same(inputs[name], tensor, f"the rewritten program itself wrote {name}")
    check_io_map(row, signature, captured, row.arguments(), expected_inputs)
    outputs = [output.clone() for output in outputs]
    for output, target in signature["io_map"].items():
        value = outputs[int(output)]
        assert value.dtype == inputs[order[target]].dtype and value.shape == inputs[order[target]].shape
        inputs[order[target]] = value
    same(outputs[0], expected, "output")
    for name, tensor in expected_inputs.items():
        same(inputs[name], tensor, name)


def test_lowered(program, fxpassc):
    row, source, captured = program
    compiled = compile_or_refusal(fxpassc, captured, "hlo-text")
    if row.id in REFUSED_BY_EAGER:
        assert compiled is None
        return
    assert compiled is not None
    text, signature = compiled
    expected, expected_inputs = eager(row)
    arguments = row.arguments()
    session = Session(Executable(text), signature, captured.values(arguments))
    (output,) = session.run()
    assert_close(output, expected, "output")
    for key, name in captured.names.items():
        assert_close(session.get(key), {**captured.constants, **expected_inputs}[name], name)
    check_io_map(row, signature, captured, arguments, expected_inputs)

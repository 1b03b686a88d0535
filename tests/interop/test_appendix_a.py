# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every row of `rows.py`, captured by Dynamo and by export, rewritten by fxpassc and judged by eager PyTorch.

The judgement is how a device would run the program: the rewritten program mutates no input; the outputs that
io_map names are written back; then outputs and inputs equal eager's, bit for bit, in value, shape and type. A
row outside the lists below may be refused with a diagnostic. No row may be silently wrong.
"""

import pytest
import torch
from capture import Function, assert_close, capture, emitted_function
from rows import ROWS
from xla_runner import Executable, Session

SOURCES = ["dynamo", "training"]

# Rows whose every write and view is one that fxpass must know in this form.
REQUIRED_EVERYWHERE = """
    W1 W1b W3 W3c W5 W8c W9 W10 W13 W14 W15 C1 C2 C3 C4 C4b C5 C6a C6c C7 C9 C9b F2a F2b F2c F2d F2e F2f F2g
    F2h F3a F3b F3c F3d F3f F4 F5a F10a F10b F12 F12b R3 R7 R9 R12
""".split()
# Export spells these with views and index_put_; in Dynamo they are setitems of tensors, None, Ellipsis, bool.
REQUIRED_IN_EXPORT = "W8e C7b C8a C8b C8c C8d C8e C8f C8g C10 C10b F5b F6 F7a F7b F7c F8a F8b".split()
REQUIRED = {"dynamo": set(REQUIRED_EVERYWHERE), "training": set(REQUIRED_EVERYWHERE + REQUIRED_IN_EXPORT)}
# Rewritten rightly, but with an operator beside the write that no model here needs: it may have no lowering.
WITHOUT_LOWERING = {"W3c", "C3"}
# What eager PyTorch refuses must be refused.
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
    if compiled is None:
        assert row.id not in REQUIRED[source]
        return
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
    if compiled is None:
        assert row.id not in REQUIRED[source] - WITHOUT_LOWERING
        return
    text, signature = compiled
    expected, expected_inputs = eager(row)
    arguments = row.arguments()
    session = Session(Executable(text), signature, captured.values(arguments))
    (output,) = session.run()
    assert_close(output, expected, "output")
    for key, name in captured.names.items():
        assert_close(session.get(key), {**captured.constants, **expected_inputs}[name], name)
    check_io_map(row, signature, captured, arguments, expected_inputs)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every operator of PyTorch that returns a view, in each of its spellings: written through and beside, it is rewritten
and lowered as eager PyTorch runs it, or it stands in a table with the reason why not.

Which operators these are PyTorch itself tells: see view_cases.py.
"""

import itertools
import json
import re
import subprocess
from dataclasses import dataclass, field

import pytest
import torch
import view_cases
from capture import emitted_function
from fx_to_json import dump
from random_programs import same
from xla_runner import Executable, Session

MOST_SAMPLES = 8
VIEWS_OF_EACH, COPIES_OF_EACH = 3, 1
BATCH = 80
# What is refused, by a pattern of the calls, and the reason.
NOT_REWRITTEN = {
    # A byte that is neither 0 nor 1 is no bool.
    r"^(aten\.view\.dtype|Tensor\.view|prims\.view_of_dtype)\S*\(bool\S* .*torch\.(?!bool)": "numbers for bools",
    r"^(aten\.view\.dtype|Tensor\.view|prims\.view_of_dtype)\S*\((?!bool).*torch\.bool": "numbers for bools",
    # Of windows that overlap it is not defined which value stays.
    r"unfold\S*\(.* 2, 1\)|unfold\S*\(.* 3, 1\)|unfold\(.*size=2, step=1": "windows of .* that overlap",
    r"as_strided(\.default)?\(.*\[3, 2\], \[1, 1\]": "windows of .* that overlap",
    # Python's own: deprecated, or with arguments that ATen's operator has not.
    r"^Tensor\.resize_as": "an operator without schema",
    r"^Tensor\.cpu\(.*memory_format": "an operator without schema",
    r"^torch\.functional\.einsum\([a-z]": "an operator without schema",
}
NOT_LOWERED = {
    # Of no elements, and where all are dropped, too.
    r"dropout": "dropout in training",
    r"getitem\(.*False": "False or several of True",
    r"(as_strided_copy|_reshape_alias)\S*\(.*(reversed|part)$": "itself a window into memory",
}
REFUSED = {"fx-python": NOT_REWRITTEN, "hlo-text": {**NOT_REWRITTEN, **NOT_LOWERED}}
# Operators that PyTorch itself does not trace: which elements they view the values of tensors say.
NOT_TRACED_BY_PYTORCH = r"slice_inverse|narrow\.Tensor|tensor_indices_or_sections"
# Functions of Python whose bodies are traced, and histogramdd, which returns the bins that it was given.
NOT_TRACED = ["prod", "histogramdd", "local_response_norm"]
# Operators of which no call here returns a view: they are copies.
COPIES = r"_copy\.|_scatter\."


@dataclass
class Verdict:
    """What became of a case: equal to eager, or why not."""

    refused: dict = field(default_factory=dict)  # emit -> the diagnostic
    different: dict = field(default_factory=dict)  # emit -> what differs


def batch_of(cases):
    """One graph of several programs that have nothing to do with each other, its inputs, and the slices of its
    outputs."""
    graph = torch.fx.Graph()
    placeholders = {
        number: [graph.placeholder(f"c{number}_input_{k}") for k, _ in enumerate(case.inputs())]
        for number, case in cases.items()
    }
    outputs, places = [], {}
    for number, case in cases.items():
        own = case.statements(graph, f"c{number}", placeholders[number])
        places[number] = slice(len(outputs), len(outputs) + len(own))
        outputs += own
    graph.output(tuple(outputs))
    inputs = {f"c{number}_input_{k}": t for number, case in cases.items() for k, t in enumerate(case.inputs())}
    return torch.fx.GraphModule(torch.nn.Module(), graph), inputs, places


def run_python(emitted, signature, inputs):
    forward = emitted_function(emitted)
    names = [entry["name"] for entry in signature["inputs"]]
    outputs = [value.clone() for value in forward(*(inputs[name].clone() for name in names))]
    after = {names[target]: outputs[int(output)] for output, target in signature["io_map"].items()}
    return outputs[: signature["original_output_count"]], {**inputs, **after}


def run_xla(emitted, signature, inputs):
    session = Session(Executable(emitted), signature, inputs)
    outputs = session.run()
    return outputs, {name: session.get(name) for name in inputs}


RUN = {"fx-python": (".py", run_python), "hlo-text": (".hlo", run_xla)}


def judge(fxpassc, directory, cases, emit, verdicts):
    """Runs the cases in one batch; those that fxpassc refuses are taken out of it."""
    cases = dict(cases)
    suffix, run = RUN[emit]
    while cases:
        gm, inputs, places = batch_of(cases)
        path = directory / "batch.json"
        dump(gm, path, [tensor.clone() for tensor in inputs.values()])
        out, signature = path.with_suffix(suffix), path.with_suffix(".signature.json")
        command = [fxpassc, "compile", path, "-o", out, "--emit", emit, "--signature", signature]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if result.returncode == 0:
            break
        refused = {}
        for line in result.stderr.splitlines():
            where, error, text = line.partition("error: ")
            # A missing lowering is told with all its calls.
            for number in re.findall(r"\bc(\d+)_", where + text if "[missing-lowering]" in text else where):
                if error and int(number) in cases:
                    refused[int(number)] = text
        assert result.returncode == 1 and refused, result.stderr[-2000:]
        for number, text in refused.items():
            verdicts[number].refused[emit] = text
            del cases[number]
    else:
        return
    outputs, after = run(out.read_text(), json.loads(signature.read_text()), inputs)
    for number, case in cases.items():
        own = case.inputs()
        expected = case.run(own)
        actual = list(outputs[places[number]])
        actual += [after[f"c{number}_input_{k}"] for k, _ in enumerate(own)]
        for what, (a, b) in enumerate(zip(actual, [*expected, *own], strict=True)):
            if not same(a, b):
                verdicts[number].different[emit] = f"value {what}: {a}, eager has {b}"


@pytest.fixture(scope="session")
def cases():
    with torch.no_grad():
        return view_cases.all_cases(VIEWS_OF_EACH, COPIES_OF_EACH)


def is_tried(name, cases):
    return any(case.is_view for case in cases[name])


def test_every_view_is_tried(cases):
    """Of each operator that returns views there is a call that does."""
    views = {name for name in cases if is_tried(name, cases)}
    assert {name for name in cases if not re.search(f"{COPIES}|{NOT_TRACED_BY_PYTORCH}", name)} == views


def test_pytorchs_own_samples_have_no_other_views(cases):
    from torch.testing._internal.common_methods_invocations import op_db

    found = set()
    for info in op_db:
        dtype = torch.float32 if torch.float32 in info.dtypes else torch.complex64
        if dtype in info.dtypes:
            samples = itertools.islice(info.sample_inputs("cpu", dtype), MOST_SAMPLES)
            if any(view_cases.returns_view(info.op, (s.input, *s.args), s.kwargs) for s in samples):
                found.add(info.name.rpartition(".")[2].strip("_"))
    tried = {re.sub(r"\.(default|int|Tensor)$", "", name).rpartition(".")[2] for name in cases if is_tried(name, cases)}
    assert found - tried <= set(NOT_TRACED)


@pytest.mark.parametrize("emit", RUN)
def test_as_eager(fxpassc_path, tmp_path, cases, emit):
    listed = dict(enumerate(case for of_one in cases.values() for case in of_one))
    verdicts = {number: Verdict() for number in listed}
    for first in range(0, len(listed), BATCH):
        batch = {number: listed[number] for number in listed if first <= number < first + BATCH}
        judge(fxpassc_path, tmp_path, batch, emit, verdicts)
    wrong = [f"{listed[k]}: {text}" for k, verdict in verdicts.items() for text in verdict.different.values()]
    assert not wrong, "\n".join(wrong)
    unlisted, seen = [], dict.fromkeys(REFUSED[emit], 0)
    for number, case in listed.items():
        text = verdicts[number].refused.get(emit)
        for pattern, reason in REFUSED[emit].items():
            if text is not None and re.search(pattern, str(case)) and re.search(reason, text):
                seen[pattern] += 1
                break
        else:
            if text is not None:
                unlisted.append(f"{case}: {text}")
    assert not unlisted, "\n".join(unlisted)
    # What is listed is still refused.
    assert all(seen.values()), [pattern for pattern, count in seen.items() if count == 0]

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators one by one: what real XLA makes of each lowering, against eager PyTorch."""

import pytest
import torch
from capture import capture, close
from lowering_cases import GROUPS
from xla_runner import Executable, Session

FORMS = ["training", "decomposed", "dynamo"]


class Expressions(torch.nn.Module):
    def __init__(self, expressions):
        super().__init__()
        self.expressions = expressions

    def forward(self, *inputs):
        return tuple(expression(*inputs) for expression in self.expressions)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", GROUPS)
def test_like_eager(fxpassc, tmp_path, name, form):
    make_inputs, expressions = GROUPS[name]
    module, inputs = Expressions(list(expressions.values())), make_inputs()
    program = capture(module, inputs, form, tmp_path / "source")
    text, signature = fxpassc.compile(program.path)
    results = Session(Executable(text), signature, program.values(inputs)).run()
    expected = module(*inputs.values())
    assert len(results) == len(expected)
    wrong = [
        f"{expression}: {actual.dtype} {actual.tolist()}, eager {eager.dtype} {eager.tolist()}"
        for expression, actual, eager in zip(expressions, results, expected)
        if not close(actual, eager)
    ]
    assert not wrong, "\n".join(wrong)

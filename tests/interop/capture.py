# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Captures a module in each form that fxpassc reads, and compares what came out with eager PyTorch."""

import copy
from dataclasses import dataclass

import torch
from fx_to_json import dump

FORMS = ["training", "decomposed", "functional", "dynamo"]


@dataclass
class Program:
    """A captured program: its file, for each input's key in the signature the name that its owner has for it,
    and the tensors that capturing took out of the code (no owner has them)."""

    path: str
    names: dict
    constants: dict

    def values(self, state):
        state = {**self.constants, **state}
        return {key: state[name] for key, name in self.names.items()}


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def emitted_function(code, **names):
    """The function that is the program in emitted Python, in which `names` are known."""
    scope = dict(names)
    exec(compile(code, "emitted.py", "exec"), scope)
    return scope["forward"]


def state_of(module, inputs):
    """Every tensor that the module reads, by name: inputs, parameters and buffers."""
    # A tied weight has several names, and an export may use any of them.
    parameters = module.named_parameters(remove_duplicate=False)
    return {**inputs, **dict(parameters), **dict(module.named_buffers(remove_duplicate=False))}


def capture(module, inputs, form, directory, raises=()):
    """Write `module(*inputs.values())` in `form` below `directory`. The module itself is left as it was.

    `raises`: exceptions that running the captured program may raise; the program is written all the same.
    """
    module = copy.deepcopy(module)
    inputs = {name: tensor.clone() for name, tensor in inputs.items()}
    directory.mkdir(parents=True, exist_ok=True)
    return (capture_dynamo if form == "dynamo" else capture_export)(module, inputs, form, directory, raises)


def capture_export(module, inputs, form, directory, raises):
    program = torch.export.export(module, tuple(inputs.values()))
    if form == "decomposed":
        program = program.run_decompositions()
    elif form == "functional":
        program = program.run_decompositions({})
    path = directory / f"{form}.pt2"
    torch.export.save(program, path)
    specs = program.graph_signature.input_specs
    own = iter(inputs)
    names = {}
    for spec in specs:
        if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT:
            names[spec.arg.name] = next(own)
        else:
            names[spec.target] = spec.target
    constants = {
        spec.target: program.constants[spec.target]
        for spec in specs
        if spec.kind == torch.export.graph_signature.InputKind.CONSTANT_TENSOR
    }
    return Program(path, names, constants)


def capture_dynamo(module, inputs, form, directory, raises):
    path = directory / f"{form}.json"
    # Dynamo's names of placeholders tell where a value came from; the tensors themselves tell which it is.
    owners = {id(tensor): name for name, tensor in state_of(module, inputs).items()}
    names = {}

    def backend(gm, example_inputs):
        assert not names, "more than one graph"
        placeholders = [node.name for node in gm.graph.nodes if node.op == "placeholder"]
        for name, value in zip(placeholders, example_inputs, strict=True):
            names[name] = owners[id(value)]
        dump(gm, path, example_inputs)
        return gm.forward

    torch._dynamo.reset()
    try:
        torch.compile(module, backend=backend, fullgraph=True, dynamic=False)(*inputs.values())
    except raises:
        pass
    return Program(path, names, constants={})


def tolerances(expected):
    """(absolute, relative) tolerance of a comparison with the eager value `expected`; integers must be equal.

    float32: what re-associated sums of a few hundred terms need. A bfloat16 has 8 significant bits, so a
    rounding that falls to the other side is 2^-8 of the value; two layers make a few of them: twice that, and
    as much of the largest value, since a small value can be the difference of large ones.
    """
    if not expected.dtype.is_floating_point:
        return 0.0, 0.0
    finite = expected[expected.isfinite()]
    largest = finite.abs().max().item() if finite.numel() else 0.0
    return {
        torch.bfloat16: (2.0**-7 * largest, 2.0**-7),
        torch.float16: (2.0**-10 * largest, 2.0**-10),
    }.get(expected.dtype, (1e-5 * largest, 1e-4))


def widened(tensor):
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def close(actual, expected):
    absolute, relative = tolerances(expected)
    same_type = actual.dtype == expected.dtype and actual.shape == expected.shape
    return same_type and torch.allclose(
        widened(actual), widened(expected), atol=absolute, rtol=relative, equal_nan=True
    )


def assert_close(actual, expected, what):
    assert actual.dtype == expected.dtype and actual.shape == expected.shape, (
        f"{what}: {actual.dtype}{list(actual.shape)}, eager has {expected.dtype}{list(expected.shape)}"
    )
    difference = (widened(actual) - widened(expected)).abs().max().item() if expected.numel() else 0.0
    largest = widened(expected).abs().max().item() if expected.numel() else 0.0
    assert close(actual, expected), (
        f"{what}: largest difference {difference:.3g}, largest value {largest:.3g}"
    )

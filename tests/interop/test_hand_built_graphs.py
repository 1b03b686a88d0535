# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that no tracer would make, put together node by node: writes whose nodes nobody uses, outputs that are the written
inputs themselves, nested arguments, one constant in two places. And inputs that are parts of each other, which a tracer
meets only when the program runs."""

import copy
import json
import operator

import pytest
import torch
from capture import assert_close, emitted_function
from fx_to_json import dump
from xla_runner import Executable, Session


class Builder:
    """`b.f(torch.add, x, 1)` is a function call, `b.m("add_", x, 1)` a method call."""

    def __init__(self, **attributes):
        self.graph = torch.fx.Graph()
        self.root = torch.nn.Module()
        for name, tensor in attributes.items():
            self.root.register_buffer(name, tensor)

    def inputs(self, *names):
        return [self.graph.placeholder(name) for name in names]

    def attribute(self, name):
        return self.graph.get_attr(name)

    def f(self, function, *arguments, **keywords):
        return self.graph.call_function(function, arguments, keywords)

    def m(self, method, *arguments):
        return self.graph.call_method(method, arguments)

    def returning(self, value):
        self.graph.output(value)
        self.graph.lint()
        return torch.fx.GraphModule(self.root, self.graph)


def writes_that_nobody_uses():
    b = Builder(scale=torch.tensor(0.5))
    (x,) = b.inputs("x")
    b.m("mul_", x, b.attribute("scale"))
    y = b.f(operator.add, x, 1.0)
    b.f(operator.iadd, y, x)
    return b.returning((x, y)), [torch.tensor([1.0, 2.0])]


def an_attribute_that_is_written():
    b = Builder(count=torch.zeros(2))
    (x,) = b.inputs("x")
    count = b.attribute("count")
    b.m("add_", count, x)
    return b.returning(b.m("mul", b.attribute("count"), 3.0)), [torch.tensor([1.0, 2.0])]


def placeholders_returned_swapped():
    b = Builder()
    x, y = b.inputs("x", "y")
    old = b.m("clone", x)
    b.m("copy_", x, y)
    b.m("copy_", y, old)
    return b.returning((y, x)), [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])]


def uses_in_nested_arguments():
    b = Builder()
    (x,) = b.inputs("x")
    a = b.f(torch.abs, x)
    joined = b.f(torch.cat, [a, x, a], dim=0)
    more = b.f(torch.add, joined, 1.0)
    b.m("add_", a, 10.0)
    least = b.f(torch.clamp, input=a, min=11.0)
    return b.returning({"deep": (more, [a, (least,)])}), [torch.tensor([-1.0, 0.5])]


def names_that_differ_in_a_number():
    b = Builder()
    (x,) = b.inputs("x")
    sums = [b.f(torch.add, x, float(k)) for k in range(20)]
    return b.returning(b.f(torch.cat, sums[::-1])), [torch.tensor([1.0])]


def one_constant_in_two_places():
    b = Builder(one=torch.ones(2))
    (x,) = b.inputs("x")
    one = b.attribute("one")
    y = b.f(torch.add, b.f(torch.mul, x, one), one)
    first, second = b.f(operator.mul, x, 2), b.f(operator.mul, x, 2)
    b.m("add_", first, 1.0)  # the other is another tensor
    return b.returning((y, first, second)), [torch.tensor([3.0, 4.0])]


GRAPHS = [
    writes_that_nobody_uses,
    an_attribute_that_is_written,
    placeholders_returned_swapped,
    uses_in_nested_arguments,
    names_that_differ_in_a_number,
    one_constant_in_two_places,
]


def flat(value):
    return torch.utils._pytree.tree_leaves(value)


@pytest.mark.parametrize("make", GRAPHS, ids=lambda make: make.__name__)
def test_as_eager(fxpassc, tmp_path, make):
    gm, inputs = make()
    path = tmp_path / "graph.json"
    dump(gm, path, [tensor.clone() for tensor in inputs])
    names = [node.name for node in gm.graph.nodes if node.op == "placeholder"]
    buffers = {name: tensor.clone() for name, tensor in gm.named_buffers()}
    state = {**dict(zip(names, (tensor.clone() for tensor in inputs))), **buffers}

    eager, eager_inputs = copy.deepcopy(gm), [tensor.clone() for tensor in inputs]
    expected = [tensor.clone() for tensor in flat(eager(*eager_inputs))]
    expected_state = {**dict(zip(names, eager_inputs)), **dict(eager.named_buffers())}

    code, signature = fxpassc.compile(path, "fx-python")
    forward = emitted_function(code)
    keys = [Session.key(entry) for entry in signature["inputs"]]
    results = list(forward(*(state[key].clone() for key in keys)))
    after = {**state, **{keys[target]: results[int(output)] for output, target in signature["io_map"].items()}}
    session = Session(Executable(fxpassc.compile(path)[0]), signature, state)
    hlo_results = session.run()
    for what, got, then in (
        ("Python", results[: signature["original_output_count"]], after),
        ("HLO", hlo_results, {key: session.get(key) for key in keys}),
    ):
        for k, (actual, wanted) in enumerate(zip(got, expected, strict=True)):
            assert_close(actual, wanted, f"{what}: output {k}")
        for name, tensor in expected_state.items():
            assert_close(then[name], tensor, f"{what}: {name}")


@pytest.mark.parametrize("make", GRAPHS, ids=lambda make: make.__name__)
def test_two_runs_write_the_same(fxpassc, tmp_path, make):
    gm, inputs = make()
    dump(gm, tmp_path / "graph.json", inputs)
    dump(copy.deepcopy(gm), tmp_path / "again.json", inputs)
    assert (tmp_path / "graph.json").read_text() == (tmp_path / "again.json").read_text()
    for emit in ("fx-text", "fx-python", "hlo-text"):
        first, second = (fxpassc.compile(tmp_path / name, emit) for name in ("graph.json", "again.json"))
        assert first == second


# Inputs that share memory -------------------------------------------------------------------------------------------------
def writes_the_first(x, y):
    x.add_(100.0)
    return y[0] * 1


def dumped_by_dynamo(function, inputs, path):
    def backend(gm, example_inputs):
        dump(gm, path, example_inputs)
        return gm.forward

    torch.compile(function, backend=backend, fullgraph=True, dynamic=False)(*inputs)


def whole_and_part():
    base = torch.arange(24.0).reshape(4, 6)
    return base, base[1:]


def two_of_them():
    return tuple(tensor.clone() for tensor in whole_and_part())


@pytest.mark.parametrize("inputs", [whole_and_part, two_of_them], ids=lambda inputs: inputs.__name__)
def test_an_input_that_is_part_of_a_written_one(fxpassc, tmp_path, inputs):
    path = tmp_path / "graph.json"
    dumped_by_dynamo(writes_the_first, inputs(), path)
    result = fxpassc.run("compile", path, "-o", tmp_path / "out.hlo")
    if inputs is two_of_them:
        assert result.returncode == 0
    else:
        assert result.returncode == 1 and "shares its storage with another input" in result.stderr
        assert "test_hand_built_graphs.py:" in result.stderr and "[unsupported-mutation]" in result.stderr


def caches_of_two_layers():
    buffer = torch.arange(48.0).reshape(2, 4, 6)
    return buffer[0], buffer[1]


def columns_of_one_table():
    table = torch.arange(48.0).reshape(8, 6)
    return table[:, 0:2], table[:, 2:5]


def writes_both(x, y):
    x.mul_(3.0)
    x[1] = y[0, :1] * 2
    y.add_(1.0)
    x[:, 0].mul_(y[:, 1])
    return x.sum(), y * 1


def writes_beyond_itself(x, y):
    x.as_strided((2, 2), (2, 1), 24).add_(1.0)
    return x * 1


@pytest.mark.parametrize("inputs", [caches_of_two_layers, columns_of_one_table], ids=lambda inputs: inputs.__name__)
def test_inputs_that_are_other_parts_of_one_tensor(fxpassc, tmp_path, inputs):
    path = tmp_path / "graph.json"
    dumped_by_dynamo(writes_both, inputs(), path)
    document = json.loads(path.read_text())
    numbers = {node["input"]["storage"] for node in document["graph"]["nodes"] if "input" in node}
    assert len(numbers) == 1  # they share
    expected = inputs()
    results = [result.clone() for result in writes_both(*expected)]
    code, signature = fxpassc.compile(path, "fx-python")
    outputs = emitted_function(code)(*(tensor.clone() for tensor in inputs()))
    hlo, signature = fxpassc.compile(path)
    session = Session(Executable(hlo), signature, dict(zip(map(Session.key, signature["inputs"]), inputs(), strict=True)))
    lowered = session.run()
    for i, result in enumerate(results):
        assert torch.equal(outputs[i], result) and torch.equal(lowered[i], result)
    for output, target in signature["io_map"].items():
        assert torch.equal(outputs[int(output)], expected[target])
        assert torch.equal(session.get(Session.key(signature["inputs"][target])), expected[target])
    assert len(signature["io_map"]) == 2


def test_an_input_is_not_written_through_another_one(fxpassc, tmp_path):
    path = tmp_path / "graph.json"
    dumped_by_dynamo(writes_beyond_itself, caches_of_two_layers(), path)
    result = fxpassc.run("compile", path, "-o", tmp_path / "out.hlo")
    assert result.returncode == 1 and "[unsupported-mutation]" in result.stderr and "error: " in result.stderr

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of NKI kernels: one custom-call each, in the form that the Neuron compiler documents.

XLA cannot run them here; its parser reads text and proto, and what it read is compared field by field.
"""

import base64
import json
import operator
import re

import pytest
import torch
from capture import emitted_function
from fx_to_json import dump
from xla_runner import module_text, parse

CONFIG = {"func_name": "write_rows", "kernel_version": 1, "grid": [2], "has_collectives": False}
TARGET = "AwsNeuronCustomNativeKernel"


def nki_kernel_wrapper(**keywords):
    """Stands for the higher-order operator, which only Neuron's PyTorch has."""
    raise NotImplementedError


nki_kernel_wrapper.__module__ = "torch.ops.higher_order"


class KernelGraph:
    """Builds a graph of kernel calls as Dynamo leaves them."""

    def __init__(self):
        self.graph = torch.fx.Graph()

    def input(self, name, *shape, dtype=torch.float32):
        node = self.graph.placeholder(name)
        node.meta["example_value"] = torch.empty(shape, dtype=dtype, device="meta")
        return node

    def kernel(self, arguments, results, kernel_idx=3, config="", aliases=None):
        node = self.graph.call_function(
            nki_kernel_wrapper,
            kwargs={
                "kernel_idx": kernel_idx,
                "grid": [2],
                "backend_config": config,
                "operand_output_aliases": aliases or {},
                "args": tuple(arguments),
                "arg_names": [f"a{i}" for i in range(len(arguments))],
                "constant_args_key": -1,
            },
        )
        values = [torch.empty(shape, dtype=dtype, device="meta") for dtype, shape in results]
        node.meta["example_value"] = values[0] if len(values) == 1 else tuple(values)
        return node

    def call(self, target, arguments, like):
        node = self.graph.call_function(target, arguments)
        node.meta["example_value"] = like
        return node

    def write(self, path, *outputs):
        self.graph.output(outputs)
        dump(torch.fx.GraphModule(torch.nn.Module(), self.graph), path)
        # Meta tensors stand for inputs of the device that the program was traced on.
        path.write_text(path.read_text().replace('"device": "meta"', '"device": "cpu"'))
        return path


def registry(path, *kernels):
    path.write_text(json.dumps({"kernels": list(kernels)}))
    return path


def instructions(module):
    """The entry computation as XLA prints it: {name: (type, opcode, operands, attributes)}."""
    entry = re.search(r"^ENTRY .*?\{\n(.*?)^\}", module_text(module), re.M | re.S)[1]
    found = {}
    for line in entry.splitlines():
        name, kind, opcode, operands, attributes = re.fullmatch(
            r"\s*(?:ROOT )?%?(\S+) = (\(.*?\)|\S+) ([\w-]+)\(([^()]*)\)(.*)", line
        ).groups()
        kind = re.sub(r"\{[\d,]*\}|/\*.*?\*/", "", kind)
        names = [operand.split("%")[-1].split()[-1] for operand in operands.split(",") if operand.strip()]
        found[name] = (kind.replace(" ", ""), opcode, names, attributes)
    return found


def custom_calls(module):
    return [entry for entry in instructions(module).values() if entry[1] == "custom-call"]


@pytest.fixture(params=["hlo-text", "hlo-proto"])
def emit(request):
    return request.param


def decoded(attributes):
    return re.search(r'backend_config="([^"]*)"', attributes)[1]


def test_one_result_that_is_an_operand(fxpassc, tmp_path, emit):
    build = KernelGraph()
    x, cache = build.input("x", 2, 128), build.input("cache", 4, 128)
    build.kernel([x, cache, 128], [(torch.float32, (4, 128))])
    program = build.write(tmp_path / "g.json", build.call(torch.neg, (x,), x.meta["example_value"]))
    kernels = registry(
        tmp_path / "kernels.json",
        {"kernel_idx": 3, "backend_config": CONFIG, "operand_output_aliases": {"1": 0}},
    )
    module, signature = fxpassc.compile(program, emit, "--nki-kernels", kernels)
    ((kind, _, operands, attributes),) = custom_calls(module)
    assert kind == "f32[4,128]"
    assert [instructions(module)[name][1] for name in operands] == ["parameter", "parameter"]
    assert [instructions(module)[name][0] for name in operands] == ["f32[2,128]", "f32[4,128]"]
    assert f'custom_call_target="{TARGET}"' in attributes
    assert "output_to_operand_aliasing={{}: (1, {})}" in attributes
    assert json.loads(base64.b64decode(decoded(attributes), validate=True)) == CONFIG
    assert signature["io_map"] == {"1": 1} and signature["hlo_input_output_alias"] == {"1": 1}
    assert "input_output_alias={ {1}: (1, {}, must-alias) }" in module_text(module)


def test_several_results(fxpassc, tmp_path, emit):
    build = KernelGraph()
    x, cache = build.input("x", 2, 128), build.input("cache", 4, 128)
    kernel = build.kernel(
        [x, cache], [(torch.bfloat16, (2, 4)), (torch.float32, (4, 128)), (torch.int32, ())]
    )
    values = kernel.meta["example_value"]
    first = build.call(operator.getitem, (kernel, 0), values[0])
    third = build.call(operator.getitem, (kernel, 2), values[2])
    program = build.write(tmp_path / "g.json", first, third)
    kernels = registry(
        tmp_path / "kernels.json",
        {"kernel_idx": 3, "backend_config": CONFIG, "operand_output_aliases": {"1": 1}},
    )
    module, signature = fxpassc.compile(program, emit, "--nki-kernels", kernels)
    ((kind, _, operands, attributes),) = custom_calls(module)
    assert kind == "(bf16[2,4],f32[4,128],s32[])" and len(operands) == 2
    assert "output_to_operand_aliasing={{1}: (1, {})}" in attributes
    found = instructions(module)
    picked = {entry[0]: entry[3] for entry in found.values() if entry[1] == "get-tuple-element"}
    assert {kind: re.search(r"index=(\d+)", attribute)[1] for kind, attribute in picked.items()} == {
        "bf16[2,4]": "0",
        "f32[4,128]": "1",
        "s32[]": "2",
    }
    assert signature["io_map"] == {"2": 1} and signature["original_output_count"] == 2


def test_a_later_reader_sees_the_write(fxpassc, tmp_path, emit):
    build = KernelGraph()
    x, cache = build.input("x", 2, 128), build.input("cache", 4, 128)
    shape = [(torch.float32, (4, 128))]
    build.kernel([x, cache], shape)
    build.kernel([x, cache], shape)
    program = build.write(tmp_path / "g.json", build.call(torch.neg, (cache,), cache.meta["example_value"]))
    kernels = registry(
        tmp_path / "kernels.json",
        {"kernel_idx": 3, "backend_config": CONFIG, "operand_output_aliases": {"1": 0}},
    )
    module, _ = fxpassc.compile(program, emit, "--nki-kernels", kernels)
    found = instructions(module)
    calls = [name for name, entry in found.items() if entry[1] == "custom-call"]
    assert len(calls) == 2
    (second,) = [name for name in calls if calls[0] in found[name][2] or calls[1] in found[name][2]]
    (negate,) = [entry for entry in found.values() if entry[1] == "negate"]
    assert negate[2] == [second]


def test_a_call_that_is_configured_needs_no_registry(fxpassc, tmp_path, emit):
    build = KernelGraph()
    x, cache = build.input("x", 2, 128), build.input("cache", 4, 128)
    # In a call, aliases count all arguments; in the HLO they count operands, which the tensors alone become.
    kernel = build.kernel([None, x, 3, cache], [(torch.float32, (4, 128))], config="b3BhcXVl", aliases={3: 0})
    program = build.write(tmp_path / "g.json", kernel)
    module, signature = fxpassc.compile(program, emit)
    ((_, _, operands, attributes),) = custom_calls(module)
    assert len(operands) == 2 and decoded(attributes) == "b3BhcXVl"
    assert "output_to_operand_aliasing={{}: (1, {})}" in attributes
    assert 1 in signature["io_map"].values()


def test_a_kernel_with_collectives_says_so(fxpassc, tmp_path, emit):
    build = KernelGraph()
    x = build.input("x", 2, 128)
    program = build.write(tmp_path / "g.json", build.kernel([x], [(torch.float32, (2, 128))]))
    config = {**CONFIG, "has_collectives": True}
    kernels = registry(
        tmp_path / "kernels.json", {"kernel_idx": 3, "backend_config": config, "operand_output_aliases": {}}
    )
    module, signature = fxpassc.compile(program, emit, "--nki-kernels", kernels)
    ((_, _, _, attributes),) = custom_calls(module)
    assert re.search(r'frontend_attributes=\{has_collectives="1"\}', attributes)
    assert "output_to_operand_aliasing" not in attributes and signature["io_map"] == {}


def test_text_and_proto_are_one_module(fxpassc, tmp_path):
    build = KernelGraph()
    x, cache = build.input("x", 2, 128), build.input("cache", 4, 128)
    program = build.write(tmp_path / "g.json", build.kernel([x, cache], [(torch.float32, (4, 128))]))
    kernels = registry(
        tmp_path / "kernels.json",
        {"kernel_idx": 3, "backend_config": CONFIG, "operand_output_aliases": {"1": 0}},
    )
    text, _ = fxpassc.compile(program, "hlo-text", "--nki-kernels", kernels)
    proto, _ = fxpassc.compile(program, "hlo-proto", "--nki-kernels", kernels)
    assert parse(proto).to_string() == parse(text).to_string()


@pytest.mark.parametrize("known", [None, 4], ids=["no registry", "another kernel"])
def test_an_unknown_kernel_is_refused(fxpassc, tmp_path, known):
    build = KernelGraph()
    x = build.input("x", 2, 128)
    program = build.write(tmp_path / "g.json", build.kernel([x], [(torch.float32, (2, 128))]))
    options = []
    if known is not None:
        entry = {"kernel_idx": known, "backend_config": CONFIG, "operand_output_aliases": {}}
        options = ["--nki-kernels", registry(tmp_path / "kernels.json", entry)]
    result = fxpassc.run("compile", program, "-o", tmp_path / "out.hlo", *options)
    assert result.returncode == 1 and "error: " in result.stderr and "kernel 3" in result.stderr
    assert not (tmp_path / "out.hlo").exists()


# Several writers ----------------------------------------------------------------------------------------------------------
def twice_plus(a, b):
    return a * 2 + b


class Emulated(torch.fx.Interpreter):
    """Runs a kernel as Neuron does: results go into the operands that they are aliased with, and are returned."""

    def call_function(self, target, args, kwargs):
        if target is not nki_kernel_wrapper:
            return super().call_function(target, args, kwargs)
        operands = kwargs["args"]
        results = [twice_plus(operands[i], operands[-1]) for i in range(len(operands) - 1)]
        for operand, result in kwargs["operand_output_aliases"].items():
            operands[operand].copy_(results[result])
        return results[0] if len(results) == 1 else tuple(results)


def like(*shape, stride=None):
    whole = torch.empty(4, 6, device="meta")
    return torch.empty(shape, device="meta") if stride is None else whole.as_strided(shape, stride)


def writes_one_input_twice(b, x, r):
    first = b.kernel([x, r], [(torch.float32, (4, 6))], config="eA==", aliases={0: 0})
    second = b.kernel([x, r], [(torch.float32, (4, 6))], config="eA==", aliases={0: 0})
    return first, second, b.call(torch.neg, (x,), like(4, 6))


def writes_between_torch_writes(b, x, r):
    b.call(torch.ops.aten.add_.Scalar, (x, 1.0), like(4, 6))
    first = b.kernel([x, r], [(torch.float32, (4, 6))], config="eA==", aliases={0: 0})
    b.call(operator.setitem, (x, 0, 5.0), None)
    b.kernel([x, r], [(torch.float32, (4, 6))], config="eA==", aliases={0: 0})
    b.call(torch.ops.aten.mul_.Tensor, (x, r), like(4, 6))
    return first, b.call(torch.neg, (x,), like(4, 6))


def writes_through_a_view(b, x, r):
    row = b.call(torch.ops.aten.select.int, (x, 0, 1), like(6, stride=(1,)))
    r_row = b.call(torch.ops.aten.select.int, (r, 0, 0), like(6, stride=(1,)))
    b.kernel([row, r_row], [(torch.float32, (6,))], config="eA==", aliases={0: 0})
    return b.call(torch.neg, (x,), like(4, 6)), b.call(torch.neg, (row,), like(6))


def writes_two_views(b, x, r):
    first = b.call(torch.ops.aten.select.int, (x, 0, 0), like(6, stride=(1,)))
    last = b.call(torch.ops.aten.select.int, (x, 0, 3), like(6, stride=(1,)))
    r_row = b.call(torch.ops.aten.select.int, (r, 0, 0), like(6, stride=(1,)))
    b.kernel([first, last, r_row], [(torch.float32, (6,))] * 2, config="eA==", aliases={0: 0, 1: 1})
    return (b.call(torch.neg, (x,), like(4, 6)),)


def writes_an_intermediate(b, x, r):
    copy = b.call(torch.ops.aten.clone.default, (x,), like(4, 6))
    b.kernel([copy, r], [(torch.float32, (4, 6))], config="eA==", aliases={0: 0})
    return b.call(torch.neg, (copy,), like(4, 6)), b.call(torch.neg, (x,), like(4, 6))


@pytest.mark.parametrize(
    "make",
    [
        writes_one_input_twice,
        writes_between_torch_writes,
        writes_through_a_view,
        writes_two_views,
        writes_an_intermediate,
    ],
    ids=lambda make: make.__name__,
)
def test_several_writers_in_program_order(fxpassc, tmp_path, make):
    build = KernelGraph()
    outputs = make(build, build.input("x", 4, 6), build.input("r", 4, 6))
    program = build.write(tmp_path / "g.json", *outputs)
    x, r = torch.arange(24.0).reshape(4, 6), torch.linspace(-1, 1, 24).reshape(4, 6)
    expected_x = x.clone()
    expected = Emulated(torch.fx.GraphModule(torch.nn.Module(), build.graph)).run(expected_x, r)
    code, signature = fxpassc.compile(program, "fx-python")

    def functional(*, args, **_):
        results = [twice_plus(args[i], args[-1]) for i in range(len(args) - 1)]
        return results[0] if len(results) == 1 else tuple(results)

    code = code.replace("torch.ops.higher_order.nki_kernel_wrapper_functional", "functional")
    results = emitted_function(code, functional=functional)(x, r)
    for actual, wanted in zip(results, expected, strict=False):
        assert torch.equal(actual, wanted)
    written = {target: results[int(output)] for output, target in signature["io_map"].items()}
    assert torch.equal(written.get(0, x), expected_x) and 1 not in written
    fxpassc.compile(program, "hlo-text")

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every opcode, attribute and element type as text and as proto: XLA reads the same module from both, and runs it."""

import os
import pathlib
import re
import subprocess

import numpy
import pytest
import torch
from capture import capture, state_of
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from models import llama, llama_step
from xla_runner import Executable, Session, module_text, owned_buffer, parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPCODE_TABLE = ROOT / "include" / "fxpass" / "hlo" / "opcode.hpp"

# A header attribute of the text form only: in the proto's world it is an option of the compiler.
REPLICA_COUNT = re.compile(r", replica_count=\d+")
INSTRUCTION = re.compile(r"^ +(?:ROOT )?%(\S+) = (.*?) ([a-z][a-z0-9-]*)\(", re.M)
COMMENT = re.compile(r"/\*.*?\*/")  # XLA numbers the elements of long tuples
TYPES = {"pred": "bool", "s32": "int32", "u64": "uint64", "f32": "float32", "bf16": "bfloat16"}


def find_samples_program():
    if "HLO_SAMPLES" in os.environ:
        return pathlib.Path(os.environ["HLO_SAMPLES"])
    built = [path for path in (ROOT / "build").rglob("hlo_samples") if path.is_file() and os.access(path, os.X_OK)]
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


@pytest.fixture(scope="module")
def directory_of_samples(tmp_path_factory):
    program = find_samples_program()
    if program is None:
        pytest.fail("no hlo_samples: build it, or name it in the environment variable HLO_SAMPLES")
    directory = tmp_path_factory.mktemp("hlo_samples")
    listing = subprocess.run([program, directory], capture_output=True, text=True, timeout=60, check=True).stdout
    return directory, listing.splitlines()


@pytest.fixture(scope="module")
def stablehlo(directory_of_samples):
    directory, _ = directory_of_samples
    return {path.stem: path.read_text() for path in directory.glob("*.mlir")}


@pytest.fixture(scope="module")
def samples(directory_of_samples):
    """name -> (text, proto, whether XLA on a CPU runs it, replicas)"""
    directory, listing = directory_of_samples
    result = {}
    for line in listing:
        name, fate, replicas = line.split()
        text = (directory / f"{name}.hlo").read_text()
        result[name] = text, (directory / f"{name}.pb").read_bytes(), fate == "runs", int(replicas)
    assert result
    return result


def test_samples_use_every_opcode(samples):
    known = set(re.findall(r'\{Opcode::\w+, "([a-z0-9-]+)"', OPCODE_TABLE.read_text()))
    used = {opcode for text, *_ in samples.values() for opcode in (match[2] for match in INSTRUCTION.findall(text))}
    assert len(known) > 80
    assert known - used == set()


def test_text_and_proto_are_the_same_module(samples):
    for name, (text, proto, _, _) in samples.items():
        from_text = REPLICA_COUNT.sub("", module_text(text))
        assert from_text == module_text(proto), name


def test_xla_keeps_what_was_written(samples):
    """Names, shapes and opcodes are valid as they are: XLA renames nothing."""
    for name, (text, _, _, _) in samples.items():
        read = COMMENT.sub("", module_text(text))
        assert sorted(INSTRUCTION.findall(text)) == sorted(INSTRUCTION.findall(read)), name


def test_the_proto_says_what_the_older_schema_knows(samples):
    """Numbers are unique and small, and no field is one that the older reader does not have."""
    newest_known = {"module": 19, "instruction": 91}
    for name, (_, proto, _, _) in samples.items():
        numbers = []
        for field, computation in fields(proto):
            assert field <= newest_known["module"], name
            if field != 3:
                continue
            for inner, instruction in fields(computation):
                if inner == 5:
                    numbers.append(instruction)
                if inner != 2:
                    continue
                content = fields(instruction)
                assert all(number <= newest_known["instruction"] for number, _ in content), name
                numbers += [value for number, value in content if number == 35]
        assert len(set(numbers)) == len(numbers), name
        assert min(numbers) >= 1 and max(numbers) < 2**31, name


def fields(message):
    """The fields of a message on the wire: (number, value or bytes)."""
    result, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        assert key & 7 in (0, 2)
        value = varint()
        if key & 7 == 2:
            value, at = message[at : at + value], at + value
        result.append((key >> 3, value))
    assert at == len(message)
    return result


def make_argument(shape, generator):
    dtype, sizes = re.fullmatch(r"(\w+)\[([\d,]*)\].*", shape).groups()
    sizes = [int(size) for size in sizes.split(",") if size]
    if dtype == "pred":
        return torch.ones(sizes, dtype=torch.bool)
    if dtype[0] in "su":
        integers = torch.randint(0, 3, sizes, generator=generator)
        return integers.to(getattr(torch, TYPES[dtype]))
    return torch.rand(sizes, generator=generator).to(getattr(torch, TYPES[dtype]))


def run(module, replicas, text=None):
    """`text`, the module's HLO text, says what the arguments are; without it `module` does."""
    module_of_shapes = module if text is None else text
    entry = re.search(r"entry_computation_layout=\{\((.*?)\)->", COMMENT.sub("", module_text(module_of_shapes)))[1]
    shapes = re.findall(r"\w+\[[\d,]*\](?:\{[\d,]*\})?", entry)
    generator = torch.Generator().manual_seed(7)
    executable = Executable(module, replicas)
    rows = []
    for device in executable.devices:
        rows.append([owned_buffer(make_argument(shape, generator), device) for shape in shapes])
    return [[numpy.asarray(value) for value in row] for row in executable.run(rows)]


def test_text_and_proto_run_alike(samples):
    for name, (text, proto, runs, replicas) in samples.items():
        if not runs:
            parse(text)
            continue
        from_text, from_proto = run(text, replicas), run(proto, replicas)
        assert len(from_text) == replicas, name
        for row, other in zip(from_text, from_proto, strict=True):
            assert row, name
            if name == "old_random":
                # XLA seeds this generator anew for each executable.
                assert [value.shape for value in row] == [value.shape for value in other]
                continue
            for value, again in zip(row, other, strict=True):
                assert value.dtype == again.dtype and value.tobytes() == again.tobytes(), name


def test_stablehlo_runs_alike(samples, stablehlo):
    for name, (text, _, runs, replicas) in samples.items():
        if not runs:
            with jax_mlir.make_ir_context():
                ir.Module.parse(stablehlo[name]).operation.verify()
            continue
        from_text, from_mlir = run(text, replicas), run(stablehlo[name], replicas, text)
        for row, other in zip(from_text, from_mlir, strict=True):
            assert len(row) == len(other), name
            for value, again in zip(row, other, strict=True):
                assert value.dtype == again.dtype and value.shape == again.shape, name
                # Random numbers are seeded anew for each executable; both dialects expand erf in their own way.
                if name == "old_random":
                    continue
                if value.tobytes() != again.tobytes():
                    numpy.testing.assert_allclose(value, again, rtol=1e-6, atol=1e-7, err_msg=name)


def test_stablehlo_says_which_output_lies_in_which_argument(samples, stablehlo):
    name = next(name for name, (text, *_) in samples.items() if "input_output_alias" in text)
    assert "tf.aliasing_output = " in stablehlo[name]


def test_literals_keep_their_bits(samples):
    """The constants that XLA gives back are those that the sample put in, to the bit."""
    text, proto, _, _ = samples["literals"]
    for module in (text, proto):
        (row,) = run(module, 1)
        by_type = {}
        for value in row:
            by_type.setdefault(value.dtype.name, []).append(value)
        reals = [0.1, -2.5, -0.0, numpy.inf, -numpy.inf, numpy.nan]
        for name in ("float16", "bfloat16", "float32", "float8_e5m2"):
            assert by_type[name][0].tobytes() == numpy.array(reals).astype(name).tobytes(), name
        finite = [0.1, -2.5, -0.0, 448, 1e-3, numpy.nan]
        for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz"):
            assert by_type[name][0].tobytes() == numpy.array(finite).astype(name).tobytes(), name
        assert by_type["float64"][1] == 5e-324
        assert by_type["float64"][0].ravel()[0] == 0.1
        assert numpy.signbit(by_type["float64"][0].ravel()[2])
        assert by_type["float32"][-1] == numpy.finfo(numpy.float32).max
        assert by_type["float32"][3].view(numpy.uint32).tolist() == [0x7FC00001, 0xFFC00000]
        assert by_type["int64"][1] == -(2**63)
        assert by_type["uint64"][1] == 2**64 - 1
        assert by_type["int8"][0].tolist() == [-128, -1, 0, 127]
        assert by_type["complex64"][0] == 1 - 2j
        assert numpy.signbit(by_type["complex128"][0].real) and numpy.isnan(by_type["complex128"][0].imag)
        assert [value.shape for value in by_type["float32"]][1:3] == [(2, 0), (0, 2)]


@pytest.mark.parametrize("form", ["training", "dynamo"])
def test_a_decode_step_as_stablehlo(fxpassc, tmp_path, form):
    """The same outputs and the same cache as from HLO text, which other tests compare with eager."""
    module, inputs = llama(), llama_step(0)
    program = capture(module, inputs, form, tmp_path / "captured")
    text, signature = fxpassc.compile(program.path)
    mlir, same_signature = fxpassc.compile(program.path, "stablehlo")
    assert same_signature == signature
    assert mlir.count("tf.aliasing_output") == len(signature["hlo_input_output_alias"]) > 0
    assert 'test_hlo_emitters.py"' in mlir or 'modeling_llama.py"' in mlir  # where operations come from
    state = {**program.constants, **state_of(module, inputs)}
    sessions = [Session(Executable(form_of_it), signature, program.values(state)) for form_of_it in (text, mlir)]
    results = [session.run() for session in sessions]
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)
    for key in program.names:
        assert torch.equal(sessions[0].get(key), sessions[1].get(key))

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds fxpassc (the environment variable FXPASSC, else the newest one under build/) and runs it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "python"))

import xla_runner  # noqa: E402, F401  (sets XLA's flags, which must happen before anything imports jax)

SUFFIX = {"hlo-text": ".hlo", "hlo-proto": ".pb", "stablehlo": ".mlir", "fx-text": ".fx", "fx-python": ".py", "fx-json": ".json"}
# Far more than any of the programs here needs: a compiler that does not come back is a failure, not a hang.
TIMEOUT_SECONDS = 120


def find_fxpassc():
    if "FXPASSC" in os.environ:
        return pathlib.Path(os.environ["FXPASSC"]).resolve()
    built = [path for path in (ROOT / "build").rglob("fxpassc") if path.is_file()]
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


class Fxpassc:
    def __init__(self, path, directory):
        self.path = path
        self.directory = directory

    def run(self, *arguments):
        command = [str(self.path), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)

    def compile(self, program, emit="hlo-text", *options):
        """Compile the file `program`; returns what was emitted (a proto as bytes) and the signature."""
        out = self.directory / ("compiled_" + pathlib.Path(program).stem + SUFFIX[emit])
        signature = out.with_suffix(".signature.json")
        result = self.run("compile", program, "-o", out, "--emit", emit, "--signature", signature, *options)
        assert result.returncode == 0, result.stderr
        emitted = out.read_bytes() if emit == "hlo-proto" else out.read_text()
        return emitted, json.loads(signature.read_text())


@pytest.fixture(scope="session")
def fxpassc_path():
    path = find_fxpassc()
    if path is None or not path.is_file():
        pytest.fail("no fxpassc: build it, or name it in the environment variable FXPASSC")
    return path


@pytest.fixture
def fxpassc(fxpassc_path, tmp_path):
    return Fxpassc(fxpassc_path, tmp_path)


@pytest.fixture(autouse=True)
def no_gradients():
    import torch

    torch._dynamo.reset()
    with torch.no_grad():
        yield

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A fixed selection of PyTorch's own samples: the first float32 sample of every entry of its operator database that exports,
and the first int64, bool and bfloat16 sample of those below.

`op_sample_refusals.json` holds what is refused, by dtype and entry, with the reason. It may only shrink: an entry that works is
to be taken out of it. `op_samples.py --refusals` writes it. No sample may be wrong.
"""

import fnmatch
import json
import pathlib

import pytest
from conftest import Fxpassc
from named_operators import COVERED_ELSEWHERE, NAMED
from op_samples import DTYPES, ENTRIES, judge_safely, samples_of

INTEGERS = """
    add sub mul div.no_rounding_mode div.floor_rounding div.trunc_rounding floor_divide remainder fmod pow neg abs sign maximum
    minimum clamp eq lt where sum mean prod cumsum cumprod max.reduction_with_dim argmax sort topk unique_consecutive
    gather scatter scatter_reduce.sum scatter_reduce.mean index_put index_add take bitwise_and bitwise_left_shift
    bitwise_right_shift gcd lcm floor round matmul arange linspace full_like cat nn.functional.one_hot isin searchsorted
""".split()
BOOLS = """
    add mul logical_and logical_not bitwise_xor eq where sum mean any all cumsum cat sort argmax masked_fill index_put flip
    logical_or max.binary float_power exp
""".split()
HALVES = """
    add mul div.no_rounding_mode pow exp log sigmoid tanh sum mean prod std var cumsum softmax log_softmax.with_dtype matmul
    addmm nn.functional.linear nn.functional.layer_norm nn.functional.conv2d nn.functional.avg_pool2d nn.functional.gelu
    nn.functional.silu nn.functional.scaled_dot_product_attention nn.functional.cross_entropy logsumexp norm clamp lerp addcmul
    nn.functional.interpolate.bilinear sort max.reduction_with_dim
""".split()
CHOSEN = {"float32": list(ENTRIES), "int64": INTEGERS, "bool": BOOLS, "bfloat16": HALVES}


def selection():
    """(entry, dtype) of every sample that is judged."""
    for dtype, entries in CHOSEN.items():
        for entry in entries:
            if entry in ENTRIES and DTYPES[dtype] in ENTRIES[entry].supported_dtypes("cpu"):
                yield entry, dtype


@pytest.fixture(scope="module")
def refusals():
    return json.loads(pathlib.Path(__file__).with_name("op_sample_refusals.json").read_text())


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("samples")


@pytest.mark.parametrize(("entry", "dtype"), selection())
def test_as_eager_or_refused(fxpassc_path, directory, refusals, entry, dtype):
    fxpassc = Fxpassc(fxpassc_path, directory)
    for _, sample in samples_of(entry, DTYPES[dtype], 1):
        outcome, reason, _ = judge_safely(fxpassc, entry, sample, directory / "source")
        assert outcome != "wrong", reason
        is_listed = entry in refusals.get(dtype, {})
        if outcome == "refused":
            assert is_listed, f"is refused: {reason}"
        elif outcome == "right":
            assert not is_listed, "works now: op_sample_refusals.json may be without it"


def test_what_is_named_has_samples_or_a_test():
    for name, patterns in NAMED.items():
        of_no_entry = [p for p in patterns.split() if not any(fnmatch.fnmatchcase(entry, p) for entry in ENTRIES)]
        assert not of_no_entry, f"{name}: {of_no_entry}"
    folder = pathlib.Path(__file__).parent
    for name, (file, word) in COVERED_ELSEWHERE.items():
        assert word in (folder / file).read_text(), f"{name}: {file} has no {word}"


def test_every_refusal_is_of_the_selection(refusals):
    chosen = set(selection())
    assert all((entry, dtype) in chosen for dtype, entries in refusals.items() for entry in entries)

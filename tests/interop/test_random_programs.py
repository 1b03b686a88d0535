# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of views, writes and reads: rewritten rightly, or refused for a reason that is stated here.

`random_programs.py` runs more of them.
"""

import copy
import itertools
import logging
import re
from collections import Counter

import pytest
import torch
from planted_faults import FAULTS, Emitted
from random_programs import (
    SOURCES,
    Compiled,
    NotCaptured,
    Outcome,
    Runner,
    captured_program,
    compiled,
    coverage,
    coverage_table,
    explained,
    judged_python,
    shrunk,
)
from random_statements import PAIRS, RARE_WRITES, READERS, VIEWS, WRITES, program

PROGRAMS = 300
BLOCK = 25
LOWERED = 20
SEEDS = range(PROGRAMS)


# What fxpassc may say of a program that eager PyTorch runs: a reason, and what such a program holds.
REFUSED = {
    "which its owner would see|may be the same tensor|in a list": r"\.t_\(|squeeze_\(|transpose_\(",
    "fills a diagonal that fxpass does not find": r"fill_diagonal_",
    "the shape of the result": r"out=",
    "which may share memory with the out= tensor": r"out=",
    "which may share memory with the tensor that it writes": r"masked_scatter_|put_\(|scatter_reduce_",
    # PyTorch warns where such a write is no fill, and writes one place several times.
    "several elements of which are one place": r"expand|broadcast|meshgrid|unfold|as_strided",
    "cannot tell which places that is": r"expand|broadcast|meshgrid",
    "takes bools for numbers or numbers for bools": r"\.view\(torch\.",
}
# What Dynamo or export cannot capture: values looked at, out=, metadata, and what eager warns of.
NOT_CAPTURED = {
    "data-dependent expression": r"\[.*\] = ",
    "out=": r"out=",
    "Unsupported function call": r"\.(t|squeeze|unsqueeze|transpose)_\(",
    "single memory location|fake tensor call": r"expand|broadcast|meshgrid|unfold|as_strided",
}
# What fxpass runs although eager PyTorch refuses it.
ACCEPTED = {
    # An index_put reads its value before it writes, and setitem casts the value.
    "refer to a single memory location|destination dtypes match": r"\[.*[bvx].*\] = [bvx]|index_put_",
}
REASONS = {"refused": REFUSED, "not captured": NOT_CAPTURED, "accepted": ACCEPTED}


class Corpus:
    """Programs as they were captured and rewritten, each once however many tests look at it."""

    def __init__(self, runner):
        self.runner = runner
        self.rewritten = {}

    def result(self, seed, source):
        """The program, how it was captured (or None), and what fxpassc made of it (or an Outcome)."""
        key = seed, source
        if key not in self.rewritten:
            grown = program(seed)
            try:
                captured = captured_program(grown, source, self.runner.directory / str(seed))
            except NotCaptured as error:
                outcome = Outcome("raises" if grown.raises else "not captured", str(error))
                self.rewritten[key] = grown, None, outcome
            else:
                self.rewritten[key] = grown, captured, compiled(self.runner.fxpassc, captured, "fx-python")
        return self.rewritten[key]


@pytest.fixture(autouse=True)
def quiet():
    """PyTorch logs each step of a capture; shown beside a failure that hides the program."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="session")
def corpus(fxpassc_path, tmp_path_factory):
    return Corpus(Runner(fxpassc_path, tmp_path_factory.mktemp("random_programs")))


def is_known(outcome, grown):
    statements = "\n".join(statement.text for statement in grown.statements)
    return any(
        re.search(reason, outcome.detail) and re.search(holds, statements)
        for reason, holds in REASONS.get(outcome.kind, {}).items()
    )


def check(outcome, grown, runner, source, emit="fx-python"):
    if outcome.kind not in ("equal", "raises") and not is_known(outcome, grown):
        pytest.fail(explained(runner, grown, source, outcome, emit), pytrace=False)


@pytest.mark.parametrize("first", range(0, PROGRAMS, BLOCK))
@pytest.mark.parametrize("source", SOURCES)
def test_rewritten(corpus, source, first):
    equal = 0
    for seed in range(first, first + BLOCK):
        grown, captured, result = corpus.result(seed, source)
        outcome = corpus.runner.judged(captured, result)
        check(outcome, grown, corpus.runner, source)
        equal += outcome.kind == "equal"
    assert equal >= BLOCK * 3 // 4


@pytest.mark.parametrize("source", SOURCES)
def test_lowered(corpus, source):
    """The programs that XLA runs too: the first that lower."""
    lowered = 0
    for seed in SEEDS:
        if lowered == LOWERED // len(SOURCES):
            break
        grown, captured, result = corpus.result(seed, source)
        if isinstance(result, Outcome) or grown.raises:
            continue
        outcome = corpus.runner.outcome_of(captured, "hlo-text")
        if outcome.kind == "refused" and "[missing-lowering]" in outcome.detail:
            continue
        check(outcome, grown, corpus.runner, source, "hlo-text")
        lowered += outcome.kind == "equal"
    assert lowered == LOWERED // len(SOURCES)


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_found(corpus, fault):
    for seed in SEEDS:
        for source in SOURCES:
            _, captured, result = corpus.result(seed, source)
            if isinstance(result, Outcome) or captured.outputs is None:
                continue
            emitted, signature = Emitted(result.emitted), copy.deepcopy(result.signature)
            if not FAULTS[fault](emitted, signature):
                continue
            if judged_python(captured, Compiled(emitted.code(), signature)).is_failure():
                return
    pytest.fail(f"none of {PROGRAMS} programs shows it")


def test_coverage(record_property):
    """Every view is read, every write is seen, by every kind of reader."""
    programs = [program(seed) for seed in SEEDS]
    reads = sum((grown.reads for grown in programs), Counter())
    writes = sum((grown.writes for grown in programs), Counter())
    table = coverage_table(reads, writes)
    print(table)
    record_property("coverage", table)
    views = {view for view, _, _ in reads}
    aliases = {*VIEWS} - {"copy"}  # which makes fresh tensors
    assert views >= {*aliases, "input", "buffer", "fresh", "result of a write"}
    assert {write for _, write in writes} >= {*WRITES, *RARE_WRITES}
    assert {write for _, write, _ in reads} >= set(WRITES)
    assert {reader for _, _, reader in reads} == set(READERS)
    # Some write cannot go through some view: `bitwise_and_` through the real parts of complex numbers.
    missing = [pair for pair in PAIRS if not writes[pair]]
    assert len(missing) <= len(PAIRS) // 40, missing
    pairs = coverage(reads, writes)
    assert all(pairs["view x reader"][view, "output"] for view in aliases)
    assert all(pairs["write x reader"][write, "output"] for write in WRITES)


def test_a_program_is_a_function_of_its_seed():
    for seed in range(20):
        grown, again = program(seed), program(seed)
        assert grown == again
        if grown.raises:
            continue
        expected, outputs = (p.module()(*p.inputs().values()) for p in (grown, again))
        assert all(map(torch.equal, outputs, expected))


def test_shrinking_leaves_what_shows_the_failure():
    """Here a program fails when a diagonal is written."""

    def fails(grown):
        diagonals = [name for s in grown.statements if "diagonal(" in s.text for name in s.defines]
        return any(
            re.match(rf"{name}\.add_|{name} [+]=", s.text) for name in diagonals for s in grown.statements
        )

    found = next(
        grown for grown in map(program, itertools.count()) if len(grown.statements) > 10 and fails(grown)
    )
    small = shrunk(found, fails)
    assert fails(small) and len(small.statements) == 2 and len(small.outputs) == 1
    assert len(small.sources) <= 2

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of views, writes and reads: rewritten rightly, or refused for a reason that `random_reasons.py` states.

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
    missing,
    shrunk,
)
from random_reasons import is_known
from random_statements import PAIRS, RARE_WRITES, READERS, VIEWS, WRITES, program

PROGRAMS = 300
BLOCK = 25
LOWERED = 20
SEEDS = range(PROGRAMS)


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
    assert equal >= BLOCK * 3 // 5


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
    # So few programs find no fit for each; as many as the module's comment tells of have them all.
    never = missing(reads, writes)
    assert len(never["view x write through it"]) <= len(PAIRS) // 15, never
    assert len(never["view x reader"]) + len(never["write x reader"]) <= (len(views) + len(WRITES)) // 2, never
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
    # What is added may be a view that only fits as it is.
    assert fails(small) and len(small.statements) <= 3 and len(small.outputs) == 1
    assert len(small.sources) <= 3

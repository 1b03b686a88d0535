# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs random programs through fxpassc, judges them by eager PyTorch, and shrinks what fails.

    python tests/interop/random_programs.py --first 0 --count 1000 --state build/random_programs.jsonl

Each program is captured by Dynamo and by torch.export, rewritten, and run as a device would run it: the
rewritten program writes no input, the outputs that io_map names are written back, and then outputs, inputs
and buffers are equal to eager's. A run that was stopped goes on where it was: what `--state` holds is not
done again.
"""

import argparse
import copy
import gc
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from conftest import find_fxpassc  # first of all: it makes fx_to_json known

from capture import capture_export, state_of  # isort: skip
from fx_to_json import dump  # isort: skip
from random_reasons import is_known
from random_statements import NAME, OPERATORS, PAIRS, READERS, UNREACHED, VIEWS, WRITES, program
from xla_runner import Executable, Session

SOURCES = ["dynamo", "training"]
# What eager PyTorch raises when it refuses a program; Dynamo and export raise their own around it.
REFUSED_BY_EAGER = (RuntimeError, IndexError, TypeError, ValueError)
REFUSALS = ("refused", "not captured", "accepted")  # outcomes that need a reason
TIMEOUT_SECONDS = 60


@dataclass
class Captured:
    """A program as a file, and what its own graph gives by eager PyTorch."""

    path: pathlib.Path
    names: dict  # of an input in the signature -> of the tensor in the state
    before: dict  # the state: every input, buffer and constant by name
    after: dict
    outputs: list | None = None  # None: eager refuses the program
    refusal: str = ""  # what it says then
    options: list = field(default_factory=list)  # of fxpassc: schemas that the file does not hold


@dataclass
class Compiled:
    emitted: str
    signature: dict


@dataclass
class Outcome:
    """`kind` is one of
    equal, refused, not captured  (of a program that eager PyTorch runs)
    raises, accepted              (of one that it refuses: so does fxpass or the rewritten program; or none)
    different, crash, hang        (these are failures)
    """

    kind: str
    detail: str = ""

    def is_failure(self):
        return self.kind in ("different", "crash", "hang")

    def reason(self):
        """What a refusal says, without the names in it, which differ from program to program."""
        return re.sub(r"'[^']*'", "'...'", self.detail)

    def resembles(self, other):
        return self.kind == other.kind and (self.is_failure() or self.reason() == other.reason())


def cloned(state):
    return {name: tensor.clone() for name, tensor in state.items()}


def first_line(error):
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:160]}"


# Capturing ----------------------------------------------------------------------------------------------
def captured_by_export(program, directory):
    module, inputs = program.module(), program.inputs()
    result = capture_export(copy.deepcopy(module), program.inputs(), "training", directory, ())
    before = {**result.constants, **cloned(state_of(module, inputs))}
    outputs, refusal = None, ""
    try:
        outputs = [output.clone() for output in module(*inputs.values())]
    except REFUSED_BY_EAGER as error:
        assert program.raises
        refusal = first_line(error)
    after = {**result.constants, **cloned(state_of(module, inputs))}
    called = re.findall(rf"ops\.{OPERATORS.namespace}\.(\w+)", program.source_code())
    options = OPERATORS.options(*called) if called else []
    return Captured(result.path, result.names, before, after, outputs, refusal, options)


def captured_by_dynamo(program, directory):
    """It is the graph that is judged: what need not be computed, Dynamo itself returns beside it."""
    module, inputs = program.module(), program.inputs()
    before = cloned(state_of(module, inputs))
    owners = {id(tensor): name for name, tensor in state_of(module, inputs).items()}
    path = directory / "dynamo.json"
    captured = []

    def backend(gm, example_inputs):
        def run(*arguments):
            outputs = gm.forward(*arguments)
            captured[0].outputs = [output.clone() for output in outputs]
            return outputs

        assert not captured, "more than one graph"
        placeholders = [node.name for node in gm.graph.nodes if node.op == "placeholder"]
        names = {name: owners[id(value)] for name, value in zip(placeholders, example_inputs, strict=True)}
        dump(gm, path, example_inputs)
        captured.append(Captured(path, names, before, {}))
        return run

    torch._dynamo.reset()
    try:
        outputs = torch.compile(module, backend=backend, fullgraph=True, dynamic=False)(*inputs.values())
    except REFUSED_BY_EAGER as error:
        if captured and program.raises:
            captured[0].refusal = first_line(error)
            return captured[0]
        raise
    if not captured:
        raise NotCaptured("Dynamo made no graph")
    captured[0].after = cloned(state_of(module, inputs))
    plain, plain_inputs = program.module(), program.inputs()
    expected = plain(*plain_inputs.values())
    agree = all(map(same, outputs, expected)) and len(outputs) == len(expected)
    agree = agree and all(
        same(captured[0].after[name], tensor) for name, tensor in state_of(plain, plain_inputs).items()
    )
    if not agree:
        raise NotCaptured("Dynamo's graph itself differs from the program")
    return captured[0]


def misstates_strides(program):
    """Whether a window is taken of memory that PyTorch's metadata describes otherwise than it is, as for some results of
    `index` and `batch_norm`: nobody who compiles the program can know what is in that window."""
    if not any("as_strided" in statement.text for statement in program.statements):
        return False
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    real = {source.name: source.tensor() for source in program.sources}
    stated = {name: mode.from_tensor(tensor) for name, tensor in real.items()}
    scopes = {"torch": torch, **real}, {"torch": torch, **stated}
    for statement in program.statements:
        exec(statement.text, scopes[0])
        with mode:
            exec(statement.text, scopes[1])
        if any(scopes[0][name].stride() != scopes[1][name].stride() for name in statement.defines):
            return True
    return False


class NotCaptured(Exception):
    pass


def captured_program(program, source, directory):
    """Raises NotCaptured where PyTorch itself cannot capture the program."""
    directory.mkdir(parents=True, exist_ok=True)
    try:
        return (captured_by_dynamo if source == "dynamo" else captured_by_export)(program, directory)
    except NotCaptured:
        raise
    except Exception as error:  # every kind there is comes out of Dynamo and export
        raise NotCaptured(first_line(error)) from error


# Compiling and judging ----------------------------------------------------------------------------------
def compiled(fxpassc, captured, emit):
    """A Compiled; or an Outcome where fxpassc refuses or fails."""
    out = captured.path.with_suffix({"fx-python": ".py", "hlo-text": ".hlo"}[emit])
    signature = captured.path.with_suffix(".signature.json")
    out.unlink(missing_ok=True)
    command = [fxpassc, "compile", captured.path, "-o", out, "--emit", emit, "--signature", signature] + captured.options
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Outcome("hang")
    if result.returncode == 0:
        return Compiled(out.read_text(), json.loads(signature.read_text()))
    if result.returncode == 1 and "error: " in result.stderr and not out.exists():
        return Outcome("refused", result.stderr.strip().splitlines()[0].split("error: ", 1)[1])
    return Outcome("crash", f"exit status {result.returncode}: {result.stderr[-500:]}")


def same(actual, expected):
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    # Bytes seen as floats may be NaN.
    return bool(((actual == expected) | ((actual != actual) & (expected != expected))).all())


def difference(what, actual, expected):
    return Outcome("different", f"{what}: got {actual}, eager has {expected}")


def judged(captured, signature, outputs, left, after):
    """`left`: the state that the program itself leaves; `after`: the state with outputs written back."""
    if captured.outputs is None:
        return Outcome("accepted", captured.refusal)
    for name, tensor in captured.before.items():
        if not same(left[name], tensor):
            return difference(f"the rewritten program itself wrote {name}", left[name], tensor)
    targets = list(signature["io_map"].values())
    if len(set(targets)) != len(targets):
        return Outcome(
            "different", f"two outputs are the new value of one input: io_map is {signature['io_map']}"
        )
    if len(outputs) != len(captured.outputs):
        return Outcome("different", f"{len(outputs)} outputs, eager has {len(captured.outputs)}")
    for i, (actual, expected) in enumerate(zip(outputs, captured.outputs)):
        if not same(actual, expected):
            return difference(f"output {i}", actual, expected)
    for name, tensor in captured.after.items():
        if not same(after[name], tensor):
            return difference(name, after[name], tensor)
    return Outcome("equal")


def judged_python(captured, result):
    names = [captured.names[Session.key(entry)] for entry in result.signature["inputs"]]
    state = cloned(captured.before)
    scope = {}
    try:
        exec(compile(result.emitted, "rewritten.py", "exec"), scope)
        values = [value.clone() for value in scope["forward"](*(state[name] for name in names))]
    except Exception as error:
        if captured.outputs is None:
            return Outcome("raises")
        return Outcome("different", f"the rewritten program raises {type(error).__name__}: {error}")
    if len(values) != len(result.signature["outputs"]):
        return Outcome(
            "different", f"{len(values)} outputs, the signature has {len(result.signature['outputs'])}"
        )
    written = {names[target]: values[int(output)] for output, target in result.signature["io_map"].items()}
    count = result.signature["original_output_count"]
    return judged(captured, result.signature, values[:count], state, {**state, **written})


def judged_xla(captured, result):
    if captured.outputs is None:
        return Outcome("raises")  # a module cannot raise where an index is out of range
    values = {key: captured.before[name] for key, name in captured.names.items()}
    try:
        session = Session(Executable(result.emitted), result.signature, values)
        outputs = session.run()
    except Exception as error:
        return Outcome("different", f"XLA refuses the module: {type(error).__name__}: {str(error)[:400]}")
    after = {**captured.before, **{name: session.get(key) for key, name in captured.names.items()}}
    # XLA cannot write its arguments but where the module says so, in which case the session writes back.
    return judged(captured, result.signature, outputs, captured.before, after)


JUDGES = {"fx-python": judged_python, "hlo-text": judged_xla}


class Runner:
    def __init__(self, fxpassc, directory):
        self.fxpassc = fxpassc
        self.directory = pathlib.Path(directory)

    def captured(self, program, source):
        return captured_program(program, source, self.directory)

    def outcome(self, program, source, emit="fx-python"):
        return self.outcomes(program, source, [emit])[emit]

    def outcomes(self, program, source, emits):
        """For each form in which fxpassc emits the program, what becomes of it."""
        try:
            captured = self.captured(program, source)
        except NotCaptured as error:
            outcome = Outcome("raises" if program.raises else "not captured", str(error))
            return dict.fromkeys(emits, outcome)
        outcomes = {emit: self.outcome_of(captured, emit) for emit in emits}
        if any(outcome.kind == "different" for outcome in outcomes.values()) and misstates_strides(program):
            return dict.fromkeys(emits, Outcome("not captured", "PyTorch's metadata has other strides than its tensors"))
        return outcomes

    def outcome_of(self, captured, emit="fx-python"):
        return self.judged(captured, compiled(self.fxpassc, captured, emit), emit)

    @staticmethod
    def judged(captured, result, emit="fx-python"):
        """`result`: what `compiled` returned."""
        if not isinstance(result, Outcome):
            return JUDGES[emit](captured, result)
        refused_by_both = result.kind == "refused" and captured.outputs is None
        return Outcome("raises") if refused_by_both else result


# Shrinking ----------------------------------------------------------------------------------------------
def runs(program):
    try:
        program.module()(*program.inputs().values())
    except REFUSED_BY_EAGER:
        return False
    return True


def without_unused_sources(program):
    used = set(program.outputs).union(*(statement.names() for statement in program.statements))
    return replace(program, sources=[source for source in program.sources if source.name in used])


def without_statement(program, index):
    """The program without a statement and without all that is made from what it defines."""
    gone = set(program.statements[index].defines)
    kept = program.statements[:index]
    for statement in program.statements[index + 1 :]:
        if statement.names() & gone:
            gone |= set(statement.defines)
        else:
            kept.append(statement)
    outputs = [name for name in program.outputs if name not in gone]
    return replace(program, statements=kept, outputs=outputs or [program.sources[0].name])


def with_operand_of(program, index):
    """The program without the view that a statement makes: what it views stands in its place."""
    statement = program.statements[index]
    if len(statement.defines) != 1:
        return []
    (name,) = statement.defines
    others = statement.names() - {name}

    def renamed(text, other):
        return NAME.sub(lambda match: other if match[0] == name else match[0], text)

    return [
        replace(
            program,
            statements=program.statements[:index]
            + [replace(s, text=renamed(s.text, other)) for s in program.statements[index + 1 :]],
            outputs=[renamed(output, other) for output in program.outputs],
        )
        for other in sorted(others)
    ]


def smaller(program):
    for index in reversed(range(len(program.statements))):
        yield without_statement(program, index)
    for index in range(len(program.outputs)):
        if len(program.outputs) > 1:
            yield replace(program, outputs=program.outputs[:index] + program.outputs[index + 1 :])
    for index in range(len(program.statements)):
        yield from with_operand_of(program, index)


def shrunk(program, fails):
    """The smallest program found for which `fails` still holds, by taking away one thing at a time."""
    program = without_unused_sources(program)
    progress = True
    while progress:
        progress = False
        for candidate in smaller(program):
            candidate = without_unused_sources(candidate)
            if candidate.sources and runs(candidate) and fails(candidate):
                program, progress = candidate, True
                break
    return program


def explained(runner, program, source, outcome, emit="fx-python"):
    """An outcome with the smallest program that shows it."""
    small = program
    if not program.raises:
        small = shrunk(program, lambda p: runner.outcome(p, source, emit).resembles(outcome))
    outcome = runner.outcome(small, source, emit)
    return f"{source}, {emit}: {outcome.kind}: {outcome.detail}\n{small.source_code()}"


# Coverage -----------------------------------------------------------------------------------------------
def coverage(reads, writes):
    """How often each pair of a view, a write and a reader was seen."""
    pairs = {"view x reader": Counter(), "write x reader": Counter(), "view x write": Counter()}
    for (view, write, reader), count in reads.items():
        pairs["view x reader"][view, reader] += count
        pairs["write x reader"][write, reader] += count
        pairs["view x write"][view, write] += count
    pairs["view x write through it"] = Counter(writes)
    return pairs


def coverage_table(reads, writes):
    lines = []
    for title, pairs in coverage(reads, writes).items():
        columns = sorted({column for _, column in pairs})
        rows = sorted({row for row, _ in pairs})
        lines.append(f"{title}: {len(pairs)} of {len(rows) * len(columns)} pairs, {pairs.total()} times")
        if len(columns) <= 16:
            lines.append(" " * 20 + " ".join(f"{column[:10]:>10}" for column in columns))
            lines += [f"{row:20}" + " ".join(f"{pairs[row, c]:10}" for c in columns) for row in rows]
    triples = [(*pair, reader) for pair in PAIRS for reader in READERS]
    seen = sum(triple in reads for triple in triples)
    lines.append(f"view x write x reader: {seen} of {len(triples)} triples")
    for title, never in missing(reads, writes).items():
        lines.append(f"{title}, never: {' '.join('/'.join(pair) for pair in never) or 'none'}")
    return "\n".join(lines)


def missing(reads, writes):
    """The pairs that were not seen, and of which `UNREACHED` does not say why."""
    pairs = coverage(reads, writes)
    views = [view for view in dict.fromkeys(VIEWS) if view != "copy"]
    wanted = {
        "view x write through it": PAIRS,
        "view x reader": itertools.product(views, READERS),
        "write x reader": itertools.product(dict.fromkeys(WRITES), READERS),
    }
    return {
        title: [pair for pair in those if not pairs[title][pair] and pair not in UNREACHED]
        for title, those in wanted.items()
    }


# Command line -------------------------------------------------------------------------------------------
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=300, help="how many seeds")
    parser.add_argument("--source", choices=SOURCES, action="append", help="default: both")
    parser.add_argument(
        "--emit", choices=list(JUDGES), action="append", help="default: fx-python; hlo-text is run by XLA"
    )
    parser.add_argument(
        "--lowered", type=int, default=10**9, help="how many graphs XLA runs, of those that are lowered"
    )
    parser.add_argument(
        "--state", type=pathlib.Path, help="results, one JSON object a line; done ones are kept"
    )
    parser.add_argument(
        "--shrink-refused", action="store_true", help="shrink the first program of each refusal"
    )
    parser.add_argument("--show", action="store_true", help="print the programs and do nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    seeds = range(arguments.first, arguments.first + arguments.count)
    with torch.no_grad(), tempfile.TemporaryDirectory() as directory:
        if arguments.show:
            for seed in seeds:
                print(program(seed).source_code())
            return 0
        gc.freeze()  # what PyTorch consists of is not looked through again and again
        return run_all(Runner(find_fxpassc(), directory), seeds, arguments)


def run_all(runner, seeds, arguments):
    done = {}
    if arguments.state and arguments.state.exists():
        lines = map(json.loads, arguments.state.read_text().splitlines())
        done = {(line["seed"], line["source"], line["emit"]): line for line in lines}
    tally = Tally()
    emits = arguments.emit or ["fx-python"]
    for seed in seeds:
        grown = program(seed)
        tally.add_program(grown)
        for source in arguments.source or SOURCES:
            wanted = [emit for emit in emits if emit != "hlo-text" or tally.lowered < arguments.lowered]
            left = [emit for emit in wanted if (seed, source, emit) not in done]
            outcomes = runner.outcomes(grown, source, left) if left else {}
            for emit, outcome in outcomes.items():
                line = {"seed": seed, "source": source, "emit": emit, "kind": outcome.kind, "detail": outcome.detail}
                shrinks = arguments.shrink_refused and tally.is_new(outcome)
                if outcome.is_failure() or (outcome.kind in REFUSALS and shrinks):
                    line["smallest"] = explained(runner, grown, source, outcome, emit)
                    print(line["smallest"], flush=True)
                done[seed, source, emit] = line
                if arguments.state:
                    with arguments.state.open("a") as file:
                        file.write(json.dumps(line) + "\n")
            for emit in wanted:
                line = done[seed, source, emit]
                tally.add(Outcome(line["kind"], line["detail"]), grown, source, emit)
    print(tally.report())
    return int(tally.failures > 0)


class Tally:
    """What became of programs, counted."""

    def __init__(self):
        self.reads, self.writes = Counter(), Counter()
        self.kinds, self.reasons, self.unexplained = Counter(), Counter(), Counter()
        self.failures = 0
        self.programs, self.lowered = 0, 0

    def add_program(self, grown):
        self.reads += grown.reads
        self.writes += grown.writes
        self.programs += 1

    def is_new(self, outcome):
        return not self.reasons[outcome.kind, outcome.reason()]

    def add(self, outcome, grown, source, emit):
        lowered = "[missing-lowering]" not in outcome.detail
        kind = outcome.kind if lowered else "not lowered"
        self.kinds[source, emit, kind] += 1
        self.lowered += emit == "hlo-text" and kind == "equal"
        self.failures += outcome.is_failure()
        if kind in REFUSALS:
            self.reasons[outcome.kind, outcome.reason()] += 1
            if not is_known(outcome, grown):
                self.failures += 1
                self.unexplained[grown.seed, source, emit, kind, outcome.detail] += 1

    def report(self):
        lines = [coverage_table(self.reads, self.writes), f"{self.programs} programs"]
        lines += [f"{n:6} {' '.join(key)}" for key, n in sorted(self.kinds.items())]
        lines += [f"{n:6} {kind}: {text}" for (kind, text), n in self.reasons.most_common()]
        lines += ["without a known reason:"] * bool(self.unexplained)
        lines += ["  " + " ".join(map(str, key)) for key in self.unexplained]
        return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own samples of its operators: exported, compiled, run in XLA and compared with eager.

The samples are those of PyTorch's operator database, and so are the tolerances: what PyTorch asks of a dtype, or of the
operator if the database knows it to be less exact. What counts is every sample that eager runs and torch.export exports.

    op_samples.py --state samples.jsonl --dtype float32 --samples 4
    op_samples.py --state samples.jsonl --dtype float32 --named

judges each sample once and appends a line for it to the state; run again, it goes on where it was stopped, and prints
what there is in the state; with --named, of the operators that named_operators.py names alone, and a figure for each.
"""

import argparse
import collections
import contextlib
import functools
import json
import operator
import pathlib
import random
import re
import signal
import sys
import tempfile
import warnings
import zipfile

import conftest
import numpy
import torch
import torch.utils._pytree as pytree
from capture import FORMS, Function, capture
from named_operators import NAMED, entries_of, named_entries
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.common_methods_invocations import op_db
from xla_runner import Executable, Session

SECONDS = 120  # for a sample: export, compilation and all
LISTED = 400  # of the samples that an entry has, so many are looked at

# Which of equal elements these name is open.
OPEN_TIES = {"argsort", "kthvalue", "median", "mode", "nanmedian", "sort", "topk"}
# The values of these are whatever was in memory.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
ENTRIES = {f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name: op for op in op_db}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int64": torch.int64, "bool": torch.bool}


class TooLong(Exception):
    pass


@contextlib.contextmanager
def time_limit(seconds):
    def stop(*_):
        raise TooLong(f"took more than {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def samples_of(entry, dtype, count):
    """(number, sample) of `count` samples, spread evenly over all that the entry has; the first is one of them."""
    for seed in (random.seed, numpy.random.seed, torch.manual_seed):
        seed(0)
    listed = []
    with warnings.catch_warnings(action="ignore"):
        for sample in ENTRIES[entry].sample_inputs("cpu", dtype, requires_grad=False):
            listed.append(sample)
            if len(listed) == LISTED:
                break
    if count == 1 or len(listed) <= 1:
        places = range(min(1, len(listed)))
    else:
        last = len(listed) - 1
        places = sorted({round(k * last / (count - 1)) for k in range(count)}) if last else [0]
    return [(place, listed[place]) for place in places]


def tolerance(entry, dtype):
    """(relative, absolute) tolerance: PyTorch's own for the dtype, or what the entry's tests on a CPU allow."""
    relative, absolute = torch.testing._comparison.default_tolerances(dtype)
    for decorator in ENTRIES[entry].decorators:
        if getattr(decorator, "device_type", None) not in (None, "cpu"):
            continue
        for each in getattr(decorator, "decorators", [decorator]):
            if isinstance(each, toleranceOverride) and dtype in each.d:
                absolute, relative = max(absolute, each.d[dtype].atol), max(relative, each.d[dtype].rtol)
    return relative, absolute


class Program(Function):
    """The operator on a sample: its tensors are inputs, all else is part of the program. Its results are those leaves
    that are tensors or numbers."""

    def __init__(self, entry, sample):
        leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        rest = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]

        def function(*tensors):
            given = list(rest)
            for place, tensor in zip(places, tensors, strict=True):
                given[place] = tensor
            first, arguments, keywords = pytree.tree_unflatten(given, spec)
            return tuple(pytree.tree_leaves(ENTRIES[entry].op(first, *arguments, **keywords)))

        super().__init__(function)
        self.inputs = {f"t{k}": leaves[place].detach() for k, place in enumerate(places)}


def operators(path):
    """The operators that the program in a .pt2 archive calls."""
    with zipfile.ZipFile(path) as archive:
        (model,) = (name for name in archive.namelist() if name.endswith("/models/model.json"))
        names = set(re.findall(r'"target": "torch\.ops\.(\w+\.\w+\.\w+)"', archive.read(model).decode()))
    return {operator.attrgetter(name)(torch.ops) for name in names}


def kind_of(path):
    """What no HLO could have of eager: random numbers, and sizes or numbers that depend on the data."""
    tags = {tag for called in operators(path) for tag in called.tags}
    if torch.Tag.nondeterministic_seeded in tags:
        return "random"
    if torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags:
        return "data-dependent"
    return ""


def reason_of(stderr):
    """The errors of a refusal, without what tells of the sample alone: places, and names of nodes."""
    errors = re.findall(r"error: (?:in [^:]*: )?(.*)", stderr)
    errors = [re.sub(r", called \d+ times?: [^\[]*", " ", error) for error in errors]
    return "; ".join(dict.fromkeys(errors)) or stderr.strip()[-300:]


def allowance(expected, wide, relative, absolute):
    """How far each element may be from what eager has in float64: as far as eager's own is, and as far as sums of the same
    terms in another order can be, if eager shows that it has such errors: an ulp or two of the largest element."""
    errors = (expected.double() - wide).abs()
    finite = wide[wide.isfinite()].abs()
    largest_error = errors[errors.isfinite()].max() if errors.isfinite().any() else errors.new_zeros(())
    ulp = torch.finfo(expected.dtype).eps * (finite.max() if finite.numel() else 0.0)
    return torch.maximum(errors, absolute + relative * wide.abs()).clamp(min=2 * min(largest_error, ulp))


def difference(entry, actual, expected, exact=None):
    """What is wrong with a result; nothing if it is eager's. Where eager itself is far from what it has in float64, which
    `exact` gives, a result that is no further away is right too."""
    if not isinstance(expected, torch.Tensor):
        return "" if actual == expected else f"{actual!r}, eager has {expected!r}"
    expected = expected.resolve_conj().resolve_neg()
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{list(actual.shape)}, eager has {expected.dtype}{list(expected.shape)}"
    if ENTRIES[entry].name in UNINITIALISED:
        return ""
    relative, absolute = tolerance(entry, expected.dtype)
    options = {"rtol": relative, "atol": absolute, "equal_nan": True, "check_stride": False}
    try:
        torch.testing.assert_close(actual, expected, **options)
    except AssertionError as error:
        wide = exact() if exact and expected.dtype.is_floating_point else None
        if wide is not None and wide.shape == expected.shape and wide.dtype == torch.float64:
            near = torch.isclose(actual.double(), expected.double(), relative, absolute, equal_nan=True)
            if bool((near | ((actual.double() - wide).abs() <= allowance(expected, wide, relative, absolute))).all()):
                return ""
        return " ".join(str(error).split())
    return ""


class InFloat64:
    """The results of a program, by number, and what its inputs are afterwards, by name, when its floats are float64:
    computed when they are first asked for."""

    def __init__(self, program):
        self.program = program
        self.found = None

    def __call__(self, key):
        if self.found is None:
            wide = {k: t.double() if t.is_floating_point() else t.clone() for k, t in self.program.inputs.items()}
            try:
                self.found = {**dict(enumerate(self.program(*wide.values()))), **wide}
            except Exception:
                self.found = {}
        result = self.found.get(key)
        return result if isinstance(result, torch.Tensor) else None


def name_equal_elements(x, ours, theirs):
    """Whether two tensors of indices along some dimension of `x` name the same values, and ours no place twice."""
    if not isinstance(x, torch.Tensor) or ours.dtype != torch.int64 or ours.shape != theirs.shape:
        return False
    for dim in range(x.dim()):
        a, b = (index if index.dim() == x.dim() else index.unsqueeze(dim) for index in (ours, theirs))
        fits = all(a.shape[d] == x.shape[d] for d in range(x.dim()) if d != dim)
        if not fits or a.numel() == 0 or a.min() < 0 or a.max() >= x.shape[dim]:
            continue
        is_distinct = bool(a.sort(dim).values.diff(dim=dim).ne(0).all())
        if is_distinct and torch.allclose(x.gather(dim, a).double(), x.gather(dim, b).double(), 0, 0, equal_nan=True):
            return True
    return False


def judge(fxpassc, entry, sample, directory, form):
    """(outcome, reason, kind). Outcomes: right, wrong, refused, no export, eager raises."""
    program = Program(entry, sample)
    after = {name: tensor.clone() for name, tensor in program.inputs.items()}
    try:
        torch.manual_seed(0)
        expected = program(*after.values())
    except TooLong:
        raise
    except Exception as error:
        return "eager raises", type(error).__name__, ""
    try:
        captured = capture(program, program.inputs, form, directory)
    except TooLong:
        raise
    except Exception as error:
        return "no export", f"{type(error).__name__}: {' '.join(str(error).split())[:120]}", ""
    kind = "" if form == "dynamo" else kind_of(captured.path)
    out, signature = directory / "out.hlo", directory / "signature.json"
    result = fxpassc.run("compile", captured.path, "-o", out, "--signature", signature)
    if result.returncode == 1:
        return "refused", reason_of(result.stderr), kind
    if result.returncode != 0:
        return "wrong", f"fxpassc ended with {result.returncode}: {result.stderr[-300:]}", kind
    try:
        values = captured.values(program.inputs)
        session = Session(Executable(out.read_text()), json.loads(signature.read_text()), values)
        results = session.run()
    except TooLong:
        raise
    except Exception as error:
        return "wrong", f"XLA: {type(error).__name__}: {' '.join(str(error).split())[:300]}", kind
    if len(results) != len(expected):
        return "wrong", f"{len(results)} results, eager has {len(expected)}", kind
    exact = InFloat64(program)
    wrong = [
        difference(entry, actual, wanted, functools.partial(exact, number))
        for number, (actual, wanted) in enumerate(zip(results, expected))
        if not (ENTRIES[entry].name in OPEN_TIES and name_equal_elements(sample.input, actual, wanted))
    ]
    owners = {key: name for key, name in captured.names.items() if name in after}
    wrong += [
        f"input {key}: {found}"
        for key, name in owners.items()
        if key in session.buffers[0]
        and (found := difference(entry, session.get(key), after[name], functools.partial(exact, name)))
    ]
    wrong = [text for text in wrong if text]
    return ("wrong", "; ".join(wrong)[:600], kind) if wrong else ("right", "", kind)


def judge_safely(fxpassc, entry, sample, directory, form="training"):
    try:
        with warnings.catch_warnings(action="ignore"), torch.no_grad(), time_limit(SECONDS):
            return judge(fxpassc, entry, sample, directory, form)
    except TooLong as error:
        return "wrong", str(error), ""


def read_state(path):
    """Outcomes by (entry, dtype, number): the last line counts."""
    state = {}
    if path.exists():
        for line in path.read_text().splitlines():
            row = json.loads(line)
            state[row["entry"], row["dtype"], row["sample"]] = row
    return state


def figure(rows):
    """How many of the samples that export are right, in words; nothing if none exports."""
    outcomes = collections.Counter(row["outcome"] for row in rows)
    exporting = sum(outcomes[outcome] for outcome in ("right", "wrong", "refused"))
    return f"of {exporting} that export {100 * outcomes['right'] / exporting:.1f} % are right" if exporting else ""


def named_figures(rows):
    """A line for each dtype, and one for each operator of it of which not all samples are right."""
    lines = []
    for dtype in DTYPES:
        of_dtype = [row for row in rows if row["dtype"] == dtype]
        if not figure(of_dtype):
            continue
        lines.append(f"{dtype}: {figure(of_dtype)}")
        for name in NAMED:
            entries = set(entries_of(name, ENTRIES))
            own = [row for row in of_dtype if row["entry"] in entries]
            if any(row["outcome"] in ("wrong", "refused") for row in own):
                lines.append(f"  {name}: {figure(own)}")
    return "\n".join(lines)


def summary(rows):
    outcomes = collections.Counter(row["outcome"] for row in rows)
    lines = [f"{len(rows)} samples: " + ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common())]
    lines.append(figure(rows))
    for outcome in ("wrong", "refused"):
        reasons = collections.defaultdict(list)
        for row in rows:
            if row["outcome"] == outcome:
                text = row["reason"] if outcome == "refused" else row["entry"]
                reasons[text, row["kind"]].append(row["entry"])
        lines.append(f"\n{outcome}:")
        for (reason, kind), entries in sorted(reasons.items(), key=lambda item: -len(item[1])):
            names = sorted(set(entries))
            shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
            lines.append(f"{len(entries):5} {reason[:160]}{f' [{kind}]' if kind else ''}: {shown}")
    return "\n".join(lines)


def write_refusals(rows):
    refused = {}
    for row in sorted(rows, key=lambda row: (row["dtype"], row["entry"])):
        if row["outcome"] == "refused":
            refused.setdefault(row["dtype"], {})[row["entry"]] = row["reason"]
    text = json.dumps(refused, indent=1) + "\n"
    pathlib.Path(__file__).with_name("op_sample_refusals.json").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=pathlib.Path, required=True, help="file of outcomes, a line for each sample")
    parser.add_argument("--refusals", action="store_true", help="judge what test_op_samples.py does, and write what it refuses")
    parser.add_argument("--operator", action="append", help="entry of the database, or all of that name; may be repeated")
    parser.add_argument("--named", action="store_true", help="only the operators that named_operators.py names")
    parser.add_argument("--form", choices=FORMS, default="training", help="what samples are captured as")
    parser.add_argument("--dtype", choices=DTYPES, action="append", help="float32 if none is given; may be repeated")
    parser.add_argument("--samples", type=int, default=4, help="of an entry")
    parser.add_argument("--again", action="append", default=[], help="outcomes that are judged again")
    parser.add_argument("--shard", default="0/1", help="K/N: the Kth of N parts of the entries")
    parser.add_argument("--summary", action="store_true", help="only print what there is in the state")
    arguments = parser.parse_args()

    state = read_state(arguments.state)
    part, parts = map(int, arguments.shard.split("/"))
    entries = [
        entry
        for entry in (named_entries(ENTRIES) if arguments.named else ENTRIES)
        if not arguments.operator or {entry, ENTRIES[entry].name} & set(arguments.operator)
    ][part::parts]
    dtypes = arguments.dtype or ["float32"]
    pairs = [(entry, dtype) for entry in entries for dtype in dtypes]
    if arguments.refusals:
        import test_op_samples  # which imports this module

        pairs, arguments.samples = list(test_op_samples.selection()), 1
    with tempfile.TemporaryDirectory() as name, arguments.state.open("a") as file:
        directory = pathlib.Path(name)
        fxpassc = conftest.Fxpassc(conftest.find_fxpassc(), directory)

        def note(**row):
            state[row["entry"], row["dtype"], row["sample"]] = row
            file.write(json.dumps(row) + "\n")
            file.flush()

        for entry, dtype in [] if arguments.summary else pairs:
            if DTYPES[dtype] not in ENTRIES[entry].supported_dtypes("cpu"):
                continue
            for number, sample in samples_of(entry, DTYPES[dtype], arguments.samples):
                done = state.get((entry, dtype, number))
                if done and done["outcome"] not in arguments.again:
                    continue
                # What ends this process is told by the next one.
                row = {"entry": entry, "dtype": dtype, "sample": number}
                note(**row, outcome="wrong", reason="ended the process that judged it", kind="")
                outcome, reason, kind = judge_safely(fxpassc, entry, sample, directory / "source", arguments.form)
                note(**row, outcome=outcome, reason=reason, kind=kind)
    chosen = [row for row in state.values() if (row["entry"], row["dtype"]) in set(pairs)]
    print(summary(chosen))
    if arguments.named:
        print(f"\n{named_figures(chosen)}")
    if arguments.refusals:
        write_refusals([row for row in chosen if row["sample"] == 0])
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every operator of PyTorch that writes into a tensor, by PyTorch's own list: carried out as eager PyTorch carries it out, or
refused for a reason that `refused_writes.py` states.

A call becomes a small program: the tensor is written, directly or through a view, and read afterwards, by itself, as another
view and as a whole. Programs are run in batches, as rewritten Python, bit for bit, and, where the operator is lowered, as HLO.
"""

import json
import re
import subprocess
import warnings
from operator import getitem

import pytest
import torch
from capture import close, emitted_function
from fx_to_json import dump
from refused_writes import NOT_SAMPLED, REFUSED
from torch.utils._pytree import tree_leaves, tree_map
from writing_operators import Sampler, copied, recorded_calls, same, writing_methods, writing_overloads
from xla_runner import Executable, Session

BATCH = 80


class Builder:
    """One graph of many programs."""

    def __init__(self):
        self.graph = torch.fx.Graph()
        self.inputs = []
        self.outputs = []
        self.owner = {}  # name of a node -> the program that it is of

    def node(self, function, *args, **kwargs):
        node = self.graph.call_function(function, args, kwargs)
        self.owner[node.name] = self.current
        return node

    def input(self, tensor):
        node = self.graph.placeholder(f"x{len(self.inputs)}")
        self.owner[node.name] = self.current
        self.inputs.append(tensor)
        return node

    def add(self, program):
        self.current = program
        call = program.call
        targets = {id(tensor) for tensor in call.written()}
        reads, nodes = [], {}

        def operand(leaf):
            if not isinstance(leaf, torch.Tensor):
                return leaf
            if id(leaf) in nodes:
                return nodes[id(leaf)]
            if id(leaf) not in targets or program.form != "view":
                node = self.input(leaf)
                written = node
            else:
                whole = self.input(torch.stack([leaf, leaf]))
                reads.append(self.node(torch.ops.aten.select.int, whole, 0, 1))
                reads.append(whole)
                node = written = self.node(torch.ops.aten.select.int, whole, 0, 1)
            if id(leaf) in targets:
                reads.append(written)
            nodes[id(leaf)] = node
            return node

        args, kwargs = tree_map(operand, (call.args, call.kwargs))
        if program.form == "method":
            node = self.graph.call_method(call.overload._schema.name.partition("::")[2], args, kwargs)
            self.owner[node.name] = program
        else:
            node = self.node(call.overload, *args, **kwargs)
        returned = call.overload._schema.returns
        if len(returned) == 1 and str(returned[0].type) == "Tensor":
            self.outputs.append((program, self.node(torch.ops.aten.clone.default, node)))
        elif len(returned) > 1 and all(str(r.type) == "Tensor" for r in returned):
            for k in range(len(returned)):
                self.outputs.append((program, self.node(torch.ops.aten.clone.default, self.node(getitem, node, k))))
        for read in reads:
            self.outputs.append((program, self.node(torch.ops.aten.clone.default, read)))

    def module(self):
        # Placeholders stand first.
        last, *others = [node for node in self.graph.nodes if node.op == "placeholder"]
        for node in others:
            last.append(node)
            last = node
        self.graph.output(tuple(node for _, node in self.outputs))
        return torch.fx.GraphModule(torch.nn.Module(), self.graph)


class Snapshots(torch.fx.Interpreter):
    """Runs a graph and notes what is known of each value when it is made."""

    def run_node(self, node):
        result = super().run_node(node)
        if node.op != "output":
            node.meta["val"] = tree_map(lambda v: v.detach() if isinstance(v, torch.Tensor) else v, result)
        return result


class Program:
    def __init__(self, name, call, form):
        self.name, self.call, self.form = name, call, form

    def __repr__(self):
        shapes = [f"{str(t.dtype)[6:]}{list(t.shape)}" for t in tree_leaves((self.call.args, self.call.kwargs)) if isinstance(t, torch.Tensor)]
        return f"{self.name} {self.form} {' '.join(shapes)}"


class Batch:
    """Programs in one graph, and what eager PyTorch makes of them."""

    def __init__(self, programs, directory):
        self.builder = Builder()
        for program in programs:
            self.builder.add(program)
        self.path = directory / "batch.json"
        module = self.builder.module()
        self.inputs = [copied(tensor) for tensor in self.builder.inputs]
        self.after = [copied(tensor) for tensor in self.builder.inputs]
        torch.manual_seed(0)
        self.expected = Snapshots(module).run(*self.after)
        dump(module, self.path, self.inputs)

    def compile(self, fxpassc_path, emit):
        """What is emitted and its signature, or the message and the program that it is about."""
        out = self.path.with_suffix({"fx-python": ".py", "hlo-text": ".hlo"}[emit])
        signature = self.path.with_suffix(".signature.json")
        command = [fxpassc_path, "compile", self.path, "-o", out, "--emit", emit, "--signature", signature]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if result.returncode == 0:
            return (out.read_text(), json.loads(signature.read_text())), None
        return None, result.stderr

    def wrong(self, outputs, after, equal):
        """The programs of which an output or an input is not as eager has it."""
        found = []
        for (program, _), actual, wanted in zip(self.builder.outputs, outputs, self.expected, strict=True):
            if not equal(actual, wanted):
                found.append(program)
        placeholders = [n for n in self.builder.graph.nodes if n.op == "placeholder"]
        for node, actual, wanted in zip(placeholders, after, self.after, strict=True):
            if not equal(actual, wanted):
                found.append(self.builder.owner[node.name])
        return list(dict.fromkeys(found))

    def run_python(self, emitted):
        code, signature = emitted
        forward = emitted_function(code)
        torch.manual_seed(0)
        results = list(forward(*(copied(tensor) for tensor in self.inputs)))
        after = list(self.inputs)
        for output, target in signature["io_map"].items():
            after[target] = results[int(output)]
        return self.wrong(results[: signature["original_output_count"]], after, same)

    def run_xla(self, emitted):
        code, signature = emitted
        names = [entry["name"] for entry in signature["inputs"]]
        session = Session(Executable(code), signature, dict(zip(names, self.inputs)))
        results = session.run()
        results = results if isinstance(results, list) else [results]
        return self.wrong(results, [session.get(name) for name in names], close)


NOT_EAGERS = "eager PyTorch refuses it"


def outcome(programs, fxpassc_path, directory, emit):
    """(program -> what is wrong with it) for those that are not right. Halves a batch until those are known."""
    try:
        batch = Batch(programs, directory)
    except Exception:
        if len(programs) == 1:
            return {programs[0]: NOT_EAGERS}
        return halves(programs, fxpassc_path, directory, emit)
    try:
        emitted, message = batch.compile(fxpassc_path, emit)
        if emitted is not None:
            wrong = batch.run_python(emitted) if emit == "fx-python" else batch.run_xla(emitted)
            return {program: "differs from eager" for program in wrong}
    except Exception as error:  # which of the programs it is, halving tells
        if len(programs) == 1:
            return {programs[0]: f"{type(error).__name__}: {error}"}
        message = str(error)
    if len(programs) == 1:
        return {programs[0]: message.strip()}
    return halves(programs, fxpassc_path, directory, emit)


def halves(programs, fxpassc_path, directory, emit):
    half = len(programs) // 2
    return {
        **outcome(programs[:half], fxpassc_path, directory, emit),
        **outcome(programs[half:], fxpassc_path, directory, emit),
    }


# The calls ------------------------------------------------------------------------------------------------------------------
class Calls:
    """Programs of all operators that write, by what is to be expected of them."""

    def __init__(self, fxpassc_path, directory):
        self.fxpassc_path, self.directory = fxpassc_path, directory
        sampler = Sampler(recorded_calls())
        self.overloads = writing_overloads()
        self.programs, self.samples = [], {}
        for name, overload in self.overloads.items():
            self.samples[name] = [] if name in NOT_SAMPLED else sampler.calls(overload)
            self.programs += [Program(name, call, form) for call in self.samples[name] for form in ("plain", "view")]
        self.refused = [p for p in self.programs if reason(p) is not None]
        self.carried_out = [p for p in self.programs if reason(p) is None]

    def outcome(self, programs, emit):
        found = {}
        for first in range(0, len(programs), BATCH):
            found.update(outcome(programs[first : first + BATCH], self.fxpassc_path, self.directory, emit))
        return {program: message for program, message in found.items() if message is not NOT_EAGERS}


def reason(program):
    """Why the program is to be refused, as `refused_writes.py` has it; None if it is to be carried out."""
    return REFUSED.get(f"{program.name} {program.form}", REFUSED.get(program.name))


@pytest.fixture(scope="module")
def calls(fxpassc_path, tmp_path_factory):
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # deprecations, and results that eager resizes
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # tensors this small take longer with more
        yield Calls(fxpassc_path, tmp_path_factory.mktemp("writes"))
        torch.set_num_threads(threads)


def listed(messages):
    return "\n".join(f"{program}: {message}" for program, message in messages.items())


def test_each_operator_that_writes_is_called(calls):
    assert len(calls.overloads) > 1300
    without = {name for name, samples in calls.samples.items() if not samples}
    # What leaves its out= tensor as it was gives the same twice, or does not.
    assert without <= set(NOT_SAMPLED) | set(REFUSED), sorted(without - set(NOT_SAMPLED) - set(REFUSED))
    assert set(NOT_SAMPLED) <= set(calls.overloads)
    bases = {name.rpartition(".")[0] for name in calls.overloads}
    names = {name for name in writing_methods() if f"aten.{name}" not in bases}
    assert names == {"apply_", "map2_", "map_", "share_memory_"}  # take Python functions, or are no operators


def test_carried_out_as_python(calls):
    wrong = calls.outcome(calls.carried_out, "fx-python")
    assert not wrong, listed(wrong)


def test_refused_for_a_reason_that_is_known(calls):
    unexpected = {}
    for program in calls.refused:
        message = outcome([program], calls.fxpassc_path, calls.directory, "fx-python").get(program)
        if message is NOT_EAGERS:
            continue
        if message is None:
            unexpected[program] = "is carried out by now: take it out of the table"
        elif not re.search(reason(program), message):
            unexpected[program] = message
    assert not unexpected, listed(unexpected)


def selected(programs):
    """Through a view: each overload that writes in place, and of the operators with `out=` one in four: these are lowered as
    the operator that computes the same."""
    in_place, out = {}, {}
    for program in programs:
        base = program.name.rpartition(".")[0]
        if program.form == "view":
            (in_place if base.endswith("_") else out).setdefault(program.name if base.endswith("_") else base, program)
    return [*in_place.values(), *list(out.values())[::4]]


def test_carried_out_by_xla(calls):
    listed_operators = subprocess.run([calls.fxpassc_path, "ops"], capture_output=True, text=True, check=True).stdout
    lowered_operators = set(listed_operators.split())
    wrong, lowered = {}, []
    for program in selected(calls.carried_out):
        try:
            _, message = Batch([program], calls.directory).compile(calls.fxpassc_path, "hlo-text")
        except Exception:  # eager refuses it as a view
            continue
        if message is None:
            lowered.append(program)
            continue
        missing = re.findall(r"no lowering for (\S+), called", message)
        # What is lowered for some calls only says so; whatever else there is to say is about the write.
        if not (missing and lowered_operators.isdisjoint(missing)) and "[unsupported]" not in message:
            wrong[program] = message
    assert len(lowered) > 300
    wrong.update(calls.outcome(lowered, "hlo-text"))
    assert not wrong, listed(wrong)


def test_methods(calls):
    programs = []
    for method in writing_methods():
        of_method = [p for p in calls.carried_out if p.name.startswith(f"aten.{method}.") and p.form == "plain"]
        programs += [Program(p.name, p.call, "method") for p in of_method[:1]]
    assert len(programs) > 100
    wrong = calls.outcome(programs, "fx-python")
    assert not wrong, listed(wrong)


# Tensors that change their shape ------------------------------------------------------------------------------------------
def transposed_copy(x):
    y = x.clone()
    before = y + 1
    y.t_()
    return before, y * 2, y


def unsqueezed_view(x):
    row = x[1]
    row.unsqueeze_(0)
    row.add_(1)
    return x * 1, row * 1


def result_of_a_write(x):
    y = x * 2
    same = y.add_(1)
    y.transpose_(0, 1)
    return same * 1, y * 1


def resized_to_fewer(x):
    y = x * 2
    flat = y.view(-1)
    y.resize_(2, 3)
    y.fill_(7)
    return flat * 1, y * 1


def set_to_an_input(x):
    y = x * 2
    y.set_(x)
    y.add_(1)
    return (y * 1,)


def several_times(x):
    y = (x * 2).unsqueeze(0)
    y.squeeze_()
    y.t_()
    y.swapaxes_(0, 1)
    y.unsqueeze_(1)
    y.select(0, 0).mul_(3)
    return y * 1, x * 1


def another_window(x):
    y = x.clone()
    whole = y.view(-1)
    y.as_strided_((2, 3), (3, 1), 2)
    y.zero_()
    return whole * 1, y * 1


def transposed_back(x):
    y = x.t()
    y.t_()
    y.mul_(3)
    return x * 1, y * 1


@pytest.mark.parametrize(
    "function",
    [
        transposed_copy,
        unsqueezed_view,
        result_of_a_write,
        resized_to_fewer,
        set_to_an_input,
        several_times,
        another_window,
        transposed_back,
    ],
    ids=lambda function: function.__name__,
)
def test_a_tensor_that_becomes_a_view_of_itself(fxpassc, tmp_path, function):
    gm = torch.fx.symbolic_trace(function)
    x = torch.arange(24.0).reshape(4, 6)
    dump(gm, tmp_path / "graph.json", [x.clone()])
    check_rewritten(fxpassc, tmp_path, function, x)


def check_rewritten(fxpassc, tmp_path, function, x):
    expected_x = x.clone()
    expected = function(expected_x)
    code, signature = fxpassc.compile(tmp_path / "graph.json", "fx-python")
    results = emitted_function(code)(x.clone())
    text, signature = fxpassc.compile(tmp_path / "graph.json")
    name = signature["inputs"][0]["name"]
    session = Session(Executable(text), signature, {name: x})
    outputs = session.run()
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    written = {target: results[int(output)] for output, target in signature["io_map"].items()}
    for k, wanted in enumerate(expected):
        assert same(results[k], wanted) and same(outputs[k], wanted), f"output {k}"
    assert same(written.get(0, x), expected_x) and same(session.get(name), expected_x)


def sliced_after_transposing(x):
    y = x.clone()
    y.t_()
    y[1:].add_(1)
    return x * 1, y[-1] * 1


def sliced_after_unsqueezing(x):
    y = x.clone()
    y.unsqueeze_(0)
    y[:, :, 1:].add_(1)
    return x * 1, y * 1


def part_and_whole(x):
    y = x.clone()
    part = y[:, 1:]
    part.t_()
    part[1:].mul_(2)
    y.t_()
    y[0].add_(1)
    return x * 1, y * 1, part * 1


def one_more_dimension_then_one_less(x):
    row = x[-1]
    row.unsqueeze_(0)
    row[0, -1].fill_(9)
    row.squeeze_(0)
    row[1:].mul_(2)
    return x * 1, row * 1


@pytest.mark.parametrize(
    "function",
    [
        transposed_copy,
        unsqueezed_view,
        several_times,
        set_to_an_input,
        sliced_after_transposing,
        sliced_after_unsqueezing,
        part_and_whole,
        one_more_dimension_then_one_less,
    ],
    ids=lambda function: function.__name__,
)
def test_dynamo_notes_what_a_tensor_is_in_the_end(fxpassc, tmp_path, function):
    """The same fake tensor stands for y before and after `y.t_()`."""

    def backend(gm, example_inputs):
        dump(gm, tmp_path / "graph.json", example_inputs)
        return gm.forward

    x = torch.arange(24.0).reshape(4, 6)
    torch.compile(function, backend=backend, fullgraph=True)(x.clone())
    check_rewritten(fxpassc, tmp_path, function, x)


# Windows into memory ------------------------------------------------------------------------------------------------------
def window_after_a_broadcast(x):
    x.copy_(x[0, 0].clone())
    return torch.as_strided(x, (3, 1), (4, 1), 14) * 1


def window_after_a_broadcast_to_one_of_two(x):
    _, whole = torch.broadcast_tensors(x + 1, x)
    whole.copy_(x[0, 0].clone())
    return torch.as_strided(x, (3, 1), (4, 1), 14) * 1


def window_after_a_transposed_copy(x):
    x.copy_((x + 1).t().reshape(4, 6).t().t())
    return x.as_strided((3,), (7,), 2) * 1


def bytes_after_a_broadcast(x):
    x.copy_(x[:, :1].clone())
    return x.view(torch.float64) * 1


def bytes_of_a_shape_after_a_broadcast(x):
    x.copy_(x[0, 0].clone())
    return x.reshape(8, 3).view(torch.bfloat16).view(torch.float32) * 1


@pytest.mark.parametrize(
    "function",
    [
        bytes_of_a_shape_after_a_broadcast,
        window_after_a_broadcast,
        window_after_a_broadcast_to_one_of_two,
        window_after_a_transposed_copy,
        bytes_after_a_broadcast,
    ],
    ids=lambda function: function.__name__,
)
def test_memory_is_that_of_the_tensor_written(fxpassc, tmp_path, function):
    """What is written into x may lie in memory otherwise, or be one element."""
    x = torch.arange(24.0).reshape(4, 6)
    dump(torch.fx.symbolic_trace(function), tmp_path / "graph.json", [x.clone()])
    check_rewritten(fxpassc, tmp_path, lambda x: (function(x),), x)


def window_of_negated_numbers(x):
    negated = torch.ops.aten._neg_view.default(x)
    negated.div_(2)
    return negated.as_strided((1,), (2,), 5) * 1


def test_a_window_that_cannot_be_made_anew(fxpassc, tmp_path):
    dump(torch.fx.symbolic_trace(window_of_negated_numbers), tmp_path / "graph.json", [torch.arange(6.0)])
    result = fxpassc.run("compile", tmp_path / "graph.json", "-o", tmp_path / "out.py")
    assert result.returncode == 1 and "cannot make that view anew" in result.stderr


def transposed_input(x):
    return x.t_() * 1


def perhaps_the_same(x):
    y = x * 2
    other = y.contiguous()
    y.t_()
    return other * 1


def one_of_a_list(x):
    parts = x.split(2)
    parts[0].t_()
    return torch.cat(parts)


def grown(x):
    y = x * 2
    return y.resize_(10, 10) * 0


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (transposed_input, "which its owner would see"),
        (perhaps_the_same, "which may be the same tensor as 'contiguous'"),
        (one_of_a_list, "a tensor that is in a list"),
        (grown, "what is no view of elements that are there"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_change_of_shape_that_is_refused(fxpassc, tmp_path, function, why):
    dumped = torch.fx.symbolic_trace(function)
    if function is one_of_a_list:  # eager has no such program: what is asked is only what fxpass says of it
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        parts = graph.call_method("split", (x, 2))
        graph.call_method("t_", (graph.call_function(getitem, (parts, 0)),))
        graph.output(x)
        dumped = torch.fx.GraphModule(torch.nn.Module(), graph)
    dump(dumped, tmp_path / "graph.json", [torch.arange(24.0).reshape(4, 6)])
    result = fxpassc.run("compile", tmp_path / "graph.json", "-o", tmp_path / "out.py")
    assert result.returncode == 1 and why in result.stderr, result.stderr


# Functions that write by an option ----------------------------------------------------------------------------------------
def and_then_add(function):
    def program(x):
        function(x).add_(1)
        return x * 1

    program.__name__ = function.__name__
    return program


def rrelu(x):
    return torch.nn.functional.rrelu(x, inplace=True)


def dropout(x):
    return torch.nn.functional.dropout(x, 0.5, False, True)


def dropout1d(x):
    return torch.nn.functional.dropout1d(x, 0.5, False, True)


def alpha_dropout(x):
    return torch.nn.functional.alpha_dropout(x, inplace=True)


@pytest.mark.parametrize(
    "function", map(and_then_add, [rrelu, dropout, dropout1d, alpha_dropout]), ids=lambda f: f.__name__
)
def test_inplace_as_an_option(fxpassc, tmp_path, function):
    x = torch.arange(24.0).reshape(2, 3, 4) - 5
    dump(torch.fx.symbolic_trace(function), tmp_path / "graph.json", [x.clone()])
    expected_x = x.clone()
    expected = function(expected_x)
    code, signature = fxpassc.compile(tmp_path / "graph.json", "fx-python")
    results = emitted_function(code)(x.clone())
    assert same(results[0], expected)
    assert {target: int(output) for output, target in signature["io_map"].items()} == {0: 1}
    assert same(results[1], expected_x)


def embedding(i, w):
    return torch.nn.functional.embedding(i, w, max_norm=1.0)


def embedding_bag(i, w):
    return torch.nn.functional.embedding_bag(i, w, max_norm=1.0)


def dropout1d_in_training(i, w):
    return torch.nn.functional.dropout1d(w, inplace=True)


@pytest.mark.parametrize("function", [embedding, embedding_bag, dropout1d_in_training], ids=lambda f: f.__name__)
def test_an_option_that_is_refused(fxpassc, tmp_path, function):
    inputs = [torch.tensor([[0, 1]]), torch.ones(4, 3)]
    dump(torch.fx.symbolic_trace(function), tmp_path / "graph.json", inputs)
    result = fxpassc.run("compile", tmp_path / "graph.json", "-o", tmp_path / "out.py")
    assert result.returncode == 1 and "[unsupported-mutation]" in result.stderr

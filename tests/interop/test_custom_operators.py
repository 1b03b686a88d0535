# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of torch.library that write their operands, in every form in which PyTorch captures them: as they were called,
with the schema in the file (FX JSON) or stated by --custom-op (training IR, printed graphs), and as PyTorch's own
functionalisation leaves them (auto_functionalized_v2). Outputs, inputs and buffers have to be those of eager, as Python and,
by the lowerings of examples/own_write.cpp, in XLA."""

import copy
import json
import subprocess

import pytest
import torch
import torch._inductor.config
from capture import Function, assert_close, capture, emitted_function, state_of
from conftest import TIMEOUT_SECONDS
from custom_operators import CustomOperators
from fx_to_json import dump
from torch._dynamo.backends.common import aot_autograd
from test_eager_cases import Mixed, check, numbers
from xla_runner import Executable, Session

FORMS = ["training", "decomposed", "dynamo"]
OPERATORS = CustomOperators("mylib")
define = OPERATORS.define


def axpy(x, y, *, alpha=1.0):
    x.add_(y, alpha=alpha)


def two(x, y, z):
    x.add_(z)
    if y is not None:
        y.mul_(2).sub_(z)
    return z.sum(), z * 2


def add_to_each(xs, y):
    for x in xs:
        x.add_(y)
    return -y


def into(y, *, out):
    out.copy_(y * y)


def scaled(x, by):
    return x.mul_(by)


def fill(x, value):
    x.fill_(value)


define("axpy(Tensor(a!) x, Tensor y, *, float alpha=1.0) -> ()", axpy)
define("two(Tensor(a!) x, Tensor(b!)? y, Tensor z) -> (Tensor, Tensor)", two, lambda x, y, z: (z.sum(), z * 2))
define("add_to_each(Tensor(a!)[] xs, Tensor y) -> Tensor", add_to_each, lambda xs, y: -y)
define("into(Tensor y, *, Tensor(a!) out) -> ()", into)
define("fill.value(Tensor(a!) x, float value) -> ()", fill)
define("scaled_(Tensor(a!) x, float by) -> Tensor(a!)", scaled, lambda x, by: x, [torch.Tag.inplace])
define("untagged_(Tensor(a!) x, float by) -> Tensor(a!)", scaled, lambda x, by: x)
define("with_list(Tensor(a!) x) -> Tensor[]", lambda x: [x.add_(1) * 2], lambda x: [x * 2])
define("itself_and_more(Tensor(a!) x) -> (Tensor(a!), Tensor)", lambda x: (x.add_(1), x * 2), lambda x: (x, x * 2))



@torch.library.custom_op("mylib::scale_rows", mutates_args={"x"})
def scale_rows(x: torch.Tensor, by: torch.Tensor) -> None:
    x.mul_(by.unsqueeze(-1))


OPERATORS.schemas.append(str(torch.ops.mylib.scale_rows.default._schema))
mylib = torch.ops.mylib


# Programs ----------------------------------------------------------------------------------------------------------------
def view_of_an_input(x, y):
    mylib.axpy(x[1], y, alpha=2.0)
    return x * 1


def by_keywords(x, y):
    mylib.axpy(y=y, x=x[:, :].t()[0:3, 2], alpha=0.5)
    return x


def an_intermediate(x, y):
    z = x + 1
    row = z[2]
    mylib.axpy(z[1:], y)
    mylib.axpy(row, x[0])
    return z, row * 2


def one_input_twice(x, y):
    flat = x.view(-1)
    mylib.axpy(x, y)
    mylib.axpy(x[0], y, alpha=-1.0)
    mylib.axpy(flat[2:5], y)
    return flat * 1


def behind_values_that_are_expanded(x, y):
    x[True] = 2.5
    mylib.axpy(x, y)
    x.t()[:] = 1.5
    mylib.axpy(x[1:].t()[0], y[:1])
    return x * 1


def negated_views(x, y):
    v = torch._neg_view(x)
    mylib.scaled_(v, 2.0)
    mylib.scaled_(v[1], 3.0)
    return v * 1, x * 1


def several_written(x, y):
    a, b = mylib.two(x[0], x[2], y)
    return a, b, x + b


def columns_beside_each_other(x, y):
    first, second, third = x.split(1, dim=1)
    a, b = mylib.two(first, third, second)
    return a, b


def none_written(x, y):
    a, b = mylib.two(x[0], None, y)
    return a + b


def only_results_read(x, y):
    z = x * 2
    _, b = mylib.two(z, None, x)
    return b


def a_list(x, y):
    minus = mylib.add_to_each([x[0], x[3], y * 1], y)
    return minus, x * 1


def a_list_of_pieces(x, y):
    minus = mylib.add_to_each(list(x.unbind(0)), y)
    return minus, x[1] * 2


def a_keyword_that_is_written(x, y):
    mylib.into(y, out=x[2])
    return x.sum()


def an_overload(x, y):
    mylib.fill.value(x[:, 1], 7.0)
    mylib.fill(x[0], 3.0)
    return x * y


def between_other_writes(x, y):
    x.add_(1)
    row = x[1]
    mylib.axpy(row, x[2])
    x[1] = row * 2
    row.mul_(3)
    mylib.axpy(x[0], row)
    x.t()[2].zero_()
    return row, x[0] * 1


def of_a_buffer(module, x, y):
    before = module.state.sum()
    mylib.axpy(module.state[1:3].t()[:, 0], y)
    mylib.axpy(module.state, x)
    module.steps.add_(1)
    return before + module.state.sum()


def whole_numbers(x, y):
    z = (x * 10).to(torch.int64)
    mylib.add_to_each([z[::2], z[1]], torch.ones(3, dtype=torch.int64))
    return z


def made_by_a_decorator(x, y):
    scale_rows(x[:3], y)
    return x.sum(0)


def what_it_returns(x, y):
    row = mylib.scaled_(x[1], 2.0)
    row.add_(y)
    again = mylib.scaled_(row, 0.5)
    return row * 1, again + x[0]


PROGRAMS = {
    function.__name__: function
    for function in [
        view_of_an_input,
        by_keywords,
        an_intermediate,
        one_input_twice,
        behind_values_that_are_expanded,
        negated_views,
        several_written,
        columns_beside_each_other,
        none_written,
        only_results_read,
        a_list,
        a_list_of_pieces,
        a_keyword_that_is_written,
        an_overload,
        between_other_writes,
        whole_numbers,
        made_by_a_decorator,
        what_it_returns,
    ]
}
PROGRAMS["of_a_buffer"] = Mixed(of_a_buffer, state=numbers(4, 3), steps=torch.zeros((), dtype=torch.int64))


# Those whose operators examples/own_write.cpp lowers.
LOWERED = [
    "view_of_an_input",
    "by_keywords",
    "an_intermediate",
    "one_input_twice",
    "a_list",
    "a_list_of_pieces",
    "between_other_writes",
    "of_a_buffer",
    "whole_numbers",
]


def case(name):
    function = PROGRAMS[name]
    module = function if isinstance(function, torch.nn.Module) else Function(function)
    inputs = {"x": numbers(4, 3, start=1), "y": torch.tensor([0.5, -1.0, 4.0])}
    return copy.deepcopy(module), inputs


def options_for(form, *names):
    return OPERATORS.options(*names) if form == "training" else []


def run_python(code, signature, captured, state):
    forward = emitted_function(code)
    owners = [captured.names[Session.key(entry)] for entry in signature["inputs"]]
    before = {owner: state[owner].clone() for owner in owners}
    arguments = [before[owner].clone() for owner in owners]
    outputs = forward(*arguments)
    for owner, argument in zip(owners, arguments, strict=True):
        assert torch.equal(argument, before[owner]), f"{owner} was written in place"
    after = dict(state)
    for output, target in signature["io_map"].items():
        after[owners[target]] = outputs[int(output)]
    return outputs[: signature["original_output_count"]], after


# PyTorch's own functionalisation takes what such an operator returns for a tensor of its own, and loses writes to it.
# It cannot be asked to take a negated view at all.
LOST_BY_DECOMPOSITION = [("what_it_returns", "decomposed"), ("negated_views", "decomposed")]


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name in PROGRAMS for form in FORMS if (name, form) not in LOST_BY_DECOMPOSITION]
)
def test_carried_out_as_python(fxpassc, tmp_path, name, form):
    module, inputs = case(name)
    captured = capture(module, inputs, form, tmp_path / "captured")
    state = {**captured.constants, **state_of(copy.deepcopy(module), inputs)}
    code, signature = fxpassc.compile(captured.path, "fx-python", "--verify-each", *options_for(form))
    results, after = run_python(code, signature, captured, state)
    check(results, after, module, inputs, form, "Python")


@pytest.mark.parametrize("name", ["view_of_an_input", "several_written", "a_list", "what_it_returns"])
def test_rewritten_graphs_read_back(fxpassc, tmp_path, name):
    """What was rewritten is FX JSON that holds the schemas, and a second time there is nothing to rewrite."""
    module, inputs = case(name)
    captured = capture(module, inputs, "dynamo", tmp_path / "captured")
    once, _ = fxpassc.compile(captured.path, "fx-json")
    (tmp_path / "once.json").write_text(once)
    twice, _ = fxpassc.compile(tmp_path / "once.json", "fx-json")
    once, twice = json.loads(once), json.loads(twice)
    assert twice["graph"] == once["graph"]
    for target, schema in twice["operators"].items():
        assert once["operators"][target] == schema and schema.startswith("mylib::")


@pytest.mark.parametrize("is_second_form", [False, True], ids=["auto_functionalized", "auto_functionalized_v2"])
@pytest.mark.parametrize("name", ["view_of_an_input", "several_written", "a_list", "none_written", "one_input_twice"])
def test_graphs_of_aot_autograd(fxpassc, fxpassc_path, tmp_path, name, is_second_form):
    """Both of PyTorch's own forms, as PyTorch runs them."""
    module, inputs = case(name)
    graphs = []

    def compiler(gm, example_inputs):
        dump(gm, tmp_path / "graph.json", example_inputs)
        graphs.append(gm)
        return gm.forward

    torch._dynamo.reset()
    with torch._inductor.config.patch(enable_auto_functionalized_v2=is_second_form):
        backend = aot_autograd(fw_compiler=compiler)
        torch.compile(module, backend=backend, fullgraph=True, dynamic=False)(*(t.clone() for t in inputs.values()))
    (gm,) = graphs
    calls = [str(node.target) for node in gm.graph.nodes if "auto_functionalized" in str(node.target)]
    assert calls and all(call.endswith("_v2") == is_second_form for call in calls)
    expected = gm(*(t.clone() for t in inputs.values()))
    code, _ = fxpassc.compile(tmp_path / "graph.json", "fx-python", "--verify-each")
    assert "auto_functionalized_v2" not in code
    forward = emitted_function(code)
    outputs = forward(*(t.clone() for t in inputs.values()))
    for k, (actual, wanted) in enumerate(zip(outputs, expected, strict=True)):
        assert_close(actual, wanted, f"output {k}")
    if name in LOWERED:
        session = compiled_by_own_write(fxpassc_path, tmp_path / "graph.json", tmp_path)(
            dict(zip([node.name for node in gm.graph.nodes if node.op == "placeholder"], inputs.values(), strict=True))
        )
        for k, (actual, wanted) in enumerate(zip(session.run(), expected, strict=True)):
            assert_close(actual, wanted, f"XLA: output {k}")


def own_write(fxpassc_path):
    """The program of examples/own_write.cpp, built beside fxpassc."""
    program = fxpassc_path.parent.parent / "example.own_write"
    assert program.is_file(), f"{program} is not built"
    return program


def compiled_by_own_write(fxpassc_path, path, directory):
    """What makes a session of values of the inputs."""
    hlo, signature = directory / "out.hlo", directory / "out.json"
    result = subprocess.run(
        [own_write(fxpassc_path), path, hlo, signature],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return lambda values: Session(Executable(hlo.read_text()), json.loads(signature.read_text()), values)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOWERED)
def test_lowered_by_lowerings_of_their_own(fxpassc_path, tmp_path, name, form):
    module, inputs = case(name)
    captured = capture(module, inputs, form, tmp_path / "captured")
    state = {**captured.constants, **state_of(copy.deepcopy(module), inputs)}
    session = compiled_by_own_write(fxpassc_path, captured.path, tmp_path)(captured.values(state))
    results = session.run()
    check(results, {owner: session.get(key) for key, owner in captured.names.items()}, module, inputs, form, "HLO")


def test_an_operator_without_lowering_is_named(fxpassc, tmp_path):
    module, inputs = case("several_written")
    captured = capture(module, inputs, "training", tmp_path / "captured")
    result = fxpassc.run("compile", captured.path, "-o", tmp_path / "out.hlo", *OPERATORS.options("two"))
    assert result.returncode == 1 and "no lowering for mylib.two.default, called 1 time" in result.stderr


@pytest.mark.parametrize("form", ["training", "functional"])
def test_symbolic_sizes(fxpassc, tmp_path, form):
    """Bound, they are numbers before anything else; until then PyTorch's own form stays, and a write through a view is refused."""
    module, inputs = case("an_intermediate")
    batch = torch.export.Dim("batch", min=3, max=16)
    program = torch.export.export(module, tuple(inputs.values()), dynamic_shapes=(({0: batch}, None),))
    if form == "functional":
        program = program.run_decompositions({})
    torch.export.save(program, tmp_path / "dynamic.pt2")
    placeholder = next(node for node in program.graph.nodes if node.name == program.graph_signature.user_inputs[0])
    symbol = placeholder.meta["val"].shape[0]
    options = options_for(form)
    result = fxpassc.run("compile", tmp_path / "dynamic.pt2", "-o", tmp_path / "out.py", *options)
    if form == "training":
        assert result.returncode == 1 and "whose place in it is not known" in result.stderr
    else:
        assert result.returncode == 0 and "auto_functionalized_v2(" in (tmp_path / "out.py").read_text()
    code, _ = fxpassc.compile(tmp_path / "dynamic.pt2", "fx-python", "--bind", f"{symbol}=4", *options)
    assert "auto_functionalized_v2" not in code
    outputs = emitted_function(code)(*(tensor.clone() for tensor in inputs.values()))
    for k, (actual, expected) in enumerate(zip(outputs, module(*inputs.values()), strict=True)):
        assert_close(actual, expected, f"output {k}")


# Schemas that are stated --------------------------------------------------------------------------------------------------
def printed(function, inputs, path):
    def backend(gm, _):
        path.write_text(gm.print_readable(print_output=False, include_stride=True, include_device=True))
        return gm.forward

    torch._dynamo.reset()
    torch.compile(function, backend=backend, fullgraph=True, dynamic=False)(*inputs.values())


@pytest.mark.parametrize("name", ["view_of_an_input", "several_written"])
def test_of_a_printed_graph(fxpassc, tmp_path, name):
    module, inputs = case(name)
    path = tmp_path / "graph.txt"
    printed(copy.deepcopy(module), {key: value.clone() for key, value in inputs.items()}, path)
    result = fxpassc.run("compile", path, "-o", tmp_path / "out.py")
    assert result.returncode == 1 and "--custom-op" in result.stderr
    code, signature = fxpassc.compile(path, "fx-python", *OPERATORS.options())
    forward = emitted_function(code)
    outputs = forward(*inputs.values())
    assert signature["io_map"]
    after = {list(inputs)[target]: outputs[int(output)] for output, target in signature["io_map"].items()}
    check(outputs[: signature["original_output_count"]], after, module, inputs, "dynamo", "printed")


def test_without_a_schema_training_ir_is_refused(fxpassc, tmp_path):
    module, inputs = case("several_written")
    captured = capture(module, inputs, "training", tmp_path / "captured")
    out = tmp_path / "out.py"
    for known in ([], OPERATORS.options("axpy")):
        result = fxpassc.run("compile", captured.path, "-o", out, *known)
        assert result.returncode == 1 and not out.exists()
        assert "mylib.two.default has no schema here" in result.stderr and "(--custom-op)" in result.stderr
    assert "warning: --custom-op: the program does not call mylib.axpy.default" in result.stderr
    result = fxpassc.run("compile", captured.path, "-o", out, *OPERATORS.options("two"))
    assert result.returncode == 0 and result.stderr == ""


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("axpy", "begins with the operator's name"),
        ("mylib::axpy", "parameters in brackets are missing"),
        ("my-lib::axpy(Tensor x) -> ()", "is no name of an operator"),
        ("mylib::axpy.a.b(Tensor x) -> ()", "is no name of an operator"),
        ("mylib::axpy(Tensor(a! x) -> ()", "a bracket or a quote is opened or closed alone"),
        ("mylib::axpy(Tensor) -> ()", "parameter 1 is not"),
        ("mylib::axpy(Tensor x, float) -> ()", "parameter 2 is not"),
        ("mylib::axpy(Tensor x, Tensor x) -> ()", "two parameters are called 'x'"),
        ("mylib::axpy(Tensor(!) x) -> ()", "the annotation of 'x' names no alias"),
        ("mylib::axpy(Tensor(a!) x)", "the results are missing"),
        ("mylib::axpy(Tensor(a!) x) ->", "the results are missing"),
        ("aten::add_(Tensor(a!) self) -> Tensor(a!)", "PyTorch's own operators are known"),
    ],
)
def test_a_text_that_is_no_schema(fxpassc, tmp_path, schema, why):
    result = fxpassc.run("compile", "no such file", "-o", tmp_path / "out.py", "--custom-op", schema)
    assert result.returncode == 2 and why in result.stderr and schema in result.stderr


def test_two_schemas_of_one_operator(fxpassc, tmp_path):
    module, inputs = case("view_of_an_input")
    captured = capture(module, inputs, "training", tmp_path / "captured")
    other = ["--custom-op", "mylib::axpy(Tensor x, Tensor y, *, float alpha=1.0) -> ()"]
    result = fxpassc.run("compile", captured.path, "-o", tmp_path / "out.py", *OPERATORS.options("axpy"), *other)
    assert result.returncode == 2 and "has another schema already" in result.stderr
    # The same in other words is the same.
    same = ["--custom-op", "mylib::axpy.default(Tensor(b!) x, Tensor y, *, float alpha=1.) -> ()"]
    fxpassc.compile(captured.path, "fx-python", *OPERATORS.options("axpy"), *same)


@pytest.mark.parametrize("form", ["training", "dynamo"])
@pytest.mark.parametrize(
    "schema",
    [
        "mylib::axpy(Tensor(a!) x, Tensor z, *, float alpha=1.0) -> ()",
        "mylib::axpy(Tensor(a!) x, Tensor y) -> ()",
        "mylib::axpy(Tensor(a!) x, Tensor y, Tensor z, *, float alpha=1.0) -> ()",
        "mylib::axpy(Tensor(a!) x, int y, *, float alpha=1.0) -> ()",
    ],
)
def test_a_schema_that_a_call_contradicts(fxpassc, tmp_path, schema, form):
    module, inputs = case("view_of_an_input")
    captured = capture(module, inputs, form, tmp_path / "captured")
    result = fxpassc.run("compile", captured.path, "-o", tmp_path / "out.py", "--custom-op", schema)
    assert result.returncode == 1 and "[invalid-option]" in result.stderr and "schema that was given" in result.stderr
    fxpassc.compile(captured.path, "fx-python", *OPERATORS.options("axpy"))


# What is refused, each beside a program that differs in the one thing ------------------------------------------------------
def reads_what_it_writes(x, y):
    mylib.into(x.view(-1)[1:4], out=x[0])
    return x


def reads_a_copy_of_it(x, y):
    mylib.into(x.view(-1)[1:4].clone(), out=x[0])
    return x


def writes_one_tensor_twice(x, y):
    mylib.two(x[0], x[0], y)
    return x


def writes_two_rows(x, y):
    mylib.two(x[0], x[1], y)
    return x


def returns_a_list(x, y):
    return mylib.with_list(x)[0]


def returns_itself_and_more(x, y):
    return mylib.itself_and_more(x)[1]


def returns_tensors(x, y):
    return mylib.two(x, None, x)[1]


def returns_two(x, y):
    return mylib.two(x, None, y)[1]


def returns_the_operand(x, y):
    return mylib.untagged_(x[0], 2.0) * 1


@pytest.mark.parametrize("form", ["training", "dynamo"])
@pytest.mark.parametrize(
    ("function", "why", "accepted"),
    [
        (reads_what_it_writes, "another of its operands may be part of the same tensor", reads_a_copy_of_it),
        (writes_one_tensor_twice, "another of its operands may be part of the same tensor", writes_two_rows),
        (returns_a_list, "returns something else than tensors", returns_two),
        (returns_itself_and_more, "one of several results is an operand", returns_two),
        (returns_tensors, "another of its operands may be part of the same tensor", returns_two),
    ],
)
def test_refused(fxpassc, tmp_path, function, why, accepted, form):
    _, inputs = case("view_of_an_input")
    captured = capture(Function(function), inputs, form, tmp_path / "captured")
    out = tmp_path / "out.py"
    result = fxpassc.run("compile", captured.path, "-o", out, *options_for(form))
    assert result.returncode == 1 and why in result.stderr and "[unsupported-mutation]" in result.stderr
    assert not out.exists()
    captured = capture(Function(accepted), inputs, form, tmp_path / "accepted")
    code, signature = fxpassc.compile(captured.path, "fx-python", *options_for(form))
    results, after = run_python(code, signature, captured, state_of(Function(accepted), inputs))
    check(results, after, Function(accepted), inputs, form, "Python")


@pytest.mark.parametrize("form", ["training", "dynamo"])
def test_an_operator_that_returns_its_operand(fxpassc, tmp_path, form):
    """The call is its operand. PyTorch's functional form takes such an operator only with a tag, which no file holds: without
    the tag the code is right and PyTorch refuses to run it, as it refuses to compile or decompose the program itself."""
    _, inputs = case("view_of_an_input")
    captured = capture(Function(returns_the_operand), inputs, form, tmp_path / "captured")
    code, signature = fxpassc.compile(captured.path, "fx-python", *options_for(form))
    assert list(signature["io_map"].values()) == [0]
    with pytest.raises(AssertionError, match="Cannot auto-functionalize op mylib.untagged_.default"):
        run_python(code, signature, captured, state_of(Function(returns_the_operand), inputs))
    with pytest.raises(RuntimeError, match="alias annotations"):
        torch.export.export(Function(returns_the_operand), tuple(inputs.values())).run_decompositions()

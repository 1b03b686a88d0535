# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad programs and bad files: a diagnostic with place and cause, exit status 1, and no output file at all."""

import json
import pathlib
import re
import zipfile

import pytest
import torch
from capture import Function, capture
from fx_to_json import dump

# `file: error: ...`, `file:line:col: error: ...` or `node (model.py:12): error: ...`
DIAGNOSTIC = re.compile(r"^(?P<place>.+?): error: (?P<cause>.+)$", re.M)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 3))

    def forward(self, x):
        self.cache[1:2].copy_(x)
        return self.cache + 1


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    directory = tmp_path_factory.mktemp("good")
    return capture(Model(), {"x": torch.ones(1, 3)}, "training", directory).path


@pytest.fixture
def refused(fxpassc, tmp_path):
    """Compiles a file that must be refused; returns the diagnostics as (place, cause)."""

    def compile(program, *options):
        out, signature = tmp_path / "result.hlo", tmp_path / "result.json"
        result = fxpassc.run("compile", program, "-o", out, "--signature", signature, *options)
        assert result.returncode == 1, (result.returncode, result.stderr)
        assert result.stdout == "" and not out.exists() and not signature.exists()
        found = [match.group("place", "cause") for match in DIAGNOSTIC.finditer(result.stderr)]
        assert found, result.stderr
        return found

    return compile


def members(archive):
    with zipfile.ZipFile(archive) as file:
        return {name: file.read(name) for name in file.namelist()}


def archive(path, contents):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, data in contents.items():
            file.writestr(name, data)
    return path


def model_json(contents):
    (name,) = [name for name in contents if name.endswith("models/model.json")]
    return name, json.loads(contents[name])


def with_model(path, good, change):
    contents = members(good)
    name, model = model_json(contents)
    change(model)
    contents[name] = json.dumps(model).encode()
    return archive(path, contents)


def test_the_repacked_archive_is_good(good, fxpassc, tmp_path):
    same = with_model(tmp_path / "same.pt2", good, lambda model: None)
    assert fxpassc.run("compile", same, "-o", tmp_path / "out.hlo").returncode == 0


@pytest.mark.parametrize("keep", [0, 1, 30, 100, 0.3, 0.6, 0.9, -1, -22, -30])
def test_truncated_archive(good, refused, tmp_path, keep):
    data = good.read_bytes()
    size = int(len(data) * keep) if isinstance(keep, float) else keep if keep >= 0 else len(data) + keep
    cut = tmp_path / "cut.pt2"
    cut.write_bytes(data[:size])
    (place, cause), *_ = refused(cut)
    assert "cut.pt2" in place and cause


def test_bytes_that_are_no_zip(refused, tmp_path):
    noise = tmp_path / "noise.pt2"
    noise.write_bytes(bytes(i * 131 % 256 for i in range(4096)))
    (place, _), *_ = refused(noise)
    assert "noise.pt2" in place


def test_missing_file(refused, tmp_path):
    (place, _), *_ = refused(tmp_path / "nowhere.pt2")
    assert "nowhere.pt2" in place


@pytest.mark.parametrize("major", [1, 7, 9, 80])
def test_other_schema_major(good, refused, tmp_path, major):
    program = with_model(tmp_path / "m.pt2", good, lambda model: model["schema_version"].update(major=major))
    (place, cause), *_ = refused(program)
    assert "m.pt2" in place and str(major) in cause and "8" in cause


@pytest.mark.parametrize("what", ["models/model.json", "data/weights/model_weights_config.json"])
def test_missing_archive_member(good, refused, tmp_path, what):
    contents = {name: data for name, data in members(good).items() if not name.endswith(what)}
    (place, cause), *_ = refused(archive(tmp_path / "m.pt2", contents))
    assert "m.pt2" in place and what.split("/")[-1] in cause


@pytest.mark.parametrize(
    "path",
    [
        ["schema_version"],
        ["graph_module"],
        ["graph_module", "graph"],
        ["graph_module", "signature"],
        ["graph_module", "graph", "nodes"],
        ["graph_module", "graph", "inputs"],
        ["graph_module", "graph", "outputs"],
        ["graph_module", "graph", "tensor_values"],
        ["graph_module", "signature", "input_specs"],
        ["graph_module", "signature", "output_specs"],
        ["graph_module", "graph", "nodes", 0, "target"],
        ["graph_module", "graph", "nodes", 0, "inputs"],
        ["graph_module", "graph", "tensor_values", "x", "dtype"],
        ["graph_module", "graph", "tensor_values", "x", "sizes"],
    ],
    ids=lambda path: ".".join(map(str, path)),
)
def test_missing_json_member(good, refused, tmp_path, path):
    def remove(model):
        for step in path[:-1]:
            model = model[step]
        del model[path[-1]]

    (place, cause), *_ = refused(with_model(tmp_path / "m.pt2", good, remove))
    assert "m.pt2" in place and path[-1] in cause


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["graph_module"], 3),
        (["graph_module", "graph", "nodes"], {}),
        (["graph_module", "graph", "nodes", 0], None),
        (["graph_module", "graph", "nodes", 0, "target"], 7),
        (["graph_module", "graph", "nodes", 0, "target"], ""),
        (["graph_module", "graph", "nodes", 0, "inputs", 0, "arg"], {"as_tensor": {"name": "nobody"}}),
        (["graph_module", "graph", "nodes", 0, "inputs", 0, "arg"], {"as_surprise": 1}),
        (["graph_module", "graph", "nodes", 0, "inputs", 0, "arg"], {}),
        (["graph_module", "graph", "nodes", 0, "inputs", 1, "arg"], {"as_int": 2**64}),
        (["graph_module", "graph", "outputs", 0], {"as_tensor": {"name": "nobody"}}),
        (["graph_module", "graph", "tensor_values", "x", "sizes", 0], {"as_int": -3}),
        (["graph_module", "graph", "tensor_values", "x", "sizes", 0], {"as_int": 2**62}),
        (["graph_module", "signature", "input_specs"], []),
        (["graph_module", "signature", "output_specs", 0], {"surprise_output": {}}),
    ],
)
def test_wrong_json_value(good, refused, tmp_path, path, value):
    def replace(model):
        for step in path[:-1]:
            model = model[step]
        model[path[-1]] = value

    # The file, or the node of it: those of this program are these.
    for place, _ in refused(with_model(tmp_path / "m.pt2", good, replace)):
        assert re.search(r"m\.pt2|\b(x|b_cache|slice_1|copy_|add|output)\b", place)


@pytest.fixture(scope="module")
def good_fx_json(tmp_path_factory):
    directory = tmp_path_factory.mktemp("good_fx_json")
    return capture(Model(), {"x": torch.ones(1, 3)}, "dynamo", directory).path


NODE = ["graph", "nodes", 2]  # the first that is no placeholder: cache[1:2]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], "fxpass.gx"),
        (["format"], None),
        (["version"], 2),
        (["version"], "1"),
        (["graph"], []),
        (["graph", "nodes"], []),
        (["graph", "nodes"], 7),
        ([*NODE, "op"], "call_nothing"),
        ([*NODE, "name"], "l_x_"),
        ([*NODE, "name"], ""),
        ([*NODE, "target"], None),
        ([*NODE, "args"], {}),
        ([*NODE, "args", 0], {"node": "nobody"}),
        ([*NODE, "args", 0], {"node": "add"}),
        ([*NODE, "args", 0], {"surprise": 1}),
        ([*NODE, "args", 0], {}),
        ([*NODE, "args", 0], {"node": "l_x_", "tuple": []}),
        ([*NODE, "args", 1], {"slice": [1, 2]}),
        ([*NODE, "args", 1], {"dict": [[1]]}),
        ([*NODE, "args", 1], {"dtype": "float31"}),
        ([*NODE, "args", 1], {"device": ""}),
        ([*NODE, "args", 1], {"layout": "round"}),
        ([*NODE, "args", 1], {"memory_format": "scattered"}),
        ([*NODE, "args", 1], {"float": "huge"}),
        ([*NODE, "args", 1], {"complex": [1]}),
        ([*NODE, "args", 1], {"subgraph": "nobody"}),
        ([*NODE, "args", 1], 2**63),
        ([*NODE, "kwargs"], []),
        ([*NODE, "value"], {"dtype": "float32"}),
        ([*NODE, "value", "dtype"], "float31"),
        ([*NODE, "value", "shape"], [1]),
        ([*NODE, "value", "shape", 0], -1),
        ([*NODE, "value", "shape", 0], 1.5),
        ([*NODE, "value", "device"], 0),
        (["graph", "nodes", 0, "input", "kind"], "guest"),
        (["graph", "nodes", 0, "input", "storage"], "one"),
        (["graph", "outputs"], []),
        (["graph", "outputs"], [{"kind": "surprise_output"}]),
        (["graph", "outputs"], [{"kind": "buffer_mutation"}]),
        (["graph", "outputs"], [{"kind": "buffer_mutation", "input": 9}]),
    ],
)
def test_wrong_fx_json(good_fx_json, refused, tmp_path, path, value):
    document = json.loads(good_fx_json.read_text())
    assert document["graph"]["nodes"][2]["op"] == "call_function"
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    program = tmp_path / "g.json"
    program.write_text(json.dumps(document))
    for where, _ in refused(program):
        assert re.search(r"g\.json|\b(l_x_|l_self_buffers_cache_|getitem|copy_|add|output)\b", where)


@pytest.mark.parametrize("member", ["format", "version", "graph"])
def test_fx_json_without_a_member(good_fx_json, refused, tmp_path, member):
    document = json.loads(good_fx_json.read_text())
    del document[member]
    program = tmp_path / "g.json"
    program.write_text(json.dumps(document))
    (place, _), *_ = refused(program)
    assert "g.json" in place


@pytest.mark.parametrize("member", ["op", "name", "target", "args", "kwargs"])
def test_fx_json_node_without_a_member(good_fx_json, refused, tmp_path, member):
    document = json.loads(good_fx_json.read_text())
    del document["graph"]["nodes"][2][member]
    program = tmp_path / "g.json"
    program.write_text(json.dumps(document))
    (_, cause), *_ = refused(program)
    assert member in cause


@pytest.mark.parametrize("cut", [0.2, 0.7, 0.99])
def test_truncated_json(good, refused, tmp_path, cut):
    contents = members(good)
    name, _ = model_json(contents)
    program = tmp_path / "model.json"
    program.write_bytes(contents[name][: int(len(contents[name]) * cut)])
    (place, _), *_ = refused(program)
    assert "model.json" in place


def test_json_that_nests_without_end(refused, tmp_path):
    program = tmp_path / "deep.json"
    deep = "[" * 100_000 + "]" * 100_000
    program.write_text('{"format": "fxpass.fx", "version": 1, "graph": ' + deep + "}")
    (place, _), *_ = refused(program)
    assert "deep.json" in place


@pytest.mark.parametrize("dtype", [0, 99, 1000000, -1])
def test_unknown_dtype(good, refused, tmp_path, dtype):
    def change(model):
        model["graph_module"]["graph"]["tensor_values"]["x"]["dtype"] = dtype

    (place, cause), *_ = refused(with_model(tmp_path / "m.pt2", good, change))
    assert "dtype" in cause and str(dtype) in cause


# Modules, not functions: the stack traces of an export are those of forward methods.
class WithoutLowering(torch.nn.Module):
    def forward(self, x):
        a = torch.linalg.matrix_exp(x)
        b = torch.special.bessel_j0(a)
        c = a + b
        return torch.linalg.svdvals(c)


@pytest.mark.parametrize("form", ["training", "dynamo"])
def test_operators_without_a_lowering_are_reported_all_at_once(refused, tmp_path, form):
    program = capture(WithoutLowering(), {"x": torch.eye(3)}, form, tmp_path / "source").path
    found = refused(program)
    text = "\n".join(f"{place}: {cause}" for place, cause in found)
    for name in ("matrix_exp", "bessel_j0", "svd"):
        assert name in text
    # Every one with the line of the program that asked for it.
    first = WithoutLowering.forward.__code__.co_firstlineno
    for offset in (1, 2, 4):
        assert f"test_bad_input.py:{first + offset}" in text


def symbolic(x):
    return x.view(-1, 3) + 1


@pytest.mark.parametrize("form", ["training", "dynamo"])
def test_symbolic_size(refused, fxpassc, tmp_path, form):
    x = torch.ones(8, 3)
    if form == "training":
        rows = torch.export.Dim("rows", min=2, max=64)
        program = tmp_path / "symbolic.pt2"
        exported = torch.export.export(Function(symbolic), (x,), dynamic_shapes=(({0: rows},),))
        torch.export.save(exported, program)
    else:
        program = tmp_path / "symbolic.json"

        def backend(gm, example_inputs):
            dump(gm, program, example_inputs)
            return gm.forward

        torch.compile(symbolic, backend=backend, fullgraph=True, dynamic=True)(x)
    found = refused(program)
    assert any("symbolic" in cause or "--bind" in cause or "dynamic" in cause for _, cause in found), found


class UnknownMutation(torch.nn.Module):
    operator = "polygamma_"

    def forward(self, x):
        x.polygamma_(1)
        return x + 1


class MetadataMutation(torch.nn.Module):
    operator = "t_"

    def forward(self, x):
        x.t_()
        return x + 1


@pytest.mark.parametrize(
    ("form", "module"),
    # Dynamo itself refuses to change the shape of an input.
    [("training", UnknownMutation), ("dynamo", UnknownMutation), ("training", MetadataMutation)],
)
def test_mutations_that_are_not_known(refused, tmp_path, form, module):
    program = capture(module(), {"x": torch.ones(2, 3)}, form, tmp_path / "source").path
    text = "\n".join(f"{place}: {cause}" for place, cause in refused(program))
    assert module.operator in text
    assert f"test_bad_input.py:{module.forward.__code__.co_firstlineno + 1}" in text


def view_of_everything(x):
    """A function that fxpass cannot know, whose result is a view."""
    return x.view(-1)


@pytest.mark.parametrize("use", ["written", "read after a write"])
def test_results_that_may_be_views(refused, tmp_path, use):
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    flat = graph.call_function(view_of_everything, (x,))
    graph.call_method("add_", (flat if use == "written" else x, 1))
    graph.output((graph.call_method("neg", (flat,)),))
    program = tmp_path / "g.json"
    dump(torch.fx.GraphModule(torch.nn.Module(), graph), program, [torch.ones(2, 3)])
    text = "\n".join(f"{place}: {cause}" for place, cause in refused(program, "--emit", "fx-python"))
    assert "view_of_everything" in text


# FX JSON has the schemas: test_custom_operators.py.
@pytest.mark.parametrize("name", ["write", "write_"])
def test_custom_operator_of_unknown_schema(refused, tmp_path, name):
    with torch.library._scoped_library("fxpass_bad", "FRAGMENT") as library:
        library.define(f"{name}(Tensor(a!) x) -> ()")

        def implementation(x):
            x.add_(1)

        library.impl(name, implementation, "CompositeExplicitAutograd")
        operator = getattr(torch.ops.fxpass_bad, name)

        def function(x):
            operator(x)
            return x * 2

        program = capture(Function(function), {"x": torch.ones(3)}, "training", tmp_path / "source").path
    (place, cause), *_ = refused(program)
    assert "fxpass_bad" in place + cause and "--custom-op" in cause


@pytest.mark.parametrize("emit", ["hlo-text", "hlo-proto", "fx-text", "fx-python"])
def test_no_output_for_any_emitter(fxpassc, tmp_path, emit):
    program = tmp_path / "empty.pt2"
    program.write_bytes(b"")
    out = tmp_path / "out"
    assert fxpassc.run("compile", program, "-o", out, "--emit", emit).returncode == 1
    assert not out.exists()


def test_an_output_that_cannot_be_written_leaves_no_signature(good, fxpassc, tmp_path):
    signature = tmp_path / "s.json"
    result = fxpassc.run("compile", good, "-o", tmp_path / "nowhere" / "out.hlo", "--signature", signature)
    assert result.returncode == 1 and not signature.exists() and "nowhere" in result.stderr


def test_an_old_output_survives_a_failure(good, fxpassc, tmp_path):
    out = tmp_path / "out.hlo"
    out.write_text("precious")
    bad = tmp_path / "bad.pt2"
    bad.write_bytes(good.read_bytes()[:1000])
    assert fxpassc.run("compile", bad, "-o", out).returncode == 1
    assert out.read_text() == "precious"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["compile"],
        ["compile", "PROGRAM"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--emit", "verilog"],
        ["compile", "PROGRAM", "-o", "OUT.unknown"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--surprise"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--world-size", "many"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--world-size", "-4"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--process-group", "tp"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--process-group", "tp=0,x"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--bind", "s0"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--bind", "=4"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--bind", "s0=-4"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--bind", "s0=4,"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--bind", "s0=4,5"],
        ["compile", "PROGRAM", "-o", "-", "--emit", "hlo-text", "--bind", "s0=4,5"],
        ["compile", "PROGRAM", "-o", "OUT.hlo", "--emit", "hlo-text", "--bind", "s0=4,5", "--signature", "SIGNATURE"],
        ["conjure"],
        ["passes", "extra"],
    ],
    ids=" ".join,
)
def test_usage(good, fxpassc, tmp_path, arguments):
    places = {"PROGRAM": good, "OUT.hlo": tmp_path / "out.hlo", "OUT.unknown": tmp_path / "out.unknown"}
    result = fxpassc.run(*(places.get(argument, argument) for argument in arguments))
    assert result.returncode == 2 and result.stderr
    assert not (tmp_path / "out.hlo").exists() and not (tmp_path / "out.unknown").exists()


@pytest.mark.parametrize("option", ["-o", "--signature"])
def test_the_program_is_not_overwritten(good, fxpassc, tmp_path, option):
    program = tmp_path / "program.pt2"
    program.write_bytes(pathlib.Path(good).read_bytes())
    (tmp_path / "link").symlink_to(program)
    out = [] if option == "-o" else ["-o", tmp_path / "out.hlo"]
    for name in (program, tmp_path / "link"):
        result = fxpassc.run("compile", program, *out, option, name, "--emit", "hlo-text")
        assert result.returncode == 2 and "would be overwritten" in result.stderr
    assert program.read_bytes() == pathlib.Path(good).read_bytes()

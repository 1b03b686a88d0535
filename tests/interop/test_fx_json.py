# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The writer of FX JSON: a checker of the rules of docs/fx-json.md, and what the writer must say."""

import json
import math

import pytest
import torch
from fx_to_json import UnsupportedArgument, dump, dumps, graph_module_to_json
from models import SetitemLayer, llama, llama_step, pixels, resnet

OPS = {"placeholder", "call_function", "call_method", "call_module", "get_attr", "output"}
KINDS = {"user_input", "parameter", "buffer", "tensor_constant"}
NON_FINITE = {"inf", "-inf", "nan"}
TENSOR = {"dtype", "shape", "stride", "offset", "device"}
NODE_REQUIRED = {"op", "name", "target", "args", "kwargs"}
NODE_OPTIONAL = {"value", "stack_trace", "input"}
SCALAR_FORMS = set("ellipsis float complex dtype device layout memory_format symint operator".split())


def check_file(document):
    assert document["format"] == "fxpass.fx" and document["version"] == 1
    assert set(document) <= {"format", "version", "graph", "operators", "producer"}
    for target, schema in document.get("operators", {}).items():
        assert target.startswith("torch.ops.") and "(" in schema and "->" in schema
    check_graph(document["graph"], document.get("operators", {}))


def check_graph(graph, operators):
    assert set(graph) <= {"nodes", "outputs", "subgraphs"}
    subgraphs = graph.get("subgraphs", {})
    for subgraph in subgraphs.values():
        check_graph(subgraph, operators)
    nodes = graph["nodes"]
    kinds = [node["op"] for node in nodes]
    assert kinds[-1] == "output" and kinds.count("output") == 1
    inputs = kinds.count("placeholder")
    assert all(kind == "placeholder" for kind in kinds[:inputs])
    known = set()
    for node in nodes:
        assert NODE_REQUIRED <= set(node) <= NODE_REQUIRED | NODE_OPTIONAL and node["op"] in OPS
        assert isinstance(node["target"], str) and node["target"]
        assert node["name"] not in known
        for argument in [*node["args"], *node["kwargs"].values()]:
            check_argument(argument, known, subgraphs)
        if "value" in node:
            check_value(node["value"])
        if node["op"] == "placeholder":
            assert set(node.get("input", {"kind": "user_input"})) <= {"kind", "storage"}
            assert node.get("input", {"kind": "user_input"})["kind"] in KINDS
        elif node["op"] == "call_function" and node["target"].startswith("torch.ops."):
            namespace = node["target"].split(".")[2]
            assert namespace in ("aten", "prims", "higher_order") or node["target"] in operators
        known.add(node["name"])


def check_integer(value):
    assert isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def check_argument(argument, known, subgraphs):
    if isinstance(argument, float):
        assert math.isfinite(argument)
    elif argument is None or isinstance(argument, (bool, str)):
        pass
    elif isinstance(argument, int):
        check_integer(argument)
    elif isinstance(argument, list):
        for item in argument:
            check_argument(item, known, subgraphs)
    else:
        ((form, content),) = argument.items()
        if form == "node":
            assert content in known
        elif form == "tuple":
            check_argument(content, known, subgraphs)
        elif form == "slice":
            assert len(content) == 3
            check_argument(content, known, subgraphs)
        elif form == "dict":
            for key, value in content:
                assert not isinstance(key, (list, dict)) or next(iter(key)) in SCALAR_FORMS
                check_argument(value, known, subgraphs)
        elif form == "subgraph":
            assert content in subgraphs
        elif form == "ellipsis":
            assert content is True
        elif form == "float":
            assert content in NON_FINITE
        elif form == "complex":
            assert len(content) == 2 and all(isinstance(x, (int, float)) or x in NON_FINITE for x in content)
        else:
            assert form in SCALAR_FORMS and isinstance(content, str) and not content.startswith("torch.d")


def check_value(value):
    if isinstance(value, list):
        for item in value:
            check_value(item)
    elif isinstance(value, dict) and "dtype" in value:
        assert set(value) == TENSOR and len(value["shape"]) == len(value["stride"])
        for size in [*value["shape"], *value["stride"], value["offset"]]:
            if not isinstance(size, str):
                check_integer(size)
    elif isinstance(value, dict):
        assert len(value) == 1 and set(value) <= {"symint", "symfloat", "symbool"}


def captured(function, *inputs, dynamic=False):
    """The Dynamo graph of `function` as a document that was written, read again and checked."""
    documents = []

    def backend(gm, example_inputs):
        documents.append(json.loads(dumps(graph_module_to_json(gm, example_inputs))))
        return gm.forward

    torch.compile(function, backend=backend, fullgraph=True, dynamic=dynamic)(*inputs)
    (document,) = documents
    check_file(document)
    return document


def by_hand(*calls, inputs=1):
    """A GraphModule of calls (target, args, kwargs); in the arguments, "%0" stands for placeholder 0."""
    graph = torch.fx.Graph()
    placeholders = [graph.placeholder(f"x{i}") for i in range(inputs)]

    def resolve(value):
        return torch.fx.node.map_aggregate(
            value,
            lambda leaf: placeholders[int(leaf[1:])] if isinstance(leaf, str) and leaf[:1] == "%" else leaf,
        )

    last = None
    for target, args, kwargs in calls:
        last = graph.call_function(target, resolve(args), resolve(kwargs))
    graph.output((last,))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def node(document, name):
    return next(node for node in document["graph"]["nodes"] if node["name"] == name)


@pytest.mark.parametrize("layer", ["index_copy", "setitem"])
def test_llama(layer):
    model = llama(layer=SetitemLayer) if layer == "setitem" else llama()
    document = captured(model, *llama_step(0).values())
    written = [entry["target"] for entry in document["graph"]["nodes"]]
    assert written.count("operator.setitem" if layer == "setitem" else "index_copy_") == 4
    assert "torch._C._nn.linear" in written and "torch.nn.functional.softmax" in written
    assert all("stack_trace" in entry for entry in document["graph"]["nodes"] if entry["op"] == "call_method")


@pytest.mark.parametrize("training", [False, True])
def test_resnet(training):
    document = captured(resnet(training), *pixels().values())
    norms = [
        entry for entry in document["graph"]["nodes"] if entry["target"] == "torch.nn.functional.batch_norm"
    ]
    assert len(norms) == 8 and norms[0]["args"][5:] == [training, 0.1, 1e-05]


def test_every_kind_of_argument():
    weird = {
        1: torch.float32,
        "key": torch.device("cpu"),
        False: torch.strided,
        None: torch.channels_last,
        2.5: slice(None, "%0", -1),
    }
    gm = by_hand(
        (torch.add, ((1, [2.0, None]), Ellipsis, 2j, weird), {"alpha": [float("-inf"), float("nan"), True]})
    )
    document = graph_module_to_json(gm)
    check_file(document)
    assert node(document, "add")["args"] == [
        {"tuple": [1, [2.0, None]]},
        {"ellipsis": True},
        {"complex": [0.0, 2.0]},
        {
            "dict": [
                [1, {"dtype": "float32"}],
                ["key", {"device": "cpu"}],
                [False, {"layout": "strided"}],
                [None, {"memory_format": "channels_last"}],
                [2.5, {"slice": [None, {"node": "x0"}, -1]}],
            ]
        },
    ]
    assert node(document, "add")["kwargs"] == {"alpha": [{"float": "-inf"}, {"float": "nan"}, True]}


def test_integers_and_floats_stay_apart_and_exact(tmp_path):
    gm = by_hand((torch.add, (2**63 - 1, -(2**63), 1.0, 1e300, -0.0, 0.1), {}))
    dump(gm, tmp_path / "graph.json")
    text = (tmp_path / "graph.json").read_text()
    assert '"args": [9223372036854775807, -9223372036854775808, 1.0, 1e+300, -0.0, 0.1]' in text
    check_file(json.loads(text))


@pytest.mark.parametrize("argument", [2**63, range(3), {(1, 2): 3}, torch.zeros(2)])
def test_what_has_no_form_is_refused_by_name(argument):
    with pytest.raises(UnsupportedArgument, match="node add "):
        graph_module_to_json(by_hand((torch.add, (argument,), {})))


def test_inputs_that_share_storage():
    base = torch.arange(12.0)
    document = captured(lambda a, b, c: a.add_(1) + b.sum() + c, base[:4], base[4:8], torch.ones(4))
    inputs = [entry["input"].get("storage") for entry in document["graph"]["nodes"][:3]]
    offsets = [entry["value"]["offset"] for entry in document["graph"]["nodes"][:3]]
    assert inputs == [0, 0, None] and offsets == [0, 4, 0]


def test_attributes_become_inputs_of_their_kind():
    class Attributes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.register_buffer("count", torch.zeros(3))
            self.register_buffer("row", self.count[1:])
            self.constant = torch.full((3,), 2.0)

        def forward(self, x):
            return self.count.add_(x * self.weight + self.constant + self.weight), self.row

    gm = torch.fx.symbolic_trace(Attributes())
    # Tracing keeps every tensor as a buffer; a constant is what is neither buffer nor parameter.
    constant = gm.constant
    del gm.constant
    gm.constant = constant
    document = graph_module_to_json(gm, [torch.ones(3)])
    check_file(document)
    placeholders = {
        entry["target"]: entry for entry in document["graph"]["nodes"] if entry["op"] == "placeholder"
    }
    assert next(iter(placeholders)) == "x"
    assert {target: entry["input"]["kind"] for target, entry in placeholders.items()} == {
        "x": "user_input",
        "count": "buffer",
        "weight": "parameter",
        "constant": "tensor_constant",
        "row": "buffer",
    }
    assert placeholders["count"]["input"]["storage"] == placeholders["row"]["input"]["storage"]
    assert placeholders["row"]["value"]["offset"] == 1
    # symbolic_trace records no metadata, so it was computed from the example inputs.
    assert all("value" in entry for entry in document["graph"]["nodes"] if entry["op"] == "call_function")


def test_higher_order_operators_hold_subgraphs():
    def function(x):
        return torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))

    document = captured(function, torch.ones(3))
    (call,) = [e for e in document["graph"]["nodes"] if e["target"] == "torch.ops.higher_order.cond"]
    assert [next(iter(argument)) for argument in call["args"][1:3]] == ["subgraph", "subgraph"]
    assert len(document["graph"]["subgraphs"]) == 2


def test_schemas_of_custom_operators():
    with torch.library._scoped_library("fxpass_test", "DEF") as library:
        library.define("scale_(Tensor(a!) x, float by) -> ()")
        gm = by_hand((torch.ops.fxpass_test.scale_.default, ("%0", 2.0), {}))
        document = graph_module_to_json(gm)
        packet = graph_module_to_json(by_hand((torch.ops.fxpass_test.scale_, ("%0", 2.0), {})))
    schema = "fxpass_test::scale_(Tensor(a!) x, float by) -> ()"
    assert document["operators"] == {"torch.ops.fxpass_test.scale_.default": schema}
    assert packet["operators"] == {"torch.ops.fxpass_test.scale_": schema}
    check_file(document)


def test_targets_are_spelled_as_torch_prints_them():
    def function(x):
        return torch.nn.functional.relu(x.T + 1).abs() @ torch.nn.functional.linear(x, x), math.trunc(2.5)

    document = captured(function, torch.ones(3, 3))
    assert [entry["target"] for entry in document["graph"]["nodes"] if entry["op"].startswith("call_")] == [
        "builtins.getattr",
        "operator.add",
        "torch.nn.functional.relu",
        "abs",
        "torch._C._nn.linear",
        "operator.matmul",
    ]


def test_symbolic_sizes():
    document = captured(lambda x: x.view(-1, 2) + x.shape[0], torch.ones(6, 2), dynamic=True)
    sizes = [entry["value"] for entry in document["graph"]["nodes"] if entry["op"] == "placeholder"]
    assert any("symint" in value for value in sizes)
    assert any(isinstance(size, str) for value in sizes if "shape" in value for size in value["shape"])


def test_setitem_has_no_value():
    def function(x):
        x[0] = 1.0
        return x.sum()

    document = captured(function, torch.zeros(4, 3))
    assert "value" not in node(document, "setitem") and node(document, "setitem")["args"][2] == 1.0

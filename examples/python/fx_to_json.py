# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write any torch.fx.GraphModule as FX JSON, which fxpassc reads. The format is described in docs/fx-json.md.

from fx_to_json import dump
dump(graph_module, "model.json", example_inputs)
"""

import builtins
import json
import math
import operator

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

FORMAT = "fxpass.fx"
VERSION = 1
BUILTIN = ("torch.ops.aten.", "torch.ops.prims.")
OPERATORS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)


class UnsupportedArgument(TypeError):
    """A node holds an object, or has a value, that FX JSON has no form for."""


def graph_module_to_json(gm, example_inputs=None):
    """`gm` as the Python form of FX JSON.

    `example_inputs`, one for each placeholder, say which inputs share storage; where a graph carries no
    metadata at all, they are also what its metadata is computed from. Raises UnsupportedArgument, naming the
    node.
    """
    calls = [node for node in gm.graph.nodes if node.op.startswith("call_")]
    if example_inputs is not None and not any(_has_metadata(node) for node in calls):
        # The module's own attributes are real tensors; they are taken for fake ones as they come.
        FakeTensorProp(gm, FakeTensorMode(allow_non_fake_inputs=True)).propagate(*example_inputs)
    elif any(_changes_shape(node) for node in calls):
        _note_shapes(gm)
    operators = {}
    return {
        "format": FORMAT,
        "version": VERSION,
        "producer": f"torch {torch.__version__}",
        "graph": _GraphWriter(gm, operators, example_inputs).graph(),
        "operators": operators,
    }


def dump(gm, path, example_inputs=None):
    """Write `gm` to the file `path` as FX JSON, one node a line."""
    text = dumps(graph_module_to_json(gm, example_inputs))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def dumps(document):
    """The text of what `graph_module_to_json` returned, one node a line."""
    head = {key: value for key, value in document.items() if key != "graph"}
    return _one_line(head)[:-1] + ',\n "graph": ' + _graph_text(document["graph"], " ") + "}\n"


def _one_line(value):
    return json.dumps(value, allow_nan=False)


def _graph_text(graph, indent):
    inner = indent + " "
    parts = ['"nodes": [\n' + ",\n".join(inner + _one_line(node) for node in graph["nodes"]) + "]"]
    if "outputs" in graph:
        parts.append('"outputs": ' + _one_line(graph["outputs"]))
    if "subgraphs" in graph:
        subgraphs = graph["subgraphs"].items()
        named = [f"{inner}{_one_line(name)}: {_graph_text(sub, inner)}" for name, sub in subgraphs]
        parts.append('"subgraphs": {\n' + ",\n".join(named) + "}")
    return "{" + f",\n{indent}".join(parts) + "}"


def _has_metadata(node):
    return "example_value" in node.meta or "val" in node.meta


# Operators after which a tensor has other sizes or strides.
_SHAPE_CHANGES = {
    "as_strided_",
    "resize_",
    "resize_as_",
    "set_",
    "set_data",
    "squeeze_",
    "swapaxes_",
    "swapdims_",
    "t_",
    "transpose_",
    "unsqueeze_",
}


def _changes_shape(node):
    target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return target.split(".")[0] in _SHAPE_CHANGES and "example_value" in node.meta


def _note_shapes(gm):
    """Has `val` say of each node what it is when it is made. Dynamo keeps one fake tensor for all that is one tensor, which in
    the end has the sizes and strides that the last change gave it."""
    inputs = [node.meta["example_value"] for node in gm.graph.nodes if node.op == "placeholder"]
    modes = [value.fake_mode for value in inputs if isinstance(value, FakeTensor)]
    mode = modes[0] if modes else FakeTensorMode()
    allowed, mode.allow_non_fake_inputs = mode.allow_non_fake_inputs, True
    try:
        FakeTensorProp(gm, mode).propagate_dont_convert_inputs(*inputs)
    finally:
        mode.allow_non_fake_inputs = allowed


def _attribute(root, path):
    for name in path.split("."):
        root = getattr(root, name)
    return root


class _GraphWriter:
    """Writes one graph. A tensor attribute of the root module becomes an input; a GraphModule becomes a
    subgraph."""

    def __init__(self, gm, operators, example_inputs=None, is_root=True):
        self.gm = gm
        self.operators = operators
        self.is_root = is_root
        self.node = None  # the node being written, for messages
        self.subgraphs = {}
        self.renamed = {}  # get_attr node -> the ARG that stands for it
        self.placeholders = []  # (JSON node, real tensor or None)
        self.example_inputs = example_inputs

    def graph(self):
        nodes = list(self.gm.graph.nodes)
        own = [node for node in nodes if node.op == "placeholder"]
        examples = self.example_inputs if self.example_inputs is not None else [None] * len(own)
        if len(examples) != len(own):
            raise ValueError(f"{len(examples)} example inputs for {len(own)} placeholders")
        for node, example in zip(own, examples, strict=True):
            written = self.written(node, example)
            written["input"] = {"kind": "user_input"}
            self.placeholders.append((written, example))
        lifted = {}
        for node in nodes:
            if node.op == "get_attr":
                self.lift(node, lifted)
        rest = [self.written(node) for node in nodes if node.op != "placeholder" and node not in self.renamed]
        self.mark_shared_storage()
        result = {"nodes": [written for written, _ in self.placeholders] + rest}
        if self.subgraphs:
            result["subgraphs"] = self.subgraphs
        return result

    def lift(self, node, lifted):
        self.node = node
        attribute = _attribute(self.gm, node.target)
        if isinstance(attribute, torch.fx.GraphModule):
            self.renamed[node] = {"subgraph": self.subgraph(node.target, attribute)}
        elif isinstance(attribute, torch.Tensor) and self.is_root:
            if node.target not in lifted:
                written = self.written(node, attribute)
                written["op"] = "placeholder"
                written["input"] = {"kind": self.kind(node.target, attribute)}
                self.placeholders.append((written, attribute))
                lifted[node.target] = node.name
            self.renamed[node] = {"node": lifted[node.target]}

    def kind(self, path, tensor):
        if isinstance(tensor, torch.nn.Parameter):
            return "parameter"
        return "buffer" if path in dict(self.gm.named_buffers(remove_duplicate=False)) else "tensor_constant"

    def subgraph(self, name, module):
        if name not in self.subgraphs:
            self.subgraphs[name] = _GraphWriter(module, self.operators, is_root=False).graph()
        return name

    def mark_shared_storage(self):
        storages = {}
        for written, tensor in self.placeholders:
            if isinstance(tensor, torch.Tensor) and tensor.numel() > 0:
                # The address of the storage object, not of its data: two fake tensors have no data.
                storages.setdefault(tensor.untyped_storage()._cdata, []).append((written, tensor))
        shared = [members for members in storages.values() if len(members) > 1]
        for number, members in enumerate(shared):
            for written, tensor in members:
                written["input"]["storage"] = number
                # Dynamo may trace an input that is a view as a tensor of its own, at offset 0.
                written["value"]["offset"] = self.size(tensor.storage_offset())

    def written(self, node, example=None):
        self.node = node
        result = {
            "op": node.op,
            "name": node.name,
            "target": self.target(node),
            "args": [self.argument(arg) for arg in node.args],
            "kwargs": {name: self.argument(arg) for name, arg in node.kwargs.items()},
        }
        if node.op == "output":
            return result
        if _has_metadata(node):
            key = "val" if "val" in node.meta else "example_value"
            result["value"] = self.value(node.meta[key])
        elif example is not None:
            result["value"] = self.value(example)
        if node.stack_trace:
            result["stack_trace"] = node.stack_trace
        return result

    def target(self, node):
        if node.op == "call_module":
            module = _attribute(self.gm, node.target)
            if isinstance(module, torch.fx.GraphModule):
                self.subgraph(node.target, module)
        if node.op != "call_function":
            return node.target
        return self.function(node.target)

    def function(self, target):
        if isinstance(target, torch._ops.OpOverload):
            name = f"torch.ops.{target}"
            self.declare(name, target)
        elif isinstance(target, torch._ops.OpOverloadPacket):
            name = f"torch.ops.{target}"
            overloads = target.overloads()
            if overloads == ["default"]:
                self.declare(name, target.default)
            elif not name.startswith(BUILTIN):
                overload = overloads[0] if len(overloads) == 1 else self.resolved(target) if target is self.node.target else None
                if overload is not None:
                    return self.function(getattr(target, overload))
        elif isinstance(target, torch._ops.HigherOrderOperator):
            name = f"torch.ops.higher_order.{target.name()}"
        elif getattr(operator, target.__name__, None) is target:
            name = f"operator.{target.__name__}"
        elif getattr(builtins, target.__name__, None) is target:
            name = f"builtins.{target.__name__}"
        else:
            # A torch function's own __module__ is often None or internal; torch knows the public spelling.
            name = torch.fx.node._get_qualified_name(target)
        return name

    def resolved(self, packet):
        """The overload that the current node's call of `packet` means, by the values that are known; else None."""

        def value(node):
            return node.meta.get("example_value", node.meta.get("val"))

        args, kwargs = torch.fx.node.map_arg((self.node.args, self.node.kwargs), value)
        try:
            return torch._C._jit_resolve_packet(packet._qualified_op_name, *args, **kwargs)
        except RuntimeError:  # a value that is not known
            return None

    def declare(self, name, overload):
        if not name.startswith(BUILTIN):
            self.operators[name] = str(overload._schema)

    def unsupported(self, what):
        return UnsupportedArgument(f"node {self.node.name} ({self.node.op} {self.node.target}): {what}")

    def number(self, value):
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise self.unsupported(f"the integer {value} does not fit 64 bits")
            return value
        return value if math.isfinite(value) else _non_finite(value)

    def argument(self, arg):
        """ARG of docs/fx-json.md."""
        if arg is None or isinstance(arg, (bool, str)):
            return arg
        if isinstance(arg, torch.fx.Node):
            return self.renamed.get(arg, {"node": arg.name})
        if isinstance(arg, int):
            return self.number(arg)
        if isinstance(arg, float):
            return arg if math.isfinite(arg) else {"float": _non_finite(arg)}
        if isinstance(arg, complex):
            return {"complex": [self.number(arg.real), self.number(arg.imag)]}
        if isinstance(arg, tuple):
            return {"tuple": [self.argument(item) for item in arg]}
        if isinstance(arg, list):
            return [self.argument(item) for item in arg]
        if isinstance(arg, dict):
            return {"dict": [[self.key(key), self.argument(item)] for key, item in arg.items()]}
        if isinstance(arg, slice):
            return {"slice": [self.argument(bound) for bound in (arg.start, arg.stop, arg.step)]}
        if arg is Ellipsis:
            return {"ellipsis": True}
        if isinstance(arg, torch.dtype):
            return {"dtype": _short(arg)}
        if isinstance(arg, torch.device):
            return {"device": str(arg)}
        if isinstance(arg, torch.layout):
            return {"layout": _short(arg)}
        if isinstance(arg, torch.memory_format):
            return {"memory_format": _short(arg)}
        if isinstance(arg, torch.SymInt):
            size = self.size(arg)
            return size if isinstance(size, int) else {"symint": size}
        if isinstance(arg, OPERATORS):
            return {"operator": self.function(arg)}
        raise self.unsupported(f"an argument of type {type(arg).__name__}")

    def key(self, key):
        if isinstance(key, (torch.fx.Node, tuple, list, dict, slice)):
            raise self.unsupported(f"a dict key of type {type(key).__name__}")
        return self.argument(key)

    def size(self, size):
        if isinstance(size, torch.SymInt):
            known = size.node.maybe_as_int()
            return str(size) if known is None else known
        return size

    def value(self, value):
        """VALUE of docs/fx-json.md."""
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided:
                raise self.unsupported(f"a tensor of layout {_short(value.layout)}")
            return {
                "dtype": _short(value.dtype),
                "shape": [self.size(size) for size in value.shape],
                "stride": [self.size(stride) for stride in value.stride()],
                "offset": self.size(value.storage_offset()),
                "device": str(value.device),
            }
        if isinstance(value, (tuple, list)):
            return [self.value(item) for item in value]
        if isinstance(value, torch.SymInt):
            size = self.size(value)
            return size if isinstance(size, int) else {"symint": size}
        if isinstance(value, torch.SymFloat):
            return {"symfloat": str(value)}
        if isinstance(value, torch.SymBool):
            return {"symbool": str(value)}
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, float)):
            return self.number(value)
        return None


def _short(torch_object):
    return str(torch_object).removeprefix("torch.")


def _non_finite(value):
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"

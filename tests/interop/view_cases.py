# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every operator of PyTorch that returns a view, as PyTorch itself tells: by the annotations of its schemas, and by running
functions and methods and looking at the memory of what they return. Each with calls, and with a program for each call
that writes through the view and beside it.
"""

import builtins
import functools
import operator
import random
import zlib
from collections import Counter
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map

NAMESPACES = ("aten", "prims", "_c10d_functional")
DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip
# Views that no strided tensor on a CPU has: fxpass knows no other tensors. Some of them check no argument.
NOT_STRIDED = {
    **dict.fromkeys(["_indices", "_values", "indices", "values", "coalesce", "_sparse_broadcast_to"], "sparse"),
    **dict.fromkeys(["ccol_indices", "col_indices", "crow_indices", "row_indices"], "sparse"),
    **dict.fromkeys(["_nested_get_values", "_nested_view_from_buffer", "_nested_view_from_jagged"], "nested"),
    **dict.fromkeys(["_fw_primal", "_make_dual", "_unpack_dual"], "forward derivatives"),
    "_test_autograd_multiple_dispatch_view": "for tests of PyTorch",
    **dict.fromkeys(["cuda", "pin_memory"], "of an accelerator"),
}
MOST_TRIED = 500
LAYOUTS = ("plain", "reversed", "part")


def numbers(*shape, dtype=torch.float32, start=1):
    """Elements that differ, all of them exact in any dtype."""
    values = torch.arange(start, start + torch.Size(shape).numel()).reshape(shape)
    if dtype.is_complex:
        return torch.complex(values.to(torch.float32), -values.to(torch.float32) - 7).to(dtype)
    return (values % 3 == 0) if dtype == torch.bool else values.to(dtype)


def viewed_tensors():
    return [
        numbers(4, 6),
        numbers(2, 3, 4),
        numbers(2, 3, dtype=torch.complex64),
        numbers(6),
        numbers(3, 2),
        numbers(1, 2, 3, 4),
        numbers(1, 4, 1),
        numbers(),
        numbers(4, 8, dtype=torch.uint8),
        numbers(2, 4, dtype=torch.bfloat16),
        numbers(3, 4, dtype=torch.int64),
        numbers(2, 8, dtype=torch.bool),
        numbers(0, 3),
    ]


def common_arguments(x):
    """What comes behind the tensor in a call of most views of `x`."""
    n, shape = x.numel(), list(x.shape)
    yield from ((), (0,), (1,), (-1,), (2,), (0, 1), (1, 0), (-1, -2), (0, 0, 2), (0, 1, 2), (-1, 1, 2), (1, 2, 1))
    yield from (([n],), ([-1],), ([2, n // 2],), (shape,), ([3, *shape],), (list(range(x.dim()))[::-1],))
    yield from ((x.dtype,), (torch.device("cpu"),), (numbers(*shape, dtype=x.dtype),))
    yield from ((1, [2, -1]), ([0, 1], [1, 0]), (shape, list(x.stride())), ([1, 1],), ([1, 3],), ([2, 2], 0))
    yield from ((0.5, False), (0.0, True))


def more_arguments(x):
    n, shape, strides = x.numel(), list(x.shape), list(x.stride())
    yield from ((2, n // 2), (3,), (-2,), (0, 3, 1), (1, 1, -1), (-1, 2, 2), (0, 1, 2, 1), (-1, -3, -1, 2), (1, None, 3))
    yield from (([n, 1],), ([1, n],), ([2, -1],), ([-1, 2],), (shape[::-1],), ([2, 1, *shape],), ([-1] * x.dim(),))
    yield from ((shape, strides, 0), ([2, 2], [1, 2], 1), ([2], [3]), ([2, 3], [0, 1]), ([3, 2], [1, 1]), ([], [], 2))
    yield from ((0, [2, -1]), (-1, [-1, 2]), ([0, -1], [-1, 0]), ([1, 3], 0), ([1, 2], -1), ([2, 2], 1), ([1, 3, 4], 1))
    yield from ((torch.int32,), (torch.uint8,), (torch.bool,), (torch.float64,), (torch.complex64,), (torch.int8,))
    yield from (("cpu",), ("cpu", x.dtype), (torch.device("cpu"), x.dtype, False, True), (x.dtype, False, True))
    yield from ((numbers(3, *shape),), (numbers(*shape, dtype=torch.float64),), (numbers(n),), (0.5, True), (0.0, False))
    yield from ((torch.tensor(1), 2), (0, torch.tensor(1), 2), (torch.tensor(2), 0), (torch.tensor([1, 2]), 0))
    yield from (((n,),), (tuple(shape), tuple(strides)), (shape, [0, 1, 2][: x.dim()]), (1, 0, 2), ([0, 2],), ([-1, 0],))
    yield from (([1] + shape, [1, 2, 3][: x.dim()]), ([0] * x.dim(), [1] * x.dim()), ([1] * x.dim(), shape, [2] * x.dim()))
    yield from ((x.dtype, torch.strided), (None,))


def keyword_arguments(x):
    n, shape = x.numel(), list(x.shape)
    yield from (dict(dim=0), dict(dim=-1), dict(dim=1, index=1), dict(dim=0, start=1, length=1), dict(dim0=0, dim1=1))
    yield from (dict(offset=1), dict(offset=-1, dim1=1, dim2=0), dict(size=[n]), dict(shape=[n]), dict(dtype=x.dtype))
    yield from (dict(dims=list(range(x.dim()))[::-1]), dict(source=0, destination=-1), dict(dtype=torch.int32), dict(copy=True))
    yield from (dict(dim=1, sizes=[2, -1]), dict(start_dim=1), dict(end_dim=1), dict(start_dim=0, end_dim=-1))
    yield from (dict(sections=2), dict(chunks=2, dim=1), dict(split_size=2), dict(split_size_or_sections=[1, shape[0] - 1] if shape else []))
    yield from (dict(dimension=0, size=2, step=1), dict(dimension=-1, size=2, step=2), dict(p=0.5, train=False), dict(p=0.5, training=False))
    yield from (dict(memory_format=torch.contiguous_format), dict(memory_format=torch.channels_last), dict(training=False))
    yield from (dict(memory_format=torch.preserve_format), dict(dtype=x.dtype, copy=True), dict(axis0=0, axis1=1))
    yield from (dict(dim=0, start=1, end=3), dict(dim=1, start=0, end=4, step=2), dict(size=shape, stride=list(x.stride())))
    yield from (dict(size=[2, 2], stride=[1, 2], storage_offset=1), dict(device="cpu"), dict(other=numbers(*shape, dtype=x.dtype)))


def indices(x):
    """What `x[...]` is given."""
    yield from (0, -1, slice(1, 3), slice(None, None, 2), slice(-2, None), slice(5, 2), None, Ellipsis, (), True, False)
    yield from ((0, slice(None)), (Ellipsis, 0), (slice(None), None, slice(1, 2)), (None, 1, Ellipsis), (0, 0), (0, Ellipsis, 1))
    yield from ((slice(0, 2), slice(1, None)), (slice(None), -1), (Ellipsis, None), (slice(None),) * 3, (True, 0))
    yield from ([0, 1], (slice(None), [1, 0]), torch.tensor([1, 0]), (0, torch.tensor([0, 1])), torch.tensor(1))
    yield from ((torch.tensor([0, 1]), torch.tensor([1, 0])), (Ellipsis, torch.tensor([0])), torch.tensor([True, False]))


def list_calls(x):
    """Calls of functions that take lists of tensors, or text first."""
    other = numbers(2, 1, *x.shape[-1:], dtype=x.dtype)
    yield from (((x, numbers(*x.shape, dtype=x.dtype, start=50)), {}), ((x, other), {}), (([x, other],), {}), (([x],), {}), ((x,), {}))
    yield ([x, numbers(6, start=9)],), {}
    yield from ((([x, numbers(3, start=9, dtype=x.dtype)],), {"indexing": way}) for way in ("ij", "xy"))
    yield from (((x, numbers(3, start=9, dtype=x.dtype)), keywords) for keywords in ({}, {"indexing": "xy"}))
    yield from (((text, x), {}) for text in ("ij->ji", "ij", "ii->i", "ij->i", "ijk->kij", "...i->i...", "i", "iij->ij"))
    yield from ((("ij->ji", [x]), {}), (([numbers(6), x, numbers(2, 3)],), {}))
    yield (x, [numbers(2, 3), numbers(4, 1)]), {}


def calls(x, full):
    yield from (((x, *rest), {}) for rest in common_arguments(x))
    yield from list_calls(x)
    if full:
        yield from (((x, *rest), {}) for rest in more_arguments(x))
        yield from (((x,), keywords) for keywords in keyword_arguments(x))


# Operators -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Operator:
    """A way to call something: as FX writes it, and as Python runs it."""

    name: str  # "aten.select.int", "torch.select", "Tensor.select", "Tensor.T"
    kind: str  # "call_function" or "call_method"
    target: object
    attribute: str | None = None  # of a tensor, which is no call

    def __call__(self, *args, **kwargs):
        if self.attribute is not None:
            (x,) = args
            return getattr(x, self.attribute, **kwargs)
        if self.kind == "call_method":
            return getattr(args[0], self.target)(*args[1:], **kwargs)
        return self.target(*args, **kwargs)


def annotated():
    """Overloads whose schemas say that they return an alias of a tensor, and write none."""
    dispatched = set(torch._C._dispatch_get_all_op_names())
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace not in NAMESPACES:
            continue
        sets = [a.alias_info for a in schema.arguments if a.alias_info is not None]
        if any(s.is_write for s in sets) or not any(r.alias_info is not None for r in schema.returns):
            continue
        if not any("Tensor" in str(r.type) for r in schema.returns) or not sets:
            continue
        packet = getattr(getattr(torch.ops, namespace), name, None)
        overload = schema.overload_name or "default"
        # What is TorchScript's own stands in no graph of FX, and checks no argument.
        if f"{schema.name}.{schema.overload_name}".rstrip(".") not in dispatched:
            continue
        if packet is not None and overload in packet.overloads() and name not in NOT_STRIDED:
            yield Operator(f"{namespace}.{name}.{overload}", "call_function", getattr(packet, overload))


def python_operators():
    """All that takes tensors: functions and methods, as PyTorch lists what can be overridden, and attributes."""
    found = {}
    for namespace, functions in torch.overrides.get_overridable_functions().items():
        for function in functions:
            name = getattr(function, "__name__", "_")
            # `x.index(...)` is no method that is documented, and does not come back from some arguments.
            if name.startswith("_") or name.endswith("_") or name == "index":
                continue
            if namespace is torch.Tensor:
                if hasattr(torch.Tensor, name):
                    found[f"Tensor.{name}"] = "call_method", name
            else:
                found[torch.fx.node._get_qualified_name(function)] = "call_function", function
    # Not among them, although they take tensors.
    for function in (torch.as_strided, torch.as_tensor, torch.asarray):
        found[f"torch.{function.__name__}"] = "call_function", function
    found["operator.getitem"] = "call_function", operator.getitem
    found["operator.pos"] = "call_function", operator.pos
    yield from (Operator(name, *what) for name, what in found.items())
    for name in dir(torch.Tensor):
        if not name.startswith("_") and not callable(getattr(torch.Tensor, name)):
            yield Operator(f"Tensor.{name}", "call_function", None, name)


def unannotated():
    """Overloads that PyTorch names as copies of views, and those that it says nothing of although they are views."""
    dispatched = {name.partition("::") for name in torch._C._dispatch_get_all_op_names()}
    names = sorted({name.partition(".")[0] for namespace, _, name in dispatched if namespace == "aten"})
    for name in names:
        if name.startswith("_nested") or name.removesuffix("_copy") in NOT_STRIDED:
            continue
        if name.endswith(("_copy", "_scatter")) or name.startswith(("unsafe_", "_unsafe_view")):
            packet = getattr(torch.ops.aten, name)
            for overload in packet.overloads():
                if "out" not in overload:
                    yield Operator(f"aten.{name}.{overload}", "call_function", getattr(packet, overload))


# Calls -----------------------------------------------------------------------------------------------------------------
def tensors(value):
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def storage(tensor):
    return tensor.untyped_storage()._cdata


def cloned(value):
    return tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, value)


def is_inside(tensor):
    """Whether all elements are inside the storage: `_reshape_alias` does not look."""
    last = tensor.storage_offset() + sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride()))
    return tensor.numel() == 0 or (last + 1) * tensor.element_size() <= tensor.untyped_storage().nbytes()


def names_types(function, args):
    """Whether types stand where types belong: a number out of range ends the process, and a type counts as a number."""
    schema = getattr(getattr(function, "target", None), "_schema", None)
    named = zip(schema.arguments, args) if schema is not None else ()
    return all(isinstance(value, torch.dtype) == (parameter.name == "dtype") for parameter, value in named)


def result_of(function, args, kwargs):
    """What a call returns, if these are strided tensors: one, or a list of them; else None."""
    if not names_types(function, args):
        return None
    try:
        result = function(*args, **kwargs)
    except Exception:  # every kind there is comes out of calls with arguments of the wrong kind
        return None
    leaves = result if isinstance(result, (tuple, list)) else [result]
    if not leaves or not all(type(leaf) is torch.Tensor and leaf.layout == torch.strided for leaf in leaves):
        return None
    return result if all(map(is_inside, leaves)) else None


def shares(result, arguments):
    owned = {storage(tensor) for tensor in tensors(arguments) if tensor.layout == torch.strided}
    return any(storage(tensor) in owned for tensor in tensors(result))


def returns_view(function, args, kwargs):
    args, kwargs = cloned((args, kwargs))
    before = [tensor._version for tensor in tensors((args, kwargs))]
    result = result_of(function, args, kwargs)
    is_pure = before == [tensor._version for tensor in tensors((args, kwargs))]
    return result is not None and is_pure and shares(result, (args, kwargs))


def is_view(op):
    """Whether a call with common arguments returns a view of an operand."""
    return op.name == "operator.getitem" or any(returns_view(op, *call) for call in common_calls())


CHANGES = [("add_", (5,)), ("logical_not_", ()), ("fill_", (3,)), None]


@dataclass
class Case:
    """A program: a view is taken and written, then its base; both are returned."""

    op: Operator
    args: tuple
    kwargs: dict
    layout: str  # of the tensor that is viewed: as it is, dimensions stored in reverse, or a part of a larger one
    is_view: bool = False
    count: int | None = None  # how many results there are, if it is a list
    change: tuple | None = None  # how the view is written, if it can be

    def __str__(self):
        def text(leaf):
            return f"{str(leaf.dtype)[6:]}{list(leaf.shape)}" if isinstance(leaf, torch.Tensor) else leaf

        arguments = [str(tree_map(text, argument)) for argument in self.args]
        arguments += [f"{name}={tree_map(text, value)}" for name, value in self.kwargs.items()]
        return f"{self.op.name}({', '.join(arguments)}), {self.layout}".replace("'", "")

    def operands(self):
        return tensors((self.args, self.kwargs))

    def inputs(self):
        """Its tensors as the program is given them, the viewed one first."""
        first, *rest = [tensor.clone() for tensor in self.operands()]
        if self.layout == "reversed":
            order = list(range(first.dim()))[::-1]
            first = first.permute(order).contiguous().permute(order)
        elif self.layout == "part":
            whole = numbers(*(n + 1 for n in first.shape), dtype=first.dtype)
            whole[self.part()] = first
            first = whole
        return [first, *rest]

    def part(self):
        return tuple(slice(1, None) for _ in self.operands()[0].shape)

    def call(self, values):
        left = iter(values)
        return tree_map(lambda leaf: next(left) if isinstance(leaf, torch.Tensor) else leaf, (self.args, self.kwargs))

    def run(self, inputs):
        """The program, by eager PyTorch."""
        base = inputs[0]
        args, kwargs = self.call([base[self.part()] if self.layout == "part" else base, *inputs[1:]])
        result = self.op(*args, **kwargs)
        views = list(result) if isinstance(result, (tuple, list)) else [result]
        if not all(map(is_inside, views)):
            raise ValueError("outside of the storage")
        self.count = len(views) if isinstance(result, (tuple, list)) else None
        self.is_view = any(storage(view) == storage(tensor) for view in views for tensor in inputs)
        if self.change is not None:
            for view in {id(view): view for view in (views[0], views[-1])}.values():
                getattr(view, self.change[0])(*self.change[1])
        method, arguments = change_of_base(base)
        getattr(base, method)(*arguments)
        return [value.clone() for value in (*views, base)]

    def is_possible(self, mode):
        """Whether eager runs it; finds out how its view can be written."""
        if any(tensor.layout != torch.strided for tensor in self.operands()):
            return False
        for self.change in CHANGES:
            try:
                fake = [mode.from_tensor(tensor) for tensor in self.inputs()]
                with mode:  # in which graphs are traced
                    self.run(fake)
                random_state = torch.get_rng_state()
                self.run(self.inputs())
                if not torch.equal(torch.get_rng_state(), random_state):
                    return False
            except Exception:  # of every kind there is
                continue
            return True
        return False

    def statements(self, graph, prefix, placeholders):
        """Adds the program to an FX graph; returns its outputs."""

        def node(kind, target, *args, **kwargs):
            return graph.create_node(kind, target, args, kwargs, name=f"{prefix}_{getattr(target, '__name__', target)}")

        base, *rest = placeholders
        viewed = node("call_function", operator.getitem, base, self.part()) if self.layout == "part" else base
        args, kwargs = self.call([viewed, *rest])
        if self.op.attribute is not None:
            result = node("call_function", builtins.getattr, args[0], self.op.attribute)
        else:
            result = node(self.op.kind, self.op.target, *args, **kwargs)
        views = [result]
        if self.count is not None:
            views = [node("call_function", operator.getitem, result, k) for k in range(self.count)]
        if self.change is not None:
            for view in {views[0]: 0, views[-1]: 0}:
                node("call_method", self.change[0], view, *self.change[1])
        method, arguments = change_of_base(self.operands()[0])
        node("call_method", method, base, *arguments)
        return [node("call_method", "clone", value) for value in (*views, base)]


def change_of_base(base):
    return ("logical_not_", ()) if base.dtype == torch.bool else ("mul_", (2,))


def cases_of(op, views, copies):
    """Calls that eager runs: as many as said that return views, and others that return copies."""
    chosen = random.Random(zlib.crc32(op.name.encode()))
    mode = FakeTensorMode()
    found = []

    def try_all(calls, most):
        for args, kwargs in chosen.sample(calls, min(len(calls), MOST_TRIED)):
            counts = Counter(case.is_view for case in found)
            if all(counts[is_view] == most[is_view] for is_view in most):
                return
            args, kwargs = cloned((args, kwargs))
            result = result_of(op, args, kwargs)
            is_view = result is not None and shares(result, (args, kwargs))
            if result is None or counts[is_view] == most[is_view]:
                continue
            for layout in chosen.sample(LAYOUTS, len(LAYOUTS)):
                case = Case(op, args, kwargs, layout)
                if case.is_possible(mode):
                    break
            else:
                continue
            if counts[case.is_view] < most[case.is_view]:
                found.append(case)

    if op.name == "operator.getitem":
        every = [((x, index), {}) for x in viewed_tensors() for index in indices(x)]
        try_all(every, {True: 8 * views, False: 8 * copies})
    else:
        without_arguments, every = calls_to_choose_from()
        try_all(without_arguments, {True: 2, False: 1})
        try_all(every, {True: views, False: copies})
    return found


@functools.cache
def calls_to_choose_from():
    tensors = viewed_tensors()
    others = [numbers(2, 3, dtype=dtype) for dtype in DTYPES]
    return [((x,), {}) for x in tensors + others], [call for x in tensors for call in calls(x, full=True)]


@functools.cache
def common_calls():
    common = [((numbers(2, 3, dtype=dtype),), {}) for dtype in DTYPES]
    common += [call for x in viewed_tensors()[:3] for call in calls(x, full=False)]
    common += [call for x in (numbers(6), numbers(3, 2)) for call in [((x,), {}), *list_calls(x)]]
    return common


def all_cases(views, copies):
    """The operators, and calls of each."""
    operators = [*annotated(), *filter(is_view, python_operators()), *unannotated()]
    operators = list({op.name: op for op in operators}.values())
    return {op.name: cases_of(op, views, copies) for op in operators}

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every operator of PyTorch that writes into a tensor, by PyTorch's own account, and samples of calls.

What writes is read off the schemas: an argument with a write annotation (`Tensor(a!)`), `self` or `out`. Samples are the
calls that PyTorch's test suite makes of an operator, of the one that computes the same without writing, or of one with the
same parameters; eager PyTorch decides whether they are calls.
"""

import itertools
from dataclasses import dataclass, field

import torch
import torch.distributed._functional_collectives  # noqa: F401  registers _c10d_functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

DTYPES = (torch.float32, torch.int64, torch.bool)
SAMPLES = 2  # of an operator that op_db describes, for each dtype
CALLS = 3  # that are kept of an overload
MOST_ELEMENTS = 2048


def writing_overloads():
    """All overloads of torch.ops.aten that write a tensor; those that TorchScript alone knows are no operators of graphs."""
    dispatched = set(torch._C._dispatch_get_all_op_names())
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, base = schema.name.partition("::")
        tensors = [a for a in schema.arguments if a.alias_info and a.alias_info.is_write and "Tensor" in str(a.type)]
        full_name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
        if namespace != "aten" or not tensors or full_name not in dispatched:
            continue
        packet = getattr(torch.ops.aten, base, None)
        name = schema.overload_name or "default"
        if packet is not None and name in packet.overloads():
            found[f"aten.{base}.{name}"] = getattr(packet, name)
    return dict(sorted(found.items()))


def written(overload):
    """The parameters that the overload writes."""
    return [a for a in overload._schema.arguments if a.alias_info and a.alias_info.is_write]


def read(overload):
    return [a for a in overload._schema.arguments if not a.is_out]


def writing_methods():
    """Methods of tensors that write by their name."""
    return [name for name in dir(torch.Tensor) if name.endswith("_") and not name.startswith("_")]


def copied(value):
    """`value` with tensors of its own, laid out in memory as those were."""

    def copy(tensor):
        tensor = tensor.detach()
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor)

    return tree_map(lambda leaf: copy(leaf) if isinstance(leaf, torch.Tensor) else leaf, value)


def is_plain(leaf):
    if isinstance(leaf, torch.Tensor):
        plain = leaf.layout == torch.strided and type(leaf) in (torch.Tensor, torch.nn.Parameter)
        dense = plain and not torch._debug_has_internal_overlap(leaf) and not leaf.is_conj() and not leaf.is_neg()
        return dense and leaf.numel() <= MOST_ELEMENTS and leaf.device.type == "cpu"
    return leaf is None or isinstance(leaf, (bool, int, float, complex, str, torch.dtype, torch.device, torch.memory_format))


@dataclass
class Recorder(TorchDispatchMode):
    """Keeps the first calls of each overload, which differ in the dtypes and shapes of their tensors."""

    calls: dict = field(default_factory=dict)
    shapes: dict = field(default_factory=dict)

    def __post_init__(self):
        super().__init__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = str(func)
        known = self.calls.setdefault(name, [])
        if func.namespace == "aten" and len(known) < CALLS:
            leaves = tree_leaves((args, kwargs))
            dtypes = tuple(leaf.dtype for leaf in leaves if isinstance(leaf, torch.Tensor))
            shapes = self.shapes.setdefault(name, set())
            if dtypes and dtypes not in shapes and all(map(is_plain, leaves)):
                shapes.add(dtypes)
                known.append(copied((args, kwargs)))
        return func(*args, **kwargs)


def recorded_calls():
    from torch.testing._internal.common_methods_invocations import op_db

    recorder = Recorder()
    torch.manual_seed(0)
    for info in op_db:
        for dtype in DTYPES:
            if dtype not in info.supported_dtypes("cpu"):
                continue
            samples = itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=False), SAMPLES)
            for sample in samples:
                for function in (info.op, info.inplace_variant):
                    if function is None:
                        continue
                    gradient = info.name.startswith("nn.functional.") and dtype == torch.float32
                    try:
                        with recorder, torch.set_grad_enabled(gradient):
                            args, kwargs = copied(((sample.input, *sample.args), sample.kwargs))
                            if gradient and isinstance(args[0], torch.Tensor):
                                function(args[0].requires_grad_(), *args[1:], **kwargs).sum().backward()
                            else:
                                function(*args, **kwargs)
                    except Exception:  # PyTorch's samples hold calls that are there to fail
                        continue
    return recorder.calls


def tensor(*shape):
    return torch.linspace(-1.5, 2.0, torch.Size(shape).numel()).reshape(shape)


# Calls that op_db does not make.
BY_HAND = {
    "aten.alpha_dropout_.default": [(tensor(4, 3), 0.5, False), (tensor(4, 3), 0.5, True)],
    "aten.bernoulli_.Tensor": [(tensor(4, 3), torch.full((4, 3), 0.5))],
    "aten.div_.Scalar_mode": [((tensor(4, 3), 0.5), {"rounding_mode": "floor"}), ((torch.arange(6), 4), {"rounding_mode": "trunc"})],
    "aten.divide_.Scalar_mode": [((tensor(4, 3), 0.5), {"rounding_mode": "floor"}), ((torch.arange(6), 4), {"rounding_mode": "trunc"})],
    "aten.dropout_.default": [(tensor(4, 3), 0.5, False), (tensor(2, 3), 0.5, True), (tensor(5), 0.0, True)],
    "aten.embedding_renorm_.default": [(tensor(4, 3), torch.tensor([0, 3]), 1.0, 2.0)],
    "aten.feature_alpha_dropout_.default": [(tensor(4, 3, 2), 0.5, False), (tensor(4, 3), 0.5, True)],
    "aten.feature_dropout_.default": [(tensor(4, 3, 2), 0.5, False), (tensor(4, 3), 0.5, True)],
    "aten.fill_diagonal_.default": [(tensor(4, 3), 5), (tensor(3, 3, 3), 7.5), (torch.arange(12).reshape(3, 4), 2)],
    # Others' samples are no matrices that have an inverse: their bits differ from one call to the next.
    "aten.linalg_pinv.out_rcond_tensor": [(torch.eye(3) * 2, torch.tensor(0.1))],
    "aten.random_.from": [(tensor(4, 3), 2, 9), (torch.arange(5), 1, None)],
    "aten.random_.to": [(tensor(4, 3), 9), (torch.arange(5), 3)],
    "aten.rrelu_.default": [(tensor(4, 3),), (tensor(5), 0.25, 0.5, False)],
    "aten.scatter_.value_reduce": [((tensor(4, 3), 0, torch.tensor([[0, 1, 2]]), 2.0), {"reduce": "add"})],
}


# Calls of a writing overload ------------------------------------------------------------------------------------------------
@dataclass
class Call:
    """One call: `args` and `kwargs` hold the tensors, those that are written among them."""

    overload: object
    args: tuple
    kwargs: dict

    def run(self):
        return self.overload(*self.args, **self.kwargs)

    def copy(self):
        args, kwargs = copied((self.args, self.kwargs))
        return Call(self.overload, args, kwargs)

    def written(self):
        """The tensors that are written, in the order of the parameters."""
        found = []
        for index, parameter in enumerate(self.overload._schema.arguments):
            if parameter.alias_info and parameter.alias_info.is_write:
                given = self.kwargs.get(parameter.name) if parameter.kwarg_only else None
                if given is None and index < len(self.args):
                    given = self.args[index]
                found += [leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor)]
        return found


def types(parameters):
    return [str(parameter.type) for parameter in parameters]


def _packet(name):
    namespace, base = name.split(".")[:2]
    return getattr(getattr(torch.ops, namespace), base, None)


class Sampler:
    def __init__(self, recorded):
        self.recorded = {name: calls for name, calls in recorded.items() if calls}
        self.by_types = {}
        for name, calls in self.recorded.items():
            namespace, base, overload = name.split(".")
            function = getattr(_packet(name), overload)
            self.by_types.setdefault(str(types(read(function))), []).extend(calls)

    def calls(self, overload, most=CALLS):
        """Calls that eager PyTorch takes, two of which write the same."""
        found = []
        for candidate in self.candidates(overload):
            if len(found) == most:
                break
            if any(self._same_kind(candidate, other) for other in found):
                continue
            if self.is_sound(candidate):
                found.append(candidate)
        return found

    @staticmethod
    def _same_kind(call, other):
        def kinds(c):
            return [(leaf.dtype, leaf.ndim) for leaf in tree_leaves((c.args, c.kwargs)) if isinstance(leaf, torch.Tensor)]

        return kinds(call) == kinds(other)

    @staticmethod
    def is_sound(call):
        first, second = call.copy(), call.copy()
        try:
            for run in (first, second):
                torch.manual_seed(0)
                run.run()
        except Exception:
            return False
        pairs = zip(first.written(), second.written(), strict=True)
        return bool(first.written()) and all(same(a, b) for a, b in pairs)

    def candidates(self, overload):
        name = str(overload)
        namespace, base, _ = name.split(".")
        if base.startswith("_foreach_"):
            yield from self.foreach(overload, base)
            return
        parameters = types(read(overload))
        sources = [args if isinstance(args[-1], dict) else (args, {}) for args in BY_HAND.get(name, [])] + self.recorded.get(name, [])
        packet = _packet(f"{namespace}.{base.removesuffix('_')}")
        twins = [getattr(packet, o) for o in packet.overloads()] if packet is not None else []
        twins = [twin for twin in twins if types(twin._schema.arguments) == parameters]
        for twin in twins:
            sources += self.recorded.get(str(twin), [])
        # Operators that are nobody's to call need not check their arguments.
        if name not in BY_HAND and (not base.startswith("_") or base.startswith("__")):
            sources += self.by_types.get(str(parameters), [])[:200]
        outs = [argument for argument in written(overload) if argument.is_out]
        for args, kwargs in sources:
            if not outs:
                yield Call(overload, args, kwargs)
                continue
            for values in self.outs(overload, twins, outs, args, kwargs):
                yield Call(overload, args, {**kwargs, **{out.name: value for out, value in zip(outs, values)}})

    @staticmethod
    def outs(overload, twins, outs, args, kwargs):
        """Tensors of the shapes and dtypes that the overload wants to write."""
        results = None
        for twin in twins:
            try:
                results = twin(*copied(args), **copied(kwargs))
                break
            except Exception:
                continue
        if results is None:
            for dtype in DTYPES:
                empty = [torch.empty(0, dtype=dtype) for _ in outs]
                try:
                    overload(*copied(args), **copied(kwargs), **{out.name: t for out, t in zip(outs, empty)})
                except Exception:
                    continue
                results = tuple(empty)
                break
        if results is None:
            return
        if isinstance(results, torch.Tensor) or "[]" in str(outs[0].type):
            results = (results,)
        filled = tree_map(lambda t: torch.full(t.shape, 3, dtype=t.dtype) if isinstance(t, torch.Tensor) else t, results)
        if len(filled) == len(outs) and any(t.numel() for t in tree_leaves(filled)):
            yield filled

    def foreach(self, overload, base):
        """Two tensors in each list; numbers for each of them, or one for both."""
        generator = torch.Generator().manual_seed(0)

        def tensor(*shape):
            return torch.rand(*shape, generator=generator) * 0.8 + 0.1

        shapes = [(2, 3), (4,)]
        values = {}
        for parameter in read(overload):
            kind = str(parameter.type)
            if kind == "List[Tensor]":
                values[parameter.name] = [tensor(*shape) for shape in shapes]
            elif kind == "Tensor":
                values[parameter.name] = torch.tensor([0.5, 0.25]) if parameter.name == "scalars" else torch.tensor(0.5)
            elif kind.startswith("List["):
                values[parameter.name] = [0.5, 2.0]
            elif not parameter.has_default_value():
                values[parameter.name] = 0.5
        outs = [argument for argument in written(overload) if argument.is_out]
        for out in outs:
            values[out.name] = [torch.full(shape, 3.0) for shape in shapes]
        positional = [p.name for p in overload._schema.arguments if not p.kwarg_only and p.name in values]
        args = tuple(values.pop(name) for name in positional)
        yield Call(overload, args, values)


def same(actual, wanted):
    if actual.dtype != wanted.dtype or actual.shape != wanted.shape:
        return False
    return torch.equal(actual.double().nan_to_num(nan=1e30), wanted.double().nan_to_num(nan=1e30)) if (
        actual.is_floating_point()
    ) else torch.equal(actual, wanted)

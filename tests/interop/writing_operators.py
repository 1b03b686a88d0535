# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every operator of PyTorch that writes into a tensor, by PyTorch's own account, and samples of calls.

What writes is read off the schemas: an argument with a write annotation (`Tensor(a!)`), `self` or `out`. Samples are the
calls that PyTorch's test suite makes of an operator, of the one that computes the same without writing, or of one with the
same parameters; eager PyTorch decides whether they are calls.
"""

import itertools
import math
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
    """All overloads of torch.ops.aten that write a tensor."""
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, base = schema.name.partition("::")
        tensors = [a for a in schema.arguments if a.alias_info and a.alias_info.is_write and "Tensor" in str(a.type)]
        if namespace != "aten" or not tensors or "Dict" in str(schema) or "t[]" in str(schema):
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
    from torch.testing._internal.common_methods_invocations import foreach_unary_op_db, op_db

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
                    try:
                        with recorder:
                            function(*copied((sample.input, *sample.args)), **copied(sample.kwargs))
                    except Exception:  # PyTorch's samples hold calls that are there to fail
                        continue
    return recorder.calls

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Core ATen, the set of operators that PyTorch asks of every backend, is lowered, but for what is said here."""

import torch

NOT_LOWERED = {
    "aten.rand.default": "random numbers",
    "aten.randn.default": "random numbers",
    "aten.randperm.default": "random numbers",
    "aten.nonzero.default": "the size of the result depends on the data",
    "aten._local_scalar_dense.default": "a number that depends on the data",
    "aten.resize_.default": "a write that changes the size of a tensor",
    "aten.sym_stride.int": "a question about memory",
    "aten.sym_storage_offset.default": "a question about memory",
    "aten.sym_is_contiguous.default": "a question about memory",
}
# They make no tensors: when symbols are bound to numbers, they are gone.
SIZES = {"aten.sym_size.int", "aten.sym_numel.default"}


def core_operators():
    names = {schema.name for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::")}
    for name in (name.removeprefix("aten::") for name in names):
        packet = getattr(torch.ops.aten, name, None)
        for overload in packet.overloads() if packet else []:
            if torch.Tag.core in getattr(packet, overload).tags:
                yield f"aten.{name}.{overload}"


def test_core_aten_is_lowered(fxpassc):
    lowered = set(fxpassc.run("ops").stdout.split())
    operators = set(core_operators())
    assert len(operators) > 150
    missing = {name for name in operators if not {name, name.rpartition(".")[0]} & lowered}
    assert missing - SIZES == set(NOT_LOWERED)

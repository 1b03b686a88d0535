# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes that read the memory that they write. fxpass reads all of it first; where PyTorch, which goes through it element by
element, gives the same, the write is carried out, and where not it is refused, and cloning the operand makes it right."""

import pytest
import torch
from capture import Function, capture
from test_eager_cases import carried_out, eager, numbers

FORMS = ["training", "dynamo"]


# Of a matrix x of 4 by 4, an index and a function that each operand goes through.
AS_IF_READ_FIRST = {
    "itself": lambda x, i, read: x.add_(read(x)),
    "the_same_column": lambda x, i, read: x[:, 1].mul_(read(x.t()[1])),
    "shifted_ahead": lambda x, i, read: x[:, :-1].copy_(read(x[:, 1:])),
    "shifted_ahead_and_added": lambda x, i, read: x[:, :2].add_(read(x[:, 1:3])),
    "shifted_ahead_by_setitem": lambda x, i, read: x.__setitem__((slice(None), slice(0, 3)), read(x[:, 1:])),
    "own_row": lambda x, i, read: x.__setitem__(slice(None), read(x[2])),
    "own_column": lambda x, i, read: x.__setitem__(slice(None), read(x[:, 1:2])),
    "own_row_expanded": lambda x, i, read: x.copy_(read(x[0].expand(4, 4))),
    "own_element": lambda x, i, read: x.fill_(read(x[1, 2])),
    "own_element_by_mask": lambda x, i, read: x.masked_fill_(x > 3, read(x[1, 2])),
    "own_element_by_index": lambda x, i, read: x.index_fill_(1, i, read(x[1, 2])),
    "own_element_set_by_mask": lambda x, i, read: x.__setitem__(x > 3, read(x[1, 2])),
    "own_element_put_by_mask": lambda x, i, read: x.index_put_((x > 3,), read(x[1, 2])),
    "other_columns": lambda x, i, read: x[:, :2].add_(read(x[:, 2:])),
    "other_rows_by_index": lambda x, i, read: x[:2].index_copy_(1, i, read(x[2:, 1:])),
    "list_of_columns": lambda x, i, read: torch._foreach_add_([x[:, 0], x[:, 1]], [read(x[:, 2]), read(x[:, 3])]),
    "list_shifted_ahead": lambda x, i, read: torch._foreach_sub_([x[:, :2]], [read(x[:, 1:3])]),
    "list_of_own_columns": lambda x, i, read: torch._foreach_copy_([x[:, 1:]], [read(x[:, 2:3])]),
    "negated_row": lambda x, i, read: x.mul_(read(torch._neg_view(x)[1])),
    "negated_target": lambda x, i, read: torch._neg_view(x)[:, 1:].add_(read(torch._neg_view(x)[:, :-1])),
    "indexed_copy": lambda x, i, read: x.__setitem__(i, x[i.flip(0)]),
}
BY_THE_ORDER = {
    "shifted_back": lambda x, i, read: x[:, 1:].copy_(read(x[:, :-1])),
    "shifted_back_and_added": lambda x, i, read: x[:, 1:].add_(read(x[:, :-1])),
    "shifted_back_by_setitem": lambda x, i, read: x.__setitem__((slice(None), slice(1, 4)), read(x[:, :-1])),
    "scaled_by_own_column": lambda x, i, read: x.div_(read(x[:, 0:1])),
    "own_diagonal_added": lambda x, i, read: x.add_(read(x.diagonal())),
    "own_column_as_row": lambda x, i, read: x.__setitem__(slice(None), read(x[:, 1])),
    "transposed_part": lambda x, i, read: x[:3, :3].sub_(read(x[:3, :3].mT)),
    "interpolated": lambda x, i, read: x[:, 1:].lerp_(read(x[:, :-1]), 0.5),
    "masked_by_itself": lambda x, i, read: x[:, 1:].masked_fill_(read(x[:, :-1]), True),
    "put": lambda x, i, read: x[:, 0:1].index_put_((i,), read(x[1:, 0:1])),
    "set_at_indices": lambda x, i, read: x[:, 0:1].__setitem__(i, read(x[1:, 0:1])),
    "copied_to_indices": lambda x, i, read: x[:, :3].index_copy_(1, i, read(x[:, 1:])),
    "added_at_indices": lambda x, i, read: x[:, :3].index_add_(1, i, read(x[:, 1:])),
    "scattered": lambda x, i, read: x[:, :3].scatter_(1, i.expand(4, 3), read(x[:, 1:])),
    "scattered_and_added": lambda x, i, read: x[:, :3].scatter_add_(1, i.expand(4, 3), read(x[:, 1:])),
    "list_shifted_back": lambda x, i, read: torch._foreach_add_([x[:, 1:]], [read(x[:, :-1])]),
}
BOOLEANS = {"masked_by_itself"}


def program(write, read, is_boolean=False):
    def run(x, index):
        write(x, index, read)
        return x * 1

    x = numbers(4, 4, start=1)
    if is_boolean:
        x = x % 5 < 2
    return Function(run), {"x": x, "index": torch.tensor([2, 1, 0])}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", AS_IF_READ_FIRST)
def test_what_amounts_to_reading_first_is_carried_out(fxpassc, tmp_path, name, form):
    module, inputs = program(AS_IF_READ_FIRST[name], lambda operand: operand)
    read_first = program(AS_IF_READ_FIRST[name], torch.clone)
    assert all(map(torch.equal, eager(module, inputs)[0], eager(*read_first)[0]))
    captured = capture(module, dict(inputs), form, tmp_path / "captured")
    carried_out(fxpassc, captured, module, inputs, form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", BY_THE_ORDER)
def test_what_hangs_on_the_order_is_refused(fxpassc, tmp_path, name, form):
    is_boolean = name in BOOLEANS
    module, inputs = program(BY_THE_ORDER[name], lambda operand: operand, is_boolean)
    twin, _ = program(BY_THE_ORDER[name], torch.clone, is_boolean)
    assert not all(map(torch.equal, eager(module, inputs)[0], eager(twin, inputs)[0]))
    captured = capture(module, dict(inputs), form, tmp_path / "captured")
    for emit in ("fx-python", "hlo-text"):
        result = fxpassc.run("compile", captured.path, "-o", tmp_path / "out", "--emit", emit)
        assert result.returncode == 1 and not (tmp_path / "out").exists()
        assert "order in which PyTorch goes through" in result.stderr or "may share memory" in result.stderr
        assert "clone() the operand first" in result.stderr
    carried_out(fxpassc, capture(twin, dict(inputs), form, tmp_path / "twin"), twin, inputs, form)


def statistics_of_themselves(x, index):
    return torch.nn.functional.batch_norm(x, x[0], x[1], None, None, True, 0.5)


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_that_holds_its_statistics(fxpassc, tmp_path, form):
    module, inputs = Function(statistics_of_themselves), {"x": numbers(4, 4, start=1), "index": torch.tensor([2, 1, 0])}
    captured = capture(module, dict(inputs), form, tmp_path / "captured")
    result = fxpassc.run("compile", captured.path, "-o", tmp_path / "out", "--emit", "fx-python")
    assert result.returncode == 1 and "may share memory with the tensor that it writes" in result.stderr


# Views that are conjugated or negated when they are read ------------------------------------------------------------------
def negated_source_of_a_list(x, index):
    y = torch.zeros(4, 4)
    torch._foreach_copy_([x, y], [x + 10, torch._neg_view(x)])
    return y


def conjugated_source_of_a_list(x, index):
    z, w = torch.complex(x, x + 1), torch.zeros(4, 4, dtype=torch.complex64)
    torch._foreach_add_([z, w], [torch.ones(4, 4), z.conj()])
    return torch.view_as_real(w), torch.view_as_real(z)


def imaginary_part_of_conjugated_numbers(x, index):
    z, w = torch.complex(x, x + 1), torch.zeros(4, 4)
    torch._foreach_add_([z, w], [torch.full((4, 4), 1j), z.conj().imag])
    return w, z.imag


def real_part_of_conjugated_numbers(x, index):
    z, w = torch.complex(x, x + 1), torch.zeros(4, 4)
    torch._foreach_add_([z, w], [torch.ones(4, 4), z.conj().real])
    return w, z.real


def negated_bytes_into_floats(x, index):
    x.copy_(torch._neg_view(x.to(torch.uint8)))
    x[0] = torch._neg_view(index)[:1]
    return x * 1


def resolved_of_the_other_kind(x, index):
    torch._neg_view(x).resolve_conj().add_(1)
    return x * 1


def parts_of_a_copy(x, index):
    z = torch.complex(x, x + 1)
    first, second = torch.unsafe_split(z.mH, 2)
    first.fill_(3)
    z.add_(1)
    return torch.view_as_real(z), first.real * 1, second.imag * 1


def resolved(x, index):
    torch._neg_view(x).resolve_neg().add_(1)
    return x * 1


LAZY = [
    negated_source_of_a_list,
    conjugated_source_of_a_list,
    imaginary_part_of_conjugated_numbers,
    real_part_of_conjugated_numbers,
    negated_bytes_into_floats,
    parts_of_a_copy,
    resolved_of_the_other_kind,
    resolved,
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", LAZY, ids=lambda function: function.__name__)
def test_views_that_are_conjugated_or_negated_lazily(fxpassc, tmp_path, function, form):
    module, inputs = Function(function), {"x": numbers(4, 4, start=1), "index": torch.tensor([2, 1, 0])}
    captured = capture(module, dict(inputs), form, tmp_path / "captured")
    carried_out(fxpassc, captured, module, inputs, form)


# Values that lie elsewhere in memory than eager's -------------------------------------------------------------------------
def view_of_a_transposed_write(x, index):
    y = x.t()
    y.index_copy_(1, index, x[:, 1:] * 2)
    return y.t().view(16)


def view_behind_a_transposed_write(x, index):
    y = (x + 1).t()
    y.add_(x)
    return y.relu().t().view(2, 8)


def view_behind_a_transposed_copy(x, index):
    x.copy_(torch.ones(4, 4).cumsum(0).t())
    return x.relu().view(16)


def view_of_what_came_before(x, index):
    y = x + 1
    x.add_(1)
    return y.view(16)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "function",
    [view_of_a_transposed_write, view_behind_a_transposed_write, view_behind_a_transposed_copy, view_of_what_came_before],
    ids=lambda function: function.__name__,
)
def test_view_of_what_lies_elsewhere_in_memory(fxpassc, tmp_path, function, form):
    module, inputs = Function(function), {"x": numbers(4, 4, start=1), "index": torch.tensor([2, 1, 0])}
    captured = capture(module, dict(inputs), form, tmp_path / "captured")
    carried_out(fxpassc, captured, module, inputs, form)
    code, _ = fxpassc.compile(captured.path, "fx-python")
    assert ("aten.reshape" in code) == (function is not view_of_what_came_before)

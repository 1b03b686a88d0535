# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views and writes that neither a schema nor a spelling shows: an index that is a tensor of one integer, vmap's dimensions,
operators that give their operand, batch norms of other backends, tensors that are no buffers."""

import pytest
import torch
import torch.nn.functional as F
from capture import Function, capture
from test_eager_cases import carried_out, numbers

FORMS = ["training", "dynamo"]


def captured(function, form, tmp_path, *tensors):
    module = function if isinstance(function, torch.nn.Module) else Function(function)
    inputs = {f"input_{k}": tensor.clone() for k, tensor in enumerate(tensors)}
    return module, inputs, capture(module, dict(inputs), form, tmp_path / "captured")


# An index that is one integer: a view, of a place that is known when the program runs ---------------------------------------
def written(x, i, j):
    x[i].add_(1)
    return x * 1


def read_after_a_write(x, i, j):
    v = x[i]
    x.add_(1)
    return v * 1


def along_each_dimension(x, i, j):
    x[:, i].mul_(3)
    x[1:, j].add_(1)
    x[i, 1:3].neg_()
    x[..., j].add_(2)
    x[i, None].sub_(5)
    return x * 1


def views_of_views(x, i, j):
    y = x.view(2, 2, 2, 2)
    y[0][:, j][1].add_(5)
    y[j, :, 0].t().mul_(2)
    v = x[i]
    v[1:3] = 7.0
    v[0] += 1
    return v * 1, x * 1


def by_assignment(x, i, j):
    x[i] = 5.0
    y = x * 1
    x[j] = x[i]
    x[i] = x[0]
    x[i, 1:] = x[j, 1:]
    x[j, i] = 0.0
    x[None, j] = 9.0
    return y, x * 1


def by_operators(x, i, j):
    x[i] += 1
    x[i, i] -= 2
    x[j] += x[i]
    x[i] *= x[j]
    return x * 1


def into_other_parts(x, i, j):
    k, v = x[:2], x[2:]
    k[j].copy_(v[j])
    v[j] += 1
    return k * 1, v * 1


def in_place_functions(x, i, j):
    F.relu(x[i] - 5, inplace=True)
    F.relu_(x[:, j])
    torch.add(x[i], 1, out=x[i])
    torch._foreach_add_([x[j], torch.zeros(4)], [torch.ones(4), torch.ones(4)])
    x[i].view(torch.int32).add_(1)
    return x * 1


def of_an_expanded_tensor(x, i, j):
    return x[0].expand(3, 4)[j] * 1


def beside_index_tensors(x, i, j):
    y = x[i, torch.tensor([0, 1])]
    y.add_(1)
    return y, x * 1


PICKS = [
    written,
    read_after_a_write,
    along_each_dimension,
    views_of_views,
    by_assignment,
    by_operators,
    into_other_parts,
    in_place_functions,
    of_an_expanded_tensor,
    beside_index_tensors,
]


# Export makes a number of the tensor, u0, and of the view one at a place that HLO does not know.
@pytest.mark.parametrize("i", [2, -2])
@pytest.mark.parametrize("function", PICKS, ids=lambda function: function.__name__)
def test_index_of_one_integer(fxpassc, tmp_path, function, i):
    module, inputs, graph = captured(function, "dynamo", tmp_path, numbers(4, 4, start=1), torch.tensor(i), torch.tensor(1))
    carried_out(fxpassc, graph, module, inputs, "dynamo")


def two_places_at_once(x, i, j):
    x[i, 1:].add_(x[j, :-1])
    return x * 1


def window_of_a_pick(x, i, j):
    x[i].as_strided((2,), (2,)).add_(1)
    return x * 1


def list_of_picks(x, i, j):
    torch._foreach_add_([x[i], x[j]], [torch.ones(4), torch.ones(4)])
    return x * 1


@pytest.mark.parametrize("function", [two_places_at_once, window_of_a_pick, list_of_picks], ids=lambda function: function.__name__)
def test_places_that_may_be_one(fxpassc, tmp_path, function):
    _, _, graph = captured(function, "dynamo", tmp_path, numbers(4, 4, start=1), torch.tensor(2), torch.tensor(1))
    result = fxpassc.run("compile", graph.path, "-o", tmp_path / "out", "--emit", "fx-python")
    assert result.returncode == 1 and "[unsupported-mutation]" in result.stderr and not (tmp_path / "out").exists()


def test_an_exported_place_that_is_not_known(fxpassc, tmp_path):
    _, _, graph = captured(written, "training", tmp_path, numbers(4, 4), torch.tensor(2), torch.tensor(1))
    result = fxpassc.run("compile", graph.path, "-o", tmp_path / "out", "--emit", "fx-python")
    assert result.returncode == 1 and "write to the index itself (index_copy_, index_put_)" in result.stderr


# vmap -------------------------------------------------------------------------------------------------------------------
def written_in_vmap(x):
    torch.vmap(lambda row: row.add_(1))(x)
    return x * 1


def written_behind_vmap(x):
    torch.vmap(lambda row: row.detach())(x).add_(1)
    return x * 1


def read_in_vmap_after_a_write(x):
    x.add_(1)
    return torch.vmap(lambda row: row * 2)(x)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", [written_in_vmap, written_behind_vmap], ids=lambda function: function.__name__)
def test_a_write_through_vmap_is_refused(fxpassc, tmp_path, function, form):
    _, _, graph = captured(function, form, tmp_path, numbers(4, 4))
    for emit in ("fx-python", "hlo-text"):
        result = fxpassc.run("compile", graph.path, "-o", tmp_path / "out", "--emit", emit)
        assert result.returncode == 1 and "through a view that fxpass cannot invert" in result.stderr


@pytest.mark.parametrize("form", FORMS)
def test_vmap_without_a_write(fxpassc, tmp_path, form):
    module, inputs, graph = captured(read_in_vmap_after_a_write, form, tmp_path, numbers(4, 4))
    code, _ = fxpassc.compile(graph.path, "fx-python")
    assert "_add_batch_dim" in code


# Operators that give their operand, and functions that give a new tensor -----------------------------------------------------
def data(x):
    torch.ops.aten.data(x).add_(1)
    return x * 1


def cast_to_its_type(x):
    torch.ops.aten._cast_Float(x).add_(1)
    torch.ops.aten._cast_Int(x).add_(1)
    return x * 1


def lifted(x):
    torch.ops.aten.lift(x).add_(1)
    return x * 1


def zeros_out(x):
    torch.zeros(4, 4, out=x)
    return x + 1


def interpolated_beside_a_write(x):
    y = F.relu(x.view(1, 1, 4, 4) - 3, inplace=True)
    z = F.interpolate(y, scale_factor=2)
    z += 1
    return z, y * 1


def functions_of_what_is_written(x):
    y = (x - 3).relu_()
    y.add_(1)
    return F.normalize(y), F.softsign(y), F.tanhshrink(y), torch.tensordot(y, x, 1), y.sum(dim=1, keepdims=True)


def new_tensors(x):
    t, s = torch.tensor([1.0, 2.0]), x.new_tensor([1.0, 2.0])
    t[1] = x[0, 0]
    s[0] = x[1, 1]
    return t, s


class PlainTensor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = torch.ones(4)

    def forward(self, x):
        self.cache.add_(x[0])
        return self.cache * 2


PLAIN = [
    data,
    cast_to_its_type,
    lifted,
    zeros_out,
    interpolated_beside_a_write,
    functions_of_what_is_written,
    new_tensors,
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", PLAIN, ids=lambda function: function.__name__)
def test_carried_out(fxpassc, tmp_path, function, form):
    module, inputs, graph = captured(function, form, tmp_path, numbers(4, 4, start=1))
    carried_out(fxpassc, graph, module, inputs, form)


def data_of_a_tensor(x):
    x.data.mul_(2)
    return x * 1


def test_data_attribute(fxpassc, tmp_path):  # which export does not capture
    module, inputs, graph = captured(data_of_a_tensor, "dynamo", tmp_path, numbers(4, 4, start=1))
    carried_out(fxpassc, graph, module, inputs, "dynamo")


def test_a_tensor_that_is_no_buffer(fxpassc, tmp_path):  # Dynamo makes an input of it
    module, inputs, graph = captured(PlainTensor(), "training", tmp_path, numbers(4, 4, start=1))
    carried_out(fxpassc, graph, module, inputs, "training")
    _, signature = fxpassc.compile(graph.path)
    assert [output["kind"] for output in signature["outputs"]] == ["user_output", "buffer_mutation"]


# Batch norms that update statistics, in the same words whether or not fxpass knows their schemas ------------------------------
def batch_norm(operator):
    def run(x, mean, variance):
        y = operator(x, None, None, mean, variance, True, 0.5, 1e-5)[0]
        return y + mean

    return run


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["native_batch_norm", "_batch_norm_impl_index", "cudnn_batch_norm", "miopen_batch_norm"])
def test_batch_norms_of_other_backends(fxpassc, tmp_path, name, form):
    packet = getattr(torch.ops.aten, name)
    inputs = [numbers(4, 3), torch.zeros(3), torch.ones(3)]
    if name == "native_batch_norm":
        module, named, graph = captured(batch_norm(packet), form, tmp_path, *inputs)
        return carried_out(fxpassc, graph, module, named, form)
    more = ", False" if name == "_batch_norm_impl_index" else ""
    path = tmp_path / "graph.txt"
    path.write_text(
        'class GraphModule(torch.nn.Module):\n'
        '    def forward(self, x: "f32[4, 3][3, 1]cuda:0", m: "f32[3][1]cuda:0", v: "f32[3][1]cuda:0"):\n'
        f"        out = torch.ops.aten.{name}.default(x, m, None, m, v, True, 0.1, 1e-05{more})\n"
        '        getitem: "f32[4, 3][3, 1]cuda:0" = out[0]\n'
        "        return (getitem,)\n"
    )
    result = fxpassc.run("compile", path, "-o", tmp_path / "out", "--emit", "fx-python")
    assert result.returncode == 1 and "writes into a tensor in a way that fxpass does not carry out" in result.stderr

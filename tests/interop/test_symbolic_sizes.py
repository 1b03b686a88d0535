# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs exported for sizes that are symbols: bound to numbers they compute what eager PyTorch computes for inputs of
those sizes."""

import json
import re

import pytest
import torch
from capture import assert_close, state_of
from fx_to_json import dump
from torch.export import Dim
from xla_runner import Executable, Session


class Batched(torch.nn.Module):
    """Sizes of inputs in views, slices, fills and a buffer's update."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.register_buffer("seen", torch.zeros(8))

    def forward(self, x, y):
        rows, columns = x.shape[0], x.shape[1]
        h = self.linear(x).view(rows * columns, 8)
        h = torch.cat([h, h])[: rows * columns]
        self.seen.add_(h.sum(0) + columns)
        filled = torch.full((rows, columns), 0.5)
        counted = torch.arange(columns)
        h = h.reshape(rows, columns, 8) + y[:, : columns - 1].mean()
        return h + filled[..., None] + counted[None, :, None], columns + 1


class Derived(torch.nn.Module):
    """Sizes that are computed from sizes, and what the program asserts of them."""

    def forward(self, x, y):
        torch._check(x.shape[0] % 2 == 0)
        half = x.shape[0] // 2
        folded = x[:half] + x[half:]
        padded = torch.nn.functional.pad(folded, (0, x.shape[1] % 3))
        first = x.unflatten(0, (2, -1)).mean(0)
        return (
            padded,
            first + y[:half],
            x.reshape(-1).shape[0] * 2,
            x.new_zeros(max(x.shape[0], 7)),
            torch.arange(x.shape[1] - 1, -1, -1),
            x.sum() / x.shape[0],
        )


class Decoder(torch.nn.Module):
    """Attention over as many tokens as there are."""

    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(16, 48)

    def forward(self, x, y):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return attended.transpose(1, 2).reshape(batch, length, 16) * y


def batched(rows, columns):
    return {"x": torch.randn(rows, columns, 8), "y": torch.randn(rows, columns)}


def derived(half, columns):
    return {"x": torch.randn(2 * half, columns), "y": torch.randn(2 * half, columns)}


def decoded(rows, columns):
    return {"x": torch.randn(rows, columns, 16), "y": torch.randn(16)}


ROWS, COLUMNS, HALF = Dim("rows", min=2, max=64), Dim("columns", min=4, max=4096), Dim("half", min=2, max=32)
CASES = {
    "batched": (Batched, batched, ({0: ROWS, 1: COLUMNS}, {0: ROWS, 1: COLUMNS})),
    "derived": (Derived, derived, ({0: 2 * HALF, 1: COLUMNS}, {0: 2 * HALF, 1: COLUMNS})),
    "decoder": (Decoder, decoded, ({0: ROWS, 1: COLUMNS}, None)),
}
SIZES = [(3, 6), (2, 4), (5, 17)]


def captured(name, form, directory):
    """The program's file, and how each of the two sizes is called in it."""
    make, inputs_of, dynamic = CASES[name]
    torch.manual_seed(0)
    module = make().eval()
    inputs = inputs_of(3, 7)  # all different: Dynamo gives equal sizes one symbol
    if form == "dynamo":
        path = directory / "program.json"
        names = {}

        def backend(gm, example_inputs):
            owners = {id(tensor): owner for owner, tensor in state_of(module, inputs).items()}
            for node, value in zip(gm.graph.find_nodes(op="placeholder"), example_inputs, strict=True):
                if isinstance(value, torch.Tensor):
                    names[node.name] = owners[id(value)]
            dump(gm, path, example_inputs)
            return gm.forward

        torch._dynamo.reset()
        torch.compile(module, backend=backend, fullgraph=True, dynamic=True)(*inputs.values())
        graph = json.loads(path.read_text())["graph"]
        shapes = {
            names[node["name"]]: node["value"]["shape"]
            for node in graph["nodes"]
            if node["op"] == "placeholder" and node["name"] in names
        }
        symbols = [re.search(r"s\d+", str(size)).group() for size in shapes["x"][:2]]
        return module, path, symbols, names
    path = directory / "program.pt2"
    program = torch.export.export(module, tuple(inputs.values()), dynamic_shapes=dynamic, strict=True)
    if form == "decomposed":
        program = program.run_decompositions()
    torch.export.save(program, path)
    x = next(node for node in program.graph.nodes if node.name == "x")
    symbols = [re.search(r"s\d+", str(size)).group() for size in x.meta["val"].shape[:2]]
    return module, path, symbols, None


def owner_of(entry, names):
    return names[entry["name"]] if names else Session.key(entry)


@pytest.mark.parametrize("form", ["training", "decomposed", "dynamo"])
@pytest.mark.parametrize("name", CASES)
def test_bound_sizes_are_eagers(fxpassc, tmp_path, name, form):
    module, path, symbols, names = captured(name, form, tmp_path)
    # Dynamo's 2*half is a symbol of its own.
    factor = 2 if (name, form) == ("derived", "dynamo") else 1
    choices = [f"{symbols[0]}={','.join(str(factor * rows) for rows, _ in SIZES)}"]
    choices.append(f"{symbols[1]}={','.join(str(columns) for _, columns in SIZES)}")
    folder = tmp_path / "modules"
    arguments = [argument for choice in choices for argument in ("--bind", choice)]
    result = fxpassc.run("compile", path, "--emit", "hlo-text", "-o", folder, *arguments)
    assert result.returncode == 0, result.stderr

    manifest = json.loads((folder / "manifest.json").read_text())["modules"]
    assert len(manifest) == len(SIZES) ** 2
    files = {entry[kind] for entry in manifest for kind in ("module", "signature")}
    assert {path.name for path in folder.iterdir()} == {"manifest.json", *files}
    for rows, columns in SIZES:
        bindings = {symbols[0]: factor * rows, symbols[1]: columns}
        entry = next(entry for entry in manifest if entry["bindings"] == bindings)
        signature = json.loads((folder / entry["signature"]).read_text())
        inputs = CASES[name][1](rows, columns)
        state = state_of(module, {key: tensor.clone() for key, tensor in inputs.items()})
        values = {
            Session.key(spec): state[owner_of(spec, names)].clone()
            for spec in signature["inputs"]
            if spec["hlo_parameter"] is not None
        }
        session = Session(Executable((folder / entry["module"]).read_text()), signature, values)
        outputs = session.run()
        expected = module(*inputs.values())
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        for k, (actual, wanted) in enumerate(zip(outputs, expected, strict=True)):
            if isinstance(wanted, torch.Tensor):
                assert_close(actual, wanted, f"{bindings}: output {k}")
            else:
                assert actual == wanted
        if name == "batched":
            key = next(key for spec in signature["inputs"] if (key := Session.key(spec)) and
                       spec["hlo_parameter"] is not None and owner_of(spec, names) == "seen")
            assert_close(session.get(key), module.seen, f"{bindings}: seen")


def test_what_is_bound_wrongly_is_refused(fxpassc, tmp_path):
    _, path, (rows, columns), _ = captured("derived", "training", tmp_path)

    def refusal(*choices):
        arguments = [argument for choice in choices for argument in ("--bind", choice)]
        result = fxpassc.run("compile", path, "--emit", "hlo-text", "-o", tmp_path / "out", *arguments)
        assert result.returncode == 1 and not (tmp_path / "out").exists()
        return result.stderr

    assert f"a size is {columns}, but HLO needs a number" in refusal(f"{rows}=4")
    assert "no lowering" not in refusal(f"{rows}=4")
    assert f"{rows} would be 400, but the program was exported for at least 2 and at most 32" in refusal(
        f"{rows}=400", f"{columns}=8"
    )
    assert f"no size of the program is called s999; it has {rows} {columns}" in refusal(
        f"{rows}=4", f"{columns}=8", "s999=1"
    ) or f"it has {columns} {rows}" in refusal("s999=1")
    assert f"with {rows}=3,{columns}=2: " in refusal(f"{rows}=3", f"{columns}=4,2")


def test_ranges_are_read_back(fxpassc, tmp_path):
    _, path, (rows, columns), _ = captured("batched", "training", tmp_path)
    written = tmp_path / "program.json"
    again = tmp_path / "again.json"
    for source, target in ((path, written), (written, again)):
        result = fxpassc.run("compile", source, "-o", target, "--no-fx-passes")
        assert result.returncode == 0, result.stderr
    assert json.loads(written.read_text())["graph"]["sizes"] == {rows: [2, 64], columns: [4, 4096]}
    assert written.read_text() == again.read_text()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that are spread over eight (virtual CPU) devices against the same layers on one: attention and MLP that share
heads, columns and the sequence; experts that live on a device each; and each collective by itself."""

import math

import pytest
import torch
import torch.distributed._functional_collectives  # noqa: F401  (traces collectives without a process group)
from capture import Function, assert_close, capture
from xla_runner import DEVICES, Executable, Session

collectives = torch.ops._c10d_functional
BATCH, LENGTH, WIDTH, HEADS = 2, 8, 16, 4
# Two groups of four that are not the first and the last devices.
GROUPS = [[0, 2, 4, 6], [1, 3, 5, 7]]
RANKS = len(GROUPS[0])
EXPERTS, CAPACITY = DEVICES, 3
FORMS = ["training", "decomposed", "dynamo"]


def randoms(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def option(name, groups):
    return name + "=" + ";".join(",".join(map(str, group)) for group in groups)


def on_devices(fxpassc, tmp_path, module, inputs, form, groups, emit="hlo-text"):
    """The outputs of `module` on each device, on that device's inputs."""
    # Dynamo then runs the captured program for real, which needs a process group; it is written by then.
    program = capture(module, inputs[0], form, tmp_path / form, raises=(Exception,))
    compiled, signature = fxpassc.compile(
        program.path, emit, "--world-size", DEVICES, "--process-group", groups
    )
    executable = Executable(compiled, replicas=DEVICES)
    return Session(executable, signature, [program.values(values) for values in inputs]).run()


def attention(x, qkv, out, heads):
    """x [length, batch, width]: the sequence is first, which is what collectives gather and scatter."""
    length, batch, _ = x.shape
    q, k, v = (x @ qkv).view(length, batch, heads, 3, -1).permute(3, 1, 2, 0, 4).unbind(0)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return (weights @ v).permute(2, 0, 1, 3).reshape(length, batch, -1) @ out


def mlp(x, up, down):
    return torch.nn.functional.silu(x @ up) @ down


def norm(x):
    return torch.nn.functional.rms_norm(x, (WIDTH,))


def layer(x, qkv, out, up, down):
    x = x + attention(norm(x), qkv, out, HEADS)
    return x + mlp(norm(x), up, down)


class SequenceParallelLayer(torch.nn.Module):
    """A device's part: its piece of the sequence, its heads, its columns. Between the two the pieces are gathered, and
    what was summed is scattered again."""

    def forward(self, x, qkv, out, up, down):
        def whole(piece):
            return collectives.wait_tensor(collectives.all_gather_into_tensor(piece, RANKS, "tp"))

        def pieces(partial):
            return collectives.wait_tensor(collectives.reduce_scatter_tensor(partial, "sum", RANKS, "tp"))

        x = x + pieces(attention(whole(norm(x)), qkv, out, HEADS // RANKS))
        return (x + pieces(mlp(whole(norm(x)), up, down)),)


@pytest.mark.parametrize("form", FORMS)
def test_sequence_parallel_attention_and_mlp(fxpassc, tmp_path, form):
    qkv, out = randoms(0, WIDTH, 3 * WIDTH), randoms(1, WIDTH, WIDTH)
    up, down = randoms(2, WIDTH, 4 * WIDTH), randoms(3, 4 * WIDTH, WIDTH)
    inputs, expected = [None] * DEVICES, [None] * DEVICES
    for number, group in enumerate(GROUPS):
        x = randoms(10 + number, LENGTH, BATCH, WIDTH)
        result = layer(x, qkv, out, up, down)
        for place, device in enumerate(group):
            inputs[device] = {
                "x": x.chunk(RANKS)[place],
                "qkv": qkv.chunk(RANKS, 1)[place],
                "out": out.chunk(RANKS)[place],
                "up": up.chunk(RANKS, 1)[place],
                "down": down.chunk(RANKS)[place],
            }
            expected[device] = result.chunk(RANKS)[place]
    outputs = on_devices(fxpassc, tmp_path, SequenceParallelLayer(), inputs, form, option("tp", GROUPS))
    for device, (output,) in enumerate(outputs):
        assert_close(output, expected[device], f"device {device}")


class ExpertParallelLayer(torch.nn.Module):
    """Each device has tokens of its own and one expert. A token goes to the expert that its router names, as long as
    there is room; tokens travel in equal parts, so an expert has room for CAPACITY of each device."""

    def forward(self, x, router, up, down):
        gate, expert = (x @ router).softmax(-1).max(-1)
        choice = torch.nn.functional.one_hot(expert, EXPERTS)
        place = ((choice.cumsum(0) - 1) * choice).sum(-1)
        has_room = place < CAPACITY
        slot = torch.where(has_room, expert * CAPACITY + place, EXPERTS * CAPACITY)
        sent = x.new_zeros(EXPERTS * CAPACITY + 1, WIDTH).index_put((slot,), x)[:-1]
        equal = [CAPACITY] * EXPERTS
        there = collectives.wait_tensor(collectives.all_to_all_single(sent, equal, equal, "world"))
        back = collectives.wait_tensor(collectives.all_to_all_single(mlp(there, up, down), equal, equal, "world"))
        done = torch.cat([back, back.new_zeros(1, WIDTH)])[slot]
        return (x + done * gate.unsqueeze(-1) * has_room.unsqueeze(-1),)


@pytest.mark.parametrize("form", FORMS)
def test_expert_parallel_layer(fxpassc, tmp_path, form):
    router = randoms(4, WIDTH, EXPERTS)
    ups, downs = randoms(5, EXPERTS, WIDTH, 2 * WIDTH), randoms(6, EXPERTS, 2 * WIDTH, WIDTH)
    inputs, expected, dropped = [], [], 0
    for device in range(DEVICES):
        x = randoms(20 + device, 12, WIDTH)
        gate, expert = (x @ router).softmax(-1).max(-1)
        result, count = x.clone(), [0] * EXPERTS
        for token, number in enumerate(expert.tolist()):
            count[number] += 1
            if count[number] <= CAPACITY:
                result[token] += gate[token] * mlp(x[token], ups[number], downs[number])
            else:
                dropped += 1
        inputs.append({"x": x, "router": router, "up": ups[device], "down": downs[device]})
        expected.append(result)
    assert dropped > 0
    world = option("world", [list(range(DEVICES))])
    outputs = on_devices(fxpassc, tmp_path, ExpertParallelLayer(), inputs, form, world)
    for device, (output,) in enumerate(outputs):
        assert_close(output, expected[device], f"device {device}")



# The collective, and what rank `place` of the group gets: `values` has each rank's two tensors.
COLLECTIVES = {
    "all_reduce sum": (
        lambda x, y: [collectives.all_reduce(x, "sum", "tp")],
        lambda values, place: [sum(x for x, _ in values)],
    ),
    "all_reduce max": (
        lambda x, y: [collectives.all_reduce(x, "max", "tp")],
        lambda values, place: [torch.stack([x for x, _ in values]).amax(0)],
    ),
    "all_reduce avg": (
        lambda x, y: [collectives.all_reduce(x, "avg", "tp")],
        lambda values, place: [torch.stack([x for x, _ in values]).mean(0)],
    ),
    "all_reduce product": (
        lambda x, y: [collectives.all_reduce(x, "product", "tp")],
        lambda values, place: [torch.stack([x for x, _ in values]).prod(0)],
    ),
    "all_reduce_coalesced": (
        lambda x, y: collectives.all_reduce_coalesced([x, y], "min", "tp"),
        lambda values, place: [torch.stack([value[k] for value in values]).amin(0) for k in range(2)],
    ),
    "all_gather": (
        lambda x, y: [collectives.all_gather_into_tensor(y, RANKS, "tp")],
        lambda values, place: [torch.cat([y for _, y in values])],
    ),
    "all_gather_coalesced": (
        lambda x, y: collectives.all_gather_into_tensor_coalesced([x, y], RANKS, "tp"),
        lambda values, place: [torch.cat([value[k] for value in values]) for k in range(2)],
    ),
    "reduce_scatter": (
        lambda x, y: [collectives.reduce_scatter_tensor(x, "sum", RANKS, "tp")],
        lambda values, place: [sum(x for x, _ in values).chunk(RANKS)[place]],
    ),
    "reduce_scatter_coalesced": (
        lambda x, y: collectives.reduce_scatter_tensor_coalesced([x, y], "avg", RANKS, "tp"),
        lambda values, place: [
            torch.stack([value[k] for value in values]).mean(0).chunk(RANKS)[place] for k in range(2)
        ],
    ),
    "all_to_all": (
        lambda x, y: [collectives.all_to_all_single(x, [2] * RANKS, [2] * RANKS, "tp")],
        lambda values, place: [torch.cat([x.chunk(RANKS)[place] for x, _ in values])],
    ),
    "broadcast": (
        lambda x, y: [collectives.broadcast(x, 2, "tp"), collectives.broadcast(y, 0, "tp")],
        lambda values, place: [values[2][0], values[0][1]],
    ),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collective(fxpassc, tmp_path, name):
    collective, expectation = COLLECTIVES[name]
    values = [(randoms(30 + device, 8, 3), randoms(40 + device, 4, 2)) for device in range(DEVICES)]
    for x, y in values:
        x[0, 0], y[0, 0] = -0.0, math.inf
    inputs = [{"x": x, "y": y} for x, y in values]
    module = Function(lambda x, y: tuple(collectives.wait_tensor(result) for result in collective(x, y)))
    outputs = on_devices(fxpassc, tmp_path, module, inputs, "training", option("tp", GROUPS))
    for group in GROUPS:
        of_group = [values[device] for device in group]
        for place, device in enumerate(group):
            wanted = expectation(of_group, place)
            for k, (actual, tensor) in enumerate(zip(outputs[device], wanted, strict=True)):
                assert_close(actual, tensor, f"device {device}, result {k}")
                if name == "broadcast":
                    assert torch.equal(actual.signbit(), tensor.signbit())


def test_collectives_of_a_group_keep_their_order(fxpassc, tmp_path):
    """Of independent collectives too: each rank has to meet the others in the same one."""

    def several(x, y):
        first = collectives.all_reduce(x, "sum", "tp")
        second = collectives.all_reduce(y, "max", "tp")
        third = collectives.all_gather_into_tensor(x, RANKS, "tp")
        return tuple(map(collectives.wait_tensor, (third, second, first)))

    inputs = {"x": torch.ones(8, 3), "y": torch.ones(4, 2)}
    program = capture(Function(several), inputs, "training", tmp_path / "several")
    groups = ("--world-size", DEVICES, "--process-group", option("tp", GROUPS))
    text, _ = fxpassc.compile(program.path, "hlo-text", *groups)
    again, _ = fxpassc.compile(program.path, "hlo-text", *groups)
    channels = [line.split("channel_id=")[1].split(",")[0] for line in text.splitlines() if "channel_id=" in line]
    kinds = [line.split(" = ")[1].split("(")[0].split()[-1] for line in text.splitlines() if "channel_id=" in line]
    assert text == again
    assert list(zip(kinds, channels)) == [("all-reduce", "1"), ("all-reduce", "2"), ("all-gather", "3")]

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tensor-parallel MLP on eight (virtual CPU) devices against the same MLP on one."""

import pytest
import torch
import torch.distributed._functional_collectives  # noqa: F401  (traces collectives without a process group)
from capture import FORMS, assert_close, capture
from xla_runner import DEVICES, Executable, Session

BATCH, WIDTH, HIDDEN = 3, 8, 16
collectives = torch.ops._c10d_functional


class Shard(torch.nn.Module):
    """One device's part: columns of `up`, rows of `down`. Also gathers the hidden layer whole."""

    def __init__(self, ranks):
        super().__init__()
        self.ranks = ranks

    def forward(self, x, up, bias, down):
        hidden = torch.relu(torch.matmul(x, up) + bias)
        out = collectives.wait_tensor(collectives.all_reduce(torch.matmul(hidden, down), "sum", "tp"))
        gathered = collectives.wait_tensor(collectives.all_gather_into_tensor(hidden, self.ranks, "tp"))
        whole = gathered.view(self.ranks, x.shape[0], -1).permute(1, 0, 2).reshape(x.shape[0], -1)
        return out, whole


def weights(seed):
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(shape, generator=generator) for shape in ((WIDTH, HIDDEN), (HIDDEN,), (HIDDEN, WIDTH))
    ]


# The partition of the devices.
LAYOUTS = {
    "one group": [[0, 1, 2, 3, 4, 5, 6, 7]],
    "two groups of four": [[0, 1, 2, 3], [4, 5, 6, 7]],
    "strided groups": [[0, 4], [1, 5], [2, 6], [3, 7]],
    "ranks out of order": [[6, 0], [3, 1], [2, 7], [4, 5]],
}


def option(groups):
    return "tp=" + ";".join(",".join(map(str, group)) for group in groups)


@pytest.mark.parametrize("emit", ["hlo-text", "hlo-proto"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_equals_one_device(fxpassc, tmp_path, layout, form, emit):
    groups = LAYOUTS[layout]
    up, bias, down = weights(0)
    ranks = len(groups[0])
    values, expected = [None] * DEVICES, [None] * DEVICES
    for group_number, group in enumerate(groups):
        x = torch.randn(BATCH, WIDTH, generator=torch.Generator().manual_seed(group_number))
        hidden = torch.relu(x @ up + bias)
        for place, device in enumerate(group):
            values[device] = {
                "x": x,
                "up": up.chunk(ranks, dim=1)[place],
                "bias": bias.chunk(ranks)[place],
                "down": down.chunk(ranks)[place],
            }
            expected[device] = hidden @ down, hidden
    # Dynamo then runs the captured program for real, which needs a process group; it is written by then.
    program = capture(Shard(ranks), values[0], form, tmp_path / "shard", raises=(Exception,))
    module, signature = fxpassc.compile(
        program.path, emit, "--world-size", DEVICES, "--process-group", option(groups)
    )
    session = Session(
        Executable(module, replicas=DEVICES), signature, [program.values(value) for value in values]
    )
    for device, outputs in enumerate(session.run()):
        for output, value, what in zip(outputs, expected[device], ("output", "hidden layer"), strict=True):
            assert_close(output, value, f"device {device}: {what}")


def test_replica_groups_are_the_complete_partition(fxpassc, tmp_path):
    up, bias, down = weights(0)
    value = {"x": torch.ones(BATCH, WIDTH), "up": up[:, :4], "bias": bias[:4], "down": down[:4]}
    program = capture(Shard(2), value, "training", tmp_path / "shard")
    text, _ = fxpassc.compile(program.path, "hlo-text", "--world-size", 4, "--process-group", "tp=2,3;0,1")
    assert text.replace(" ", "").count("replica_groups={{0,1},{2,3}}") == 2


@pytest.mark.parametrize("groups", ["other=0,1,2,3", "tp=0,1", "tp=0,1;1,2", "tp=0,1,2;3", "tp=0,1;2,9"])
def test_groups_that_are_no_partition_are_refused(fxpassc, tmp_path, groups):
    up, bias, down = weights(0)
    value = {"x": torch.ones(BATCH, WIDTH), "up": up[:, :4], "bias": bias[:4], "down": down[:4]}
    program = capture(Shard(4), value, "training", tmp_path / "shard")
    result = fxpassc.run(
        "compile", program.path, "-o", tmp_path / "out.hlo", "--world-size", 4, "--process-group", groups
    )
    assert result.returncode == 1, result.stderr
    assert "error: " in result.stderr and "tp" in result.stderr
    assert not (tmp_path / "out.hlo").exists()

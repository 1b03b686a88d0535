# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the archives of this directory, which the unit tests of the readers open.

    python tests/data/make_exports.py        needs PyTorch; made with 2.13
"""

import pathlib

import torch
from torch.export import Dim, export, save

HERE = pathlib.Path(__file__).resolve().parent


class SharedBuffers(torch.nn.Module):
    """Two buffers on one storage, one that is not persistent, a constant, and writes into buffers."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3, 3))
        self.register_buffer("cache", torch.zeros(4, 3))
        self.register_buffer("cache_row", self.cache[1])
        self.register_buffer("scratch", torch.ones(3), persistent=False)
        self.offset = torch.full((3,), 2.0)

    def forward(self, x):
        self.cache[2:3].copy_(x)
        self.scratch.mul_(2)
        return x @ self.weight + self.offset + self.scratch + self.cache_row


class Regions(torch.nn.Module):
    """A region without autocast inside one without gradients, and one that stands alone."""

    def forward(self, x):
        with torch.no_grad():
            y = x.sin()
            with torch.autocast("cpu", enabled=False):
                y = y.float() * 2
            z = y.cos()
        with torch.autocast("cpu", enabled=False):
            return y + z, x.exp()


class EnabledAutocast(torch.nn.Module):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x


class Dynamic(torch.nn.Module):
    """A symbolic batch, calls with several results some of which nobody reads, infinities, and constant inputs."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x, mask, scale, nothing):
        self.steps.add_(1)
        mask.mul_(2)
        first, _, last = x.split([1, 2, 1], dim=1)
        values, _ = torch.max(torch.where(mask > 0, x, float("-inf")), dim=1)
        return torch.cat([first, last], 1) * scale, values, x.new_zeros(x.shape[0] * 2 + 1)


class Branches(torch.nn.Module):
    def forward(self, flag, x):
        return torch.cond(flag, lambda t: t.sin() + 1, lambda t: t.cos(), (x,))


def write(program, name):
    """Save without the paths of this machine: they have no place in a file that is committed."""
    graphs = [module.graph for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    for node in (node for graph in graphs for node in graph.nodes):
        if node.stack_trace:
            node.meta["stack_trace"] = node.stack_trace.replace(f"{HERE}/", "")
    save(program, HERE / name)


def main():
    matrix = torch.ones(4, 4)
    batch = Dim("batch", min=2, max=64)
    write(export(SharedBuffers(), (torch.ones(1, 3),)), "shared_buffers.pt2")
    write(export(Regions(), (matrix,)), "regions.pt2")
    write(export(EnabledAutocast(), (matrix,)), "enabled_autocast.pt2")
    write(export(Branches(), (torch.tensor(True), matrix)), "branches.pt2")
    dynamic = export(
        Dynamic(),
        (torch.ones(3, 4), torch.ones(3, 4), 2.5, None),
        dynamic_shapes=({0: batch}, {0: batch}, None, None),
    )
    write(dynamic, "dynamic.pt2")
    write(dynamic.run_decompositions({}), "dynamic_functional.pt2")


if __name__ == "__main__":
    main()

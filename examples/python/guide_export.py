# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Step 1 of docs/guide.md: exports a model that keeps a running sum.

    python guide_export.py [OUT.pt2]

OUT is guide.pt2 unless given. examples/data/guide.pt2 is what this wrote.
"""

import sys

import torch


class RunningSum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        self.total.add_(x.sum(0))  # a write: the next call sees it
        return x * self.total


if __name__ == "__main__":
    program = torch.export.export(RunningSum(), (torch.ones(2, 4),))
    torch.export.save(program, sys.argv[1] if len(sys.argv) > 1 else "guide.pt2")

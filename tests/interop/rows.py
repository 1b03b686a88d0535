# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small programs that write tensors in place: through views, by setitem in every index form, with promotion.

A row is a program on `x` and on the other tensors it names; what it assigns to `o` is its output. The oracle
is eager PyTorch. Tensors that the program needs (indices, values, masks) are inputs, so that a row is about
writes alone. The ids group the rows: W writes that are easily lost, C easily corrupted, F easily refused, R
plain regressions.
"""

from dataclasses import dataclass, field

import torch

f32, f16, bf16, i64 = torch.float32, torch.float16, torch.bfloat16, torch.int64


def count(*shape, dtype=f32):
    return torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)


def ones(*shape):
    return torch.ones(shape)


def indices(*values):
    return torch.tensor(values)


@dataclass
class Row:
    id: str
    program: str
    x: torch.Tensor = field(default_factory=lambda: count(4, 3))
    inputs: dict = field(default_factory=dict)

    def function(self):
        # `z` has nothing to do with `x`; a program without an output of its own returns something of it.
        names = ", ".join(["x", "z", *self.inputs])
        lines = [
            f"def program({names}):",
            "    o = None",
            f"    {self.program}",
            "    return -z if o is None else o",
        ]
        source = "\n".join(lines)
        scope = {"torch": torch, "F": torch.nn.functional}
        exec(compile(source, f"row_{self.id}.py", "exec"), scope)
        return scope["program"]

    def arguments(self):
        """Fresh input tensors by name, in the function's order."""
        named = {"x": self.x, "z": torch.tensor([1.0, 2.0]), **self.inputs}
        return {name: tensor.clone() for name, tensor in named.items()}


def row(id, program, x=None, **inputs):
    return Row(id, program, count(4, 3) if x is None else x, inputs)


ROWS = [
    row("W1", "v = x[0]; v.copy_(a)", a=ones(3)),
    row("W1b", "x[..., 0].add_(1)"),
    row("W2", "x.chunk(2)[0].add_(1)"),
    row("W3", "x += 1"),
    row("W3c", "x //= 2"),
    row("W4", "torch.add(a, 1, out=x)", a=ones(4, 3)),
    row("W5", "F.relu(x.sub_(5), inplace=True)"),
    row("W8a", "x.T.add_(i)", i=indices(0, 1, 2, 3)),
    row("W8b", "x.diagonal().add_(1)", count(3, 3)),
    row("W8c", "x.detach().add_(1)"),
    row("W8e", "x.contiguous().add_(1)"),
    row("W9", "x[0:2].add_(1); o=x.clone()"),
    row("W10", "x.view(-1).add_(1); x.mul_(2)"),
    row(
        "W11",
        "w = x.view(-1); w.index_fill_(0, i, 1.); x.view(-1).index_fill_(0, j, 2.); w.index_fill_(0, k, 3.)",
        i=indices(0),
        j=indices(1),
        k=indices(2),
    ),
    row(
        "W12",
        "x.view(-1).index_fill_(0, i, 10.); x.view(-1).index_fill_(0, j, 20.); o=x.view(-1).clone()",
        i=indices(0),
        j=indices(1),
    ),
    row("W13", "w = x.view(-1); x.view(2, 6).add_(1); o=w.clone()"),
    row("W14", "w = x[0]; x.add_(1); o=w.clone()"),
    row("W15", "y = x.view(4, 3); x.add_(1); o=y.clone()"),
    row("C1", "o=x.t()", count(3, 3)),
    row("C2", "o=x[i, :].reshape(4, 3)", i=indices(3, 2, 1, 0)),
    row("C3", "x[i, :].mul_(2); o=x.sum()", i=indices(3, 2, 1, 0)),
    row("C4", "x.t().mul_(2)"),
    row("C4b", "x.t().mul_(2); o=x.clone()", count(3, 3)),
    row("C5", "x.t().reshape(-1).add_(1)"),
    row("C6a", "x.add_(a)", count(4, 3, dtype=bf16), a=torch.full((4, 3), 0.3)),
    row("C6b", "x.eq_(5)"),
    row("C6c", "x.mul_(1.5)", count(4, 3, dtype=f16)),
    row("C7", "x[1:3] = a", count(4, 3, dtype=i64), a=torch.full((2, 3), 2.7)),
    row("C7b", "x[x > 5] = 2.7", count(4, 3, dtype=i64)),
    row("C8a", "x[:, i] = a", i=indices(0, 2), a=torch.tensor(9.0)),
    row("C8b", "x[1, i] = a", i=indices(0, 2), a=torch.tensor(9.0)),
    row("C8c", "x[i, 1:3] = a", i=indices(0, 2), a=torch.tensor(9.0)),
    row("C8d", "x[:, i] = a", i=indices(0, 2), a=count(4, 2)),
    row("C8e", "x[0, :, i] = a", count(2, 3, 4), i=indices(0, 3), a=torch.tensor(9.0)),
    row("C8f", "x[i, :, 1] = a", count(2, 3, 4), i=indices(1), a=torch.tensor(9.0)),
    row("C8g", "x[None, i] = 5.", i=indices(0, 2)),
    row("C9", "x[-1, 0:2] = 9."),
    row("C9b", "x[-1] = a", a=ones(3)),
    row("C10", "x[m] = 0.", count(3, 3), m=torch.tensor([True, False, False])),
    row("C10b", "x[m] = a", m=torch.tensor([True, False, True, False]), a=ones(3) * 5),
    row("F2a", "x[2] = a", a=torch.tensor(7.0)),
    row("F2b", "x[2] = a", a=ones(1, 3)),
    row("F2c", "x[0:2] = a", a=ones(3)),
    row("F2d", "x[:] = a", a=ones(3)),
    row("F2e", "x[0, 1:3] = a", a=ones(2)),
    row("F2f", "x[0, 1] = a", count(2, 3, 4), a=ones(4)),
    row("F2g", "x[1:3, 0:2] = a", a=ones(2)),
    row("F2h", "x[0:1, 1] = a", count(2, 3, 4), a=ones(4)),
    row("F3a", "x[1:-1] = a", a=ones(2, 3)),
    row("F3b", "x[1:100] = a", a=ones(3, 3)),
    row("F3c", "x[5:] = 0."),
    row("F3d", "x[3:1] = 0."),
    row("F3f", "x[1::2] = 0."),
    row("F4", "x[1:3] = a", a=ones(1, 2, 3)),
    row("F5a", "x[:, :] = 0."),
    row("F5b", "x[...] = 0."),
    row("F6", "x[i] = 0.", i=indices(0, 2)),
    row("F7a", "x[[0, 2]] = 0."),
    row("F7d", "x[1:, [-1, 0]] = a", a=ones(3, 2)),
    row("F7e", "x[[True, False, False, True]] = 5."),
    row("F7f", "x[[0, 0]] += 1; o=x[[1, 2]]"),
    row("F7b", "x[None, 0] = 0."),
    row("F7c", "x[None] = 0."),
    row("F8a", "x[True] = 0."),
    row("F8b", "x[False] = 0."),
    row("F9", "x[x > 8] = a", a=torch.tensor([100.0, 101.0, 102.0])),
    row("F10a", "x.zero_()"),
    row("F10b", "x.fill_(3)"),
    row("F10c", "x.fill_diagonal_(-1)"),
    row("F12", "x.copy_(a)", torch.tensor(1.0), a=torch.tensor(2.0)),
    row("F12b", "x.view(1).add_(1)", torch.tensor(1.0)),
    row("R1", "x.copy_(x.flip(0))"),
    row("R2", "x[0:2] = x[1:3]"),
    row("R3", "x[1:3].copy_(x[0:2].clone())"),
    row("R6", "x.scatter_(1, i, 9.)", i=torch.tensor([[0], [2]])),
    row("R7", "x.index_copy_(0, i, a)", i=indices(3, 0), a=ones(2, 3)),
    row("R8", "x.index_add_(0, i, a)", i=indices(3, 0), a=ones(2, 3)),
    row("R9", "x.masked_fill_(x > 5, 0.)"),
    row("R10", "x.addcmul_(a, b, value=2)", a=ones(4, 3), b=ones(4, 3)),
    row("R11", "x.unsqueeze(0).expand(2, 4, 3).add_(1)"),
    row("R11b", "x.unsqueeze(0).expand(1, 4, 3).add_(1)"),
    row("R12", "x.sub_(1).mul_(2); o=x.clone()"),
    row("R14", "x.as_strided((2, 2), (3, 1), 4).fill_(0)"),
]

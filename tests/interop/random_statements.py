# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of views, writes and reads, each a function of its seed.

A program is grown statement by statement and run by eager PyTorch as it grows: a statement that eager refuses
is left out (or, in some programs, kept as the last one: everybody has to refuse such a program). Numbers stay
small, so that no result depends on the order of an addition. In one program of 16, tensors may be written while overlapping
ones are read: what depends on the order in which PyTorch walks over them has to be refused. In another one of 16, tensors
stand for the integers of an index, of which export captures few.
"""

import random
import re
from collections import Counter
from dataclasses import dataclass, field

import torch
from custom_operators import CustomOperators

DTYPES = [torch.float32] * 4 + [
    torch.float64,
    torch.bfloat16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.bool,
    torch.uint8,
    torch.complex64,
]
SHAPES = [(4, 3), (2, 3, 4), (6,), (3, 3), (2, 2, 3), (1, 4), (4, 6), (), (2, 1, 3)]
SCALARS = ["-3", "-2", "-1", "0", "1", "2", "3", "0.5", "2.5", "True"]
MOST_SOURCES = 20
MOST_ELEMENTS = 96
MOST_STATEMENTS = 40
MOST_ATTEMPTS = 25
# No sum of a program's numbers leaves what the dtype holds exactly. Integers wrap; only their casts matter.
LARGEST = {
    torch.float32: 1024,
    torch.float64: 1024,
    torch.bfloat16: 128,
    torch.int64: 2**15,
    torch.int32: 2**15,
    torch.complex64: 1024,
}
# Operators outside of PyTorch's own, which say what they write in their schemas.
OPERATORS = CustomOperators("random_programs")
OPERATORS.define("twice_and(Tensor(a!) x, Tensor y, *, float by=1.0) -> ()", lambda x, y, by=1.0: x.copy_(x * 2 + y * by))
OPERATORS.define(
    "swap(Tensor(a!) x, Tensor(b!) y) -> Tensor",
    lambda x, y: [x + y, before := x.clone(), x.copy_(y), y.copy_(before)][0],
    lambda x, y: x + y,
)
OPERATORS.define(
    "add_to_each(Tensor(a!)[] xs, Tensor y) -> Tensor",
    lambda xs, y: [x.copy_(x + y) for x in xs] and y.clone(),
    lambda xs, y: y.clone(),
)
OPERATORS.define(
    "negated_(Tensor(a!) x) -> Tensor(a!)", lambda x: x.copy_(x * -1), lambda x: x, tags=[torch.Tag.inplace]
)
NAME = re.compile(r"\b[bvx]\d+\b")


@dataclass(frozen=True)
class Statement:
    text: str
    defines: tuple = ()

    def names(self):
        return set(NAME.findall(self.text))


@dataclass(frozen=True)
class Source:
    """An input or a buffer; `text` makes its value."""

    name: str
    text: str

    def tensor(self):
        return eval(self.text, {"torch": torch})


@dataclass
class Program:
    seed: int
    sources: list = field(default_factory=list)
    statements: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    raises: bool = False  # eager PyTorch refuses the last statement
    # Reads after writes: (how the value read was made, the last write to its storage, what reads it). The caller reads
    # an input or a buffer: there it is the value written that counts.
    reads: Counter = field(default_factory=Counter)
    # Writes: (how the value written was made, the write).
    writes: Counter = field(default_factory=Counter)

    def inputs(self):
        return {source.name: source.tensor() for source in self.sources if source.name[0] == "x"}

    def source_code(self):
        buffers = [source for source in self.sources if source.name[0] == "b"]
        inputs = [source for source in self.sources if source.name[0] == "x"]
        lines = ["class Program(torch.nn.Module):", "    def __init__(self):", "        super().__init__()"]
        lines += [f'        self.register_buffer("{source.name}", {source.text})' for source in buffers]
        lines += ["", f"    def forward({', '.join(['self', *(source.name for source in inputs)])}):"]
        lines += [f"        {source.name} = self.{source.name}" for source in buffers]
        lines += [f"        {statement.text}" for statement in self.statements]
        lines += [f"        return ({''.join(f'{name}, ' for name in self.outputs).strip()})"]
        values = [f"#   {source.name} = {source.text}" for source in inputs]
        return "\n".join([*lines, "", f"# seed {self.seed}, inputs:", *values, ""])

    def module(self):
        scope = {"torch": torch}
        exec(compile(self.source_code(), f"program_{self.seed}.py", "exec"), scope)
        return scope["Program"]()


def program(seed):
    return _Grower(seed).grown()


@dataclass
class _Value:
    name: str
    tensor: torch.Tensor
    kind: str  # how it was made: a kind of view, "input", "buffer" or "fresh"


class _NotApplicable(Exception):
    """A kind of statement does not fit the value it was tried on."""


def _storage(tensor):
    return tensor.untyped_storage()._cdata


def _elements(tensor):
    """The places in its storage that a tensor takes."""
    end = tensor.untyped_storage().nbytes() // tensor.element_size()
    return set(
        torch.arange(end)
        .as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        .flatten()
        .tolist()
    )


def _places_of(tensor):
    return tensor.shape, tensor.stride(), tensor.storage_offset()


def _same_places(a, b):
    return _storage(a) == _storage(b) and _places_of(a) == _places_of(b)


def _repeats(tensor):
    """Whether elements of a tensor share a place: of most writes it depends on their order what remains."""
    return len(_elements(tensor)) < tensor.numel()


def _overlap(a, b):
    """Whether two tensors share places and differ: eager raises, or what a write gives hangs on the order of its walk."""
    if _storage(a) != _storage(b) or a.numel() == 0 or b.numel() == 0:
        return False
    if _same_places(a, b):
        return False
    return bool(_elements(a) & _elements(b))


def _broadcasts(shape, to):
    if len(shape) > len(to):
        return False
    return all(n in (1, m) for n, m in zip(reversed(shape), reversed(to)))


def _casts_exactly(tensor, dtype):
    """What a float outside an integer type's range becomes is undefined in C++, and so in PyTorch."""
    if tensor.dtype.is_complex and not dtype.is_complex:
        return False  # PyTorch warns
    if (
        not tensor.dtype.is_floating_point
        or dtype.is_floating_point
        or dtype == torch.bool
        or not tensor.numel()
    ):
        return True
    return dtype != torch.uint8 or (tensor.min() >= 0 and tensor.max() <= 255)


class _Grower:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.program = Program(seed)
        self.scope = {"torch": torch}
        self.values = []
        self.last_write = {}  # storage -> (kind of the value written, kind of the write)
        self.operands = []  # (name, kind of reader) of the statement at hand
        self.targets = []  # the values that the statement at hand writes
        self.joined = []  # what shows a write through a view
        # Operators that are rare in programs; many of them fxpass refuses, which ends the use of a program.
        self.rare = self.random.random() < 0.1
        self.may_raise = self.random.random() < 0.05
        self.reads_what_it_writes = seed % 16 == 5

    def grown(self):
        for _ in range(self.random.randint(1, 3)):
            self.source(self.random.choice(SHAPES), self.random.choice(DTYPES), self.random.choice("xxb"))
        for triple in triples_of(self.program.seed):
            self.join(*triple)
        length = min(len(self.program.statements) + self.random.randint(2, 9), MOST_STATEMENTS)
        while len(self.program.statements) < length and not self.program.raises:
            role = self.random.choices([self.view, self.write, self.read], [40, 40, 20])[0]
            self.attempt(role)
        count = self.random.randint(1, 5)
        chosen = [self.any() for _ in range(count)] + self.joined
        self.program.outputs = [value.name for value in chosen]
        for value in chosen:
            self.count_read(value, "output")
        for value in self.values:
            written = self.last_write.get(_storage(value.tensor))
            if written is not None and value.kind in ("input", "buffer"):
                self.program.reads[*written, "caller"] += 1
        return self.program

    # Choosing -------------------------------------------------------------------------------------------
    def choice(self, items):
        items = list(items)
        if not items:
            raise _NotApplicable
        return self.random.choice(items)

    def chance(self, probability):
        return self.random.random() < probability

    def any(self, wanted=lambda tensor: True):
        """A value; more often one whose storage has other names."""
        fitting = [value for value in self.values if wanted(value.tensor)]
        uses = Counter(_storage(value.tensor) for value in self.values)
        shared = [value for value in fitting if uses[_storage(value.tensor)] > 1]
        return self.choice(shared if shared and self.chance(0.6) else fitting)

    def overlap(self, target, operand):
        """Whether an operand is not to be read while `target` is written."""
        return not self.reads_what_it_writes and _overlap(target, operand)

    def overlapping(self, target, fits):
        """In such a program, an operand that is not to be read elsewhere, or None."""
        if not self.reads_what_it_writes:
            return None
        fitting = [value for value in self.values if fits(value.tensor) and _overlap(target, value.tensor)]
        return self.choice(fitting) if fitting and self.chance(0.7) else None

    def use(self, value, reader):
        self.operands.append((value, reader))
        return value.name

    def dim(self, tensor):
        """A dimension, counted from either end."""
        return self.choice(range(-tensor.dim(), tensor.dim()))

    # Sources --------------------------------------------------------------------------------------------
    def source(self, shape, dtype, kind=None, numbers=None):
        if len(self.program.sources) >= MOST_SOURCES:
            raise _NotApplicable
        count = torch.Size(shape).numel()
        if numbers is None:
            low, high = {torch.bool: (0, 1), torch.uint8: (0, 9)}.get(dtype, (-9, 9))
            numbers = [self.random.randint(low, high) for _ in range(count)]
        kind = kind or self.random.choice("xxxb")
        name = f"{kind}{len(self.program.sources)}"
        # Dense, but in another order than its shape: what copies or views then depends on strides.
        order = list(range(len(shape)))
        if self.chance(0.2):
            self.random.shuffle(order)
        stored = [shape[order.index(i)] for i in range(len(shape))]
        text = f"torch.tensor({numbers}, dtype={dtype}).reshape({stored})"
        if order != sorted(order):
            text += f".permute({order})"
        source = Source(name, text)
        self.program.sources.append(source)
        self.scope[name] = source.tensor()
        value = _Value(name, self.scope[name], {"x": "input", "b": "buffer"}[kind])
        self.values.append(value)
        return value

    def operand(self, target, shape=None, dtypes=(), cast=True, reader="operand"):
        """Text of a tensor that broadcasts to `shape`, and can be read while `target` is written."""
        shape = tuple(target.shape) if shape is None else shape

        def fits(tensor):
            right = _broadcasts(tuple(tensor.shape), shape) and not self.overlap(target, tensor)
            return right and (cast and _casts_exactly(tensor, target.dtype) or tensor.dtype == target.dtype)

        if (value := self.overlapping(target, fits)) or self.chance(0.65):
            return self.use(value or self.any(fits), reader)
        small = [n if self.chance(0.7) else 1 for n in shape]
        small = tuple(small[self.random.randint(0, len(small)) if self.chance(0.3) else 0 :])
        dtype = self.random.choice(DTYPES) if cast and self.chance(0.4) else target.dtype
        value = self.source(small, dtype)
        if not fits(value.tensor):
            raise _NotApplicable
        return self.use(value, reader)

    def value(self, target, shape=None, cast=True):
        """Text of what is written into `target`: a number, or a tensor that broadcasts to `shape`."""
        if self.chance(0.35):
            return self.random.choice(SCALARS)
        return self.operand(target, shape, cast=cast)

    def exact(self, target, shape, apart=False):
        """Text of a tensor of this very shape and the target's dtype; `apart`: of memory of its own."""

        def fits(tensor):
            if apart and not self.rare and _storage(tensor) == _storage(target):
                return False
            return tensor.shape == shape and tensor.dtype == target.dtype and not self.overlap(target, tensor)

        fitting = [value for value in self.values if fits(value.tensor)]
        value = self.overlapping(target, fits)
        value = value or (self.choice(fitting) if fitting and self.chance(0.6) else self.source(shape, target.dtype))
        return self.use(value, "operand")

    def mask(self, target, shape=None, apart=False):
        shape = tuple(target.shape) if shape is None else shape
        if self.chance(0.5):
            value = self.any(lambda tensor: tuple(tensor.shape) == shape and tensor.dtype != torch.bool)
            return f"{self.use(value, 'mask')} > {self.random.randint(-3, 3)}"
        fitting = [v for v in self.values if v.tensor.dtype == torch.bool and tuple(v.tensor.shape) == shape]
        fitting = [v for v in fitting if not self.overlap(target, v.tensor) and v.tensor is not target]
        if apart and not self.rare:
            fitting = [v for v in fitting if _storage(v.tensor) != _storage(target)]
        value = self.choice(fitting) if fitting and self.chance(0.7) else self.source(shape, torch.bool)
        return self.use(value, "mask")

    def index(self, size, length=None, distinct=True, negative=False):
        """Text of a vector of positions in a dimension of `size`, and its length."""
        if size == 0:
            raise _NotApplicable

        def fits(tensor):
            if tensor.dtype != torch.int64 or tensor.dim() != 1 or tensor.numel() == 0:
                return False
            numbers = tensor.tolist()
            right = all((-size if negative else 0) <= n < size for n in numbers)
            right = right and (length is None or len(numbers) == length)
            return right and (not distinct or len({n % size for n in numbers}) == len(numbers))

        fitting = [value for value in self.values if fits(value.tensor)]
        if fitting and self.chance(0.6):
            value = self.choice(fitting)
            return self.use(value, "index"), value.tensor.numel()
        count = length or self.random.randint(1, min(size, 3) if distinct else 4)
        if distinct and count > size:
            raise _NotApplicable
        numbers = (
            self.random.sample(range(size), count) if distinct else self.random.choices(range(size), k=count)
        )
        if negative:
            numbers = [n - size if self.chance(0.2) else n for n in numbers]
        if self.chance(0.25):
            return f"torch.tensor({numbers})", count
        return self.use(self.source((count,), torch.int64, numbers=numbers), "index"), count

    # Growing --------------------------------------------------------------------------------------------
    def attempt(self, role):
        """One statement, if what is chosen fits and eager accepts it; else nothing remains of it."""
        self.operands, self.targets = [], []
        sources, values = len(self.program.sources), len(self.values)
        try:
            text, kind, count = role()
        except _NotApplicable:
            return self.forget(sources, values)
        careful = not self.rare and not self.may_raise and kind not in FILLS
        if careful and any(_repeats(target.tensor) for target in self.targets):
            return self.forget(sources, values)
        names = [f"v{len(self.values) + i}" for i in range(count)]
        if count:
            text = f"{', '.join(names)}{',' if text.startswith('*') else ''} = {text.lstrip('*')}"
        backups = []
        for target in self.targets:
            end = target.tensor.untyped_storage().nbytes() // target.tensor.element_size()
            whole = target.tensor.as_strided((end,), (1,), 0)
            backups.append((target.tensor, whole, whole.clone(), whole.as_strided(*_places_of(target.tensor))))
        raised = False
        try:
            exec(text, self.scope)
        except (RuntimeError, IndexError, TypeError, ValueError):
            raised = True
        if raised and self.may_raise and len(self.program.statements) >= 3:
            # Sources that stand for nothing in a program that ran would only hide what is wrong.
            self.program.raises = True
            self.program.statements.append(Statement(text))
            return None
        made = [] if raised else [self.scope[name] for name in names]
        checked = made + [target.tensor for target in self.targets]
        if raised or not all(self.is_tame(tensor) for tensor in checked):
            for tensor, whole, content, before in backups:
                whole.copy_(content)
                if not _same_places(tensor, before):
                    tensor.set_(before)
            return self.forget(sources, values)
        self.program.statements.append(Statement(text, tuple(names)))
        for value, reader in self.operands:
            self.count_read(value, reader)
        for target in self.targets:
            self.last_write[_storage(target.tensor)] = target.kind, kind
            self.program.writes[target.kind, kind] += 1
        owned = {_storage(value.tensor) for value in self.values}
        for name, tensor in zip(names, made):
            result = "result of a write" if self.targets else kind
            self.values.append(_Value(name, tensor, result if _storage(tensor) in owned else "fresh"))
        return None

    def evaluated(self, text):
        try:
            return eval(text, self.scope)
        except (RuntimeError, IndexError, TypeError, ValueError):
            raise _NotApplicable from None

    def forget(self, sources, values):
        del self.program.sources[sources:]
        del self.values[values:]

    @staticmethod
    def is_tame(tensor):
        if (
            not isinstance(tensor, torch.Tensor)
            or tensor.numel() > MOST_ELEMENTS
            or tensor.layout != torch.strided
        ):
            return False
        largest = LARGEST.get(tensor.dtype)
        if largest is None or tensor.numel() == 0:
            return tensor.dtype in (*LARGEST, torch.bool, torch.uint8)
        if tensor.abs().max() > largest:
            return False
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor.resolve_conj())
        if not tensor.dtype.is_floating_point:
            return True
        return bool(tensor.isfinite().all() and (tensor * 4 == (tensor * 4).round()).all())

    def count_read(self, value, reader):
        written = self.last_write.get(_storage(value.tensor))
        if written is not None:
            self.program.reads[value.kind, written[1], reader] += 1

    def join(self, view, write, reader):
        """A view of this kind, written by a write of that kind and then read, if these are found soon."""
        for _ in range(4):
            if self.program.raises or len(self.program.statements) > MOST_STATEMENTS - 4:
                return
            if self.joins(view, write, reader):
                return

    def joins(self, view, write, reader):
        viewed = None
        if len(self.program.sources) < MOST_SOURCES and self.chance(0.7) or write in SHAPES_FOR:
            dtype, shape = self.random.choice(DTYPES), self.random.choice(SHAPES_FOR.get(write, SHAPES))
            if view == "parts":
                dtype = torch.complex64
            elif write == "bitwise":
                dtype = self.choice([torch.bool, torch.int64, torch.int32, torch.uint8])
            elif view in ("as_complex", "dropout") or write in FLOAT_WRITES or reader == "matmul":
                dtype = torch.float32
            elif dtype.is_complex:
                dtype = torch.float32  # few writes order complex numbers
            shape = {"as_complex": (2, 3, 2), "meshgrid": (3,), "einsum": (3, 3)}.get(view, shape)
            try:
                viewed = self.source(shape, dtype)
            except _NotApplicable:
                return False
        if write in REBINDING:  # the shape of an input is the caller's
            if not self.succeeds(lambda: self.read("clone", viewed)):
                return False
            viewed = self.values[-1]
        if not self.succeeds(lambda: self.view(view, viewed)):
            return False
        value = self.values[-1]
        if value.kind != view or not self.succeeds(lambda: self.write(write, value)):
            return False
        if reader in ("output", "caller"):
            self.joined.append(value)
            return True
        names = [other for other in self.values if _storage(other.tensor) == _storage(value.tensor)]
        for through in [self.choice(names), value] if self.chance(0.3) else [value]:
            if self.succeeds(lambda: self.read_as(reader, through)):  # noqa: B023
                self.joined.append(self.targets[0] if self.targets else self.values[-1])
                return True
        self.joined.append(value)
        return False

    def succeeds(self, role):
        count = len(self.program.statements)
        for _ in range(MOST_ATTEMPTS):
            self.attempt(role)
            if self.program.raises:
                return False
            if len(self.program.statements) > count:
                return True
        return False

    # Views ----------------------------------------------------------------------------------------------
    def view(self, kind=None, viewed=None):
        value = viewed or self.any()
        kind = kind or self.random.choice(VIEWS)
        text = getattr(self, f"view_{kind}")(value.name, value.tensor)
        count = 1
        if isinstance(text, tuple):
            text, count = text
            text = f"*{text}"
        return text, kind, count

    def view_select(self, v, t):
        dim = self.dim(t)
        if t.shape[dim] == 0:
            raise _NotApplicable
        index = self.random.randint(-t.shape[dim], t.shape[dim] - 1)
        return self.choice([f"{v}.select({dim}, {index})", f"torch.select({v}, {dim}, {index})"])

    def view_slice(self, v, t):
        if t.dim() == 0:
            raise _NotApplicable
        dim = self.random.randrange(t.dim())
        return f"{v}[{':, ' * dim}{self.slice(t.shape[dim])}]"

    def view_narrow(self, v, t):
        dim = self.dim(t)
        start = self.random.randint(0, t.shape[dim])
        length = self.random.randint(
            0 if self.chance(0.1) else min(1, t.shape[dim] - start), t.shape[dim] - start
        )
        return self.choice(
            [f"{v}.narrow({dim}, {start}, {length})", f"torch.narrow({v}, {dim}, {start}, {length})"]
        )

    def view_view(self, v, t):
        return f"{v}.view({self.other_shape(t)})"

    def view_reshape(self, v, t):
        shape = self.other_shape(t)
        return self.choice([f"{v}.reshape({shape})", f"torch.reshape({v}, {shape})"])

    def view_flatten(self, v, t):
        if t.dim() > 1 and self.chance(0.5):
            start = self.random.randrange(t.dim())
            return f"{v}.flatten({start}, {self.random.randrange(start, t.dim())})"
        return self.choice([f"{v}.flatten()", f"torch.flatten({v})", f"{v}.ravel()"])

    def view_transpose(self, v, t):
        a, b = self.dim(t), self.dim(t)
        names = ["transpose", "swapaxes", "swapdims"]
        return self.choice([f"{v}.{name}({a}, {b})" for name in names] + [f"torch.transpose({v}, {a}, {b})"])

    def view_permute(self, v, t):
        order = list(range(t.dim()))
        self.random.shuffle(order)
        order = [d - t.dim() if self.chance(0.2) else d for d in order]
        return self.choice([f"{v}.permute({order})", f"torch.permute({v}, {order})"])

    def view_t(self, v, t):
        return self.choice([f"{v}.t()", f"torch.t({v})", *([f"{v}.T"] if t.dim() == 2 else [])])

    def view_mT(self, v, t):
        if t.dim() < 2:
            raise _NotApplicable
        return f"{v}.mT"

    def view_movedim(self, v, t):
        if t.dim() > 1 and self.chance(0.4):
            source = self.random.sample(range(t.dim()), 2)
            return f"{v}.movedim({source}, {self.random.sample(range(t.dim()), 2)})"
        a, b = self.dim(t), self.dim(t)
        return self.choice(
            [f"{v}.movedim({a}, {b})", f"torch.movedim({v}, {a}, {b})", f"{v}.moveaxis({a}, {b})"]
        )

    def view_unsqueeze(self, v, t):
        dim = self.random.randint(-t.dim() - 1, t.dim())
        return self.choice([f"{v}.unsqueeze({dim})", f"torch.unsqueeze({v}, {dim})"])

    def view_squeeze(self, v, t):
        if t.dim() and self.chance(0.6):
            ones = [d for d in range(t.dim()) if t.shape[d] == 1]
            dim = self.choice(ones) if ones and self.chance(0.7) else self.dim(t)
            return self.choice([f"{v}.squeeze({dim})", f"torch.squeeze({v}, {dim})"])
        return f"{v}.squeeze()"

    def view_expand(self, v, t):
        shape = [n if n != 1 else self.random.randint(1, 3) for n in t.shape]
        shape = [self.random.randint(1, 3) for _ in range(self.random.randint(0, 1))] + shape
        added = len(shape) - t.dim()
        if self.chance(0.3):
            shape[added:] = [-1 if n == m else n for n, m in zip(shape[added:], t.shape)]
        return self.choice(
            [f"{v}.expand({shape})", f"{v}.broadcast_to({shape})", f"torch.broadcast_to({v}, {shape})"]
        )

    def view_alias(self, v, t):
        return self.choice([f"{v}.detach()", f"torch.ops.aten.alias.default({v})", f"{v}.view_as({v})"])

    def view_getitem(self, v, t):
        return f"{v}[{self.basic_index(t)}]"

    def view_diagonal(self, v, t):
        if t.dim() < 2:
            raise _NotApplicable
        a, b = self.random.sample(range(t.dim()), 2) if self.chance(0.5) else (0, 1)
        offset = self.random.randint(-1, 1)
        return self.choice([f"{v}.diagonal({offset}, {a}, {b})", f"torch.diagonal({v}, {offset}, {a}, {b})"])

    def view_split(self, v, t):
        dim = self.dim(t)
        size = t.shape[dim]
        if size == 0:
            raise _NotApplicable
        if self.chance(0.3):
            first = self.random.randint(0, size)
            return f"{v}.split([{first}, {size - first}], {dim})", 2
        each = self.random.randint(1, size)
        text = self.choice([f"{v}.split({each}, {dim})", f"torch.split({v}, {each}, {dim})"])
        return text, -(-size // each)

    def view_chunk(self, v, t):
        dim = self.dim(t)
        chunks = self.random.randint(1, 3)
        text = self.choice([f"{v}.chunk({chunks}, {dim})", f"torch.chunk({v}, {chunks}, {dim})"])
        return text, len(t.chunk(chunks, dim))

    def view_unbind(self, v, t):
        dim = self.dim(t)
        if t.shape[dim] == 0:
            raise _NotApplicable
        return self.choice([f"{v}.unbind({dim})", f"torch.unbind({v}, {dim})"]), t.shape[dim]

    def view_unflatten(self, v, t):
        dim = self.dim(t)
        size = t.shape[dim]
        factor = self.choice([n for n in range(1, size + 1) if size % n == 0])
        shape = self.choice([[factor, size // factor], [factor, -1]])
        return self.choice([f"{v}.unflatten({dim}, {shape})", f"torch.unflatten({v}, {dim}, {shape})"])

    def view_contiguous(self, v, t):
        return f"{v}.contiguous()"

    def view_to(self, v, t):
        other = self.any()
        dtype = t.dtype if self.chance(0.6) else self.random.choice(DTYPES)
        if not _casts_exactly(t, dtype) or not _casts_exactly(t, other.tensor.dtype):
            raise _NotApplicable
        return self.choice(
            [
                f"{v}.to({dtype})",
                f"{v}.to('cpu')",
                f"{v}.to({dtype}, copy=False)",
                f"{v}.type_as({other.name})",
            ]
        )

    def view_dropout(self, v, t):
        if not t.dtype.is_floating_point:
            raise _NotApplicable
        return f"torch.nn.functional.dropout({v}, 0.5, False)"

    def view_as_strided(self, v, t):
        places = t.untyped_storage().nbytes() // t.element_size()
        start = self.random.randint(0, places)
        step = self.random.randint(1, 3)
        count = max(0, min(3, (places - start + step - 1) // step))
        texts = [
            f"{v}.as_strided(({count},), ({step},), {start})",
            f"torch.as_strided({v}, ({count}, 1), ({step}, 1), {start})",
        ]
        if start == t.storage_offset():
            texts.append(f"{v}.as_strided(({count},), ({step},))")
        if self.rare and places > 3:  # elements share places
            texts.append(f"torch.as_strided({v}, (3, 2), (1, 1), 0)")
        return self.choice(texts)

    def view_unfold(self, v, t):
        dim = self.dim(t)
        size = self.random.randint(1, max(1, t.shape[dim]))
        return f"{v}.unfold({dim}, {size}, {self.random.randint(1 if self.rare else size, size + 1)})"

    def view_view_dtype(self, v, t):
        dtypes = [dtype for dtype in DTYPES if dtype != torch.bool or self.rare]
        if t.dtype == torch.bool and not self.rare:
            raise _NotApplicable  # a byte may be no bool
        return f"{v}.view({self.choice(dtypes)})"

    def view_tensor_split(self, v, t):
        dim = self.dim(t)
        if self.chance(0.5):
            cuts = [self.random.randint(-t.shape[dim], t.shape[dim]) for _ in range(2)]
            return f"{v}.tensor_split({cuts}, {dim})", 3
        return self.choice([f"{v}.tensor_split(2, {dim})", f"torch.tensor_split({v}, 2, {dim})"]), 2

    def view_hsplit(self, v, t):
        cut = self.random.randint(0, 2)
        texts = [f"torch.hsplit({v}, 2)", f"{v}.vsplit(2)", f"{v}.hsplit([{cut}])", f"torch.vsplit({v}, [{cut}])"]
        return self.choice(texts + [f"{v}.dsplit([{cut}])"] * (t.dim() > 2)), 2

    def view_unsafe_split(self, v, t):
        dim = self.dim(t)
        size = t.shape[dim]
        if size < 2:
            raise _NotApplicable
        first = self.random.randint(1, size - 1)
        return self.choice([f"torch.unsafe_split_with_sizes({v}, [{first}, {size - first}], {dim})"]), 2

    def view_expand_as(self, v, t):
        return f"{v}.expand_as({self.any().name})"

    def view_atleast(self, v, t):
        return self.choice([f"torch.atleast_{n}d({v})" for n in (1, 2, 3)])

    def view_broadcast_tensors(self, v, t):
        return f"torch.broadcast_tensors({v}, {self.any().name})", 2

    def view_meshgrid(self, v, t):
        if t.dim() > 1:
            raise _NotApplicable
        if self.chance(0.6):  # only then no two elements are one
            other = self.source((1,), t.dtype)
        else:
            other = self.any(lambda tensor: tensor.dim() < 2 and tensor.dtype == t.dtype)
        return f"torch.meshgrid({v}, {other.name}, indexing={self.choice(['ij', 'xy'])!r})", 2

    def view_same(self, v, t):
        real = f"{v}.positive()" if t.is_complex() else f"torch.real({v})"
        return self.choice([real, f"{v}.positive()", f"{v}.resolve_conj()"])

    def view_conj(self, v, t):
        negated = [f"torch.ops.aten._neg_view.default({v})"] * (t.dtype != torch.bool)
        return self.choice([f"{v}.conj()", f"torch.conj({v})", *negated])

    def view_parts(self, v, t):
        if not t.is_complex():
            raise _NotApplicable
        return self.choice([f"torch.view_as_real({v})", f"torch.real({v})", f"torch.imag({v})"])

    def view_as_complex(self, v, t):
        return f"torch.view_as_complex({v})"

    def view_method(self, v, t):
        return self.choice([f"{v}.adjoint()", f"{v}.H", f"{v}.mH", f"{v}.T"])

    def view_einsum(self, v, t):
        text = self.choice({2: ["ij->ji", "ii->i", "ij->ij"], 3: ["ijk->kij", "iji->ij"]}.get(t.dim(), []))
        return f"torch.einsum({text!r}, {v})"

    def view_copy(self, v, t):
        """What is named as a copy of a view is one."""
        dim = self.dim(t)
        return self.choice(
            [f"torch.transpose_copy({v}, 0, {dim})", f"torch.slice_copy({v}, {dim}, 0, 2)", f"torch.alias_copy({v})"]
            + [f"torch.select_copy({v}, {dim}, 0)"] * (t.shape[dim] > 0)
        )

    def other_shape(self, t):
        n = t.numel()
        shapes = [[n], [1, n], [n, 1], list(t.shape)[::-1]]
        for a in range(2, n):
            if n % a == 0:
                shapes += [[a, n // a], [a, 1, n // a]]
                shapes += [[b, a // b, n // a] for b in range(2, a) if a % b == 0]
        if t.dim() > 1:
            shapes += [[t.shape[0] * t.shape[1], *t.shape[2:]], [*t.shape[:-2], t.shape[-2] * t.shape[-1]]]
        shape = list(self.choice(shapes))
        if n and shape and self.chance(0.3):
            shape[self.random.randrange(len(shape))] = -1
        return shape

    def slice(self, size):
        step = self.random.choice(["", "", "", ":1", ":2", ":3"])
        start = self.random.choice(
            ["", "", str(self.random.randint(0, size)), str(self.random.randint(-size - 1, -1))]
        )
        stop = self.random.choice(["", "", str(self.random.randint(0, size + 1)), "-1"])
        return f"{start}:{stop}{step}"

    def basic_index(self, t):
        """Integers, slices, None and Ellipsis; tensors that are single integers, too."""
        items = []
        dims = self.random.randint(0, t.dim())
        at_the_end = self.chance(0.3)
        for d in range(t.dim() - dims, t.dim()) if at_the_end else range(dims):
            if t.shape[d] and self.chance(0.5):
                items.append(self.integer(self.random.randint(-t.shape[d], t.shape[d] - 1)))
            else:
                items.append(self.slice(t.shape[d]))
        if at_the_end:
            items.insert(0, "...")
        elif not items or self.chance(0.2):
            items.append("...")
        if self.chance(0.25):
            items.insert(self.random.randint(0, len(items)), "None")
        return ", ".join(items)

    def integer(self, number):
        """Text of an index of one integer: a number, or, in one program of 16, perhaps a tensor, which nobody writes."""
        if self.program.seed % 16 != 9 or self.chance(0.4):
            return str(number)
        name = self.source((), torch.int64, numbers=[number]).name
        self.values.pop()
        return name

    # Writes ---------------------------------------------------------------------------------------------
    def write(self, kind=None, target=None):
        target = target or self.any()
        self.targets.append(target)
        kind = kind or self.random.choice(RARE_WRITES if self.rare and self.chance(0.6) else WRITES)
        text = getattr(self, f"write_{kind}")(target.name, target.tensor)
        # Only an expression of one tensor can be given a name; a comparison must be.
        named = self.chance(0.15) and re.match(r"^(torch\.[\w.]+|\w+\.\w+)\(", text) is not None
        return text, kind, int(named and kind != "foreach" or kind == "batch_norm")

    def write_add(self, v, t):
        name = self.random.choice(["add", "sub"])
        alpha = ", alpha=2" if self.chance(0.2) and t.dtype != torch.bool else ""
        return f"{v}.{name}_({self.value(t)}{alpha})"

    def write_mul(self, v, t):
        return self.choice([f"{v}.mul_({self.value(t)})", f"torch.Tensor.mul_({v}, {self.value(t)})"])

    def write_div(self, v, t):
        return self.choice([f"{v}.div_(2)", f"{v}.div_({self.random.choice([2, 4])}, rounding_mode='floor')"])

    def write_operator(self, v, t):
        signs = ["|=", "&=", "^="] if t.dtype == torch.bool else ["+=", "-=", "*="]
        if not t.dtype.is_floating_point and self.chance(0.2):
            return f"{v} {self.choice(['|=', '&=', '^='])} {self.value(t)}"
        if self.chance(0.1):
            return f"{v} {self.choice(['//=', '/='])} 2"
        return f"{v} {self.choice(signs)} {self.value(t)}"

    def write_indexed_operator(self, v, t):
        index = self.basic_index(t)
        part = self.evaluated(f"{v}[{index}]")
        return f"{v}[{index}] {self.choice(['+=', '*=', '-='])} {self.value(t, tuple(part.shape))}"

    def write_unary(self, v, t):
        names = ["neg_", "abs_", "relu_", "sign_", "square_", "floor_", "trunc_"]
        name = self.choice(["logical_not_", "bitwise_not_"] if t.dtype == torch.bool else names)
        return self.choice([f"{v}.{name}()", f"torch.ops.aten.{name}.default({v})"])

    def write_relu(self, v, t):
        return self.choice([f"torch.relu_({v})", f"torch.nn.functional.relu({v}, inplace=True)"])

    def write_clamp(self, v, t):
        return self.choice(
            [f"{v}.clamp_(-2, 3)", f"{v}.clamp_min_(0)", f"{v}.clamp_(max=2)", f"torch.clamp_({v}, -1, 4)"]
        )

    def write_compare(self, v, t):
        name = self.choice(["eq_", "lt_", "ge_", "ne_", "logical_and_", "logical_or_"])
        return f"{v}.{name}({self.operand(t)})"

    def write_bitwise(self, v, t):
        return f"{v}.bitwise_{self.choice(['and_', 'or_', 'xor_'])}({self.value(t)})"

    def write_addcmul(self, v, t):
        return f"{v}.addcmul_({self.operand(t)}, {self.operand(t)}, value=2)"

    def write_copy(self, v, t):
        return self.choice(
            [f"{v}.copy_({self.operand(t)})", f"torch.ops.aten.copy_.default({v}, {self.operand(t)})"]
        )

    def write_fill(self, v, t):
        if self.chance(0.3):
            return f"{v}.fill_({self.operand(t, ())})"
        return self.choice(
            [f"{v}.fill_({self.choice(SCALARS)})", f"torch.fill_({v}, {self.choice(SCALARS)})"]
        )

    def write_zero(self, v, t):
        return self.choice([f"{v}.zero_()", f"torch.zero_({v})"])

    def write_masked_fill(self, v, t):
        shape = tuple(t.shape)
        if self.chance(0.2):
            shape = tuple(1 if self.chance(0.5) else n for n in shape)
        value = self.choice(SCALARS) if self.chance(0.7) else self.operand(t, (), cast=False)
        return f"{v}.masked_fill_({self.mask(t, shape)}, {value})"

    def write_setitem(self, v, t):
        index = self.basic_index(t)
        part = self.evaluated(f"{v}[{index}]")
        return f"{v}[{index}] = {self.value(t, tuple(part.shape))}"

    def write_setitem_leading_ones(self, v, t):
        """Python's setitem accepts a value with more dimensions than its target, if they are of size 1."""
        index = self.basic_index(t)
        part = self.evaluated(f"{v}[{index}]")
        value = self.source((1, *part.shape), self.random.choice(DTYPES))
        if not _casts_exactly(value.tensor, t.dtype):
            raise _NotApplicable
        return f"{v}[{index}] = {self.use(value, 'operand')}"

    def write_setitem_bool(self, v, t):
        flag = self.random.choice(["True", "False", "True, 0", "..., True"])
        return f"{v}[{flag}] = {self.choice(SCALARS)}"

    def write_setitem_index(self, v, t):
        if t.dim() == 0:
            raise _NotApplicable
        dim = self.random.randrange(t.dim())
        index, _ = self.index(t.shape[dim], negative=True)
        items = [self.choice([":", self.slice(n)]) for n in t.shape[:dim]] + [index]
        if dim + 1 < t.dim() and self.chance(0.4):
            n = t.shape[dim + 1]
            items.append(self.slice(n) if self.chance(0.6) or n == 0 else str(self.random.randrange(n)))
        if self.chance(0.2):
            items[:dim] = ["..."] if len(items) == t.dim() else items[:dim]
        part = self.evaluated(f"{v}[{', '.join(items)}]")
        return f"{v}[{', '.join(items)}] = {self.value(t, tuple(part.shape))}"

    def write_setitem_indices(self, v, t):
        if t.dim() < 2:
            raise _NotApplicable
        first, count = self.index(t.shape[0], negative=True)
        second, _ = self.index(t.shape[1], count, distinct=False, negative=True)
        return f"{v}[{first}, {second}] = {self.value(t, (count, *t.shape[2:]))}"

    def write_setitem_mask(self, v, t):
        dims = self.random.randint(1, t.dim()) if t.dim() else 0
        mask = self.mask(t, tuple(t.shape[:dims]))
        if self.chance(0.6):
            return f"{v}[{mask}] = {self.choice(SCALARS)}"
        return f"{v}[{mask}] = {self.operand(t, tuple(t.shape[dims:]))}"

    def write_index_put(self, v, t):
        if t.dim() == 0:
            raise _NotApplicable
        accumulate = self.chance(0.5)
        index, count = self.index(t.shape[0], distinct=not accumulate, negative=True)
        values = self.operand(t, (count, *t.shape[1:]), cast=False)
        return f"{v}.index_put_(({index},), {values}{', accumulate=True' if accumulate else ''})"

    def write_index_copy(self, v, t):
        dim = self.dim(t)
        index, count = self.index(t.shape[dim])
        shape = list(t.shape)
        shape[dim] = count
        return f"{v}.index_copy_({dim}, {index}, {self.exact(t, tuple(shape))})"

    def write_index_add(self, v, t):
        dim = self.dim(t)
        index, count = self.index(t.shape[dim], distinct=False)
        shape = list(t.shape)
        shape[dim] = count
        alpha = ", alpha=2" if self.chance(0.3) and t.dtype != torch.bool else ""
        return f"{v}.index_add_({dim}, {index}, {self.exact(t, tuple(shape))}{alpha})"

    def write_index_fill(self, v, t):
        dim = self.dim(t)
        index, _ = self.index(t.shape[dim], distinct=False)
        value = self.choice(SCALARS) if self.chance(0.7) else self.operand(t, (), cast=False)
        return f"{v}.index_fill_({dim}, {index}, {value})"

    def scatter_operands(self, t, distinct):
        """A dimension, positions along it, and their shape."""
        if t.dim() == 0 or t.numel() == 0:
            raise _NotApplicable
        dim = self.random.randrange(t.dim())
        shape = [self.random.randint(1, n) for n in t.shape]
        lanes = torch.Size(shape).numel() // shape[dim]
        size = t.shape[dim]
        draw = (
            (lambda: self.random.sample(range(size), shape[dim]))
            if distinct
            else (lambda: self.random.choices(range(size), k=shape[dim]))
        )
        numbers = torch.tensor([draw() for _ in range(lanes)])
        rest = [n for d, n in enumerate(shape) if d != dim]
        numbers = numbers.reshape(*rest, shape[dim]).movedim(-1, dim)
        index = self.source(tuple(shape), torch.int64, numbers=numbers.flatten().tolist())
        # An input may be stored in another order than it is numbered in, and then repeats a number in a lane.
        if distinct and not torch.equal(index.tensor, numbers):
            raise _NotApplicable
        return dim, self.use(index, "index"), tuple(shape)

    def write_scatter(self, v, t):
        dim, index, shape = self.scatter_operands(t, True)
        value = self.choice(SCALARS) if self.chance(0.4) else self.exact(t, shape)
        return f"{v}.scatter_({dim}, {index}, {value})"

    def write_scatter_add(self, v, t):
        dim, index, shape = self.scatter_operands(t, False)
        return f"{v}.scatter_add_({dim}, {index}, {self.exact(t, shape)})"

    def write_scatter_reduce(self, v, t):
        reduce = self.choice(["amax", "amin", "sum", "prod"])
        keeps = self.choice(["", ", include_self=False"])
        if self.chance(0.3) and t.dim():
            dim = self.dim(t)
            index, count = self.index(t.shape[dim], distinct=False)
            shape = list(t.shape)
            shape[dim] = count
            reduce = "amax" if reduce == "sum" else reduce
            return f"{v}.index_reduce_({dim}, {index}, {self.exact(t, tuple(shape), apart=True)}, {reduce!r}{keeps})"
        dim, index, shape = self.scatter_operands(t, False)
        return f"{v}.scatter_reduce_({dim}, {index}, {self.exact(t, shape, apart=True)}, reduce={reduce!r}{keeps})"

    def write_put(self, v, t):
        accumulate = self.chance(0.3)
        index, count = self.index(t.numel(), distinct=not accumulate, negative=True)
        values = self.exact(t, (count,), apart=True)
        return f"{v}.put_({index}, {values}{', accumulate=True' if accumulate else ''})"

    def write_masked_scatter(self, v, t):
        return f"{v}.masked_scatter_({self.mask(t, apart=True)}, {self.exact(t, tuple(t.shape), apart=True)})"

    def write_power(self, v, t):
        return self.choice(
            [f"{v}.pow_(2)", f"{v}.remainder_(3)", f"{v}.fmod_(2)", f"{v}.floor_divide_(2)", f"{v}.remainder_(-2)"]
        )

    def write_lerp(self, v, t):
        weight = self.exact(t, tuple(t.shape)) if self.chance(0.3) else "0.5"
        return f"{v}.lerp_({self.exact(t, tuple(t.shape))}, {weight})"

    def write_fill_diagonal(self, v, t):
        return f"{v}.fill_diagonal_({self.choice(SCALARS)}{self.choice(['', ', wrap=True'])})"

    def write_cumulative(self, v, t):
        return f"{v}.{self.choice(['cumsum_', 'cumprod_'])}({self.dim(t)})"

    def write_triangle(self, v, t):
        return f"{v}.{self.choice(['tril_', 'triu_'])}({self.choice(['', '1', '-1'])})"

    def write_addmm(self, v, t):
        if t.dim() != 2:
            raise _NotApplicable
        inner = self.random.randint(1, 3)
        a, b = (self.exact(t, shape, apart=True) for shape in [(t.shape[0], inner), (inner, t.shape[1])])
        return f"{v}.addmm_({a}, {b}{self.choice(['', ', beta=2', ', alpha=2'])})"

    def write_out(self, v, t):
        if not (t.is_contiguous() or self.rare or self.program.seed % 4 == 0):  # which Dynamo does not capture
            raise _NotApplicable
        if self.rare and self.chance(0.5):  # a result of perhaps another shape
            return f"torch.neg({self.operand(t, cast=False)}, out={v})"
        if self.chance(0.4):
            name = self.choice(["minimum", "maximum", "add", "mul", "sub"])
            return f"torch.{name}({v}, {self.operand(t)}, out={v})"
        shape = tuple(t.shape)
        fitting = [o for o in self.values if tuple(o.tensor.shape) == shape and not _overlap(t, o.tensor)]
        value = self.choice(fitting) if fitting and self.chance(0.6) else self.source(shape, self.random.choice(DTYPES))
        if not _casts_exactly(value.tensor, t.dtype):
            raise _NotApplicable
        operand = self.use(value, "operand")
        return self.choice(
            [
                f"torch.neg({operand}, out={v})",
                f"torch.abs({operand}, out={v})",
                f"torch.clamp({operand}, -1, 3, out={v})",
                f"torch.gt({operand}, 1, out={v})",
                f"torch.ne({operand}, 0, out={v})",
            ]
        )

    def write_foreach(self, v, t):
        """Lists of tensors: the target and others, which are written one after the other."""
        members = [self.targets[0]]
        for _ in range(self.random.randint(0, 2)):
            value = self.any(lambda tensor: all(tensor is not m.tensor for m in members))
            if any(_overlap(value.tensor, member.tensor) for member in members):
                raise _NotApplicable
            members.insert(self.random.randint(0, len(members)), value)
        self.targets.extend(member for member in members if member is not self.targets[0])
        names = f"[{', '.join(member.name for member in members)}]"

        def others(cast=True):
            return f"[{', '.join(self.operand(m.tensor, cast=cast) for m in members)}]"

        numbers = f"[{', '.join(self.choice(['2', '-1', '3']) for _ in members)}]"
        return self.choice(
            [
                lambda: f"torch._foreach_add_({names}, {self.choice(['2', '-1'])})",
                lambda: f"torch._foreach_mul_({names}, {numbers})",
                lambda: f"torch._foreach_add_({names}, {numbers})",
                lambda: f"torch._foreach_mul_({names}, {others()})",
                lambda: f"torch._foreach_sub_({names}, {others()}{self.choice(['', ', alpha=2'])})",
                lambda: f"torch._foreach_copy_({names}, {others()})",
                lambda: f"torch._foreach_maximum_({names}, {others(cast=False)})",
                lambda: f"torch._foreach_addcmul_({names}, {others()}, {others()}, 2)",
                lambda: f"torch._foreach_neg_({names})",
                lambda: f"torch._foreach_zero_({names})",
            ]
        )()

    def write_custom(self, v, t):
        """An operator of torch.library; what it writes shares no memory with its other operands."""
        apart = [o for o in self.values if _storage(o.tensor) != _storage(t)]
        name = self.choice(["twice_and", "swap", "add_to_each", "negated_"])
        call = f"torch.ops.random_programs.{name}"
        if name == "negated_":
            return f"{call}({v})"
        if name == "twice_and":
            return f"{call}({v}, {self.exact(t, tuple(t.shape), apart=True)}{self.choice(['', ', by=2.0'])})"
        if name == "swap":
            alike = [o for o in apart if o.tensor.shape == t.shape and o.tensor.dtype == t.dtype]
            other = self.choice(alike) if alike and self.chance(0.6) else self.source(tuple(t.shape), t.dtype)
            self.targets.append(other)
            return f"{call}({v}, {other.name})"
        members = [self.targets[0], *self.random.sample(apart, min(len(apart), self.random.randint(0, 2)))]
        members = list({_storage(member.tensor): member for member in members}.values())
        self.targets.extend(members[1:])
        addend = self.source((), t.dtype)
        return f"{call}([{', '.join(member.name for member in members)}], {addend.name})"

    def write_batch_norm(self, v, t):
        """The statistics of a batch of two go into the running mean and the running variance. What becomes of the batch is 1,
        -1 or nearly 0."""
        if t.dim() != 1 or t.dtype not in (torch.float32, torch.float64) or not t.numel():
            raise _NotApplicable
        batch = self.exact(t, (2, t.shape[0]))
        other = self.source(tuple(t.shape), t.dtype)
        self.targets.append(other)
        statistics = self.choice([f"{v}, {other.name}", f"{other.name}, {v}"])
        return f"torch.nn.functional.batch_norm({batch}, {statistics}, None, None, True, 0.5) > 0.5"

    def write_random(self, v, t):
        """Of distributions that have one number."""
        texts = [f"{v}.bernoulli_({self.choice(['0.0', '1.0'])})"]
        return self.choice(texts + [f"{v}.uniform_(2, 2)", f"{v}.normal_(2, 0)"] * t.dtype.is_floating_point)

    def rebound(self, t):
        """Refuses targets that somebody else sees, or may see."""
        (target,) = self.targets
        others = [o.tensor for o in self.values if o is not target and _storage(o.tensor) == _storage(t)]
        if target.kind in ("input", "buffer", *LISTS) or any(_same_places(t, other) for other in others):
            if not self.rare:
                raise _NotApplicable

    def write_metadata(self, v, t):
        """The tensor becomes a view of itself, which nobody else may have."""
        self.rebound(t)
        dim, other = (self.dim(t), self.dim(t)) if t.dim() else (0, 0)
        return self.choice(
            [
                f"{v}.t_()",
                f"{v}.squeeze_()",
                f"{v}.squeeze_({dim})",
                f"{v}.unsqueeze_({dim})",
                f"{v}.transpose_({dim}, {other})",
                f"{v}.swapaxes_({dim}, {other})",
            ]
        )

    def write_resize(self, v, t):
        self.rebound(t)
        shape = self.other_shape(t)
        if shape and shape[0] > 1 and self.chance(0.5):
            shape[0] -= 1
        return f"{v}.resize_({shape})"

    def write_set(self, v, t):
        self.rebound(t)
        return f"{v}.set_({self.any(lambda tensor: tensor.dtype == t.dtype).name})"

    # Reads ----------------------------------------------------------------------------------------------
    def read(self, kind=None, value=None):
        kind = kind or self.random.choice(READS)
        return getattr(self, f"read_{kind}")(value or self.any()), kind, 1

    def read_as(self, reader, value):
        """A statement that reads this value in this way."""
        if reader in ("operand", "mask"):
            return self.written_from(reader, value)
        return self.read(self.choice(["arithmetic", "unary", "where"]) if reader == "arithmetic" else reader, value)

    def written_from(self, reader, value):
        shape = tuple(value.tensor.shape)

        def fits(tensor):
            right = _broadcasts(shape, tuple(tensor.shape)) and not self.overlap(tensor, value.tensor)
            right = right and tensor is not value.tensor
            return right and (reader == "mask" or _casts_exactly(value.tensor, tensor.dtype))

        fitting = [other for other in self.values if fits(other.tensor)]
        target = self.choice(fitting) if fitting and self.chance(0.6) else self.source(shape, torch.float32)
        if not fits(target.tensor):
            raise _NotApplicable
        self.targets.append(target)
        name = self.use(value, reader)
        if reader == "mask":
            condition = name if value.tensor.dtype == torch.bool else f"{name} > 0"
            return f"{target.name}.masked_fill_({condition}, {self.random.choice(SCALARS)})", "masked_fill", 0
        kind = self.choice(["add", "mul", "copy"])
        return f"{target.name}.{kind}_({name})", kind, 0

    def read_arithmetic(self, a):
        if self.chance(0.4):
            return f"{self.use(a, 'arithmetic')} {self.choice('+-*')} {self.choice(SCALARS)}"
        b = self.any(lambda tensor: _broadcasts(tuple(tensor.shape), tuple(a.tensor.shape)))
        return f"{self.use(a, 'arithmetic')} {self.choice('+-*')} {self.use(b, 'arithmetic')}"

    def read_unary(self, value):
        v = self.use(value, "arithmetic")
        return self.choice(
            [f"-{v}", f"{v}.abs()", f"torch.relu({v})", f"torch.clamp({v}, -1, 2)", f"{v} > 1"]
        )

    def read_where(self, a):
        v = self.use(a, "arithmetic")
        b = self.any(lambda tensor: tensor.shape == a.tensor.shape)
        return f"torch.where({v} > 0, {v}, {self.use(b, 'arithmetic')})"

    def read_reduction(self, value):
        v = self.use(value, "reduction")
        texts = [f"{v}.sum()", f"torch.sum({v})", f"{v}.amax()"]
        if value.tensor.dim():
            dim = self.dim(value.tensor)
            texts += [f"{v}.sum({dim})", f"{v}.amax({dim}, keepdim=True)", f"{v}.amin({dim})"]
        return self.choice(texts)

    def read_clone(self, value):
        v = self.use(value, "clone")
        return self.choice([f"{v}.clone()", f"torch.clone({v})"])

    def read_cat(self, a):
        b = self.any(lambda tensor: tensor.shape == a.tensor.shape)
        pair = f"[{self.use(a, 'cat')}, {self.use(b, 'cat')}]"
        return self.choice(
            [f"torch.cat({pair})", f"torch.cat({pair}, {a.tensor.dim() - 1})", f"torch.stack({pair})"]
        )

    def read_gather(self, value):
        if value.tensor.dim() == 0:
            raise _NotApplicable
        dim = self.random.randrange(value.tensor.dim())
        index, _ = self.index(value.tensor.shape[dim], distinct=False)
        v = self.use(value, "gather")
        return self.choice([f"{v}[{':, ' * dim}{index}]", f"{v}.index_select({dim}, {index})"])

    def read_index(self, value):
        """Numbers become places of another tensor."""
        gathered = self.any(lambda tensor: tensor.dim() == 1 and tensor.numel() > 0)
        v = self.use(value, "index")
        if value.tensor.dtype != torch.int64:
            v = f"{v}.to(torch.int64)"
        if value.tensor.dim() == 0:  # which would be taken for a number
            v = f"{v}.reshape(1)"
        return f"{gathered.name}[{v}.remainder({gathered.tensor.shape[0]})]"

    def read_cast(self, value):
        dtype = self.random.choice(DTYPES)
        if not _casts_exactly(value.tensor, dtype):
            raise _NotApplicable
        return f"{self.use(value, 'cast')}.to({dtype}, copy=True)"

    def read_matmul(self, a):
        if a.tensor.dim() == 0 or a.tensor.dtype not in (torch.float32, torch.float64, torch.int64, torch.complex64):
            raise _NotApplicable
        length = a.tensor.shape[-1]
        fitting = [b for b in self.values if b.tensor.dtype == a.tensor.dtype and b.tensor.shape[:1] == (length,)]
        fitting = [b for b in fitting if b.tensor.dim() < 3]
        b = self.choice(fitting) if fitting and self.chance(0.7) else self.source((length, 2), a.tensor.dtype)
        return f"{self.use(a, 'matmul')} @ {self.use(b, 'matmul')}"


VIEWS = """
    select slice narrow view reshape flatten transpose permute t mT movedim unsqueeze squeeze expand alias
    getitem getitem diagonal split chunk unbind unflatten contiguous to dropout
    as_strided unfold view_dtype tensor_split hsplit unsafe_split expand_as atleast broadcast_tensors meshgrid same conj
    parts as_complex method einsum copy
""".split()
WRITES = """
    add add mul div operator operator indexed_operator indexed_operator unary relu clamp compare bitwise
    addcmul copy copy fill zero masked_fill setitem setitem setitem setitem_leading_ones setitem_bool
    setitem_index setitem_indices setitem_mask index_put index_copy index_add index_fill scatter scatter_add
    scatter_reduce put masked_scatter power lerp fill_diagonal cumulative triangle addmm out foreach custom
    batch_norm random metadata set
""".split()
# Of these, programs that fxpass refuses, or PyTorch cannot capture, are frequent: where a program is one of the rare ones.
RARE_WRITES = "out metadata masked_scatter put scatter_reduce resize".split()
READS = "arithmetic arithmetic unary where reduction clone clone cat gather index cast matmul".split()
# What reads a value, as coverage counts it; "caller" is who owns an input or a buffer and sees it later.
READERS = """
    arithmetic reduction clone cat gather cast matmul operand mask index output caller
""".split()
LISTS = {"split", "chunk", "unbind", "tensor_split", "hsplit", "unsafe_split", "broadcast_tensors", "meshgrid"}
FILLS = {"fill", "zero"}
REBINDING = {"metadata", "set"}
FLOAT_WRITES = {"lerp", "addmm", "batch_norm"}
SHAPES_FOR = {
    "batch_norm": [(6,), (6,), (2, 3), (3, 3), (1, 4), ()],
    "fill_diagonal": [(4, 3), (3, 3), (2, 3, 4), (2, 2, 2), (6,), (1,)],
}

# Pairs that no program has, and why.
UNREACHED = {
    **dict.fromkeys([("as_complex", write) for write in ("relu", "clamp", "random")], "complex numbers have no order"),
    ("as_complex", "mask"): "complex numbers have no order",
    **dict.fromkeys([(view, "bitwise") for view in ("as_complex", "parts", "dropout")], "no bits of floats"),
    ("as_complex", "batch_norm"): "statistics are no complex numbers",
    **dict.fromkeys([(view, "batch_norm") for view in ("unflatten", "mT", "meshgrid")], "statistics are vectors"),
}

# Every view with every write through it, and with every reader after that. A few hundred programs have all pairs of a view and
# a write; as many rounds as there are readers have all that there is.
PAIRS = [(view, write) for view in dict.fromkeys(VIEWS) for write in dict.fromkeys(WRITES) if view != "copy"]
PAIRS = [pair for pair in PAIRS if pair not in UNREACHED]
random.Random(0).shuffle(PAIRS)
TRIPLES_OF_EACH = 7


def triples_of(seed):
    for number in range(seed * TRIPLES_OF_EACH, (seed + 1) * TRIPLES_OF_EACH):
        turn, place = divmod(number, len(PAIRS))
        yield *PAIRS[place], READERS[(place + turn) % len(READERS)]

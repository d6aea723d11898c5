"""Random programs about aliases: views, views of views, names, containers, and in-place writes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod

from tests.compiler.nesting import indented

Shape = tuple[int, ...]
_SHAPES: tuple[Shape, ...] = ((3,), (2, 3), (3, 3), (2, 2, 3))
_MOST = 8  # tensors in a program


class AliasWriter:
    """Writes one program; `known` holds the shapes of the tensors that have names here."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.known: dict[str, Shape] = {}
        self.lists: dict[str, Shape] = {}  # of two tensors of one shape
        self.made = 0
        self.depth = 0

    def program(self) -> str:
        """The text of `program(x, s, n, k, r)`."""
        body = [line for _ in range(self.rng.randint(1, 2)) for line in self.base()]
        if self.rng.random() < 0.3:
            self.known["x"] = (3,)
        for _ in range(self.rng.randint(3, 8)):
            body += self.statement()
        body.append(self.return_())
        return "\n".join(["def program(x, s, n, k, r):", *indented(body)]) + "\n"

    def statement(self) -> list[str]:
        options: list[tuple[int, Callable[[], list[str]]]] = [
            (2, self.view),
            (2, self.view),
            (1, self.copy),
            (1, self.name),
            (4, self.assign),
            (2, self.augmented),
            (2, self.method),
            (1, self.container),
            (1, self.call),
            (2, self.rebind),
            (1, self.list_),
        ]
        if self.depth < 2:
            options += [(1, self.rows), (2, self.branch), (1, self.loop), (1, self.leave)]
        weights = [weight for weight, _ in options]
        return self.rng.choices([write for _, write in options], weights)[0]()

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def tensor(self) -> str:
        return self.rng.choice(list(self.known))

    def new(self, stem: str, shape: Shape) -> str:
        self.made += 1
        self.known[f"{stem}{self.made}"] = shape
        return f"{stem}{self.made}"

    @contextmanager
    def inner(self) -> Iterator[None]:
        """Names made in a nested block are not seen after it."""
        before, self.depth = (dict(self.known), dict(self.lists)), self.depth + 1
        try:
            yield
        finally:
            (self.known, self.lists), self.depth = before, self.depth - 1

    def block(self) -> list[str]:
        with self.inner():
            count = self.rng.randint(1, 3)
            return indented([line for _ in range(count) for line in self.statement()])

    # ---- tensors ------------------------------------------------------------------------------

    def base(self) -> list[str]:
        shape = self.rng.choice(_SHAPES)
        text = self._stacked(shape)
        return [f"{self.new('b', shape)} = {text}"]

    def _stacked(self, shape: Shape) -> str:
        if shape == (3,):
            return f"x {self.pick('*', '+')} {self.number()}"
        return f"ops.stack([{', '.join(self._stacked(shape[1:]) for _ in range(shape[0]))}])"

    def view(self) -> list[str]:
        source = self.tensor()
        if len(self.known) >= _MOST:
            return self.assign()
        text, shape = self.view_of(source, self.known[source])
        return [f"{self.new('v', shape)} = {text}"]

    def view_of(self, name: str, shape: Shape) -> tuple[str, Shape]:
        """An expression that shows elements of a tensor (or a copy, where numpy copies)."""
        options: list[tuple[str, Shape]] = [
            (f"{name}.reshape(-1)", (prod(shape),)),
            (f"{name}.unsqueeze(0)", (1, *shape)),
            (f"{name}[..., None]", (*shape, 1)),
            (f"{name}[...]", shape),
            (f"{name}.flatten()", (prod(shape),)),
            (f"{name}.T", shape[::-1]),
            (f"{name}.squeeze()", tuple(n for n in shape if n != 1)),
        ]
        if shape:
            place = self.rng.randrange(-shape[0], shape[0])
            options += [(f"{name}[{place}]", shape[1:])] * 3
            options += [
                (f"{name}[::{self.rng.choice((1, 2, -1))}]", shape),
                (f"{name}.unbind()[{place}]", shape[1:]),
            ]
            start = self.rng.randrange(shape[0])
            count = self.rng.randint(1, shape[0] - start)
            options += [
                (f"{name}[{start}:{start + count}]", (count, *shape[1:])),
                (f"{name}.narrow(0, {start}, {count})", (count, *shape[1:])),
                (f"{name}.split(1)[{place}]", (1, *shape[1:])),
            ]
        if len(shape) > 1:
            column = self.rng.randrange(shape[-1])
            options += [
                (f"{name}[..., {column}]", shape[:-1]),
                (f"{name}.swapaxes(0, 1)", (shape[1], shape[0], *shape[2:])),
                (f"{name}.reshape({shape[0]}, -1)", (shape[0], prod(shape[1:]))),
            ]
        if len(shape) == 2:
            options.append((f"{name}.diagonal()", (min(shape),)))
        text, found = self.rng.choice(options)
        if "[::" in text:
            step = int(text.split("::")[1].rstrip("]"))
            found = (len(range(shape[0])[::step]), *shape[1:])
        return text, found

    def copy(self) -> list[str]:
        source = self.tensor()
        shape = self.known[source]
        text = self.pick(f"{source} * 1.0", f"{source}.copy()", f"{source} + s")
        return [f"{self.new('c', shape)} = {text}"]

    def name(self) -> list[str]:
        source = self.tensor()
        return [f"{self.new('a', self.known[source])} = {source}"]

    # ---- writes -------------------------------------------------------------------------------

    def number(self) -> str:
        return self.pick("s", str(round(self.rng.uniform(0.1, 1.5), 2)), "0.5 * s", "r")

    def value(self, shape: Shape) -> str:
        """What is written to a place of this shape."""
        fitting = [name for name, found in self.known.items() if found == shape]
        options = [self.number(), f"{self.tensor()}.mean()", *fitting]
        options += [f"{name} * 0.5" for name in fitting]
        return self.rng.choice(options)

    def place(self, name: str) -> tuple[str, Shape]:
        """A subscript of a tensor and the shape of what it names."""
        shape = self.known[name]
        options: list[tuple[str, Shape]] = [("...", shape)]
        if shape:
            row = self.rng.randrange(-shape[0], shape[0])
            options += [(str(row), shape[1:])] * 3
            options += [(":1", (1, *shape[1:])), ("n % " + str(shape[0]), shape[1:])]
            options += [(f"[0, {shape[0] - 1}]", ())] if shape[0] > 1 else []
        if len(shape) > 1:
            options.append((f":, {self.rng.randrange(shape[1])}", (shape[0], *shape[2:])))
        return self.rng.choice(options)

    def target(self) -> tuple[str, Shape]:
        """What a write names: a subscript of a tensor, or of a view without a name."""
        name = self.tensor()
        if self.rng.random() < 0.4:
            text, shape = self.view_of(name, self.known[name])
            self.known["_"] = shape
            place, found = self.place("_")
            del self.known["_"]
            return f"{text}[{place}]", found
        place, found = self.place(name)
        return f"{name}[{place}]", found

    def assign(self) -> list[str]:
        target, shape = self.target()
        if self.rng.random() < 0.15:
            name = self.tensor()
            return [f"{name}[{name} > {self.number()}] = {self.number()}"]
        return [f"{target} = {self.value(shape)}"]

    def augmented(self) -> list[str]:
        target, shape = self.target()
        return [
            f"{target} {self.pick('+=', '*=')} {self.number() if not shape else self.value(shape)}"
        ]

    def method(self) -> list[str]:
        name = self.tensor()
        source, shape = (name, self.known[name])
        if self.rng.random() < 0.4:
            source, shape = self.view_of(name, shape)
        fitting = [one for one, found in self.known.items() if found == shape]
        calls = [f"mul_({self.number()})", f"add_({self.number()})", "zero_()", "fill_(0.25)"]
        calls += [f"add_({one})" for one in fitting]
        return [f"{source}.{self.rng.choice(calls)}"]

    def rebind(self) -> list[str]:
        """Names of tensors of one shape that change what they refer to."""
        name = self.tensor()
        shape = self.known[name]
        fitting = [one for one, found in self.known.items() if found == shape and one != name]
        held = [one for one, found in self.lists.items() if found == shape]
        if held and self.rng.random() < 0.4:
            return [f"{name} = {self.rng.choice(held)}[{self.pick('0', '1')}]"]
        if not fitting:
            return [f"{name} = {name} * 1.0"]
        other, third = self.rng.choice(fitting), self.rng.choice(fitting)
        return [
            self.pick(
                f"{name} = {other}",
                f"{name}, {other} = {other}, {name}",
                f"{name} = {other} if {self.condition()} else {third}",
                f"{name} = {other} * {self.number()}",
            )
        ]

    def list_(self) -> list[str]:
        """A list of two tensors: made, written, or given another name."""
        name = self.tensor()
        shape = self.known[name]
        fitting = [one for one, found in self.known.items() if found == shape]
        held = [one for one, found in self.lists.items() if found == shape]
        if not held or self.rng.random() < 0.3:
            self.made += 1
            self.lists[f"h{self.made}"] = shape
            return [f"h{self.made} = [{name}, {self.rng.choice(fitting)}]"]
        one, other = self.rng.choice(held), self.rng.choice(held)
        place = self.pick("0", "1")
        target, inner = self.place(name)
        return [
            self.pick(
                f"{one}[{place}] = {name}",
                f"{one} = {other}",
                f"{one} = [{name}, {other}[{place}]]",
                f"{one}[{place}][{target}] = {self.value(inner)}",
                f"{one}[0], {one}[1] = {one}[1], {one}[0]",
            )
        ]

    # ---- containers, functions, control flow --------------------------------------------------

    def container(self) -> list[str]:
        one, other = self.tensor(), self.tensor()
        self.made += 1
        held = f"d{self.made}"
        place, shape = self.place(one)
        if self.rng.random() < 0.5:
            return [f"{held} = [{one}, {other}]", f"{held}[0][{place}] = {self.value(shape)}"]
        return [
            f"{held} = {{'a': {one}, 'b': {other}}}",
            f"{held}['a'][{place}] = {self.value(shape)}",
        ]

    def call(self) -> list[str]:
        """A function that writes to its argument, or to a tensor around it."""
        name, outer = self.tensor(), self.tensor()
        self.made += 1
        function = f"f{self.made}"
        self.known["a"] = self.known[name]
        place, shape = self.place("a")
        body = [f"a[{place}] = {self.number()}"]
        del self.known["a"]
        if self.rng.random() < 0.5:
            place, shape = self.place(outer)
            body.append(f"{outer}[{place}] = {self.value(shape)}")
        body.append("return a.sum()")
        found = self.new("t", ())
        return [f"def {function}(a):", *indented(body), f"{found} = {function}({name}) * 1.0"]

    def rows(self) -> list[str]:
        names = [name for name, shape in self.known.items() if len(shape) > 1]
        if not names:
            return self.assign()
        name = self.rng.choice(names)
        self.made += 1
        row = f"row{self.made}"
        with self.inner():
            self.known[row] = self.known[name][1:]
            body = [*self._row_write(row), *self.statement()]
        return [f"for {row} in {name}:", *indented(body)]

    def _row_write(self, row: str) -> list[str]:
        return [self.pick(f"{row}[0] = {self.number()}", f"{row}.mul_({self.number()})")]

    def condition(self) -> str:
        return self.pick(
            "s > 0.3", "r > 0.2", "k < 2", "n == 2", f"{self.tensor()}.sum() > {self.number()}"
        )

    def branch(self) -> list[str]:
        lines = [f"if {self.condition()}:", *self.block()]
        return lines if self.rng.random() < 0.5 else [*lines, "else:", *self.block()]

    def loop(self) -> list[str]:
        self.made += 1
        step = f"i{self.made}"
        return [f"for {step} in range({self.pick('2', '3', 'k', 'n')}):", *self.block()]

    def leave(self) -> list[str]:
        return [f"if {self.condition()}:", f"    {self.return_()}"]

    def return_(self) -> str:
        """Everything that has a name, so that a write that is lost shows."""
        seen = [*self.known, *[f"{name}[{i}]" for name in self.lists for i in (0, 1)]]
        return f"return {' + '.join(f'({n} * {i + 1}.0).sum()' for i, n in enumerate(seen))}"


def aliasing_program(rng: random.Random) -> str:
    """The text of a random program about aliases."""
    return AliasWriter(rng).program()

"""Random expressions of a wanted kind, valid wherever the names of a scope have values."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from tests.compiler.scope import COUNT, DICT, FLOAT, INT, LIST, PAIR, SCALAR, VECTOR, Scope


class Expressions:
    """Writes expressions; `scope` changes as the program grows."""

    def __init__(self, rng: random.Random, differentiable: bool) -> None:
        self.rng = rng
        self.differentiable = differentiable  # a plain number taken out of a tensor has no gradient
        self.scope = Scope()

    def expression(self, kind: str, depth: int = 2) -> str:
        """An expression that gives a value of `kind`."""
        if depth <= 0 or self.rng.random() < 0.15:
            return self.simple(kind)
        makers: dict[str, Callable[[int], str]] = {
            VECTOR: self.vector,
            SCALAR: self.scalar,
            COUNT: self.count,
            FLOAT: self.float_,
            INT: self.int_,
        }
        if self.rng.random() < 0.1:
            return self.shared(kind, depth)
        return makers[kind](depth - 1)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def simple(self, kind: str) -> str:
        """A name, or a constant where there is none."""
        names = self.scope.names(kind)
        if kind in (FLOAT, INT) and (not names or self.rng.random() < 0.5):
            return self.constant(kind)
        return self.rng.choices(names, range(1, len(names) + 1))[0]  # rather a new one

    def constant(self, kind: str) -> str:
        if kind == INT:
            return str(self.rng.randint(0, 4))
        return str(round(self.rng.uniform(0.1, 1.9), 2))

    def shared(self, kind: str, depth: int) -> str:
        """What gives any kind: a conditional expression, a call, max or min of numbers."""
        calls = [f for f in self.scope.functions if f.gives == kind]
        if calls and self.rng.random() < 0.7:
            chosen = self.rng.choice(calls)
            arguments = [self.expression(k, depth - 1) for k in chosen.takes]
            return f"{chosen.name}({', '.join(arguments)})"
        one, other = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        if kind != VECTOR and self.rng.random() < 0.3:
            return f"{self.pick('max', 'min')}({one}, {other})"
        return f"({one} if {self.condition(depth - 1)} else {other})"

    # ---- tensors ------------------------------------------------------------------------------

    def vector(self, depth: int) -> str:
        a = self.expression(VECTOR, depth)
        options: list[Callable[[], str]] = [
            lambda: f"({a} {self.pick('+', '-')} {self.expression(VECTOR, depth)})",
            lambda: f"({a} {self.pick('+', '-', '*')} {self.expression(SCALAR, depth)})",
            lambda: f"({a} * {self.constant(FLOAT)})",
            lambda: f"({self.expression(FLOAT, depth)} {self.pick('+', '-', '*')} {a})",
            lambda: f"({a} {self.pick('+', '*')} {self.expression(INT, 0)})",
            lambda: f"{self.pick('ops.tanh', 'ops.sin', 'abs', '-')}({a})",
            lambda: f"({a}).{self.pick('tanh', 'abs', 'sin')}()",
            lambda: f"ops.{self.pick('maximum', 'minimum')}({a}, {self.expression(SCALAR, depth)})",
            lambda: f"ops.exp(ops.minimum({a}, 1.0))",
            lambda: f"ops.where({a} > {self.expression(SCALAR, 0)}, {a}, {self.simple(VECTOR)})",
            lambda: f"ops.stack([{', '.join(self.expression(SCALAR, depth) for _ in 'abc')}])",
        ]
        options += [partial(str, f"{n}[0]") for n in self.scope.names(PAIR)]
        options += [partial(str, f"{n}['a']") for n in self.scope.names(DICT)]
        return self.rng.choice(options)()

    def scalar(self, depth: int) -> str:
        a = self.expression(SCALAR, depth)
        options: list[Callable[[], str]] = [
            lambda: f"({a} {self.pick('+', '-', '*')} {self.expression(SCALAR, depth)})",
            lambda: f"({a} {self.pick('+', '-', '*')} {self.expression(FLOAT, depth)})",
            lambda: f"({self.expression(INT, depth)} {self.pick('+', '-', '*')} {a})",
            lambda: f"({a} * {self.expression(COUNT, 0)})",
            lambda: f"({a} / (abs({self.expression(SCALAR, depth)}) + 1.0))",
            lambda: f"{self.pick('ops.tanh', 'ops.sin', 'abs', '-')}({a})",
            lambda: f"(({a}) ** 2)",
            lambda: f"ops.{self.pick('maximum', 'minimum')}({a}, {self.expression(FLOAT, 0)})",
            self.from_vector,
            self.from_vector,
            lambda: f"(lambda a: a * {self.constant(FLOAT)} + {self.simple(SCALAR)})({a})",
            lambda: f"sum([{self.simple(SCALAR)} * a for a in {self.simple(VECTOR)}])",
        ]
        options += [partial(str, f"{n}[{self.pick('1', '-1')}]") for n in self.scope.names(PAIR)]
        options += [partial(str, f"{n}['b']") for n in self.scope.names(DICT)]
        for name in self.scope.names(LIST):
            options += [
                partial(str, f"{name}[{self.pick('0', '-1', '1')}]"),
                partial(str, f"sum({name})"),
                partial(str, f"sum([a * {self.constant(FLOAT)} for a in {name}])"),
            ]
        return self.rng.choice(options)()

    def from_vector(self) -> str:
        """A number out of a vector: reduced, or taken by a known or an unknown place."""
        a = self.expression(VECTOR, 1)
        place = self.pick(
            "0", "1", "-1", f"{self.expression(INT, 1)} % 3", self.simple(COUNT) + " % 3"
        )
        return self.pick(
            f"({a}).{self.pick('sum', 'mean', 'max', 'min')}()",
            f"({a})[{place}]",
            f"({a})[{self.pick('0:2', '1:', ':2', '::2')}].sum()",
        )

    def count(self, depth: int) -> str:
        a = self.expression(COUNT, depth)
        return self.pick(
            f"({a} {self.pick('+', '-')} {self.expression(INT, depth)})",
            f"({a} {self.pick('+', '-')} {self.simple(COUNT)})",
            f"({a} {self.pick('%', '//')} {self.rng.randint(2, 3)})",
            f"({a} * {self.rng.randint(0, 2)})",
        )

    # ---- plain numbers ------------------------------------------------------------------------

    def float_(self, depth: int) -> str:
        a = self.expression(FLOAT, depth)
        options = [
            f"({a} {self.pick('+', '-', '*')} {self.expression(FLOAT, depth)})",
            f"({a} {self.pick('+', '-', '*')} {self.expression(INT, depth)})",
            f"({self.expression(INT, depth)} / {self.rng.randint(2, 4)})",
            f"abs({a})",
            f"float({self.expression(INT, depth)})",
        ]
        if not self.differentiable:
            options.append(f"float({self.expression(SCALAR, depth)})")
        return self.rng.choice(options)

    def int_(self, depth: int) -> str:
        a = self.expression(INT, depth)
        options = [
            f"({a} {self.pick('+', '-')} {self.expression(INT, depth)})",
            f"({a} {self.pick('%', '//')} {self.rng.randint(2, 3)})",
            f"({a} * {self.rng.randint(0, 2)})",
            f"abs({a})",
            f"int({self.expression(COUNT, depth)})",
            *[f"len({name})" for name in self.scope.names(LIST)],
        ]
        return self.rng.choice(options)

    # ---- conditions ---------------------------------------------------------------------------

    def condition(self, depth: int = 1) -> str:
        """Something to test: a comparison, or several joined."""
        order = self.pick("<", ">", "<=", ">=")
        options: list[Callable[[], str]] = [
            lambda: f"{self.expression(SCALAR, depth)} {order} {self.expression(FLOAT, depth)}",
            lambda: f"{self.expression(SCALAR, depth)} {order} {self.expression(SCALAR, depth)}",
            lambda: (
                f"{self.simple(COUNT)} {self.pick('<', '==', '!=', '>=')} {self.expression(INT, 1)}"
            ),
            lambda: (
                f"{self.expression(INT, depth)} {self.pick('<', '==', '!=')} {self.expression(INT, 1)}"
            ),
            lambda: f"{self.expression(FLOAT, depth)} {order} {self.expression(FLOAT, depth)}",
            lambda: (
                f"({self.simple(VECTOR)} {order} {self.simple(SCALAR)}).{self.pick('any', 'all')}()"
            ),
            lambda: f"-0.5 < {self.simple(SCALAR)} < {self.expression(FLOAT, 1)}",
            lambda: f"{self.expression(INT, 1)} in (0, 2)",
            lambda: f"{self.simple(COUNT)} % 2",
        ]
        if depth > 0:
            joined = self.pick("and", "or")
            inner = [self.condition(depth - 1) for _ in range(2)]
            options += [lambda: f"({inner[0]} {joined} {inner[1]})"] * 2
            options.append(lambda: f"not ({inner[0]})")
        return self.rng.choice(options)()

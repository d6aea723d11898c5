"""What a generated program may use at one place: its variables by kind, its functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# The kinds of values: a tensor of three floats, a float tensor, a whole number as tensor, Python's
# own numbers, and containers of the first two.
VECTOR, SCALAR, COUNT, FLOAT, INT = "vector", "scalar", "count", "float", "int"
PAIR, LIST, DICT = "pair", "list", "dict"
KINDS = (VECTOR, SCALAR, COUNT, FLOAT, INT)


@dataclass(frozen=True)
class Signature:
    """A function that a program can call: its name, the kinds it takes and gives."""

    name: str
    takes: tuple[str, ...]
    gives: str


@dataclass
class Scope:
    """Names that have a value here."""

    readable: dict[str, list[str]] = field(default_factory=dict)
    assignable: dict[str, list[str]] = field(default_factory=dict)
    functions: list[Signature] = field(default_factory=list)

    def add(self, kind: str, name: str, assignable: bool = True) -> None:
        """Give a name a kind."""
        self.readable.setdefault(kind, []).append(name)
        if assignable:
            self.assignable.setdefault(kind, []).append(name)

    def names(self, kind: str) -> list[str]:
        return self.readable.get(kind, [])

    def targets(self, kind: str) -> list[str]:
        return self.assignable.get(kind, [])

    @contextmanager
    def inner(self) -> Iterator[None]:
        """Names added inside the block are gone after it: another path may not have them."""
        before = (_copied(self.readable), _copied(self.assignable), list(self.functions))
        try:
            yield
        finally:
            self.readable, self.assignable, self.functions = before

    def without_targets(self) -> Scope:
        """The same names, to read only."""
        return Scope(_copied(self.readable), {}, list(self.functions))


def _copied(names: dict[str, list[str]]) -> dict[str, list[str]]:
    return {kind: list(found) for kind, found in names.items()}

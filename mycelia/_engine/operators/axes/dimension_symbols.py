"""Symbols: which dimensions of which arrays are always cut together."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd


class DimensionSymbol:
    """One dimension of one array; united with others it stands for all of them.

    `size` is the smallest of the sizes of its dimensions, `divides` the number that a count of
    parts must divide so that all of them are cut at the same elements. A blocked symbol cannot be
    cut at all.
    """

    __slots__ = ("_blocked", "_divides", "_parent", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._divides = size
        self._blocked = False
        self._parent: DimensionSymbol | None = None

    @property
    def root(self) -> DimensionSymbol:
        """The symbol that stands for all those this one is united with."""
        found = self
        while found._parent is not None:
            found = found._parent
        if self is not found:
            self._parent = found
        return found

    @property
    def size(self) -> int:
        return self.root._size

    @property
    def divides(self) -> int:
        return self.root._divides

    @property
    def can_be_cut(self) -> bool:
        root = self.root
        return not root._blocked and root._size > 1 and root._divides > 1

    def unite(self, other: DimensionSymbol) -> None:
        """From now on both are cut together or not at all."""
        one, two = self.root, other.root
        if one is two:
            return
        two._parent = one
        one._size = min(one._size, two._size)
        one._divides = gcd(one._divides, two._divides)
        one._blocked = one._blocked or two._blocked

    def block(self) -> None:
        self.root._blocked = True

    def limit(self, parts: int) -> None:
        """Only counts of parts that divide `parts` keep the cut aligned."""
        self.root._divides = gcd(self.root._divides, parts)
        self.root._size = min(self.root._size, parts)


def unite_all(symbols: Iterable[DimensionSymbol]) -> None:
    """Unite each symbol with the first."""
    first: DimensionSymbol | None = None
    for symbol in symbols:
        if first is None:
            first = symbol
        else:
            first.unite(symbol)


def block_all(symbols: Iterable[DimensionSymbol]) -> None:
    """Block each symbol."""
    for symbol in symbols:
        symbol.block()

"""Dimension symbols: union-find over dimensions of arrays that are always split together."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd


class DimensionSymbol:
    """One dimension of one array; a united symbol represents several.

    `size` is the smallest size of its dimensions. `divides` is a multiple of every number of shards
    that splits all of its dimensions at the same elements. A blocked symbol cannot be split.
    """

    __slots__ = ("_blocked", "_divides", "_parent", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._divides = size
        self._blocked = False
        self._parent: DimensionSymbol | None = None

    @property
    def root(self) -> DimensionSymbol:
        """The representative of all symbols that this one is united with."""
        root = self
        while root._parent is not None:
            root = root._parent
        if self is not root:
            self._parent = root
        return root

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
        """Split both together or not at all from now on."""
        first, second = self.root, other.root
        if first is second:
            return
        second._parent = first
        first._size = min(first._size, second._size)
        first._divides = gcd(first._divides, second._divides)
        first._blocked = first._blocked or second._blocked

    def block(self) -> None:
        self.root._blocked = True

    def limit(self, parts: int) -> None:
        """Allow only numbers of shards that divide `parts`."""
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

"""Which numbers an operator may be given as indices or labels, and the checks made of that.

An operator says it once, in its method `bounds`. Eager calls look at the numbers before they run
(`check`); programs mark the numbers that are wrong, and compute which (`marked`, `largest`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from mycelia._engine.core.errors import IndexOutOfRangeError, located
from mycelia._engine.core.shape import Shape
from mycelia._engine.core.source_location import Span, current_span
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.node import Apply, GraphConstant
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.jax_setup import Array, jnp

Place = int | tuple[int, int]
_PIECES = 16


@dataclass(frozen=True)
class IndexBound:
    """The numbers that one argument of an operator may hold: from `low` up to below `high`.

    `place` is the argument, counted as `lower` takes them, or a part of a tuple of arrays. `high`
    may differ for each place of the last axis; None means that there is no limit. `extra` is one
    more number that is right. `read` picks the numbers from the argument and those at `beside`.
    An operator that stands for another's gradient is `named` by that one, and its argument.
    """

    place: Place
    low: int | None
    high: int | tuple[int | None, ...] | None
    kind: str = "index"
    extra: int | None = None
    read: Callable[..., Any] | None = None
    beside: tuple[int, ...] = ()
    named: tuple[str, str] | None = None

    @staticmethod
    @lru_cache(maxsize=4096)
    def indices(place: Place, size: int, negative: bool = False) -> IndexBound:
        """Indices of an axis; where they may be `negative`, they count from its end."""
        return IndexBound(place, -size if negative else 0, size)

    @staticmethod
    def positions(place: int, shape: tuple[int | None, ...], indices: Shape) -> IndexBound:
        """Full positions: the last axis of the argument holds one index for each leading axis."""
        sizes = shape[: indices[-1]] if indices else shape[:1]
        return IndexBound(place, 0, sizes[0] if len(sizes) == 1 else sizes)

    @staticmethod
    @lru_cache(maxsize=4096)
    def labels(place: Place, classes: int, ignored: int | None = None) -> IndexBound:
        """Numbers of classes, and one that says that a position does not count."""
        return IndexBound(place, 0, classes, "label", ignored)

    @staticmethod
    def lengths(place: int, given: Any, most: int) -> tuple[IndexBound, ...]:
        """Lengths of parts of an axis, from none to all of it; they may come one by one."""
        several = isinstance(given, tuple)
        places = [(place, i) for i in range(len(given))] if several else [place]
        return tuple([IndexBound(one, 0, most + 1, "length") for one in places])

    def numbers(self, args: tuple[Any, ...], fetch: Callable[[Any], Any]) -> Any:
        """The array to be checked, from all arguments; `fetch` makes arrays of those it needs."""
        if isinstance(self.place, tuple):
            return fetch(args[self.place[0]][self.place[1]])
        found = [fetch(args[i]) for i in (self.place, *self.beside)]
        if self.read is None or any(part is None for part in found):
            return None if found[-1] is None else found[0]
        return self.read(*found)

    def of_data(self, op: Any, data: Sequence[int]) -> IndexBound:
        """The same bound for the gradient of `op`, which takes its arguments numbered in `data`."""
        if isinstance(self.place, tuple):
            moved: Place = data.index(self.place[0]), self.place[1]
        else:
            moved = data.index(self.place)
        beside = tuple([data.index(i) for i in self.beside])
        return replace(self, place=moved, beside=beside, named=names(op, self))

    def gradient(self, owner: str, argument: str) -> IndexBound:
        """The same bound for an operator that is the gradient of `owner`."""
        return replace(self, named=(owner, argument))

    def outside(self, numbers: Any) -> Any:
        """Which numbers are wrong: for arrays of the host and of programs, 32 or 64 bits wide."""
        limits = np.iinfo(numbers.dtype)
        wrong = numbers < (limits.min if self.low is None else self.low)
        if isinstance(self.high, tuple):
            most = [limits.max if n is None else n - 1 for n in self.high]
            wrong = wrong | (numbers > np.array(most, numbers.dtype))
        elif self.high is not None and self.high <= limits.max:
            wrong = wrong | (numbers >= self.high)
        return wrong if self.extra is None else wrong & (numbers != self.extra)

    def holds(self, numbers: np.ndarray) -> bool:
        """Whether numbers of the host are surely right; False where that takes a closer look."""
        if isinstance(self.high, tuple):
            return False
        least, most = (numbers.min(), numbers.max()) if numbers.ndim else (numbers, numbers)
        low, high = self.low, self.high
        return bool((low is None or least >= low) and (high is None or most < high))

    @property
    def is_never_met(self) -> bool:
        """Whether no number at all is right."""
        return self.high == 0 or (isinstance(self.high, tuple) and 0 in self.high)


def of_node(node: Apply) -> tuple[IndexBound, ...]:
    """The bounds of the operator that a node applies, for the types it is applied to."""
    op = primitive_of(node)
    if not isinstance(op, Primitive) or op.bounds is None:
        return ()
    given = [
        a.value if isinstance(a, GraphConstant) and place in op.arguments.static else a.type
        for place, a in enumerate(node.args)
    ]
    return op.bounds(*given)


def check(op: Any, args: tuple[Any, ...], fetch: Callable[[Any], Any] = np.asarray) -> None:
    """Raise if a number in the arguments of a call is outside the operator's bounds."""
    for bound in op.bounds(*args):
        numbers = bound.numbers(args, fetch)
        if numbers is not None and numbers.size and not bound.holds(numbers):
            _refuse(op, bound, _wide(numbers))


def _refuse(op: Any, bound: IndexBound, numbers: np.ndarray) -> None:
    """Raise for the first wrong number, if there is one."""
    wrong = bound.outside(numbers)
    if wrong.any():
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        owner, name = names(op, bound)
        where = f"{name}[{', '.join(str(p) for p in place)}]" if place else name
        raise out_of_range(owner, where, bound, int(numbers[place]), current_span())


def marked(bound: IndexBound, numbers: Array) -> tuple[Array, int]:
    """In a program: the wrong numbers as a row without a sign, 0 for the others, and an offset.

    The offset is to be added to what was not 0, then it is the number again.
    """
    whole = _wide(numbers)
    kind = jnp.dtype(f"u{whole.dtype}")
    if bound.is_never_met:
        return jnp.maximum(whole + 1, 1).astype(kind).reshape(-1), -1
    first = max(bound.low or 0, 0)  # this is right, so that nothing wrong becomes 0
    wrong = jnp.where(bound.outside(whole), whole - first, jnp.zeros((), whole.dtype))
    return wrong.astype(kind).reshape(-1), first


def largest(rows: Array) -> Array:
    """The largest number of each row.

    XLA on CPU would write all numbers to memory for the maximum of more than a few. Maxima of
    pieces are vector loops: 0.04 ms for two rows of 100,000 instead of 0.05 to 0.11.
    """
    while (count := rows.shape[-1]) > 2 * _PIECES:
        piece = -(-count // _PIECES)
        starts = [min(i * piece, count - piece) for i in range(_PIECES)]
        rows = reduce(jnp.maximum, [rows[:, start : start + piece] for start in starts])
    return jnp.max(rows, axis=-1)


def _wide(numbers: Any) -> Any:
    """Numbers with 32 bits and a sign, or with 64 bits."""
    is_narrow = numbers.dtype.itemsize < 4 or numbers.dtype == np.int32
    return numbers.astype(np.int32 if is_narrow else np.int64)


def names(op: Any, bound: IndexBound) -> tuple[str, str]:
    """What the user calls the operator and its argument."""
    if bound.named is not None:
        return bound.named
    place, part = bound.place if isinstance(bound.place, tuple) else (bound.place, None)
    known = op.arguments.names
    name = known[place] if place < len(known) else f"index {place - len(known)}"
    return op.name, name if part is None else f"{name}[{part}]"


def out_of_range(
    owner: str, argument: str, bound: IndexBound, number: int, span: Span | None, when: str = ""
) -> IndexOutOfRangeError:
    """The error for a wrong number, with the line of the user's that it belongs to."""
    return located(
        IndexOutOfRangeError,
        f"{owner}: {'an' if bound.kind == 'index' else 'a'} {bound.kind} is out of range",
        got=f"{argument} = {number}{_counted(bound)}{when}",
        expected=_expected(bound),
        span=span,
    )


def _counted(bound: IndexBound) -> str:
    """What the numbers count, as the end of a line."""
    high = bound.high
    if isinstance(high, tuple):
        return f" for axes of sizes {list(high)}"
    if high is None:
        return ""
    if bound.kind == "label":
        return f" for {high} classes"
    counts_from_1 = bound.kind == "length" or (bound.low or 0) > 0
    return f" for an axis of size {high - counts_from_1}"


def _expected(bound: IndexBound) -> str:
    low, high = bound.low, bound.high
    if isinstance(high, tuple):
        return "each index from 0 to the size of its axis - 1"
    if bound.is_never_met:
        return "none, as there is nothing to name"
    ends = ["" if low is None else f"from {low}", "" if high is None else f"to {high - 1}"]
    text = " ".join(["numbers", *filter(None, ends)])
    return text if bound.extra is None else f"{text}, or {bound.extra}"

"""Bounds of index and label arguments, and the checks of their values.

An operator declares them once, in its method `bounds`. Eager calls check values before they run
(`check`); programs mark the invalid values and compute which they are (`marked`, `largest`).
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
    """The valid values of one argument of an operator: `low <= value < high`.

    `place` is the index of the argument in `lower`, or a pair for an element of a tuple of arrays.
    `high` may differ for each entry of the last axis; None means no limit. `extra` is one more
    valid value. `read` extracts the values from the argument and those at `beside`. For an operator
    that is another's gradient, `named` gives that operator and its argument.
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
        """Indices of an axis; with `negative`, they may count from its end."""
        return IndexBound(place, -size if negative else 0, size)

    @staticmethod
    def positions(place: int, shape: tuple[int | None, ...], indices: Shape) -> IndexBound:
        """Full positions: the last axis of the argument holds one index for each leading axis."""
        sizes = shape[: indices[-1]] if indices else shape[:1]
        return IndexBound(place, 0, sizes[0] if len(sizes) == 1 else sizes)

    @staticmethod
    @lru_cache(maxsize=4096)
    def labels(place: Place, classes: int, ignored: int | None = None) -> IndexBound:
        """Class labels, and optionally one that marks ignored positions."""
        return IndexBound(place, 0, classes, "label", ignored)

    @staticmethod
    def lengths(place: int, given: Any, most: int) -> tuple[IndexBound, ...]:
        """Lengths along an axis, from 0 to its size; they may be a tuple of scalars."""
        several = isinstance(given, tuple)
        places = [(place, i) for i in range(len(given))] if several else [place]
        return tuple([IndexBound(p, 0, most + 1, "length") for p in places])

    def numbers(self, args: tuple[Any, ...], fetch: Callable[[Any], Any]) -> Any:
        """The array to check, from all arguments; `fetch` converts those it needs to arrays."""
        if isinstance(self.place, tuple):
            return fetch(args[self.place[0]][self.place[1]])
        arrays = [fetch(args[i]) for i in (self.place, *self.beside)]
        if self.read is None or any(array is None for array in arrays):
            return None if arrays[-1] is None else arrays[0]
        return self.read(*arrays)

    def of_data(self, op: Any, data: Sequence[int]) -> IndexBound:
        """The same bound for the gradient of `op`, which takes the arguments numbered in `data`."""
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
        """A mask of the invalid values, for host arrays and traced ones, 32 or 64 bits wide."""
        limits = np.iinfo(numbers.dtype)
        wrong = numbers < (limits.min if self.low is None else self.low)
        if isinstance(self.high, tuple):
            most = [limits.max if n is None else n - 1 for n in self.high]
            wrong = wrong | (numbers > np.array(most, numbers.dtype))
        elif self.high is not None and self.high <= limits.max:
            wrong = wrong | (numbers >= self.high)
        return wrong if self.extra is None else wrong & (numbers != self.extra)

    def holds(self, numbers: np.ndarray) -> bool:
        """Whether host values are certainly valid; False if that needs a closer look."""
        if isinstance(self.high, tuple):
            return False
        least, most = (numbers.min(), numbers.max()) if numbers.ndim else (numbers, numbers)
        low, high = self.low, self.high
        return bool((low is None or least >= low) and (high is None or most < high))

    @property
    def is_never_met(self) -> bool:
        """Whether no value is valid."""
        return self.high == 0 or (isinstance(self.high, tuple) and 0 in self.high)


def of_node(node: Apply) -> tuple[IndexBound, ...]:
    """The bounds of the operator that a node applies, for its argument types."""
    op = primitive_of(node)
    if not isinstance(op, Primitive) or op.bounds is None:
        return ()
    arguments = [
        a.value if isinstance(a, GraphConstant) and i in op.arguments.static else a.type
        for i, a in enumerate(node.args)
    ]
    return op.bounds(*arguments)


def check(op: Any, args: tuple[Any, ...], fetch: Callable[[Any], Any] = np.asarray) -> None:
    """Raise if a value in the arguments of a call is outside the operator's bounds."""
    for bound in op.bounds(*args):
        numbers = bound.numbers(args, fetch)
        if numbers is not None and numbers.size and not bound.holds(numbers):
            _refuse(op, bound, _wide(numbers))


def _refuse(op: Any, bound: IndexBound, numbers: np.ndarray) -> None:
    """Raise for the first invalid value, if there is one."""
    wrong = bound.outside(numbers)
    if wrong.any():
        position = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        owner, name = names(op, bound)
        where = f"{name}[{', '.join(str(p) for p in position)}]" if position else name
        raise out_of_range(owner, where, bound, int(numbers[position]), current_span())


def marked(bound: IndexBound, numbers: Array) -> tuple[Array, int]:
    """In a program: the invalid values as an unsigned row, 0 for the others, and an offset.

    Adding the offset to a nonzero entry restores the value.
    """
    whole = _wide(numbers)
    kind = jnp.dtype(f"u{whole.dtype}")
    if bound.is_never_met:
        return jnp.maximum(whole + 1, 1).astype(kind).reshape(-1), -1
    first = max(bound.low or 0, 0)  # a valid value, so that no invalid one becomes 0
    wrong = jnp.where(bound.outside(whole), whole - first, jnp.zeros((), whole.dtype))
    return wrong.astype(kind).reshape(-1), first


def largest(rows: Array) -> Array:
    """The largest element of each row.

    XLA on CPU would write all elements to memory for the maximum of more than a few. Maxima of
    pieces are vector loops: 0.04 ms for two rows of 100,000 instead of 0.05 to 0.11.
    """
    while (count := rows.shape[-1]) > 2 * _PIECES:
        piece = -(-count // _PIECES)
        starts = [min(i * piece, count - piece) for i in range(_PIECES)]
        rows = reduce(jnp.maximum, [rows[:, start : start + piece] for start in starts])
    return jnp.max(rows, axis=-1)


def _wide(numbers: Any) -> Any:
    """Values as signed 32-bit or 64-bit integers."""
    is_narrow = numbers.dtype.itemsize < 4 or numbers.dtype == np.int32
    return numbers.astype(np.int32 if is_narrow else np.int64)


def names(op: Any, bound: IndexBound) -> tuple[str, str]:
    """The user-facing names of the operator and its argument."""
    if bound.named is not None:
        return bound.named
    place, part = bound.place if isinstance(bound.place, tuple) else (bound.place, None)
    known = op.arguments.names
    name = known[place] if place < len(known) else f"index {place - len(known)}"
    return op.name, name if part is None else f"{name}[{part}]"


def out_of_range(
    owner: str, argument: str, bound: IndexBound, number: int, span: Span | None, when: str = ""
) -> IndexOutOfRangeError:
    """The error for an invalid value, with the user's line that it belongs to."""
    return located(
        IndexOutOfRangeError,
        f"{owner}: {'an' if bound.kind == 'index' else 'a'} {bound.kind} is out of range",
        got=f"{argument} = {number}{_counted(bound)}{when}",
        expected=_expected(bound),
        span=span,
    )


def _counted(bound: IndexBound) -> str:
    """What the values index, as the end of a line."""
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
        return "no valid value exists, the axis is empty"
    ends = ["" if low is None else f"from {low}", "" if high is None else f"to {high - 1}"]
    text = " ".join(["numbers", *filter(None, ends)])
    return text if bound.extra is None else f"{text}, or {bound.extra}"

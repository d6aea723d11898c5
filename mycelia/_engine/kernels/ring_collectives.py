"""Collectives over the processes of a group, inside one multi-process program.

Such a program (`_engine/runtime/distributed/multiprocess_jit.py`) runs on one device of each
process, along an axis called "rank". Each device holds the array of its process; a group is a
subset of the positions on the axis.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, size
from mycelia._engine.core.wait_registry import Ranks
from mycelia._engine.jax_setup import Array, jnp, lax

AXIS = "rank"


class _TracedRanks(threading.local):
    """The processes of the program that this thread traces, in axis order."""

    ranks: Ranks = ()


_tracing = _TracedRanks()


@contextmanager
def tracing_over(ranks: Ranks) -> Iterator[None]:
    """Trace a program over these processes inside the block."""
    before, _tracing.ranks = _tracing.ranks, ranks
    try:
        yield
    finally:
        _tracing.ranks = before


@dataclass(frozen=True)
class Ring:
    """The members of a group, by their positions on the axis of the program."""

    positions: tuple[int, ...]
    length: int  # of the axis

    @property
    def count(self) -> int:
        return len(self.positions)

    @property
    def groups(self) -> list[list[int]] | None:
        """The positions in groups, this one first; None if it contains all, in order."""
        if self.positions == tuple(range(self.length)):
            return None
        rest = [p for p in range(self.length) if p not in self.positions]
        most = self.count if self.is_even else 1
        return [list(self.positions), *(rest[i : i + most] for i in range(0, len(rest), most))]

    @property
    def is_even(self) -> bool:
        """Whether all groups have equal sizes, which some of XLA's operations require."""
        return (self.length - self.count) % self.count == 0

    def index(self) -> Array:
        """The index of the process in the group."""
        table = [self.positions.index(p) if p in self.positions else 0 for p in range(self.length)]
        return jnp.asarray(table)[lax.axis_index(AXIS)]


def ring_of(owner: str, members: Ranks) -> Ring:
    """The ring of some processes in the program being traced."""
    ranks = _tracing.ranks
    if not set(members) <= set(ranks):
        raise problem(
            RuntimeError,
            f"{owner}: a single-process program cannot communicate with processes {list(members)}",
            got=f"a program over {list(ranks) or 'this process'}",
            fix="call the operator eagerly, or inside a function or Cell compiled by ms.jit",
        )
    return Ring(tuple([ranks.index(rank) for rank in members]), len(ranks))


def own(x: Array) -> Array:
    """`x` as a value that may differ between processes, even if it is a constant here.

    XLA assumes that a constant is equal on all devices, and would not communicate.
    """
    return lax.optimization_barrier(jnp.asarray(x))


def reduced(x: Array, reduction: str, circle: Ring) -> Array:
    """All-reduce: the arrays of all members combined, for each of them."""
    x = jnp.asarray(x)
    if x.dtype == jnp.bool_:
        equivalent = "max" if reduction in ("sum", "max") else "min"
        return reduced(x.astype(jnp.uint8), equivalent, circle).astype(jnp.bool_)
    if reduction == "prod":
        return jnp.prod(gathered(x, circle), axis=0, dtype=x.dtype)
    if reduction == "max":
        return lax.pmax(x, AXIS, axis_index_groups=circle.groups)
    if reduction == "min":
        return lax.pmin(x, AXIS, axis_index_groups=circle.groups)
    total = lax.psum(x, AXIS, axis_index_groups=circle.groups)
    return averaged(total, circle.count) if reduction == "avg" else total


def averaged(total: Array, count: int) -> Array:
    """A sum divided by the number of its terms, in its own dtype."""
    if jnp.issubdtype(total.dtype, jnp.inexact):
        return total / jnp.asarray(count, total.dtype)
    return total // jnp.asarray(count, total.dtype)


def gathered(x: Array, circle: Ring) -> Array:
    """All-gather: the arrays of all members along a new first axis."""
    x = jnp.asarray(x)
    if circle.is_even:
        return lax.all_gather(x, AXIS, axis_index_groups=circle.groups)
    if x.dtype == jnp.bool_:
        return gathered(x.astype(jnp.uint8), circle).astype(jnp.bool_)
    whole = jnp.zeros((circle.count, *x.shape), x.dtype).at[circle.index()].set(x)
    return lax.psum(whole, AXIS, axis_index_groups=circle.groups)


def joined(stacked: Array, axis: int = 0) -> Array:
    """Stacked arrays concatenated along `axis`."""
    return jnp.concatenate(list(stacked), axis=axis)


def scattered(x: Array, reduction: str, circle: Ring) -> Array:
    """Reduce-scatter: this member's share of the rows of the combined arrays."""
    x = jnp.asarray(x)
    if reduction == "sum" and circle.is_even and x.dtype != jnp.bool_:
        groups = circle.groups
        return lax.psum_scatter(x, AXIS, axis_index_groups=groups, tiled=True)
    return share(reduced(x, reduction, circle), circle)


def share(whole: Array, circle: Ring) -> Array:
    """This member's share of the rows."""
    rows = whole.shape[0] // circle.count
    return lax.dynamic_slice_in_dim(whole, circle.index() * rows, rows, axis=0)


def from_member(x: Array, member: int, circle: Ring) -> Array:
    """Broadcast: the array of one member, for all of them."""
    x = jnp.asarray(x)
    if x.dtype == jnp.bool_:
        return from_member(x.astype(jnp.uint8), member, circle).astype(jnp.bool_)
    return lax.psum(only_at(x, member, circle), AXIS, axis_index_groups=circle.groups)


def only_at(x: Array, member: int, circle: Ring) -> Array:
    """The array at one member, zeros at the others."""
    x = jnp.asarray(x)
    return jnp.where(circle.index() == member, x, jnp.zeros_like(x))


def exchanged(blocks: Array, circle: Ring) -> Array:
    """All-to-all: of blocks along the first axis, one per member, those meant for this one."""
    blocks = jnp.asarray(blocks)
    if circle.is_even:
        groups = circle.groups
        return lax.all_to_all(blocks, AXIS, 0, 0, axis_index_groups=groups, tiled=True)
    return jnp.take(gathered(blocks, circle), circle.index(), axis=1)


def swapped(
    sent: Sequence[Array],
    expected: Sequence[Shape],
    dtype: Any,
    is_first: bool,
    circle: Ring,
    before: Array | None = None,
) -> tuple[list[Array], Array]:
    """The arrays (of the shapes `expected`) that the other of two members sends, and all elements.

    Both members place what they send between zeros, the first member's before the second's; the sum
    contains both. It is computed after `before`.
    """
    carried = jnp.uint8 if dtype == jnp.bool_ else dtype
    parts = [jnp.asarray(array).astype(carried).reshape(-1) for array in sent]
    mine = jnp.concatenate([jnp.zeros(0, carried), *parts])
    space = jnp.zeros(sum(size(shape) for shape in expected), carried)
    whole = jnp.concatenate([mine, space] if is_first else [space, mine])
    if before is not None:
        whole = after(whole, before)
    total = lax.psum(own(whole), AXIS, axis_index_groups=circle.groups)
    rest = total[mine.size :] if is_first else total[: space.size]
    received = []
    for shape in expected:
        received.append(rest[: size(shape)].reshape(shape).astype(dtype))
        rest = rest[size(shape) :]
    return received, total


def after(x: Array, before: Array) -> Array:
    """`x` in a form that XLA can only compute after `before`, whatever the values of `before` are.

    XLA removes its own barriers on CPU. No value differs from itself and equals itself.
    """
    if not before.size:
        return x
    first = jnp.real(before.reshape(-1)[0]).astype(jnp.float32)
    never = (first != first) & (first == first)
    return jnp.where(never, jnp.ones_like(x), x)

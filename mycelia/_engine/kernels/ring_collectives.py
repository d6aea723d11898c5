"""Arrays that go round the processes of a group, inside one program over several processes.

Such a program (`_engine/runtime/distributed/multiprocess_jit.py`) runs on one device of each
process, along an axis called "rank". Each device holds the array of its process; a group is some
of the positions on the axis.
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
    """The processes of the program that this thread traces, in the order of the axis."""

    ranks: Ranks = ()


_tracing = _TracedRanks()


@contextmanager
def tracing_over(ranks: Ranks) -> Iterator[None]:
    """Inside the block a program over these processes is traced."""
    before, _tracing.ranks = _tracing.ranks, ranks
    try:
        yield
    finally:
        _tracing.ranks = before


@dataclass(frozen=True)
class Ring:
    """The members of a group, by their places on the axis of the program."""

    places: tuple[int, ...]
    length: int  # of the axis

    @property
    def count(self) -> int:
        return len(self.places)

    @property
    def groups(self) -> list[list[int]] | None:
        """The places in groups, this one first; None if it has all, in their order."""
        if self.places == tuple(range(self.length)):
            return None
        rest = [place for place in range(self.length) if place not in self.places]
        most = self.count if self.is_even else 1
        return [list(self.places), *(rest[i : i + most] for i in range(0, len(rest), most))]

    @property
    def is_even(self) -> bool:
        """Whether all groups are as large, as some of XLA's operations want them."""
        return (self.length - self.count) % self.count == 0

    def index(self) -> Array:
        """The number of the process in the group."""
        table = [self.places.index(p) if p in self.places else 0 for p in range(self.length)]
        return jnp.asarray(table)[lax.axis_index(AXIS)]


def ring_of(owner: str, members: Ranks) -> Ring:
    """The circle of some processes in the program that is traced."""
    ranks = _tracing.ranks
    if not set(members) <= set(ranks):
        raise problem(
            RuntimeError,
            f"{owner}: a program of one process alone cannot meet the processes {list(members)}",
            got=f"a program over {list(ranks) or 'this process'}",
            fix="call the operator eagerly, or inside a function or Cell compiled by ms.jit",
        )
    return Ring(tuple([ranks.index(rank) for rank in members]), len(ranks))


def own(x: Array) -> Array:
    """`x` as something that may be different at each process, even if it is a constant here.

    XLA takes a constant for one that all devices have, and would not ask the others for theirs.
    """
    return lax.optimization_barrier(jnp.asarray(x))


def reduced(x: Array, way: str, circle: Ring) -> Array:
    """The arrays of all members combined, for each of them."""
    x = jnp.asarray(x)
    if x.dtype == jnp.bool_:
        meant = "max" if way in ("sum", "max") else "min"
        return reduced(x.astype(jnp.uint8), meant, circle).astype(jnp.bool_)
    if way == "prod":
        return jnp.prod(gathered(x, circle), axis=0, dtype=x.dtype)
    if way == "max":
        return lax.pmax(x, AXIS, axis_index_groups=circle.groups)
    if way == "min":
        return lax.pmin(x, AXIS, axis_index_groups=circle.groups)
    total = lax.psum(x, AXIS, axis_index_groups=circle.groups)
    return averaged(total, circle.count) if way == "avg" else total


def averaged(total: Array, count: int) -> Array:
    """A total divided by how many there were, in its own dtype."""
    if jnp.issubdtype(total.dtype, jnp.inexact):
        return total / jnp.asarray(count, total.dtype)
    return total // jnp.asarray(count, total.dtype)


def gathered(x: Array, circle: Ring) -> Array:
    """The arrays of all members along a new first axis."""
    x = jnp.asarray(x)
    if circle.is_even:
        return lax.all_gather(x, AXIS, axis_index_groups=circle.groups)
    if x.dtype == jnp.bool_:
        return gathered(x.astype(jnp.uint8), circle).astype(jnp.bool_)
    whole = jnp.zeros((circle.count, *x.shape), x.dtype).at[circle.index()].set(x)
    return lax.psum(whole, AXIS, axis_index_groups=circle.groups)


def joined(stacked: Array, axis: int = 0) -> Array:
    """Stacked arrays one behind the other along `axis`."""
    return jnp.concatenate(list(stacked), axis=axis)


def scattered(x: Array, way: str, circle: Ring) -> Array:
    """The arrays of all members combined, and of that the member's own share of the rows."""
    x = jnp.asarray(x)
    if way == "sum" and circle.is_even and x.dtype != jnp.bool_:
        groups = circle.groups
        return lax.psum_scatter(x, AXIS, axis_index_groups=groups, tiled=True)
    return share(reduced(x, way, circle), circle)


def share(whole: Array, circle: Ring) -> Array:
    """The member's own share of the rows."""
    rows = whole.shape[0] // circle.count
    return lax.dynamic_slice_in_dim(whole, circle.index() * rows, rows, axis=0)


def from_member(x: Array, member: int, circle: Ring) -> Array:
    """The array of one member, for all of them."""
    x = jnp.asarray(x)
    if x.dtype == jnp.bool_:
        return from_member(x.astype(jnp.uint8), member, circle).astype(jnp.bool_)
    return lax.psum(only_at(x, member, circle), AXIS, axis_index_groups=circle.groups)


def only_at(x: Array, member: int, circle: Ring) -> Array:
    """The array at one member, zeros at the others."""
    x = jnp.asarray(x)
    return jnp.where(circle.index() == member, x, jnp.zeros_like(x))


def exchanged(blocks: Array, circle: Ring) -> Array:
    """Of blocks along the first axis, one for each member, those meant for this one."""
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
    """What the other of two members sends, in arrays of the shapes `expected`, and all numbers.

    Both put what they send at its place between zeros, the first member's before the second's;
    the sum has everything. It comes after `before`.
    """
    carried = jnp.uint8 if dtype == jnp.bool_ else dtype
    parts = [jnp.asarray(one).astype(carried).reshape(-1) for one in sent]
    mine = jnp.concatenate([jnp.zeros(0, carried), *parts])
    room = jnp.zeros(sum(size(shape) for shape in expected), carried)
    whole = jnp.concatenate([mine, room] if is_first else [room, mine])
    if before is not None:
        whole = after(whole, before)
    total = lax.psum(own(whole), AXIS, axis_index_groups=circle.groups)
    rest = total[mine.size :] if is_first else total[: room.size]
    found = []
    for shape in expected:
        found.append(rest[: size(shape)].reshape(shape).astype(dtype))
        rest = rest[size(shape) :]
    return found, total


def after(x: Array, before: Array) -> Array:
    """`x` as something XLA cannot know before `before` is there, whatever its numbers are.

    It takes its own barriers away on CPU. No number differs from itself and equals itself.
    """
    if not before.size:
        return x
    first = jnp.real(before.reshape(-1)[0]).astype(jnp.float32)
    never = (first != first) & (first == first)
    return jnp.where(never, jnp.ones_like(x), x)

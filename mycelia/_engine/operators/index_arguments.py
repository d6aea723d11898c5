"""Index arguments: checks, and index tuples for gathers and scatters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp


def check_indices(owner: str, indices: TensorType) -> None:
    """Raise if the indices are not integers."""
    if not indices.dtype.is_integer:
        raise problem(
            TypeError,
            f"{owner}: the indices must be integers",
            got=str(indices),
            fix="cast them: indices.astype(mycelia.int64)",
        )


def check_elements(owner: str, shape: Shape, index: Shape, axis: int) -> None:
    """Raise if the sizes of an element index exceed `shape` (except along `axis`)."""
    if len(shape) != len(index) or any(
        n > m for i, (n, m) in enumerate(zip(index, shape, strict=True)) if i != axis
    ):
        raise problem(
            ValueError,
            f"{owner}: the shapes of the index and the tensor do not match",
            got=f"shapes {list(shape)} and {list(index)}, axis {axis}",
            expected=f"the same rank, and no larger sizes except along axis {axis}",
        )


def position_depth(owner: str, shape: Shape, indices: Shape) -> int:
    """The number of leading axes that the positions index."""
    depth = indices[-1] if indices else 1
    if depth > len(shape):
        raise problem(
            ValueError,
            f"{owner}: the positions have more entries than the tensor has axes",
            got=f"indices of shape {list(indices)} for a tensor of shape {list(shape)}",
            expected=f"a last axis of at most {len(shape)}",
        )
    return depth


def check_updates(
    owner: str, shape: Shape, indices: Shape, updates: Shape, *, least: int = 1
) -> None:
    """Raise if the updates are not one slice for each position, of at least `least` axes."""
    depth = position_depth(owner, shape, indices)
    if depth < least:
        raise problem(
            ValueError,
            f"{owner}: the positions have too few entries",
            got=f"indices of shape {list(indices)}",
            expected=f"a last axis of at least {least}",
        )
    expected = (*indices[:-1], *shape[depth:])
    if tuple(updates) != expected:
        raise problem(
            ValueError,
            f"{owner}: the updates do not match the positions",
            got=f"updates {list(updates)}, indices {list(indices)}, shape {list(shape)}",
            expected=f"updates of shape {list(expected)}",
        )


def all_of(count: int) -> tuple[slice, ...]:
    """An index that takes `count` whole axes."""
    return (np.s_[:],) * count


def positions(indices: Any) -> tuple[Any, ...]:
    """The last axis of `indices` as a tuple: one index array for each leading axis."""
    return tuple(indices[..., i] for i in range(indices.shape[-1]))


def element_places(index: Any, axis: int) -> tuple[Any, ...]:
    """The index tuple that reads `index` along `axis` and every element's position elsewhere."""
    grid = np.ix_(*(np.arange(n) for n in index.shape))
    return (*grid[:axis], index, *grid[axis + 1 :])


def write_at(x: Array, place: Any, updates: Array, verb: str) -> Array:
    """`x` with `updates` applied at `place`; `verb` is set, add, subtract, multiply, ..."""
    reference = jnp.asarray(x).at[place]
    changed = getattr(reference, verb)(jnp.asarray(updates).astype(x.dtype), mode="drop")
    return changed.astype(x.dtype)


def over_batch(fn: Callable[..., Any], batch: int) -> Callable[..., Any]:
    """`fn` vectorized over `batch` leading axes of its arguments."""
    for _ in range(batch):
        fn = jax.vmap(fn)
    return fn

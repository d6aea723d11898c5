"""Functions that apply a user function along axes or piecewise."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import bool_
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.handlers import call_user_function
from mycelia.numpy.array_conversion import common_dtype, to_tensor
from mycelia.numpy.indexing import select


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """Apply a function to every vector along an axis; its results replace that axis."""
    source = to_tensor(arr)
    place = normalize_axis(axis, source.ndim, "apply_along_axis")
    vectors = ops.moveaxis(source, place, -1)
    around = vectors.shape[:-1]
    rows = ops.reshape(vectors, (prod(around), vectors.shape[-1]))
    found = ops.stack([to_tensor(call_user_function(func1d, row, *args, **kwargs)) for row in rows])
    shape = found.shape[1:]
    spread = ops.reshape(found, (*around, *shape))
    moved = tuple(range(len(around), spread.ndim))
    return ops.moveaxis(spread, moved, tuple(range(place, place + len(shape)))) if shape else spread


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """Apply a function of an array and an axis repeatedly, for one axis after another."""
    result = to_tensor(a)
    rank = result.ndim
    for axis in axes if isinstance(axes, (list, tuple)) else (axes,):
        place = normalize_axis(axis, rank, "apply_over_axes")
        found = to_tensor(call_user_function(func, result, place))
        result = ops.expand_dims(found, place) if found.ndim == rank - 1 else found
        if result.ndim != rank:
            raise problem(
                ValueError,
                "apply_over_axes: the function returned an array with a wrong number of axes",
                got=f"{found.ndim} axes from {rank}",
            )
    return result


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Evaluate a piecewise-defined function: at each index, the function of the first condition.

    Numbers are constant functions. One more function than conditions is the default, which is zero
    without it.
    """
    source = to_tensor(x)
    if not isinstance(condlist, (list, tuple)) or not _are_arrays(condlist):
        condlist = [condlist]
    if len(funclist) - len(condlist) not in (0, 1):
        raise problem(
            ValueError,
            "piecewise: the number of functions does not match the conditions",
            got=f"{len(condlist)} conditions and {len(funclist)} functions",
            expected="as many functions as conditions, or one more as the default",
        )
    pieces = [
        to_tensor(call_user_function(f, source, *args, **kw) if callable(f) else f)
        for f in funclist
    ]
    default = pieces[len(condlist)] if len(pieces) > len(condlist) else to_tensor(0)
    kind = common_dtype(*pieces)
    chosen = [ops.broadcast_to(ops.cast(p, kind), source.shape) for p in pieces[: len(condlist)]]
    masks = [ops.broadcast_to(ops.cast(to_tensor(c), bool_), source.shape) for c in condlist]
    return select(masks, chosen, default)


def _are_arrays(conditions: Any) -> bool:
    return any(not isinstance(c, bool) for c in conditions) or not conditions

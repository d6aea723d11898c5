"""Padding of arrays: `pad` and its modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia import ops
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.dtype import float32, int32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.handlers import call_user_function
from mycelia.numpy.apply import apply_along_axis
from mycelia.numpy.array_conversion import constant, floating, to_tensor
from mycelia.tensor.tensor import Tensor

_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": ops.amax,
    "minimum": ops.amin,
    "mean": ops.mean,
}


def pad(
    arr: Any,
    pad_width: Any,
    mode: Any = "constant",
    stat_length: Any = None,
    constant_values: Any = 0,
    end_values: Any = 0,
    reflect_type: str = "even",
    **kwargs: Any,
) -> Any:
    """Pad an array by `pad_width` elements before and after each axis.

    The padding is a constant, the edge, a reflection (reflect, symmetric), the opposite end (wrap),
    a ramp to `end_values`, or the maximum, minimum, or mean of the nearest `stat_length` elements.
    A custom function receives each padded vector, the widths, the axis, and the other arguments.
    """
    source = to_tensor(arr)
    widths = _pairs("pad_width", pad_width, source.ndim)
    if any(not is_int(n) or n < 0 for pair in widths for n in pair):
        raise problem(ValueError, "pad: pad_width must hold non-negative ints", got=str(pad_width))
    if callable(mode):
        return _by_function(source, widths, mode, kwargs)
    values = {
        "constant": ("constant_values", constant_values),
        "linear_ramp": ("end_values", end_values),
        **dict.fromkeys(_STATISTICS, ("stat_length", stat_length)),
    }.get(mode, ("", None))
    details = _pairs(*values, source.ndim)
    for axis, (width, detail) in enumerate(zip(widths, details, strict=True)):
        if width != (0, 0):
            source = _padded(source, axis, width, mode, detail, reflect_type)
    return source


def _padded(source: Any, axis: int, width: Any, mode: str, detail: Any, reflect_type: str) -> Any:
    """Pad the array at both ends of one axis."""
    if mode in ("edge", "wrap") or (mode in ("reflect", "symmetric") and reflect_type == "even"):
        places = np.pad(np.arange(source.shape[axis]), width, mode)  # type: ignore[call-overload]
        return ops.gather(source, constant(places, int32), axis)
    if mode in ("reflect", "symmetric") and reflect_type == "odd":
        return _odd_mirror(source, axis, width, mode)
    if mode in ("constant", "empty"):
        borders = [_border(source, axis, n, v) for n, v in zip(width, detail, strict=True)]
    elif mode in _STATISTICS:
        borders = [_statistic(source, axis, width, detail, mode, end) for end in (0, 1)]
    elif mode == "linear_ramp":
        borders = [_ramp(source, axis, width[end], detail[end], end) for end in (0, 1)]
    elif mode == "median":
        raise problem(NotImplementedError, "pad: mode 'median' is not supported")
    else:
        raise problem(ValueError, "pad: unknown mode", got=f"{mode!r}, {reflect_type!r}")
    return ops.concat((borders[0], source, borders[1]), axis)


def _sides(source: Any, axis: int, size: int) -> tuple[int, ...]:
    return tuple(size if n == axis else s for n, s in enumerate(source.shape))


def _border(source: Any, axis: int, size: int, value: Any) -> Any:
    filled = ops.cast(to_tensor(0 if value is None else value), source.dtype)
    return ops.broadcast_to(filled, _sides(source, axis, size))


def _statistic(source: Any, axis: int, width: Any, lengths: Any, mode: str, end: int) -> Any:
    size = source.shape[axis]
    near = size if lengths[end] is None else min(lengths[end], size)
    part = ops.narrow(source, axis, 0 if end == 0 else size - near, near)
    return ops.broadcast_to(_STATISTICS[mode](part, axis, True), _sides(source, axis, width[end]))


def _ramp(source: Any, axis: int, size: int, value: Any, end: int) -> Any:
    """Evenly spaced values from the edge (exclusive) to `value`."""
    edge = floating(ops.narrow(source, axis, 0 if end == 0 else source.shape[axis] - 1, 1))
    share = np.arange(1, size + 1) / max(size, 1)
    sides = tuple(size if n == axis else 1 for n in range(source.ndim))
    steps = constant((share[::-1] if end == 0 else share).reshape(sides), edge.dtype)
    goal = ops.cast(to_tensor(value), edge.dtype)
    return ops.cast(ops.add(edge, ops.mul(ops.sub(goal, edge), steps)), source.dtype)


def _odd_mirror(source: Any, axis: int, width: Any, mode: str) -> Any:
    """The odd reflection around the edge value: a linear map, computed from unit vectors."""
    unit = np.eye(source.shape[axis])
    matrix = np.pad(unit, (width, (0, 0)), mode, reflect_type="odd")  # type: ignore[call-overload]
    kind = source.dtype if source.dtype.is_inexact else float32
    vectors = ops.cast(ops.moveaxis(source, axis, 0), kind)
    mirrored = ops.tensor_dot(constant(matrix, kind), vectors, 1)
    return ops.cast(ops.moveaxis(mirrored, 0, axis), source.dtype)


def _by_function(
    source: Any, widths: list[Any], function: Callable[..., Any], kwargs: dict[str, Any]
) -> Any:
    for axis, width in enumerate(widths):
        source = _padded(source, axis, width, "constant", (0, 0), "even")
    for axis, width in enumerate(widths):

        def replaced(vector: Any, axis: int = axis, width: Any = width) -> Any:
            return call_user_function(function, vector, width, axis, kwargs)

        source = apply_along_axis(replaced, axis, source)
    return source


def _pairs(argument: str, value: Any, rank: int) -> list[Any]:
    """Expand `value` to one pair per axis: a number, a pair, one pair in a list, or all pairs."""
    given = value.tolist() if isinstance(value, Tensor) else value
    if isinstance(given, float) and argument == "pad_width":
        raise wrong_type("pad", argument, value, "int, list, tuple or Tensor")
    if given is None or not isinstance(given, (list, tuple)):
        return [(given, given)] * rank
    try:
        filled = np.broadcast_to(np.asarray(given), (rank, 2))
    except ValueError:
        raise problem(
            ValueError,
            f"pad: {argument} does not match the axes",
            got=repr(value),
            expected=f"a number, a pair, or {rank} pairs",
        ) from None
    return [tuple(pair) for pair in filled.tolist()]

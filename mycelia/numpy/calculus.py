"""Differences, integrals, convolutions, and polynomials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import float32, float64, int32
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import normalize_axes, normalize_axis
from mycelia.numpy.array_conversion import (
    at_least_single,
    constant,
    floating,
    integer,
    single,
    to_tensor,
    together,
)
from mycelia.numpy.concat import concatenate
from mycelia.numpy.reduction import cumsum
from mycelia.tensor.tensor import Tensor


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The `n`-th differences of neighbors along an axis."""
    source = to_tensor(a)
    place = normalize_axis(axis, source.ndim, "diff") if source.ndim else 0
    times = integer("diff", "n", n)
    if times == 0:
        return source
    ends = [_end(source, place, prepend), source, _end(source, place, append)]
    source = concatenate([e for e in ends if e is not None], place) if source.ndim else source
    if times < 0:
        raise problem(ValueError, "diff: n is negative", got=str(n))
    if not source.ndim or source.shape[place] <= times:
        raise problem(ValueError, "diff: too few elements", got=f"{list(source.shape)}, n={n}")
    for _ in range(times):
        size = source.shape[place] - 1
        after, before = (ops.narrow(source, place, start, size) for start in (1, 0))
        source = (ops.not_equal if source.dtype.is_bool else ops.sub)(after, before)
    return source


def _end(source: Any, axis: int, values: Any) -> Any:
    """The slices that `diff` prepends or appends; a number fills one slice."""
    if values is None:
        return None
    end = to_tensor(values)
    if end.ndim:
        return end
    return ops.broadcast_to(end, tuple(1 if n == axis else s for n, s in enumerate(source.shape)))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbors in the flattened array, with optional values at both ends."""
    middle = diff(to_tensor(ary).ravel())
    parts = [to_begin, middle, to_end]
    given = [to_tensor(p).ravel() for p in parts if p is not None]
    return ops.concat([ops.cast(p, middle.dtype) for p in given])


def trapz(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral by the trapezoidal rule, in float32."""
    heights = single(y)
    place = normalize_axis(axis, heights.ndim, "trapz")
    size = heights.shape[place] - 1
    if x is None:
        widths = single(dx)
    elif (at := single(x)).ndim == 1:
        sides = tuple(size if n == place else 1 for n in range(heights.ndim))
        widths = ops.reshape(diff(at), sides)
    else:
        widths = diff(at, axis=place)
    both = ops.add(*(ops.narrow(heights, place, start, size) for start in (1, 0)))
    return ops.sum(ops.mul(ops.mul(widths, both), 0.5), place)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The gradient along the axes: central differences inside, one-sided ones at the ends."""
    if edge_order != 1:
        raise problem(NotImplementedError, "gradient: edge_order must be 1", got=str(edge_order))
    values = at_least_single(f)
    axes = normalize_axes(axis, values.ndim, "gradient")
    if len(varargs) not in (0, 1, len(axes)):
        raise problem(
            TypeError,
            "gradient: the number of distances does not match the axes",
            got=str(len(varargs)),
        )
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1,) * len(axes)
    slopes = [_slope(values, n, step) for n, step in zip(axes, steps, strict=True)]
    return slopes[0] if len(slopes) == 1 else slopes


def _slope(values: Any, axis: int, step: Any) -> Any:
    if to_tensor(step).ndim:
        raise problem(NotImplementedError, "gradient: variable spacing is not supported")
    size = values.shape[axis]
    if size < 2:
        raise problem(ValueError, "gradient: two elements are needed", got=f"size {size}")
    change = diff(values, axis=axis)
    ends = [ops.narrow(change, axis, n, 1) for n in (0, size - 2)]
    inner = [ops.narrow(change, axis, n, size - 2) for n in (0, 1)] if size > 2 else []
    middle = [ops.mul(ops.add(*inner), 0.5)] if inner else []
    return ops.div(ops.concat([ends[0], *middle, ends[1]], axis), step)


def unwrap(p: Any, discont: float = math.pi, axis: int = -1) -> Any:
    """Unwrap angles: add multiples of 2 pi, so that neighbors differ by less than pi."""
    angles = floating(p)
    place = normalize_axis(axis, angles.ndim, "unwrap")
    steps = diff(angles, axis=place)
    short = ops.sub(ops.floor_mod(ops.add(steps, math.pi), 2 * math.pi), math.pi)
    is_half_turn = ops.logical_and(ops.equal(short, -math.pi), ops.greater(steps, 0.0))
    turns = ops.sub(ops.where(is_half_turn, math.pi, short), steps)
    turns = ops.where(ops.less(ops.abs(steps), float(discont)), 0.0, turns)
    first, rest = (ops.narrow(angles, place, n, s) for n, s in ((0, 1), (1, steps.shape[place])))
    return ops.concat((first, ops.add(rest, cumsum(turns, place))), place)


# ---- convolution ----------------------------------------------------------------------------


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Discrete convolution of two vectors."""
    longer, shorter = _sequences("convolve", mode, *together(a, v))
    if longer.size < shorter.size:
        longer, shorter = shorter, longer
    return _slide(longer, ops.flip(shorter, (0,)), mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Cross-correlation of two vectors; integers become floats."""
    tensors = together(a, v)
    wanted = {32: float32, 64: float64}.get(tensors[0].dtype.bits, float32)
    kind = tensors[0].dtype if tensors[0].dtype.is_inexact else wanted
    x, y = _sequences("correlate", mode, *(ops.cast(t, kind) for t in tensors))
    if x.size < y.size:
        return ops.flip(_slide(y, x, mode), (0,))
    return _slide(x, y, mode)


def _sequences(owner: str, mode: str, *tensors: Any) -> tuple[Any, ...]:
    if mode not in ("full", "same", "valid"):
        raise wrong_value(owner, "mode", mode, "one of 'full', 'same', 'valid'")
    if any(t.ndim != 1 for t in tensors):
        raise problem(ValueError, f"{owner}: both arguments must be vectors")
    if not all(t.size for t in tensors):
        raise problem(ValueError, f"{owner}: a vector is empty")
    return tensors


def _slide(longer: Any, shorter: Any, mode: str) -> Any:
    """Correlate `shorter` with the zero-padded `longer`."""
    width = shorter.size
    padding = ops.zeros((width - 1,), longer.dtype) if width > 1 else None
    around = ops.concat((padding, longer, padding)) if padding is not None else longer
    starts = {
        "full": (0, longer.size + width - 1),
        "same": ((width - 1) // 2, longer.size),
        "valid": (width - 1, longer.size - width + 1),
    }
    start, count = starts[mode]
    places = start + np.arange(count)[:, None] + np.arange(width)
    return ops.matmul(ops.gather(around, constant(places, int32), 0), shorter)


# ---- polynomials, the highest power first ---------------------------------------------------


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    return ops.add(*_equal_degrees(a1, a2))


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    return ops.sub(*_equal_degrees(a1, a2))


def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials."""
    return convolve(_coefficients(a1), _coefficients(a2))


def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial at each `x`."""
    coefficients, at = _coefficients(p), to_tensor(x)
    dtype = dtypes.promote(coefficients.dtype, at.dtype)
    kind = dtype if dtype.is_inexact else float32
    at = ops.cast(at, kind)
    value = ops.zeros_like(at)
    for coefficient in ops.cast(coefficients, kind):
        value = ops.add(ops.mul(value, at), coefficient)
    return value


def polyder(p: Any, m: int = 1) -> Any:
    """The `m`-th derivative of a polynomial."""
    coefficients = _coefficients(p)
    for _ in range(_order("polyder", m)):
        degree = coefficients.size - 1
        if degree <= 0:
            return ops.zeros((0,), float32)
        powers = constant(np.arange(degree, 0, -1), coefficients.dtype)
        coefficients = ops.mul(ops.narrow(coefficients, 0, 0, degree), powers)
    return coefficients


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The `m`-th integral of a polynomial, with integration constants `k` (default: 0)."""
    coefficients = _coefficients(p)
    order = _order("polyint", m)
    if not order:
        return coefficients
    constants = to_tensor(0.0 if k is None else k)
    if constants.size == 1:
        constants = ops.broadcast_to(constants.ravel(), (order,))
    if constants.size < order:
        raise problem(ValueError, "polyint: too few constants", got=f"{constants.size} of {order}")
    coefficients = floating(coefficients)
    for number in range(order):
        powers = constant(np.arange(coefficients.size, 0, -1), coefficients.dtype)
        last = ops.cast(ops.narrow(constants, 0, number, 1), coefficients.dtype)
        coefficients = ops.concat((ops.div(coefficients, powers), last))
    return coefficients


def _coefficients(p: Any) -> Tensor:
    source = to_tensor(p)
    if source.ndim > 1:
        raise problem(ValueError, "polynomial: the coefficients must be a vector or a number")
    return source.ravel()


def _equal_degrees(a1: Any, a2: Any) -> tuple[Any, ...]:
    """The coefficients of two polynomials, the shorter padded with leading zeros."""
    pair = together(_coefficients(a1), _coefficients(a2))
    size = max(c.size for c in pair)
    return tuple(
        ops.concat((ops.zeros((size - c.size,), c.dtype), c)) if c.size < size else c for c in pair
    )


def _order(owner: str, m: Any) -> int:
    order = integer(owner, "m", m)
    if order < 0:
        raise problem(ValueError, f"{owner}: m is negative", got=str(m))
    return order

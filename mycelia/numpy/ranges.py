"""Ranges, grids, and window functions: arange, linspace, meshgrid, mgrid, hanning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia import ops
from mycelia._engine.core.checks import is_number
from mycelia._engine.core.dtype import float32, int32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import normalize_axis
from mycelia.numpy.array_conversion import (
    constant,
    integer,
    single,
    to_dtype,
    to_tensor,
    together,
    typed,
)


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """Evenly spaced values in [start, stop); with one argument, in [0, start)."""
    first, end = (0, start) if stop is None else (start, stop)
    stride = 1 if step is None else step
    whole = all(isinstance(n, int) for n in (first, end, stride))
    if any(isinstance(n, str) for n in (first, end, stride)):
        raise wrong_type("arange", "start, stop or step", start, "int or float")
    first, end, stride = (n if isinstance(n, int) else float(n) for n in (first, end, stride))
    count = math.ceil((end - first) / stride)
    if count <= 0:
        raise problem(
            ValueError, "arange: the range is empty", got=f"{first} to {end} in steps of {stride}"
        )
    numbers = first + stride * np.arange(count)
    return constant(numbers, (int32 if whole else float32) if dtype is None else to_dtype(dtype))


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` evenly spaced values from `start` to `stop`, along a new axis."""
    low, high = ops.broadcast_to(*_ends(start, stop)), ops.broadcast_to(*_ends(stop, start))
    count = _count("linspace", num)
    gaps = count - 1 if endpoint else count
    step = ops.div(ops.sub(high, low), float(gaps)) if gaps else math.nan
    steps = _along_first(np.arange(count), low.ndim)
    numbers = ops.add(ops.mul(steps, step), low) if gaps else ops.expand_dims(low, 0)
    if endpoint and gaps:
        numbers = ops.where(steps == float(gaps), high, numbers)
    spread = ops.moveaxis(numbers, 0, normalize_axis(axis, numbers.ndim, "linspace"))
    result = typed(spread, dtype)
    return (result, step) if retstep else result


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Values evenly spaced on a log scale: `base` to the powers that `linspace` returns."""
    if not is_number(base):
        raise wrong_type("logspace", "base", base, "int or float")
    powers = linspace(start, stop, num, endpoint, axis=axis)
    return typed(ops.pow(float(base), powers), dtype)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """`num` values in geometric progression from `start` to `stop`."""
    low, high = ops.broadcast_to(*_ends(start, stop)), ops.broadcast_to(*_ends(stop, start))
    count = _count("geomspace", num)
    gaps = max(count - 1 if endpoint else count, 1)
    parts = _along_first(np.arange(count) / gaps, low.ndim)
    numbers = ops.mul(low, ops.pow(ops.div(high, low), parts))
    spread = ops.moveaxis(numbers, 0, normalize_axis(axis, numbers.ndim, "geomspace"))
    return typed(spread, dtype)


def _ends(end: Any, other: Any) -> tuple[Any, Any]:
    """One end of a range in float32, and the broadcast shape of both ends."""
    this, that = single(end), single(other)
    return this, ops.add(this, that).shape


def _count(owner: str, num: Any) -> int:
    count = integer(owner, "num", num)
    if count <= 0:
        raise problem(ValueError, f"{owner}: num must be at least 1", got=str(num))
    return count


def _along_first(numbers: Any, rank: int) -> Any:
    """Constant values along the first of `rank` + 1 axes."""
    return constant(np.reshape(numbers, (-1,) + (1,) * rank), float32)


# ---- grids ----------------------------------------------------------------------------------


def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Coordinate grids from coordinate vectors; `sparse` keeps axes of size 1."""
    if indexing not in ("xy", "ij"):
        raise problem(TypeError, "meshgrid: indexing must be 'xy' or 'ij'", got=repr(indexing))
    vectors = [to_tensor(x).ravel() for x in xi]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(places) > 1:
        places[:2] = 1, 0
    return _open_grid(vectors, places) if sparse else _full_grid(vectors, places)


def _open_grid(vectors: list[Any], places: list[int]) -> list[Any]:
    """Reshape each vector to lie along a separate axis, with size 1 along the others."""
    return [
        ops.reshape(v, tuple(v.size if axis == place else 1 for axis in range(len(places))))
        for v, place in zip(vectors, places, strict=True)
    ]


def _full_grid(vectors: list[Any], places: list[int]) -> list[Any]:
    sizes = dict(zip(places, (v.size for v in vectors), strict=True))
    shape = tuple(sizes[axis] for axis in range(len(places)))
    return [ops.broadcast_to(v, shape) for v in _open_grid(vectors, places)]


def ix_(*args: Any) -> tuple[Any, ...]:
    """An open mesh from vectors, which indexes their Cartesian product."""
    vectors = [to_tensor(a) for a in args]
    if any(v.ndim != 1 for v in vectors):
        raise problem(ValueError, "ix_: every index must be a vector", expected="vectors")
    return tuple(_open_grid(vectors, list(range(len(vectors)))))


def indices(dimensions: Any, dtype: Any = int32, sparse: bool = False) -> list[Any]:
    """For each axis of a grid, the index along it of every point."""
    if not isinstance(dimensions, (tuple, list)):
        raise wrong_type("indices", "dimensions", dimensions, "tuple or list of ints")
    counters = [constant(np.arange(n), to_dtype(dtype)) for n in dimensions]
    return meshgrid(*counters, sparse=sparse, indexing="ij")


class _Grid:
    """Grids by slices: `grid[0:3, 0:1:5j]`; an imaginary step is a count, ends included."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"mycelia.numpy.{self._name}"

    def _vectors(self, key: Any) -> list[Any]:
        if not all(isinstance(k, slice) for k in key):
            raise problem(TypeError, f"{self._name}: every index must be a slice", got=repr(key))
        return [self._vector(k) for k in key]

    def _vector(self, key: slice) -> Any:
        start = 0 if key.start is None else key.start
        if key.stop is None:
            raise problem(TypeError, f"{self._name}: a slice needs an end", got=repr(key))
        if isinstance(key.step, complex):
            return linspace(start, key.stop, int(abs(key.step)))
        return arange(start, key.stop, key.step)


class _DenseGrid(_Grid):
    """Dense grids (`mgrid`), stacked along a new first axis."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._vector(key)
        return ops.stack(meshgrid(*together(*self._vectors(key)), indexing="ij"))


class _OpenGrid(_Grid):
    """Open grids (`ogrid`): one vector per axis, which broadcast against each other."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._vector(key)
        return meshgrid(*self._vectors(key), sparse=True, indexing="ij")


mgrid = _DenseGrid("mgrid")
ogrid = _OpenGrid("ogrid")


# ---- window functions -----------------------------------------------------------------------


def bartlett(M: int) -> Any:
    """The Bartlett (triangular) window with `M` points."""
    return constant(np.bartlett(_points("bartlett", M)), float32)


def blackman(M: int) -> Any:
    """The Blackman window with `M` points: three cosine terms."""
    return constant(np.blackman(_points("blackman", M)), float32)


def hamming(M: int) -> Any:
    """The Hamming window with `M` points: a raised cosine that does not reach zero."""
    return constant(np.hamming(_points("hamming", M)), float32)


def hanning(M: int) -> Any:
    """The Hann window with `M` points: a raised cosine."""
    return constant(np.hanning(_points("hanning", M)), float32)


def _points(owner: str, count: Any) -> int:
    return max(integer(owner, "M", count), 0)

"""Array creation: array, zeros, full, eye, and random values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.dtype import float32, int32
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia.numpy.array_conversion import constant, integer, to_dtype, to_shape, to_tensor, typed


def array(obj: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Any:
    """Create a tensor from `obj` with at least `ndmin` axes."""
    made = asarray(obj, dtype)
    missing = ndmin - made.ndim
    if missing > 0:
        made = ops.reshape(made, (1,) * missing + made.shape)
    return made.copy() if copy and made is obj else made


def asarray(a: Any, dtype: Any = None) -> Any:
    """Convert `a` to a tensor; a tensor of the right dtype is returned unchanged."""
    return typed(to_tensor(a), dtype)


def asfarray(a: Any, dtype: Any = float32) -> Any:
    """Convert to a floating-point tensor; an integer dtype means float32."""
    if dtype is None:
        return asarray(a)
    wanted = to_dtype(dtype)
    return asarray(a, wanted if wanted.is_float else float32)


def copy(a: Any) -> Any:
    """Copy an array."""
    return to_tensor(a).copy()


def zeros(shape: Any, dtype: Any = float32) -> Any:
    """A tensor of zeros."""
    return ops.zeros(to_shape("zeros", shape), to_dtype(dtype))


def ones(shape: Any, dtype: Any = float32) -> Any:
    """A tensor of ones."""
    return ops.ones(to_shape("ones", shape), to_dtype(dtype))


def empty(shape: Any, dtype: Any = float32) -> Any:
    """An uninitialized tensor (its elements are 0)."""
    return zeros(shape, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """A tensor filled with `fill_value`, a number or an array that broadcasts."""
    return ops.broadcast_to(typed(to_tensor(fill_value), dtype), to_shape("full", shape))


def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Zeros, by default with the shape and dtype of `a`."""
    return full_like(a, 0, dtype, shape)


def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Ones, by default with the shape and dtype of `a`."""
    return full_like(a, 1, dtype, shape)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None) -> Any:
    """An uninitialized tensor (its elements are 0) with the shape and dtype of `prototype`."""
    return full_like(prototype, 0, dtype, shape)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """A tensor filled with `fill_value`, by default with the shape and dtype of `a`."""
    model = to_tensor(a)
    sizes = model.shape if shape is None else shape
    return full(sizes, fill_value, model.dtype if dtype is None else dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Any:
    """A matrix with ones on the `k`-th diagonal."""
    rows, columns = _matrix_shape("eye", N, M)
    return constant(np.eye(rows, columns, integer("eye", "k", k)), to_dtype(dtype))


def identity(n: int, dtype: Any = float32) -> Any:
    """A square matrix with ones on the main diagonal."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Any:
    """A matrix with ones on and below the diagonal `k`."""
    rows, columns = _matrix_shape("tri", N, M)
    return constant(np.tri(rows, columns, integer("tri", "k", k)), to_dtype(dtype))


def _matrix_shape(owner: str, rows: Any, columns: Any) -> tuple[int, ...]:
    height = integer(owner, "N", rows)
    return to_shape(owner, (height, height if columns is None else integer(owner, "M", columns)))


# ---- random numbers -------------------------------------------------------------------------


def rand(*shape: Any, dtype: Any = float32) -> Any:
    """Random values from the uniform distribution over [0, 1); a single one without a shape."""
    return ops.rand(*_drawn_shape("rand", shape), dtype=_drawn_dtype("rand", dtype))


def randn(*shape: Any, dtype: Any = float32) -> Any:
    """Random values from the standard normal distribution; a single one without a shape."""
    return ops.randn(*_drawn_shape("randn", shape), dtype=_drawn_dtype("randn", dtype))


def randint(minval: Any, maxval: Any = None, shape: Any = None, dtype: Any = int32) -> Any:
    """Random integers from [minval, maxval), or from [0, minval) without `maxval`."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    for name, value in (("minval", minval), ("maxval", high)):
        if not is_int(value):
            raise wrong_type("randint", name, value, "int")
    if low >= high:
        raise problem(ValueError, "randint: the range is empty", got=f"[{low}, {high})")
    wanted = to_dtype(dtype)
    if wanted.kind != "int":
        raise wrong_value("randint", "dtype", wanted, "int8, int16, int32 or int64")
    sizes = (1,) if shape is None else to_shape("randint", shape)
    return ops.randint(low, high, sizes, dtype=wanted)


def _drawn_shape(owner: str, shape: tuple[Any, ...]) -> tuple[int, ...]:
    if not shape:
        return (1,)
    return to_shape(owner, shape[0] if len(shape) == 1 else shape)


def _drawn_dtype(owner: str, dtype: Any) -> Any:
    wanted = to_dtype(dtype)
    if wanted not in (dtypes.float16, float32, dtypes.float64):
        raise wrong_value(owner, "dtype", wanted, "float16, float32 or float64")
    return wanted

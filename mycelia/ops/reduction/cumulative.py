"""Cumulative operators along an axis: sum, product, maximum, minimum, logsumexp."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.dtype import DType, as_dtype, int32, int64
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.shapes.reshape import cast

_SCANS = (
    case("f32[2,3]", 0),
    case("f32[2,3]", -1, exclusive=True),
    case("f32[2,3]", 1, reverse=True),
    case("f32[4]", 0, exclusive=True, reverse=True),
    case("f32[0,3]", 0),
)


class _Scan(Op, register=False):
    """Base of scans: `exclusive` leaves out the element itself, `reverse` starts at the end."""

    exclusive: bool = False
    reverse: bool = False
    static = ("axis",)
    kinds: ClassVar[tuple[str, ...]] = ("int", "uint", "float", "complex")

    def infer(self, input: TensorType, axis: Any) -> TensorType:
        if input.dtype.kind not in self.kinds:
            raise unsupported_dtype(self.name, input, f"a tensor of kind {', '.join(self.kinds)}")
        _normalized_axis(self.name, input, axis)
        return input

    def shifted(self, x: Array, axis: int, start: Any) -> Array:
        """For exclusive scans: x shifted by one, with `start` at the beginning."""
        if not self.exclusive or x.shape[axis] == 0:
            return x
        size = x.shape[axis]
        first = jnp.full_like(lax.slice_in_dim(x, 0, 1, axis=axis), start)
        if self.reverse:
            return jnp.concatenate([lax.slice_in_dim(x, 1, size, axis=axis), first], axis)
        return jnp.concatenate([first, lax.slice_in_dim(x, 0, size - 1, axis=axis)], axis)


class CumSum(_Scan):
    """Cumulative sum along `axis`."""

    examples = (*_SCANS, case("i32[2,3]", 1))

    def lower(self, input: Array, axis: Any) -> Array:
        position = _normalized_axis(self.name, input, axis)
        moved = self.shifted(jnp.asarray(input), position, 0)
        return lax.cumsum(moved, position, reverse=self.reverse)

    def grad(self, input: Any, axis: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (CumSum.of(self.exclusive, not self.reverse)(dout, axis),)


class CumProd(_Scan):
    """Cumulative product along `axis`."""

    examples = (*_SCANS, case("i32[2,3]", 1))

    def lower(self, x: Array, axis: Any) -> Array:
        position = _normalized_axis(self.name, x, axis)
        moved = self.shifted(jnp.asarray(x), position, 1)
        return lax.cumprod(moved, position, reverse=self.reverse)


class CumulativeLogsumexp(_Scan):
    """Cumulative logsumexp along `axis`, without overflow."""

    kinds = ("float",)
    examples = (
        case("f32[2,3]", 0),
        case("f32[2,3]", 1, reverse=True),
        case("f32[2,3]", 1, exclusive=True, differentiate=False),  # starts at the lowest float
        case("f32[0,3]", 0),
    )

    def lower(self, x: Array, axis: Any) -> Array:
        position = _normalized_axis(self.name, x, axis)
        lowest = jnp.finfo(x.dtype).min
        moved = self.shifted(jnp.asarray(x), position, lowest)
        return lax.cumlogsumexp(moved, position, reverse=self.reverse)


class _RunningExtreme(Op, register=False):
    """Base of cummax and cummin: values and indices; the last one among equals."""

    axis: int
    examples = (
        case("f32[2,3]:distinct", axis=1),
        case("f32[4]:distinct", axis=-1),
        case("i32[2,3]", axis=0),
        case("f32[0,3]", axis=1),
    )
    index_dtype = int64

    def normalize(self) -> dict[str, Any]:
        return {"axis": check_int(self.name, "axis", self.axis)}

    def infer(self, input: TensorType) -> tuple[TensorType, TensorType]:
        if input.dtype.kind not in ("int", "uint", "float"):
            raise unsupported_dtype(self.name, input, "a tensor of integers or floats")
        _normalized_axis(self.name, input, self.axis)
        return input, input.with_dtype(self.index_dtype)

    def lower(self, input: Array) -> tuple[Array, Array]:
        axis = _normalized_axis(self.name, input, self.axis)
        x = jnp.asarray(input)
        best = self.scan(lax.stop_gradient(x), axis)
        here = lax.broadcasted_iota(np.int32, x.shape, axis)
        position = lax.cummax(jnp.where((x == best) | jnp.isnan(x), here, 0), axis)
        value = jnp.take_along_axis(x, position, axis=axis)
        return value, position.astype(self.index_dtype.numpy)

    def scan(self, x: Array, axis: int) -> Array:
        """Running extreme values."""
        raise TypeError(f"{self.name} does not define its scan")


class Cummax(_RunningExtreme):
    """Cumulative maximum along `axis`, and its index (int64)."""

    def scan(self, x: Array, axis: int) -> Array:
        return lax.cummax(x, axis)


class Cummin(_RunningExtreme):
    """Cumulative minimum along `axis`, and its index (int32)."""

    index_dtype = int32

    def scan(self, x: Array, axis: int) -> Array:
        return lax.cummin(x, axis)


def cumsum(x: Any, axis: int, dtype: Any = None) -> Any:
    """Cumulative sum along `axis`, in `dtype` if given."""
    check_tensors("cumsum", x=x)
    return CumSum.of()(_in_dtype(x, dtype), axis)


def cumprod(input: Any, dim: int, dtype: Any = None) -> Any:
    """Cumulative product along `dim`; integers are multiplied as int64."""
    check_tensors("cumprod", input=input)
    wanted = int64 if dtype is None and not input.dtype.is_inexact else dtype
    return CumProd.of()(_in_dtype(input, wanted), dim)


def cummax(input: Any, axis: int) -> tuple[Any, Any]:
    """Cumulative maximum along `axis`, and its index."""
    return Cummax.of(axis)(input)


def cummin(input: Any, axis: int) -> tuple[Any, Any]:
    """Cumulative minimum along `axis`, and its index."""
    return Cummin.of(axis)(input)


def logcumsumexp(input: Any, axis: int) -> Any:
    """Cumulative logsumexp along `axis`."""
    return CumulativeLogsumexp.of()(input, axis)


def _normalized_axis(owner: str, x: Any, axis: Any) -> int:
    """Non-negative `axis`; a scalar raises an error."""
    if len(x.shape) == 0:
        raise problem(ValueError, f"{owner}: a scalar has no axis", expected="at least 1 dimension")
    return normalize_axis(axis, len(x.shape), owner)


def _in_dtype(x: Any, dtype: DType | Any) -> Any:
    return x if dtype is None else cast(x, as_dtype(dtype))

"""Unique elements and histograms. The size of some results depends on values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_float, check_positive_int
from mycelia._engine.core.dtype import as_dtype, float32, int32
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype


class SizedByValues(Op, register=False):
    """Base class of operators whose result shape depends on values; they run on the host only."""

    host_only = True
    host_limit = 2**62
    differentiable = False

    def infer(self, *args: Any) -> Any:
        self.check(*args)
        raise self.unsizable()

    def check(self, x: Any) -> None:
        """Raises an error if the argument, an array or a type, is not supported."""

    def unsizable(self) -> RuntimeError:
        return problem(
            RuntimeError,
            f"{self.name}: the shape of the result depends on the values of the argument",
            expected="a call outside of compiled code",
            fix="call it eagerly, before the compiled function",
        )


class Unique(SizedByValues):
    """Unique elements in order of first occurrence, and the index of each element among them."""

    examples = (case("i32[2,3]"), case("f32[4]"), case("i64[0]"))

    def lower(self, x: Array) -> tuple[Array, Array]:
        raise self.unsizable()

    def check(self, x: Any) -> None:
        if as_dtype(x.dtype).kind in ("bool", "complex"):
            raise problem(TypeError, "Unique: unsupported dtype", got=f"{x.dtype}")

    def host(self, x: Any) -> tuple[Any, Any]:
        self.check(x)
        distinct, first, inverse = np.unique(x.ravel(), return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        index_dtype = np.int64 if x.dtype == np.int64 else np.int32
        return distinct[order], rank[inverse].reshape(x.shape).astype(index_dtype)


class UniqueConsecutive(SizedByValues):
    """Collapses runs of equal neighbors; also returns the run of each element and run lengths.

    Neighbors are elements of the flattened tensor, or slices along `dim`. Outputs that are not
    requested are empty tensors.
    """

    return_inverse: bool = False
    return_counts: bool = False
    dim: int | None = None
    examples = (
        case("i32[6]:<2", return_inverse=True, return_counts=True),
        case("i32[4,1]:<2", return_inverse=True, dim=0),
        case("f32[0]"),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool(self.name, "return_inverse", self.return_inverse)
        check_bool(self.name, "return_counts", self.return_counts)
        return {}

    def lower(self, input: Array) -> tuple[Array, Array, Array]:
        raise self.unsizable()

    def check(self, x: Any) -> None:
        if self.dim is not None:
            normalize_axis(self.dim, x.ndim, self.name)

    def host(self, input: Any) -> tuple[Any, Any, Any]:
        axis = 0 if self.dim is None else normalize_axis(self.dim, input.ndim, self.name)
        along = input.reshape(-1) if self.dim is None else input
        starts = _run_starts(along, axis)
        runs = np.cumsum(starts) - 1
        inverse = runs.reshape(input.shape) if self.dim is None else runs
        counts = np.diff(np.append(np.flatnonzero(starts), starts.size))
        empty = np.zeros((0,), np.int64)
        return (
            np.compress(starts, along, axis=axis),
            inverse.astype(np.int64) if self.return_inverse else empty,
            counts.astype(np.int64) if self.return_counts else empty,
        )


class DistinctSorted(Op):
    """Sorted unique elements, or slices along `dim`.

    Also returns the index of each element (or slice) among them, and how often each occurs.
    """

    dim: int | None = None
    host_only = True
    host_limit = 2**62
    differentiable = False
    examples = (case("i32[2,3]:<3"), case("f32[4]"), case("i64[4,2]:<2", dim=0), case("i64[0]"))

    def infer(self, *args: Any) -> Any:
        raise self._unsizable()

    def lower(self, x: Array) -> tuple[Array, Array, Array]:
        raise self._unsizable()

    def host(self, x: Any) -> tuple[Any, Any, Any]:
        if as_dtype(x.dtype).kind == "complex":
            raise problem(TypeError, "unique: complex numbers have no order", got=f"{x.dtype}")
        axis = None if self.dim is None else normalize_axis(self.dim, x.ndim, "unique")
        distinct, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, axis=axis)
        shape = x.shape if axis is None else (x.shape[axis],)
        return distinct, inverse.reshape(shape).astype(np.int64), counts.astype(np.int64)

    def _unsizable(self) -> RuntimeError:
        return problem(
            RuntimeError,
            "unique: the shape of the result depends on the values of the argument",
            expected="a call outside of compiled code",
            fix="call it eagerly, before the compiled function",
        )


class Histogram(Op):
    """Histogram with `bins` equal bins from `min` to `max`.

    If the limits are equal, they are computed from the data. Elements outside are not counted.
    """

    bins: int = 100
    min: float = 0.0
    max: float = 0.0
    differentiable = False
    examples = (case("f32[2,3]", bins=4), case("i32[5]", bins=3, min=-2.0, max=3.0), case("f32[0]"))

    def normalize(self) -> dict[str, Any]:
        low = check_float(self.name, "min", self.min)
        high = check_float(self.name, "max", self.max)
        if low > high:
            raise problem(ValueError, f"{self.name}: min is above max", got=f"{low} and {high}")
        return {"bins": check_positive_int(self.name, "bins", self.bins), "min": low, "max": high}

    def infer(self, x: TensorType) -> TensorType:
        if x.dtype.kind not in ("int", "float"):
            raise unsupported_dtype(self.name, x, "a tensor of integers or floats")
        return TensorType(float32 if x.dtype.is_float else int32, (self.bins,))

    def lower(self, x: Array) -> Array:
        result = np.float32 if jnp.issubdtype(x.dtype, jnp.floating) else np.int32
        if x.size == 0:
            return jnp.zeros((self.bins,), result)
        values = jnp.ravel(x).astype(np.float64)
        low, high = self._limits(values)
        bin_indices = jnp.floor((values - low) / (high - low) * self.bins).astype(np.int32)
        # the upper limit is part of the last bin
        bin_indices = jnp.clip(bin_indices, 0, self.bins - 1)
        inside = (values >= low) & (values <= high)
        counts = jnp.zeros((self.bins,), np.int32)
        return counts.at[bin_indices].add(inside.astype(np.int32)).astype(result)

    def _limits(self, values: Array) -> tuple[Any, Any]:
        if self.min != self.max:
            return self.min, self.max
        low, high = jnp.min(values), jnp.max(values)
        return jnp.where(low == high, low - 1, low), jnp.where(low == high, high + 1, high)


def unique(input: Any) -> tuple[Any, Any]:
    """Unique elements in order of first occurrence, and the index of each element among them."""
    return Unique.of()(input)


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Collapses runs of equal neighbors; returns run indices and lengths on request."""
    values, inverse, counts = UniqueConsecutive.of(return_inverse, return_counts, dim)(input)
    results = [values]
    results += [inverse] if return_inverse else []
    results += [counts] if return_counts else []
    return tuple(results) if len(results) > 1 else values


def histc(input: Any, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Any:
    """Histogram with `bins` equal bins from `min` to `max`."""
    return Histogram.of(bins, min, max)(input)


def _run_starts(along: Any, axis: int) -> Any:
    """Which slices along `axis` differ from the previous one."""
    moved = np.moveaxis(along, axis, 0)
    if moved.shape[0] == 0:
        return np.zeros((0,), bool)
    rest = tuple(range(1, moved.ndim))
    changes = (moved[1:] != moved[:-1]).any(axis=rest) if rest else moved[1:] != moved[:-1]
    return np.concatenate([[True], changes])

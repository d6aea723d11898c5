"""Indices of the largest and smallest elements, and medians."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_int, is_int
from mycelia._engine.core.dtype import DType, as_dtype, int32, int64
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.max_min import argmax_along, argmin_along
from mycelia._engine.operators.families import reduced_shape
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.argument_types import check_readable
from mycelia.ops.elementwise.arithmetic import maximum, minimum
from mycelia.ops.reduction.family import with_initial
from mycelia.ops.reduction.reduction import ReduceMax, ReduceMin
from mycelia.ops.shapes.reshape import cast, expand_dims, reshape

_ORDERED = ("int", "uint", "float")
_CHOICES = (
    case("f32[2,3]:distinct"),
    case("f32[2,3]:distinct", axis=-1, keep_dims=True),
    case("i32[4]"),
    case("f32[]"),
)


class Argmax(Op):
    """Index of the largest element along `axis`; the first one among equals."""

    axis: int = -1
    output_type: DType = int32
    differentiable = False
    examples = (
        case("f32[2,3]"),
        case("i32[2,3]", axis=0, output_type=int64),
        case("f16[4]"),
        case("f32[0,3]"),
    )

    def normalize(self) -> dict[str, Any]:
        output_type = as_dtype(self.output_type)
        if output_type not in (int32, int64):
            raise problem(
                ValueError, f"{self.name}: output_type must be int32 or int64", got=str(output_type)
            )
        return {"axis": check_int(self.name, "axis", self.axis), "output_type": output_type}

    def infer(self, input: TensorType) -> TensorType:
        if input.dtype.kind not in _ORDERED:
            raise unsupported_dtype(self.name, input, "a tensor of integers or floats")
        if input.ndim == 0:
            raise problem(ValueError, f"{self.name}: a scalar has no axis", got=str(input))
        axis = normalize_axis(self.axis, input.ndim, self.name)
        _check_choice(self.name, input, axis)
        return TensorType(self.output_type, reduced_shape(input.shape, (axis,), False))

    def lower(self, input: Array) -> Array:
        return argmax_along(input, self.axis).astype(self.output_type.numpy)


class Argmin(Argmax):
    """Index of the smallest element along `axis`; the first one among equals."""

    def lower(self, input: Array) -> Array:
        return argmin_along(input, self.axis).astype(self.output_type.numpy)


class ArgMaxWithValue(Op):
    """Index and value of the largest element along `axis`."""

    axis: int = 0
    keep_dims: bool = False
    examples = _CHOICES

    def normalize(self) -> dict[str, Any]:
        check_bool(self.name, "keep_dims", self.keep_dims)
        return {"axis": check_int(self.name, "axis", self.axis)}

    def infer(self, input: TensorType) -> tuple[TensorType, TensorType]:
        if input.dtype.kind not in _ORDERED:
            raise unsupported_dtype(self.name, input, "a tensor of integers or floats")
        axis = normalize_axis(self.axis, input.ndim, self.name)
        _check_choice(self.name, input, axis)
        shape = reduced_shape(input.shape, (axis,), self.keep_dims)
        return TensorType(int64, shape), input.with_shape(shape)

    def lower(self, input: Array) -> tuple[Array, Array]:
        if input.ndim == 0:
            return jnp.zeros((), np.int64), jnp.asarray(input)
        place = self.place(input).astype(np.int64)
        value = jnp.take_along_axis(input, place, axis=self.axis)
        if self.keep_dims:
            return place, value
        return jnp.squeeze(place, self.axis), jnp.squeeze(value, self.axis)

    def place(self, input: Array) -> Array:
        """Index along the axis, which keeps size 1."""
        return argmax_along(input, self.axis, keepdims=True)


class ArgMinWithValue(ArgMaxWithValue):
    """Index and value of the smallest element along `axis`."""

    def place(self, input: Array) -> Array:
        return argmin_along(input, self.axis, keepdims=True)


class Median(Op):
    """Median along `axis` (the lower of two middle elements) and its index.

    With `global_median`, the median of all elements; the index is then 0.
    """

    global_median: bool = False
    axis: int = 0
    keep_dims: bool = False
    ignore_nan: bool = False
    examples = (
        case("f32[2,3]:distinct", axis=1),
        case("f32[4,3]:distinct", keep_dims=True, ignore_nan=True),
        case("f32[2,3]:distinct", global_median=True),
        case("i32[4]"),
        case("f32[]", axis=-1),
    )

    def infer(self, x: TensorType) -> tuple[TensorType, TensorType]:
        if x.dtype.kind not in ("int", "float"):
            raise unsupported_dtype(self.name, x, "a tensor of integers or floats")
        axis = normalize_axis(self.axis, x.ndim, self.name)
        _check_choice(self.name, x, axis)
        shape = reduced_shape(x.shape, (axis,), self.keep_dims)
        shape = () if self.global_median else shape
        check_readable(self.name, x, shape)
        return x.with_shape(shape), TensorType(int64, shape)

    def lower(self, x: Array) -> tuple[Array, Array]:
        if self.global_median or x.ndim == 0:
            flat = jnp.reshape(x, (-1,))
            return flat[_middle(flat, 0, self.ignore_nan)[0]], jnp.zeros((), np.int64)
        place = _middle(x, self.axis, self.ignore_nan)
        value = jnp.take_along_axis(x, place, axis=self.axis)
        if self.keep_dims:
            return value, place
        return jnp.squeeze(value, self.axis), jnp.squeeze(place, self.axis)


def _middle(x: Array, axis: int, ignore_nan: bool) -> Array:
    """Index of the lower median along `axis`, which keeps size 1."""
    order = jnp.argsort(x, axis=axis, stable=True)  # NaN sorts last
    nans = jnp.sum(jnp.isnan(x), axis=axis, keepdims=True, dtype=np.int64)
    count = x.shape[axis]
    middle = (count - 1) // 2
    if ignore_nan:
        rank = jnp.maximum(count - nans - 1, 0) // 2
    else:
        rank = jnp.where(nans > 0, count - nans, middle)
    return jnp.take_along_axis(order, rank, axis=axis).astype(np.int64)


def max(
    input: Any,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = None,
) -> tuple[Any, Any]:
    """Maximum along `axis` and its index (0 when axis is None)."""
    masked = with_initial("max", input, initial, where, maximum)
    if axis is None:
        return _of_all(ReduceMax.of()(masked))
    place, value = ArgMaxWithValue.of(_axis("max", axis), keepdims)(masked)
    return value, place


def min(
    input: Any,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = None,
) -> tuple[Any, Any]:
    """Minimum along `axis` and its index (0 when axis is None)."""
    masked = with_initial("min", input, initial, where, minimum)
    if axis is None:
        return _of_all(ReduceMin.of()(masked))
    place, value = ArgMinWithValue.of(_axis("min", axis), keepdims)(masked)
    return value, place


@entry_point
def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Index (int64) of the largest element along `dim`, or in the flattened tensor."""
    check_tensors("argmax", input=input)
    ordered = cast(input, int32) if input.dtype.is_bool else input
    return _position(Argmax, ordered, dim, keepdim, int64)


@entry_point
def argmin(input: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Index (int32) of the smallest element along `axis`, or in the flattened tensor."""
    check_tensors("argmin", input=input)
    return _position(Argmin, input, axis, keepdims, int64 if input.shape == () else int32)


def median(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Any, Any]:
    """Median along `axis` and its index."""
    return Median.of(False, axis, keepdims)(input)


def nanmedian(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Any, Any]:
    """Median along `axis`, ignoring NaN, and its index."""
    return Median.of(False, axis, keepdims, True)(input)


def _position(op: type[Argmax], x: Any, axis: int | None, keep: bool, dtype: DType) -> Any:
    if axis is None or x.shape == ():
        return op.of(0, dtype)(reshape(x, (-1,)))
    place = op.of(axis, dtype)(x)
    return expand_dims(place, normalize_axis(axis, len(x.shape), op.__name__)) if keep else place


def _of_all(value: Any) -> tuple[Any, Any]:
    """A value with the index 0."""
    return value, Argmax.of(0, int64)(reshape(value, (1,)))


def _axis(owner: str, axis: Any) -> int:
    if not is_int(axis):
        raise wrong_type(owner, "axis", axis, "int")
    return int(axis)


def _check_choice(owner: str, x: TensorType, axis: int) -> None:
    if x.ndim and x.shape[axis] == 0:
        raise problem(ValueError, f"{owner}: the tensor has no elements", got=str(x))

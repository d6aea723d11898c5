"""Reductions over axes: sum, mean, product, maximum, minimum, all, any, logsumexp."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import DType, as_dtype, bool_, int32, int64
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.max_min import largest, smallest
from mycelia._engine.kernels.sums import summed
from mycelia._engine.operators.operator import unsupported_dtype
from mycelia.ops.activation.softmax import log_total
from mycelia.ops.elementwise.arithmetic import MulNoNan, div, maximum, minimum, mul, sub
from mycelia.ops.elementwise.comparison import equal, isnan, logical_not, not_equal
from mycelia.ops.elementwise.exponential import exp
from mycelia.ops.reduction.family import OverAxes, with_initial
from mycelia.ops.shapes.reshape import cast, reshape

_AXES = (
    case("f32[2,3]", ()),
    case("f32[2,3,4]", (0, -1), keep_dims=True),
    case("f32[3,0]", 1, differentiate=False),
    case("f32[]", -1),
)
_DISTINCT = (
    case("f32[2,3]:distinct", ()),
    case("f32[2,3,4]:distinct", (0, -1), keep_dims=True),
    case("i32[2,3]", 1),
    case("f32[0,3]", 1),
    case("f32[]", ()),
)


class ReduceSum(OverAxes):
    """Sum over axes, in the dtype of x. With `skip_mode`, no axes means no reduction."""

    skip_mode: bool = False
    examples = (
        *_AXES,
        case("i32[2,3]", 0),
        case("bool[2]", ()),
        case("f32[2]", (), skip_mode=True),
    )

    def infer(self, x: TensorType, axis: Any = ()) -> TensorType:
        return x if self._skips(axis) else super().infer(x, axis)

    def lower(self, x: Array, axis: Any = ()) -> Array:
        if self._skips(axis):
            return x
        axes = self.axes(x, axis)
        if x.dtype == jnp.bool_:
            return jnp.any(x, axis=axes, keepdims=self.keep_dims)
        return summed(x, axes, self.keep_dims)

    def grad(self, x: Any, axis: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (dout if self._skips(axis) else self.spread(x, axis, dout),)

    def _skips(self, axis: Any) -> bool:
        return self.skip_mode and (axis is None or axis == ())


class ReduceMean(OverAxes):
    """Mean over axes, in the dtype of x; means of integers are truncated."""

    examples = (*_AXES, case("i32[2,3]", 0), case("u8[4]", ()))

    def infer(self, x: TensorType, axis: Any = ()) -> TensorType:
        if x.dtype.is_bool:
            raise problem(
                RuntimeError,
                f"{self.name}: the mean of bools is undefined",
                got=str(x),
                fix="cast them first",
            )
        return super().infer(x, axis)

    def lower(self, x: Array, axis: Any = ()) -> Array:
        axes = self.axes(x, axis)
        if jnp.issubdtype(x.dtype, jnp.inexact):
            return summed(x, axes, self.keep_dims) / self.count(x, axis)
        total = jnp.sum(x, axis=axes, keepdims=self.keep_dims, dtype=np.int64)
        count = self.count(x, axis) or 1
        return lax.div(total, jnp.full_like(total, count)).astype(x.dtype)

    def grad(self, x: Any, axis: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (self.spread(x, axis, div(dout, float(self.count(x, axis)))),)


class _Extreme(OverAxes, register=False):
    """Base of maximum and minimum over axes. Tied elements share the gradient."""

    kinds = ("int", "uint", "float")
    examples = _DISTINCT

    def infer(self, x: TensorType, axis: Any = ()) -> TensorType:
        if x.ndim and self.count(x, axis) == 0:
            raise problem(ValueError, f"{self.name}: the tensor has no elements", got=str(x))
        return super().infer(x, axis)

    def grad(self, x: Any, axis: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        kept = self.kept(x, axis)
        chosen = cast(equal(x, reshape(out, kept)), dout.dtype)
        shared = div(reshape(dout, kept), ReduceSum.of(True)(chosen, self.axes(x, axis)))
        return (mul(chosen, shared),)


class ReduceMax(_Extreme):
    """Maximum over axes."""

    def lower(self, x: Array, axis: Any = ()) -> Array:
        return largest(x, self.axes(x, axis), self.keep_dims)


class ReduceMin(_Extreme):
    """Minimum over axes."""

    def lower(self, x: Array, axis: Any = ()) -> Array:
        return smallest(x, self.axes(x, axis), self.keep_dims)


class ReduceProd(OverAxes):
    """Product over axes, in the dtype of x."""

    examples = (*_AXES, case("i32[2,3]", 0), case("bool[2]", ()))

    def lower(self, x: Array, axis: Any = ()) -> Array:
        axes = self.axes(x, axis)
        if x.dtype == jnp.bool_:
            return jnp.all(x, axis=axes, keepdims=self.keep_dims)
        return jnp.prod(x, axis=axes, keepdims=self.keep_dims, dtype=x.dtype)


class _Truth(OverAxes, register=False):
    """Base of all and any; a number counts as true unless it is 0."""

    differentiable = False
    examples = (
        case("bool[2,3]", ()),
        case("f32[2,3,4]", (0, -1), keep_dims=True),
        case("bool[0,3]", 0),
        case("i32[]", ()),
    )

    def result_dtype(self, dtype: DType) -> DType:
        return bool_


class ReduceAll(_Truth):
    """Logical AND over axes: whether all elements are true."""

    def lower(self, x: Array, axis: Any = ()) -> Array:
        return jnp.all(x, axis=self.axes(x, axis), keepdims=self.keep_dims)

    def host(self, x: Any, axis: Any = ()) -> Any:
        return np.all(x, axis=self.axes(x, axis), keepdims=self.keep_dims)


class ReduceAny(_Truth):
    """Logical OR over axes: whether any element is true."""

    def lower(self, x: Array, axis: Any = ()) -> Array:
        return jnp.any(x, axis=self.axes(x, axis), keepdims=self.keep_dims)

    def host(self, x: Any, axis: Any = ()) -> Any:
        return np.any(x, axis=self.axes(x, axis), keepdims=self.keep_dims)


class LogSumExp(OverAxes):
    """Logarithm of the sum of exponentials over axes, without overflow."""

    kinds = ("float",)
    examples = _AXES

    def lower(self, x: Array, axis: Any = ()) -> Array:
        axes = self.axes(x, axis)
        found = log_total(x, axes)
        return (found if self.keep_dims else jnp.squeeze(found, axes)).astype(x.dtype)

    def grad(self, x: Any, axis: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        kept = self.kept(x, axis)
        return (mul(reshape(dout, kept), exp(sub(x, reshape(out, kept)))),)


def reduce_sum(x: Any, axis: Any = ()) -> Any:
    """Sum over `axis`, in the dtype of x."""
    return ReduceSum.of()(x, axis)


def reduce_mean(x: Any, axis: Any = ()) -> Any:
    """Mean over `axis`, in the dtype of x."""
    return ReduceMean.of()(x, axis)


def reduce_max(x: Any, axis: Any = ()) -> Any:
    """Maximum over `axis`."""
    return ReduceMax.of()(x, axis)


def reduce_min(x: Any, axis: Any = ()) -> Any:
    """Minimum over `axis`."""
    return ReduceMin.of()(x, axis)


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Sum over `dim` (all axes when None); small integers are summed as int64."""
    check_tensors("sum", input=input)
    return ReduceSum.of(keepdim)(_accumulated(input, dtype), _axes("sum", dim))


def mean(x: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    """Mean over `axis` (all axes when None), in the dtype of x."""
    return ReduceMean.of(keep_dims)(x, _axes("mean", axis))


def prod(input: Any, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Any:
    """Product over `axis` (all axes when None); small integers are multiplied as int64."""
    check_tensors("prod", input=input)
    if axis is None and keep_dims:
        raise problem(ValueError, "prod: keep_dims=True requires an axis", got="axis=None")
    return ReduceProd.of(keep_dims)(_accumulated(input, dtype), _axes("prod", axis))


def all(input: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    """Logical AND over `axis`: whether all elements are true."""
    return ReduceAll.of(check_bool("all", "keep_dims", keep_dims))(input, _axes("all", axis))


def any(input: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    """Logical OR over `axis`: whether any element is true."""
    return ReduceAny.of(check_bool("any", "keep_dims", keep_dims))(input, _axes("any", axis))


def amax(
    input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Any:
    """Maximum over `axis` of `initial` and the elements where `where` is true."""
    check_tensors("amax", input=input)
    masked = with_initial("amax", input, initial, where, maximum)
    return ReduceMax.of(keepdims)(masked, _axes("amax", axis))


def amin(
    input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Any:
    """Minimum over `axis` of `initial` and the elements where `where` is true."""
    check_tensors("amin", input=input)
    masked = with_initial("amin", input, initial, where, minimum)
    return ReduceMin.of(keepdims)(masked, _axes("amin", axis))


def aminmax(input: Any, *, axis: int | None = 0, keepdims: bool = False) -> tuple[Any, Any]:
    """Minimum and maximum over `axis`."""
    return amin(input, axis, keepdims), amax(input, axis, keepdims)


def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """Logarithm of the sum of exponentials over `dim`."""
    return LogSumExp.of(keepdim)(input, _axes("logsumexp", dim))


def count_nonzero(x: Any, axis: Any = (), keep_dims: bool = False, dtype: Any = int32) -> Any:
    """Number of nonzero elements over `axis`."""
    counted = cast(not_equal(x, 0), int64)
    return cast(ReduceSum.of(keep_dims)(counted, _axes("count_nonzero", axis)), dtype)


def nansum(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Sum over `axis`, ignoring NaN."""
    check_tensors("nansum", input=input)
    known = _without_nans(cast(input, int64) if input.dtype.is_bool else input)
    total = ReduceSum.of(keepdims)(known, _axes("nansum", axis))
    return total if dtype is None else cast(total, dtype)


def nanmean(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Mean over `axis`, ignoring NaN."""
    check_tensors("nanmean", input=input)
    if not input.dtype.is_float:
        raise unsupported_dtype("nanmean", TensorType(input.dtype, input.shape), "a float tensor")
    axes = _axes("nanmean", axis)
    count = ReduceSum.of(keepdims)(cast(logical_not(isnan(input)), input.dtype), axes)
    result = div(nansum(input, axis, keepdims), count)
    return result if dtype is None else cast(result, dtype)


def _without_nans(x: Any) -> Any:
    return MulNoNan.of()(x, cast(logical_not(isnan(x)), x.dtype)) if x.dtype.is_float else x


def _accumulated(x: Any, dtype: Any) -> Any:
    """x in `dtype`, or in int64 if it holds bools or small integers."""
    if dtype is not None:
        return cast(x, as_dtype(dtype))
    small = x.dtype.is_bool or x.dtype.kind == "int" or x.dtype.name == "uint8"
    return cast(x, int64) if small else x


def _axes(owner: str, axis: Any) -> Any:
    if axis is None:
        return ()
    if isinstance(axis, (bool, float, str)):
        raise wrong_type(owner, "axis", axis, "int, tuple of ints or None")
    return axis

"""Softmax and log-softmax, computed without overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int, is_int
from mycelia._engine.core.dtype import as_dtype
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import normalize_axes, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.max_min import largest
from mycelia._engine.kernels.sums import last_sum, summed
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.argument_types import FLOATS, check_kinds
from mycelia.ops.shapes.reshape import cast

_CASES = (case("f32[2,3]"), case("f32[2,3,4]", axis=1), case("f32[2,0]"), case("f32[0,3]"))


class Softmax(Op):
    """Softmax along `axis`: exp(x) / sum(exp(x))."""

    axis: int | tuple[int, ...] = -1
    examples = (*_CASES, case("f32[2,3]", axis=(0, 1)))

    def normalize(self) -> dict[str, Any]:
        axes = (self.axis,) if is_int(self.axis) else self.axis
        if not isinstance(axes, (tuple, list)) or not all(is_int(a) for a in axes):
            raise wrong_type("Softmax", "axis", self.axis, "int or tuple of int")
        if not axes:
            raise wrong_value("Softmax", "axis", self.axis, "at least one axis")
        return {"axis": tuple(axes)}

    def infer(self, x: TensorType) -> TensorType:
        axes = self.axis if isinstance(self.axis, tuple) else (self.axis,)
        _check(self.name, x, axes)
        return x

    def lower(self, x: Array) -> Array:
        powers = jnp.exp(widened(x) - _peak(x, self.axis))
        return (powers / _total(powers, self.axis)).astype(x.dtype)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (SoftmaxGrad.of(self.axis)(out, dout),)


class SoftmaxGrad(Op, register=False):
    """The gradient of Softmax, computed from its output."""

    axis: tuple[int, ...]

    def infer(self, y: TensorType, dout: TensorType) -> TensorType:
        return y

    def lower(self, y: Array, dout: Array) -> Array:
        wide, pulled = widened(y), widened(dout)
        weighted = _total(pulled * wide, self.axis)
        return (wide * (pulled - weighted)).astype(y.dtype)


class Softmin(Softmax):
    """Softmin along `axis`: the softmax of -x."""

    def lower(self, x: Array) -> Array:
        return super().lower(-x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (SoftminGrad.of(self.axis)(out, dout),)


class SoftminGrad(SoftmaxGrad, register=False):
    """The gradient of Softmin, computed from its output."""

    def lower(self, y: Array, dout: Array) -> Array:
        return -super().lower(y, dout)


class LogSoftmax(Op):
    """Logarithm of the softmax along `axis`."""

    axis: int = -1
    examples = (*_CASES, case("f32[]", axis=0))

    def normalize(self) -> dict[str, Any]:
        return {"axis": check_int("LogSoftmax", "axis", self.axis)}

    def infer(self, x: TensorType) -> TensorType:
        if x.ndim or self.axis not in (0, -1):
            _check(self.name, x, (self.axis,))
        check_kinds(self.name, FLOATS, x=x)
        return x

    def lower(self, x: Array) -> Array:
        if x.ndim == 0:
            return x - x
        shifted = widened(x) - _peak(x, self.axis)
        return (shifted - jnp.log(_total(jnp.exp(shifted), self.axis))).astype(x.dtype)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (LogSoftmaxGrad.of(self.axis)(out, dout),)


class LogSoftmaxGrad(Op, register=False):
    """The gradient of LogSoftmax, computed from its output."""

    axis: int

    def infer(self, y: TensorType, dout: TensorType) -> TensorType:
        return y

    def lower(self, y: Array, dout: Array) -> Array:
        if y.ndim == 0:
            return dout - dout
        pulled = widened(dout)
        return (pulled - jnp.exp(widened(y)) * _total(pulled, self.axis)).astype(y.dtype)


class LogSoftmaxExt(LogSoftmax):
    """Logarithm of the softmax; an alias of LogSoftmax."""


def softmax(input: Any, axis: int = -1, *, dtype: Any = None) -> Any:
    """Softmax along `axis`: exp(input) / sum(exp(input)).

    `dtype` sets the dtype of the computation.
    """
    if not is_int(axis):
        raise wrong_type("softmax", "axis", axis, "int")
    return Softmax.of(int(axis))(_in_dtype(input, dtype))


def softmin(x: Any, axis: int = -1, *, dtype: Any = None) -> Any:
    """Softmin along `axis`: the softmax of -x."""
    return Softmin.of(axis)(_in_dtype(x, dtype))


def log_softmax(logits: Any, axis: int = -1) -> Any:
    """Logarithm of the softmax along `axis`."""
    return LogSoftmax.of(check_int("log_softmax", "axis", axis))(logits)


def _in_dtype(x: Any, dtype: Any) -> Any:
    return x if dtype is None else cast(x, as_dtype(dtype))


def _check(op: str, x: TensorType, axes: tuple[int, ...]) -> None:
    if not x.dtype.is_float:
        raise unsupported_dtype(op, x, "a float tensor")
    if x.ndim == 0:
        raise problem(ValueError, f"{op}: a scalar has no axis", got=str(x))
    for axis in axes:
        normalize_axis(axis, x.ndim, op)


def powers(x: Array) -> tuple[Array, Array, Array]:
    """The terms of softmax along the last axis: exp(x - peak), their sum, and the peak.

    A second call in the same program, such as that of a gradient, returns the same arrays.
    """
    peak = lax.stop_gradient(_peak(x, -1))
    exponentials = jnp.exp(x - peak)
    return exponentials, last_sum(exponentials), peak


def log_total(x: Array, axis: int | tuple[int, ...]) -> Array:
    """Log-sum-exp of x along `axis`, which is kept with size 1."""
    peak = lax.stop_gradient(_peak(x, axis))
    base = jnp.where(jnp.isfinite(peak), peak, 0)
    return jnp.log(_total(jnp.exp(x - base), axis)) + base


def _peak(x: Array, axis: int | tuple[int, ...]) -> Array:
    """The maximum along `axis`; subtracting it keeps exp from overflowing."""
    return largest(widened(x), normalize_axes(axis, x.ndim, "Softmax"), True, -np.inf)


def _total(x: Array, axis: int | tuple[int, ...]) -> Array:
    """The sum along `axis`, which is kept with size 1."""
    return summed(x, normalize_axes(axis, x.ndim, "Softmax"), keepdims=True)

"""Piecewise activations: ReLU and its variants, hard approximations, and shrinkage."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_float, check_instance
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.activation.family import Activation, where_number

_SHAPES = (case("f32[2,3]:spread"), case("f32[]:spread"), case("f32[0,2]"))
_NUMBERS = ("bool", "int", "uint", "float")
_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_ALPHA = 1.6732632423543772848170429916717


class ReLU(Activation):
    """Rectified linear unit: max(x, 0)."""

    kinds = _NUMBERS
    examples = (*_SHAPES, case("i32[4]"))

    def lower(self, x: Array) -> Array:
        return jnp.maximum(x, jnp.zeros((), x.dtype))

    def host(self, x: Any) -> Any:
        return np.maximum(x, np.zeros((), x.dtype))

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return jnp.where(y > 0, dout, 0)


class ReLU6(Activation):
    """Rectified linear unit with an upper limit of 6: min(max(x, 0), 6)."""

    examples = (*_SHAPES, case("f32[3,3]:distinct"))

    def lower(self, x: Array) -> Array:
        return jnp.clip(x, 0, 6)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return jnp.where((x > 0) & (x <= 6), dout, 0)


class LeakyReLU(Activation):
    """Leaky ReLU: x where x > 0, alpha * x elsewhere."""

    kinds = _NUMBERS
    alpha: float = 0.2
    examples = (*_SHAPES, case("f32[3]:spread", alpha=2.0), case("i32[4]"))

    def lower(self, x: Array) -> Array:
        return where_number(x, x > 0, x, x * self.alpha)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        # at 0 the mean of both slopes, because the maximum of equal values shares its gradient
        slope = jnp.where(x > 0, 1.0, jnp.where(x < 0, self.alpha, (1 + self.alpha) / 2))
        return dout * slope.astype(x.dtype)


class PReLU(Op):
    """Parametric ReLU: x where x > 0, weight * x elsewhere.

    One weight for all channels (axis 1) or one for each.
    """

    examples = (
        case("f32[2,3,2]:spread", "f32[3]"),
        case("f32[2,3]:spread", "f32[1]"),
        case("f32[]:spread", "f32[1]"),
        case("f32[0,2]", "f32[2]"),
    )

    def infer(self, x: TensorType, weight: TensorType) -> TensorType:
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "a float tensor")
        channels = x.shape[1] if x.ndim > 1 else 1
        if weight.ndim != 1 or weight.shape[0] not in (1, channels):
            raise problem(
                ValueError,
                "PReLU: the weight does not match the channels of x",
                got=f"x {x} and weight {weight}",
                expected=f"a weight of shape [1] or [{channels}]",
            )
        return x

    def lower(self, x: Array, weight: Array) -> Array:
        slope = jnp.asarray(weight).astype(x.dtype)
        per_channel = (1, -1) + (1,) * (x.ndim - 2) if x.ndim > 1 else ()
        return jnp.where(x > 0, x, slope.reshape(per_channel) * x)


class RReLU(Op):
    """Randomized leaky ReLU.

    Returns x where x > 0 and x times a random slope elsewhere, and the slopes.
    """

    draws = True
    lower_bound: float = 1 / 8
    upper_bound: float = 1 / 3
    examples = (case("f32[2,3]:spread"), case("f32[]"), case("i32[3]"))

    def normalize(self) -> dict[str, Any]:
        if self.upper_bound < self.lower_bound:
            raise problem(
                ValueError,
                "rrelu: 'upper' is smaller than 'lower'",
                got=f"lower={self.lower_bound} and upper={self.upper_bound}",
            )
        return {}

    def lower(self, x: Array, key: Array) -> tuple[Array, Array]:
        wide = x.dtype if jnp.issubdtype(x.dtype, jnp.floating) else jnp.float32
        draw = jax.random.uniform(
            jax.random.wrap_key_data(key, impl="threefry2x32"),
            x.shape,
            jnp.float32,
            self.lower_bound,
            self.upper_bound,
        )
        slopes = jnp.where(x < 0, draw, 1).astype(wide)
        return (x * slopes).astype(x.dtype), slopes

    def grad(self, x: Any, key: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return Scaled.of()(dout[0], out[1]), None


class Scaled(Op, register=False):
    """x * factor for two tensors of the same shape, in the dtype of the first."""

    elementwise = True

    def lower(self, x: Array, factor: Array) -> Array:
        return x * jnp.asarray(factor).astype(x.dtype)


class Elu(Activation):
    """Exponential linear unit: x where x > 0, exp(x) - 1 elsewhere."""

    alpha: float = 1.0
    examples = _SHAPES

    def normalize(self) -> dict[str, Any]:
        if check_float("Elu", "alpha", self.alpha) != 1.0:
            raise wrong_value("Elu", "alpha", self.alpha, "1.0")
        return {"alpha": float(self.alpha)}

    def lower(self, x: Array) -> Array:
        return jnp.where(x > 0, x, jnp.expm1(jnp.minimum(x, 0)))

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * jnp.where(y > 0, 1, y + 1).astype(x.dtype)


class SeLU(Activation):
    """Scaled exponential linear unit (Klambauer et al., 2017)."""

    kinds = ("int", "float")
    examples = (*_SHAPES, case("i32[3]"))

    def lower(self, x: Array) -> Array:
        wide = _float(x)
        low = _SELU_SCALE * _SELU_ALPHA * jnp.expm1(jnp.minimum(wide, 0))
        return jnp.where(wide > 0, _SELU_SCALE * wide, low).astype(x.dtype)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * jnp.where(y > 0, _SELU_SCALE, y + _SELU_SCALE * _SELU_ALPHA).astype(x.dtype)


class CeLU(Activation):
    """Continuously differentiable ELU: max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""

    alpha: float = 1.0
    examples = (*_SHAPES, case("f32[4]:spread", alpha=0.5), case("f32[4]:spread", alpha=-1.0))

    def normalize(self) -> dict[str, Any]:
        if not isinstance(self.alpha, float):
            raise wrong_type("CeLU", "alpha", self.alpha, "float")
        if self.alpha == 0:
            raise wrong_value("CeLU", "alpha", self.alpha, "other than 0")
        return {}

    def lower(self, x: Array) -> Array:
        low = self.alpha * jnp.expm1(jnp.minimum(x, 0) / self.alpha)
        return jnp.where(x > 0, x, low)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * jnp.where(x > 0, 1, y / self.alpha + 1).astype(x.dtype)


class HSigmoid(Activation):
    """Hard sigmoid: clip(x / 6 + 1/2, 0, 1)."""

    kinds = ("int", "float")
    examples = (*_SHAPES, case("i32[4]"))

    def lower(self, x: Array) -> Array:
        return (jnp.clip(_float(x) + 3, 0, 6) / 6).astype(x.dtype)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return jnp.where(jnp.abs(x) < 3, dout / 6, 0)


class HSwish(Activation):
    """Hard swish: x * clip(x / 6 + 1/2, 0, 1)."""

    kinds = ("int", "float")
    examples = (*_SHAPES, case("f32[3,4]:distinct"), case("i32[4]"))

    def lower(self, x: Array) -> Array:
        wide = _float(x)
        return (wide * jnp.clip(wide + 3, 0, 6) / 6).astype(x.dtype)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        inside = x / 3 + 0.5
        return dout * jnp.where(x < -3, 0, jnp.where(x > 3, 1, inside)).astype(x.dtype)


class Hardtanh(Activation):
    """Hard tanh: x clipped to the range from `min_val` to `max_val`."""

    kinds = _NUMBERS
    min_val: float = -1.0
    max_val: float = 1.0
    examples = (*_SHAPES, case("i32[4]", min_val=-1.5, max_val=1.5))

    def lower(self, x: Array) -> Array:
        raised = jnp.maximum(_float(x), self.min_val)
        return jnp.minimum(raised, self.max_val).astype(x.dtype)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        # half the gradient at the bounds, because the maximum of equal values shares it
        inside = (x > self.min_val) & (x < self.max_val)
        edge = (x == self.min_val) | (x == self.max_val)
        return jnp.where(inside, dout, jnp.where(edge, dout / 2, 0))


class Threshold(Activation):
    """x where x > `threshold`, `value` elsewhere."""

    kinds = _NUMBERS
    threshold: float
    value: float
    examples = (
        case("f32[2,3]:spread", threshold=0.1, value=7.0),
        case("f32[]:spread", threshold=-0.1, value=1.0),
        case("i32[4]", threshold=1.5, value=7.5),
    )

    def lower(self, x: Array) -> Array:
        return where_number(x, x > self.threshold, x, self.value)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return jnp.where(x > self.threshold, dout, 0)


class HShrink(Activation):
    """Hard shrinkage: 0 where |x| <= `lambd`, x elsewhere."""

    lambd: float = 0.5
    examples = (*_SHAPES, case("f32[3,3]:distinct", lambd=1.0))

    def normalize(self) -> dict[str, Any]:
        return {"lambd": check_float("HShrink", "lambd", self.lambd)}

    def lower(self, x: Array) -> Array:
        return jnp.where(self._inside(x), 0, x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return jnp.where(self._inside(x), 0, dout)

    def _inside(self, x: Array) -> Array:
        return (x >= -self.lambd) & (x <= self.lambd)


class SoftShrink(Activation):
    """Soft shrinkage: sign(x) * max(|x| - `lambd`, 0)."""

    lambd: float = 0.5
    examples = (*_SHAPES, case("f32[3,3]:distinct", lambd=1.0))

    def normalize(self) -> dict[str, Any]:
        lambd = check_float("SoftShrink", "lambd", self.lambd)
        if lambd < 0:
            raise problem(RuntimeError, "SoftShrink: lambd is negative", got=f"lambd={lambd}")
        return {"lambd": lambd}

    def lower(self, x: Array) -> Array:
        shrunk = jnp.where(x < -self.lambd, x + self.lambd, 0)
        return jnp.where(x > self.lambd, x - self.lambd, shrunk)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return jnp.where(jnp.abs(x) > self.lambd, dout, 0)


def relu(input: Any, inplace: bool = False) -> Any:
    """Rectified linear unit: max(input, 0). `inplace` has no effect: the result is a new tensor."""
    return ReLU.of()(input)


def relu6(x: Any) -> Any:
    """Rectified linear unit with an upper limit of 6: min(max(x, 0), 6)."""
    return ReLU6.of()(x)


def leaky_relu(input: Any, alpha: float = 0.2) -> Any:
    """Leaky ReLU: input where input > 0, alpha * input elsewhere."""
    check_instance("leaky_relu", "input", input, TensorProtocol)
    return LeakyReLU.of(check_float("leaky_relu", "alpha", alpha))(input)


def prelu(input: Any, weight: Any) -> Any:
    """Parametric ReLU: input where input > 0, weight * input elsewhere.

    One weight for all channels or one for each.
    """
    return PReLU.of()(input, weight)


def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3) -> Any:
    """Randomized leaky ReLU: input where input > 0, input times a random slope elsewhere.

    Slopes are uniform from `lower` to `upper`.
    """
    check_instance("rrelu", "input", input, TensorProtocol)
    bounds = check_float("rrelu", "lower", lower), check_float("rrelu", "upper", upper)
    return RReLU.of(*bounds)(input)[0]


def elu(input_x: Any, alpha: float = 1.0) -> Any:
    """Exponential linear unit: input_x where input_x > 0, exp(input_x) - 1 elsewhere."""
    return Elu.of(alpha)(input_x)


def selu(input_x: Any) -> Any:
    """Scaled exponential linear unit (Klambauer et al., 2017)."""
    return SeLU.of()(input_x)


def celu(x: Any, alpha: float = 1.0) -> Any:
    """Continuously differentiable ELU: max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""
    return CeLU(alpha)(x) if not isinstance(alpha, float) else CeLU.of(alpha)(x)


def hardsigmoid(input: Any) -> Any:
    """Hard sigmoid: clip(input / 6 + 1/2, 0, 1)."""
    return HSigmoid.of()(input)


def hardswish(input: Any) -> Any:
    """Hard swish: input * clip(input / 6 + 1/2, 0, 1)."""
    return HSwish.of()(input)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """Hard tanh: input clipped to the range from `min_val` to `max_val`."""
    check_instance("hardtanh", "input", input, TensorProtocol)
    low = check_float("hardtanh", "min_val", min_val)
    return Hardtanh.of(low, check_float("hardtanh", "max_val", max_val))(input)


def threshold(input: Any, thr: float, value: float) -> Any:
    """input where input > `thr`, `value` elsewhere."""
    check_instance("threshold", "input", input, TensorProtocol)
    limit, other = check_float("threshold", "thr", thr), check_float("threshold", "value", value)
    return Threshold.of(limit, other)(input)


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """Hard shrinkage: 0 where |input| <= `lambd`, input elsewhere."""
    return HShrink.of(lambd)(input)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """Soft shrinkage: sign(input) * max(|input| - `lambd`, 0)."""
    return SoftShrink.of(lambd)(input)


def soft_shrink(input: Any, lambd: float = 0.5) -> Any:
    """Soft shrinkage; an alias of `softshrink`."""
    return softshrink(input, lambd)


def _float(x: Array) -> Array:
    """`x` itself if it is floating point, otherwise `x` as float32."""
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.asarray(x).astype(jnp.float32)

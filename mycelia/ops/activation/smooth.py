"""Smooth activations: sigmoid, tanh, and what is built from exp, tanh and erf."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core.checks import check_float, check_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import type_of
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.activation.family import Activation
from mycelia.ops.shapes.reshape import cast

_SHAPES = (case("f32[2,3]"), case("f32[]"), case("f32[0,2]"))
_GELU_LINEAR = math.sqrt(2 / math.pi)
_GELU_CUBIC = 0.044715
_FAST_GELU = 1.702


class Sigmoid(Activation):
    """1 / (1 + exp(-x))."""

    kinds = ("float", "complex")
    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return _sigmoid(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * (y * (1 - y))


class Tanh(Activation):
    """The hyperbolic tangent."""

    kinds = ("float", "complex")
    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return jnp.tanh(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * (1 - y * y)


class LogSigmoid(Activation):
    """log(1 / (1 + exp(-x)))."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return -_softplus(-x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * _sigmoid(-x)


class TanhShrink(Activation):
    """x - tanh(x)."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return x - jnp.tanh(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        tanh = x - y
        return dout * (tanh * tanh)


class GeLU(Activation):
    """x times the normal distribution function, approximated with tanh."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return 0.5 * x * (1 + jnp.tanh(_gelu_inner(x)))

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        tanh = jnp.tanh(_gelu_inner(x))
        inner_slope = _GELU_LINEAR * (1 + 3 * _GELU_CUBIC * x * x)
        return dout * (0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner_slope)


class Gelu(GeLU):
    """The other name of GeLU."""


class GeLUExact(Activation):
    """x times the normal distribution function."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return x * _normal_distribution(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        density = jnp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
        return dout * (_normal_distribution(x) + x * density)


class FastGeLU(Activation):
    """x * sigmoid(1.702 * x)."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return x * _sigmoid(_FAST_GELU * x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        gate = _sigmoid(_FAST_GELU * x)
        return dout * (gate + _FAST_GELU * x * gate * (1 - gate))


class FastGelu(FastGeLU):
    """The other name of FastGeLU."""


class SiLU(Activation):
    """x * sigmoid(x)."""

    kinds = ("float", "complex")
    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return x * _sigmoid(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        gate = _sigmoid(x)
        return dout * (gate + y * (1 - gate))


class Mish(Activation):
    """x * tanh(log(1 + exp(x)))."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return x * jnp.tanh(_softplus(x))

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        tanh = jnp.tanh(_softplus(x))
        return dout * (tanh + x * (1 - tanh * tanh) * _sigmoid(x))


class Softplus(Activation):
    """log(1 + exp(x))."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return _softplus(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * _sigmoid(x)


class SoftplusExt(Activation):
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x is above `threshold`."""

    beta: float = 1.0
    threshold: float = 20.0
    examples = (case("f32[2,3]", beta=2.0, threshold=1.0), case("f32[]", beta=0.5))

    def lower(self, x: Array) -> Array:
        scaled = self.beta * x
        return jnp.where(scaled > self.threshold, x, _softplus(scaled) / self.beta)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        scaled = self.beta * x
        return jnp.where(scaled > self.threshold, dout, dout * _sigmoid(scaled))


class Softsign(Activation):
    """x / (1 + |x|)."""

    examples = (case("f32[2,3]:spread"), case("f32[]:spread"), case("f32[0,2]"))

    def lower(self, x: Array) -> Array:
        return x / (1 + jnp.abs(x))

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        size = 1 + jnp.abs(x)
        return dout / (size * size)


class GLU(Op):
    """The first half along `axis`, gated by the sigmoid of the second half."""

    axis: int = -1
    examples = (case("f32[2,4]"), case("f32[2,3]", axis=0), case("f32[0,2]"))

    def infer(self, x: TensorType) -> TensorType:
        return _halved(self.name, x, self.axis, RuntimeError)

    def lower(self, x: Array) -> Array:
        value, gate = jnp.split(x, 2, axis=self.axis)
        return value * _sigmoid(gate)


class Swiglu(Op):
    """The SiLU of the first half along `dim`, times the second half."""

    dim: int = -1
    examples = (case("f32[2,4]"), case("f32[2,3]", dim=0), case("f32[0,2]"))

    def infer(self, x: TensorType) -> TensorType:
        return _halved(self.name, x, self.dim, RuntimeError)

    def lower(self, x: Array) -> Array:
        gate, value = jnp.split(x, 2, axis=self.dim)
        return gate * _sigmoid(gate) * value


def sigmoid(input: Any) -> Any:
    """1 / (1 + exp(-input))."""
    return Sigmoid.of()(input)


def tanh(input: Any) -> Any:
    """The hyperbolic tangent."""
    return Tanh.of()(input)


def logsigmoid(x: Any) -> Any:
    """log(sigmoid(x)), without overflow."""
    return LogSigmoid.of()(x)


def tanhshrink(input: Any) -> Any:
    """input - tanh(input); integers become float32 first."""
    is_whole = getattr(input, "dtype", None) is not None and input.dtype.is_integer
    return TanhShrink.of()(cast(input, "float32") if is_whole else input)


def gelu(input: Any, approximate: str = "none") -> Any:
    """input times the normal distribution function; 'tanh' approximates it."""
    if approximate not in ("none", "tanh"):
        raise problem(
            ValueError,
            "gelu: unknown 'approximate'",
            got=repr(approximate),
            expected="'none' or 'tanh'",
        )
    return GeLU.of()(input) if approximate == "tanh" else GeLUExact.of()(input)


def fast_gelu(x: Any) -> Any:
    """x * sigmoid(1.702 * x)."""
    return FastGeLU.of()(x)


def silu(input: Any) -> Any:
    """input * sigmoid(input)."""
    return SiLU.of()(input)


def mish(x: Any) -> Any:
    """x * tanh(softplus(x))."""
    return Mish.of()(x)


def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Any:
    """log(1 + exp(beta * input)) / beta; input itself where beta * input is above `threshold`."""
    steepness = check_float("softplus", "beta", beta)
    if steepness == 0:
        raise problem(ValueError, "softplus: 'beta' is 0", expected="any other number")
    return SoftplusExt.of(steepness, check_float("softplus", "threshold", threshold))(input)


def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return Softsign.of()(x)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half of x along `axis`, gated by the sigmoid of the second half."""
    _halved("glu", type_of(x), axis, ValueError)
    return GLU.of(check_int("glu", "axis", axis))(x)


def swiglu(input: Any, dim: int = -1) -> Any:
    """The SiLU of the first half of input along `dim`, times the second half."""
    return Swiglu.of(check_int("swiglu", "dim", dim))(input)


def _halved(op: str, x: TensorType, axis: int, kind: type[Exception]) -> TensorType:
    """The type of half of `x` along `axis`, or an error when its size is odd."""
    if not x.dtype.is_inexact:
        raise unsupported_dtype(op, x, "a float tensor")
    if x.ndim == 0:
        raise problem(kind, f"{op}: a scalar has no halves", expected="at least one dimension")
    place = normalize_axis(axis, x.ndim, op)
    if x.shape[place] % 2:
        raise problem(
            kind,
            f"{op}: the size of axis {axis} is odd",
            got=str(x),
            expected="an even size, to be cut in two halves",
        )
    return x.with_shape((*x.shape[:place], x.shape[place] // 2, *x.shape[place + 1 :]))


def _sigmoid(x: Array) -> Array:
    return jax.nn.sigmoid(x)


def _softplus(x: Array) -> Array:
    return jnp.logaddexp(x, jnp.zeros((), x.dtype))


def _gelu_inner(x: Array) -> Array:
    return _GELU_LINEAR * (x + _GELU_CUBIC * x * x * x)


def _normal_distribution(x: Array) -> Array:
    return 0.5 * (1 + lax.erf(jnp.asarray(x) * (1 / math.sqrt(2))))

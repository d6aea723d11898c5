"""Smooth activations, built from exp, tanh, and erf."""

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
    """Sigmoid: 1 / (1 + exp(-x))."""

    kinds = ("float", "complex")
    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return _sigmoid(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * (y * (1 - y))


class Tanh(Activation):
    """Hyperbolic tangent, element by element."""

    kinds = ("float", "complex")
    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return jnp.tanh(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * (1 - y * y)


class LogSigmoid(Activation):
    """Logarithm of the sigmoid: log(1 / (1 + exp(-x)))."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return -_softplus(-x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * _sigmoid(-x)


class TanhShrink(Activation):
    """Tanh shrinkage: x - tanh(x)."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return x - jnp.tanh(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        tanh = x - y
        return dout * (tanh * tanh)


class GeLU(Activation):
    """Gaussian error linear unit, x * Phi(x), with the tanh approximation of Phi."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return 0.5 * x * (1 + jnp.tanh(_gelu_inner(x)))

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        tanh = jnp.tanh(_gelu_inner(x))
        inner_slope = _GELU_LINEAR * (1 + 3 * _GELU_CUBIC * x * x)
        return dout * (0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner_slope)


class Gelu(GeLU):
    """Gaussian error linear unit; an alias of GeLU."""


class GeLUExact(Activation):
    """Gaussian error linear unit: x * Phi(x), where Phi is the normal distribution function."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return x * _normal_distribution(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        density = jnp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
        return dout * (_normal_distribution(x) + x * density)


class FastGeLU(Activation):
    """Sigmoid approximation of GELU: x * sigmoid(1.702 * x)."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return x * _sigmoid(_FAST_GELU * x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        gate = _sigmoid(_FAST_GELU * x)
        return dout * (gate + _FAST_GELU * x * gate * (1 - gate))


class FastGelu(FastGeLU):
    """Sigmoid approximation of GELU; an alias of FastGeLU."""


class SiLU(Activation):
    """Sigmoid linear unit (swish): x * sigmoid(x)."""

    kinds = ("float", "complex")
    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return x * _sigmoid(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        gate = _sigmoid(x)
        return dout * (gate + y * (1 - gate))


class Mish(Activation):
    """Mish: x * tanh(softplus(x))."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return x * jnp.tanh(_softplus(x))

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        tanh = jnp.tanh(_softplus(x))
        return dout * (tanh + x * (1 - tanh * tanh) * _sigmoid(x))


class Softplus(Activation):
    """Softplus: log(1 + exp(x))."""

    examples = _SHAPES

    def lower(self, x: Array) -> Array:
        return _softplus(x)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        return dout * _sigmoid(x)


class SoftplusExt(Activation):
    """Softplus: log(1 + exp(beta * x)) / beta, and x where beta * x > `threshold`."""

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
    """Softsign: x / (1 + |x|)."""

    examples = (case("f32[2,3]:spread"), case("f32[]:spread"), case("f32[0,2]"))

    def lower(self, x: Array) -> Array:
        return x / (1 + jnp.abs(x))

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        size = 1 + jnp.abs(x)
        return dout / (size * size)


class GLU(Op):
    """Gated linear unit: the first half along `axis` times the sigmoid of the second half."""

    axis: int = -1
    examples = (case("f32[2,4]"), case("f32[2,3]", axis=0), case("f32[0,2]"))

    def infer(self, x: TensorType) -> TensorType:
        return _halved(self.name, x, self.axis, RuntimeError)

    def lower(self, x: Array) -> Array:
        value, gate = jnp.split(x, 2, axis=self.axis)
        return value * _sigmoid(gate)


class Swiglu(Op):
    """Swish-gated linear unit: the SiLU of the first half along `dim` times the second half."""

    dim: int = -1
    examples = (case("f32[2,4]"), case("f32[2,3]", dim=0), case("f32[0,2]"))

    def infer(self, x: TensorType) -> TensorType:
        return _halved(self.name, x, self.dim, RuntimeError)

    def lower(self, x: Array) -> Array:
        gate, value = jnp.split(x, 2, axis=self.dim)
        return gate * _sigmoid(gate) * value


def sigmoid(input: Any) -> Any:
    """Sigmoid: 1 / (1 + exp(-input))."""
    return Sigmoid.of()(input)


def tanh(input: Any) -> Any:
    """Hyperbolic tangent, element by element."""
    return Tanh.of()(input)


def logsigmoid(x: Any) -> Any:
    """Logarithm of the sigmoid, computed without overflow."""
    return LogSigmoid.of()(x)


def tanhshrink(input: Any) -> Any:
    """Tanh shrinkage: input - tanh(input). Integers are converted to float32."""
    is_whole = getattr(input, "dtype", None) is not None and input.dtype.is_integer
    return TanhShrink.of()(cast(input, "float32") if is_whole else input)


def gelu(input: Any, approximate: str = "none") -> Any:
    """Gaussian error linear unit: input * Phi(input).

    `approximate='tanh'` uses the tanh approximation.
    """
    if approximate not in ("none", "tanh"):
        raise problem(
            ValueError,
            "gelu: unknown 'approximate'",
            got=repr(approximate),
            expected="'none' or 'tanh'",
        )
    return GeLU.of()(input) if approximate == "tanh" else GeLUExact.of()(input)


def fast_gelu(x: Any) -> Any:
    """Sigmoid approximation of GELU: x * sigmoid(1.702 * x)."""
    return FastGeLU.of()(x)


def silu(input: Any) -> Any:
    """Sigmoid linear unit (swish): input * sigmoid(input)."""
    return SiLU.of()(input)


def mish(x: Any) -> Any:
    """Mish: x * tanh(softplus(x))."""
    return Mish.of()(x)


def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Any:
    """Softplus: log(1 + exp(beta * input)) / beta.

    Where beta * input > `threshold`, the result is input.
    """
    steepness = check_float("softplus", "beta", beta)
    if steepness == 0:
        raise problem(ValueError, "softplus: 'beta' must not be 0", expected="a nonzero number")
    return SoftplusExt.of(steepness, check_float("softplus", "threshold", threshold))(input)


def softsign(x: Any) -> Any:
    """Softsign: x / (1 + |x|)."""
    return Softsign.of()(x)


def glu(x: Any, axis: int = -1) -> Any:
    """Gated linear unit: the first half of x along `axis` times the sigmoid of the second half."""
    _halved("glu", type_of(x), axis, ValueError)
    return GLU.of(check_int("glu", "axis", axis))(x)


def swiglu(input: Any, dim: int = -1) -> Any:
    """Swish-gated linear unit: the SiLU of the first half along `dim` times the second half."""
    return Swiglu.of(check_int("swiglu", "dim", dim))(input)


def _halved(op: str, x: TensorType, axis: int, kind: type[Exception]) -> TensorType:
    """The type of one half of `x` along `axis`; raises `kind` if the size is odd."""
    if not x.dtype.is_inexact:
        raise unsupported_dtype(op, x, "a float tensor")
    if x.ndim == 0:
        raise problem(kind, f"{op}: cannot split a scalar", expected="at least one dimension")
    place = normalize_axis(axis, x.ndim, op)
    if x.shape[place] % 2:
        raise problem(
            kind,
            f"{op}: the size of axis {axis} is odd",
            got=str(x),
            expected="an even size, to be split into two halves",
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

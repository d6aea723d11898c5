"""Functions and views of MindSpore's extended (`_ext`) operator set."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_string
from mycelia._engine.core.dtype import bool_, float64
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.families import Unary
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.elementwise.arithmetic import add, mul, sub
from mycelia.ops.elementwise.comparison import isnan, less
from mycelia.ops.elementwise.exponential import exp, log
from mycelia.ops.elementwise.power import pow as power
from mycelia.ops.elementwise.special import lgamma
from mycelia.ops.in_place_functions import check_generator
from mycelia.ops.linalg.tensor_products import baddbmm, einsum
from mycelia.ops.loss.regression import mse_loss
from mycelia.ops.pooling.adaptive import adaptive_avg_pool2d
from mycelia.ops.random.sampling import bernoulli
from mycelia.ops.shapes.creation import full
from mycelia.ops.shapes.ranges import arange
from mycelia.ops.shapes.reshape import BroadcastTo, Transpose, cast, expand_dims
from mycelia.ops.shapes.shape_queries import numel


class TransposeView(Transpose):
    """Permutes the axes."""


class TransposeExtView(Op):
    """Swaps two axes."""

    static = ("dim0", "dim1")
    examples = (case("f32[2,3]", 0, 1), case("f32[2,3,4]", -1, 0))

    def lower(self, input: Array, dim0: Any, dim1: Any) -> Array:
        first, second = (normalize_axis(d, input.ndim, self.name) for d in (dim0, dim1))
        return jnp.swapaxes(jnp.asarray(input), first, second)


class SelectView(Op):
    """Selects one slice along an axis and removes the axis."""

    static = ("dim", "index")
    examples = (case("f32[2,3]", 0, 1), case("f32[2,3,4]", -1, -2))

    def lower(self, input: Array, dim: Any, index: Any) -> Array:
        axis = normalize_axis(dim, input.ndim, self.name)
        count = input.shape[axis]
        if not -count <= index < count:
            raise problem(
                ValueError, "SelectView: the index is out of range", got=f"{index} of {count}"
            )
        return jnp.take(jnp.asarray(input), index % count, axis=axis)


class Expand(Op):
    """Broadcasts x to a shape; -1 keeps a size."""

    static = ("shape",)
    examples = (case("f32[1,3]", (2, 3)), case("f32[3]", (2, -1)))

    def infer(self, x: TensorType, shape: Any) -> TensorType:
        return BroadcastTo.of(shape).infer(x)

    def lower(self, x: Array, shape: Any) -> Array:
        return BroadcastTo.of(shape).lower(x)


class Fills(Op):
    """A tensor filled with one value, with the shape and dtype of x."""

    static = ("value",)
    differentiable = False
    examples = (case("f32[2,3]", 2.0), case("i32[2]", 1))

    def infer(self, x: TensorType, value: Any) -> TensorType:
        return x

    def lower(self, x: Array, value: Any) -> Array:
        return jnp.full(x.shape, value, x.dtype)


class Eps(Unary):
    """Machine epsilon of the dtype, in the shape of x."""

    kinds = ("float",)
    differentiable = False
    examples = (case("f32[2]"), case("f64[]"), case("f16[0]"))

    def lower(self, x: Array) -> Array:
        return jnp.full(x.shape, jnp.finfo(x.dtype).eps, x.dtype)


class Logit(Unary):
    """Logit, log(x / (1 - x)). x is first clamped to [eps, 1 - eps] unless eps is negative."""

    kinds = ("float",)
    eps: float = -1.0
    examples = (
        case("f32[2,3]:unit"),
        case("f16[2]:unit", eps=0.3, differentiate=False),
        case("f64[3]:unit", eps=0.05),
    )

    def lower(self, x: Array) -> Array:
        wide = widened(x)
        inner = jnp.clip(wide, self.eps, 1 - self.eps) if self.eps >= 0 else wide
        return (jnp.log(inner) - jnp.log1p(-inner)).astype(x.dtype)


class Betainc(Op):
    """Regularized incomplete beta function."""

    examples = (
        case("f32[3]:positive", "f32[3]:positive", "f32[3]:unit", differentiate=False),
        case("f64[0]:positive", "f64[0]:positive", "f64[0]:unit", differentiate=False),
    )

    def infer(self, a: TensorType, b: TensorType, x: TensorType) -> TensorType:
        if not a == b == x:
            raise problem(
                ValueError if a.dtype is b.dtype is x.dtype else TypeError,
                "Betainc: the tensors must have the same shape and dtype",
                got=f"{a}, {b}, {x}",
            )
        return x

    def lower(self, a: Array, b: Array, x: Array) -> Array:
        wide = [jnp.asarray(v).astype(jnp.float64) for v in (a, b, x)]
        return jax.scipy.special.betainc(*wide).astype(x.dtype)

    def grad(self, a: Any, b: Any, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        """The gradient with respect to x; there is no formula for a and b."""
        logarithm = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
        powers = add(mul(sub(a, 1.0), log(x)), mul(sub(b, 1.0), log(sub(1.0, x))))
        return None, None, mul(dout, exp(sub(powers, logarithm)))


class LerpScalar(Op):
    """Linear interpolation with a scalar weight."""

    static = ("weight",)
    examples = (case("f32[2]", "f32[2]", 0.3), case("f32[2,1]", "f32[3]", 0.5))

    def lower(self, input: Array, end: Array, weight: Any) -> Array:
        return jnp.asarray(input) + weight * (jnp.asarray(end) - input)


def eps(x: Any) -> Any:
    """Machine epsilon of the dtype of x, in the shape of x."""
    return Eps.of()(x)


def logit(input: Any, eps: float | None = None) -> Any:
    """Logit, log(input / (1 - input)). `eps` first clamps `input` to [eps, 1 - eps]."""
    return Logit.of(-1.0 if eps is None else eps)(input)


def sequence_mask(lengths: Any, maxlen: int | None = None) -> Any:
    """Mask along a new last axis of size `maxlen`: True before each length, False from there."""
    if not isinstance(lengths, TensorProtocol):
        raise wrong_type("sequence_mask", "lengths", lengths, "Tensor")
    if maxlen is None:
        maxlen = int(np.asarray(lengths).max()) if numel(lengths) else 0
    elif not isinstance(maxlen, int) or maxlen <= 0:
        raise problem(
            ValueError, "sequence_mask: maxlen must be positive", got=f"maxlen={maxlen!r}"
        )
    return less(cast(arange(maxlen), lengths.dtype), expand_dims(lengths, -1))


def mse_loss_ext(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Mean squared error; `reduction` selects mean, sum, or none."""
    check_string("mse_loss_ext", "reduction", reduction, ("mean", "sum", "none"))
    return mse_loss(input, target, reduction)


def isnan_ext(tensor: Any) -> Any:
    """Tests each element for NaN; integers are never NaN."""
    return isnan(tensor) if tensor.dtype.is_inexact else full(tensor.shape, False, dtype=bool_)


def float_power_ext(input: Any, exponent: Any) -> Any:
    """Power, computed in double precision."""
    wide = [
        cast(v, float64) if isinstance(v, TensorProtocol) else float(v) for v in (input, exponent)
    ]
    return power(*wide)


def einsum_ext(equation: str, *operands: Any) -> Any:
    """Einstein summation."""
    return einsum(equation, *operands)


def baddbmm_ext(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Batched matrix product added to a tensor: beta * input + alpha * (batch1 @ batch2)."""
    return baddbmm(input, batch1, batch2, beta, alpha)


def bernoulli_ext(input: Any, *, generator: Any = None) -> Any:
    """Bernoulli samples: 1 with the probability in `input`, else 0."""
    check_generator("bernoulli_ext", generator)
    return bernoulli(input, input)


def adaptive_avg_pool2d_ext(input: Any, output_size: Any) -> Any:
    """Adaptive average pooling over images."""
    return adaptive_avg_pool2d(input, output_size)

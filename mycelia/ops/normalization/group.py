"""Group, instance, RMS, and local response normalization."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import float32, float64
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.argument_types import FLOATS, REALS, check_axes, check_kinds


class GroupNorm(Op):
    """Group normalization: channel groups to mean 0 and variance 1, then scaled and shifted."""

    num_groups: int
    epsilon: float = 1e-5
    examples = (
        case("f32[2,4,3,3]", "f32[4]", "f32[4]", num_groups=2),
        case("f32[2,6]", "f32[6]", "f32[6]", num_groups=3, epsilon=1e-3),
        case("f32[2,4,3]", None, None, num_groups=1),
    )

    def infer(
        self, x: TensorType, weight: TensorType | None, bias: TensorType | None
    ) -> TensorType:
        if x.ndim < 2 or x.shape[1] % self.num_groups:
            raise problem(
                ValueError,
                "GroupNorm: the channels do not split into equal groups",
                got=f"{x} and {self.num_groups} groups",
                expected="a number of channels (axis 1) divisible by the number of groups",
            )
        _check_channels("GroupNorm", x, weight, bias)
        check_kinds("GroupNorm", REALS, x=x, weight=weight, bias=bias)
        return x

    def lower(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        if not x.size:
            return jnp.asarray(x)
        groups = widened(x).reshape(x.shape[0], self.num_groups, x.shape[1] // self.num_groups, -1)
        normal = _standardized(groups, (2, 3), self.epsilon)[0].reshape(x.shape)
        return _affine(normal, weight, bias).astype(x.dtype)


class InstanceNorm(Op):
    """Instance normalization: each channel of a sample to mean 0 and variance 1, then scaled.

    The running statistics become (1 - momentum) x old + momentum x the mean over the samples.
    """

    epsilon: float = 1e-5
    momentum: float = 0.1
    writes = ("mean", "variance")
    examples = (
        case("f32[2,3,4]", "f32[3]", "f32[3]", "f32[3]", "f32[3]:positive"),
        case("f32[2,3,4,4]", "f32[3]", "f32[3]", "f32[3]", "f32[3]:positive", momentum=0.5),
    )

    def infer(
        self,
        x: TensorType,
        gamma: TensorType,
        beta: TensorType,
        mean: TensorType,
        variance: TensorType,
    ) -> Any:
        check_axes("InstanceNorm", "x", x, least=2)
        _check_channels("InstanceNorm", x, gamma, beta, mean, variance)
        check_kinds("InstanceNorm", FLOATS, x=x, gamma=gamma, beta=beta)
        check_kinds("InstanceNorm", FLOATS, mean=mean, variance=variance)
        statistic = TensorType(mean.dtype, (x.shape[0] * x.shape[1],))
        return (x, statistic, statistic), (mean, variance)

    def lower(self, x: Array, gamma: Array, beta: Array, mean: Array, variance: Array) -> Any:
        axes = tuple(range(2, x.ndim))
        normal, centre, spread = _standardized(widened(x), axes, self.epsilon)
        samples, channels = x.shape[:2]
        centre, spread = (s.reshape(samples, channels).astype(mean.dtype) for s in (centre, spread))
        count = max(1, x.size // max(1, samples * channels))
        unbiased = spread * (count / max(1, count - 1))
        moved = tuple(
            ((1 - self.momentum) * old + self.momentum * jnp.mean(new, axis=0)).astype(old.dtype)
            for old, new in ((mean, centre), (variance, unbiased))
        )
        return (_affine(normal, gamma, beta).astype(x.dtype), centre.ravel(), spread.ravel()), moved


class RmsNorm(Op):
    """RMS normalization: gamma * x / rms(x) over the axes of gamma; also returns 1 / rms(x)."""

    epsilon: float = 1e-6
    examples = (case("f32[2,3,4]", "f32[4]"), case("f32[2,3,4]", "f32[3,4]", epsilon=1e-3))

    def infer(self, x: TensorType, gamma: TensorType) -> Any:
        if gamma.ndim > x.ndim or x.shape[x.ndim - gamma.ndim :] != gamma.shape:
            raise problem(
                ValueError,
                "RmsNorm: gamma does not match the last axes of x",
                got=f"gamma {gamma} for x {x}",
            )
        kept = (*x.shape[: x.ndim - gamma.ndim], *(1 for _ in gamma.shape))
        return x, TensorType(float64 if x.dtype is float64 else float32, kept)

    def lower(self, x: Array, gamma: Array) -> tuple[Array, Array]:
        wide = widened(x)
        axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
        inverse = lax.rsqrt(jnp.mean(jnp.square(wide), axis=axes, keepdims=True) + self.epsilon)
        return (wide * inverse * widened(gamma)).astype(x.dtype), inverse


class LRN(Op):
    """Local response normalization across neighboring channels."""

    depth_radius: int = 5
    bias: float = 1.0
    alpha: float = 1.0
    beta: float = 0.5
    norm_region: str = "ACROSS_CHANNELS"
    examples = (case("f32[1,4,3,3]"), case("f32[2,6,2,2]", depth_radius=1, alpha=0.5, beta=0.75))

    def lower(self, x: Array) -> Array:
        window = (1, 2 * self.depth_radius + 1, *(1 for _ in x.shape[2:]))
        padding = [
            (self.depth_radius, self.depth_radius) if i == 1 else (0, 0) for i in range(x.ndim)
        ]
        squares = jnp.square(widened(x))
        zero = squares.dtype.type(0)  # a constant, so that XLA recognizes a sum
        near = lax.reduce_window(squares, zero, lax.add, window, (1,) * x.ndim, padding)
        return (widened(x) / (self.bias + self.alpha * near) ** self.beta).astype(x.dtype)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Group normalization; weight and bias have one value per channel."""
    return GroupNorm.of(num_groups, eps)(input, weight, bias)


def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    """Root-mean-square normalization; returns the result and 1 / rms(x)."""
    return RmsNorm.of(epsilon)(x, gamma)


def lrn(
    x: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Any:
    """Local response normalization across channels."""
    return LRN.of(depth_radius, bias, alpha, beta, norm_region)(x)


def _standardized(x: Array, axes: tuple[int, ...], epsilon: float) -> tuple[Array, Array, Array]:
    mean = jnp.mean(x, axis=axes, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=axes, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + epsilon), mean, variance


def _affine(x: Array, weight: Array | None, bias: Array | None) -> Array:
    shape = (1, -1, *(1 for _ in x.shape[2:]))
    scaled = x if weight is None else x * widened(weight).reshape(shape)
    return scaled if bias is None else scaled + widened(bias).reshape(shape)


def _check_channels(owner: str, x: TensorType, *values: TensorType | None) -> None:
    for value in values:
        if value is not None and value.shape != (x.shape[1],):
            raise problem(
                ValueError,
                f"{owner}: there must be one value per channel",
                got=f"{value} for the input {x}",
                expected=f"shape [{x.shape[1]}]",
            )

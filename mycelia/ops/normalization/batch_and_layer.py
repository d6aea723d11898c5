"""Batch and layer normalization, and their gradients."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import as_shape, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.channel_sums import (
    along_channels,
    channel_axis,
    channel_moments,
    channel_sums,
)
from mycelia._engine.kernels.sums import last_sum, row_sums
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.shapes.creation import ones, zeros

_IMAGE = ("f32[2,3,4,4]", "f32[3]", "f32[3]", "f32[3]", "f32[3]:positive")


class BatchNorm(Op):
    """Batch normalization: each channel to mean 0 and variance 1, then scaled and shifted.

    Training uses the statistics of the batch and updates the running `mean` and `variance` with
    `momentum`; inference uses `mean` and `variance`. Returns the result, two unused values, and
    the statistics of the batch (zeros in inference).
    """

    is_training: bool = False
    epsilon: float = 1e-5
    momentum: float = 0.1
    data_format: str = "NCHW"
    last_fields = {"data_format": "NHWC"}
    writes = ("mean", "variance")
    takes_missing_gradients = True
    ends_elementwise = True
    examples = (
        case(*_IMAGE, is_training=True),
        case(*_IMAGE),
        case("f32[5,3]", *_IMAGE[1:], is_training=True, momentum=0.3),
        case("f32[2,4,4,3]", *_IMAGE[1:], is_training=True, data_format="NHWC"),
    )

    def normalize(self) -> dict[str, Any]:
        channel_axis("BatchNorm", self.data_format, 4)
        return {}

    def infer(
        self,
        input_x: TensorType,
        scale: TensorType,
        bias: TensorType,
        mean: TensorType,
        variance: TensorType,
    ) -> Any:
        if input_x.ndim < 2:
            raise problem(
                ValueError,
                "BatchNorm: the input must have a batch and a channel axis",
                got=str(input_x),
            )
        if not input_x.dtype.is_float:
            raise unsupported_dtype("BatchNorm", input_x, "a tensor of floats")
        channels = input_x.shape[channel_axis("BatchNorm", self.data_format, input_x.ndim)]
        named = {"scale": scale, "bias": bias, "mean": mean, "variance": variance}
        for name, found in named.items():
            if found.shape != (channels,):
                raise problem(
                    ValueError,
                    f"BatchNorm: {name} must have one value per channel",
                    got=f"{name} {found} for the input {input_x}",
                    expected=f"shape [{channels}]",
                )
        result = (input_x, scale, scale, mean, variance)
        return result, ((mean, variance) if self.is_training else (None, None))

    def lower(self, input_x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Any:
        x = widened(input_x)
        axis = channel_axis("BatchNorm", self.data_format, x.ndim)
        shape = along_channels(x.ndim, axis, scale.size)
        zeros = jnp.zeros_like(scale)
        if not self.is_training:
            y = _scaled(x, mean, variance, scale, bias, shape, self.epsilon)
            unused = (zeros, zeros, jnp.zeros_like(mean), jnp.zeros_like(variance))
            return (y.astype(input_x.dtype), *unused), (None, None)
        count = max(1, x.size // max(1, scale.size))
        batch_mean, batch_variance = channel_moments(x, axis)
        y = _scaled(x, batch_mean, batch_variance, scale, bias, shape, self.epsilon)
        unbiased = batch_variance * (count / max(1, count - 1))
        moved = (
            _moved(mean, batch_mean, self.momentum),
            _moved(variance, unbiased, self.momentum),
        )
        statistics = (batch_mean.astype(mean.dtype), batch_variance.astype(variance.dtype))
        return (y.astype(input_x.dtype), zeros, zeros, *statistics), moved

    def grad(
        self, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        if self.is_training:
            pull = BatchNormGrad.of(True, self.epsilon, self.data_format)
            dx, dscale, dbias = pull(dout[0], x, scale, out[3], out[4], dout[3], dout[4])
            return dx, dscale, dbias, None, None
        pull = BatchNormGrad.of(False, self.epsilon, self.data_format)
        return pull(dout[0], x, scale, mean, variance, None, None)


class BatchNormGrad(Op):
    """Gradients of BatchNorm for input, scale, and bias (in inference also the statistics)."""

    is_training: bool = True
    epsilon: float = 1e-5
    data_format: str = "NCHW"
    last_fields = {"data_format": "NHWC"}
    ends_elementwise = True
    readings = 2
    examples = (
        case("f32[2,3,4,4]", "f32[2,3,4,4]", "f32[3]", "f32[3]", "f32[3]:positive", None, None),
        case(
            "f32[2,3,4,4]", "f32[2,3,4,4]", "f32[3]", "f32[3]", "f32[3]:positive",
            "f32[3]", "f32[3]",
        ),
        case(
            "f32[4,3]", "f32[4,3]", "f32[3]", "f32[3]", "f32[3]:positive", None, None,
            is_training=False,
        ),
    )  # fmt: skip

    def lower(
        self,
        dout: Array | None,
        x: Array,
        scale: Array,
        mean: Array,
        variance: Array,
        dmean: Array | None,
        dvariance: Array | None,
    ) -> tuple[Array, ...]:
        kind, x = x.dtype, widened(x)
        dout = jnp.zeros_like(x) if dout is None else widened(dout)
        axis = channel_axis("BatchNorm", self.data_format, x.ndim)
        shape = along_channels(x.ndim, axis, scale.size)
        inverse = lax.rsqrt(widened(variance) + self.epsilon)
        normal = (x - widened(mean).reshape(shape)) * inverse.reshape(shape)
        dbias, dscale = channel_sums(dout, dout * normal, axis)
        factor = (widened(scale) * inverse).reshape(shape)
        if not self.is_training:
            dx = (dout * factor).astype(kind)
            toward_mean = -dbias * scale * inverse
            toward_variance = -0.5 * dscale * scale * inverse * inverse
            return (
                dx, dscale.astype(scale.dtype), dbias.astype(scale.dtype),
                toward_mean.astype(mean.dtype), toward_variance.astype(variance.dtype),
            )  # fmt: skip
        count = max(1, x.size // max(1, scale.size))
        average = (dbias / count).reshape(shape) + normal * (dscale / count).reshape(shape)
        dx = factor * (dout - average)
        if dmean is not None:
            dx = dx + (widened(dmean) / count).reshape(shape)
        if dvariance is not None:
            dx = dx + (x - widened(mean).reshape(shape)) * (2 * widened(dvariance) / count).reshape(
                shape
            )
        return dx.astype(kind), dscale.astype(scale.dtype), dbias.astype(scale.dtype)


class LayerNorm(Op):
    """Layer normalization over the axes from `begin_norm_axis` on, then scale and shift.

    Returns the result and the statistics, whose normalized axes have size 1.
    """

    begin_norm_axis: int = 1
    begin_params_axis: int = 1
    epsilon: float = 1e-7
    takes_missing_gradients = True
    ends_elementwise = True
    examples = (
        case("f32[2,3,4]", "f32[4]", "f32[4]", begin_norm_axis=-1, begin_params_axis=-1),
        case("f32[2,3,4]", "f32[3,4]", "f32[3,4]"),
        case(
            "f32[2,3,4]", "f32[4]", "f32[4]", begin_norm_axis=1, begin_params_axis=2, epsilon=1e-3
        ),
    )

    def infer(self, x: TensorType, gamma: TensorType, beta: TensorType) -> Any:
        first = normalize_axis(self.begin_norm_axis, x.ndim, "LayerNorm")
        params = normalize_axis(self.begin_params_axis, x.ndim, "LayerNorm")
        if not x.dtype.is_float:
            raise unsupported_dtype("LayerNorm", x, "a tensor of floats")
        for name, found in (("gamma", gamma), ("beta", beta)):
            if found.shape != x.shape[params:]:
                raise problem(
                    ValueError,
                    f"LayerNorm: {name} does not match the input",
                    got=f"{name} {found} for the input {x}",
                    expected=f"shape {list(x.shape[params:])}",
                )
        statistic = x.with_shape((*x.shape[:first], *(1 for _ in x.shape[first:])))
        return x, statistic, statistic

    def lower(self, x: Array, gamma: Array, beta: Array) -> tuple[Array, ...]:
        kind, x = x.dtype, widened(x)
        axes = _last_axes(x, self.begin_norm_axis)
        mean = _mean(x, axes)
        variance = _mean(jnp.square(x - mean), axes)
        y = (x - mean) * lax.rsqrt(variance + self.epsilon) * widened(gamma) + widened(beta)
        return y.astype(kind), mean.astype(kind), variance.astype(kind)

    def grad(self, x: Any, gamma: Any, beta: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        pull = LayerNormGrad.of(self.begin_norm_axis, self.begin_params_axis, self.epsilon)
        return pull(dout[0], x, gamma, out[1], out[2], dout[1], dout[2])


class LayerNormGrad(Op):
    """Gradients of LayerNorm for its input, gamma, and beta."""

    begin_norm_axis: int = 1
    begin_params_axis: int = 1
    epsilon: float = 1e-7
    ends_elementwise = True
    readings = 2
    examples = (
        case("f32[2,4]", "f32[2,4]", "f32[4]", "f32[2,1]", "f32[2,1]:positive", None, None),
        case(
            "f32[2,4]", "f32[2,4]", "f32[4]", "f32[2,1]", "f32[2,1]:positive",
            "f32[2,1]", "f32[2,1]",
        ),
    )  # fmt: skip

    def lower(
        self,
        dout: Array | None,
        x: Array,
        gamma: Array,
        mean: Array,
        variance: Array,
        dmean: Array | None,
        dvariance: Array | None,
    ) -> tuple[Array, ...]:
        kind, x = x.dtype, widened(x)
        dout = jnp.zeros_like(x) if dout is None else widened(dout)
        axes = _last_axes(x, self.begin_norm_axis)
        centred = x - widened(mean)
        inverse = lax.rsqrt(widened(variance) + self.epsilon)
        normal = centred * inverse
        toward = dout * widened(gamma)
        along = _mean(toward * normal, axes)
        dx = inverse * (toward - _mean(toward, axes) - normal * along)
        count = max(1, x.size // max(1, mean.size))
        if dmean is not None:
            dx = dx + widened(dmean) / count
        if dvariance is not None:
            dx = dx + centred * (2 * widened(dvariance) / count)
        first = normalize_axis(self.begin_params_axis, x.ndim, self.name)
        features = x.shape[first:]
        terms = [t.reshape(*x.shape[:first], -1) for t in (dout * normal, dout)]
        dgamma, dbeta = (t.reshape(features) for t in row_sums(terms))
        return dx.astype(kind), dgamma.astype(gamma.dtype), dbeta.astype(gamma.dtype)


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Layer normalization over the last axes, whose sizes are `normalized_shape`."""
    shape = as_shape(normalized_shape, "layer_norm")
    first = -len(shape)
    gamma = ones(shape, input.dtype) if weight is None else weight
    beta = zeros(shape, input.dtype) if bias is None else bias
    return LayerNorm.of(first, first, eps)(input, gamma, beta)[0]


def batch_norm(
    input_x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Batch normalization; training updates the running statistics."""
    op = BatchNorm.of(training, eps, momentum)
    return op(input_x, weight, bias, running_mean, running_var)[0]


def _scaled(
    x: Array, mean: Array, variance: Array, scale: Array, bias: Array, shape: Any, epsilon: float
) -> Array:
    factor = widened(scale) * lax.rsqrt(widened(variance) + epsilon)
    centred = x - widened(mean).reshape(shape)
    return centred * factor.reshape(shape) + widened(bias).reshape(shape)


def _moved(old: Array, new: Array, momentum: float) -> Array:
    return ((1 - momentum) * old + momentum * new).astype(old.dtype)


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    """Mean over the last axes, which keep size 1."""
    if axes == (x.ndim - 1,) and x.shape[-1]:
        return last_sum(x) / x.shape[-1]
    return jnp.mean(x, axis=axes, keepdims=True)


def _last_axes(x: Array, begin: int) -> tuple[int, ...]:
    return tuple(range(normalize_axis(begin, x.ndim, "LayerNorm"), x.ndim))

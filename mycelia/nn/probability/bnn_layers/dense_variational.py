"""Bayesian fully connected layers: learned distributions instead of weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.checks import check_positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.layer.basic import activation_of
from mycelia.nn.probability.bnn_layers.layer_distribution import NormalPrior, normal_post_fn
from mycelia.nn.probability.bnn_layers.variational import Variational
from mycelia.nn.probability.distribution.family import SMALLEST
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.elementwise.exponential import sqrt
from mycelia.ops.linalg.matmul import MatMul
from mycelia.ops.random.distributions import standard_normal
from mycelia.ops.shapes.reshape import cast


class _DenseVariational(Variational):
    """The base of Bayesian dense layers."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        activation: Any = None,
        has_bias: bool = True,
        weight_prior_fn: Any = NormalPrior,
        weight_posterior_fn: Callable[..., Cell] = normal_post_fn,
        bias_prior_fn: Any = NormalPrior,
        bias_posterior_fn: Callable[..., Cell] = normal_post_fn,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.in_channels = check_positive_int(owner, "in_channels", in_channels)
        self.out_channels = check_positive_int(owner, "out_channels", out_channels)
        self._set_distributions(
            (out_channels, in_channels),
            has_bias,
            weight_prior_fn,
            weight_posterior_fn,
            bias_prior_fn,
            bias_posterior_fn,
        )
        self.activation = activation_of(owner, activation)
        self.matmul = MatMul.of(transpose_b=True)

    def construct(self, x: Any) -> Any:
        outputs = self._apply_variational_weight(x)
        if self.has_bias:
            outputs = self.apply_variational_bias(outputs)
        return outputs if self.activation is None else self.activation(outputs)

    def _apply_variational_weight(self, inputs: Any) -> Any:
        raise NotImplementedError

    def extend_repr(self) -> str:
        sizes = f"in_channels={self.in_channels}, out_channels={self.out_channels}"
        return f"{sizes}, {self._weights_repr()}"


class DenseReparam(_DenseVariational):
    """x W^T + b with W and b sampled from their posteriors (Kingma and Welling, 2013)."""

    def _apply_variational_weight(self, inputs: Any) -> Any:
        return self.matmul(inputs, self.weight_posterior("sample"))


class DenseLocalReparam(_DenseVariational):
    """x W^T + b with the outputs drawn in the place of W (Kingma et al., 2015).

    Each example sees noise of its own, which makes the gradients less noisy.
    """

    def _apply_variational_weight(self, inputs: Any) -> Any:
        mean, deviation = self.weight_posterior("get_dist_args")
        outputs = self.matmul(inputs, mean)
        variance = self.matmul(square(inputs), square(deviation))
        noise = cast(standard_normal(outputs.shape), outputs.dtype)
        return outputs + sqrt(variance + SMALLEST) * noise

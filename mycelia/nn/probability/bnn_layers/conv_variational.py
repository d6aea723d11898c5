"""A Bayesian convolution: learned distributions instead of weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.checks import check_positive_int
from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.probability.bnn_layers.layer_distribution import NormalPrior, normal_post_fn
from mycelia.nn.probability.bnn_layers.variational import Variational
from mycelia.nn.sizes import check_no_padding, check_pad_mode, paddings, positive_pair
from mycelia.ops.convolution.convolution import Conv2D


class ConvReparam(Variational):
    """A convolution over images whose kernel is sampled from its posterior at each call."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_prior_fn: Any = NormalPrior,
        weight_posterior_fn: Callable[..., Cell] = normal_post_fn,
        bias_prior_fn: Any = NormalPrior,
        bias_posterior_fn: Callable[..., Cell] = normal_post_fn,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.in_channels = check_positive_int(owner, "in_channels", in_channels)
        self.out_channels = check_positive_int(owner, "out_channels", out_channels)
        self.group = check_positive_int(owner, "group", group)
        self.kernel_size = positive_pair(owner, "kernel_size", kernel_size)
        self.stride = positive_pair(owner, "stride", stride)
        self.dilation = positive_pair(owner, "dilation", dilation)
        self.pad_mode, self.padding = check_pad_mode(owner, pad_mode), padding
        sides = paddings(owner, padding, 4)
        check_no_padding(owner, sides, pad_mode)
        if in_channels % group or out_channels % group:
            raise problem(
                ValueError,
                f"{owner}: in_channels and out_channels must be divisible by group",
                got=f"group {group}, in_channels {in_channels}, out_channels {out_channels}",
            )
        self._set_distributions(
            (out_channels, in_channels // group, *self.kernel_size),
            has_bias,
            weight_prior_fn,
            weight_posterior_fn,
            bias_prior_fn,
            bias_posterior_fn,
        )
        self.conv2d = Conv2D(
            out_channel=out_channels,
            kernel_size=self.kernel_size,
            pad_mode=pad_mode,
            pad=sides,
            stride=self.stride,
            dilation=self.dilation,
            group=group,
        )

    def construct(self, x: Any) -> Any:
        outputs = self._apply_variational_weight(x)
        return self.apply_variational_bias(outputs) if self.has_bias else outputs

    def _apply_variational_weight(self, inputs: Any) -> Any:
        return self.conv2d(inputs, self.weight_posterior("sample"))

    def extend_repr(self) -> str:
        return (
            f"in_channels={self.in_channels}, out_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
            f"padding={self.padding}, dilation={self.dilation}, group={self.group}, "
            f"{self._weights_repr()}"
        )

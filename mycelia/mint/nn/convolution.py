"""Convolution layers."""

from __future__ import annotations

import math
from typing import Any

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import as_tuple, check_bool, check_positive_int, check_string
from mycelia._engine.core.errors import problem
from mycelia.mint.nn import functional as F
from mycelia.nn.cell import Cell
from mycelia.tensor.initializer import HeUniform, Uniform, initializer
from mycelia.tensor.parameter import Parameter

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _MintConvolution(Cell):
    """Base class of the convolution layers: sizes, a weight, and a bias."""

    rank = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        dtype: Any = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.in_channels = check_positive_int(owner, "in_channels", in_channels)
        self.out_channels = check_positive_int(owner, "out_channels", out_channels)
        self.groups = check_positive_int(owner, "groups", groups)
        for name, count in (("in_channels", in_channels), ("out_channels", out_channels)):
            if count % groups:
                raise problem(
                    ValueError,
                    f"{owner}: '{name}' must be divisible by 'groups'",
                    got=f"{count} and {groups}",
                )
        self.kernel_size = as_tuple(owner, "kernel_size", kernel_size, self.rank)
        self.stride = as_tuple(owner, "stride", stride, self.rank)
        self.dilation = as_tuple(owner, "dilation", dilation, self.rank)
        self.padding = padding
        if not isinstance(padding, str):
            self.padding = as_tuple(owner, "padding", padding, self.rank)
        self.padding_mode = check_string(owner, "padding_mode", padding_mode, _PADDING_MODES)
        self._make_parameters(check_bool(owner, "bias", bias), dtype or dtypes.float32)

    def weight_shape(self) -> tuple[int, ...]:
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def _make_parameters(self, bias: bool, kind: Any) -> None:
        shape = self.weight_shape()
        weight = initializer(HeUniform(math.sqrt(5)), shape, kind)
        self.weight = Parameter(weight, name="weight")
        self.bias = None
        if bias:
            bound = 1 / math.sqrt(math.prod(shape[1:]))
            values = initializer(Uniform(bound), (self.out_channels,), kind)
            self.bias = Parameter(values, name="bias")

    def construct(self, input: Any) -> Any:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = ops.pad(input, self._around(), self.padding_mode), 0
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self.rank - 1]
        sizes = (self.stride, padding, self.dilation)
        return convolve(input, self.weight, self.bias, *sizes, self.groups)

    def _around(self) -> tuple[int, ...]:
        """The padding as pairs, last axis first."""
        if self.padding == "valid":
            return (0,) * (2 * self.rank)
        if self.padding == "same":
            whole = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            pairs = [(total // 2, total - total // 2) for total in whole]
        else:
            pairs = [(pad, pad) for pad in self.padding]
        return tuple(number for pair in reversed(pairs) for number in pair)

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, groups={self.groups}, bias={self.bias is not None}"
        )


class Conv1d(_MintConvolution):
    """1-D convolution of (N, C, L) or (C, L)."""


class Conv2d(_MintConvolution):
    """2-D convolution of (N, C, H, W) or (C, H, W)."""

    rank = 2


class Conv3d(_MintConvolution):
    """3-D convolution of (N, C, D, H, W) or (C, D, H, W)."""

    rank = 3


class ConvTranspose2d(_MintConvolution):
    """Transposed 2-D convolution, which upsamples (N, C, H, W) or (C, H, W)."""

    rank = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        dtype: Any = None,
    ) -> None:
        check_string("ConvTranspose2d", "padding_mode", padding_mode, ("zeros",))
        self_padding = as_tuple("ConvTranspose2d", "padding", padding, 2)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, self_padding, dilation, groups, bias,
            padding_mode, dtype,
        )  # fmt: skip
        self.output_padding = as_tuple("ConvTranspose2d", "output_padding", output_padding, 2)

    def weight_shape(self) -> tuple[int, ...]:
        return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)

    def construct(self, input: Any, output_size: Any = None) -> Any:
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        sizes = (self.stride, self.padding, extra)
        return F.conv_transpose2d(input, self.weight, self.bias, *sizes, self.groups, self.dilation)

    def _extra(self, input: Any, output_size: Any) -> tuple[int, ...]:
        """The output padding that produces the requested height and width."""
        wanted = tuple(output_size)[-2:]
        found = []
        for axis, size in enumerate(input.shape[-2:]):
            reach = self.dilation[axis] * (self.kernel_size[axis] - 1) + 1
            least = (size - 1) * self.stride[axis] - 2 * self.padding[axis] + reach
            if not least <= wanted[axis] < least + self.stride[axis]:
                raise problem(
                    ValueError,
                    "ConvTranspose2d: 'output_size' cannot be reached",
                    got=f"{wanted[axis]}",
                    expected=f"{least} to {least + self.stride[axis] - 1}",
                )
            found.append(wanted[axis] - least)
        return tuple(found)

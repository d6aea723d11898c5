"""Convolution layers, and blocks of convolution, normalization, and activation."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import (
    check_bool,
    check_int,
    check_non_negative_int,
    check_positive_int,
)
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_value
from mycelia.nn.cell import Cell
from mycelia.nn.layer.activation import LeakyReLU
from mycelia.nn.layer.basic import Dense, activation_of
from mycelia.nn.layer.normalization import BatchNorm1d, BatchNorm2d
from mycelia.nn.sizes import (
    check_axis,
    check_no_padding,
    check_pad_mode,
    paddings,
    positive_pair,
    positive_tuple,
)
from mycelia.ops.convolution.convolution import Conv2D, Conv3D
from mycelia.ops.linalg.matmul import BiasAdd
from mycelia.ops.shapes.reshape import expand_dims, squeeze
from mycelia.tensor.initializer import HeUniform, Uniform, initializer
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class ConvolutionLayer(Cell):
    """The base of convolution layers: checks the fields, and creates weight and bias.

    The weight is (out, in / group, *kernel), and (in, out / group, *kernel) for transposed
    convolutions. Biases are initialized within the bound of the weights.
    """

    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        pad_mode: str,
        padding: Any,
        dilation: tuple[int, ...],
        group: int,
        has_bias: bool,
        weight_init: Any,
        bias_init: Any,
        data_format: str,
        dtype: DType,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        if data_format not in ("NCHW", "NHWC", "NCDHW"):
            raise wrong_value(owner, "data_format", data_format, "'NCHW', 'NHWC' or 'NCDHW'")
        self.in_channels = check_positive_int(owner, "in_channels", in_channels)
        self.out_channels = check_positive_int(owner, "out_channels", out_channels)
        self.group = check_positive_int(owner, "group", group)
        self.has_bias = check_bool(owner, "has_bias", has_bias)
        self.kernel_size, self.stride, self.dilation = kernel_size, stride, dilation
        self.pad_mode = check_pad_mode(owner, pad_mode)
        self.padding = padding
        self.data_format = data_format
        if in_channels % group or out_channels % group:
            raise problem(
                ValueError,
                f"{owner}: in_channels and out_channels must be divisible by group",
                got=f"group {group}, in_channels {in_channels}, out_channels {out_channels}",
                expected="both divisible by 'group'",
            )
        shape = self._weight_shape()
        self.weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(self.weight_init, shape, dtype), name="weight")
        self.bias_init = bias_init
        self.bias = None
        if has_bias:
            if bias_init is None:
                self.bias_init = Uniform(1 / math.sqrt(math.prod(shape[1:])))
            bias = initializer(self.bias_init, (out_channels,), dtype)
            self.bias = Parameter(bias, name="bias")

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        if self.data_format == "NHWC":
            return (first, *self.kernel_size, second // self.group)
        return (first, second // self.group, *self.kernel_size)

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
            f"padding={self.padding}, dilation={self.dilation}, group={self.group}, "
            f"has_bias={self.has_bias}, weight_init={self.weight_init}, "
            f"bias_init={self.bias_init}, format={self.data_format}"
        )

    def _check_channels(self, x: Any, rank: int) -> None:
        """Check the number of channels; the operator checks the number of axes."""
        if getattr(x, "ndim", None) != rank:
            return
        axis = -1 if self.data_format == "NHWC" else 1
        kind = RuntimeError if len(self.kernel_size) == 2 and not self.transposed else ValueError
        check_axis(type(self).__name__, "in_channels", self.in_channels, x, axis, kind)


class Conv2d(ConvolutionLayer):
    """2D convolution over images (N, C, H, W)."""

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
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
        dtype: DType = dtypes.float32,
    ) -> None:
        kernel_size = positive_pair("Conv2d", "kernel_size", kernel_size)
        stride = positive_pair("Conv2d", "stride", stride)
        dilation = positive_pair("Conv2d", "dilation", dilation)
        sides = paddings("Conv2d", padding, 4)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, data_format, dtype,
        )  # fmt: skip
        check_no_padding("Conv2d", sides, pad_mode)
        self.conv2d = Conv2D(
            out_channel=out_channels,
            kernel_size=kernel_size,
            pad_mode=pad_mode,
            pad=sides,
            stride=stride,
            dilation=dilation,
            group=group,
            data_format=data_format,
        )
        self.bias_add = BiasAdd(data_format)

    def construct(self, x: Any) -> Any:
        self._check_channels(x, 4)
        out = self.conv2d(x, self.weight)
        if self.has_bias:
            out = self.bias_add(out, self.bias)
        return out


class Conv1d(ConvolutionLayer):
    """1D convolution over sequences (N, C, L). Its weight is (out, in / group, 1, kernel)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        pad_mode: str = "same",
        padding: int = 0,
        dilation: int = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: DType = dtypes.float32,
    ) -> None:
        check_row("Conv1d", kernel_size, stride, padding, dilation)
        check_pad_mode("Conv1d", pad_mode)
        super().__init__(
            in_channels, out_channels, (1, kernel_size), (1, stride), pad_mode,
            (0, 0, padding, padding), (1, dilation), group, has_bias,
            row_weight("Conv1d", weight_init), bias_init, "NCHW", dtype,
        )  # fmt: skip
        check_no_padding("Conv1d", self.padding, pad_mode)
        self.conv2d = Conv2D(
            out_channel=out_channels,
            kernel_size=self.kernel_size,
            pad_mode=pad_mode,
            pad=self.padding,
            stride=self.stride,
            dilation=self.dilation,
            group=group,
        )
        self.bias_add = BiasAdd()

    def construct(self, x: Any) -> Any:
        self._check_channels(x, 3)
        out = self.conv2d(expand_dims(x, 2), self.weight)
        if self.has_bias:
            out = self.bias_add(out, self.bias)
        return squeeze(out, 2)


def check_row(owner: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> None:
    """Check the settings of a 1D convolution."""
    check_int(owner, "kernel_size", kernel_size)
    check_int(owner, "stride", stride)
    check_int(owner, "dilation", dilation)
    check_non_negative_int(owner, "padding", padding)
    check_positive_int(owner, "kernel_size", kernel_size)
    check_positive_int(owner, "stride", stride)
    check_positive_int(owner, "dilation", dilation)


def row_weight(owner: str, weight_init: Any) -> Any:
    """A weight for sequences, (out, in, kernel), with an axis for rows added."""
    if not isinstance(weight_init, Tensor):
        return weight_init
    if len(weight_init.shape) != 3:
        raise problem(
            ValueError,
            f"{owner}: 'weight_init' must have 3 dimensions",
            got=f"shape {weight_init.shape}",
        )
    return expand_dims(weight_init, 2)


class Conv3d(ConvolutionLayer):
    """3D convolution over volumes (N, C, D, H, W)."""

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
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: DType = dtypes.float32,
    ) -> None:
        kernel_size = positive_tuple("Conv3d", "kernel_size", kernel_size, 3)
        stride = positive_tuple("Conv3d", "stride", stride, 3)
        dilation = positive_tuple("Conv3d", "dilation", dilation, 3)
        sides = paddings("Conv3d", padding, 6)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, data_format, dtype,
        )  # fmt: skip
        check_no_padding("Conv3d", sides, pad_mode)
        self.conv3d = Conv3D(
            out_channel=out_channels,
            kernel_size=kernel_size,
            pad_mode=pad_mode,
            pad=sides,
            stride=stride,
            dilation=dilation,
            group=group,
            data_format=data_format,
        )
        self.bias_add = BiasAdd(data_format)

    def construct(self, x: Any) -> Any:
        self._check_channels(x, 5)
        out = self.conv3d(x, self.weight)
        if self.has_bias:
            out = self.bias_add(out, self.bias)
        return out


class Conv2dBnAct(Cell):
    """Conv2d, optional BatchNorm2d (`has_bn`), and an activation."""

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
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bn: bool = False,
        momentum: float = 0.997,
        eps: float = 1e-5,
        activation: Any = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ) -> None:
        super().__init__()
        self.conv = Conv2d(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init,
        )  # fmt: skip
        self.has_bn = check_bool("Conv2dBnAct", "has_bn", has_bn)
        if has_bn:
            self.batchnorm = BatchNorm2d(out_channels, eps, momentum)
        self.after_fake = after_fake
        self.activation = _activation("Conv2dBnAct", activation, alpha)

    def construct(self, x: Any) -> Any:
        x = self.conv(x)
        if self.has_bn:
            x = self.batchnorm(x)
        if self.activation is not None:
            x = self.activation(x)
        return x


class DenseBnAct(Cell):
    """Dense, optional BatchNorm1d (`has_bn`), and an activation."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bias: bool = True,
        has_bn: bool = False,
        momentum: float = 0.9,
        eps: float = 1e-5,
        activation: Any = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ) -> None:
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self.has_bn = check_bool("DenseBnAct", "has_bn", has_bn)
        if has_bn:
            self.batchnorm = BatchNorm1d(out_channels, eps, momentum)
        self.after_fake = after_fake
        self.activation = _activation("DenseBnAct", activation, alpha)

    def construct(self, x: Any) -> Any:
        x = self.dense(x)
        if self.has_bn:
            x = self.batchnorm(x)
        if self.activation is not None:
            x = self.activation(x)
        return x


def _activation(owner: str, activation: Any, alpha: float) -> Any:
    if activation == "leakyrelu":
        return LeakyReLU(alpha)
    return activation_of(owner, activation)

"""Transposed convolution layers."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.nn.layer.convolution import ConvolutionLayer, check_row, row_weight
from mycelia.nn.sizes import (
    check_no_padding,
    check_pad_mode,
    check_rank,
    paddings,
    positive_pair,
    positive_tuple,
)
from mycelia.ops.convolution.transposed import Conv2DTranspose, Conv3DTranspose
from mycelia.ops.linalg.matmul import BiasAdd
from mycelia.ops.shapes.pad import Pad
from mycelia.ops.shapes.reshape import expand_dims, squeeze


class Conv2dTranspose(ConvolutionLayer):
    """Transposed 2D convolution over images. Its weight is (in, out / group, *kernel).

    The rows and columns that `output_padding` appends contain zeros.
    """

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: DType = dtypes.float32,
    ) -> None:
        owner = "Conv2dTranspose"
        kernel_size = positive_pair(owner, "kernel_size", kernel_size)
        stride = positive_pair(owner, "stride", stride)
        dilation = positive_pair(owner, "dilation", dilation)
        sides = paddings(owner, padding, 4)
        extra = _output_padding(owner, output_padding)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, "NCHW", dtype,
        )  # fmt: skip
        check_no_padding(owner, sides, pad_mode)
        self.output_padding = output_padding
        self.sides = sides
        self.extra = extra
        self.conv2d_transpose = _operator(self, sides)
        self.bias_add = BiasAdd()
        self.pad = Pad(((0, 0), (0, 0), (0, extra[0]), (0, extra[1])))

    def construct(self, x: Any) -> Any:
        check_rank("Conv2dTranspose", x, 4)
        self._check_channels(x, 4)
        self._check_extra()
        size = _output_size(self, x.shape, self.sides)
        out = self.conv2d_transpose(x, self.weight, size)
        if self.has_bias:
            out = self.bias_add(out, self.bias)
        if self.extra != (0, 0):
            out = self.pad(out)
        return out

    def _check_extra(self) -> None:
        if self.pad_mode != "pad" and self.extra != (0, 0):
            raise problem(
                ValueError,
                "when output_padding is not zero, pad_mode must be 'pad'",
                got=f"output_padding {self.extra} and pad_mode {self.pad_mode!r}",
            )
        for extra, stride, dilation in zip(self.extra, self.stride, self.dilation, strict=True):
            if not 0 <= extra < max(stride, dilation):
                raise problem(
                    ValueError,
                    "output_padding must be smaller than the stride or the dilation",
                    got=f"output_padding {self.extra}, stride {self.stride}",
                )


class Conv1dTranspose(ConvolutionLayer):
    """Transposed 1D convolution over sequences (N, C, L)."""

    transposed = True

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
        owner = "Conv1dTranspose"
        check_row(owner, kernel_size, stride, padding, dilation)
        check_pad_mode(owner, pad_mode)
        super().__init__(
            in_channels, out_channels, (1, kernel_size), (1, stride), pad_mode,
            (0, 0, padding, padding), (1, dilation), group, has_bias,
            row_weight(owner, weight_init), bias_init, "NCHW", dtype,
        )  # fmt: skip
        check_no_padding(owner, self.padding, pad_mode)
        self.conv2d_transpose = _operator(self, self.padding)
        self.bias_add = BiasAdd()

    def construct(self, x: Any) -> Any:
        check_rank("Conv1dTranspose", x, 3)
        self._check_channels(x, 3)
        x = expand_dims(x, 2)
        size = _output_size(self, x.shape, self.padding)
        out = self.conv2d_transpose(x, self.weight, size)
        if self.has_bias:
            out = self.bias_add(out, self.bias)
        return squeeze(out, 2)


class Conv3dTranspose(ConvolutionLayer):
    """Transposed 3D convolution over volumes (N, C, D, H, W)."""

    transposed = True

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
        output_padding: Any = 0,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: DType = dtypes.float32,
    ) -> None:
        owner = "Conv3dTranspose"
        kernel_size = positive_tuple(owner, "kernel_size", kernel_size, 3)
        stride = positive_tuple(owner, "stride", stride, 3)
        dilation = positive_tuple(owner, "dilation", dilation, 3)
        sides = paddings(owner, padding, 6)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, data_format, dtype,
        )  # fmt: skip
        check_no_padding(owner, sides, pad_mode)
        self.output_padding = output_padding
        self.conv3d_transpose = Conv3DTranspose(
            in_channel=in_channels,
            out_channel=out_channels,
            kernel_size=kernel_size,
            pad_mode=pad_mode,
            pad=sides,
            stride=stride,
            dilation=dilation,
            group=group,
            output_padding=output_padding,
            data_format=data_format,
        )
        self.bias_add = BiasAdd(data_format)

    def construct(self, x: Any) -> Any:
        self._check_channels(x, 5)
        out = self.conv3d_transpose(x, self.weight)
        if self.has_bias:
            out = self.bias_add(out, self.bias)
        return out


def _operator(layer: ConvolutionLayer, sides: tuple[int, ...]) -> Conv2DTranspose:
    return Conv2DTranspose(
        out_channel=layer.in_channels,
        kernel_size=layer.kernel_size,
        pad_mode=layer.pad_mode,
        pad=sides,
        stride=layer.stride,
        dilation=layer.dilation,
        group=layer.group,
    )


def _output_padding(owner: str, value: Any) -> tuple[int, int]:
    if is_int(value):
        return (value, value)
    if not isinstance(value, tuple):
        raise wrong_type(owner, "output_padding", value, "int or tuple")
    if len(value) != 2 or not all(map(is_int, value)):
        raise wrong_type(owner, "output_padding", value, "an int or a tuple of 2 ints")
    return value


def _output_size(
    layer: ConvolutionLayer, shape: tuple[int, ...], sides: tuple[int, ...]
) -> tuple[int, ...]:
    """The shape whose convolution has the shape `shape`."""
    sizes = []
    for axis in (0, 1):
        step, reach = layer.stride[axis], (layer.kernel_size[axis] - 1) * layer.dilation[axis] + 1
        size = shape[2 + axis]
        if layer.pad_mode == "same":
            sizes.append(size * step)
        elif layer.pad_mode == "valid":
            sizes.append(size * step + max(reach - step, 0))
        else:
            around = sides[2 * axis] + sides[2 * axis + 1]
            sizes.append((size - 1) * step - around + reach)
    return (shape[0], layer.out_channels, *sizes)

"""Convolution over 1, 2, and 3 spatial axes, and its gradient operators."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

from mycelia._engine.core.checks import check_positive_int, check_string, is_int
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels import convolution, convolution_nhwc
from mycelia._engine.kernels.convolution import ConvolutionAlgorithm, ConvolutionResult
from mycelia._engine.kernels.dot import check_same_dtype
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.window import Window, positive_sizes, read_window
from mycelia.ops.linalg.matmul import BiasAdd
from mycelia.ops.shapes.reshape import reshape, transpose

_PAD_MODES = ("valid", "same", "pad")
_SIZES = ("kernel_size", "pad", "stride", "dilation")


class _Convolution(Op, register=False):
    """Base class of convolutions; `rank` is the number of spatial axes."""

    convolves = True

    out_channel: int
    kernel_size: Any
    mode: int = 1
    pad_mode: str = "valid"
    pad: Any = 0
    stride: Any = 1
    dilation: Any = 1
    group: int = 1
    data_format: str = "NCHW"
    last_fields = {"data_format": "NHWC"}
    rank = 2

    def normalize(self) -> dict[str, Any]:
        _check_fields(self)
        return {name: freeze(getattr(self, name)) for name in _SIZES}

    @cached_property
    def window(self) -> Window:
        return _window_of(self)

    @property
    def channels_last(self) -> bool:
        return self.data_format == "NHWC"

    def infer(self, x: TensorType, weight: TensorType) -> TensorType:
        _check_operands(self, x, weight)
        _check_weight(self, x.shape, weight)
        sizes = self.window.check_fits(self.name, x.shape, _spatial(x.shape, self.channels_last))
        return x.with_shape(_joined(x.shape[0], self.out_channel, sizes, self.channels_last))

    def lower(self, x: Array, weight: Array) -> Array:
        if not self.channels_last:
            return convolution.convolve(x, weight, self.window, self.group)
        return convolution_nhwc.convolve(x, weight, self.window, self.group)

    def prefers_last(self, x: Array, weight: Array) -> bool:
        return not self.channels_last and convolution.prefers_last(
            x.shape, weight.shape, self.window, self.group
        )

    def kept_orders(self, x: TensorType, weight: TensorType) -> dict[int, Shape]:
        """XLA's CPU library expects (*kernel, in, out)."""
        fits = self.group == 1 and self.prefers_last(x, weight) and prod(self.window.kernel) > 1
        return {1: (*range(2, self.rank + 2), 1, 0)} if fits else {}

    def form(self, x: Array, weight: Array) -> str:
        return _form(self, x, x.shape, weight.shape, ConvolutionResult.OUTPUT)

    def backward_fields(self) -> tuple[Any, ...]:
        """The fields of the gradient operators, in their order."""
        head = (self.out_channel, self.kernel_size, self.pad_mode, self.pad, None, self.mode)
        return (*head, self.stride, self.dilation, self.group, self.data_format)


class Conv2D(_Convolution):
    """2-D convolution over images (N, C, H, W) with a weight (out, C / group, kernel)."""

    examples = (
        case("f32[2,2,5,6]", "f32[3,2,3,3]", out_channel=3, kernel_size=3),
        case(
            "f32[1,5,6,5]", "f32[2,5,3,2]", out_channel=2, kernel_size=(3, 2), pad_mode="same",
            stride=2,
        ),
        case(
            "f32[1,6,4,5]", "f32[4,3,2,2]", out_channel=4, kernel_size=2, pad_mode="pad",
            pad=(1, 0, 2, 1), dilation=2, group=2,
        ),
        case(
            "f32[2,3,5,5]", "f32[6,1,3,3]", out_channel=6, kernel_size=3, pad_mode="same", stride=2,
            group=3,
        ),
        case("f32[2,3,4,5]", "f32[2,3,1,1]", out_channel=2, kernel_size=1, stride=2),
        case("f32[0,2,4,4]", "f32[3,2,3,3]", out_channel=3, kernel_size=3),
        case("f32[1,4,4,5]", "f32[2,3,3,5]", out_channel=2, kernel_size=3, data_format="NHWC"),
        case("bf16[1,2,4,4]", "bf16[3,2,3,3]", out_channel=3, kernel_size=3, differentiate=False),
    )  # fmt: skip

    def grad(self, x: Any, weight: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        fields = self.backward_fields()
        dx = Conv2DBackpropInput.of(*fields)(dout, weight, x.shape)
        return dx, Conv2DBackpropFilter.of(*fields)(dout, x, weight.shape)


class Conv3D(_Convolution):
    """3-D convolution over volumes (N, C, D, H, W) with a weight (out, C / group, kernel)."""

    data_format: str = "NCDHW"
    rank = 3
    examples = (
        case("f32[1,2,3,4,3]", "f32[2,2,2,2,2]", out_channel=2, kernel_size=2),
        case(
            "f32[1,2,3,4,3]", "f32[2,2,1,2,3]", out_channel=2, kernel_size=(1, 2, 3),
            pad_mode="same", stride=2,
        ),
        case("f32[1,2,3,3,3]", "f32[2,1,3,3,3]", out_channel=2, kernel_size=3, group=2),
    )  # fmt: skip

    def grad(self, x: Any, weight: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        fields = self.backward_fields()
        dx = Conv3DBackpropInput.of(*fields)(dout, weight, x.shape)
        return dx, Conv3DBackpropFilter.of(*fields)(dout, x, weight.shape)


class _Backward(Op, register=False):
    """Base class of the gradient operators of convolutions."""

    convolves = True

    out_channel: int
    kernel_size: Any
    pad_mode: str = "valid"
    pad: Any = 0
    pad_list: Any = None
    mode: int = 1
    stride: Any = 1
    dilation: Any = 1
    group: int = 1
    data_format: str = "NCHW"
    last_fields = {"data_format": "NHWC"}
    rank = 2

    def normalize(self) -> dict[str, Any]:
        _check_fields(self)
        return {name: freeze(getattr(self, name)) for name in (*_SIZES, "pad_list")}

    @cached_property
    def window(self) -> Window:
        return _window_of(self)

    @property
    def channels_last(self) -> bool:
        return self.data_format == "NHWC"

    def forward_fields(self) -> tuple[Any, ...]:
        """The fields of the forward convolution, in its order."""
        pad = self.pad if self.pad_list is None else self.pad_list
        head = (self.out_channel, self.kernel_size, self.mode, self.pad_mode, pad)
        return (*head, self.stride, self.dilation, self.group, self.data_format)

    def check_dout(self, dout: TensorType, size: Shape) -> None:
        sizes = self.window.check_fits(self.name, size, _spatial(size, self.channels_last))
        wanted = _joined(size[0], self.out_channel, sizes, self.channels_last)
        if dout.shape != wanted:
            raise problem(
                ValueError,
                f"{self.name}: the shape of the output gradient does not match the input size",
                got=f"gradient {dout} for an input of shape {list(size)}",
                expected=f"a gradient of shape {list(wanted)}",
            )


class _InputGradient(_Backward, register=False):
    """The gradient of a convolution's input, of shape `input_size`."""

    static = ("input_size",)

    def late(self) -> dict[int, int]:
        """Recomputes the rearranged weight in the backward pass if it has over 256 channels."""
        return {1: 0} if prod(self.window.kernel) > 1 and self.out_channel > 256 else {}

    def infer(self, dout: TensorType, weight: TensorType, input_size: Shape) -> TensorType:
        _check_operands(self, dout, weight)
        _check_weight(self, input_size, weight)
        self.check_dout(dout, input_size)
        return dout.with_shape(input_size)

    def prefers_last(self, dout: Array, weight: Array, input_size: Shape) -> bool:
        return not self.channels_last and convolution.prefers_last(
            input_size, weight.shape, self.window, self.group
        )

    def form(self, dout: Array, weight: Array, input_size: Shape) -> str:
        return _form(self, dout, input_size, weight.shape, ConvolutionResult.INPUT_GRADIENT)

    def lower(self, dout: Array, weight: Array, input_size: Shape) -> Array:
        if not self.channels_last:
            return convolution.input_gradient(dout, weight, self.window, self.group, input_size)
        return convolution_nhwc.input_gradient(dout, weight, self.window, self.group, input_size)


class _WeightGradient(_Backward, register=False):
    """The gradient of a convolution's weight, of shape `filter_size`."""

    static = ("filter_size",)

    def late(self) -> dict[int, int]:
        """Delays the input to here; XLA would rearrange it early and hold it twice until here."""
        return {1: 0} if prod(self.window.kernel) > 1 else {}

    def infer(self, dout: TensorType, x: TensorType, filter_size: Shape) -> TensorType:
        _check_operands(self, dout, x)
        weight = dout.with_shape(filter_size)
        _check_weight(self, x.shape, weight)
        self.check_dout(dout, x.shape)
        return weight

    def prefers_last(self, dout: Array, x: Array, filter_size: Shape) -> bool:
        return not self.channels_last and convolution.prefers_last(
            x.shape, filter_size, self.window, self.group
        )

    def form(self, dout: Array, x: Array, filter_size: Shape) -> str:
        return _form(self, dout, x.shape, filter_size, ConvolutionResult.WEIGHT_GRADIENT)

    def lower(self, dout: Array, x: Array, filter_size: Shape) -> Array:
        if not self.channels_last:
            return convolution.weight_gradient(dout, x, self.window, self.group, filter_size)
        return convolution_nhwc.weight_gradient(dout, x, self.window, self.group, filter_size)


class Conv2DBackpropInput(_InputGradient):
    """The gradient of the input of Conv2D."""

    examples = (
        case("f32[1,3,3,4]", "f32[3,2,3,3]", (1, 2, 5, 6), out_channel=3, kernel_size=3),
        case(
            "f32[1,2,3,3]", "f32[2,5,3,2]", (1, 5, 6, 5), out_channel=2, kernel_size=(3, 2),
            pad_mode="same", stride=2,
        ),
        case(
            "f32[1,4,2,3]", "f32[4,1,2,2]", (1, 4, 4, 5), out_channel=4, kernel_size=2,
            pad_mode="pad", pad_list=(0, 1, 0, 1), stride=2, group=4,
        ),
    )  # fmt: skip

    def grad(self, dout: Any, weight: Any, input_size: Any, out: Any, ddx: Any) -> tuple[Any, ...]:
        ddout = Conv2D.of(*self.forward_fields())(ddx, weight)
        fields = tuple(self.attributes.values())
        return ddout, Conv2DBackpropFilter.of(*fields)(dout, ddx, weight.shape)


class Conv2DBackpropFilter(_WeightGradient):
    """The gradient of the weight of Conv2D."""

    examples = (
        case("f32[1,3,3,4]", "f32[1,2,5,6]", (3, 2, 3, 3), out_channel=3, kernel_size=3),
        case("f32[1,4,3,2]", "f32[1,2,5,4]", (4, 1, 3, 3), out_channel=4, kernel_size=3, group=2),
    )

    def grad(self, dout: Any, x: Any, filter_size: Any, out: Any, ddw: Any) -> tuple[Any, ...]:
        ddout = Conv2D.of(*self.forward_fields())(x, ddw)
        return ddout, Conv2DBackpropInput.of(*tuple(self.attributes.values()))(dout, ddw, x.shape)


class Conv3DBackpropInput(_InputGradient):
    """The gradient of the input of Conv3D."""

    data_format: str = "NCDHW"
    rank = 3
    examples = (
        case("f32[1,2,2,3,2]", "f32[2,2,2,2,2]", (1, 2, 3, 4, 3), out_channel=2, kernel_size=2),
    )

    def grad(self, dout: Any, weight: Any, input_size: Any, out: Any, ddx: Any) -> tuple[Any, ...]:
        ddout = Conv3D.of(*self.forward_fields())(ddx, weight)
        fields = tuple(self.attributes.values())
        return ddout, Conv3DBackpropFilter.of(*fields)(dout, ddx, weight.shape)


class Conv3DBackpropFilter(_WeightGradient):
    """The gradient of the weight of Conv3D."""

    data_format: str = "NCDHW"
    rank = 3
    examples = (
        case("f32[1,2,2,3,2]", "f32[1,2,3,4,3]", (2, 2, 2, 2, 2), out_channel=2, kernel_size=2),
    )

    def grad(self, dout: Any, x: Any, filter_size: Any, out: Any, ddw: Any) -> tuple[Any, ...]:
        ddout = Conv3D.of(*self.forward_fields())(x, ddw)
        return ddout, Conv3DBackpropInput.of(*tuple(self.attributes.values()))(dout, ddw, x.shape)


class DepthwiseConv2dNative(Op):
    """Depthwise 2-D convolution with a weight (channel_multiplier, C, kernel)."""

    convolves = True

    channel_multiplier: int
    kernel_size: Any
    mode: int = 3
    pad_mode: str = "valid"
    pad: Any = 0
    stride: Any = 1
    dilation: Any = 1
    group: int = 1
    rank = 2
    examples = (
        case("f32[1,3,4,5]", "f32[1,3,3,3]", channel_multiplier=1, kernel_size=3),
        case(
            "f32[2,2,4,4]", "f32[2,2,2,2]", channel_multiplier=2, kernel_size=2, pad_mode="same",
            stride=2,
        ),
    )  # fmt: skip

    def normalize(self) -> dict[str, Any]:
        check_positive_int(self.name, "channel_multiplier", self.channel_multiplier)
        check_string(self.name, "pad_mode", self.pad_mode, _PAD_MODES)
        return {name: freeze(getattr(self, name)) for name in _SIZES}

    def infer(self, x: TensorType, weight: TensorType) -> TensorType:
        _check_operands(self, x, weight)
        window = _window_of(self)
        wanted = (self.channel_multiplier, x.shape[1], *window.kernel)
        if weight.shape != wanted:
            raise _wrong_weight(self.name, x.shape, weight, wanted)
        sizes = window.check_fits(self.name, x.shape, x.shape[2:])
        return x.with_shape((x.shape[0], self.channel_multiplier * x.shape[1], *sizes))

    def lower(self, x: Array, weight: Array) -> Array:
        kernels = jnp.swapaxes(weight, 0, 1).reshape(-1, 1, *weight.shape[2:])
        return convolution.convolve(x, kernels, _window_of(self), x.shape[1])

    def grad(self, x: Any, weight: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        count, channels, *kernel = weight.shape
        kernels = reshape(transpose(weight, (1, 0, 2, 3)), (channels * count, 1, *kernel))
        head = (channels * count, self.kernel_size, self.pad_mode, self.pad, None, 1)
        fields = (*head, self.stride, self.dilation, channels)
        dx = Conv2DBackpropInput.of(*fields)(dout, kernels, x.shape)
        dw = Conv2DBackpropFilter.of(*fields)(dout, x, kernels.shape)
        return dx, transpose(reshape(dw, (channels, count, *kernel)), (1, 0, 2, 3))


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """1-D convolution over signals (N, C, L) with a weight (out, C / groups, kernel)."""
    _check_ranks("conv1d", input, weight, 3)
    step, spread = (
        (1, *positive_sizes("conv1d", name, value, 1))
        for name, value in (("stride", stride), ("dilation", dilation))
    )
    pads = (0, 0, *_paired("conv1d", padding, 1))
    flat = reshape(input, (*input.shape[:2], 1, input.shape[2]))
    kernel = reshape(weight, (*weight.shape[:2], 1, weight.shape[2]))
    fields = (weight.shape[0], kernel.shape[2:], 1, pad_mode, pads, step, spread, groups)
    result = _biased("conv1d", Conv2D.of(*fields)(flat, kernel), bias)
    return reshape(result, (*result.shape[:2], result.shape[3]))


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """2-D convolution over images (N, C, H, W) with a weight (out, C / groups, kernel)."""
    _check_ranks("conv2d", input, weight, 4)
    pads = _paired("conv2d", padding, 2)
    fields = (weight.shape[0], weight.shape[2:], 1, pad_mode, pads, freeze(stride))
    op = Conv2D.of(*fields, freeze(dilation), groups)
    return _biased("conv2d", op(input, weight), bias)


def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """3-D convolution over volumes (N, C, D, H, W) with a weight (out, C / groups, kernel)."""
    _check_ranks("conv3d", input, weight, 5)
    pads = _paired("conv3d", padding, 3)
    fields = (weight.shape[0], weight.shape[2:], 1, pad_mode, pads, freeze(stride))
    op = Conv3D.of(*fields, freeze(dilation), groups)
    return _biased("conv3d", op(input, weight), bias)


def _biased(name: str, result: Any, bias: Any) -> Any:
    if bias is None:
        return result
    if bias.shape != (result.shape[1],):
        raise problem(
            ValueError,
            f"{name}: the bias does not match the output channels",
            got=f"a bias of shape {list(bias.shape)} and {result.shape[1]} output channels",
            expected=f"a bias of shape [{result.shape[1]}]",
        )
    return BiasAdd.of()(result, bias)


def _paired(name: str, padding: Any, rank: int) -> tuple[int, ...]:
    """One padding per axis as a (before, after) pair per axis."""
    if is_int(padding):
        return (padding,) * (2 * rank)
    if not isinstance(padding, (tuple, list)) or len(padding) != rank:
        raise wrong_value(name, "padding", padding, f"an int or a tuple of {rank} ints")
    return tuple(number for number in padding for _ in range(2))


def _check_ranks(name: str, input: Any, weight: Any, rank: int) -> None:
    if len(input.shape) != rank or len(weight.shape) != rank:
        raise problem(
            ValueError,
            f"{name}: the input and the weight must have {rank} dimensions",
            got=f"shapes {list(input.shape)} and {list(weight.shape)}",
        )


def _check_fields(op: Any) -> None:
    check_positive_int(op.name, "out_channel", op.out_channel)
    check_positive_int(op.name, "group", op.group)
    check_string(op.name, "pad_mode", op.pad_mode, _PAD_MODES)
    check_string(op.name, "data_format", op.data_format, ("NCHW", "NHWC", "NCDHW"))
    _window_of(op)


def _window_of(op: Any) -> Window:
    pads = op.pad if getattr(op, "pad_list", None) is None else op.pad_list
    return read_window(op.name, op.rank, op.kernel_size, op.stride, op.dilation, op.pad_mode, pads)


def _form(op: Any, operand: Array, shape: Shape, weight: Shape, result: ConvolutionResult) -> str:
    """The name of the convolution algorithm, unless it is the reference implementation."""
    if op.channels_last:
        algorithm = convolution_nhwc.way_of(
            shape, weight, op.window, op.group, result, operand.dtype
        )
    else:
        algorithm = convolution.algorithm_of(shape, weight, op.window, op.group)
    return "" if algorithm is ConvolutionAlgorithm.PLAIN else algorithm.value


def _check_operands(op: Any, x: TensorType, weight: TensorType) -> None:
    check_same_dtype(op.name, x, weight)
    if not x.dtype.is_float:
        raise unsupported_dtype(op.name, x, "float tensors")
    if x.ndim != op.rank + 2 or weight.ndim != op.rank + 2:
        raise problem(
            ValueError,
            f"{op.name}: the inputs must have {op.rank + 2} dimensions",
            got=f"{x} and {weight}",
        )


def _check_weight(op: Any, shape: Shape, weight: TensorType) -> None:
    channels = shape[-1] if op.channels_last else shape[1]
    wanted = _joined(op.out_channel, channels // op.group, op.window.kernel, op.channels_last)
    if channels % op.group or op.out_channel % op.group or weight.shape != wanted:
        raise _wrong_weight(op.name, shape, weight, wanted, op.group)


def _wrong_weight(
    name: str, shape: Shape, weight: TensorType, wanted: Shape, group: int = 1
) -> RuntimeError:
    return problem(
        RuntimeError,
        f"{name}: the shape of the weight does not match the input and the attributes",
        got=f"input shape {list(shape)}, weight {weight}, group {group}",
        expected=f"a weight of shape {list(wanted)}, and channels divisible by the group",
    )


def _spatial(shape: Shape, channels_last: bool) -> Shape:
    return shape[1:-1] if channels_last else shape[2:]


def _joined(batch: int, channels: int, sizes: Shape, channels_last: bool) -> Shape:
    return (batch, *sizes, channels) if channels_last else (batch, channels, *sizes)

"""Transposed convolution: the gradient of a convolution, used as an upsampling layer."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from mycelia._engine.core.checks import check_positive_int, check_string
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array
from mycelia._engine.kernels.convolution import input_gradient
from mycelia._engine.kernels.dot import check_same_dtype
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.window import Window, read_window
from mycelia.ops.convolution.convolution import Conv2DBackpropInput, Conv3D, Conv3DBackpropFilter

_SIZES = ("kernel_size", "pad", "stride", "dilation", "output_padding")


class Conv2DTranspose(Conv2DBackpropInput):
    """Transposed 2-D convolution to an output of shape `input_size`.

    `out_channel` is the number of input channels, as in the gradient of Conv2D.
    """

    examples = (
        case(
            "f32[1,3,2,2]", "f32[3,2,3,3]", (1, 2, 4, 4), out_channel=3, kernel_size=3,
            pad_mode="same", stride=2,
        ),
        case(
            "f32[2,3,2,3]", "f32[3,1,2,2]", (2, 1, 3, 6), out_channel=3, kernel_size=2,
            pad_mode="pad", pad=(1, 0, 0, 1), stride=(1, 2), dilation=2,
        ),
        case("f32[0,3,2,2]", "f32[3,5,2,2]", (0, 5, 3, 3), out_channel=3, kernel_size=2),
    )  # fmt: skip


class Conv3DTranspose(Op):
    """Transposed 3-D convolution; the weight is (in_channel, out_channel / group, kernel)."""

    convolves = True

    in_channel: int
    out_channel: int
    kernel_size: Any
    mode: int = 1
    pad_mode: str = "valid"
    pad: Any = 0
    stride: Any = 1
    dilation: Any = 1
    group: int = 1
    output_padding: Any = 0
    data_format: str = "NCDHW"
    examples = (
        case("f32[1,2,2,2,1]", "f32[2,1,2,2,2]", in_channel=2, out_channel=1, kernel_size=2),
        case(
            "f32[1,2,2,1,2]", "f32[2,1,3,3,3]", in_channel=2, out_channel=2, kernel_size=3,
            pad_mode="pad", pad=1, stride=2, group=2, output_padding=1,
        ),
        case(
            "f32[1,2,2,1,2]", "f32[2,1,2,2,3]", in_channel=2, out_channel=1,
            kernel_size=(2, 2, 3), pad_mode="same", stride=2,
        ),
    )  # fmt: skip

    def normalize(self) -> dict[str, Any]:
        check_positive_int(self.name, "in_channel", self.in_channel)
        check_positive_int(self.name, "out_channel", self.out_channel)
        check_positive_int(self.name, "group", self.group)
        check_string(self.name, "pad_mode", self.pad_mode, ("valid", "same", "pad"))
        check_string(self.name, "data_format", self.data_format, ("NCDHW",))
        extra = self._extra()
        if self.pad_mode != "pad" and any(extra):
            raise problem(
                ValueError,
                "Conv3DTranspose: 'output_padding' must be 0 unless pad_mode is 'pad'",
                got=f"output_padding={self.output_padding} and pad_mode={self.pad_mode!r}",
            )
        return {name: freeze(getattr(self, name)) for name in _SIZES}

    @cached_property
    def window(self) -> Window:
        return read_window(
            self.name, 3, self.kernel_size, self.stride, self.dilation, self.pad_mode, self.pad
        )

    def infer(self, dout: TensorType, weight: TensorType) -> TensorType:
        check_same_dtype(self.name, dout, weight)
        if not dout.dtype.is_float:
            raise unsupported_dtype(self.name, dout, "float tensors")
        wanted = (self.in_channel, self.out_channel // self.group, *self.window.kernel)
        if dout.ndim != 5 or dout.shape[1] != self.in_channel or weight.shape != wanted:
            raise problem(
                ValueError,
                "Conv3DTranspose: the input or the weight does not match the attributes",
                got=f"input {dout} and weight {weight}",
                expected=f"{self.in_channel} channels and a weight of shape {list(wanted)}",
            )
        result = self._result(dout.shape)
        if min(result) < 0 or not all(dout.shape[2:]):
            raise problem(
                ValueError,
                "Conv3DTranspose: the result would have a size below 1",
                got=f"input {dout}",
                expected=f"a result with positive sizes, not {list(result)}",
            )
        return dout.with_shape(result)

    def lower(self, dout: Array, weight: Array) -> Array:
        return input_gradient(dout, weight, self.window, self.group, self._result(dout.shape))

    def grad(self, dout: Any, weight: Any, out: Any, dx: Any) -> tuple[Any, ...]:
        sizes = (self.stride, self.dilation, self.group)
        head = (self.in_channel, self.kernel_size)
        ddout = Conv3D.of(*head, self.mode, self.pad_mode, self.pad, *sizes)(dx, weight)
        fields = (*head, self.pad_mode, self.pad, None, self.mode, *sizes)
        return ddout, Conv3DBackpropFilter.of(*fields)(dout, dx, weight.shape)

    def _extra(self) -> Shape:
        value = self.output_padding
        return (value,) * 3 if isinstance(value, int) else tuple(value)[-3:]

    def _result(self, shape: Shape) -> Shape:
        """The shape of the input whose convolution has the shape `shape`."""
        sizes = tuple(self._enlarged(axis, n) for axis, n in enumerate(shape[2:]))
        return (shape[0], self.out_channel, *sizes)

    def _enlarged(self, axis: int, size: int) -> int:
        stride, reach = self.window.strides[axis], self.window.reach[axis]
        if self.pad_mode == "pad":
            outside = sum(self.window.pads[axis])
            return (size - 1) * stride + reach - outside + self._extra()[axis]
        return size * stride + (max(reach - stride, 0) if self.pad_mode == "valid" else 0)


def conv3d_transpose(
    inputs: Any,
    weight: Any,
    pad_mode: str = "valid",
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    output_padding: Any = 0,
) -> Any:
    """Transposed 3-D convolution over volumes (N, C, D, H, W)."""
    channels, outputs, *kernel = weight.shape
    fields = (channels, outputs * group, tuple(kernel), 1, pad_mode, freeze(padding))
    sizes = (freeze(stride), freeze(dilation), group, freeze(output_padding))
    return Conv3DTranspose.of(*fields, *sizes)(inputs, weight)

"""General max and average pooling over any window, and their gradients."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array
from mycelia._engine.kernels.average_pooling import average, average_gradient
from mycelia._engine.kernels.max_pooling import largest, largest_gradient
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.window import Window, read_window
from mycelia.ops.argument_types import check_same_dtypes, check_shape


class WindowMaximum(Op):
    """Maximum of every window."""

    window: Window
    channels_last: bool = False
    last_fields = {"channels_last": True}
    examples = (
        case("f32[1,2,5]:distinct", window=read_window("", 1, 3, 2, pad_mode="same")),
        case("f32[1,1,6,7]:distinct", window=read_window("", 2, 2, 2, 2, "pad", 1, ceil=True)),
        case("f32[1,5,4,2]:distinct", window=read_window("", 2, 2, 2), channels_last=True),
        case("f32[0,2,4,4]", window=read_window("", 2, 2, 2)),
    )

    def infer(self, x: TensorType) -> TensorType:
        return pooled_type(self.name, x, self.window, self.channels_last)

    def lower(self, x: Array) -> Array:
        return largest(x, self.window.over_channels() if self.channels_last else self.window)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (MaxPoolGrad.of(self.window, self.channels_last)(x, dout),)


class MaxPoolGrad(Op):
    """Gradient of max pooling: each window adds its gradient to its first maximum."""

    window: Window
    channels_last: bool = False
    last_fields = {"channels_last": True}
    examples = (
        case("f32[1,2,4,6]:distinct", "f32[1,2,2,3]", window=read_window("", 2, 2, 2)),
        case("f32[1,1,5,4]:distinct", "f32[1,1,3,2]", window=read_window("", 2, 3, 2, 1, "same")),
        case(
            "f32[1,4,4,2]:distinct", "f32[1,3,3,2]", window=read_window("", 2, 2, 1),
            channels_last=True,
        ),
        case("f32[1,1,9,7]:distinct", "f32[1,1,3,2]", window=read_window("", 2, 5, 2)),
        case("f32[1,1,3,5]:distinct", "f32[1,1,1,2]", window=read_window("", 2, 2, 2)),
    )  # fmt: skip

    def infer(self, x: TensorType, dout: TensorType) -> TensorType:
        pooled = pooled_type(self.name, x, self.window, self.channels_last)
        check_shape(self.name, "dout", dout, pooled.shape)
        check_same_dtypes(self.name, x=x, dout=dout)
        return x

    def lower(self, x: Array, dout: Array) -> Array:
        window = self.window.over_channels() if self.channels_last else self.window
        return largest_gradient(x, dout, window)


class WindowAverage(Op):
    """Average of every window; `divisor` replaces the number of elements."""

    window: Window
    include_pad: bool = True
    divisor: int = 0
    channels_last: bool = False
    last_fields = {"channels_last": True}
    examples = (
        case("f32[1,2,5]", window=read_window("", 1, 2, 2, 1, "pad", 1)),
        case("f32[1,2,5,6]", window=read_window("", 2, 3, 2, 1, "pad", 1, ceil=True)),
        case("f32[1,1,3,3,4]", window=read_window("", 3, 2, 2, 1, "same"), include_pad=False),
        case("f32[1,4,6,2]", window=read_window("", 2, 2, 2), divisor=3, channels_last=True),
        case("f16[1,2,4]", window=read_window("", 1, 3, 1), differentiate=False),
    )

    def infer(self, x: TensorType) -> TensorType:
        return pooled_type(self.name, x, self.window, self.channels_last)

    def lower(self, x: Array) -> Array:
        window = self.window.over_channels() if self.channels_last else self.window
        return average(x, window, self.include_pad, self.divisor)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        fields = (self.window, self.include_pad, self.divisor, self.channels_last)
        return (AvgPoolGrad.of(*fields)(dout, x.shape),)


class AvgPoolGrad(Op):
    """Gradient of average pooling: spreads each window's gradient over its elements."""

    window: Window
    include_pad: bool = True
    divisor: int = 0
    channels_last: bool = False
    last_fields = {"channels_last": True}
    static = ("shape",)
    examples = (
        case(
            "f32[1,2,2,2]", (1, 2, 4, 5), window=read_window("", 2, 3, 2, 1, "pad", (0, 1, 0, 0)),
        ),
        case("f32[1,2,3,2]", (1, 4, 6, 2), window=read_window("", 2, 2, 2), channels_last=True),
    )  # fmt: skip

    def infer(self, dout: TensorType, shape: Shape) -> TensorType:
        x = dout.with_shape(shape)
        pooled = pooled_type(self.name, x, self.window, self.channels_last)
        check_shape(self.name, "dout", dout, pooled.shape)
        return dout.with_shape(shape)

    def lower(self, dout: Array, shape: Shape) -> Array:
        window = self.window.over_channels() if self.channels_last else self.window
        return average_gradient(dout, window, self.include_pad, self.divisor, shape)

    def grad(self, dout: Any, shape: Any, out: Any, ddx: Any) -> tuple[Any, ...]:
        fields = (self.window, self.include_pad, self.divisor, self.channels_last)
        return (WindowAverage.of(*fields)(ddx),)


def pooled_type(owner: str, x: TensorType, window: Window, channels_last: bool) -> TensorType:
    """Result type of pooling, or an error that names `owner`."""
    if not x.dtype.is_float:
        raise unsupported_dtype(owner, x, "a float tensor")
    if x.ndim != window.rank + 2:
        raise problem(
            ValueError,
            f"{owner}: the input must have {window.rank + 2} dimensions",
            got=str(x),
            expected="batch, channels, and the axes the window moves along",
        )
    batch, *middle = x.shape
    channels, sizes = (middle[-1], middle[:-1]) if channels_last else (middle[0], middle[1:])
    output = window.check_fits(owner, x.shape, tuple(sizes))
    return x.with_shape((batch, *output, channels) if channels_last else (batch, channels, *output))

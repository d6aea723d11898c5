"""Max, average, and power-average (Lp) pooling."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from math import prod
from typing import Any

from mycelia._engine.core.checks import check_bool, check_non_negative_int, check_string, is_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.average_pooling import average
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.window import Window, read_window
from mycelia.ops.pooling.max_pool_with_indices import MaxPool3DWithArgmax, MaxPoolWithArgmaxV2
from mycelia.ops.pooling.window_pooling import WindowAverage, WindowMaximum, pooled_type
from mycelia.ops.shapes.reshape import reshape


class _Pooling(Op, register=False):
    """MindSpore's attributes for an operator that pools over any window."""

    def normalize(self) -> dict[str, Any]:
        listed = {name: freeze(value) for name, value in vars(self).items()}
        self.window_pooling()
        return listed

    @abstractmethod
    def window_pooling(self) -> Any:
        """The general pooling operator that computes the result."""

    @cached_property
    def work(self) -> Any:
        return self.window_pooling()

    def infer(self, x: TensorType) -> TensorType:
        return pooled_type(self.name, x, self.work.window, self.work.channels_last)

    def last(self) -> Op:
        return self.work.last()

    def lower(self, x: Array) -> Array:
        return self.work.lower(x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return self.work.grad(x, out, dout)


class MaxPool(_Pooling):
    """Max pooling over (N, C, H, W)."""

    kernel_size: Any = 1
    strides: Any = 1
    pad_mode: str = "valid"
    data_format: str = "NCHW"
    examples = (
        case("f32[2,2,4,6]:distinct", kernel_size=2, strides=2),
        case("f32[1,2,5,6]:distinct", kernel_size=3, strides=2, pad_mode="same"),
        case("f32[1,4,5,2]:distinct", kernel_size=(2, 3), data_format="NHWC"),
        case("f16[1,1,4,4]", kernel_size=2, strides=2, differentiate=False),
    )

    def window_pooling(self) -> WindowMaximum:
        mode = _checked_mode(self.name, self.pad_mode, ("valid", "same"))
        window = read_window(self.name, 2, self.kernel_size, self.strides, 1, mode)
        return WindowMaximum.of(window, _channels_last(self.name, self.data_format))


class AvgPool(_Pooling):
    """Average pooling over (N, C, H, W); padding does not count."""

    kernel_size: Any = 1
    strides: Any = 1
    pad_mode: str = "VALID"
    data_format: str = "NCHW"
    examples = (
        case("f32[2,2,4,6]", kernel_size=2, strides=2),
        case("f32[1,2,5,6]", kernel_size=3, strides=2, pad_mode="same"),
        case("f32[1,4,5,2]", kernel_size=(2, 3), data_format="NHWC"),
    )

    def window_pooling(self) -> WindowAverage:
        mode = _checked_mode(self.name, self.pad_mode, ("valid", "same"))
        window = read_window(self.name, 2, self.kernel_size, self.strides, 1, mode)
        return WindowAverage.of(window, False, 0, _channels_last(self.name, self.data_format))


class MaxPool3D(_Pooling):
    """Max pooling over (N, C, D, H, W)."""

    kernel_size: Any = 1
    strides: Any = 1
    pad_mode: str = "VALID"
    pad_list: Any = 0
    ceil_mode: bool | None = None
    data_format: str = "NCDHW"
    examples = (
        case("f32[1,2,3,4,4]:distinct", kernel_size=2, strides=2),
        case("f32[1,1,3,4,3]:distinct", kernel_size=2, strides=2, pad_mode="same"),
        case(
            "f32[1,1,3,4,3]:distinct", kernel_size=3, strides=2, pad_mode="pad",
            pad_list=(1, 0, 1, 0, 1, 1), ceil_mode=True,
        ),
    )  # fmt: skip

    def window_pooling(self) -> WindowMaximum:
        mode = _checked_mode(self.name, self.pad_mode, ("valid", "same", "pad"))
        if mode != "pad" and self.ceil_mode is not None:
            raise problem(
                ValueError,
                "MaxPool3D: 'ceil_mode' must be None unless pad_mode is 'pad'",
                got=f"ceil_mode={self.ceil_mode} and pad_mode={self.pad_mode!r}",
            )
        check_string(self.name, "data_format", self.data_format, ("NCDHW",))
        sizes = (self.kernel_size, self.strides)
        ceil = bool(self.ceil_mode)
        return WindowMaximum.of(read_window(self.name, 3, *sizes, 1, mode, self.pad_list, ceil))


class AvgPool3D(_Pooling):
    """Average pooling over (N, C, D, H, W)."""

    kernel_size: Any = 1
    strides: Any = 1
    pad_mode: str = "valid"
    pad: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int = 0
    data_format: str = "NCDHW"
    examples = (
        case("f32[1,2,3,4,4]", kernel_size=2, strides=2),
        case("f32[1,1,3,3,4]", kernel_size=2, strides=2, pad_mode="same"),
        case(
            "f32[1,1,3,3,4]", kernel_size=2, strides=2, pad_mode="pad", pad=1, ceil_mode=True,
            count_include_pad=False,
        ),
    )  # fmt: skip

    def window_pooling(self) -> WindowAverage:
        mode = _checked_mode(self.name, self.pad_mode, ("valid", "same", "pad"))
        check_bool(self.name, "ceil_mode", self.ceil_mode)
        include = check_bool(self.name, "count_include_pad", self.count_include_pad)
        check_non_negative_int(self.name, "divisor_override", self.divisor_override)
        check_string(self.name, "data_format", self.data_format, ("NCDHW",))
        sizes = (self.kernel_size, self.strides)
        window = read_window(self.name, 3, *sizes, 1, mode, self.pad, self.ceil_mode)
        return WindowAverage.of(window, include, self.divisor_override)


class LpPool(Op):
    """Power-average pooling: the `norm_type`-norm of every window."""

    norm_type: float
    window: Window
    examples = (
        case("f32[1,2,5]:positive", norm_type=2.0, window=read_window("", 1, 2, 2)),
        case("f32[1,1,4,5]:positive", norm_type=3.0, window=read_window("", 2, 2, 1)),
    )

    def infer(self, x: TensorType) -> TensorType:
        return pooled_type(self.name, x, self.window, False)

    def lower(self, x: Array) -> Array:
        averages = average(jnp.power(x, self.norm_type), self.window, True)
        return jnp.power(averages * prod(self.window.kernel), 1 / self.norm_type)


def avg_pool1d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """Average pooling over (N, C, L)."""
    window = _function_window("avg_pool1d", 1, kernel_size, stride, padding, 1, ceil_mode)
    return WindowAverage.of(window, count_include_pad)(input_x)


def avg_pool2d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Any:
    """Average pooling over (N, C, H, W)."""
    window = _function_window("avg_pool2d", 2, kernel_size, stride, padding, 1, ceil_mode)
    return WindowAverage.of(window, count_include_pad, divisor_override)(input_x)


def avg_pool3d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Any:
    """Average pooling over (N, C, D, H, W)."""
    window = _function_window("avg_pool3d", 3, kernel_size, stride, padding, 1, ceil_mode)
    return WindowAverage.of(window, count_include_pad, divisor_override)(input_x)


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> Any:
    """Max pooling over (N, C, H, W), optionally with the indices of the maxima."""
    kernel, step = freeze(kernel_size), freeze(kernel_size if stride is None else stride)
    pads, spread = freeze(padding), freeze(dilation)
    op = MaxPoolWithArgmaxV2.of(kernel, step, pads, spread, ceil_mode)
    return op(x) if return_indices else WindowMaximum.of(op.window)(x)


def max_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Max pooling over (N, C, D, H, W), optionally with the indices of the maxima."""
    kernel, step = freeze(kernel_size), freeze(kernel_size if stride is None else stride)
    pads, spread = freeze(padding), freeze(dilation)
    op = MaxPool3DWithArgmax.of(kernel, step, pads, spread, ceil_mode)
    return op(x) if return_indices else WindowMaximum.of(op.window)(x)


def lp_pool1d(
    x: Any, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """Power-average pooling over (N, C, L) or (C, L): the `norm_type`-norm of every window."""
    return _lp_pool("lp_pool1d", 1, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """Power-average pooling over (N, C, H, W) or (C, H, W)."""
    return _lp_pool("lp_pool2d", 2, x, norm_type, kernel_size, stride, ceil_mode)


def _lp_pool(
    name: str, rank: int, x: Any, norm_type: float, kernel: Any, stride: Any, ceil_mode: bool
) -> Any:
    if not isinstance(norm_type, (int, float)):
        raise wrong_type(name, "norm_type", norm_type, "int or float")
    step = kernel if stride is None else stride
    op = LpPool.of(float(norm_type), _function_window(name, rank, kernel, step, 0, 1, ceil_mode))
    if len(x.shape) == rank + 2:
        return op(x)
    result = op(reshape(x, (1, *x.shape)))
    return reshape(result, result.shape[1:])


def _function_window(
    name: str, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Window:
    if not is_int(padding) and (
        not isinstance(padding, (tuple, list)) or len(padding) not in (1, 2 * rank)
    ):
        raise wrong_value(name, "padding", padding, f"an int or a tuple of {2 * rank} ints")
    pads = padding[0] if not is_int(padding) and len(padding) == 1 else padding
    return read_window(name, rank, kernel, stride, dilation, "pad", pads, ceil_mode)


def _checked_mode(owner: str, pad_mode: Any, allowed: tuple[str, ...]) -> str:
    if not isinstance(pad_mode, str):
        raise wrong_type(owner, "pad_mode", pad_mode, "str")
    return check_string(owner, "pad_mode", pad_mode.lower(), allowed)


def _channels_last(owner: str, data_format: str) -> bool:
    return check_string(owner, "data_format", data_format, ("NCHW", "NHWC")) == "NHWC"

"""Pooling layers: maxima, means, and power means over a sliding window."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_int, check_string, is_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia.nn.cell import Cell
from mycelia.nn.sizes import check_rank, pooling_size, positive_tuple
from mycelia.ops.pooling.pooling import (
    AvgPool,
    AvgPool3D,
    MaxPool,
    MaxPool3D,
    lp_pool1d,
    lp_pool2d,
    max_pool2d,
    max_pool3d,
)
from mycelia.ops.shapes.reshape import expand_dims, squeeze


class _PoolingLayer(Cell):
    """The base of pooling layers: the window, and its repr."""

    def __init__(
        self, kernel_size: Any, stride: Any, pad_mode: Any, data_format: str = "NCHW"
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        if not isinstance(pad_mode, str):
            raise wrong_type(owner, "pad_mode", pad_mode, "str")
        self.pad_mode = check_string(owner, "pad_mode", pad_mode.upper(), ("VALID", "SAME", "PAD"))
        self.format = check_string(owner, "data_format", data_format, ("NCHW", "NHWC"))
        self.kernel_size = pooling_size(owner, "kernel_size", kernel_size)
        self.stride = pooling_size(owner, "stride", stride)

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


def _row(owner: str, argument: str, value: Any) -> int:
    """The setting of a 1D layer, an int or a tuple of one int."""
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    return check_int(owner, argument, value)


def _ints(owner: str, argument: str, value: Any, length: int) -> tuple[int, ...]:
    """One int for all axes, plain or in a tuple, or one int for each axis."""
    if is_int(value):
        value = (value,)
    if not isinstance(value, tuple) or not all(map(is_int, value)):
        raise wrong_type(owner, argument, value, f"an int or a tuple of {length} ints")
    if len(value) not in (1, length):
        raise wrong_value(owner, argument, value, f"an int or a tuple of {length} ints")
    return value * length if len(value) == 1 else value


class _MaxPoolLayer(_PoolingLayer):
    """The base of max pooling; dilation, indices, and ceil mode need pad_mode "pad"."""

    def _prepare(self, padding: Any, dilation: Any, return_indices: bool, ceil_mode: bool) -> None:
        owner = type(self).__name__
        self.kernel = _ints(owner, "kernel_size", self.kernel_size, 2)
        self.step = _ints(owner, "stride", self.stride, 2)
        self.return_indices = return_indices
        self.explicit = self.pad_mode == "PAD"
        if self.explicit:
            self.return_indices = check_bool(owner, "return_indices", return_indices)
            self.ceil_mode = check_bool(owner, "ceil_mode", ceil_mode)
            self.padding = _ints(owner, "padding", padding, 2)
            self.dilation = _ints(owner, "dilation", dilation, 2)
            return
        if padding != 0 or dilation != 1 or return_indices or ceil_mode:
            raise _needs_pad_mode(owner, self.pad_mode)
        self.max_pool = MaxPool(self.kernel, self.step, self.pad_mode, self.format)

    def _pooled(self, x: Any) -> Any:
        """The maxima of (N, C, H, W), and their indices if requested."""
        if not self.explicit:
            return self.max_pool(x)
        return max_pool2d(
            x,
            self.kernel,
            self.step,
            self.padding,
            self.dilation,
            self.return_indices,
            self.ceil_mode,
        )

    def _without(self, result: Any, axis: Any) -> Any:
        if self.return_indices:
            return squeeze(result[0], axis), squeeze(result[1], axis)
        return squeeze(result, axis)


def _needs_pad_mode(owner: str, pad_mode: str) -> ValueError:
    return problem(
        ValueError,
        f"{owner}: 'padding', 'dilation', 'return_indices' and 'ceil_mode' need pad_mode='pad'",
        got=f"pad_mode={pad_mode}",
    )


class MaxPool2d(_MaxPoolLayer):
    """2D max pooling over images (N, C, H, W) or (C, H, W)."""

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, data_format)
        self._prepare(padding, dilation, return_indices, ceil_mode)

    def construct(self, x: Any) -> Any:
        if len(x.shape) == 3:
            return self._without(self._pooled(expand_dims(x, 0)), 0)
        check_rank("MaxPool2d", x, 4)
        return self._pooled(x)


class MaxPool1d(_MaxPoolLayer):
    """1D max pooling over sequences (N, C, L) or (C, L)."""

    def __init__(
        self,
        kernel_size: int = 1,
        stride: int = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        check_int("MaxPool1d", "kernel_size", kernel_size)
        check_int("MaxPool1d", "stride", stride)
        pooling_size("MaxPool1d", "kernel_size", kernel_size)
        pooling_size("MaxPool1d", "stride", stride)
        super().__init__((1, kernel_size), (1, stride), pad_mode)
        if self.pad_mode == "PAD":
            padding = (0, _row("MaxPool1d", "padding", padding))
            dilation = (1, _row("MaxPool1d", "dilation", dilation))
        self._prepare(padding, dilation, return_indices, ceil_mode)

    def construct(self, x: Any) -> Any:
        check_rank("MaxPool1d", x, 2, 3)
        if len(x.shape) == 2:
            return self._without(self._pooled(expand_dims(expand_dims(x, 0), 2)), (0, 2))
        return self._without(self._pooled(expand_dims(x, 2)), 2)

    def extend_repr(self) -> str:
        if not self.explicit:
            return super().extend_repr()
        kernel, stride = (1, *self.kernel_size), (1, *self.stride)
        return f"kernel_size={kernel}, stride={stride}, pad_mode={self.pad_mode}"


class MaxPool3d(_PoolingLayer):
    """3D max pooling over volumes (N, C, D, H, W) or (C, D, H, W)."""

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode)
        self.kernel = positive_tuple("MaxPool3d", "kernel_size", self.kernel_size, 3)
        self.step = positive_tuple("MaxPool3d", "stride", self.stride, 3)
        self.padding = _ints("MaxPool3d", "padding", padding, 3)
        self.dilation = _ints("MaxPool3d", "dilation", dilation, 3)
        self.return_indices = check_bool("MaxPool3d", "return_indices", return_indices)
        self.ceil_mode = check_bool("MaxPool3d", "ceil_mode", ceil_mode)
        self.explicit = self.pad_mode == "PAD"
        if not self.explicit and (any(self.padding) or set(self.dilation) != {1} or return_indices):
            raise _needs_pad_mode("MaxPool3d", self.pad_mode)
        self.max_pool = MaxPool3D(self.kernel, self.step, "VALID" if self.explicit else pad_mode)

    def construct(self, x: Any) -> Any:
        check_rank("MaxPool3d", x, 4, 5)
        if len(x.shape) == 5:
            return self._pooled(x)
        result = self._pooled(expand_dims(x, 0))
        if self.return_indices:
            return squeeze(result[0], 0), squeeze(result[1], 0)
        return squeeze(result, 0)

    def _pooled(self, x: Any) -> Any:
        if not self.explicit:
            return self.max_pool(x)
        return max_pool3d(
            x,
            self.kernel,
            self.step,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )


class _AvgPoolLayer(_PoolingLayer):
    """The base of average pooling over images; options beyond the basic ones use 3D pooling."""

    def _prepare(
        self, padding: tuple[int, int], ceil_mode: bool, count_include_pad: bool, divisor: Any
    ) -> None:
        owner = type(self).__name__
        kernel = _ints(owner, "kernel_size", self.kernel_size, 2)
        stride = _ints(owner, "stride", self.stride, 2)
        check_bool(owner, "ceil_mode", ceil_mode)
        check_bool(owner, "count_include_pad", count_include_pad)
        _check_divisor(owner, divisor)
        _check_mean_padding(owner, padding, kernel, self.pad_mode)
        plain = self.pad_mode != "PAD" and not ceil_mode and count_include_pad and divisor is None
        self.by_volume = not plain
        if plain:
            self.avg_pool: Any = AvgPool.of(kernel, stride, self.pad_mode, self.format)
            return
        height, width = padding
        self.avg_pool = AvgPool3D(
            (1, *kernel), (1, *stride), self.pad_mode, (0, 0, height, height, width, width),
            ceil_mode, count_include_pad, divisor or 0,
        )  # fmt: skip

    def _pooled(self, x: Any) -> Any:
        if not self.by_volume:
            return self.avg_pool(x)
        return squeeze(self.avg_pool(expand_dims(x, 2)), 2)


def _check_divisor(owner: str, divisor: Any) -> None:
    if divisor is not None and check_int(owner, "divisor_override", divisor) <= 0:
        raise wrong_value(owner, "divisor_override", divisor, "above 0")


def _check_mean_padding(
    owner: str, pads: tuple[int, ...], kernel: tuple[int, ...], pad_mode: str
) -> None:
    if pad_mode != "PAD" and any(pads):
        raise problem(
            ValueError,
            f"{owner}: the 'padding' must be zero when 'pad_mode' is not 'pad'",
            got=f"padding {pads} and pad_mode {pad_mode}",
        )
    if any(2 * pad > size for pad, size in zip(pads, kernel, strict=True)):
        raise problem(
            ValueError,
            f"{owner}: the 'padding' must be at most half of the kernel",
            got=f"padding {pads} and kernel {kernel}",
        )


class AvgPool2d(_AvgPoolLayer):
    """2D average pooling over images (N, C, H, W) or (C, H, W)."""

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, data_format)
        height, width = _ints("AvgPool2d", "padding", padding, 2)
        self._prepare((height, width), ceil_mode, count_include_pad, divisor_override)

    def construct(self, x: Any) -> Any:
        if len(x.shape) == 3:
            return squeeze(self._pooled(expand_dims(x, 0)), 0)
        check_rank("AvgPool2d", x, 4)
        return self._pooled(x)


class AvgPool1d(_AvgPoolLayer):
    """1D average pooling over sequences (N, C, L) or (C, L)."""

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        kernel = _row("AvgPool1d", "kernel_size", kernel_size)
        step = _row("AvgPool1d", "stride", stride)
        super().__init__((1, kernel), (1, step), pad_mode)
        side = _row("AvgPool1d", "padding", padding)
        self._prepare((0, side), ceil_mode, count_include_pad, None)

    def construct(self, x: Any) -> Any:
        check_rank("AvgPool1d", x, 2, 3)
        if len(x.shape) == 2:
            return squeeze(self._pooled(expand_dims(expand_dims(x, 0), 2)), (0, 2))
        return squeeze(self._pooled(expand_dims(x, 2)), 2)

    def extend_repr(self) -> str:
        if not self.by_volume:
            return super().extend_repr()
        kernel, stride = self.kernel_size[1], self.stride[1]
        return f"kernel_size={kernel}, stride={stride}, pad_mode={self.pad_mode}"


class AvgPool3d(_PoolingLayer):
    """3D average pooling over volumes (N, C, D, H, W) or (C, D, H, W)."""

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode)
        kernel = positive_tuple("AvgPool3d", "kernel_size", self.kernel_size, 3)
        stride = positive_tuple("AvgPool3d", "stride", self.stride, 3)
        depth, height, width = _ints("AvgPool3d", "padding", padding, 3)
        _check_divisor("AvgPool3d", divisor_override)
        _check_mean_padding("AvgPool3d", (depth, height, width), kernel, self.pad_mode)
        self.avg_pool = AvgPool3D(
            kernel, stride, self.pad_mode, (depth, depth, height, height, width, width), ceil_mode,
            count_include_pad, divisor_override or 0,
        )  # fmt: skip

    def construct(self, x: Any) -> Any:
        if len(x.shape) == 4:
            return squeeze(self.avg_pool(expand_dims(x, 0)), 0)
        check_rank("AvgPool3d", x, 5)
        return self.avg_pool(x)


class _LPPoolLayer(Cell):
    """The base of power-average (Lp) pooling layers."""

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        if norm_type == 0:
            raise wrong_value(type(self).__name__, "norm_type", norm_type, "other than 0")
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode


class LPPool1d(_LPPoolLayer):
    """1D power-average pooling: the p-th root of the sum of p-th powers in each window."""

    def construct(self, x: Any) -> Any:
        return lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolLayer):
    """2D power-average pooling: the p-th root of the sum of p-th powers in each window."""

    def construct(self, x: Any) -> Any:
        return lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

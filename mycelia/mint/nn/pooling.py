"""Pooling layers, and the layers that take windows apart and put them together."""

from __future__ import annotations

from typing import Any

from mycelia.mint.nn import functional as F
from mycelia.nn.cell import Cell


class AvgPool1d(Cell):
    """The average of every window over (N, C, L) or (C, L)."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.options = (kernel_size, stride, padding, ceil_mode, count_include_pad)

    def construct(self, input: Any) -> Any:
        return F.avg_pool1d(input, *self.options)


class AvgPool2d(Cell):
    """The average of every window over (N, C, H, W) or (C, H, W)."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        windows = (kernel_size, stride, padding)
        self.options = (*windows, ceil_mode, count_include_pad, divisor_override)

    def construct(self, input: Any) -> Any:
        return F.avg_pool2d(input, *self.options)


class AvgPool3d(Cell):
    """The average of every window over (N, C, D, H, W) or (C, D, H, W)."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        windows = (kernel_size, stride, padding)
        self.options = (*windows, ceil_mode, count_include_pad, divisor_override)

    def construct(self, input: Any) -> Any:
        return F.avg_pool3d(input, *self.options)


class _AdaptiveAverage(Cell):
    """What the adaptive averages share."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAverage):
    """Averages over the last axis, to `output_size`."""

    def construct(self, input: Any) -> Any:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAverage):
    """Averages over the last two axes, to `output_size`."""

    def construct(self, input: Any) -> Any:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAverage):
    """Averages over the last three axes, to `output_size`."""

    def construct(self, input: Any) -> Any:
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(Cell):
    """Maxima over the last axis, to `output_size`, and their places if asked."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def construct(self, input: Any) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}, return_indices={self.return_indices}"


class MaxUnpool2d(Cell):
    """The inverse of max pooling: zeros but at the places of maxima."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.options = (kernel_size, stride, padding)

    def construct(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return F.max_unpool2d(input, indices, *self.options, output_size)


class Unfold(Cell):
    """The windows of images (N, C, H, W) as the columns of matrices."""

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.options = (kernel_size, dilation, padding, stride)

    def construct(self, input: Any) -> Any:
        return F.unfold(input, *self.options)


class Fold(Cell):
    """Images of `output_size` from windows in columns; where windows overlap, they add up."""

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__()
        self.options = (output_size, kernel_size, dilation, padding, stride)

    def construct(self, input: Any) -> Any:
        return F.fold(input, *self.options)

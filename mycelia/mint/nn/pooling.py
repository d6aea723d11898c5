"""Pooling layers, and Unfold and Fold."""

from __future__ import annotations

from typing import Any

from mycelia.mint.nn import functional as F
from mycelia.nn.cell import Cell


class AvgPool1d(Cell):
    """1-D average pooling of (N, C, L) or (C, L)."""

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
    """2-D average pooling of (N, C, H, W) or (C, H, W)."""

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
    """3-D average pooling of (N, C, D, H, W) or (C, D, H, W)."""

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
    """Base class of the adaptive average pooling layers."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAverage):
    """1-D adaptive average pooling to `output_size`."""

    def construct(self, input: Any) -> Any:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAverage):
    """2-D adaptive average pooling to `output_size`."""

    def construct(self, input: Any) -> Any:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAverage):
    """3-D adaptive average pooling to `output_size`."""

    def construct(self, input: Any) -> Any:
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(Cell):
    """1-D adaptive max pooling to `output_size`, optionally with the indices of the maxima."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def construct(self, input: Any) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}, return_indices={self.return_indices}"


class MaxUnpool2d(Cell):
    """Partial inverse of max pooling: zeros except at the maxima."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.options = (kernel_size, stride, padding)

    def construct(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return F.max_unpool2d(input, indices, *self.options, output_size)


class Unfold(Cell):
    """Extract the sliding windows of images (N, C, H, W) as matrix columns (im2col)."""

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.options = (kernel_size, dilation, padding, stride)

    def construct(self, input: Any) -> Any:
        return F.unfold(input, *self.options)


class Fold(Cell):
    """Combine columns of windows into images of `output_size`, summing overlaps (col2im)."""

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

"""Adaptive pooling layers, which take the output size instead of a window."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_positive_int, is_int
from mycelia._engine.core.errors import wrong_type, wrong_value
from mycelia.nn.cell import Cell
from mycelia.nn.sizes import check_rank
from mycelia.ops.pooling.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)


class AdaptiveAvgPool1d(Cell):
    """Adaptive average pooling of sequences (N, C, L) to length `output_size`."""

    def __init__(self, output_size: int) -> None:
        super().__init__()
        self.output_size = check_positive_int("AdaptiveAvgPool1d", "output_size", output_size)

    def construct(self, input: Any) -> Any:
        check_rank("AdaptiveAvgPool1d", input, 3)
        return adaptive_avg_pool1d(input, self.output_size)


class AdaptiveMaxPool1d(Cell):
    """Adaptive max pooling of sequences (N, C, L) to length `output_size`."""

    def __init__(self, output_size: int) -> None:
        super().__init__()
        self.output_size = check_positive_int("AdaptiveMaxPool1d", "output_size", output_size)

    def construct(self, input: Any) -> Any:
        check_rank("AdaptiveMaxPool1d", input, 3)
        return adaptive_max_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(Cell):
    """Adaptive average pooling of images to `output_size`; None keeps the size of an axis."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        if not is_int(output_size) and not isinstance(output_size, tuple):
            raise wrong_type("AdaptiveAvgPool2d", "output_size", output_size, "int or tuple")
        if isinstance(output_size, tuple) and len(output_size) != 2:
            raise wrong_value("AdaptiveAvgPool2d", "output_size", output_size, "an int or a pair")
        self.output_size = output_size

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(Cell):
    """Adaptive average pooling of volumes to `output_size`; None keeps the size of an axis."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool2d(Cell):
    """Adaptive max pooling of images, with the indices of the maxima if `return_indices`."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(Cell):
    """Adaptive max pooling of volumes, with the indices of the maxima if `return_indices`."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool3d(input, self.output_size, self.return_indices)

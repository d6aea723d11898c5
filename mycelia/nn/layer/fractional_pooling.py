"""Fractional max pooling layers, whose windows are placed at random."""

from __future__ import annotations

from typing import Any

from mycelia.nn.cell import Cell
from mycelia.ops.pooling.fractional import fractional_max_pool2d, fractional_max_pool3d


class _FractionalMaxPool(Cell):
    """The base of fractional pooling layers."""

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices
        self._random_samples = _random_samples

    def _pooled(self, pool: Any, input: Any) -> Any:
        sizes = self.kernel_size, self.output_size, self.output_ratio
        return pool(input, *sizes, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """2D fractional max pooling, as in `ops.fractional_max_pool2d`."""

    def construct(self, input: Any) -> Any:
        return self._pooled(fractional_max_pool2d, input)


class FractionalMaxPool3d(_FractionalMaxPool):
    """3D fractional max pooling, as in `ops.fractional_max_pool3d`."""

    def construct(self, input: Any) -> Any:
        return self._pooled(fractional_max_pool3d, input)

"""Max unpooling layers, which invert max pooling with indices."""

from __future__ import annotations

from typing import Any

from mycelia.nn.cell import Cell
from mycelia.ops.pooling.max_pool_with_indices import max_unpool1d, max_unpool2d, max_unpool3d


class _MaxUnpoolLayer(Cell):
    """The base of unpooling layers."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding


class MaxUnpool1d(_MaxUnpoolLayer):
    """Inverts max pooling of sequences: scatters values to `indices`, with zeros elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolLayer):
    """Inverts max pooling of images: scatters values to `indices`, with zeros elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolLayer):
    """Inverts max pooling of volumes: scatters values to `indices`, with zeros elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, output_size)

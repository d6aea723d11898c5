"""Zero padding and upsampling layers."""

from __future__ import annotations

from typing import Any

from mycelia.mint.nn import functional as F
from mycelia.nn.cell import Cell
from mycelia.nn.layer.padding import ConstantPad1d, ConstantPad3d


class ZeroPad1d(ConstantPad1d):
    """Zero padding of the last axis; negative padding crops."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)


class ZeroPad3d(ConstantPad3d):
    """Zero padding of the last three axes; negative padding crops."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)


class Upsample(Cell):
    """Resize images to `size`, or by `scale_factor`, with the interpolation `mode`."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.options = (size, scale_factor, mode, align_corners, recompute_scale_factor)

    def construct(self, input: Any) -> Any:
        return F.interpolate(input, *self.options)


class UpsamplingNearest2d(Upsample):
    """Nearest-neighbor upsampling of images."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Bilinear upsampling of images, with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)

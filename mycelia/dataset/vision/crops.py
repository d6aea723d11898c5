"""Transforms that produce several crops or patches of an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_bool, check_int, wrong_type
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.image import (
    ImageTransform,
    PillowTransform,
    cropped_pillow,
    padded,
    size_pair,
)
from mycelia.dataset.vision.options import Border, SliceMode


@dataclass(frozen=True, eq=False)
class FiveCrop(PillowTransform):
    """Crops the four corners and the center of a PIL image."""

    size: Any

    def __post_init__(self) -> None:
        size_pair(self.size)

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[Any, ...]:
        return self.apply(one_column("FiveCrop", values), random)

    def change_pillow(self, image: Any, random: Any) -> tuple[Any, ...]:
        return _five("FiveCrop", image, size_pair(self.size))


@dataclass(frozen=True, eq=False)
class TenCrop(PillowTransform):
    """Crops the corners and the center of a PIL image and of its mirror image."""

    size: Any
    use_vertical_flip: bool = False

    def __post_init__(self) -> None:
        size_pair(self.size)
        check_bool("use_vertical_flip", self.use_vertical_flip)

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[Any, ...]:
        return self.apply(one_column("TenCrop", values), random)

    def change_pillow(self, image: Any, random: Any) -> tuple[Any, ...]:
        ways = P.pillow("TenCrop").Transpose
        way = ways.FLIP_TOP_BOTTOM if self.use_vertical_flip else ways.FLIP_LEFT_RIGHT
        size = size_pair(self.size)
        return _five("TenCrop", image, size) + _five("TenCrop", image.transpose(way), size)


@dataclass(frozen=True, eq=False)
class SlicePatches(ImageTransform):
    """Splits an image into a grid of patches, row by row."""

    num_height: int = 1
    num_width: int = 1
    slice_mode: SliceMode = SliceMode.PAD
    fill_value: int = 0

    def __post_init__(self) -> None:
        check_int("num_height", self.num_height, 1)
        check_int("num_width", self.num_width, 1)
        if not isinstance(self.slice_mode, SliceMode):
            raise wrong_type("slice_mode", self.slice_mode, "SliceMode")
        check_int("fill_value", self.fill_value, 0, 255)

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[Any, ...]:
        return self.apply(one_column("SlicePatches", values), random)

    def change_pillow(self, image: Any, random: Any) -> tuple[np.ndarray, ...]:
        return self.patches(np.array(image))

    def change(self, image: np.ndarray, random: Any) -> Any:
        return self.patches(image)

    def patches(self, image: np.ndarray) -> tuple[np.ndarray, ...]:
        """All patches, of equal size."""
        counts, sides = (self.num_height, self.num_width), image.shape[:2]
        if any(count > side for count, side in zip(counts, sides)):
            raise problem(
                RuntimeError,
                "SlicePatches: more patches than pixels",
                got=f"{counts[0]} x {counts[1]} patches of an image of {sides[0]} x {sides[1]}",
            )
        tall, wide = (side // count for side, count in zip(sides, counts))
        if self.slice_mode == SliceMode.PAD:
            tall, wide = (-(-side // count) for side, count in zip(sides, counts))
            right, bottom = wide * counts[1] - sides[1], tall * counts[0] - sides[0]
            image = padded(image, (0, 0, right, bottom), self.fill_value, Border.CONSTANT)
        return tuple(
            np.ascontiguousarray(image[top : top + tall, left : left + wide])
            for top in range(0, tall * counts[0], tall)
            for left in range(0, wide * counts[1], wide)
        )


def _five(owner: str, image: Any, size: tuple[int, int]) -> tuple[Any, ...]:
    height, width = size
    down, across = image.height - height, image.width - width
    if down < 0 or across < 0:
        raise problem(
            ValueError,
            f"{owner}: the crops are larger than the image",
            got=f"{height} x {width} of an image of {image.height} x {image.width}",
        )
    corners = ((0, 0), (0, across), (down, 0), (down, across))
    parts = [image.crop((left, top, left + width, top + height)) for top, left in corners]
    return *parts, cropped_pillow(image, size)


def one_column(owner: str, values: tuple[Any, ...]) -> Any:
    """The single value of a row."""
    if len(values) != 1:
        raise problem(RuntimeError, f"{owner}: requires one column", got=f"{len(values)} columns")
    return values[0]

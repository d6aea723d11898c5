"""Transforms of images with bounding boxes: rows of (x, y, width, height, ...)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.transforms.checks import check_number, wrong_type
from mycelia.dataset.transforms.transform import run_step
from mycelia.dataset.vision.geometry import (
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    check_inside,
    mirrored,
)
from mycelia.dataset.vision.image import (
    ImageTransform,
    checked_image,
    cropped,
    padded,
    padding_sides,
    saturated,
    size_pair,
)
from mycelia.dataset.vision.options import Inter
from mycelia.dataset.vision.resample import resized

_Boxed = tuple[np.ndarray, np.ndarray]
_ANY_INTER = (Inter.BILINEAR, Inter.NEAREST, Inter.BICUBIC, Inter.AREA)


@dataclass(frozen=True, eq=False)
class _WithBoxes(ImageTransform):
    """Base class: changes an image and its bounding boxes, which are two columns."""

    def run(self, values: tuple[Any, ...], random: Any) -> _Boxed:
        image, boxes = _checked_pair(type(self).__name__, values)
        return self.change_both(image, boxes.copy(), random)

    def change_both(self, image: np.ndarray, boxes: np.ndarray, random: Any) -> _Boxed:
        """Change the image and its boxes; the boxes may be overwritten."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class RandomHorizontalFlipWithBBox(_WithBoxes, RandomHorizontalFlip):
    """Flips an image and its boxes horizontally with a probability."""

    def change_both(self, image: np.ndarray, boxes: np.ndarray, random: Any) -> _Boxed:
        if random.random() >= self.prob:
            return image, boxes
        boxes[:, 0] = image.shape[1] - boxes[:, 0] - boxes[:, 2]
        return mirrored(image), boxes


@dataclass(frozen=True, eq=False)
class RandomVerticalFlipWithBBox(_WithBoxes, RandomVerticalFlip):
    """Flips an image and its boxes vertically with a probability."""

    def change_both(self, image: np.ndarray, boxes: np.ndarray, random: Any) -> _Boxed:
        if random.random() >= self.prob:
            return image, boxes
        boxes[:, 1] = image.shape[0] - boxes[:, 1] - boxes[:, 3]
        return np.ascontiguousarray(image[::-1]), boxes


@dataclass(frozen=True, eq=False)
class ResizeWithBBox(_WithBoxes, Resize):
    """Resizes an image and its boxes: (height, width), or the shorter side."""

    def change_both(self, image: np.ndarray, boxes: np.ndarray, random: Any) -> _Boxed:
        made = self.change(image, random)
        return made, _scaled(boxes, image.shape[:2], made.shape[:2])


@dataclass(frozen=True, eq=False)
class RandomResizeWithBBox(_WithBoxes):
    """Resizes an image and its boxes with a random interpolation."""

    is_random = True
    size: Any

    def __post_init__(self) -> None:
        size_pair(self.size)

    def change_both(self, image: np.ndarray, boxes: np.ndarray, random: Any) -> _Boxed:
        inter = _ANY_INTER[int(random.integers(len(_ANY_INTER)))]
        return ResizeWithBBox(self.size, inter).change_both(image, boxes, random)


@dataclass(frozen=True, eq=False)
class RandomCropWithBBox(_WithBoxes, RandomCrop):
    """Crops an image, with optional padding, and its boxes at a random position."""

    def change_both(self, image: np.ndarray, boxes: np.ndarray, random: Any) -> _Boxed:
        size = height, width = size_pair(self.size)
        if self.padding is not None:
            image = self._bordered(image, boxes, padding_sides(self.padding))
        if self.pad_if_needed:
            tall, wide = max(height - image.shape[0], 0), max(width - image.shape[1], 0)
            image = self._bordered(image, boxes, (wide, tall, wide, tall))
        check_inside("RandomCropWithBBox", image, height, width)
        top = int(random.integers(image.shape[0] - height + 1))
        left = int(random.integers(image.shape[1] - width + 1))
        return cropped(image, top, left, size), _seen(boxes, top, left, size)

    def _bordered(
        self, image: np.ndarray, boxes: np.ndarray, sides: tuple[int, int, int, int]
    ) -> np.ndarray:
        boxes[:, :2] += sides[:2]
        return padded(image, sides, self.fill_value, self.padding_mode)


@dataclass(frozen=True, eq=False)
class RandomResizedCropWithBBox(_WithBoxes, RandomResizedCrop):
    """Crops an image of random position, area, and aspect ratio, and resizes it to a fixed size."""

    def change_both(self, image: np.ndarray, boxes: np.ndarray, random: Any) -> _Boxed:
        top, left, height, width = self.box(image.shape[0], image.shape[1], random)
        part = cropped(image, top, left, (height, width))
        size = size_pair(self.size)
        made = np.ascontiguousarray(resized(part, size, self.interpolation))
        return made, _scaled(_seen(boxes, top, left, (height, width)), (height, width), size)


@dataclass(frozen=True, eq=False)
class BoundingBoxAugment(_WithBoxes):
    """Applies a transform to the contents of each box with probability `ratio`."""

    is_random = True
    transform: Operation
    ratio: float = 0.3

    def __post_init__(self) -> None:
        if not isinstance(self.transform, Operation):
            raise wrong_type("transform", self.transform, "an image transform")
        check_number("ratio", self.ratio, 0, 1)

    def change_both(self, image: np.ndarray, boxes: np.ndarray, random: Any) -> _Boxed:
        made = image.copy()
        for left, top, width, height in boxes[:, :4].astype(np.int64):
            if random.random() < self.ratio:
                rows, columns = slice(top, top + height), slice(left, left + width)
                made[rows, columns] = self._changed(made[rows, columns], random)
        return made, boxes

    def _changed(self, part: np.ndarray, random: Any) -> np.ndarray:
        """Transform a crop; its size and type stay."""
        if not part.size:
            raise problem(
                RuntimeError, "BoundingBoxAugment: a box is empty", got=f"shape {part.shape}"
            )
        made = np.asarray(run_step(self.transform, (np.ascontiguousarray(part),), random)[0])
        if made.shape[2:] != part.shape[2:]:
            raise problem(
                RuntimeError,
                "BoundingBoxAugment: the transform changes the number of channels",
                got=f"shape {part.shape} became {made.shape}",
            )
        whole = resized(made, part.shape[:2], Inter.BILINEAR)
        return whole if whole.dtype == part.dtype else saturated(whole, part.dtype)


def _checked_pair(owner: str, values: tuple[Any, ...]) -> _Boxed:
    if len(values) != 2:
        raise problem(
            RuntimeError,
            f"{owner}: requires two columns, the image and its boxes",
            got=f"{len(values)} columns",
        )
    image, boxes = checked_image(owner, values[0]), np.asarray(values[1])
    if boxes.dtype != np.float32 or boxes.ndim != 2 or boxes.shape[1] < 4 or not boxes.size:
        raise problem(
            RuntimeError,
            f"{owner}: the second column must hold boxes",
            got=f"{boxes.dtype}{list(boxes.shape)}",
            expected="float32[N, 4 or more]: x, y, width, height, ...",
        )
    ends = boxes[:, :2] + boxes[:, 2:4]
    limits = image.shape[1], image.shape[0]
    if (boxes[:, :2] < 0).any() or (ends > limits).any():
        raise problem(
            RuntimeError,
            f"{owner}: a box exceeds the image",
            got=f"boxes {boxes[:, :4].tolist()}",
            expected=f"x from 0 to {limits[0]}, y from 0 to {limits[1]}",
        )
    return image, boxes


def _scaled(boxes: np.ndarray, old: tuple[int, ...], new: tuple[int, ...]) -> np.ndarray:
    """The boxes after an image was resized from `old` to `new` (height, width)."""
    wide, tall = new[1] / old[1], new[0] / old[0]
    boxes[:, :4] *= np.array([wide, tall, wide, tall], np.float32)
    return boxes


def _seen(boxes: np.ndarray, top: int, left: int, size: tuple[int, int]) -> np.ndarray:
    """The boxes that intersect a crop, clipped and relative to it."""
    starts = boxes[:, :2] - np.array([left, top], np.float32)
    ends = starts + boxes[:, 2:4]
    limits = np.array([size[1], size[0]], np.float32)
    touching = ((ends >= 0) & (starts <= limits)).all(axis=1)
    starts, ends = np.clip(starts, 0, limits), np.clip(ends, 0, limits)
    return np.concatenate([starts, ends - starts, boxes[:, 4:]], axis=1)[touching]

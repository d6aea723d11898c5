"""Transforms that erase parts of an image: Erase, RandomErasing, CutOut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int, is_number
from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import (
    check_bool,
    check_int,
    check_number,
    check_range,
    wrong_type,
)
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.image import (
    MOST,
    ArrayTransform,
    ImageTransform,
    check_channels,
    saturated,
)


@dataclass(frozen=True, eq=False)
class CutOut(ArrayTransform):
    """Fills random squares with black; they may extend beyond the border."""

    is_random = True
    length: int
    num_patches: int = 1
    is_hwc: bool = True

    def __post_init__(self) -> None:
        check_int("length", self.length, 1, MOST)
        check_int("num_patches", self.num_patches, 1, MOST)
        check_bool("is_hwc", self.is_hwc)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        if image.ndim != 3:
            raise problem(
                RuntimeError, "CutOut: requires a channel axis", got=f"shape {image.shape}"
            )
        made = image.copy()
        view = made if self.is_hwc else made.transpose(1, 2, 0)
        check_fits("CutOut", view, self.length, self.length)
        for _ in range(self.num_patches):
            corner = [int(random.integers(-self.length, side + 1)) for side in view.shape[:2]]
            rows, columns = (slice(max(start, 0), max(start + self.length, 0)) for start in corner)
            view[rows, columns] = 0
        return made


@dataclass(frozen=True, eq=False)
class Erase(ArrayTransform):
    """Fills a rectangle with one color."""

    top: int
    left: int
    height: int
    width: int
    value: Any = 0.0
    inplace: bool = False

    def __post_init__(self) -> None:
        for name, least in (("top", 0), ("left", 0), ("height", 1), ("width", 1)):
            check_int(name, getattr(self, name), least)
        self._color()
        check_bool("inplace", self.inplace)

    def _color(self) -> tuple[float, ...]:
        parts = (self.value,) * 3 if is_number(self.value) else self.value
        if not isinstance(parts, tuple) or len(parts) != 3:
            raise wrong_type("value", self.value, "a number or a tuple of 3 numbers")
        return tuple(check_number("value", part, 0, 255) for part in parts)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        check_channels("Erase", image, 3)
        check_fits("Erase", image, self.height, self.width)
        made = image if self.inplace and image.flags.writeable else image.copy()
        rows = slice(self.top, self.top + self.height)
        color = saturated(np.array(self._color()), image.dtype)
        made[rows, self.left : self.left + self.width] = color
        return made


@dataclass(frozen=True, eq=False)
class RandomErasing(ImageTransform):
    """Fills a random rectangle of an image [C, H, W] with a probability."""

    is_random = True
    prob: float = 0.5
    scale: Any = (0.02, 0.33)
    ratio: Any = (0.3, 3.3)
    value: Any = 0
    inplace: bool = False
    max_attempts: int = 10

    def __post_init__(self) -> None:
        check_number("prob", self.prob, 0.0, 1.0)
        check_range("scale", self.scale, 0, MOST)
        check_range("ratio", self.ratio, 0, MOST, positive=True)
        self._check_value()
        check_bool("inplace", self.inplace)
        check_int("max_attempts", self.max_attempts, 1, MOST)

    def _check_value(self) -> None:
        if is_int(self.value):
            check_int("value", self.value, 0, 255)
        elif not isinstance(self.value, (list, tuple, str)):
            raise wrong_type("value", self.value, "int, list, tuple or 'random'")
        elif self.value != "random":
            if isinstance(self.value, str) or len(self.value) != 3:
                raise problem(
                    ValueError,
                    "value: not a color",
                    got=repr(self.value),
                    expected="an int, 3 ints, or 'random'",
                )
            for part in self.value:
                check_int("value", part, 0, 255)

    def apply(self, value: Any, random: Any) -> Any:
        if random.random() >= self.prob:
            return value
        if P.is_pillow(value):
            raise problem(
                TypeError,
                "RandomErasing: requires an array",
                got="a Pillow image",
                fix="ToTensor()",
            )
        if value.ndim != 3:
            raise problem(
                ValueError,
                "RandomErasing: requires an image of [C, H, W]",
                got=f"shape {value.shape}",
                expected="[C, H, W]",
            )
        return self.change(value, random)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        box = self._box(image.shape[1], image.shape[2], random)
        if box is None:
            return image
        made = image if self.inplace and image.flags.writeable else image.copy()
        part = made[(slice(None), *box)]
        paint = self._paint(part.shape, random)
        part[...] = paint.astype(np.int64) if image.dtype.kind in "iu" else paint
        return made

    def _paint(self, shape: tuple[int, ...], random: Any) -> np.ndarray:
        """One color, or values of a normal distribution."""
        if isinstance(self.value, str):
            return random.standard_normal(shape)
        color = (self.value,) if is_int(self.value) else self.value
        if len(color) not in (1, shape[0]):
            raise problem(
                ValueError,
                "RandomErasing: the color has a different number of channels than the image",
                got=f"value={self.value} for {shape[0]} channels",
            )
        return np.array(color)[:, None, None]

    def _box(self, height: int, width: int, random: Any) -> tuple[slice, slice] | None:
        """A random rectangle of given area and aspect ratio ranges; None if none fits."""
        for _ in range(self.max_attempts):
            area = height * width * random.uniform(*self.scale)
            ratio = random.uniform(*self.ratio)
            tall, wide = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
            if tall < height and wide < width:
                top = int(random.integers(height - tall + 1))
                left = int(random.integers(width - wide + 1))
                return slice(top, top + tall), slice(left, left + wide)
        return None


def check_fits(owner: str, image: np.ndarray, height: int, width: int) -> None:
    """Check that a rectangle is not larger than the image."""
    if height > image.shape[0] or width > image.shape[1]:
        raise problem(
            RuntimeError,
            f"{owner}: the rectangle is larger than the image",
            got=f"{height} x {width} for an image of {image.shape[0]} x {image.shape[1]}",
        )

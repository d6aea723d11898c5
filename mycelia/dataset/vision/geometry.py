"""The transforms that move pixels: sizes, crops, flips, borders, rotation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia.core.checks import is_int, is_number
from mycelia.core.errors import problem
from mycelia.dataset.transforms.checks import (
    check_bool,
    check_int,
    check_number,
    check_range,
    wrong_type,
)
from mycelia.dataset.vision import pillow as P
from mycelia.dataset.vision.image import (
    ImageTransform,
    cropped,
    fill_colour,
    padded,
    padding_sides,
    size_pair,
)
from mycelia.dataset.vision.options import Border, Inter
from mycelia.dataset.vision.resampling import pillow_filter, resized


@dataclass(frozen=True, eq=False)
class Resize(ImageTransform):
    """Another size: (height, width), or the shorter side with the proportions kept."""

    size: Any
    interpolation: Inter = Inter.BILINEAR

    def __post_init__(self) -> None:
        size_pair(self.size)
        check_inter("interpolation", self.interpolation)

    def apply(self, value: Any, random: Any) -> Any:
        if not P.is_pillow(value):
            return super().apply(value, random)
        height, width = self._target(value.size[1], value.size[0])
        return value.resize((width, height), pillow_filter(self.interpolation))

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return resized(image, self._target(*image.shape[:2]), self.interpolation)

    def _target(self, height: int, width: int) -> tuple[int, int]:
        if not is_int(self.size):
            return size_pair(self.size)
        if height < width:
            return self.size, max(int(width * self.size / height), 1)
        return max(int(height * self.size / width), 1), self.size


@dataclass(frozen=True, eq=False)
class CenterCrop(ImageTransform):
    """The middle of an image; a smaller image gets a black border."""

    size: Any

    def __post_init__(self) -> None:
        size_pair(self.size)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        height, width = size_pair(self.size)
        tall, wide = max(height - image.shape[0], 0), max(width - image.shape[1], 0)
        top, left = tall // 2, wide // 2
        image = padded(image, (left, top, wide - left, tall - top), 0, Border.CONSTANT)
        at = (image.shape[0] - height) // 2, (image.shape[1] - width) // 2
        return cropped(image, *at, (height, width))


@dataclass(frozen=True, eq=False)
class Crop(ImageTransform):
    """The part of an image at a place (top, left)."""

    coordinates: Any
    size: Any

    def __post_init__(self) -> None:
        size_pair(self.size)
        if not isinstance(self.coordinates, (list, tuple)):
            raise wrong_type("coordinates", self.coordinates, "tuple or list")
        if len(self.coordinates) != 2:
            raise problem(
                ValueError,
                "Crop: coordinates is no pair",
                got=repr(self.coordinates),
                expected="(y, x)",
            )
        for part in self.coordinates:
            check_int("coordinates", part, 0)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        (top, left), (height, width) = self.coordinates, size_pair(self.size)
        check_inside("Crop", image, top + height, left + width)
        return cropped(image, top, left, (height, width))


@dataclass(frozen=True, eq=False)
class Pad(ImageTransform):
    """Pixels added on the sides."""

    padding: Any
    fill_value: Any = 0
    padding_mode: Border = Border.CONSTANT

    def __post_init__(self) -> None:
        padding_sides(self.padding)
        fill_colour(self.fill_value)
        check_border("padding_mode", self.padding_mode)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return padded(image, padding_sides(self.padding), self.fill_value, self.padding_mode)


@dataclass(frozen=True, eq=False)
class RandomCrop(ImageTransform):
    """A part of an image at a random place, of the image with a border if one is wanted."""

    is_random = True
    size: Any
    padding: Any = None
    pad_if_needed: bool = False
    fill_value: Any = 0
    padding_mode: Border = Border.CONSTANT

    def __post_init__(self) -> None:
        size_pair(self.size)
        if self.padding is not None:
            padding_sides(self.padding)
        check_bool("pad_if_needed", self.pad_if_needed)
        fill_colour(self.fill_value)
        check_border("padding_mode", self.padding_mode)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        height, width = size_pair(self.size)
        if self.padding is not None:
            sides = padding_sides(self.padding)
            image = padded(image, sides, self.fill_value, self.padding_mode)
        if self.pad_if_needed:
            tall, wide = max(height - image.shape[0], 0), max(width - image.shape[1], 0)
            image = padded(image, (wide, tall, wide, tall), self.fill_value, self.padding_mode)
        check_inside("RandomCrop", image, height, width)
        top = int(random.integers(image.shape[0] - height + 1))
        left = int(random.integers(image.shape[1] - width + 1))
        return cropped(image, top, left, (height, width))


@dataclass(frozen=True, eq=False)
class RandomResizedCrop(ImageTransform):
    """A part of an image of a random place, area and ratio of sides, in a fixed size."""

    is_random = True
    size: Any
    scale: Any = (0.08, 1.0)
    ratio: Any = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: Inter = Inter.BILINEAR
    max_attempts: int = 10

    def __post_init__(self) -> None:
        size_pair(self.size)
        check_range("scale", self.scale, 0, 16777216)
        check_range("ratio", self.ratio, 0, 16777216, positive=True)
        check_inter("interpolation", self.interpolation)
        check_int("max_attempts", self.max_attempts, 1)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        top, left, height, width = self.box(image.shape[0], image.shape[1], random)
        part = image[top : top + height, left : left + width]
        return np.ascontiguousarray(resized(part, size_pair(self.size), self.interpolation))

    def box(self, height: int, width: int, random: Any) -> tuple[int, int, int, int]:
        """A random (top, left, height, width); the middle if no attempt fits."""
        for _ in range(self.max_attempts):
            area = height * width * random.uniform(*self.scale)
            ratio = math.exp(random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            tall, wide = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
            if 0 < tall <= height and 0 < wide <= width:
                top = int(random.integers(height - tall + 1))
                return top, int(random.integers(width - wide + 1)), tall, wide
        ratio = min(max(width / height, self.ratio[0]), self.ratio[1])
        tall = min(height, max(round(width / ratio), 1))
        wide = min(width, max(round(height * ratio), 1))
        return (height - tall) // 2, (width - wide) // 2, tall, wide


@dataclass(frozen=True, eq=False)
class RandomHorizontalFlip(ImageTransform):
    """Left and right swapped, by chance."""

    is_random = True
    prob: float = 0.5

    def __post_init__(self) -> None:
        check_number("prob", self.prob, 0.0, 1.0)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return mirrored(image) if random.random() < self.prob else image


@dataclass(frozen=True, eq=False)
class RandomVerticalFlip(ImageTransform):
    """Top and bottom swapped, by chance."""

    is_random = True
    prob: float = 0.5

    def __post_init__(self) -> None:
        check_number("prob", self.prob, 0.0, 1.0)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return np.ascontiguousarray(image[::-1]) if random.random() < self.prob else image


@dataclass(frozen=True, eq=False)
class HorizontalFlip(ImageTransform):
    """Left and right swapped."""

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return mirrored(image)


@dataclass(frozen=True, eq=False)
class VerticalFlip(ImageTransform):
    """Top and bottom swapped."""

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return np.ascontiguousarray(image[::-1])


@dataclass(frozen=True, eq=False)
class RandomRotation(ImageTransform):
    """Turned counter-clockwise by a random angle."""

    is_random = True
    degrees: Any
    resample: Inter = Inter.NEAREST
    expand: bool = False
    center: Any = None
    fill_value: Any = 0

    def __post_init__(self) -> None:
        if is_number(self.degrees):
            check_number("degrees", self.degrees, 0, float("inf"))
        else:
            check_range("degrees", self.degrees, -float("inf"), float("inf"))
        check_inter("resample", self.resample)
        check_bool("expand", self.expand)
        fill_colour(self.fill_value)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        low, high = (-self.degrees, self.degrees) if is_number(self.degrees) else self.degrees
        angle = float(random.uniform(low, high))
        channels = (
            [image]
            if image.ndim == 2 or image.dtype == np.uint8
            else list(np.moveaxis(image.astype(np.float32), 2, 0))
        )
        turned = [self._turned(channel, angle) for channel in channels]
        whole = turned[0] if len(turned) == 1 else np.stack(turned, axis=2)
        return whole.reshape(*whole.shape[:2], *image.shape[2:]).astype(image.dtype)

    def _turned(self, image: np.ndarray, angle: float) -> np.ndarray:
        fill = self.fill_value
        if not is_int(fill) and (image.ndim == 2 or image.shape[2] != 3):
            fill = fill[0]
        made = P.to_pillow("RandomRotation", image)
        if is_int(fill) and made.mode == "RGB":
            fill = (fill, fill, fill)
        return np.array(
            made.rotate(
                angle,
                pillow_filter(self.resample),
                expand=self.expand,
                center=None if self.center is None else tuple(self.center),
                fillcolor=fill if is_int(fill) else tuple(fill),
            )
        )


def mirrored(image: np.ndarray) -> np.ndarray:
    """Left and right swapped; a row of numbers is moved faster than pixels of three."""
    flat = image.reshape(image.shape[0], -1)
    places = np.arange(flat.shape[1]).reshape(image.shape[1:])[::-1].ravel()
    return flat.take(places, axis=1).reshape(image.shape)


def check_inside(owner: str, image: np.ndarray, bottom: int, right: int) -> None:
    """A part must lie inside the image."""
    if bottom > image.shape[0] or right > image.shape[1]:
        raise problem(
            RuntimeError,
            f"{owner}: the part is larger than the image",
            got=f"a part that reaches to ({bottom}, {right})",
            expected=f"at most {image.shape[:2]}, the size of the image",
        )


def check_inter(argument: str, value: Any) -> None:
    """One of the interpolations."""
    if not isinstance(value, Inter):
        raise wrong_type(argument, value, "Inter")


def check_border(argument: str, value: Any) -> None:
    """One of the borders."""
    if not isinstance(value, Border):
        raise wrong_type(argument, value, "Border")

"""Geometric image transforms: resize, crop, flip, and pad."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import (
    check_bool,
    check_int,
    check_number,
    check_range,
    wrong_type,
)
from mycelia.dataset.vision.backends.opencv import cv2
from mycelia.dataset.vision.image import (
    MOST,
    ArrayTransform,
    ImageTransform,
    check_channels,
    cropped,
    cropped_pillow,
    fill_color,
    padded,
    padding_sides,
    size_pair,
)
from mycelia.dataset.vision.options import Border, Inter, check_border, check_inter
from mycelia.dataset.vision.resample import pillow_filter, resized

_MOST_CHANNELS = 4  # maximum that OpenCV swaps in one call


@dataclass(frozen=True, eq=False)
class Resize(ImageTransform):
    """Resizes an image: to (height, width), or by the shorter side, keeping the aspect ratio."""

    takes_stacks = True
    takes_many = True
    size: Any
    interpolation: Inter = Inter.BILINEAR

    def __post_init__(self) -> None:
        size_pair(self.size)
        check_inter("interpolation", self.interpolation)

    def run_many(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
        if any(column.ndim not in (3, 4) for column in columns):
            return None
        return tuple(np.stack([self.change(i, None) for i in column]) for column in columns)

    def change_pillow(self, image: Any, random: Any) -> Any:
        height, width = self._target(image.size[1], image.size[0])
        return image.resize((width, height), pillow_filter("Resize", self.interpolation))

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
    """Crops the center of an image; a smaller image is padded with black."""

    takes_stacks = True
    size: Any

    def __post_init__(self) -> None:
        size_pair(self.size)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        height, width = size_pair(self.size)
        tall, wide = max(height - image.shape[0], 0), max(width - image.shape[1], 0)
        top, left = (tall + 1) // 2, (wide + 1) // 2
        image = padded(image, (left, top, wide - left, tall - top), 0, Border.CONSTANT)
        at = (image.shape[0] - height) // 2, (image.shape[1] - width) // 2
        return cropped(image, *at, (height, width))

    def change_pillow(self, image: Any, random: Any) -> Any:
        return cropped_pillow(image, size_pair(self.size))


@dataclass(frozen=True, eq=False)
class Crop(ImageTransform):
    """Crops an image at a position (top, left)."""

    coordinates: Any
    size: Any

    def __post_init__(self) -> None:
        size_pair(self.size)
        if not isinstance(self.coordinates, (list, tuple)):
            raise wrong_type("coordinates", self.coordinates, "tuple or list")
        if len(self.coordinates) != 2:
            raise problem(
                ValueError,
                "Crop: coordinates must be a pair",
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
    """Pads the sides of an image."""

    padding: Any
    fill_value: Any = 0
    padding_mode: Border = Border.CONSTANT

    def __post_init__(self) -> None:
        padding_sides(self.padding)
        fill_color(self.fill_value)
        check_border("padding_mode", self.padding_mode)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return padded(image, padding_sides(self.padding), self.fill_value, self.padding_mode)


@dataclass(frozen=True, eq=False)
class RandomCrop(ImageTransform):
    """Crops an image, with optional padding, at a random position."""

    is_random = True
    takes_stacks = True
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
        fill_color(self.fill_value)
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
    """Crops a random position, area, and aspect ratio, and resizes it to a fixed size."""

    is_random = True
    size: Any
    scale: Any = (0.08, 1.0)
    ratio: Any = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: Inter = Inter.BILINEAR
    max_attempts: int = 10

    def __post_init__(self) -> None:
        size_pair(self.size)
        check_range("scale", self.scale, 0, MOST)
        check_range("ratio", self.ratio, 0, MOST, positive=True)
        check_inter("interpolation", self.interpolation)
        check_int("max_attempts", self.max_attempts, 1)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        top, left, height, width = self.box(image.shape[0], image.shape[1], random)
        part = image[top : top + height, left : left + width]
        return np.ascontiguousarray(resized(part, size_pair(self.size), self.interpolation))

    def box(self, height: int, width: int, random: Any) -> tuple[int, int, int, int]:
        """A random (top, left, height, width); the center if no attempt fits."""
        least, most = (math.log(ratio) for ratio in self.ratio)
        for _ in range(self.max_attempts):
            size, shape, down, right = random.random(4).tolist()
            area = height * width * (self.scale[0] + size * (self.scale[1] - self.scale[0]))
            ratio = math.exp(least + shape * (most - least))
            tall, wide = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
            if 0 < tall <= height and 0 < wide <= width:
                top, left = int(down * (height - tall + 1)), int(right * (width - wide + 1))
                return top, left, tall, wide
        ratio = min(max(width / height, self.ratio[0]), self.ratio[1])
        tall = min(height, max(round(width / ratio), 1))
        wide = min(width, max(round(height * ratio), 1))
        return (height - tall) // 2, (width - wide) // 2, tall, wide


@dataclass(frozen=True, eq=False)
class RandomHorizontalFlip(ImageTransform):
    """Flips an image horizontally with a probability."""

    is_random = True
    takes_stacks = True
    prob: float = 0.5

    def __post_init__(self) -> None:
        check_number("prob", self.prob, 0.0, 1.0)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return mirrored(image) if random.random() < self.prob else image


@dataclass(frozen=True, eq=False)
class RandomVerticalFlip(ImageTransform):
    """Flips an image vertically with a probability."""

    is_random = True
    takes_stacks = True
    prob: float = 0.5

    def __post_init__(self) -> None:
        check_number("prob", self.prob, 0.0, 1.0)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return np.ascontiguousarray(image[::-1]) if random.random() < self.prob else image


@dataclass(frozen=True, eq=False)
class HorizontalFlip(ImageTransform):
    """Flips an image horizontally."""

    takes_stacks = True

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return mirrored(image)


@dataclass(frozen=True, eq=False)
class VerticalFlip(ImageTransform):
    """Flips an image vertically."""

    takes_stacks = True

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return np.ascontiguousarray(image[::-1])


@dataclass(frozen=True, eq=False)
class RandomResize(ArrayTransform):
    """Resizes an image with a random interpolation."""

    is_random = True
    takes_stacks = True
    size: Any

    def __post_init__(self) -> None:
        size_pair(self.size)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        ways = (Inter.NEAREST, Inter.BILINEAR, Inter.BICUBIC, Inter.AREA)
        return Resize(self.size, ways[random.integers(len(ways))]).change(image, random)


@dataclass(frozen=True, eq=False)
class ResizedCrop(ArrayTransform):
    """Crops an image at a position and resizes the crop."""

    top: int
    left: int
    height: int
    width: int
    size: Any
    interpolation: Inter = Inter.BILINEAR

    def __post_init__(self) -> None:
        for name, least in (("top", 0), ("left", 0), ("height", 1), ("width", 1)):
            check_int(name, getattr(self, name), least)
        size_pair(self.size)
        check_inter("interpolation", self.interpolation)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        if self.interpolation == Inter.ANTIALIAS:
            raise problem(RuntimeError, "ResizedCrop: Inter.ANTIALIAS is not supported for arrays")
        check_inside("ResizedCrop", image, self.top + self.height, self.left + self.width)
        part = cropped(image, self.top, self.left, (self.height, self.width))
        return resized(part, size_pair(self.size), self.interpolation)


@dataclass(frozen=True, eq=False)
class PadToSize(ArrayTransform):
    """Pads an image to a size, with the image centered or at an offset (top, left)."""

    size: Any
    offset: Any = None
    fill_value: Any = 0
    padding_mode: Border = Border.CONSTANT

    def __post_init__(self) -> None:
        _pair("size", self.size, 1)
        if self.offset not in (None, [], ()):
            _pair("offset", self.offset, 0)
        fill_color(self.fill_value)
        check_border("padding_mode", self.padding_mode)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        check_channels("PadToSize", image, 1, 3)
        size = _pair("size", self.size, 1)
        tall, wide = size[0] - image.shape[0], size[1] - image.shape[1]
        top, left = tall // 2, wide // 2
        if self.offset not in (None, [], ()):
            top, left = _pair("offset", self.offset, 0)
        if min(tall - top, wide - left, top, left) < 0:
            raise problem(
                RuntimeError,
                "PadToSize: the image exceeds the size",
                got=f"an image of {image.shape[:2]} at {(top, left)} in {size}",
            )
        sides = (left, top, wide - left, tall - top)
        return padded(image, sides, self.fill_value, self.padding_mode)


def mirrored(image: np.ndarray) -> np.ndarray:
    """Flip an image horizontally."""
    known = image.dtype in (np.uint8, np.uint16, np.float32, np.float64)
    if cv2 is None or not known or (image.ndim > 2 and image.shape[2] > _MOST_CHANNELS):
        return np.ascontiguousarray(image[:, ::-1])
    return cv2.flip(image, 1).reshape(image.shape)


def check_inside(owner: str, image: np.ndarray, bottom: int, right: int) -> None:
    """Check that a crop lies inside the image."""
    if bottom > image.shape[0] or right > image.shape[1]:
        raise problem(
            RuntimeError,
            f"{owner}: the crop exceeds the image",
            got=f"a crop that extends to ({bottom}, {right})",
            expected=f"at most {image.shape[:2]}, the size of the image",
        )


def _pair(argument: str, value: Any, least: int) -> tuple[int, int]:
    """A pair of ints; a single int counts for both."""
    pair = (value, value) if is_int(value) else value
    if not isinstance(pair, (list, tuple)):
        raise wrong_type(argument, value, "int, list or tuple")
    if len(pair) != 2:
        raise problem(ValueError, f"{argument}: must be a pair", got=repr(value))
    return check_int(argument, pair[0], least), check_int(argument, pair[1], least)

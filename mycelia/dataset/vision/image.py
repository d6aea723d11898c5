"""Base classes and helpers of image transforms: argument checks, sizes, padding."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_int, wrong_type
from mycelia.dataset.transforms.transform import Transform
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.options import Border

MOST = 16777216  # limit of sizes, factors, and angles
_MODES: dict[Border, Any] = {mode: mode.value for mode in Border}


@dataclass(frozen=True, eq=False)
class ImageTransform(Transform):
    """Base class of transforms of images [H, W] or [H, W, C]; PIL images stay PIL images."""

    def checked(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) or P.is_pillow(value):
            return value
        raise problem(
            TypeError,
            f"{type(self).__name__}: requires an array or a Pillow image",
            got=type(value).__name__,
            fix="Decode() for encoded data, np.array(...) for lists",
        )

    takes_stacks: ClassVar[bool] = False  # whether [..., H, W, C] is transformed image by image

    def apply(self, value: Any, random: Any) -> Any:
        if type(value) is np.ndarray and value.ndim == 3 and value.dtype.kind not in "USO":
            return self.change(value, random)  # the most frequent case
        if P.is_pillow(value):
            return self.change_pillow(value, random)
        if self.takes_stacks and np.ndim(value) > 3:
            images = value.reshape(-1, *value.shape[-3:])
            made = np.stack([self.apply(image, deepcopy(random)) for image in images])
            return made.reshape(*value.shape[:-3], *made.shape[1:])
        return self.change(checked_image(type(self).__name__, value), random)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        """Transform an array."""
        raise NotImplementedError

    def change_pillow(self, image: Any, random: Any) -> Any:
        """Transform a PIL image."""
        return P.to_pillow(type(self).__name__, self.change(np.array(image), random))


@dataclass(frozen=True, eq=False)
class ArrayTransform(ImageTransform):
    """Base class of image transforms that return arrays, also for PIL images."""

    def change_pillow(self, image: Any, random: Any) -> np.ndarray:
        return self.apply(np.array(image), random)


@dataclass(frozen=True, eq=False)
class PillowTransform(ImageTransform):
    """Base class of transforms that accept only PIL images."""

    def apply(self, value: Any, random: Any) -> Any:
        if not P.is_pillow(value):
            raise problem(
                TypeError,
                f"{type(self).__name__}: requires a Pillow image",
                got=type(value).__name__,
                fix="Decode(to_pil=True) for encoded data, ToPIL() for arrays",
            )
        return self.change_pillow(value, random)


def checked_image(owner: str, image: Any) -> np.ndarray:
    """Check for an array that can be an image."""
    array = np.asarray(image)
    if array.ndim not in (2, 3) or array.dtype.kind in "USO":
        raise problem(
            RuntimeError,
            f"{owner}: the value is not an image",
            got=f"{array.dtype}{list(array.shape)}",
            expected="an array of [H, W] or [H, W, C]",
            fix="Decode() turns the bytes of an image file into pixels",
        )
    return array


def check_channels(owner: str, image: np.ndarray, *allowed: int) -> None:
    """Check the number of channels; [H, W] has one."""
    channels = 1 if image.ndim == 2 else image.shape[2]
    if channels not in allowed:
        raise problem(
            RuntimeError,
            f"{owner}: unsupported number of channels",
            got=f"shape {image.shape}",
            expected=" or ".join(f"{count} channels" for count in allowed),
        )


def check_bytes(owner: str, image: np.ndarray) -> None:
    """Check for an image of dtype uint8."""
    if image.dtype != np.uint8:
        raise problem(
            RuntimeError, f"{owner}: requires a uint8 image", got=str(image.dtype), fix="uint8"
        )


def saturated(values: np.ndarray, kind: np.dtype[Any]) -> np.ndarray:
    """Cast to a pixel dtype; integer dtypes round and clip."""
    if kind.kind not in "iu":
        return values.astype(kind)
    limits = np.iinfo(kind)
    return np.clip(np.rint(values), limits.min, limits.max).astype(kind)


def size_pair(size: Any) -> tuple[int, int]:
    """A size as (height, width); a single number counts for both."""
    if is_int(size):
        check_int("size", size, 1, MOST)
        return int(size), int(size)
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise problem(
            TypeError,
            "size: must be an int or a pair of ints",
            got=repr(size),
            expected="n, or (height, width)",
        )
    for part in size:
        check_int("size", part, 1, MOST)
    return int(size[0]), int(size[1])


def padding_sides(padding: Any) -> tuple[int, int, int, int]:
    """A padding as (left, top, right, bottom)."""
    if is_int(padding):
        check_int("padding", padding, 0)
        return (int(padding),) * 4
    if not isinstance(padding, (list, tuple)):
        raise problem(
            TypeError,
            "padding: wrong type",
            got=repr(padding),
            expected="an int, or a tuple or list of 2 or 4 ints",
        )
    if len(padding) not in (2, 4):
        raise problem(
            ValueError,
            "padding: wrong number of sides",
            got=repr(padding),
            expected="(left and right, top and bottom), or (left, top, right, bottom)",
        )
    for side in padding:
        check_int("padding", side, 0)
    left, top, right, bottom = (*padding, *padding) if len(padding) == 2 else padding
    return left, top, right, bottom


def fill_color(value: Any) -> int | tuple[int, int, int]:
    """A color from one number or three; JSON stores three as a list."""
    if is_int(value):
        return check_int("fill_value", value, 0, 255)
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise wrong_type("fill_value", value, "int or a tuple of 3 ints")
    red, green, blue = (check_int("fill_value", part, 0, 255) for part in value)
    return red, green, blue


def padded(
    image: np.ndarray, sides: tuple[int, int, int, int], fill: Any, mode: Border
) -> np.ndarray:
    """Pad the sides of an image."""
    left, top, right, bottom = sides
    if not any(sides):
        return image
    widths = [(top, bottom), (left, right)] + [(0, 0)] * (image.ndim - 2)
    if mode != Border.CONSTANT:
        return np.pad(image, widths, mode=_MODES[mode])
    shape = (image.shape[0] + top + bottom, image.shape[1] + left + right, *image.shape[2:])
    whole = np.empty(shape, image.dtype)
    whole[...] = fill if is_int(fill) or image.shape[2:] == (3,) else fill[0]
    whole[top : top + image.shape[0], left : left + image.shape[1]] = image
    return whole


def cropped_pillow(image: Any, size: tuple[int, int]) -> Any:
    """The center crop of a PIL image; what lies outside of the image is black."""
    height, width = size
    top, left = round((image.height - height) / 2), round((image.width - width) / 2)
    return image.crop((left, top, left + width, top + height))


def cropped(image: np.ndarray, top: int, left: int, size: tuple[int, int]) -> np.ndarray:
    """A crop of the image, copied so that it does not keep the whole image in memory."""
    return np.ascontiguousarray(image[top : top + size[0], left : left + size[1]])

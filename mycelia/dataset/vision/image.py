"""What all image transforms share: images as arrays or Pillow's, sizes, paddings, checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia.core.checks import is_int
from mycelia.core.errors import problem
from mycelia.dataset.transforms.checks import check_int, wrong_type
from mycelia.dataset.transforms.transform import Transform
from mycelia.dataset.vision import pillow as P
from mycelia.dataset.vision.options import Border

_MOST = 16777216
_MODES: dict[Border, Any] = {mode: mode.value for mode in Border}


@dataclass(frozen=True, eq=False)
class ImageTransform(Transform):
    """Changes images of [H, W] or [H, W, C]; Pillow's images stay Pillow's."""

    def checked(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) or P.is_pillow(value):
            return value
        raise problem(
            TypeError,
            f"{type(self).__name__}: takes an array or a Pillow image",
            got=type(value).__name__,
            fix="Decode() for encoded data, np.array(...) for lists",
        )

    def apply(self, value: Any, random: Any) -> Any:
        if P.is_pillow(value):
            return P.to_pillow(type(self).__name__, self.change(np.array(value), random))
        return self.change(checked_image(type(self).__name__, value), random)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        """The image changed, as an array."""
        raise NotImplementedError


def checked_image(owner: str, image: Any) -> np.ndarray:
    """An array that can be an image."""
    array = np.asarray(image)
    if array.ndim not in (2, 3) or array.dtype.kind in "USO":
        raise problem(
            RuntimeError,
            f"{owner}: the value is no image",
            got=f"{array.dtype}{list(array.shape)}",
            expected="an array of [H, W] or [H, W, C]",
            fix="Decode() turns the bytes of an image file into pixels",
        )
    return array


def size_pair(size: Any) -> tuple[int, int]:
    """A size as (height, width); one number stands for both."""
    if is_int(size):
        check_int("size", size, 1, _MOST)
        return int(size), int(size)
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise problem(
            TypeError,
            "size: neither one int nor a pair",
            got=repr(size),
            expected="n, or (height, width)",
        )
    for part in size:
        check_int("size", part, 1, _MOST)
    return int(size[0]), int(size[1])


def padding_sides(padding: Any) -> tuple[int, int, int, int]:
    """A padding as (left, top, right, bottom)."""
    if is_int(padding):
        check_int("padding", padding, 0)
        return (int(padding),) * 4
    if not isinstance(padding, (list, tuple)):
        raise problem(
            TypeError,
            "padding: of a wrong type",
            got=repr(padding),
            expected="an int, or a tuple or list of 2 or 4 ints",
        )
    if len(padding) not in (2, 4):
        raise problem(
            ValueError,
            "padding: a wrong number of sides",
            got=repr(padding),
            expected="(left and right, top and bottom), or (left, top, right, bottom)",
        )
    for side in padding:
        check_int("padding", side, 0)
    left, top, right, bottom = (*padding, *padding) if len(padding) == 2 else padding
    return left, top, right, bottom


def fill_colour(value: Any) -> int | tuple[int, int, int]:
    """A colour: one number, or three."""
    if is_int(value):
        return check_int("fill_value", value, 0, 255)
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise wrong_type("fill_value", value, "int or a tuple of 3 ints")
    red, green, blue = (check_int("fill_value", part, 0, 255) for part in value)
    return red, green, blue


def padded(
    image: np.ndarray, sides: tuple[int, int, int, int], fill: Any, mode: Border
) -> np.ndarray:
    """The image with pixels added on its sides."""
    left, top, right, bottom = sides
    if not any(sides):
        return image
    widths = [(top, bottom), (left, right)] + [(0, 0)] * (image.ndim - 2)
    if mode != Border.CONSTANT:
        return np.pad(image, widths, mode=_MODES[mode])
    shape = (image.shape[0] + top + bottom, image.shape[1] + left + right, *image.shape[2:])
    whole = np.empty(shape, image.dtype)
    in_colour = image.ndim == 3 and image.shape[2] == 3
    whole[...] = fill if is_int(fill) or in_colour else fill[0]
    whole[top : top + image.shape[0], left : left + image.shape[1]] = image
    return whole


def cropped(image: np.ndarray, top: int, left: int, size: tuple[int, int]) -> np.ndarray:
    """A part of the image, copied so that it does not keep the whole."""
    return np.ascontiguousarray(image[top : top + size[0], left : left + size[1]])

"""Image resizing with the interpolations of OpenCV and Pillow."""

from __future__ import annotations

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.backends.opencv_calls import kernels
from mycelia.dataset.vision.options import Inter

# the values of cv2.INTER_NEAREST, INTER_LINEAR, INTER_CUBIC and INTER_AREA
OPENCV_FILTERS = {Inter.NEAREST: 0, Inter.BILINEAR: 1, Inter.BICUBIC: 2, Inter.AREA: 3}


def resized(image: np.ndarray, size: tuple[int, int], inter: Inter) -> np.ndarray:
    """Resize an image [H, W] or [H, W, C] to (height, width)."""
    if inter == Inter.ANTIALIAS:
        raise only_for_pillow("Resize", inter)
    if inter == Inter.PILCUBIC:
        return _by_pillow(image, size)
    if image.shape[:2] == size:
        return image
    if 0 in image.shape:
        raise problem(RuntimeError, "Resize: the image is empty", got=f"shape {image.shape}")
    with kernels("Resize", image) as cv2:
        made = cv2.resize(image, size[::-1], interpolation=OPENCV_FILTERS[inter])
    return made.reshape(*size, *image.shape[2:])


def _by_pillow(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise problem(
            RuntimeError,
            "Resize: Inter.PILCUBIC requires a uint8 image of three channels",
            got=f"{image.dtype}{list(image.shape)}",
            expected="uint8[H, W, 3]",
        )
    bicubic = P.pillow("Resize").Resampling.BICUBIC
    return np.array(P.to_pillow("Resize", image).resize(size[::-1], bicubic))


def pillow_filter(owner: str, inter: Inter) -> int:
    """Pillow's constant for an interpolation."""
    filters = P.pillow(owner).Resampling
    names = {
        Inter.NEAREST: filters.NEAREST,
        Inter.ANTIALIAS: filters.LANCZOS,
        Inter.BILINEAR: filters.BILINEAR,
        Inter.BICUBIC: filters.BICUBIC,
    }
    if inter not in names:
        raise problem(
            TypeError,
            f"{owner}: this interpolation is not supported for Pillow images",
            got=f"Inter.{inter.name}",
            expected="NEAREST, ANTIALIAS, BILINEAR or BICUBIC",
            fix="ToNumpy() before it",
        )
    return int(names[inter])


def only_for_pillow(owner: str, inter: Inter) -> TypeError:
    """The error for an interpolation that does not support arrays."""
    return problem(
        TypeError,
        f"{owner}: this interpolation only supports Pillow images",
        got=f"Inter.{inter.name} for an array",
        fix="ToPIL() before it, or another interpolation",
    )

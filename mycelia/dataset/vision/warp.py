"""Affine and perspective warps of arrays: each output pixel samples an input position.

Positions are multiples of 1/32 pixel, computed like in OpenCV 4. OpenCV 5 uses finer positions
in warpAffine; with positions passed to remap, all versions compute the same pixels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.dataset.vision.backends.opencv_calls import kernels
from mycelia.dataset.vision.options import Inter
from mycelia.dataset.vision.resample import OPENCV_FILTERS

_FINE, _COARSE = 10, 5  # fractional bits of positions during accumulation, and in the result
_FARTHEST = 2**29
_SCALAR_CHANNELS = 4  # channels of OpenCV's border color


def affine_warped(
    owner: str,
    image: np.ndarray,
    inverse: np.ndarray,
    size: tuple[int, int],
    inter: Inter,
    fill: Any,
) -> np.ndarray:
    """Warp an image by a matrix [2, 3] from output positions (x, y) to input positions."""
    bits = _FINE if inter == Inter.NEAREST else _FINE - _COARSE
    along, down = np.arange(size[1]), np.arange(size[0])
    indices = []
    for a, b, c in inverse:
        start = _whole((b * down + c) * 2**_FINE) + 2 ** (bits - 1)
        indices.append((start[:, None] + _whole(a * along * 2**_FINE)) >> bits)
    return _looked_up(owner, image, indices[0], indices[1], inter, fill)


def perspective_warped(
    owner: str, image: np.ndarray, inverse: np.ndarray, inter: Inter
) -> np.ndarray:
    """Warp an image by a matrix [3, 3] from output positions (x, y, 1) to input positions."""
    along, down = np.arange(image.shape[1]), np.arange(image.shape[0])[:, None]
    x, y, depth = (a * along + (b * down + c) for a, b, c in inverse)
    scale = 1 if inter == Inter.NEAREST else 2**_COARSE
    depth = np.divide(scale, depth, out=np.zeros_like(depth), where=depth != 0)
    return _looked_up(owner, image, _whole(x * depth), _whole(y * depth), inter, 0)


def _whole(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), -_FARTHEST, _FARTHEST).astype(np.int32)


def _looked_up(
    owner: str, image: np.ndarray, x: np.ndarray, y: np.ndarray, inter: Inter, fill: Any
) -> np.ndarray:
    _check_filter(owner, inter)
    parts = None
    if inter != Inter.NEAREST:
        mask = 2**_COARSE - 1
        parts = (((y & mask) << _COARSE) | (x & mask)).astype(np.uint16)
        x, y = x >> _COARSE, y >> _COARSE
    color = (fill,) * 3 if is_int(fill) else tuple(fill)
    filters = {**OPENCV_FILTERS, Inter.AREA: OPENCV_FILTERS[Inter.BILINEAR]}
    with kernels(owner, image) as cv2:
        indices = cv2.merge([_short(x), _short(y)])
        made = [
            cv2.remap(part, indices, parts, filters[inter], borderValue=color)
            for part in _groups(image)
        ]
    whole = made[0] if len(made) == 1 else np.concatenate([np.atleast_3d(m) for m in made], axis=2)
    return whole.reshape(*x.shape, *image.shape[2:])


def _short(indices: np.ndarray) -> np.ndarray:
    """Clip to 16 bits; positions beyond are outside of every image that OpenCV accepts."""
    limits = np.iinfo(np.int16)
    if indices.size and (indices.min() < limits.min or indices.max() > limits.max):
        indices = np.clip(indices, limits.min, limits.max)
    return indices.astype(np.int16)


def _groups(image: np.ndarray) -> list[np.ndarray]:
    """Groups of channels, as many as a border color has."""
    if image.ndim == 2 or image.shape[2] <= _SCALAR_CHANNELS:
        return [image]
    step = _SCALAR_CHANNELS
    return [
        np.ascontiguousarray(image[..., first : first + step])
        for first in range(0, image.shape[2], step)
    ]


def _check_filter(owner: str, inter: Inter) -> None:
    if inter not in OPENCV_FILTERS:
        raise problem(
            RuntimeError,
            f"{owner}: this interpolation is not supported for arrays",
            got=f"Inter.{inter.name}",
            expected="NEAREST, BILINEAR, BICUBIC or AREA",
        )


def affine_inverse(
    angle: float,
    shift: tuple[float, float],
    scale: float,
    shear: tuple[float, float],
    centre: tuple[float, float],
) -> np.ndarray:
    """From output to input positions: shear, clockwise rotation, scale, then shift."""
    turn, (lean_x, lean_y) = math.radians(angle), map(math.radians, shear)
    down = math.cos(turn - lean_y) / math.cos(lean_y)
    across = math.sin(turn - lean_y) / math.cos(lean_y)
    linear = np.array(
        [
            [math.cos(turn) - across * math.tan(lean_x), down * math.tan(lean_x) + math.sin(turn)],
            [-across, down],
        ]
    )
    return about(linear / scale, shift, centre)


def about(
    linear: np.ndarray, shift: tuple[float, float], centre: tuple[float, float]
) -> np.ndarray:
    """The matrix [2, 3] that undoes a shift and then applies [2, 2] around a center."""
    middle = np.array(centre)
    return np.column_stack([linear, linear @ -(middle + shift) + middle])


def rotation_inverse(
    angle: float, size: tuple[int, int], centre: tuple[float, float], expand: bool
) -> tuple[np.ndarray, tuple[int, int]]:
    """The matrix from output to input of a counter-clockwise rotation, and the (height, width)."""
    height, width = size
    turn = math.radians(angle)
    cosine, sine = math.cos(turn), math.sin(turn)
    shift = (0.0, 0.0)
    if expand:
        wide = float(np.float32(abs(width * cosine) + abs(height * sine)))
        tall = float(np.float32(abs(width * sine) + abs(height * cosine)))
        shift = (wide / 2 - width / 2, tall / 2 - height / 2)
        size = (round(tall), round(wide))
    return about(np.array([[cosine, -sine], [sine, cosine]]), shift, centre), size

"""Images in another size: each new pixel is a weighted sum of old ones, axis by axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.dataset.vision import pillow as P
from mycelia.dataset.vision.options import Inter

_SHARPNESS = -0.75  # of cubic interpolation, as in Keys, "Cubic convolution interpolation", 1981
Taps = tuple[np.ndarray, np.ndarray]


def resized(image: np.ndarray, size: tuple[int, int], inter: Inter) -> np.ndarray:
    """An image of [H, W] or [H, W, C] in the size (height, width)."""
    if image.shape[:2] == size:
        return image
    if inter in (Inter.ANTIALIAS, Inter.PILCUBIC):
        return _by_pillow(image, size, inter)
    if inter == Inter.NEAREST:
        rows, columns = (
            (np.arange(new) * (old / new)).astype(np.int64) for old, new in zip(image.shape, size)
        )
        return image[rows[:, None], columns]
    if inter == Inter.BILINEAR and image.dtype == np.uint8:
        return _bilinear_bytes(image, size)
    kind = np.float64 if image.dtype == np.float64 else np.float32
    made = image
    for axis in (0, 1):
        made = _along(made, axis, _taps(image.shape[axis], size[axis], inter), kind)
    return _in_type_of(image, made)


def _bilinear_bytes(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Bilinear in whole numbers: weights in 256ths, so that each sum fits in 16 bits."""
    height, width = image.shape[:2]
    channels = image.shape[2] if image.ndim == 3 else 1
    rows, weights = _taps(height, size[0], Inter.BILINEAR)
    part = np.rint(weights[:, 1:] * 256).astype(np.uint16)
    made = _blend(image.reshape(height, -1), rows, part, axis=0)
    columns, weights = _taps(width, size[1], Inter.BILINEAR)
    part = np.repeat(np.rint(weights[:, 1] * 256).astype(np.uint16), channels)
    places = (columns[:, None, :] * channels + np.arange(channels)[:, None]).reshape(-1, 2)
    return _blend(made, places, part, axis=1).reshape(*size, *image.shape[2:])


def _blend(image: np.ndarray, places: np.ndarray, part: np.ndarray, axis: int) -> np.ndarray:
    made = image.take(places[:, 0], axis).astype(np.uint16)
    made *= 256 - part
    other = image.take(places[:, 1], axis).astype(np.uint16)
    other *= part
    made += other
    made += 128
    made >>= 8
    return made.astype(np.uint8)


def _taps(old: int, new: int, inter: Inter) -> Taps:
    """For each new place, the old places it looks at and their weights."""
    scale = old / new
    if inter == Inter.AREA and scale > 1:
        return _area_taps(old, new, scale)
    centre = (np.arange(new) + 0.5) * scale - 0.5
    low = np.floor(centre).astype(np.int64)
    part = (centre - low)[:, None]
    if inter == Inter.BICUBIC:
        offsets = np.arange(-1, 3)
        weights = _cubic(np.abs(part - offsets))
    else:
        offsets = np.arange(2)
        weights = np.concatenate([1 - part, part], axis=1)
    return np.clip(low[:, None] + offsets, 0, old - 1), weights


def _area_taps(old: int, new: int, scale: float) -> Taps:
    start = np.arange(new) * scale
    places = np.floor(start).astype(np.int64)[:, None] + np.arange(int(np.ceil(scale)) + 1)
    ends = np.minimum(places + 1, (start + scale)[:, None])
    weights = np.clip(ends - np.maximum(places, start[:, None]), 0, None) / scale
    return np.clip(places, 0, old - 1), weights


def _cubic(distance: np.ndarray) -> np.ndarray:
    a = _SHARPNESS
    near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    far = a * distance**3 - 5 * a * distance**2 + 8 * a * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


def _along(image: np.ndarray, axis: int, taps: Taps, kind: Any) -> np.ndarray:
    places, weights = taps
    shape = [1] * image.ndim
    shape[axis] = -1
    parts = (
        np.multiply(
            image.take(places[:, k], axis), weights[:, k].astype(kind).reshape(shape), dtype=kind
        )
        for k in range(places.shape[1])
    )
    total = next(parts)
    for part in parts:
        total += part
    return total


def _in_type_of(image: np.ndarray, wide: np.ndarray) -> np.ndarray:
    if image.dtype.kind not in "iu":
        return np.ascontiguousarray(wide.astype(image.dtype))
    limits = np.iinfo(image.dtype)
    return np.clip(np.rint(wide), limits.min, limits.max).astype(image.dtype)


def _by_pillow(image: np.ndarray, size: tuple[int, int], inter: Inter) -> np.ndarray:
    made = P.to_pillow("Resize", image).resize((size[1], size[0]), pillow_filter(inter))
    return np.array(made).reshape(*size, *image.shape[2:])


def pillow_filter(inter: Inter) -> int:
    """Pillow's name for an interpolation."""
    filters = P.pillow("Resize").Resampling
    return {
        Inter.NEAREST: filters.NEAREST,
        Inter.ANTIALIAS: filters.LANCZOS,
        Inter.BILINEAR: filters.BILINEAR,
        Inter.BICUBIC: filters.BICUBIC,
        Inter.AREA: filters.BOX,
        Inter.PILCUBIC: filters.BICUBIC,
    }[inter]

"""Tone curve transforms: invert, equalize, autocontrast, solarize, posterize."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int, is_number
from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_int, check_number, wrong_type
from mycelia.dataset.vision.backends.opencv_calls import kernels
from mycelia.dataset.vision.backends.pillow_enhance import operated
from mycelia.dataset.vision.image import (
    ArrayTransform,
    ImageTransform,
    check_bytes,
    check_channels,
    saturated,
)

_SHADES = np.arange(256)


@dataclass(frozen=True, eq=False)
class Invert(ImageTransform):
    """Inverts a uint8 image."""

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return inverted(image)


@dataclass(frozen=True, eq=False)
class RandomInvert(ArrayTransform):
    """Inverts an image with a probability."""

    is_random = True
    prob: float = 0.5

    def __post_init__(self) -> None:
        check_number("prob", self.prob, 0.0, 1.0)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return inverted(image) if random.random() < self.prob else image


@dataclass(frozen=True, eq=False)
class Equalize(ImageTransform):
    """Equalizes the histogram of each channel."""

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return equalized("Equalize", image)

    def change_pillow(self, image: Any, random: Any) -> Any:
        return operated("Equalize", "equalize", image)


@dataclass(frozen=True, eq=False)
class RandomEqualize(ArrayTransform):
    """Equalizes the histogram of each channel with a probability."""

    is_random = True
    prob: float = 0.5

    def __post_init__(self) -> None:
        check_number("prob", self.prob, 0.0, 1.0)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return equalized("RandomEqualize", image) if random.random() < self.prob else image


@dataclass(frozen=True, eq=False)
class AutoContrast(ImageTransform):
    """Stretches each channel to the full range; `cutoff` percent at both ends are cut off."""

    cutoff: float = 0.0
    ignore: Any = None

    def __post_init__(self) -> None:
        _check_contrast(self.cutoff, self.ignore)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return stretched("AutoContrast", image, self.cutoff, self.ignore)

    def change_pillow(self, image: Any, random: Any) -> Any:
        return operated("AutoContrast", "autocontrast", image, self.cutoff, self.ignore)


@dataclass(frozen=True, eq=False)
class RandomAutoContrast(ArrayTransform):
    """Stretches each channel to the full range with a probability."""

    is_random = True
    cutoff: float = 0.0
    ignore: Any = None
    prob: float = 0.5

    def __post_init__(self) -> None:
        _check_contrast(self.cutoff, self.ignore)
        check_number("prob", self.prob, 0.0, 1.0)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        if random.random() >= self.prob:
            return image
        return stretched("RandomAutoContrast", image, self.cutoff, self.ignore)


@dataclass(frozen=True, eq=False)
class Solarize(ArrayTransform):
    """Inverts the values between two thresholds, or from one threshold upwards."""

    threshold: Any

    def __post_init__(self) -> None:
        self._range()

    def _range(self) -> tuple[float, float]:
        pair = (self.threshold, self.threshold) if is_number(self.threshold) else self.threshold
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise wrong_type("threshold", self.threshold, "a number or a pair of numbers")
        return _rising("threshold", tuple(check_number("threshold", p, 0, 255) for p in pair))

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return solarized("Solarize", image, *self._range())


@dataclass(frozen=True, eq=False)
class RandomSolarize(ArrayTransform):
    """Inverts the values between two random thresholds."""

    is_random = True
    threshold: Any = (0, 255)

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, tuple):
            raise wrong_type("threshold", self.threshold, "tuple")
        if len(self.threshold) != 2:
            raise problem(
                ValueError,
                "threshold: must be a pair",
                got=repr(self.threshold),
                expected="(min, max)",
            )
        _rising("threshold", tuple(check_int("threshold", part, 0, 255) for part in self.threshold))

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        low, high = self.threshold
        drawn = np.sort(random.integers(low, high + 1, size=2))
        return solarized("RandomSolarize", image, *drawn)


@dataclass(frozen=True, eq=False)
class Posterize(ArrayTransform):
    """Keeps only the most significant bits of each value."""

    bits: int

    def __post_init__(self) -> None:
        check_int("bits", self.bits, 0, 8)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return posterized("Posterize", image, self.bits)


@dataclass(frozen=True, eq=False)
class RandomPosterize(ArrayTransform):
    """Keeps a random number of the most significant bits of each value."""

    is_random = True
    bits: Any = (8, 8)

    def __post_init__(self) -> None:
        self._range()

    def _range(self) -> tuple[int, int]:
        pair = (self.bits, self.bits) if is_int(self.bits) else self.bits
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise wrong_type("bits", self.bits, "an int or a pair of ints")
        return _rising("bits", tuple(check_int("bits", part, 1, 8) for part in pair))

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        low, high = self._range()
        return posterized("RandomPosterize", image, int(random.integers(low, high + 1)))


def inverted(image: np.ndarray) -> np.ndarray:
    """255 minus each value."""
    if image.dtype == np.int8:
        return saturated(255 - image.astype(np.int64), image.dtype)
    return 255 - image


def equalized(owner: str, image: np.ndarray) -> np.ndarray:
    """Equalize the histogram of each channel."""
    return _by_histogram(owner, image, _equal_shades)


def stretched(owner: str, image: np.ndarray, cutoff: float, ignore: Any) -> np.ndarray:
    """Stretch each channel to the full range, without the cut-off and ignored values."""
    ignored = [] if ignore is None else [ignore] if is_int(ignore) else list(ignore)
    return _by_histogram(owner, image, lambda counts: _stretched_shades(counts, cutoff, ignored))


def solarized(owner: str, image: np.ndarray, low: float, high: float) -> np.ndarray:
    """Invert the values from low to high; if both are equal, all values from there upwards."""
    check_channels(owner, image, 1, 3)
    high = float("inf") if low == high else high
    if image.dtype == np.uint8:
        return looked_up(owner, image, _solarized(_SHADES, low, high).astype(np.uint8))
    return saturated(_solarized(image, low, high), image.dtype)


def _solarized(values: np.ndarray, low: float, high: float) -> np.ndarray:
    return np.where((values >= low) & (values <= high), 255.0 - values, values)


def posterized(owner: str, image: np.ndarray, bits: int) -> np.ndarray:
    """Keep only the most significant bits of each byte."""
    check_bytes(owner, image)
    return image & np.uint8(256 - 2 ** (8 - bits) if bits else 0)


def looked_up(owner: str, image: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Replace each byte with a lookup table of [256], or of [256, C] per channel."""
    with kernels(owner, image) as cv2:
        return cv2.LUT(image, table.reshape(1, 256, -1)).reshape(image.shape)


def _by_histogram(owner: str, image: np.ndarray, shades: Any) -> np.ndarray:
    check_bytes(owner, image)
    check_channels(owner, image, 1, 3)
    channels = 1 if image.ndim == 2 else image.shape[2]
    with kernels(owner, image) as cv2:
        counts = [
            cv2.calcHist([image], [channel], None, [256], [0, 256]).ravel().astype(np.int64)
            for channel in range(channels)
        ]
    return looked_up(owner, image, np.stack([shades(part) for part in counts], axis=1))


def _equal_shades(counts: np.ndarray) -> np.ndarray:
    darkest, size = counts[np.flatnonzero(counts)[0]], counts.sum()
    if darkest == size:
        return _SHADES.astype(np.uint8)
    above = np.clip(np.cumsum(counts) - darkest, 0, None)
    scale = np.float32(255) / np.float32(size - darkest)
    return np.rint(above.astype(np.float32) * scale).astype(np.uint8)


def _stretched_shades(counts: np.ndarray, cutoff: float, ignored: list[int]) -> np.ndarray:
    counts[ignored] = 0
    cut = int(counts.sum() * cutoff // 100)
    left = np.flatnonzero(np.cumsum(counts) > cut)
    right = np.flatnonzero(np.cumsum(counts[::-1]) > cut)
    if not len(left) or not len(right) or left[0] >= 255 - right[0]:
        return _SHADES.astype(np.uint8)
    low, high = left[0], 255 - right[0]
    scale = np.float32(255) / np.float32(high - low)
    moved = _SHADES.astype(np.float32) * scale + np.float32(-low) * scale
    return np.clip(moved.astype(np.int64), 0, 255).astype(np.uint8)


def _check_contrast(cutoff: Any, ignore: Any) -> None:
    if check_number("cutoff", cutoff, 0, 50) == 50:
        raise problem(ValueError, "cutoff: out of range", got="50", expected="below 50")
    if ignore is None:
        return
    if not is_int(ignore) and not isinstance(ignore, (list, tuple)):
        raise wrong_type("ignore", ignore, "int, or a list or tuple of ints")
    for shade in [ignore] if is_int(ignore) else ignore:
        check_int("ignore", shade, 0, 255)


def _rising(argument: str, pair: tuple[Any, ...]) -> tuple[Any, Any]:
    if pair[0] > pair[1]:
        raise problem(
            ValueError,
            f"{argument}: the minimum exceeds the maximum",
            got=repr(pair),
            expected="(least, most)",
        )
    return pair[0], pair[1]

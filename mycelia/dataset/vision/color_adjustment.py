"""Adjustments of brightness, contrast, saturation, hue, gamma, and sharpness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core.checks import is_number
from mycelia.dataset.transforms.checks import check_number, check_range, wrong_type
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.backends.opencv_calls import kernels
from mycelia.dataset.vision.backends.pillow_enhance import enhanced, hue_shifted
from mycelia.dataset.vision.image import (
    MOST,
    ArrayTransform,
    ImageTransform,
    check_channels,
    saturated,
)
from mycelia.dataset.vision.tone_curves import looked_up

_SMOOTH = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / 13
_ALMOST_256 = 256 - 1e-3


@dataclass(frozen=True, eq=False)
class _Adjustment(ImageTransform):
    """Base class: adjusts one property of an image by the factor in the first field."""

    aspect: ClassVar[str]
    limits: ClassVar[tuple[float, float]] = (0, MOST)

    def __post_init__(self) -> None:
        check_number(fields(self)[0].name, self._factor(), *self.limits)

    def _factor(self) -> Any:
        return getattr(self, fields(self)[0].name)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return adjusted(type(self).__name__, self.aspect, image, self._factor())

    def change_pillow(self, image: Any, random: Any) -> Any:
        return adjusted(type(self).__name__, self.aspect, image, self._factor())


@dataclass(frozen=True, eq=False)
class AdjustBrightness(_Adjustment):
    """Multiplies every value by a factor."""

    aspect = "brightness"
    brightness_factor: float


@dataclass(frozen=True, eq=False)
class AdjustContrast(_Adjustment):
    """Increases or decreases the distance from the mean gray value."""

    aspect = "contrast"
    contrast_factor: float


@dataclass(frozen=True, eq=False)
class AdjustSaturation(_Adjustment):
    """Increases or decreases color saturation; 0 gives grayscale."""

    aspect = "saturation"
    saturation_factor: float


@dataclass(frozen=True, eq=False)
class AdjustHue(_Adjustment):
    """Shifts hues by a fraction of the color circle."""

    aspect = "hue"
    limits = (-0.5, 0.5)
    hue_factor: float


@dataclass(frozen=True, eq=False)
class AdjustSharpness(ArrayTransform):
    """Sharpens an image, or smooths it if the factor is below 1."""

    sharpness_factor: float

    def __post_init__(self) -> None:
        check_number("sharpness_factor", self.sharpness_factor, 0, MOST)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return adjusted("AdjustSharpness", "sharpness", image, self.sharpness_factor)


@dataclass(frozen=True, eq=False)
class AdjustGamma(ImageTransform):
    """Gamma correction: v in [0, 1] becomes gain * v**gamma; floats become (gain * v)**gamma."""

    takes_stacks = True
    gamma: float
    gain: float = 1

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, 0, MOST)
        if not is_number(self.gain):
            raise wrong_type("gain", self.gain, "float or int")

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        check_channels("AdjustGamma", image, 1, 3)
        if image.dtype.kind == "f":
            powers = (image.astype(np.float32) * np.float32(self.gain)) ** np.float32(self.gamma)
            return np.clip(powers, 0, 1)
        if image.dtype == np.uint8:
            return looked_up("AdjustGamma", image, self._shades(np.arange(256)).astype(np.uint8))
        return self._shades(image).astype(image.dtype)

    def _shades(self, values: np.ndarray) -> np.ndarray:
        return np.clip(_ALMOST_256 * self.gain * (values / 255) ** self.gamma, 0, 255)


@dataclass(frozen=True, eq=False)
class _RandomAdjustment(ImageTransform):
    """Base class: adjusts one property of an image by a random factor."""

    is_random = True
    aspect: ClassVar[str]
    degrees: Any = (0.1, 1.9)

    def __post_init__(self) -> None:
        check_range("degrees", self.degrees, 0, MOST)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        factor = float(random.uniform(*self.degrees))
        return adjusted(type(self).__name__, self.aspect, image, factor)

    def change_pillow(self, image: Any, random: Any) -> Any:
        factor = float(random.uniform(*self.degrees))
        return adjusted(type(self).__name__, self.aspect, image, factor)


@dataclass(frozen=True, eq=False)
class RandomColor(_RandomAdjustment):
    """Changes color saturation by a random factor; 0 gives grayscale."""

    aspect = "saturation"


@dataclass(frozen=True, eq=False)
class RandomSharpness(_RandomAdjustment):
    """Sharpens or smooths an image by a random factor."""

    aspect = "sharpness"


@dataclass(frozen=True, eq=False)
class RandomAdjustSharpness(ArrayTransform):
    """Sharpens or smooths an image with a probability."""

    is_random = True
    degree: float
    prob: float = 0.5

    def __post_init__(self) -> None:
        check_number("degree", self.degree, 0, MOST)
        check_number("prob", self.prob, 0.0, 1.0)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        if random.random() >= self.prob:
            return image
        return adjusted("RandomAdjustSharpness", "sharpness", image, self.degree)


@dataclass(frozen=True, eq=False)
class RandomColorAdjust(ImageTransform):
    """Changes brightness, contrast, saturation, and hue by random factors, in a random order."""

    is_random = True
    brightness: Any = (1, 1)
    contrast: Any = (1, 1)
    saturation: Any = (1, 1)
    hue: Any = (0, 0)

    def __post_init__(self) -> None:
        for name in self.parameters():
            self._range(name)

    def _range(self, name: str) -> tuple[float, float]:
        value = getattr(self, name)
        is_hue = name == "hue"
        if is_number(value):
            high = check_number(name, value, 0, 0.5 if is_hue else float("inf"))
            return (-high, high) if is_hue else (max(0.0, 1 - high), 1 + high)
        return check_range(name, value, -0.5 if is_hue else 0, 0.5 if is_hue else float("inf"))

    def _drawn(self, random: Any) -> list[tuple[str, float]]:
        """The properties in a random order, each with a random factor."""
        drawn = [(name, float(random.uniform(*self._range(name)))) for name in self.parameters()]
        return [drawn[index] for index in random.permutation(len(drawn))]

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        check_channels("RandomColorAdjust", image, 3)
        for name, factor in self._drawn(random):
            if factor != (0 if name == "hue" else 1):
                image = adjusted("RandomColorAdjust", name, image, factor)
        return image

    def change_pillow(self, image: Any, random: Any) -> Any:
        for name, factor in self._drawn(random):
            image = adjusted("RandomColorAdjust", name, image, factor)
        return image


def adjusted(owner: str, aspect: str, image: Any, factor: float) -> Any:
    """Adjust one property of an array or a PIL image."""
    if not P.is_pillow(image):
        return _ARRAYS[aspect](owner, image, np.float32(factor))
    if aspect == "hue":
        return hue_shifted(owner, image, factor)
    return enhanced(owner, _PILLOW[aspect], image, factor)


def _brightened(owner: str, image: np.ndarray, factor: np.float32) -> np.ndarray:
    check_channels(owner, image, 1, 3)
    if image.dtype != np.uint8:
        return saturated(image * factor, image.dtype)
    with kernels(owner, image) as cv2:
        return cv2.convertScaleAbs(image, alpha=float(factor)).reshape(image.shape)


def _contrasted(owner: str, image: np.ndarray, factor: np.float32) -> np.ndarray:
    mean = float(_gray(owner, image).mean())
    mean = mean if image.dtype.kind == "f" else int(mean + 0.5)
    return _blended(owner, image, np.full_like(image, mean), factor)


def _saturated(owner: str, image: np.ndarray, factor: np.float32) -> np.ndarray:
    gray = _gray(owner, image)
    with kernels(owner, image) as cv2:
        return _blended(owner, image, cv2.merge([gray, gray, gray]), factor)


def _shifted_hue(owner: str, image: np.ndarray, turn: np.float32) -> np.ndarray:
    """Shift hues; bytes count hues in 256ths of the color circle, floats in degrees."""
    check_channels(owner, image, 3)
    with kernels(owner, image) as cv2:
        hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV_FULL)
        if image.dtype == np.uint8:
            hsv[..., 0] += np.uint8(int(turn * 255) % 256)
        else:
            hsv[..., 0] = (hsv[..., 0] + 360 * turn) % 360
        return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB_FULL)


def _sharpened(owner: str, image: np.ndarray, factor: np.float32) -> np.ndarray:
    """Extrapolate from a smoothed image; border pixels stay unchanged."""
    smooth = image.copy()
    with kernels(owner, image) as cv2:
        inner = cv2.filter2D(image, -1, _SMOOTH).reshape(image.shape)
    smooth[1:-1, 1:-1] = inner[1:-1, 1:-1]
    return _blended(owner, image, smooth, factor)


def _gray(owner: str, image: np.ndarray) -> np.ndarray:
    check_channels(owner, image, 3)
    with kernels(owner, image) as cv2:
        return cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)


def _blended(owner: str, image: np.ndarray, other: np.ndarray, factor: np.float32) -> np.ndarray:
    """factor * image + (1 - factor) * other, in the image's dtype."""
    with kernels(owner, image) as cv2:
        return cv2.addWeighted(image, float(factor), other, float(1 - factor), 0).reshape(
            image.shape
        )


_ARRAYS: dict[str, Callable[[str, np.ndarray, np.float32], np.ndarray]] = {
    "brightness": _brightened,
    "contrast": _contrasted,
    "saturation": _saturated,
    "hue": _shifted_hue,
    "sharpness": _sharpened,
}
_PILLOW = {
    "brightness": "Brightness",
    "contrast": "Contrast",
    "saturation": "Color",
    "sharpness": "Sharpness",
}

"""Automatic augmentation: AutoAugment, RandAugment, and TrivialAugment."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_int, wrong_type
from mycelia.dataset.vision.affine import Affine, Rotate
from mycelia.dataset.vision.color_adjustment import (
    AdjustBrightness,
    AdjustContrast,
    AdjustSaturation,
    AdjustSharpness,
)
from mycelia.dataset.vision.image import MOST, ArrayTransform, ImageTransform, fill_color
from mycelia.dataset.vision.options import Inter, check_inter
from mycelia.dataset.vision.policies import SUBPOLICIES, AutoAugmentPolicy
from mycelia.dataset.vision.tone_curves import AutoContrast, Equalize, Invert, Posterize, Solarize

_INTERS = (Inter.NEAREST, Inter.BILINEAR, Inter.BICUBIC, Inter.AREA)
_POLICY_STEPS = 10  # AutoAugment's tables have magnitudes from 0 to 9


@dataclass(frozen=True)
class _MagnitudeRange:
    """The magnitudes of an operation, from the first step to the last."""

    first: float
    last: float
    both_ways: bool = True
    whole: bool = False

    def at(self, step: int, steps: int, random: Any) -> float:
        """The magnitude at a step; for signed operations, half of them are negative."""
        value = self.first + (self.last - self.first) * step / (steps - 1)
        if self.whole:
            return math.ceil(value - 0.5)
        return -value if self.both_ways and random.random() < 0.5 else value


def _strengths(
    shear: float, shift: tuple[float, float], turn: float, color: float, bits: int
) -> dict[str, _MagnitudeRange]:
    """The magnitude ranges of all operations; translations are fractions of (width, height)."""
    return {
        "ShearX": _MagnitudeRange(0, shear),
        "ShearY": _MagnitudeRange(0, shear),
        "TranslateX": _MagnitudeRange(0, shift[0]),
        "TranslateY": _MagnitudeRange(0, shift[1]),
        "Rotate": _MagnitudeRange(0, turn),
        "Brightness": _MagnitudeRange(0, color),
        "Color": _MagnitudeRange(0, color),
        "Contrast": _MagnitudeRange(0, color),
        "Sharpness": _MagnitudeRange(0, color),
        "Posterize": _MagnitudeRange(8, bits, both_ways=False, whole=True),
        "Solarize": _MagnitudeRange(255, 0, both_ways=False),
    }


_USUAL = _strengths(0.3, (150 / 331, 150 / 331), 30, 0.9, 4)
_POLICY = {**_USUAL, "Solarize": _MagnitudeRange(256, 0, both_ways=False)}
_NAMES = ("Identity", *_USUAL, "AutoContrast", "Equalize")


def _wide(image: np.ndarray) -> dict[str, _MagnitudeRange]:
    """The magnitude ranges of TrivialAugment, which translates by up to 32 pixels."""
    height, width = image.shape[:2]
    return _strengths(0.99, (min(32 / width, 1), min(32 / height, 1)), 135, 0.99, 2)


@dataclass(frozen=True)
class _PixelOptions:
    """How operations interpolate, and how they fill uncovered pixels."""

    owner: str
    interpolation: Inter
    fill_value: Any

    def __post_init__(self) -> None:
        check_inter("interpolation", self.interpolation)
        if self.interpolation not in _INTERS:
            raise problem(
                RuntimeError,
                f"{self.owner}: unsupported interpolation",
                got=self.interpolation.name,
                expected="NEAREST, BILINEAR, BICUBIC or AREA",
            )
        if isinstance(self.fill_value, list):
            raise wrong_type("fill_value", self.fill_value, "int or a tuple of 3 ints")
        fill_color(self.fill_value)

    def sheared(self, x: float, y: float) -> ImageTransform:
        shear = (math.degrees(x), math.degrees(y))
        return Affine(0.0, (0.0, 0.0), 1.0, shear, self.interpolation, self.fill_value)

    def shifted(self, x: float, y: float) -> ImageTransform:
        return Affine(0.0, (x, y), 1.0, (0.0, 0.0), self.interpolation, self.fill_value)

    def turned(self, angle: float) -> ImageTransform:
        fill = self.fill_value[::-1] if isinstance(self.fill_value, tuple) else self.fill_value
        return Rotate(angle, self.interpolation, fill_value=fill)  # expects BGR


_Make = Callable[[float, _PixelOptions], ImageTransform]
_OPERATIONS: dict[str, _Make] = {
    "ShearX": lambda strength, look: look.sheared(strength, 0),
    "ShearY": lambda strength, look: look.sheared(0, strength),
    "TranslateX": lambda strength, look: look.shifted(strength, 0),
    "TranslateY": lambda strength, look: look.shifted(0, strength),
    "Rotate": lambda strength, look: look.turned(strength),
    "Brightness": lambda strength, look: AdjustBrightness(1 + strength),
    "Color": lambda strength, look: AdjustSaturation(1 + strength),
    "Contrast": lambda strength, look: AdjustContrast(1 + strength),
    "Sharpness": lambda strength, look: AdjustSharpness(1 + strength),
    "Posterize": lambda strength, look: Posterize(int(strength)),
    "Solarize": lambda strength, look: Solarize((strength, 255.0)),
    "AutoContrast": lambda strength, look: AutoContrast(),
    "Equalize": lambda strength, look: Equalize(),
    "Invert": lambda strength, look: Invert(),
}


@dataclass(frozen=True, eq=False)
class _Augment(ArrayTransform):
    """Applies named operations in order to a uint8 image of three channels."""

    is_random = True

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise problem(
                RuntimeError,
                f"{type(self).__name__}: requires a uint8 image of three channels",
                got=f"{image.dtype}{list(image.shape)}",
                expected="uint8[H, W, 3]",
            )
        for name, strength in self.chosen(image, random):
            if name != "Identity":
                image = _OPERATIONS[name](strength, self.look()).apply(image, None)
        return image

    def chosen(self, image: np.ndarray, random: Any) -> list[tuple[str, float]]:
        """The names and magnitudes of the operations for this image."""
        raise NotImplementedError

    def look(self) -> _PixelOptions:
        """The interpolation and fill of the operations."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class AutoAugment(_Augment):
    """Applies a random pair of operations from the policy for ImageNet, CIFAR-10, or SVHN.

    After Cubuk et al., "AutoAugment: Learning augmentation policies from data", 2018.
    """

    policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET
    interpolation: Inter = Inter.NEAREST
    fill_value: Any = 0

    def __post_init__(self) -> None:
        if not isinstance(self.policy, AutoAugmentPolicy):
            raise wrong_type("policy", self.policy, "AutoAugmentPolicy")
        self.look()

    def look(self) -> _PixelOptions:
        return _PixelOptions("AutoAugment", self.interpolation, self.fill_value)

    def chosen(self, image: np.ndarray, random: Any) -> list[tuple[str, float]]:
        pairs = SUBPOLICIES[self.policy]
        return [
            (name, _strength(_POLICY, name, step, _POLICY_STEPS, random))
            for name, prob, step in pairs[int(random.integers(len(pairs)))]
            if random.random() < prob
        ]

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "policy": list(AutoAugmentPolicy).index(self.policy)}


@dataclass(frozen=True, eq=False)
class RandAugment(_Augment):
    """Applies `num_ops` random operations with one magnitude.

    After Cubuk et al., "RandAugment: Practical automated data augmentation with a reduced search
    space", 2019.
    """

    num_ops: int = 2
    magnitude: int = 9
    num_magnitude_bins: int = 31
    interpolation: Inter = Inter.NEAREST
    fill_value: Any = 0

    def __post_init__(self) -> None:
        check_int("num_ops", self.num_ops, 0, MOST)
        check_int("num_magnitude_bins", self.num_magnitude_bins, 2, MOST)
        check_int("magnitude", self.magnitude, 0, self.num_magnitude_bins - 1)
        self.look()

    def look(self) -> _PixelOptions:
        return _PixelOptions("RandAugment", self.interpolation, self.fill_value)

    def chosen(self, image: np.ndarray, random: Any) -> list[tuple[str, float]]:
        step, steps = self.magnitude, self.num_magnitude_bins
        names = (_NAMES[position] for position in random.integers(len(_NAMES), size=self.num_ops))
        return [(name, _strength(_USUAL, name, step, steps, random)) for name in names]


@dataclass(frozen=True, eq=False)
class TrivialAugmentWide(_Augment):
    """Applies one random operation with a random magnitude from a wide range.

    After Mueller and Hutter, "TrivialAugment: Tuning-free yet state-of-the-art data
    augmentation", 2021.
    """

    num_magnitude_bins: int = 31
    interpolation: Inter = Inter.NEAREST
    fill_value: Any = 0

    def __post_init__(self) -> None:
        check_int("num_magnitude_bins", self.num_magnitude_bins, 2, MOST)
        self.look()

    def look(self) -> _PixelOptions:
        return _PixelOptions("TrivialAugmentWide", self.interpolation, self.fill_value)

    def chosen(self, image: np.ndarray, random: Any) -> list[tuple[str, float]]:
        name = _NAMES[int(random.integers(len(_NAMES)))]
        step = int(random.integers(self.num_magnitude_bins))
        return [(name, _strength(_wide(image), name, step, self.num_magnitude_bins, random))]


def _strength(
    strengths: dict[str, _MagnitudeRange], name: str, step: int, steps: int, random: Any
) -> float:
    return strengths[name].at(step, steps, random) if name in strengths else 0.0

"""Color transforms: grayscale, color conversion, and lighting noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_number, wrong_type
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.backends.opencv_calls import kernels
from mycelia.dataset.vision.image import (
    MOST,
    ArrayTransform,
    ImageTransform,
    PillowTransform,
    check_channels,
    saturated,
)
from mycelia.dataset.vision.options import ConvertMode

# principal components of ImageNet's pixels and their standard deviations
_COLOR_SPACES = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)
_STRENGTHS = np.array([55.46, 4.794, 1.148])


@dataclass(frozen=True, eq=False)
class Grayscale(PillowTransform):
    """Converts a PIL image to grayscale, with one channel or three."""

    num_output_channels: int = 1

    def __post_init__(self) -> None:
        if self.num_output_channels not in (1, 3):
            raise problem(
                ValueError,
                "Grayscale: invalid number of output channels",
                got=f"num_output_channels={self.num_output_channels}",
                expected="1 or 3",
            )

    def change_pillow(self, image: Any, random: Any) -> Any:
        gray = image.convert("L")
        return gray if self.num_output_channels == 1 else gray.convert("RGB")


@dataclass(frozen=True, eq=False)
class RandomGrayscale(PillowTransform):
    """Converts a PIL image to grayscale with a probability; the number of channels stays."""

    is_random = True
    prob: float = 0.1

    def __post_init__(self) -> None:
        check_number("prob", self.prob, 0.0, 1.0)

    def change_pillow(self, image: Any, random: Any) -> Any:
        if random.random() >= self.prob:
            return image
        gray = image.convert("L")
        return gray if image.mode == "L" else gray.convert("RGB")


@dataclass(frozen=True, eq=False)
class ConvertColor(ArrayTransform):
    """Converts between color orders, or to grayscale."""

    convert_mode: ConvertMode

    def __post_init__(self) -> None:
        if not isinstance(self.convert_mode, ConvertMode):
            raise wrong_type("convert_mode", self.convert_mode, "ConvertMode")

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        with kernels("ConvertColor", image) as cv2:
            return cv2.cvtColor(image, getattr(cv2, self.convert_mode.name))


@dataclass(frozen=True, eq=False)
class RandomLighting(ImageTransform):
    """Adds random noise along the principal components of natural image colors.

    Krizhevsky et al., "ImageNet classification with deep convolutional neural networks", 2012.
    """

    is_random = True
    alpha: float = 0.05

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 0, MOST)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        check_channels("RandomLighting", image, 3)
        return saturated(image + self._shift(random), image.dtype)

    def change_pillow(self, image: Any, random: Any) -> Any:
        moved = np.array(image.convert("RGB")) + self._shift(random)
        return P.to_pillow("RandomLighting", np.clip(moved, 0, 255).astype(np.uint8))

    def _shift(self, random: Any) -> np.ndarray:
        return _COLOR_SPACES @ (_STRENGTHS * random.normal(0.0, self.alpha, 3))

"""The Gaussian blur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int, is_number
from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_int, check_number, wrong_type
from mycelia.dataset.vision.backends.opencv_calls import kernels
from mycelia.dataset.vision.image import MOST, ArrayTransform


@dataclass(frozen=True, eq=False)
class GaussianBlur(ArrayTransform):
    """Blurs an image with a Gaussian kernel of (width, height) and sigmas along x and y."""

    kernel_size: Any
    sigma: Any = None

    def __post_init__(self) -> None:
        self._sides()
        self._sigmas()

    def _sides(self) -> tuple[int, int]:
        sides = (self.kernel_size,) * 2 if is_int(self.kernel_size) else self.kernel_size
        if not isinstance(sides, (list, tuple)) or len(sides) != 2:
            raise wrong_type("kernel_size", sides, "an int, or a list or tuple (width, height)")
        for side in sides:
            if check_int("kernel_size", side, 1, MOST) % 2 == 0:
                raise problem(ValueError, "kernel_size: must be odd", got=repr(self.kernel_size))
        return sides[0], sides[1]

    def _sigmas(self) -> tuple[float, float]:
        """The sigmas; by default derived from the kernel size. 0 along y means that of x."""
        sigma = 0 if self.sigma is None else self.sigma
        pair = (sigma, sigma) if is_number(sigma) else sigma
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise wrong_type("sigma", sigma, "a number, or a list or tuple of 2 numbers")
        along, down = (check_number("sigma", part, 0, MOST) for part in pair)
        return along or 0.3 * ((self._sides()[0] - 1) * 0.5 - 1) + 0.8, down

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        along, down = self._sigmas()
        with kernels("GaussianBlur", image) as cv2:
            made = cv2.GaussianBlur(image, self._sides(), along, sigmaY=down)
        return made.reshape(image.shape)

"""Perspective transforms of images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_int, check_number, wrong_type
from mycelia.dataset.vision.affine import transformed
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.backends.opencv_calls import kernels
from mycelia.dataset.vision.image import ImageTransform
from mycelia.dataset.vision.options import Inter, check_inter
from mycelia.dataset.vision.resample import only_for_pillow
from mycelia.dataset.vision.warp import perspective_warped


@dataclass(frozen=True, eq=False)
class Perspective(ImageTransform):
    """Moves four points of an image to four others."""

    start_points: Any
    end_points: Any
    interpolation: Inter = Inter.BILINEAR

    def __post_init__(self) -> None:
        for name in ("start_points", "end_points"):
            _check_points(name, getattr(self, name))
        check_inter("interpolation", self.interpolation)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        inter = self.interpolation
        if inter == Inter.ANTIALIAS:
            raise only_for_pillow("Perspective", inter)
        with kernels("Perspective", image) as cv2:
            forward = cv2.getPerspectiveTransform(
                np.array(self.start_points, np.float32), np.array(self.end_points, np.float32)
            )
            inverse = cv2.invert(forward)[1]
        cubic = Inter.BICUBIC if inter == Inter.PILCUBIC else inter
        return perspective_warped("Perspective", image, inverse, cubic)

    def change_pillow(self, image: Any, random: Any) -> Any:
        return _perspective(
            "Perspective", image, self.start_points, self.end_points, self.interpolation
        )


@dataclass(frozen=True, eq=False)
class RandomPerspective(ImageTransform):
    """Moves the corners of a PIL image inwards at random, with a probability."""

    is_random = True
    distortion_scale: float = 0.5
    prob: float = 0.5
    interpolation: Inter = Inter.BICUBIC

    def __post_init__(self) -> None:
        for name in ("distortion_scale", "prob"):
            if not isinstance(getattr(self, name), float):
                raise wrong_type(name, getattr(self, name), "float")
            check_number(name, getattr(self, name), 0.0, 1.0)
        check_inter("interpolation", self.interpolation)

    def apply(self, value: Any, random: Any) -> Any:
        if not P.is_pillow(value):
            raise problem(
                ValueError,
                "RandomPerspective: requires a Pillow image",
                got=type(value).__name__,
                fix="Decode(to_pil=True) for encoded data, ToPIL() for arrays",
            )
        if self.interpolation in (Inter.AREA, Inter.PILCUBIC):
            raise problem(
                RuntimeError,
                "RandomPerspective: this interpolation is not supported for Pillow images",
                got=f"Inter.{self.interpolation.name}",
                expected="NEAREST, BILINEAR or BICUBIC",
            )
        return super().apply(value, random)

    def change_pillow(self, image: Any, random: Any) -> Any:
        if random.random() >= self.prob:
            return image
        right, bottom = image.size[0] - 1, image.size[1] - 1
        corners = np.array([[0, 0], [right, 0], [right, bottom], [0, bottom]])
        inwards = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
        most = [int(self.distortion_scale * (side // 2)) + 1 for side in image.size]
        moved = corners + inwards * random.integers(0, most, size=(4, 2))
        return _perspective("RandomPerspective", image, corners, moved, self.interpolation)


def _perspective(owner: str, image: Any, start: Any, end: Any, inter: Inter) -> Any:
    """Transform a PIL image by the eight perspective coefficients that map `end` to `start`."""
    rows, targets = [], []
    for (x, y), (u, v) in zip(end, start):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
        targets += [u, v]
    numbers = np.linalg.lstsq(np.array(rows, float), np.array(targets, float), rcond=None)[0]
    return transformed(owner, image, "PERSPECTIVE", numbers, inter)


def _check_points(argument: str, points: Any) -> None:
    if not isinstance(points, (list, tuple)) or len(points) != 4:
        raise wrong_type(argument, points, "list or tuple of 4 points")
    for index, point in enumerate(points):
        if not isinstance(point, (list, tuple)) or len(point) != 2:
            raise wrong_type(f"{argument}[{index}]", point, "list or tuple of 2 ints")
        for part in point:
            check_int(f"{argument}[{index}]", part, -(2**31))

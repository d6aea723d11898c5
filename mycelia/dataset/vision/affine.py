"""Affine image transforms: rotation, shear, scaling, and translation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int, is_number
from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_bool, check_number, check_range, wrong_type
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.image import MOST, ArrayTransform, ImageTransform, fill_color
from mycelia.dataset.vision.options import Inter, check_inter
from mycelia.dataset.vision.resample import only_for_pillow, pillow_filter
from mycelia.dataset.vision.warp import about, affine_inverse, affine_warped, rotation_inverse

Pair = tuple[float, float]


@dataclass(frozen=True, eq=False)
class RandomAffine(ImageTransform):
    """Applies a random affine transform.

    `translate` holds the minimum and maximum shift along x, then y, as fractions of the sides.
    For a PIL image, its first two values are the maximum shifts along x and y, in both directions;
    uncovered pixels are black.
    """

    is_random = True
    degrees: Any
    translate: Any = None
    scale: Any = None
    shear: Any = None
    resample: Inter = Inter.NEAREST
    fill_value: Any = 0

    def __post_init__(self) -> None:
        angle_range(self.degrees)
        _numbers("translate", self.translate, (2, 4), -1.0, 1.0)
        if self.scale is not None:
            check_range("scale", self.scale, 0, MOST)
            check_number("scale[1]", self.scale[1], 0, MOST, open_low=True)
        self._shears()
        check_inter("resample", self.resample)
        fill_color(self.fill_value)

    def _shears(self) -> tuple[Pair, Pair]:
        """The ranges of the shear along x and along y."""
        if self.shear is None:
            return (0.0, 0.0), (0.0, 0.0)
        if is_number(self.shear):
            most = check_number("shear", self.shear, 0, MOST, open_low=True)
            return (-most, most), (0.0, 0.0)
        values = _numbers("shear", self.shear, (2, 4), -MOST, MOST)
        ranges = [*(check_range("shear", pair, -MOST, MOST) for pair in _pairs(values)), (0.0, 0.0)]
        return ranges[0], ranges[1]

    def _drawn(self, random: Any) -> tuple[float, float, Pair]:
        """A random angle, scale and shear."""
        angle = float(random.uniform(*angle_range(self.degrees)))
        scale = 1.0 if self.scale is None else float(random.uniform(*self.scale))
        lean_x, lean_y = (float(random.uniform(*part)) for part in self._shears())
        return angle, scale, (lean_x, lean_y)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        if self.resample == Inter.ANTIALIAS:
            raise problem(ValueError, "RandomAffine: Inter.ANTIALIAS is not supported for arrays")
        angle, scale, shear = self._drawn(random)
        ranges = [*_pairs(self.translate or (0, 0)), (0, 0)]
        x, y = (float(random.uniform(*sorted(part))) for part in ranges[:2])
        shift = (x * image.shape[1], y * image.shape[0])
        inverse = affine_inverse(angle, shift, scale, shear, middle(image))
        size = (image.shape[0], image.shape[1])
        return affine_warped("RandomAffine", image, inverse, size, self.resample, self.fill_value)

    def change_pillow(self, image: Any, random: Any) -> Any:
        angle, scale, shear = self._drawn(random)
        shift = (0, 0)
        if self.translate is not None:
            most = [abs(part * side) for part, side in zip(self.translate, image.size)]
            shift = tuple(round(random.uniform(-side, side)) for side in most)
        centre = (image.size[0] * 0.5 + 0.5, image.size[1] * 0.5 + 0.5)
        lean_x, lean_y = (math.radians(angle + part) for part in shear)
        linear = np.array(
            [[math.cos(lean_x), math.sin(lean_x)], [-math.sin(lean_y), math.cos(lean_y)]]
        )
        inverse = about(linear / (math.cos(lean_x - lean_y) * scale), shift, centre)
        return transformed("RandomAffine", image, "AFFINE", inverse.ravel(), self.resample)


@dataclass(frozen=True, eq=False)
class Affine(ArrayTransform):
    """Rotates, translates (by fractions of the sides), scales, and shears an image."""

    degrees: float
    translate: Any
    scale: float
    shear: Any
    resample: Inter = Inter.NEAREST
    fill_value: Any = 0

    def __post_init__(self) -> None:
        check_number("degrees", self.degrees, -180, 180)
        _numbers("translate", self.translate, (2,), -1.0, 1.0, needed=True)
        check_number("scale", self.scale, 0, MOST, open_low=True)
        self._shear()
        check_inter("resample", self.resample)
        fill_color(self.fill_value)

    def _shear(self) -> Pair:
        if is_number(self.shear):
            return check_number("shear", self.shear, -180, 180), 0.0
        lean_x, lean_y = _numbers("shear", self.shear, (2,), -180, 180, needed=True)
        return lean_x, lean_y

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        size = (image.shape[0], image.shape[1])
        shift = (self.translate[0] * size[1], self.translate[1] * size[0])
        inverse = affine_inverse(self.degrees, shift, self.scale, self._shear(), middle(image))
        return affine_warped("Affine", image, inverse, size, self.resample, self.fill_value)


@dataclass(frozen=True, eq=False)
class Rotate(ArrayTransform):
    """Rotates an image counter-clockwise by an angle.

    A `fill_value` of three colors applies from the last channel to the first.
    """

    takes_stacks = True
    degrees: float
    resample: Inter = Inter.NEAREST
    expand: bool = False
    center: Any = None
    fill_value: Any = 0

    def __post_init__(self) -> None:
        check_number("degrees", self.degrees, -float("inf"), float("inf"))
        _check_turn(self)

    def apply(self, value: Any, random: Any) -> Any:
        if np.ndim(value) > 3 and self.expand:
            raise problem(
                RuntimeError,
                "Rotate: expand is not supported for a stack of images",
                fix="expand=False",
            )
        return super().apply(value, random)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return _turned(self, image, self.degrees)


@dataclass(frozen=True, eq=False)
class RandomRotation(ImageTransform):
    """Rotates an image counter-clockwise by a random angle.

    For arrays, a `fill_value` of three colors applies from the last channel to the first.
    """

    is_random = True
    degrees: Any
    resample: Inter = Inter.NEAREST
    expand: bool = False
    center: Any = None
    fill_value: Any = 0

    def __post_init__(self) -> None:
        angle_range(self.degrees)
        _check_turn(self)

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        if self.resample == Inter.ANTIALIAS:
            raise only_for_pillow("RandomRotation", self.resample)
        return _turned(self, image, float(random.uniform(*angle_range(self.degrees))))

    def change_pillow(self, image: Any, random: Any) -> Any:
        fill = self.fill_value
        if image.mode != "L":
            fill = (fill,) * 3 if is_int(fill) else tuple(fill)
        elif not is_int(fill):
            fill = fill[0]
        return image.rotate(
            float(random.uniform(*angle_range(self.degrees))),
            rotation_filter("RandomRotation", self.resample),
            expand=self.expand,
            center=self.center,
            fillcolor=fill,
        )


def _turned(step: Rotate | RandomRotation, image: np.ndarray, angle: float) -> np.ndarray:
    size, centre = (image.shape[0], image.shape[1]), step.center or middle(image)
    inverse, size = rotation_inverse(angle, size, centre, step.expand)
    fill = step.fill_value if is_int(step.fill_value) else step.fill_value[::-1]
    return affine_warped(type(step).__name__, image, inverse, size, step.resample, fill)


def _check_turn(step: Rotate | RandomRotation) -> None:
    check_inter("resample", step.resample)
    check_bool("expand", step.expand)
    fill_color(step.fill_value)
    if step.center is None:
        return
    if not isinstance(step.center, tuple) or len(step.center) != 2:
        raise problem(
            ValueError, "center: must be a pair", got=repr(step.center), expected="a tuple (x, y)"
        )
    for part in step.center:
        check_number("center", part, -float("inf"), float("inf"))


def angle_range(degrees: Any) -> Pair:
    """(minimum, maximum) of angles; a single number is the maximum in both directions."""
    if is_number(degrees):
        most = check_number("degrees", degrees, 0, MOST)
        return -most, most
    return check_range("degrees", degrees, -MOST, MOST)


def middle(image: np.ndarray) -> Pair:
    """The center (x, y) of an array."""
    return (image.shape[1] - 1) / 2, (image.shape[0] - 1) / 2


def transformed(owner: str, image: Any, method: str, data: Any, inter: Inter) -> Any:
    """Transform a PIL image by a matrix."""
    methods = P.pillow(owner).Transform
    numbers = [float(number) for number in data]
    return image.transform(
        image.size, getattr(methods, method), numbers, rotation_filter(owner, inter)
    )


def rotation_filter(owner: str, inter: Inter) -> int:
    """Pillow's constant for an interpolation that supports rotation."""
    if inter == Inter.ANTIALIAS:
        raise problem(
            ValueError,
            f"{owner}: Inter.ANTIALIAS only supports resizing",
            expected="NEAREST, BILINEAR or BICUBIC",
        )
    return pillow_filter(owner, inter)


def _pairs(values: Any) -> list[Pair]:
    return [(values[index], values[index + 1]) for index in range(0, len(values), 2)]


def _numbers(
    argument: str,
    values: Any,
    lengths: tuple[int, ...],
    low: float,
    high: float,
    *,
    needed: bool = False,
) -> tuple[float, ...]:
    """Check for a given number of values in an interval, or None."""
    if values is None and not needed:
        return ()
    if not isinstance(values, (list, tuple)) or len(values) not in lengths:
        raise wrong_type(argument, values, f"list or tuple of {' or '.join(map(str, lengths))}")
    return tuple(
        check_number(f"{argument}[{index}]", value, low, high) for index, value in enumerate(values)
    )

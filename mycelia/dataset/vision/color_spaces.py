"""Color space conversions, linear transformation (whitening), and type conversion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.arrays import TypeCast
from mycelia.dataset.transforms.checks import check_bool, wrong_type
from mycelia.dataset.vision.image import ImageTransform


@dataclass(frozen=True, eq=False)
class RgbToHsv(ImageTransform):
    """Converts RGB to HSV, as float64."""

    is_hwc: bool = False

    def __post_init__(self) -> None:
        check_bool("is_hwc", self.is_hwc)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        axis = _color_axis("RgbToHsv", value, self.is_hwc)
        colors = value.astype(np.float64)
        red, green, blue = np.moveaxis(colors, axis, 0)
        top, low = colors.max(axis=axis), colors.min(axis=axis)
        span = top - low
        safe = np.where(span == 0, 1.0, span)
        hue = np.where(
            top == red,
            (green - blue) / safe,
            np.where(top == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
        )
        hue = np.where(span == 0, 0.0, hue / 6 % 1)
        return np.stack([hue, span / np.where(top == 0, 1.0, top), top], axis=axis)


@dataclass(frozen=True, eq=False)
class HsvToRgb(ImageTransform):
    """Converts HSV to RGB, as float64."""

    is_hwc: bool = False

    def __post_init__(self) -> None:
        check_bool("is_hwc", self.is_hwc)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        axis = _color_axis("HsvToRgb", value, self.is_hwc)
        hue, saturation, top = np.moveaxis(value.astype(np.float64), axis, 0)
        sector = np.floor(hue * 6)
        part = hue * 6 - sector
        low = top * (1 - saturation)
        falling, rising = top * (1 - saturation * part), top * (1 - saturation * (1 - part))
        index = sector.astype(np.int64) % 6
        colors = (
            (top, falling, low, low, rising, top),
            (rising, top, top, falling, low, low),
            (low, low, rising, top, top, falling),
        )
        return np.stack([np.choose(index, choices) for choices in colors], axis=axis)


@dataclass(frozen=True, eq=False)
class LinearTransformation(ImageTransform):
    """Subtracts a mean from the flattened image and multiplies it by a square matrix."""

    transformation_matrix: Any
    mean_vector: Any

    def __post_init__(self) -> None:
        for name in ("transformation_matrix", "mean_vector"):
            if not isinstance(getattr(self, name), np.ndarray):
                raise wrong_type(name, getattr(self, name), "numpy.ndarray")
        shape = self.transformation_matrix.shape
        if len(shape) < 2 or shape[0] != shape[1]:
            raise problem(ValueError, "transformation_matrix: must be square", got=f"shape {shape}")
        if self.mean_vector.shape[0] != shape[0]:
            raise problem(
                ValueError,
                "mean_vector: must be as long as a side of the matrix",
                got=f"{self.mean_vector.shape[0]} for a matrix of {shape}",
            )

    def apply(self, value: Any, random: Any) -> np.ndarray:
        if not isinstance(value, np.ndarray):
            raise problem(
                TypeError, "LinearTransformation: requires an array", got=type(value).__name__
            )
        if value.size != self.transformation_matrix.shape[0]:
            raise problem(
                ValueError,
                "LinearTransformation: the matrix size does not match the image",
                got=f"{self.transformation_matrix.shape} for an image of {value.shape}",
            )
        moved = value.reshape(1, -1) - self.mean_vector
        return (moved @ self.transformation_matrix).reshape(value.shape)


@dataclass(frozen=True, eq=False)
class ToType(TypeCast):
    """Converts values to another dtype."""


def _color_axis(owner: str, image: Any, is_hwc: bool) -> int:
    """The axis of the three colors in [H, W, C], [C, H, W], or a stack of these."""
    if not isinstance(image, np.ndarray):
        raise problem(
            TypeError,
            f"{owner}: requires an array",
            got=type(image).__name__,
            fix="ToNumpy() before",
        )
    axis = -1 if is_hwc else -3
    if image.ndim not in (3, 4) or image.shape[axis] != 3:
        raise problem(
            TypeError,
            f"{owner}: the array has no axis of three colors",
            got=f"shape {image.shape}",
            expected="[..., H, W, 3]" if is_hwc else "[..., 3, H, W]",
            fix=f"is_hwc={not is_hwc}, if the image has that channel order",
        )
    return axis

"""Enums of image transforms: interpolation, border, patches, color conversion."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Any

from mycelia.dataset.transforms.checks import wrong_type


class Inter(IntEnum):
    """Interpolation modes."""

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = 2
    LINEAR = 2
    BICUBIC = 3
    CUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(StrEnum):
    """How pixels beyond the border of an image are filled."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class SliceMode(IntEnum):
    """What happens if the sides of an image are not multiples of the number of patches."""

    PAD = 0
    DROP = 1


class ConvertMode(IntEnum):
    """Color conversions, from one channel order to another."""

    COLOR_BGR2BGRA = 0
    COLOR_RGB2RGBA = COLOR_BGR2BGRA
    COLOR_BGRA2BGR = 1
    COLOR_RGBA2RGB = COLOR_BGRA2BGR
    COLOR_BGR2RGBA = 2
    COLOR_RGB2BGRA = COLOR_BGR2RGBA
    COLOR_RGBA2BGR = 3
    COLOR_BGRA2RGB = COLOR_RGBA2BGR
    COLOR_BGR2RGB = 4
    COLOR_RGB2BGR = COLOR_BGR2RGB
    COLOR_BGRA2RGBA = 5
    COLOR_RGBA2BGRA = COLOR_BGRA2RGBA
    COLOR_BGR2GRAY = 6
    COLOR_RGB2GRAY = 7
    COLOR_GRAY2BGR = 8
    COLOR_GRAY2RGB = COLOR_GRAY2BGR
    COLOR_GRAY2BGRA = 9
    COLOR_GRAY2RGBA = COLOR_GRAY2BGRA
    COLOR_BGRA2GRAY = 10
    COLOR_RGBA2GRAY = 11


def check_inter(argument: str, value: Any) -> None:
    """Check for an interpolation mode."""
    if not isinstance(value, Inter):
        raise wrong_type(argument, value, "Inter")


def check_border(argument: str, value: Any) -> None:
    """Check for a border mode."""
    if not isinstance(value, Border):
        raise wrong_type(argument, value, "Border")

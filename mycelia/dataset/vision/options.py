"""The choices of image transforms: interpolation and borders."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Inter(IntEnum):
    """How pixels between pixels are made."""

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = 2
    LINEAR = 2
    BICUBIC = 3
    CUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(StrEnum):
    """What lies beyond the edge of an image."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"

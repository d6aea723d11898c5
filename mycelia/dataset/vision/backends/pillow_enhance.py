"""Optional import of Pillow's ImageEnhance and ImageOps."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.lazy_import import optional_module
from mycelia.dataset.vision.backends import pillow as P

ImageEnhance = optional_module("PIL.ImageEnhance")
ImageOps = optional_module("PIL.ImageOps")


def enhanced(owner: str, name: str, image: Any, factor: float) -> Any:
    """A PIL image with its Brightness, Contrast, Color or Sharpness changed."""
    P.pillow(owner)
    return getattr(ImageEnhance, name)(image).enhance(factor)


def operated(owner: str, name: str, image: Any, *parameters: Any) -> Any:
    """A PIL image after autocontrast, equalize, or invert."""
    P.pillow(owner)
    return getattr(ImageOps, name)(image, *parameters)


def hue_shifted(owner: str, image: Any, turn: float) -> Any:
    """A PIL image with its hues shifted by a fraction of the color circle."""
    if image.mode in ("L", "1", "I", "F"):
        return image
    hue, *rest = image.convert("HSV").split()
    moved = np.array(hue) + np.uint8(int(turn * 255) % 256)
    planes = [P.to_pillow(owner, moved), *rest]
    return P.pillow(owner).merge("HSV", planes).convert(image.mode)

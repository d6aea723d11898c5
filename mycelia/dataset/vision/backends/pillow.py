"""Optional import of Pillow: decoding, and conversions of PIL images."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import optional_module

Image = optional_module("PIL.Image")


def pillow(owner: str) -> Any:
    """Pillow's Image module; if it is missing, the error names the extra to install."""
    if Image is None:
        raise problem(
            ImportError,
            f"{owner}: requires Pillow, which is not installed",
            fix="pip install 'mycelia[dataset]'",
        )
    return Image


def is_available() -> bool:
    """Whether Pillow is installed."""
    return Image is not None


def is_pillow(value: Any) -> bool:
    """Whether a value is a PIL image."""
    return Image is not None and isinstance(value, Image.Image)


def to_pillow(owner: str, array: np.ndarray) -> Any:
    """Convert an array [H, W] or [H, W, C] to a PIL image."""
    image = pillow(owner)
    flat = array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array
    return image.fromarray(np.ascontiguousarray(flat))


def opened(owner: str, data: np.ndarray) -> Any:
    """Open an encoded image; only its header is read."""
    with _named_errors(owner):
        return pillow(owner).open(io.BytesIO(np.asarray(data).tobytes()))


def decoded(owner: str, data: np.ndarray) -> Any:
    """Decode an encoded image to RGB."""
    image = opened(owner, data)
    with _named_errors(owner):
        if image.mode != "RGB":
            return image.convert("RGB")
        image.load()
        return image


@contextmanager
def _named_errors(owner: str) -> Iterator[None]:
    try:
        yield
    except (OSError, SyntaxError, ValueError) as error:
        raise problem(
            RuntimeError, f"{owner}: the bytes cannot be decoded as an image", got=str(error)
        ) from error

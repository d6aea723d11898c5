"""Pillow, if it is installed: decoding, and images as users of it know them."""

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
    """Pillow's Image module; an error that names the extra if it is absent."""
    if Image is None:
        raise problem(
            ImportError,
            f"{owner}: needs Pillow, which is not installed",
            fix="pip install 'mycelia[dataset]'",
        )
    return Image


def is_available() -> bool:
    """Whether Pillow is installed."""
    return Image is not None


def is_pillow(value: Any) -> bool:
    """Whether a value is one of Pillow's images."""
    return Image is not None and isinstance(value, Image.Image)


def to_pillow(owner: str, array: np.ndarray) -> Any:
    """An array of [H, W] or [H, W, C] as Pillow's image."""
    image = pillow(owner)
    flat = array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array
    return image.fromarray(np.ascontiguousarray(flat))


def opened(owner: str, data: np.ndarray) -> Any:
    """The image that encoded bytes hold, of which only the first bytes were looked at."""
    with _named_errors(owner):
        return pillow(owner).open(io.BytesIO(np.asarray(data).tobytes()))


def decoded(owner: str, data: np.ndarray) -> Any:
    """The RGB image that encoded bytes hold."""
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
            RuntimeError, f"{owner}: the bytes are no image that can be decoded", got=str(error)
        ) from error

"""Calls of OpenCV, whose refusals become errors in the user's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.vision.backends.opencv import opencv


@contextmanager
def kernels(owner: str, image: np.ndarray) -> Iterator[Any]:
    """The module cv2 for work on an image; RuntimeError for a type or shape that it cannot take."""
    cv2 = opencv(owner)
    try:
        yield cv2
    except (cv2.error, TypeError) as error:
        raise problem(
            RuntimeError,
            f"{owner}: an image of this type or shape cannot be changed so",
            got=f"{image.dtype}{list(image.shape)}",
            expected="uint8, uint16 or float32 of [H, W] or [H, W, C]",
            fix="TypeCast or image.astype(np.uint8) before it",
        ) from error

"""Calls of OpenCV whose errors are translated for users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.vision.backends.opencv import opencv


@contextmanager
def kernels(owner: str, image: np.ndarray) -> Iterator[Any]:
    """The module cv2, in a context that raises RuntimeError for unsupported types and shapes."""
    cv2 = opencv(owner)
    try:
        yield cv2
    except (cv2.error, TypeError) as error:
        raise problem(
            RuntimeError,
            f"{owner}: unsupported image type or shape",
            got=f"{image.dtype}{list(image.shape)}",
            expected="uint8, uint16 or float32 of [H, W] or [H, W, C]",
            fix="TypeCast or image.astype(np.uint8) before it",
        ) from error

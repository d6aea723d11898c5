"""OpenCV, if it is installed: fast resampling and warping of arrays."""

from __future__ import annotations

from typing import Any

from mycelia.core.errors import problem

try:
    import cv2

    cv2.setNumThreads(1)  # the workers of a pipeline share the processors already
except ImportError:  # the extra is not installed
    cv2 = None  # type: ignore[assignment]


def opencv(owner: str) -> Any:
    """The module cv2; an error that names the extra if it is absent."""
    if cv2 is None:
        raise problem(
            ImportError,
            f"{owner}: needs OpenCV, which is not installed",
            fix="pip install 'mycelia[dataset]'",
        )
    return cv2

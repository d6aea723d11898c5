"""Optional import of OpenCV, for fast resampling and warping of arrays."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import optional_module


def _keep_to_one_thread(module: Any) -> None:
    """Disable OpenCV's threads: the workers of a pipeline already use all processors."""
    module.setNumThreads(1)


cv2 = optional_module("cv2", _keep_to_one_thread)


def opencv(owner: str) -> Any:
    """The module cv2; if it is missing, the error names the extra to install."""
    if cv2 is None:
        raise problem(
            ImportError,
            f"{owner}: requires OpenCV, which is not installed",
            fix="pip install 'mycelia[dataset]'",
        )
    return cv2

"""The MATLAB files of SVHN: house numbers, cropped to digits of 32 x 32 pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.matlab import read_matlab
from mycelia.dataset.formats.reader import ArrayReader

NAME = "SVHNDataset"
_PARTS = ("train", "test", "extra")


def open_svhn(folder: str, usage: str) -> ArrayReader:
    """The digits; the class that the files call 10 is 0."""
    parts = _PARTS if usage == "all" else (usage,)
    pairs = [_part(Path(folder) / f"{part}_32x32.mat") for part in parts]
    images, labels = (np.concatenate(column) for column in zip(*pairs))
    return ArrayReader(("image", "label"), (images, labels), NAME)


def _part(path: Path) -> tuple[np.ndarray, np.ndarray]:
    images, labels = read_matlab(path, ("X", "y"), NAME)
    if images.ndim != 4 or images.shape[:3] != (32, 32, 3) or labels.size != images.shape[3]:
        raise problem(
            RuntimeError,
            f"{NAME}: the arrays have unexpected shapes",
            got=f"X {images.shape}, y {labels.shape} in {path}",
            expected="X (32, 32, 3, n), y (n, 1)",
        )
    digits = labels.reshape(-1).astype(np.uint32) % 10
    return np.ascontiguousarray(images.transpose(3, 0, 1, 2)), digits

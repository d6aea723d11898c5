"""The binary files of STL-10: images by channel and column, labels from 1 to 10."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.image_rows import needed_file
from mycelia.dataset.formats.reader import ArrayReader

NAME = "STL10Dataset"
_PARTS = {
    "train": ("train",),
    "test": ("test",),
    "unlabeled": ("unlabeled",),
    "train+unlabeled": ("train", "unlabeled"),
    "all": ("test", "train", "unlabeled"),
}
_SIZE = 3 * 96 * 96


def open_stl10(folder: str, usage: str) -> ArrayReader:
    """The images of 96 x 96 and their classes, -1 for unlabeled ones."""
    pairs = [_part(Path(folder), part) for part in _PARTS[usage]]
    images, labels = (np.concatenate(column) for column in zip(*pairs))
    return ArrayReader(("image", "label"), (images, labels), NAME)


def _part(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    path = needed_file(folder / f"{part}_X.bin", NAME)
    data = np.fromfile(path, np.uint8)
    if len(data) == 0 or len(data) % _SIZE:
        raise problem(
            RuntimeError,
            f"{NAME}: the file is truncated or of another kind",
            got=f"{path}: {len(data)} bytes",
            expected=f"a multiple of {_SIZE} bytes",
        )
    images = np.ascontiguousarray(data.reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1))
    if part == "unlabeled":
        return images, np.full(len(images), -1, np.int32)
    marks = needed_file(folder / f"{part}_y.bin", NAME)
    labels = np.fromfile(marks, np.uint8).astype(np.int32) - 1
    if len(labels) != len(images):
        raise problem(
            RuntimeError,
            f"{NAME}: the numbers of images and labels differ",
            got=f"{len(images)} in {path}, {len(labels)} in {marks}",
        )
    return images, labels

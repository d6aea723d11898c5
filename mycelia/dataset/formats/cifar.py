"""The binary files of CIFAR-10 and CIFAR-100."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.reader import ArrayReader

_PIXELS = 3 * 32 * 32


def open_cifar(
    folder: str, files: tuple[str, ...], columns: tuple[str, ...], name: str
) -> ArrayReader:
    """The images and labels of the files: each record is its labels, then three color planes."""
    labels = len(columns) - 1
    size = labels + _PIXELS
    records = np.concatenate([_records(Path(folder) / file, size, name) for file in files])
    planes = records[:, labels:].reshape(-1, 3, 32, 32)
    images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    marks = tuple(records[:, index].astype(np.uint32) for index in range(labels))
    return ArrayReader(columns, (images, *marks), name)


def _records(path: Path, size: int, name: str) -> np.ndarray:
    if not path.is_file():
        raise problem(RuntimeError, f"{name}: a file is missing", got=str(path))
    data = np.fromfile(path, np.uint8)
    if len(data) == 0 or len(data) % size:
        raise problem(
            RuntimeError,
            f"{name}: the file is truncated or of another kind",
            got=f"{path}: {len(data)} bytes",
            expected=f"a multiple of {size} bytes",
        )
    return data.reshape(-1, size)

"""Semeion's text file: 256 pixels of 0 or 1, then a one-hot label of ten values."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia.dataset.formats.image_rows import bad_line, some_rows, text_lines
from mycelia.dataset.formats.reader import ArrayReader

NAME = "SemeionDataset"


def open_semeion(folder: str) -> ArrayReader:
    """The 16 x 16 images and their labels."""
    path = Path(folder) / "semeion.data"
    rows = [_row(path, line) for line in text_lines(path, NAME)]
    images, labels = zip(*some_rows(rows, NAME, path))
    columns = (np.stack(images), np.array(labels, np.uint32))
    return ArrayReader(("image", "label"), columns, NAME)


def _row(path: Path, line: str) -> tuple[np.ndarray, int]:
    try:
        numbers = np.array(line.split(), np.float32)
    except ValueError as error:
        raise _bad(path, line) from error
    if len(numbers) != 266 or not numbers[256:].any():
        raise _bad(path, line)
    return numbers[:256].astype(np.uint8).reshape(16, 16), int(numbers[256:].argmax())


def _bad(path: Path, line: str) -> RuntimeError:
    return bad_line(NAME, path, line[:60], "256 pixels, then a one-hot label of ten values")

"""USPS's text files: a digit from 1 to 10, then 256 numbered gray values from -1 to 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia.dataset.formats.image_rows import bad_line, some_rows, text_lines
from mycelia.dataset.formats.reader import ArrayReader

NAME = "USPSDataset"
_FILES = {"train": ("usps",), "test": ("usps.t",), "all": ("usps", "usps.t")}
_PLACES = np.arange(1, 257)


def open_usps(folder: str, usage: str) -> ArrayReader:
    """The 16 x 16 images and their labels."""
    paths = [Path(folder) / name for name in _FILES[usage]]
    rows = [_row(path, line) for path in paths for line in text_lines(path, NAME)]
    images, labels = zip(*some_rows(rows, NAME, folder))
    columns = (np.stack(images), np.array(labels, np.uint32))
    return ArrayReader(("image", "label"), columns, NAME)


def _row(path: Path, line: str) -> tuple[np.ndarray, int]:
    label, *fields = line.split()
    pairs = [field.split(":") for field in fields]
    try:
        table = np.array(pairs, np.float32).reshape(256, 2)
        digit = int(label) - 1
    except ValueError as error:
        raise _bad(path, line) from error
    if digit not in range(10) or not np.array_equal(table[:, 0], _PLACES):
        raise _bad(path, line)
    shades = (table[:, 1].astype(np.float64) + 1) / 2 * 255
    return shades.astype(np.int64).astype(np.uint8).reshape(16, 16, 1), digit


def _bad(path: Path, line: str) -> RuntimeError:
    return bad_line(NAME, path, line[:60], "a digit from 1 to 10, then 1:shade to 256:shade")

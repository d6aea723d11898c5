"""PhotoTour's file format: sheets of 16 x 16 patches of 64 x 64 pixels, and pairs of patches."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.folder import file_bytes
from mycelia.dataset.formats.image_rows import (
    Decoder,
    Rows,
    bad_line,
    needed_file,
    needed_folder,
    some_rows,
    text_lines,
)

NAME = "PhotoTourDataset"
_SIDE = 64
_LINE = 16
_KEPT = 64


class Sheets:
    """The patches of a folder; recently used sheets stay decoded."""

    def __init__(self, folder: Path, decode: Decoder) -> None:
        self._folder = needed_folder(folder, NAME)
        self._decode = decode
        self.sheet = lru_cache(_KEPT)(self._read)

    def patch(self, number: int) -> np.ndarray:
        sheet, index = divmod(number, _LINE * _LINE)
        top, left = (_SIDE * part for part in divmod(index, _LINE))
        return self.sheet(sheet)[top : top + _SIDE, left : left + _SIDE, :1].copy()

    def _read(self, number: int) -> np.ndarray:
        path = needed_file(self._folder / f"patches{number:04d}.bmp", NAME)
        pixels = self._decode(file_bytes(path))
        if pixels.shape[:2] != (_LINE * _SIDE, _LINE * _SIDE):
            raise problem(
                RuntimeError,
                f"{NAME}: a sheet has the wrong size",
                got=f"{path}: {pixels.shape[:2]}",
                expected=f"({_LINE * _SIDE}, {_LINE * _SIDE})",
            )
        return pixels


def patch_rows(folder: Path, sheets: Sheets) -> Rows:
    """Each patch."""
    count = len(text_lines(folder / "info.txt", NAME))
    return some_rows([(partial(sheets.patch, number),) for number in range(count)], NAME, folder)


def pair_rows(folder: Path, sheets: Sheets) -> Rows:
    """Pairs of patches, and whether both show the same point."""
    path = folder / "m50_100000_100000_0.txt"
    rows: Rows = []
    for line in text_lines(path, NAME):
        try:
            first, point, _, second, other, *_ = map(int, line.split())
        except ValueError as error:
            raise bad_line(NAME, path, line, "patch point unused patch point ...") from error
        patches = (partial(sheets.patch, number) for number in (first, second))
        rows.append((*patches, np.array(point == other, np.uint32)))
    return some_rows(rows, NAME, path)

"""The folders of SBD: images of PASCAL VOC with masks and boundaries of their classes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from mycelia.dataset.formats.image_rows import Rows, needed_file, some_rows, text_lines
from mycelia.dataset.formats.matlab import read_matlab

NAME = "SBDataset"


def sb_rows(folder: str, task: str, usage: str) -> Rows:
    """Each image, with its mask or the boundaries of each class."""
    root = Path(folder)
    read = {"Segmentation": _mask, "Boundaries": _boundaries}[task]
    parts = ("train", "val") if usage == "all" else (usage,)
    names = [
        line.strip()
        for part in parts
        for line in text_lines(root / f"{part}.txt", NAME, FileNotFoundError)
    ]
    rows = [
        (
            needed_file(root / "img" / f"{name}.jpg", NAME, FileNotFoundError),
            partial(read, needed_file(root / "cls" / f"{name}.mat", NAME, FileNotFoundError)),
        )
        for name in names
    ]
    return some_rows(rows, NAME, f"{folder}, usage {usage!r}")


def _mask(path: Path) -> np.ndarray:
    return read_matlab(path, ("GTcls",), NAME)[0][0]["Segmentation"][0]


def _boundaries(path: Path) -> np.ndarray:
    """One plane for each class."""
    edges = read_matlab(path, ("GTcls",), NAME)[0][0]["Boundaries"][0]
    return np.stack([plane[0].toarray() for plane in edges]).astype(np.uint8)

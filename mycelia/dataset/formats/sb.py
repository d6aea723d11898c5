"""SBD's file format: images of PASCAL VOC with masks and class boundaries."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
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
    return _field(path, "Segmentation")


def _boundaries(path: Path) -> np.ndarray:
    """One plane per class."""
    edges = list(_field(path, "Boundaries").reshape(-1))
    shapes = {getattr(plane, "shape", None) for plane in edges}
    if len(shapes) != 1 or not all(plane.dtype.kind in "biuf" for plane in edges):
        raise problem(
            RuntimeError,
            f"{NAME}: the class boundaries must be arrays of the same shape",
            got=str(path),
        )
    return np.stack(edges).astype(np.uint8)


def _field(path: Path, name: str) -> np.ndarray:
    (found,) = read_matlab(path, ("GTcls",), NAME)
    field = found[0].get(name) if isinstance(found, list) and found else None
    if not isinstance(field, np.ndarray):
        raise problem(RuntimeError, f"{NAME}: the MATLAB file lacks {name!r}", got=str(path))
    return field

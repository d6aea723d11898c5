"""Caltech 101's file format: images by class, and the contour of the object in each."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mycelia.dataset.formats.image_rows import (
    Rows,
    file_paths,
    folder_names,
    needed_folder,
    some_rows,
)
from mycelia.dataset.formats.matlab import read_matlab

NAME = "Caltech101Dataset"
_NO_CLASS = "BACKGROUND_Google"
_OTHER_FOLDERS = {
    "Faces": "Faces_2",
    "Faces_easy": "Faces_3",
    "Motorbikes": "Motorbikes_16",
    "airplanes": "Airplanes_Side_2",
}
COLUMNS = {
    "category": ("image", "category"),
    "annotation": ("image", "annotation"),
    "all": ("image", "category", "annotation"),
}


def caltech101_classes(folder: str) -> list[str]:
    """The names of the classes, in the order of their labels."""
    root = needed_folder(Path(folder) / "101_ObjectCategories", NAME, FileNotFoundError)
    return [name for name in folder_names(root) if name != _NO_CLASS]


def caltech101_rows(folder: str, target: str) -> Rows:
    """Each image with its class, its contour, or both."""
    root = Path(folder)
    rows: Rows = []
    for label, name in enumerate(caltech101_classes(folder)):
        outlines = root / "Annotations" / _OTHER_FOLDERS.get(name, name)
        for path in file_paths(root / "101_ObjectCategories" / name, "image_*.jpg"):
            number = path.stem.removeprefix("image_")
            told: dict[str, Any] = {
                "image": path,
                "category": np.array(label, np.int64),
                "annotation": partial(_outline, outlines / f"annotation_{number}.mat"),
            }
            rows.append(tuple(told[column] for column in COLUMNS[target]))
    return some_rows(rows, NAME, folder)


def _outline(path: Path) -> np.ndarray:
    return read_matlab(path, ("obj_contour",), NAME)[0]

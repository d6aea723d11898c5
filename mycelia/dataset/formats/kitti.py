"""KITTI's file format: street scenes, each with a text file of its objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.files.text_files import read_text
from mycelia.dataset.formats.image_rows import (
    Rows,
    bad_line,
    file_paths,
    needed_file,
    needed_folder,
    some_rows,
)

NAME = "KITTIDataset"
COLUMNS = (
    "image", "label", "truncated", "occluded", "alpha",
    "bbox", "dimensions", "location", "rotation_y",
)  # fmt: skip
_PARTS = (slice(3, 4), slice(4, 8), slice(8, 11), slice(11, 14), slice(14, 15))


def image_rows(folder: str) -> Rows:
    """The scenes without labels, for tests."""
    return some_rows([(path,) for path in _images(folder, "testing")], NAME, folder)


def labelled_rows(folder: str) -> Rows:
    """Each scene with its object annotations; classes are numbered in alphabetic order."""
    labels = needed_folder(Path(folder) / "data_object_label_2" / "training" / "label_2", NAME)
    found = []
    for path in _images(folder, "training"):
        objects = _objects(needed_file(labels / f"{path.stem}.txt", NAME))
        if objects:
            found.append((path, objects))
    names = sorted({name for _, objects in found for name, _ in objects})
    return some_rows([_row(path, objects, names) for path, objects in found], NAME, folder)


def _images(folder: str, part: str) -> list[Path]:
    root = Path(folder) / "data_object_image_2" / part / "image_2"
    return file_paths(needed_folder(root, NAME), "*.png")


def _objects(path: Path) -> list[tuple[str, list[float]]]:
    objects = []
    for line in read_text(path, NAME).splitlines():
        fields = line.split()
        if not fields:
            continue
        try:
            numbers = [float(field) for field in fields[1:15]]
        except ValueError as error:
            raise bad_line(NAME, path, line, "a class and 14 numbers") from error
        if len(numbers) != 14:
            raise bad_line(NAME, path, line, "a class and 14 numbers")
        objects.append((fields[0], numbers))
    return objects


def _row(path: Path, objects: list[tuple[str, list[float]]], names: list[str]) -> tuple[Any, ...]:
    labels = np.array([[names.index(name)] for name, _ in objects], np.uint32)
    table = np.array([[0.0, *numbers] for _, numbers in objects])
    occluded = table[:, 2:3].astype(np.int64).astype(np.uint32)
    rest = (table[:, part].astype(np.float32) for part in _PARTS)
    return path, labels, table[:, 1:2].astype(np.float32), occluded, *rest

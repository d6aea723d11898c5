"""WIDER FACE's file format: photos by event, and the faces in each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia._engine.core.files.text_files import is_count
from mycelia.dataset.formats.image_rows import (
    Rows,
    bad_line,
    needed_file,
    needed_folder,
    some_rows,
    text_lines,
)
from mycelia.dataset.formats.values import fitting

NAME = "WIDERFaceDataset"
COLUMNS = (
    "image", "bbox", "blur", "expression", "illumination", "occlusion", "pose", "invalid",
)  # fmt: skip
_PARTS = {"train": ("train",), "valid": ("val",), "all": ("train", "val")}


def image_rows(folder: str) -> Rows:
    """The photos without faces, for tests."""
    path = Path(folder) / "wider_face_split" / "wider_face_test_filelist.txt"
    images = needed_folder(Path(folder) / "WIDER_test" / "images", NAME)
    names = sorted(line.strip() for line in text_lines(path, NAME))
    return some_rows([(needed_file(images / name, NAME),) for name in names], NAME, folder)


def face_rows(folder: str, usage: str) -> Rows:
    """Each photo with the boxes of its faces and six attributes of each."""
    rows: Rows = []
    for part in _PARTS[usage]:
        images = needed_folder(Path(folder) / f"WIDER_{part}" / "images", NAME)
        path = Path(folder) / "wider_face_split" / f"wider_face_{part}_bbx_gt.txt"
        for name, table in sorted(_faces(path).items()):
            marks = (table[:, index] for index in range(4, 10))
            rows.append((needed_file(images / name, NAME), table[:, :4], *marks))
    return some_rows(rows, NAME, folder)


def _faces(path: Path) -> dict[str, np.ndarray]:
    """The ten numbers of each face of each photo; photos without a face have ten zeros."""
    lines = text_lines(path, NAME)
    faces: dict[str, np.ndarray] = {}
    index = 0
    while index < len(lines):
        name, count = lines[index].strip(), "".join(lines[index + 1 : index + 2]).strip()
        if not is_count(count):
            raise bad_line(NAME, path, count, f"the number of faces in {name}")
        stop = index + 2 + max(int(count), 1)
        faces[name] = _table(path, name, lines[index + 2 : stop], max(int(count), 1))
        index = stop
    return faces


def _table(path: Path, name: str, lines: list[str], count: int) -> np.ndarray:
    try:
        return fitting([line.split() for line in lines], np.int32).reshape(count, 10)
    except ValueError as error:
        expected = f"{count} lines of ten numbers for {name}"
        raise bad_line(NAME, path, " / ".join(lines)[:120], expected) from error

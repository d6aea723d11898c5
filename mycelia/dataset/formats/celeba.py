"""CelebA's file format: forty attributes and the train/valid/test split of each face."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia._engine.core.files.text_files import is_count
from mycelia.dataset.formats.image_rows import Rows, bad_line, some_rows, text_lines
from mycelia.dataset.formats.values import fitting

NAME = "CelebADataset"
_PARTS = {"train": "0", "valid": "1", "test": "2"}


def celeba_rows(folder: str, usage: str, extensions: tuple[str, ...] | None) -> Rows:
    """Each face of a part, with its attributes as 0 or 1."""
    path = Path(folder) / "list_attr_celeba.txt"
    lines = text_lines(path, NAME)
    if not lines or not is_count(lines[0].strip()):
        raise bad_line(NAME, path, "".join(lines[:1]), "the number of images in the first line")
    wanted = _names(folder, usage)
    rows: Rows = []
    for line in lines[2 : 2 + int(lines[0])]:
        name, *marks = line.split()
        if wanted is not None and name not in wanted:
            continue
        if extensions is None or Path(name).suffix in extensions:
            rows.append((Path(folder) / name, _marks(path, line, marks)))
    return some_rows(rows, NAME, f"{folder}, usage {usage!r}, extensions {extensions}")


def _names(folder: str, usage: str) -> set[str] | None:
    if usage == "all":
        return None
    lines = text_lines(Path(folder) / "list_eval_partition.txt", NAME)
    pairs = (line.split() for line in lines)
    return {pair[0] for pair in pairs if pair[1:] == [_PARTS[usage]]}


def _marks(path: Path, line: str, marks: list[str]) -> np.ndarray:
    try:
        return (fitting(marks, np.int64) > 0).astype(np.uint32)
    except ValueError as error:
        raise bad_line(NAME, path, line, "a file name, then -1 or 1 per attribute") from error

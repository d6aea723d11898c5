"""LFW's list files: photos of people, or pairs of photos."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import is_count
from mycelia.dataset.formats.image_rows import Rows, bad_line, needed_folder, some_rows, text_lines

NAME = "LFWDataset"
FOLDERS = {"original": "lfw", "funneled": "lfw_funneled", "deepfunneled": "lfw-deepfunneled"}
_ENDS = {
    "train": ("DevTrain",),
    "test": ("DevTest",),
    "all": ("DevTrain", "DevTest"),
    "10fold": ("",),
}


def people_rows(folder: str, usage: str, image_set: str) -> Rows:
    """Each photo, with the index of its person in the list of names."""
    root, images = Path(folder), _images(folder, image_set)
    names = text_lines(root / "lfw-names.txt", NAME)
    labels = {line.split()[0]: label for label, line in enumerate(names)}
    rows: Rows = []
    for path, line in _lines(root, "people", usage):
        fields = line.split()
        if len(fields) != 2 or not is_count(fields[1]):
            raise bad_line(NAME, path, line, "a name and the number of photos")
        if fields[0] not in labels:
            raise problem(
                RuntimeError, f"{NAME}: lfw-names.txt lacks a person of {path}", got=fields[0]
            )
        label = np.array(labels[fields[0]], np.uint32)
        rows += [(_photo(images, fields[0], n), label) for n in range(1, int(fields[1]) + 1)]
    return some_rows(rows, NAME, folder)


def pair_rows(folder: str, usage: str, image_set: str) -> Rows:
    """Pairs of photos, and whether both show the same person."""
    root, images = Path(folder), _images(folder, image_set)
    rows: Rows = []
    for path, line in _lines(root, "pairs", usage):
        match line.split():
            case [name, first, second] if is_count(first) and is_count(second):
                photos = (name, first), (name, second)
            case [name, first, other, second] if is_count(first) and is_count(second):
                photos = (name, first), (other, second)
            case _:
                raise bad_line(NAME, path, line, "name number number, or name number name number")
        same = photos[0][0] == photos[1][0]
        rows.append((*(_photo(images, n, int(k)) for n, k in photos), np.array(same, np.uint32)))
    return some_rows(rows, NAME, folder)


def _images(folder: str, image_set: str) -> Path:
    return needed_folder(Path(folder) / FOLDERS[image_set], NAME)


def _photo(images: Path, name: str, number: int) -> Path:
    return images / name / f"{name}_{number:04d}.jpg"


def _lines(root: Path, task: str, usage: str) -> list[tuple[Path, str]]:
    """The lines of the lists, without those that only hold counts."""
    paths = [root / f"{task}{end}.txt" for end in _ENDS[usage]]
    return [
        (path, line)
        for path in paths
        for line in text_lines(path, NAME)
        if not all(is_count(field) for field in line.split())
    ]

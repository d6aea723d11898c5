"""Image datasets with one folder per class; labels follow the order of the folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.image_rows import (
    Rows,
    file_paths,
    folder_names,
    needed_folder,
    some_rows,
    text_lines,
)

LSUN_CLASSES = tuple(
    "bedroom bridge church_outdoor classroom conference_room dining_room kitchen living_room"
    " restaurant tower".split()
)
_LSUN_ENDS = {"train": ("train",), "valid": ("val",), "all": ("train", "val")}
_SST2_PARTS = {
    "train": ("train",),
    "val": ("valid",),
    "test": ("test",),
    "all": ("test", "train", "valid"),
}
_CALTECH_ENDS = (".jpg", ".JPEG")


def caltech256_rows(folder: str) -> Rows:
    """The images of Caltech 256, from 001.ak47 to 257.clutter."""
    return _rows(
        (
            (path, label)
            for label, name in enumerate(folder_names(Path(folder)))
            for path in file_paths(Path(folder) / name)
            if path.suffix in _CALTECH_ENDS
        ),
        np.int32,
        "Caltech256Dataset",
        folder,
    )


def omniglot_rows(folder: str, background: bool) -> Rows:
    """The drawings of Omniglot; each character of each alphabet is a class."""
    part = "images_background" if background else "images_evaluation"
    root = needed_folder(Path(folder) / part, "OmniglotDataset")
    folders = [
        root / a / character for a in folder_names(root) for character in folder_names(root / a)
    ]
    return _folder_rows(folders, np.int32, "OmniglotDataset", root)


def lsun_rows(folder: str, usage: str, classes: tuple[str, ...]) -> Rows:
    """The scenes of LSUN; those for tests are in one folder and have the label 0."""
    root = Path(folder)
    names = ["test"]
    if usage != "test":
        names = [f"{n}_{end}" for n in sorted(set(classes)) for end in _LSUN_ENDS[usage]]
    folders = [needed_folder(root / name, "LSUNDataset") for name in names]
    return _folder_rows(folders, np.uint32, "LSUNDataset", folder)


def sst2_rows(folder: str, usage: str) -> Rows:
    """The sentences of SST-2 as images: negative ones are 0, positive ones 1."""
    roots = [
        needed_folder(Path(folder) / part, "RenderedSST2Dataset") for part in _SST2_PARTS[usage]
    ]
    return _rows(
        (
            (path, label)
            for root in roots
            for label, name in enumerate(folder_names(root))
            for path in file_paths(root / name, "*.png")
        ),
        np.uint32,
        "RenderedSST2Dataset",
        folder,
    )


def sun397_rows(folder: str) -> Rows:
    """The scenes of SUN397, with the classes listed in ClassName.txt."""
    names = [line.strip() for line in text_lines(Path(folder) / "ClassName.txt", "SUN397Dataset")]
    folders = [needed_folder(Path(folder) / name.lstrip("/"), "SUN397Dataset") for name in names]
    return _folder_rows(folders, np.uint32, "SUN397Dataset", folder, "sun_*.jpg")


def labels_of_rows(rows: Rows) -> int:
    """The number of distinct labels."""
    return len({int(row[-1]) for row in rows})


def _folder_rows(
    folders: list[Path], kind: type, name: str, where: object, pattern: str = "*"
) -> Rows:
    pairs = ((p, label) for label, one in enumerate(folders) for p in _plain(one, pattern, name))
    return _rows(pairs, kind, name, where)


def _plain(folder: Path, pattern: str, name: str) -> list[Path]:
    below = [path for path in folder.glob(pattern) if path.is_dir()]
    if below:
        raise problem(
            RuntimeError, f"{name}: unexpected folder among the images", got=str(below[0])
        )
    return file_paths(folder, pattern)


def _rows(pairs: Iterable[tuple[Path, int]], kind: type, name: str, where: object) -> Rows:
    return some_rows([(path, np.array(label, kind)) for path, label in pairs], name, where)

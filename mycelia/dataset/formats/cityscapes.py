"""Cityscapes' file format: street scenes by city, with masks or polygons of their objects."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np

from mycelia._engine.core.files.text_files import read_json
from mycelia.dataset.formats.image_rows import (
    Rows,
    file_paths,
    folder_names,
    needed_file,
    needed_folder,
    some_rows,
)

NAME = "CityscapesDataset"
USAGES = {"fine": ("train", "test", "val", "all"), "coarse": ("train", "train_extra", "val", "all")}
_QUALITIES = {"fine": "gtFine", "coarse": "gtCoarse"}
TASKS = {
    "instance": "instanceIds.png",
    "semantic": "labelIds.png",
    "polygon": "polygons.json",
    "color": "color.png",
}
_END = "_leftImg8bit.png"


def cityscapes_rows(folder: str, usage: str, quality: str, task: str) -> Rows:
    """Each scene, with the target of the task."""
    parts = USAGES[quality][:-1] if usage == "all" else (usage,)
    rows: Rows = []
    for part in parts:
        images = needed_folder(Path(folder) / "leftImg8bit" / part, NAME)
        marks = needed_folder(Path(folder) / _QUALITIES[quality] / part, NAME)
        for city in folder_names(images):
            for path in file_paths(images / city, f"*{_END}"):
                start = path.name.removesuffix(_END)
                name = f"{start}_{_QUALITIES[quality]}_{TASKS[task]}"
                mark = needed_file(marks / city / name, NAME)
                rows.append((path, partial(_polygons, mark) if task == "polygon" else mark))
    return some_rows(rows, NAME, f"{folder}, usage {usage!r}")


def _polygons(path: Path) -> np.ndarray:
    """The JSON of a file, without spaces, with its key order."""
    told = read_json(path, NAME)
    return np.array(json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":")))

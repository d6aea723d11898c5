"""COCO's annotation format: boxes, polygons, keypoints, segments, and captions of images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_json
from mycelia.dataset.formats.image_rows import Rows, column, needed_file, some_rows

NAME = "CocoDataset"
_BOX = {"bbox": np.float32, "category_id": np.uint32, "iscrowd": np.uint32}
TASKS: dict[str, dict[str, Any]] = {
    "Detection": _BOX,
    "Stuff": {"segmentation": np.float32, "iscrowd": np.uint32},
    "Keypoint": {"keypoints": np.float32, "num_keypoints": np.uint32},
    "Panoptic": {**_BOX, "area": np.uint32},
    "Captioning": {"captions": np.str_},
}


class Annotations:
    """The content of an annotation file, for one task."""

    def __init__(self, path: str, task: str) -> None:
        self._path = Path(path)
        self._task = task
        self._told = _loaded(self._path)
        self._images = {
            self._of(image, "id"): self._of(image, "file_name")
            for image in self._of(self._told, "images")
        }

    def classes(self) -> dict[str, list[int]]:
        """The id of each class; for segments, also whether it is a thing or stuff."""
        keys = ("id", "isthing") if self._task == "Panoptic" else ("id",)
        found = self._of(self._told, "categories")
        return {self._of(one, "name"): [self._of(one, key) for key in keys] for one in found}

    def rows(self, folder: str) -> Rows:
        """Each image with an annotation, its annotations, and its name, ordered by name."""
        kinds = TASKS[self._task]
        known = {entry[0] for entry in self.classes().values()} if "category_id" in kinds else None
        found: dict[str, dict[str, list[Any]]] = {}
        for note in self._of(self._told, "annotations"):
            parts = found.setdefault(self._image(note), {key: [] for key in kinds})
            for key, values in self._parts(note).items():
                parts[key] += values
                if key == "category_id" and known is not None:
                    self._check_known(values, known)
        rows = [
            (
                Path(folder) / name,
                *(column(parts[key], kind) for key, kind in kinds.items()),
                np.array(Path(name).stem),
            )
            for name, parts in sorted(found.items())
        ]
        return some_rows(rows, NAME, self._path)

    def _parts(self, note: Any) -> dict[str, list[list[Any]]]:
        """The rows that one annotation adds to each column."""
        if self._task == "Panoptic":
            segments = self._of(note, "segments_info")
            return {key: [self._line(one, key) for one in segments] for key in TASKS[self._task]}
        if self._task == "Captioning":
            return {"captions": [[self._of(note, "caption")]]}
        if self._task == "Stuff":
            return {
                "segmentation": self._polygons(note),
                "iscrowd": [self._line(note, "iscrowd")],
            }
        defaults = {"iscrowd": 0} if self._task == "Detection" else {}
        return {key: [self._line({**defaults, **note}, key)] for key in TASKS[self._task]}

    def _polygons(self, note: Any) -> list[list[float]]:
        shape = self._of(note, "segmentation")
        polygons = [self._of(shape, "counts")] if isinstance(shape, dict) else shape
        if not all(isinstance(polygon, list) for polygon in polygons):
            raise self._damaged("a segmentation must hold lists of points or counts", note)
        return polygons

    def _line(self, entry: Any, key: str) -> list[Any]:
        value = self._of(entry, key)
        line = value if isinstance(value, list) else [value]
        if not all(isinstance(number, (int, float)) for number in line):
            raise self._damaged(f"{key!r} must hold numbers", entry)
        return line

    def _image(self, note: Any) -> str:
        number = self._of(note, "image_id")
        if number not in self._images:
            raise self._damaged("an annotation refers to an unlisted image", note)
        return self._images[number]

    def _check_known(self, values: list[list[Any]], known: set[int]) -> None:
        for (number,) in values:
            if number not in known:
                raise self._damaged("a category_id is not among the categories", number)

    def _of(self, entry: Any, key: str) -> Any:
        if not isinstance(entry, dict) or key not in entry:
            raise self._damaged(f"{key!r} is missing", entry)
        return entry[key]

    def _damaged(self, what: str, entry: Any) -> RuntimeError:
        return problem(RuntimeError, f"{NAME}: {what}", got=f"{str(entry)[:120]} in {self._path}")


def _loaded(path: Path) -> Any:
    needed_file(path, NAME, ValueError)
    return read_json(path, NAME)

"""PASCAL VOC's file format: lists of images, class masks, boxes in XML files."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.image_rows import Rows, column, needed_file, text_lines

NAME = "VOCDataset"
_LISTS = {"Segmentation": "Segmentation", "Detection": "Main"}
_SIDES = ("xmin", "ymin", "xmax", "ymax")
Object = tuple[str, list[float], list[int], list[int]]


def list_file(folder: str, task: str, usage: str) -> Path:
    """The file that lists the images of a part."""
    return Path(folder) / "ImageSets" / _LISTS[task] / f"{usage}.txt"


def segmentation_rows(folder: str, usage: str) -> Rows:
    """Each image, its mask, and its name."""
    root = Path(folder)
    return [
        (root / "JPEGImages" / f"{n}.jpg", root / "SegmentationClass" / f"{n}.png", np.array(n))
        for n in _names(folder, "Segmentation", usage)
    ]


def detection_objects(folder: str, usage: str) -> dict[str, list[Object]]:
    """The objects of each image."""
    root = Path(folder) / "Annotations"
    names = _names(folder, "Detection", usage)
    return {name: _objects(needed_file(root / f"{name}.xml", NAME)) for name in names}


def detection_rows(folder: str, objects: dict[str, list[Object]], labels: dict[str, int]) -> Rows:
    """Each image with the boxes, labels, and flags of its objects, and its name."""
    rows: Rows = []
    for name, found in objects.items():
        kept = [entry for entry in found if entry[0] in labels]
        if kept:
            path = Path(folder) / "JPEGImages" / f"{name}.jpg"
            boxes = column((entry[1] for entry in kept), np.float32)
            classes = np.array([[labels[entry[0]]] for entry in kept], np.uint32)
            marks = (column((entry[k] for entry in kept), np.uint32) for k in (2, 3))
            rows.append((path, boxes, classes, *marks, np.array(name)))
    return rows


def _names(folder: str, task: str, usage: str) -> list[str]:
    lines = text_lines(list_file(folder, task, usage), NAME, ValueError)
    return [line.strip() for line in lines]


def _objects(path: Path) -> list[Object]:
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise _damaged(path, f"invalid XML: {error}") from error
    found = root.findall("object")
    if not found:
        raise _damaged(path, "no objects")
    return [_object(path, entry) for entry in found]


def _object(path: Path, entry: Any) -> Object:
    box = entry.find("bndbox")
    if box is None:
        raise _damaged(path, "an object without a bndbox")
    left, top, right, bottom = (_number(path, box, side, None) for side in _SIDES)
    if left <= 0 or top <= 0 or right <= left or bottom <= top:
        raise problem(
            RuntimeError,
            f"{NAME}: a box is empty or outside of its image",
            got=f"{(left, top, right, bottom)} in {path}",
            expected="0 < xmin < xmax and 0 < ymin < ymax",
        )
    marks = ([int(_number(path, entry, key, 0.0))] for key in ("difficult", "truncated"))
    difficult, truncated = marks
    name = entry.findtext("name", "")
    return name, [left, top, right - left, bottom - top], difficult, truncated


def _number(path: Path, entry: Any, key: str, default: float | None) -> float:
    text = entry.findtext(key)
    if text is None and default is not None:
        return default
    try:
        return float(text)
    except (TypeError, ValueError) as error:
        raise _damaged(path, f"{key} is {text!r}, not a number") from error


def _damaged(path: Path, what: str) -> RuntimeError:
    return problem(RuntimeError, f"{NAME}: an annotation cannot be read", got=f"{path}: {what}")

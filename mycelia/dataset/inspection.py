"""Utilities for inspecting data: drawing detected boxes, reading single lines of text files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int, is_number
from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia.dataset.transforms.checks import wrong_type
from mycelia.dataset.vision.backends.opencv import opencv

_OWNER = "imshow_det_bbox"


def imshow_det_bbox(
    image: np.ndarray,
    bboxes: np.ndarray,
    labels: np.ndarray,
    segm: np.ndarray | None = None,
    class_names: Any = None,
    score_threshold: float = 0,
    bbox_color: tuple[int, int, int] = (0, 255, 0),
    text_color: tuple[int, int, int] = (203, 192, 255),
    mask_color: tuple[int, int, int] = (128, 0, 128),
    thickness: int = 2,
    font_size: float = 0.8,
    show: bool = True,
    win_name: str = "win",
    wait_time: int = 2000,
    out_file: str | None = None,
) -> np.ndarray:
    """Draw boxes (x, y, width, height, score), their names and masks on an image.

    Colors are in BGR order. Returns the annotated image, shows it in a window for
    `wait_time` milliseconds if `show`, and writes it to `out_file` if that is given.
    """
    drawn = _drawable(image)
    _check_boxes(bboxes, labels, score_threshold)
    _check_masks(segm, drawn, len(bboxes))
    _check_names_and_colors(class_names, bbox_color, text_color, mask_color)
    _check_sizes(thickness=thickness, font_size=font_size, wait_time=wait_time)
    _check_output(show, win_name, out_file)
    cv = opencv(_OWNER)
    for index, (box, label) in enumerate(zip(bboxes, labels[:, 0])):
        if len(box) == 5 and box[4] < score_threshold:
            continue
        left, top, right, bottom = (
            int(edge) for edge in (box[0], box[1], box[0] + box[2], box[1] + box[3])
        )
        cv.rectangle(drawn, (left, top), (right, bottom), bbox_color, thickness)
        text = _name(class_names, int(label)) + (f"|{box[4]:.2f}" if len(box) == 5 else "")
        font = cv.FONT_HERSHEY_SIMPLEX
        cv.putText(drawn, text, (left, bottom), font, font_size, text_color, thickness)
        if segm is not None:
            inside = segm[index].astype(bool)
            drawn[inside] = drawn[inside] * 0.5 + np.array(mask_color) * 0.5
    if out_file is not None:
        _write(drawn, out_file)
    if show:
        cv.imshow(win_name, drawn)
        cv.waitKey(wait_time)
    return drawn


def _check(holds: bool, argument: str, value: Any, expected: str) -> None:
    if not holds:
        raise problem(
            AssertionError,
            f"{_OWNER}: invalid {argument}",
            got=f"{value!r}"[:200],
            expected=expected,
        )


def _drawable(image: Any) -> np.ndarray:
    """A copy of the image as [H, W, C]."""
    is_image = (
        isinstance(image, np.ndarray) and image.ndim == 3 and 3 in (image.shape[0], image.shape[2])
    )
    _check(is_image, "image", image, "an array of [H, W, 3] or [3, H, W]")
    return np.array(image.transpose(1, 2, 0) if image.shape[0] == 3 else image, order="C")


def _check_boxes(boxes: Any, labels: Any, threshold: Any) -> None:
    is_boxes = isinstance(boxes, np.ndarray) and boxes.ndim == 2 and boxes.shape[1] in (4, 5)
    _check(is_boxes, "bboxes", boxes, "an array of [N, 4], or of [N, 5] with scores")
    is_labels = isinstance(labels, np.ndarray) and labels.shape == (len(boxes), 1)
    _check(is_labels, "labels", labels, f"an array of [{len(boxes)}, 1]")
    if not is_number(threshold):
        raise wrong_type("score_threshold", threshold, "float or int")
    _check(threshold <= 0 or boxes.shape[1] == 5, "bboxes", boxes, "boxes of [N, 5], with scores")


def _check_masks(masks: Any, image: np.ndarray, count: int) -> None:
    if masks is None:
        return
    is_masks = isinstance(masks, np.ndarray) and masks.ndim == 3
    _check(is_masks, "segm", masks, "an array of [N, H, W]")
    fits = len(masks) >= count and masks.shape[1:] == image.shape[:2]
    _check(fits, "segm", masks.shape, f"{count} masks of {image.shape[:2]}")


def _check_names_and_colors(names: Any, *colors: Any) -> None:
    _check(isinstance(names, (list, tuple, dict)), "class_names", names, "a list, tuple or dict")
    for argument, color in zip(("bbox_color", "text_color", "mask_color"), colors):
        is_color = isinstance(color, tuple) and len(color) == 3
        _check(is_color, argument, color, "a tuple (B, G, R)")


def _check_sizes(**sizes: Any) -> None:
    for argument, size in sizes.items():
        is_right, kind = (is_number, "number") if argument == "font_size" else (is_int, "int")
        _check(is_right(size) and size >= 0, argument, size, f"a {kind} of 0 or more")


def _check_output(show: Any, title: Any, filename: Any) -> None:
    _check(isinstance(show, bool), "show", show, "a bool")
    _check(isinstance(title, str), "win_name", title, "a str")
    _check(filename is None or isinstance(filename, str), "out_file", filename, "a str")
    _check(show or filename is not None, "out_file", filename, "a file, unless the image is shown")


def _name(names: Any, label: int) -> str:
    known = label in names if isinstance(names, dict) else -len(names) <= label < len(names)
    return str(names[label]) if known else f"class {label}"


def _write(image: np.ndarray, filename: str) -> None:
    path = Path(filename)
    if not path.parent.is_dir():
        raise problem(FileNotFoundError, f"{_OWNER}: the folder does not exist", got=filename)
    cv = opencv(_OWNER)
    _check(
        bool(path.suffix) and cv.haveImageWriter(filename),
        "out_file",
        filename,
        "an image file extension such as .png or .jpg",
    )
    write_atomically(path, [cv.imencode(path.suffix, image)[1].tobytes()])


class LineReader:
    """Random access to the lines of a text file, counted from 1; lines are read on demand."""

    def __init__(self, filename: str) -> None:
        if not isinstance(filename, str):
            raise wrong_type("filename", filename, "str")
        if not Path(filename).is_file():
            raise problem(RuntimeError, "LineReader: the file does not exist", got=filename)
        self._path = Path(filename)
        self._file = self._path.open("rb")
        self._starts = _line_starts(self._file)
        self.len = len(self._starts)

    def __len__(self) -> int:
        return self.len

    def __getitem__(self, line: int) -> str:
        return self.readline(line)

    def readline(self, line: int) -> str:
        """The text of a line without its line ending."""
        if not is_int(line):
            raise wrong_type("line", line, "int")
        if not 1 <= line <= self.len:
            raise problem(
                ValueError,
                "LineReader: line number out of range",
                got=str(line),
                expected=f"1 to {self.len}",
            )
        if self._file.closed:
            self._file = self._path.open("rb")
        self._file.seek(self._starts[line - 1])
        return self._file.readline().decode("utf-8").rstrip("\r\n")

    def close(self) -> None:
        """Close the file; reading another line opens it again."""
        self._file.close()

    def __del__(self) -> None:
        if "_file" in self.__dict__:
            self._file.close()


def _line_starts(file: io.BufferedReader) -> list[int]:
    starts, index = [], 0
    for line in file:
        starts.append(index)
        index += len(line)
    return starts

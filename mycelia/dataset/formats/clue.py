"""CLUE's file format: a JSON object per line, with different fields for each task."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import json_value
from mycelia.dataset.formats.parts import ConcatenatedReader, PieceRows, Row
from mycelia.dataset.formats.pieces import filled_lines
from mycelia.dataset.formats.values import fitting

_PAIR = (("label", "sentence1", "sentence2"), ("id", "sentence1", "sentence2"))
_SPANS = ("span1_index", "span1_text", "span2_index", "span2_text")
TASKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # labeled, and for the test set
    "AFQMC": _PAIR,
    "CMNLI": _PAIR,
    "CSL": (("abst", "id", "keyword", "label"), ("abst", "id", "keyword")),
    "IFLYTEK": (("label", "label_des", "sentence"), ("id", "sentence")),
    "TNEWS": (("keywords", "label", "label_desc", "sentence"), ("id", "keywords", "sentence")),
    "WSC": (("idx", "label", *_SPANS, "text"), ("idx", *_SPANS, "text")),
}
USAGES = ("train", "test", "eval")


def open_clue(files: Sequence[str], task: str, usage: str) -> ConcatenatedReader:
    """The rows of files of one task, ordered by file name."""
    columns = TASKS[task][usage == "test"]
    parts = [PieceRows(filled_lines(Path(file)), partial(_row, columns)) for file in sorted(files)]
    return ConcatenatedReader("CLUEDataset", columns, parts)


def _row(columns: Sequence[str], line: str) -> Row:
    try:
        found = json_value(line)
    except ValueError as error:
        raise problem(RuntimeError, "the line is not valid JSON", got=str(error)) from None
    if not isinstance(found, dict):
        raise problem(RuntimeError, "the line is not a JSON object", got=f"{line:.80}")
    return tuple(_value(found, column) for column in columns)


def _whole(column: str, number: int) -> np.ndarray:
    try:
        return fitting(number, np.int32 if number < 0 else np.uint32)
    except ValueError as error:
        raise problem(RuntimeError, f"the field {column!r} is {error}", got=str(number)) from None


def _value(found: dict[str, Any], column: str) -> Any:
    entry = found.get("target", {}) if column in _SPANS else found
    match entry.get(column):
        case None:
            raise problem(
                RuntimeError, "a field is missing", got=", ".join(entry), expected=repr(column)
            )
        case str() as text:
            return text
        case int() as number if not isinstance(number, bool):
            return _whole(column, number)
        case float() as number:
            return np.array(number, np.float32)
        case list() as words if all(isinstance(word, str) for word in words):
            return np.array(words, str)
        case other:
            raise problem(
                RuntimeError,
                f"the field {column!r} must be text or a number",
                got=f"{other!r:.80}",
            )

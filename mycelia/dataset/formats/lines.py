"""Text files by line, and CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from glob import glob
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_lines
from mycelia.dataset.formats.parts import ConcatenatedReader, PieceRows
from mycelia.dataset.formats.pieces import filled_lines
from mycelia.dataset.formats.reader import ListReader
from mycelia.dataset.formats.values import fitting


def matching_files(patterns: Sequence[str]) -> tuple[str, ...]:
    """The files that the patterns match, in order; each pattern must match one."""
    found, without = [], []
    for pattern in patterns:
        names = [name for name in sorted(glob(pattern)) if Path(name).is_file()]
        found += names
        if not names:
            without.append(pattern)
    if without:
        raise problem(ValueError, "dataset_files: no files match", got=", ".join(map(str, without)))
    return tuple(sorted(found))


def open_text(files: Sequence[str]) -> ConcatenatedReader:
    """The non-empty lines."""
    parts = [PieceRows(filled_lines(Path(file)), lambda text: (text,)) for file in files]
    return ConcatenatedReader("TextFileDataset", ("text",), parts)


def csv_names(files: Sequence[str], delimiter: str) -> tuple[str, ...]:
    """The column names in the first line of the first file."""
    names = tuple(next(_fields(files[0], delimiter), ("", []))[1])
    if not names:
        raise problem(RuntimeError, "CSVDataset: the first line is empty", got=files[0])
    return names


def _fields(file: str, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """The fields of each row of a file, after the position where the row ends."""
    rows = csv.reader(read_lines(file, "CSVDataset", newline=""), delimiter=delimiter)
    try:
        for fields in rows:
            yield f"{file}:{rows.line_num}", fields
    except csv.Error as error:
        raise problem(
            RuntimeError, "CSVDataset: a row cannot be read", got=f"{file}:{rows.line_num}: {error}"
        ) from None


def open_csv(
    files: Sequence[str],
    delimiter: str,
    defaults: Sequence[Any] | None,
    names: Sequence[str],
    has_head: bool,
) -> ListReader:
    """The fields of CSV files, each in the type of its default (text without one)."""
    columns: list[list[Any]] = [[] for _ in names]
    ends = [0]
    for file in files:
        rows = _fields(file, delimiter)
        if has_head:
            next(rows, None)
        for location, fields in rows:
            if fields:
                _add(columns, fields, defaults, location, names)
        ends.append(len(columns[0]))
    return ListReader(names, columns, "CSVDataset", [b - a for a, b in pairwise(ends)])


def _add(
    columns: list[list[Any]],
    fields: list[str],
    defaults: Sequence[Any] | None,
    location: str,
    names: Sequence[str],
) -> None:
    if len(fields) != len(columns):
        raise problem(
            RuntimeError,
            f"CSVDataset: {location} has a different number of fields than there are columns",
            got=f"{len(fields)}",
            expected=f"{len(columns)}: {', '.join(names)}",
        )
    for column, text, number in zip(columns, fields, range(len(fields))):
        column.append(text if defaults is None else _typed(text, defaults[number], location))


def _typed(text: str, default: Any, location: str) -> Any:
    if isinstance(default, str):
        return text or default
    if not text.strip():
        return _sized(default)
    try:
        return _sized(type(default)(text))
    except ValueError as error:
        raise problem(
            RuntimeError,
            f"CSVDataset: {location}: a field is not a valid {type(default).__name__}",
            got=repr(text),
        ) from error


def _sized(number: Any) -> np.ndarray:
    return fitting(number, np.int32 if isinstance(number, int) else np.float32)

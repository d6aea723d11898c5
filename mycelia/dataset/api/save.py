"""Saving the rows of a dataset to MindRecord files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.api import arguments as check
from mycelia.mindrecord.names import check_file_name
from mycelia.mindrecord.progress import shown
from mycelia.mindrecord.writer import FileWriter

_MOST_FILES = 1000
_ROWS_AT_A_TIME = 256
_DESCRIPTION = "mindrecord"
_TYPES = (
    dict.fromkeys(("bool", "int8", "uint8", "int16", "uint16", "int32"), "int32")
    | dict.fromkeys(("uint32", "int64", "uint64"), "int64")
    | {"float16": "float32", "float32": "float32", "float64": "float64"}
)
_LARGEST = np.iinfo(np.int64).max
_OTHER_THAN_NAMES = re.compile(r"[^0-9A-Za-z_]")


def save(dataset: Any, file_name: str, num_files: int = 1, file_type: str = "mindrecord") -> None:
    """Write one epoch of a dataset; the files appear when all rows are written."""
    check.text("file_name", file_name)
    if not 1 <= check.integer("num_files", num_files) <= _MOST_FILES:
        raise problem(
            ValueError, "save: num_files is out of range", got=str(num_files), expected="1 to 1000"
        )
    if check.text("file_type", file_type) != "mindrecord":
        raise problem(ValueError, "save: unsupported file type", got=repr(file_type))
    rows = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    try:
        write(file_name, num_files, dataset.get_col_names(), rows, dataset.node.size())
    finally:
        rows.release()


def write(
    file_name: str,
    num_files: int,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    total: int | None = None,
) -> None:
    """Write rows of arrays; the first row determines the types of the columns."""
    source = iter(rows)
    first = next(source, None)
    if first is None:
        raise problem(RuntimeError, "save: the dataset is empty")
    names = [_OTHER_THAN_NAMES.sub("_", column) for column in columns]
    fields = [_field(column, value) for column, value in zip(columns, first)]
    writer = FileWriter(check_file_name(file_name), num_files)
    writer.add_schema(dict(zip(names, fields)), _DESCRIPTION)
    source = shown(chain([first], source), "save", total)
    while some := list(islice(source, _ROWS_AT_A_TIME)):
        writer.write_raw_data(
            [
                {name: _stored(c, f, v) for name, c, f, v in zip(names, columns, fields, row)}
                for row in some
            ]
        )
    writer.commit()


def _field(column: str, value: Any) -> dict[str, Any]:
    """The schema of a column, from its first value; the first axis may have any length."""
    kind = value.dtype.kind if isinstance(value, np.ndarray) else "O"
    if kind in "US" and value.size == 1:
        return {"type": "string" if kind == "U" else "bytes"}
    if kind in "USO" or value.dtype.name not in _TYPES:
        raise problem(
            RuntimeError,
            f"save: the column {column!r} has an unsupported type",
            got=f"{value.dtype} {list(value.shape)}" if kind != "O" else type(value).__name__,
            expected="numbers, or one string",
        )
    told: dict[str, Any] = {"type": _TYPES[value.dtype.name]}
    if value.ndim:
        told["shape"] = [-1, *value.shape[1:]]
    return told


def _stored(column: str, field: dict[str, Any], value: Any) -> Any:
    """A value in the form that the writer accepts; it must match that of the first row."""
    told = _field(column, value)
    if told != field:
        raise problem(
            RuntimeError,
            f"save: the shape or type of the column {column!r} varies",
            got=f"{told}, in the first row {field}",
            fix="make the rows uniform in an earlier map; only the first size may vary",
        )
    if value.dtype == np.uint64 and (value > _LARGEST).any():
        raise problem(
            RuntimeError,
            f"save: a value of the column {column!r} does not fit int64",
            got=str(value.max()),
        )
    if told["type"] == "bytes":
        return value.tobytes()
    if "shape" in told:
        return value.astype(told["type"])
    plain = value.astype(told["type"]) if told["type"] != "string" else value
    return plain.reshape(-1)[0].item()

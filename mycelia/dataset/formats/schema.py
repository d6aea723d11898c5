"""The columns of a schema: names, types, and shapes, from and to JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem

NUMBERS = tuple(
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()
)
TYPES = (*NUMBERS, "string")
_MORE_TYPES = (*TYPES, "bytes")


@dataclass(frozen=True)
class ColumnSchema:
    """A column: its name, the name of its type, and its shape (None: one axis of any length)."""

    name: str
    type: str
    shape: tuple[int, ...] | None = None

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of the values."""
        return np.dtype({"string": "U", "bytes": "S"}.get(self.type, self.type))

    def to_json(self) -> dict[str, Any]:
        """The column as JSON, with ordered keys."""
        if self.shape is None:
            return {"name": self.name, "rank": 1, "type": self.type}
        shape = list(self.shape)
        return {"name": self.name, "rank": len(shape), "shape": shape, "type": self.type}


def parsed_columns(columns: Any) -> tuple[ColumnSchema, ...]:
    """The columns in a list of dicts, or in a dict from names to dicts (ordered by name)."""
    if isinstance(columns, dict):
        return tuple(_parsed(name, columns[name]) for name in sorted(columns))
    if isinstance(columns, (list, tuple)):
        return tuple(_parsed(_part("name", entry), entry) for entry in columns)
    raise problem(
        RuntimeError,
        "Schema: columns must be a list or a dict",
        got=repr(columns),
        expected="[{'name': ..., 'type': ..., 'shape': [...]}], where shape is optional",
    )


def listed_columns(columns: Any) -> tuple[ColumnSchema, ...]:
    """The columns as JSON; one without a shape has any length, unless it is a scalar."""
    entries = columns if isinstance(columns, dict) else {entry["name"]: entry for entry in columns}
    return tuple(
        column if _has_shape(entries[column.name]) else replace(column, shape=None)
        for column in parsed_columns(columns)
    )


def _has_shape(entry: dict[str, Any]) -> bool:
    """Whether a column declares its shape; rank 0 implies one."""
    return "shape" in entry or entry.get("rank") == 0


def _parsed(name: str, entry: Any) -> ColumnSchema:
    kind = _part("type", entry)
    if kind not in _MORE_TYPES:
        raise problem(
            RuntimeError,
            f"Schema: column {name!r} has an unknown type",
            got=repr(kind),
            expected=f"one of {', '.join(_MORE_TYPES)}",
        )
    shape = entry.get("shape", [])
    sizes = shape if isinstance(shape, (list, tuple)) else [shape]
    if not all(isinstance(size, int) for size in sizes):
        raise problem(
            RuntimeError, f"Schema: column {name!r} must have a shape of ints", got=repr(shape)
        )
    return ColumnSchema(name, kind, tuple(sizes))


def _part(key: str, entry: Any) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str):
        raise problem(
            RuntimeError, f"Schema: a column has no {key}", got=repr(entry), expected="a str"
        )
    return value


def chosen_columns(
    columns: Sequence[ColumnSchema], names: Sequence[str]
) -> tuple[ColumnSchema, ...]:
    """The named columns, in that order; without names, all columns."""
    if not names:
        return tuple(columns)
    known = {column.name: column for column in columns}
    absent = [name for name in names if name not in known]
    if absent:
        raise problem(
            RuntimeError,
            "columns_list: the schema has no such column",
            got=", ".join(absent),
            expected=f"some of {', '.join(known)}",
        )
    return tuple(known[name] for name in names)

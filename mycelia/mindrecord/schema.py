"""The schema of a file: its fields, their types and shapes, and their encoding."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from mmap import mmap
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.mindrecord.blob_encoding import (
    compress_integers,
    expand_many,
    join_blobs,
)
from mycelia.mindrecord.exceptions import (
    MRMBuildSchemaError,
    MRMInvalidSchemaError,
    MRMValidateDataError,
)

ARRAY_TYPES = ("int32", "int64", "float32", "float64")
TYPES = (*ARRAY_TYPES, "string", "bytes")
COLUMN_TYPES = {
    "string": "TEXT",
    "int32": "INTEGER",
    "int64": "INTEGER",
    "float32": "REAL",
    "float64": "REAL",
}
_PYTHON_TYPES = {"string": str, "int32": int, "int64": int, "float32": float, "float64": float}
_NAME = re.compile(r"[0-9a-zA-Z_]+")
_NO_BLOB = bytes(4)  # stored for a row without blobs
_NO_SCALAR = {"id": 0}  # stored for a row without scalars


@dataclass(frozen=True)
class Field:
    """A field: a number, a string, bytes, or an array if it has a shape."""

    type: str
    shape: tuple[int, ...] | None = None

    @property
    def is_blob(self) -> bool:
        return self.type == "bytes" or self.shape is not None

    @property
    def is_integer_array(self) -> bool:
        return self.shape is not None and self.type.startswith("int")

    def as_json(self) -> dict[str, Any]:
        if self.shape is None:
            return {"type": self.type}
        return {"shape": list(self.shape), "type": self.type}

    def mismatch(self, value: Any) -> str:
        """Why a value does not match the field; empty if it does."""
        if self.shape is not None:
            return self._array_mismatch(value)
        kind = "bytes" if self.type == "bytes" else _PYTHON_TYPES[self.type].__name__
        if type(value).__name__ not in (kind, self.type) or isinstance(value, np.ndarray):
            return f"a {type(value).__name__} is not a {self.type}"
        return ""

    def _array_mismatch(self, value: Any) -> str:
        if not isinstance(value, np.ndarray):
            return f"a {type(value).__name__} is not an array"
        if str(value.dtype) != self.type:
            return f"an array of {value.dtype} is not of type {self.type}"
        if not _fits(value.size, self.shape or ()):
            return f"the shape {value.shape} cannot become {self.shape}"
        return ""


@dataclass(frozen=True)
class MindRecordSchema:
    """The fields by name, sorted, and a description."""

    fields: Mapping[str, Field]
    description: str = ""

    @cached_property
    def blob_fields(self) -> list[str]:
        return [name for name, field in self.fields.items() if field.is_blob]

    @cached_property
    def scalar_fields(self) -> list[str]:
        return [name for name, field in self.fields.items() if not field.is_blob]

    def as_json(self) -> dict[str, dict[str, Any]]:
        return {name: field.as_json() for name, field in self.fields.items()}


def parse_schema(content: Any, description: str = "") -> MindRecordSchema:
    """Parse and validate a schema dict."""
    if not isinstance(content, Mapping) or not content:
        raise problem(
            MRMInvalidSchemaError,
            "a schema must be a dict with at least one field",
            got=repr(content),
            expected='for example {"label": {"type": "int32"}}',
        )
    fields = {str(name): _parse_field(name, content[name]) for name in sorted(content, key=str)}
    return MindRecordSchema(fields, description)


def _parse_field(name: Any, content: Any) -> Field:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise problem(
            MRMInvalidSchemaError,
            f"field {name!r}: a name may contain only letters, digits and '_'",
        )
    if not isinstance(content, Mapping) or not content.keys() <= {"type", "shape"}:
        raise problem(
            MRMInvalidSchemaError,
            f"field {name!r}: must be a dict with 'type' and, for arrays, 'shape'",
            got=repr(content),
        )
    allowed = ARRAY_TYPES if "shape" in content else TYPES
    if content.get("type") not in allowed:
        raise problem(
            MRMInvalidSchemaError,
            f"field {name!r}: unknown type {content.get('type')!r}",
            expected=", ".join(allowed),
        )
    shape = _parse_shape(name, content["shape"]) if "shape" in content else None
    return Field(content["type"], shape)


def _parse_shape(name: str, shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, list):
        raise problem(
            MRMInvalidSchemaError, f"field {name!r}: the shape must be a list", got=repr(shape)
        )
    sizes_valid = all(is_int(size) and (size > 0 or size == -1) for size in shape)
    if not sizes_valid or shape.count(-1) > 1:
        raise problem(
            MRMBuildSchemaError,
            f"field {name!r}: a shape must have positive sizes, with -1 at most once",
            got=repr(shape),
        )
    return tuple(int(size) for size in shape)


def _fits(size: int, shape: Sequence[int]) -> bool:
    known = math.prod(n for n in shape if n != -1)
    return size % known == 0 if -1 in shape else size == known


def mismatch(schema: MindRecordSchema, row: Mapping[str, Any]) -> str:
    """Why a row does not match the schema; empty if it does."""
    for name, field in schema.fields.items():
        if name not in row:
            return f"the field {name!r} is missing"
        why = field.mismatch(row[name])
        if why:
            return f"field {name!r}: {why}"
    return ""


def scalars_of(schema: MindRecordSchema, row: Mapping[str, Any]) -> dict[str, Any]:
    """The scalar fields of a row as Python values."""
    fields = schema.fields
    found = {name: _plain(name, fields[name], row[name]) for name in schema.scalar_fields}
    return found or _NO_SCALAR


def _plain(name: str, field: Field, value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, int):
        limits = np.iinfo(field.type)
        if not limits.min <= plain <= limits.max:
            raise problem(
                MRMValidateDataError,
                f"field {name!r}: {plain} does not fit {field.type}",
                expected=f"a number from {limits.min} to {limits.max}",
                fix='set the type of the field to "int64"' if field.type == "int32" else "",
            )
    return plain


def blob_of(schema: MindRecordSchema, row: Mapping[str, Any]) -> tuple[bytes, int]:
    """The encoded blob fields of a row, and how many bytes compression saved."""
    parts, saved = [], 0
    for name in schema.blob_fields:
        field, value = schema.fields[name], row[name]
        if field.is_integer_array:
            parts.append(compress_integers(value))
            saved += value.nbytes - len(parts[-1])
        else:
            parts.append(value.tobytes() if field.shape is not None else value)
    return (join_blobs(parts), saved) if parts else (_NO_BLOB, 0)


def blob_column(
    field: Field,
    buffer: bytes | mmap,
    data: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    *,
    compressed: bool,
) -> list[Any] | np.ndarray:
    """Decode a blob field of several rows from file bytes (`data` is a view of `buffer`).

    Arrays of equal shape are stacked. Invalid bytes raise ValueError.
    """
    if field.shape is None:
        return [buffer[start:end] for start, end in zip(starts.tolist(), ends.tolist())]
    if compressed and field.is_integer_array:
        flat, counts = expand_many(data, starts, ends, field.type)
    else:
        flat, counts = _plain_numbers(field, buffer, starts, ends)
    sizes = counts.tolist()
    for size in set(sizes):
        if not _fits(size, field.shape):
            raise ValueError(f"{size} numbers cannot have the shape {field.shape}")
    if len(set(sizes)) == 1:
        return flat.reshape(len(sizes), *_open_shape(sizes[0], field.shape))
    bounds = [0, *accumulate(sizes)]
    return [
        flat[start:end].reshape(_open_shape(end - start, field.shape))
        for start, end in pairwise(bounds)
    ]


def _plain_numbers(
    field: Field, buffer: bytes | mmap, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The values of several rows, concatenated with one copy, and how many each row has."""
    kind = np.dtype(f"<{np.dtype(field.type).str[1:]}")
    if ((ends - starts) % kind.itemsize).any():
        raise ValueError(f"the size is not a multiple of {field.type}")
    view = memoryview(buffer)
    parts = [view[start:end] for start, end in zip(starts.tolist(), ends.tolist())]
    return np.frombuffer(bytearray().join(parts), kind), (ends - starts) // kind.itemsize


def _open_shape(size: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with -1 resolved; NumPy cannot do so for an empty array."""
    known = math.prod(n for n in shape if n != -1)
    return tuple(size // known if n == -1 else n for n in shape)


def scalar_column(field: Field, values: Sequence[Any]) -> list[Any]:
    """Stored scalars in the type of their field. Invalid values raise ValueError."""
    expected = _PYTHON_TYPES[field.type]
    kinds = set(map(type, values))
    if expected is float and int in kinds:
        values = [float(value) if type(value) is int else value for value in values]
        kinds = set(map(type, values))
    if kinds - {expected}:
        other = next(value for value in values if type(value) is not expected)
        raise ValueError(f"{other!r} is not a {field.type}")
    if expected is int and values:
        limits = np.iinfo(field.type)
        if not limits.min <= min(values) <= max(values) <= limits.max:
            raise ValueError(f"{min(values)} to {max(values)} are not all {field.type}")
    return list(values)

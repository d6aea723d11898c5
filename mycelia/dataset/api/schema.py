"""The schema: names, types, and shapes of the columns of files that do not declare them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.dtype import DType, as_dtype
from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_json
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.type_names import string
from mycelia.dataset.api import arguments as check
from mycelia.dataset.formats.schema import TYPES, ColumnSchema, parsed_columns

_FIELDS = ("datasetType", "numRows", "columns")


class Schema(CheckedKeywords):
    """The names, types, and shapes of columns, and the number of rows (0: unspecified)."""

    def __init__(self, schema_file: str | None = None) -> None:
        self.schema_file = None
        self.columns: tuple[ColumnSchema, ...] = ()
        self.dataset_type = ""
        self.num_rows = 0
        if schema_file is not None:
            self.schema_file = str(Path(check.text("schema_file", schema_file)).absolute())
            self.from_json(_loaded(Path(self.schema_file)))

    def add_column(self, name: str, de_type: Any, shape: list[int] | None = None) -> None:
        """Add a column; without a shape, its values have one axis of any length."""
        if not check.text("name", name):
            raise problem(TypeError, "add_column: the name is empty")
        if shape is not None and not isinstance(shape, list):
            raise check.wrong_type("shape", shape, "list")
        sizes = None if shape is None else tuple(check.integer("shape", size) for size in shape)
        self.columns += (ColumnSchema(name, _type_name(de_type), sizes),)

    def parse_columns(self, columns: Any) -> None:
        """Replace the columns with those of a list of dicts or a dict of dicts."""
        self.columns = parsed_columns(columns)

    def from_json(self, json_obj: Any) -> None:
        """Load a schema from a dict in the form of `to_json`."""
        told = json_obj if isinstance(json_obj, dict) else {}
        unknown = [key for key in told if key not in _FIELDS]
        if unknown:
            raise problem(RuntimeError, "Schema: unknown fields", got=", ".join(unknown))
        if not told.get("columns"):
            raise problem(RuntimeError, "Schema: columns are missing", got=repr(json_obj))
        rows, kind = told.get("numRows", 0), told.get("datasetType", "")
        if not is_int(rows) or rows < 0:
            raise problem(RuntimeError, "Schema: numRows must be a number of rows", got=repr(rows))
        if not isinstance(kind, str):
            raise problem(RuntimeError, "Schema: datasetType must be a string", got=repr(kind))
        self.parse_columns(told["columns"])
        self.dataset_type, self.num_rows = kind, rows

    def to_json(self) -> str:
        """The JSON text of the schema."""
        told: dict[str, Any] = {"columns": [column.to_json() for column in self.columns] or None}
        if self.dataset_type:
            told["datasetType"] = self.dataset_type
        if self.num_rows:
            told["numRows"] = self.num_rows
        return json.dumps(told, indent=2)

    def __str__(self) -> str:
        return self.to_json()

    @staticmethod
    def get_num_rows(schema: Any) -> int:
        """The number of rows that a schema, or a schema file, declares."""
        return loaded_schema(schema).num_rows


def loaded_schema(schema: Any) -> Schema:
    """The schema itself, or the one in this file."""
    return schema if isinstance(schema, Schema) else Schema(check.text("schema", schema))


def numpy_type(kind: Any) -> np.dtype[Any]:
    """The NumPy type of a column type."""
    return np.dtype(np.str_) if kind is string else as_dtype(kind).numpy


def _loaded(path: Path) -> Any:
    if not path.is_file():
        raise problem(ValueError, "Schema: the file does not exist", got=str(path))
    return read_json(path, "Schema")


def _type_name(kind: Any) -> str:
    name = kind.numpy.name if isinstance(kind, DType) else kind
    if kind is string:
        return "string"
    if name not in TYPES:
        raise problem(
            TypeError,
            "add_column: unknown type",
            got=repr(kind),
            expected=f"a dtype, or one of {', '.join(TYPES)}",
        )
    return name

"""A converter from CSV to MindRecord, with inferred column types."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_text
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.mindrecord.converters.conversion import (
    check_partition_number,
    image_writer,
    write_rows,
)
from mycelia.mindrecord.exceptions import SUCCESS, ConversionStatus
from mycelia.mindrecord.names import check_file_name

_MISSING = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"}
_BOOLEANS = {"True": 1, "TRUE": 1, "true": 1, "False": 0, "FALSE": 0, "false": 0}
_INT64 = 1 << 63


class CsvToMR(CheckedKeywords):
    """Converts a CSV file whose first line names the columns."""

    def __init__(
        self,
        source: str,
        destination: str,
        columns_list: list[str] | None = None,
        partition_number: int = 1,
    ) -> None:
        for argument, value in (("source", source), ("destination", destination)):
            if not isinstance(value, str):
                raise problem(ValueError, f"'{argument}' must be a str, got {value!r}")
            check_file_name(value, argument)
        if columns_list and not (
            isinstance(columns_list, list) and all(isinstance(c, str) for c in columns_list)
        ):
            raise problem(ValueError, f"'columns_list' must be a list of str, got {columns_list!r}")
        self.source = source
        self.destination = destination
        self.columns_list = columns_list
        self.partition_number = check_partition_number(partition_number)

    def run(self) -> ConversionStatus:
        """Convert the file."""
        names, table = self._read()
        columns = self._chosen(names)
        typed = {name: _typed([row[names.index(name)] for row in table]) for name in columns}
        schema = {name: {"type": kind} for name, (kind, _) in typed.items()}
        writer = image_writer(self.destination, self.partition_number, schema, "csv_schema")
        writer.add_index(columns)
        values = zip(*(typed[name][1] for name in columns))
        rows = (dict(zip(columns, row)) for row in values)
        write_rows(writer, rows, label="CsvToMR", total=len(table))
        return SUCCESS

    def transform(self) -> None:
        """Convert the file."""
        self.run()

    def _read(self) -> tuple[list[str], list[list[str]]]:
        text = read_text(self.source, "CsvToMR").removeprefix("\ufeff")
        try:
            lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
        except csv.Error as error:
            raise problem(
                RuntimeError, f"CsvToMR: {self.source} cannot be parsed: {error}"
            ) from None
        if not lines:
            raise problem(RuntimeError, f"CsvToMR: {self.source} is empty")
        names, *table = lines
        if len(set(names)) < len(names):
            raise problem(
                RuntimeError,
                f"CsvToMR: {self.source} has duplicate column names",
                got=", ".join(names)[:200],
            )
        for number, row in enumerate(table, 2):
            if len(row) != len(names):
                raise problem(
                    ValueError,
                    f"CsvToMR: row {number} of {self.source} has {len(row)} values",
                    expected=f"{len(names)} values, one per column",
                )
        return names, table

    def _chosen(self, names: list[str]) -> list[str]:
        columns = self.columns_list or names
        for name in columns:
            if name not in names:
                raise problem(
                    RuntimeError,
                    f"CsvToMR: unknown column {name!r} in {self.source}",
                    expected=", ".join(names),
                )
            if name.isdigit():
                raise problem(
                    ValueError,
                    f"CsvToMR: the column name {name!r} is a number",
                    expected="names of columns in the first line",
                )
        return columns


def _typed(texts: Sequence[str]) -> tuple[str, list[Any]]:
    """The inferred type of a column and its values; a missing text is None, a number NaN."""
    present = [text for text in texts if text not in _MISSING]
    whole = len(present) == len(texts)
    if whole and texts and all(text in _BOOLEANS for text in texts):
        return "int32", [_BOOLEANS[text] for text in texts]
    if whole and texts and all(_reads(_int64, text) for text in texts):
        return "int64", [int(text) for text in texts]
    if all(_reads(float, text) for text in present):
        return "float64", [math.nan if text in _MISSING else float(text) for text in texts]
    return "string", [None if text in _MISSING else text for text in texts]


def _reads(reader: Callable[[str], Any], text: str) -> bool:
    try:
        reader(text)
    except ValueError:
        return False
    return "_" not in text


def _int64(text: str) -> int:
    if not -_INT64 <= int(text) < _INT64:
        raise ValueError(f"{text} has more than 64 bits")
    return int(text)

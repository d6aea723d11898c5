"""The SQLite index next to a data file: the location and the index fields of each row."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import json_value
from mycelia.mindrecord.encryption import opened
from mycelia.mindrecord.exceptions import MRMGenerateIndexError, MRMOpenError
from mycelia.mindrecord.header import Header, damaged
from mycelia.mindrecord.schema import COLUMN_TYPES

_PLACE_COLUMNS = (
    "ROW_ID",
    "PAGE_ID_RAW",
    "PAGE_OFFSET_RAW",
    "PAGE_OFFSET_RAW_END",
    "ROW_GROUP_ID",
    "PAGE_ID_BLOB",
    "PAGE_OFFSET_BLOB",
    "PAGE_OFFSET_BLOB_END",
)


def index_path(path: str) -> str:
    """The path of the index of a data file."""
    return f"{path}.db"


def column_of(field: str) -> str:
    """The column name of an index field."""
    return f"{field}_0"


def write_index(
    path: str, header: Header, shard_name: str, rows: Iterable[tuple[Any, ...]]
) -> None:
    """Create the index of a data file: the location of each row and its index fields."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as base:
            base.execute("PRAGMA journal_mode=OFF")  # a finished file is renamed atomically
            base.execute("PRAGMA synchronous=OFF")
            base.execute("BEGIN")
            base.execute(_create_table(header))
            base.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL);")
            base.execute("INSERT INTO SHARD_NAME(NAME) VALUES(?)", (shard_name,))
            columns = len(_PLACE_COLUMNS) + 2 * len(header.index_fields)
            marks = ",".join("?" * columns)
            base.executemany(f"INSERT INTO INDEXES VALUES({marks})", map(_with_counts, rows))
            base.execute("COMMIT")
    except sqlite3.Error as failed:
        raise problem(
            MRMGenerateIndexError,
            f"the index {path} cannot be written: {failed}",
            got=f"index fields {header.index_fields}",
            expected="names that differ by more than case, and not INC",
        ) from failed


def _create_table(header: Header) -> str:
    indices = ",".join(f" {name:<20} INT  NOT NULL" for name in _PLACE_COLUMNS)
    fields = "".join(
        f",INC_{i} INT, {column_of(name)} {COLUMN_TYPES[header.schema.fields[name].type]}"
        for i, name in enumerate(header.index_fields)
    )
    key = "".join(f",INC_{i}" for i in range(len(header.index_fields)))
    return f"CREATE TABLE INDEXES( {indices}{fields}, PRIMARY KEY(ROW_ID{key}));"


def _with_counts(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row with 0 before each index field."""
    size = len(_PLACE_COLUMNS)
    return row[:size] + tuple(chain.from_iterable((0, value) for value in row[size:]))


def check_index(path: str, header: Header) -> None:
    """Check that the index belongs to the data file and has as many rows."""
    with _open(path) as base:
        names = base.execute("SELECT NAME FROM SHARD_NAME").fetchall()
        if names != [(Path(path).name,)]:
            raise problem(
                MRMOpenError,
                f"the index of {path} belongs to another file",
                got=f"the name {names[0][0]!r} in it" if names else "no name in it",
                fix="restore the original names of the data file and its .db",
            )
        (last,) = base.execute("SELECT MAX(ROW_ID) FROM INDEXES").fetchone()
    count = 0 if last is None else last + 1 if isinstance(last, int) else repr(last)
    if count != header.rows:
        raise damaged(path, f"its index has {count} rows, the file has {header.rows}")


def read_places(path: str, header: Header) -> np.ndarray:
    """The ranges of the scalars and of the blobs of each row in a data file, validated."""
    with _open(path) as base:
        found = base.execute(f"SELECT {','.join(_PLACE_COLUMNS)} FROM INDEXES")
        try:
            flat = np.fromiter(chain.from_iterable(found), np.int64)
        except (TypeError, ValueError, OverflowError) as broken:
            raise damaged(path, "its index holds non-numeric values") from broken
    table = flat.reshape(-1, len(_PLACE_COLUMNS))
    if (table[:-1, 0] > table[1:, 0]).any():
        table = table[np.argsort(table[:, 0])]
    return _checked_places(path, header, table)


def _checked_places(path: str, header: Header, table: np.ndarray) -> np.ndarray:
    if len(table) != header.rows or (table[:, 0] != np.arange(len(table))).any():
        raise damaged(path, f"its index has {len(table)} rows, the file has {header.rows}")
    used = np.array([page.used for page in header.pages], np.int64)
    spans = []
    for page, start, end in (table[:, 1:4].T, table[:, 5:8].T):
        if ((page < 0) | (page >= len(used))).any():
            raise damaged(path, "its index refers to a missing page")
        if ((start < 0) | (start > end - 8) | (end > used[page])).any():
            raise damaged(path, "its index refers to bytes outside of their page")
        base = header.header_size + header.page_size * page
        spans += [base + start, base + end]
    return np.stack(spans, axis=1)


def count_categories(path: str, field: str, version: str) -> dict[str, int]:
    """How many rows have each value of an index field; values are strings."""
    column = column_of(field)
    sql = f"SELECT CAST({column} AS TEXT), COUNT(*) FROM INDEXES WHERE {column} NOT NULL GROUP BY 1"
    with _open(path) as base:
        return {_unquoted(name, version): count for name, count in base.execute(sql)}


def find_rows(path: str, field: str, name: str, version: str) -> list[int]:
    """The rows of a shard that have a value, as a string, in an index field."""
    stored = _stored(path, field, name, version)
    sql = f"SELECT ROW_ID FROM INDEXES WHERE CAST({column_of(field)} AS TEXT) = ? ORDER BY ROW_ID"
    with _open(path) as base:
        return [row for (row,) in base.execute(sql, (stored,))]


def read_values(path: str, field: str, version: str) -> list[Any]:
    """The values of an index field, in row order."""
    with _open(path) as base:
        found = base.execute(f"SELECT {column_of(field)} FROM INDEXES ORDER BY ROW_ID")
        return [_unquoted(v, version) if isinstance(v, str) else v for (v,) in found]


def _unquoted(value: Any, version: str) -> str:
    """The original string: version 2.0 stores strings in quotes."""
    text = "" if value is None else str(value)
    return json_value(text) if version < "3.0" and text.startswith('"') else text


def _stored(path: str, field: str, name: str, version: str) -> str:
    if version >= "3.0":
        return name
    with _open(path) as base:
        declared = {row[1]: row[2] for row in base.execute("PRAGMA table_info(INDEXES)")}
    is_text = declared.get(column_of(field)) == "TEXT"
    return json.dumps(name, ensure_ascii=False) if is_text else name


@contextmanager
def _open(path: str) -> Iterator[sqlite3.Connection]:
    """Open the index of a data file for reading; SQLite errors are translated."""
    file = index_path(path)
    if not Path(file).is_file():
        raise problem(
            MRMOpenError,
            f"the index {file} is missing",
            fix="keep it next to the data file under its original name, or recreate it: "
            "FileWriter.open_for_append(path).commit()",
        )
    try:
        with closing(_connected(file)) as base:
            yield base
    except (sqlite3.Error, ValueError) as broken:
        raise damaged(path, f"its index cannot be read ({broken})") from broken


def _connected(file: str) -> sqlite3.Connection:
    with open(file, "rb") as stored:
        plain = opened(file, stored)
    if plain is None:
        uri = f"file:{quote(str(Path(file).absolute()))}?mode=ro&immutable=1"
        return sqlite3.connect(uri, uri=True)
    base = sqlite3.connect(":memory:")
    base.deserialize(plain)
    return base

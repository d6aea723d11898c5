"""Random schemas and rows, written the same way by the real MindSpore and by us.

Imported by Mycelia's tests and by make_mindrecord.py under the real MindSpore, so it imports
neither: `mindrecord` is the package of the one or the other.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HEADER_SIZE = 1 << 14
PAGE_SIZE = 1 << 15
SCALARS = ("int32", "int64", "float32", "float64", "string")
ARRAYS = ("int32", "int64", "float32", "float64")


@dataclass
class Case:
    """A dataset: how it is declared, and the calls that write it."""

    schema: dict[str, Any]
    description: str
    index_fields: list[str] | None
    shards: int
    calls: list[list[dict[str, Any]]]
    appended: list[list[dict[str, Any]]] = field(default_factory=list)
    header_size: int = HEADER_SIZE
    page_size: int = PAGE_SIZE


def make_case(seed: int) -> Case:
    """The dataset of a seed. A third has rows so large that groups and pages are cut."""
    rng = random.Random(seed)
    large = seed % 3 == 0
    schema = _schema(rng)
    if large:
        schema |= {"text": {"type": "string"}, "more": {"type": "bytes"}}
    shards = rng.choice([1, 1, 1, 2, 3])
    # the real one cannot cut a call of several shards in the same way twice: one call is enough
    calls = 1 if shards > 1 else rng.randint(1, 8 if large else 5)
    scalars = [name for name, f in schema.items() if f["type"] != "bytes" and "shape" not in f]
    chosen = rng.sample(scalars, rng.randint(1, len(scalars))) if scalars and seed % 2 else None

    def rows() -> list[dict[str, Any]]:
        return [_row(rng, schema, large) for _ in range(rng.randint(1, 16 if large else 6))]

    return Case(
        schema,
        rng.choice(["", "some rows", 'é "quoted" \\ \n']),
        chosen,
        shards,
        [rows() for _ in range(calls)],
        [rows() for _ in range(rng.randint(1, 3))] if shards == 1 and seed % 4 == 0 else [],
    )


def make_long_case(seed: int) -> Case:
    """The dataset of a seed with many rows, in pages and headers of any size."""
    rng = random.Random(seed)
    schema = _schema(rng) | {"number": {"type": "float32"}}
    shards = rng.choice([1, 2, 3, 5])
    rows = [_row(rng, schema, False) for _ in range(rng.randint(shards, 400))]
    for row in rows:  # few of these doubles are float32 numbers: they are stored as they are
        row["number"] = rng.choice([rng.randint(0, 30) / 3, rng.randint(-9, 9) / 2])
    header_size = 4 * rng.randint(1 << 12, 1 << 14)
    page_size = 4 * rng.randint(1 << 13, 1 << 15)
    return Case(schema, "", None, shards, [rows], header_size=header_size, page_size=page_size)


def _schema(rng: random.Random) -> dict[str, Any]:
    names = rng.sample(["a", "B", "c_1", "data", "label", "x", "Zz", "name_of_file", "_y"], 9)
    fields: dict[str, Any] = {}
    for name in names[: rng.randint(1, 6)]:
        kind = rng.choice(["scalar", "scalar", "bytes", "array", "array"])
        if kind == "scalar":
            fields[name] = {"type": rng.choice(SCALARS)}
        elif kind == "bytes":
            fields[name] = {"type": "bytes"}
        else:
            shape = rng.choice([[-1], [2, -1], [3], [2, 2], [-1, 4]])
            fields[name] = {"type": rng.choice(ARRAYS), "shape": shape}
    return fields


def _row(rng: random.Random, schema: dict[str, Any], large: bool) -> dict[str, Any]:
    return {name: _value(rng, entry, large) for name, entry in schema.items()}


def _value(rng: random.Random, entry: dict[str, Any], large: bool) -> Any:
    kind = entry["type"]
    if "shape" in entry:
        return _array(rng, kind, entry["shape"], large)
    if kind == "bytes":
        return rng.randbytes(rng.randint(1, 5000 if large and rng.random() < 0.5 else 40))
    if kind == "string":
        text = rng.choice(["", "b.jpg", "it's", 'a "word"', "é", "漢字", "x" * rng.randint(1, 300)])
        return text * (rng.randint(1, 5000) // max(len(text), 1)) if large else text
    if kind.startswith("int"):
        bits = rng.choice([1, 5, 7, 8, 15, 16, 31] + ([32, 62, 63] if kind == "int64" else []))
        return rng.choice([int, getattr(np, kind)])(rng.randint(-(1 << bits), (1 << bits) - 1))
    number = rng.choice([0.0, 1.0, -2.5, rng.uniform(-10, 10), rng.gauss(0, 1e6), 1e-3])
    return getattr(np, kind)(number) if rng.random() < 0.3 else number


def _array(rng: random.Random, kind: str, shape: list[int], large: bool) -> np.ndarray:
    open_size = rng.randint(1, 500 if large else 9)
    sizes = [open_size if n == -1 else n for n in shape]
    count = int(np.prod(sizes))
    if kind.startswith("float"):
        return np.array([rng.gauss(0, 10) for _ in range(count)], kind).reshape(sizes)
    most = 31 if kind == "int32" else 63
    bits = [rng.choice([3, 7, 8, 15, 16, 30, most]) for _ in range(count)]
    values = [rng.randint(-(1 << b), (1 << b) - 1) for b in bits]
    return np.array(values, kind).reshape(sizes)


def write_case(mindrecord: Any, folder: Path, case: Case) -> list[Path]:
    """Write a dataset with FileWriter; the data files in their order."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    base = folder / "rows.mindrecord"
    writer = mindrecord.FileWriter(str(base), case.shards)
    writer.set_header_size(case.header_size)
    writer.set_page_size(case.page_size)
    writer.add_schema(case.schema, case.description)
    if case.index_fields:
        writer.add_index(case.index_fields)
    for rows in case.calls:
        writer.write_raw_data(list(rows))
    writer.commit()
    if case.appended:
        writer = mindrecord.FileWriter.open_for_append(str(base))
        for rows in case.appended:
            writer.write_raw_data(list(rows))
        writer.commit()
    return sorted(path for path in folder.iterdir() if path.suffix != ".db")


def write_version_2(mindrecord: Any, folder: Path) -> Path:
    """A file as version 2.0 made them: integer arrays as they are, texts of the index in quotes."""
    case = Case(
        {"x": {"type": "bytes"}, "s": {"type": "string"}, "i": {"type": "int32"}},
        "old",
        None,
        1,
        [
            [
                {"x": np.arange(i + 1, dtype="<i4").tobytes(), "s": f"n{i % 2}", "i": i}
                for i in range(5)
            ]
        ],
    )
    (path,) = write_case(mindrecord, folder, case)
    header = json.loads(header_text(path))
    header["version"] = "2.0"
    del header["compression_size"]
    header["schema"][0]["schema"]["x"] = {"shape": [-1], "type": "int32"}
    text = json.dumps(header, separators=(",", ":")).encode()
    with path.open("r+b") as file:
        file.write(len(text).to_bytes(8, "little") + text)
    base = sqlite3.connect(f"{path}.db")
    base.execute("UPDATE INDEXES SET s_0 = '\"' || s_0 || '\"'")
    base.commit()
    base.close()
    return path


VERSION_2_ROWS = [
    {"i": i, "s": f"n{i % 2}", "x": np.arange(i + 1, dtype="int32")} for i in range(5)
]


def header_text(path: Path) -> str:
    """The JSON at the begin of a data file."""
    with path.open("rb") as file:
        return file.read(int.from_bytes(file.read(8), "little")).decode()


def row_count(path: Path) -> int:
    """How many rows the header of a data file speaks of."""
    return max(
        (page["end_row_id"] for page in json.loads(header_text(path))["page"] or []), default=0
    )


def extra_shards(case: Case, files: list[Path]) -> list[int]:
    """The shards that got one row more than others; the real one draws them."""
    share = len(case.calls[0]) // case.shards
    return [i for i, file in enumerate(files) if case.shards > 1 and row_count(file) > share]


def plain_rows(case: Case) -> list[dict[str, Any]]:
    """The rows of a dataset as they come back: scalars of numpy as those of Python."""
    return [
        {k: v.item() if isinstance(v, np.generic) else v for k, v in row.items()}
        for rows in case.calls + case.appended
        for row in rows
    ]


def index_content(path: Path) -> str:
    """All of an index, as text: the statements that make it, and its rows in their order."""
    base = sqlite3.connect(f"{path}.db")
    made = base.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
    tables = [
        base.execute(f"SELECT * FROM {name}").fetchall() for name in ("INDEXES", "SHARD_NAME")
    ]
    base.close()
    return repr((made, tables))


def checksum(path: Path) -> tuple[int, int, int]:
    """Size and checksum of a data file, and the checksum of its index."""
    data = path.read_bytes()
    return len(data), zlib.crc32(data), zlib.crc32(index_content(path).encode())


def read_rows(mindrecord: Any, files: list[Path]) -> list[dict[str, Any]]:
    """The rows that FileReader gives for the dataset of the first file."""
    reader = mindrecord.FileReader(str(files[0]), 1)
    rows = list(reader.get_next())
    reader.close()
    return rows


def same(left: Any, right: Any) -> bool:
    """Whether two rows are equal, arrays and their types included."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    return bool(left == right)

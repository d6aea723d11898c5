"""The header of a data file: sizes, schema, index fields, and pages, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import json_value
from mycelia.mindrecord.contents import Buffer
from mycelia.mindrecord.exceptions import MindRecordException, MRMOpenError, MRMSetHeaderError
from mycelia.mindrecord.schema import MindRecordSchema, parse_schema

HEADER_SIZE = 1 << 24
HEADER_SIZES = (1 << 14, 1 << 27)
PAGE_SIZE = 1 << 25
PAGE_SIZES = (1 << 15, 1 << 28)
VERSION = "3.0"
VERSIONS = ("2.0", "3.0")
BLOB, RAW = "BLOB_DATA", "RAW_DATA"
LENGTH_SIZE = 8


@dataclass
class Page:
    """A page of the file: `used` bytes of rows, either scalars or blobs."""

    id: int
    kind: str
    number: int
    start_row: int = 0
    end_row: int = 0
    groups: list[tuple[int, int]] = field(default_factory=list)  # (group, first byte in the page)
    used: int = 0


@dataclass
class Header:
    """The description of a data file and its shards."""

    schema: MindRecordSchema
    index_fields: list[str]
    shard_names: list[str]
    shard_id: int = 0
    header_size: int = HEADER_SIZE
    page_size: int = PAGE_SIZE
    compression_size: int = 0
    pages: list[Page] = field(default_factory=list)
    version: str = VERSION

    @property
    def compressed(self) -> bool:
        """Whether integer arrays are stored compressed."""
        return self.version >= "3.0"

    @property
    def rows(self) -> int:
        return max((page.end_row for page in self.pages if page.kind == BLOB), default=0)

    def last(self, kind: str) -> Page | None:
        return next((page for page in reversed(self.pages) if page.kind == kind), None)

    def place(self, page: Page | int, offset: int = 0) -> int:
        """The file offset of a byte of a page."""
        number = page if isinstance(page, int) else page.id
        return self.header_size + self.page_size * number + offset

    def shared(self) -> tuple[Any, ...]:
        """What all shards of a dataset share."""
        return (
            self.header_size,
            self.page_size,
            self.version,
            self.index_fields,
            self.schema.as_json(),
        )


def encode_header(header: Header) -> bytes:
    """The length and the JSON at the start of the file."""
    index = [{"index_field": name, "schema_id": 0} for name in header.index_fields]
    content = {
        "header_size": header.header_size,
        "index_fields": index or None,
        "page": [_page_json(page, header.shard_id) for page in header.pages] or None,
        "page_size": header.page_size,
        "compression_size": max(0, header.compression_size),
        "schema": [
            {
                "blob_fields": header.schema.blob_fields,
                "desc": header.schema.description,
                "schema": header.schema.as_json(),
            }
        ],
        "shard_addresses": header.shard_names,
        "shard_id": header.shard_id,
        "statistics": None,
        "version": header.version,
    }
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    if len(text) + LENGTH_SIZE > header.header_size:
        raise problem(
            MRMSetHeaderError,
            f"the header requires {len(text) + LENGTH_SIZE} bytes",
            got=f"a header size of {header.header_size}",
            fix="call set_header_size with a larger size before the first row is written",
        )
    return len(text).to_bytes(LENGTH_SIZE, "little") + text


def _page_json(page: Page, shard_id: int) -> dict[str, Any]:
    return {
        "end_row_id": page.end_row,
        "page_id": page.id,
        "page_size": page.used,
        "page_type": page.kind,
        "page_type_id": page.number,
        "row_group_ids": [{"id": group, "offset": offset} for group, offset in page.groups],
        "shard_id": shard_id,
        "start_row_id": page.start_row,
    }


def read_header(path: str, data: Buffer) -> Header:
    """The header in these bytes of a data file, validated."""
    size = len(data)
    length = int.from_bytes(data[:LENGTH_SIZE], "little")
    if size < LENGTH_SIZE or length > min(HEADER_SIZES[1], size) - LENGTH_SIZE:
        raise damaged(path, f"its header should have {length} bytes, the file has {size}")
    try:
        header = _decode(json_value(data[LENGTH_SIZE : LENGTH_SIZE + length]))
        _check_pages(header, size)
    except (KeyError, TypeError, ValueError, RecursionError, MindRecordException) as broken:
        raise damaged(path, f"its header is invalid ({broken!s:.200})") from broken
    return header


def damaged(path: str, why: str, kind: type[MindRecordException] = MRMOpenError) -> Exception:
    """The error for a damaged file."""
    return problem(
        kind,
        f"{path} is not a valid MindRecord file: {why}",
        fix="copy or write the file again; if only the .db next to it is damaged, recreate it: "
        "FileWriter.open_for_append(path).commit()",
    )


def _decode(content: Any) -> Header:
    stored = content["schema"]
    if len(stored) != 1:
        raise ValueError(f"{len(stored)} schemas")
    schema = parse_schema(stored[0]["schema"], _text(stored[0]["desc"]))
    if stored[0]["blob_fields"] != schema.blob_fields:
        raise ValueError(f"the blob fields are {stored[0]['blob_fields']}")
    header = Header(
        schema=schema,
        index_fields=[_text(entry["index_field"]) for entry in content["index_fields"] or []],
        shard_names=[_text(name) for name in content["shard_addresses"]],
        shard_id=_count(content["shard_id"]),
        header_size=_count(content["header_size"]),
        page_size=_count(content["page_size"]),
        compression_size=_count(content.get("compression_size", 0)),
        pages=[_decode_page(entry) for entry in content["page"] or []],
        version=_text(content["version"]),
    )
    if header.version not in VERSIONS:
        raise ValueError(f"the version is {header.version!r}, known are {', '.join(VERSIONS)}")
    if not set(header.index_fields) <= set(schema.scalar_fields):
        raise ValueError(f"the index fields are {header.index_fields}")
    return header


def _decode_page(entry: Mapping[str, Any]) -> Page:
    if entry["page_type"] not in (BLOB, RAW):
        raise ValueError(f"unknown page type {entry['page_type']!r}")
    return Page(
        id=_count(entry["page_id"]),
        kind=entry["page_type"],
        number=_count(entry["page_type_id"]),
        start_row=_count(entry["start_row_id"]),
        end_row=_count(entry["end_row_id"]),
        groups=[(_count(g["id"]), _count(g["offset"])) for g in entry["row_group_ids"] or []],
        used=_count(entry["page_size"]),
    )


def _check_pages(header: Header, size: int) -> None:
    for number, page in enumerate(header.pages):
        if page.id != number or page.used > header.page_size or page.start_row > page.end_row:
            raise ValueError(f"page {number} is inconsistent")
        if header.place(page, page.used) > size:
            raise ValueError(f"page {number} ends beyond the {size} bytes of the file")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    return value


def _count(value: Any) -> int:
    if not is_int(value) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return int(value)

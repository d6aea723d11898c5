"""Header and page sizes that fit the rows of a small file, to avoid large gaps."""

from __future__ import annotations

from collections.abc import Sequence

from mycelia.mindrecord.header import HEADER_SIZE, HEADER_SIZES, PAGE_SIZES, Header, encode_header
from mycelia.mindrecord.shard import PackedRow

HELD_BYTES = 1 << 25  # of rows; beyond that, the default sizes waste little
_PAGE_NOTE = 512  # maximum bytes of one page entry in the header


def held_size(rows: Sequence[PackedRow]) -> int:
    """The bytes that rows occupy in pages."""
    return sum(len(row.raw) + len(row.blob) for row in rows)


def fitting_page_size(rows: Sequence[PackedRow]) -> int:
    """The smallest valid page size with which all rows fit one RAW and one BLOB page."""
    largest = max(sum(len(row.raw) for row in rows), sum(len(row.blob) for row in rows))
    return _within(largest, PAGE_SIZES)


def fitting_header_size(header: Header) -> int:
    """The smallest valid header size for a file with this schema and a few pages."""
    roomy = Header(header.schema, header.index_fields, header.shard_names, 0, HEADER_SIZE)
    return _within(len(encode_header(roomy)) + 4 * _PAGE_NOTE, HEADER_SIZES)


def _within(size: int, limits: tuple[int, int]) -> int:
    low, high = limits
    return min(max(-(-size // 4) * 4, low), high)

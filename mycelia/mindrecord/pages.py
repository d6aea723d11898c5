"""Placing rows on the pages of a data file, and iterating over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import BinaryIO

from mycelia._engine.core.errors import problem
from mycelia.mindrecord.contents import Buffer
from mycelia.mindrecord.exceptions import MRMWriteDatasetError
from mycelia.mindrecord.header import BLOB, LENGTH_SIZE, RAW, Header, Page, damaged


@dataclass(frozen=True)
class RowLocation:
    """The location of a row: byte ranges in a RAW page and a BLOB page, with length prefixes."""

    row: int
    raw_page: int
    raw_start: int
    raw_end: int
    group: int
    blob_page: int
    blob_start: int
    blob_end: int


def record(header: Header, data: bytes, what: str) -> bytes:
    """The bytes with a length prefix, as stored in a page; they must fit one."""
    if len(data) + LENGTH_SIZE > header.page_size:
        raise problem(
            MRMWriteDatasetError,
            f"{what} of a row have {len(data)} bytes and do not fit a page",
            got=f"a page size of {header.page_size}",
            fix="call set_page_size with a larger size before the first row is written",
        )
    return len(data).to_bytes(LENGTH_SIZE, "little") + data


class PageWriter:
    """Appends rows to the pages of an open data file and records them in its header."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file = file
        self.header = header

    def write(self, raws: Sequence[bytes], blobs: Sequence[bytes]) -> None:
        """Append rows, given their scalar records and blob records."""
        if not raws:
            return
        groups = self._cut(raws, blobs)
        first = groups[0]
        if first:
            page = self.header.last(BLOB)
            assert page is not None, "only appended rows can be in the first group"
            self._append(page, blobs[first.start : first.stop])
            page.end_row += len(first)
        for group in groups[1:]:
            self._new_blob_page(blobs[group.start : group.stop])
        self._make_room(raws[first.start : first.stop])
        for number, group in enumerate(groups):
            if group:
                self._write_raws(raws[group.start : group.stop], begins_group=number > 0)

    def _cut(self, raws: Sequence[bytes], blobs: Sequence[bytes]) -> list[range]:
        """The rows of each group; the first group continues the existing one and may be empty."""
        blob_page, raw_page = self.header.last(BLOB), self.header.last(RAW)
        blob_used = blob_page.used if blob_page else 0
        raw_used = raw_page.used - raw_page.groups[-1][1] if raw_page else 0
        limit, start, groups = self.header.page_size, 0, []
        for row, (raw, blob) in enumerate(zip(raws, blobs)):
            full = blob_used + len(blob) > limit or raw_used + len(raw) > limit
            if blob_used == 0 or full:
                groups.append(range(start, row))
                start, blob_used, raw_used = row, 0, 0
            blob_used += len(blob)
            raw_used += len(raw)
        return [*groups, range(start, len(raws))]

    def _append(self, page: Page, records: Sequence[bytes]) -> None:
        data = b"".join(records)
        self._file.seek(self.header.place(page, page.used))
        self._file.write(data)
        page.used += len(data)

    def _new_page(self, kind: str, number: int) -> Page:
        page = Page(len(self.header.pages), kind, number)
        self.header.pages.append(page)
        return page

    def _new_blob_page(self, blobs: Sequence[bytes]) -> None:
        last = self.header.last(BLOB)
        page = self._new_page(BLOB, last.number + 1 if last else 0)
        page.groups = [(0, 0)]
        page.start_row = last.end_row if last else 0
        page.end_row = page.start_row + len(blobs)
        self._append(page, blobs)

    def _new_raw_page(self) -> Page:
        last = self.header.last(RAW)
        return self._new_page(RAW, last.id + 1 if last else 0)

    def _make_room(self, raws: Sequence[bytes]) -> None:
        """Move the last group to a new RAW page if rows are appended to it and its page is full."""
        last = self.header.last(RAW)
        if not raws or last is None:
            return
        if last.used + sum(map(len, raws)) <= self.header.page_size:
            return
        group, offset = last.groups[-1]
        self._file.seek(self.header.place(last, offset))
        moved = self._file.read(last.used - offset)
        page = self._new_raw_page()
        del last.groups[-1]
        last.used = offset
        page.groups = [(group, 0)]
        self._append(page, [moved])

    def _write_raws(self, raws: Sequence[bytes], *, begins_group: bool) -> None:
        last = self.header.last(RAW)
        group = last.groups[-1][0] if last else -1
        if last is None or last.used + sum(map(len, raws)) > self.header.page_size:
            last = self._new_raw_page()
        if begins_group:
            last.groups.append((group + 1, last.used))
        self._append(last, raws)


def walk(path: str, header: Header, data: Buffer) -> Iterator[RowLocation]:
    """The locations of all rows of a file with these bytes, in the order of their scalars."""
    blob_pages = {page.number: page for page in header.pages if page.kind == BLOB}
    for raw_page in (page for page in header.pages if page.kind == RAW):
        ends = [offset for _, offset in raw_page.groups[1:]] + [raw_page.used]
        for (group, start), end in zip(raw_page.groups, ends):
            if group not in blob_pages:
                raise damaged(path, f"row group {group} has no BLOB page")
            blob_page = blob_pages[group]
            raws = _records(path, header, data, raw_page, start, end)
            blobs = _records(path, header, data, blob_page, 0, blob_page.used)
            if len(raws) != len(blobs) or len(raws) != blob_page.end_row - blob_page.start_row:
                raise damaged(path, f"row group {group} has {len(raws)} and {len(blobs)} rows")
            for row, (raw, blob) in enumerate(zip(raws, blobs), blob_page.start_row):
                yield RowLocation(row, raw_page.id, *raw, group, blob_page.id, *blob)


def _records(
    path: str, header: Header, data: Buffer, page: Page, start: int, end: int
) -> list[tuple[int, int]]:
    """The start and end of each record in a byte range of a page."""
    base, bounds = header.place(page), []
    while start < end:
        length = int.from_bytes(data[base + start : base + start + LENGTH_SIZE], "little")
        stop = start + LENGTH_SIZE + length
        if stop > end:
            raise damaged(path, f"a record of page {page.id} ends beyond its {page.used} bytes")
        bounds.append((start, stop))
        start = stop
    return bounds


def chunks(rows: int, shards: int, extra: Sequence[int]) -> list[range]:
    """The rows of each shard: equal shares in order, plus one for the shards in `extra`."""
    sizes = [rows // shards + (shard in extra) for shard in range(shards)]
    return [range(end - size, end) for size, end in zip(sizes, accumulate(sizes))]

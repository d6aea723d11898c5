"""The framing of records in TFRecord and event files: length and data, each with a checksum."""

from __future__ import annotations

import struct

from mycelia._engine.core.files.crc32c import masked_crc32c


def framed_record(record: bytes) -> bytes:
    """A record with its framing, as stored in a file."""
    length = struct.pack("<Q", len(record))
    parts = (length, _checksum(length), record, _checksum(record))
    return b"".join(parts)


def _checksum(data: bytes) -> bytes:
    return struct.pack("<I", masked_crc32c(data))

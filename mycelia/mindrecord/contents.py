"""The content of a file: memory-mapped, or decrypted into memory."""

from __future__ import annotations

import mmap

from mycelia.mindrecord.encryption import opened

Buffer = bytes | mmap.mmap


def content(path: str) -> Buffer:
    """The decrypted bytes of a file. Raises OSError if it does not exist."""
    with open(path, "rb") as file:
        plain = opened(path, file)
        if plain is not None:
            return plain
        if not file.read(1):
            return b""  # an empty file cannot be mapped
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

"""What a tree says of the rows that are kept after they were made once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class CacheOptions:
    """Rows kept in memory up to `megabytes` (0: no limit), and beyond that on disk, if allowed.

    With a `folder` they all lie in a file there that is named by `key`, and later processes find
    them. Runs over the same object share what is kept.
    """

    megabytes: int = 0
    spilling: bool = False
    folder: str | None = None
    key: str = ""

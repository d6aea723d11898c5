"""The options of a row cache, as part of a pipeline node."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class CacheOptions:
    """A cache in memory up to `megabytes` (0: no limit), and beyond that on disk, if allowed.

    With a `folder`, all rows go to a file there that is named by `key`, where later processes find
    them. Runs that share this object share the cached rows.
    """

    megabytes: int = 0
    spilling: bool = False
    folder: str | None = None
    key: str = ""

"""The event file writer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import BinaryIO

from mycelia._engine.core.files.record_framing import framed_record
from mycelia._engine.core.warn_once import logger
from mycelia.insight.event import version_event


class EventFile:
    """A file of events, created with the first one; a limit of `max_size` bytes applies.

    After the first event that does not fit, no more events are written.
    """

    def __init__(self, path: str | Path, max_size: int | None = None) -> None:
        self.path = Path(path)
        self._left = max_size
        self._file: BinaryIO | None = None
        self._is_full = False

    def write(self, event: bytes) -> None:
        """Append an event."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("wb")
            self._append(version_event(time.time()))
        self._append(event)

    def flush(self) -> None:
        """Flush the file, so that readers see all events."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _append(self, event: bytes) -> None:
        assert self._file is not None
        if self._is_full:
            return
        record = framed_record(event)
        if self._left is not None:
            if len(record) > self._left:
                self._is_full = True
                logger.warning(
                    "%s is full: max_file_size leaves %d bytes, but the next event needs %d",
                    self.path,
                    self._left,
                    len(record),
                )
                return
            self._left -= len(record)
        self._file.write(record)

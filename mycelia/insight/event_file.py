"""The file that events are written to."""

from __future__ import annotations

import time
from pathlib import Path
from typing import BinaryIO

from mycelia._engine.core.files.record_framing import framed_record
from mycelia._engine.core.warn_once import logger
from mycelia.insight.event import version_event


class EventFile:
    """A file of events. It is made with the first one; what exceeds `max_size` bytes is left out.

    After the first event that does not fit, no other is written.
    """

    def __init__(self, path: str | Path, max_size: int | None = None) -> None:
        self.path = Path(path)
        self._left = max_size
        self._file: BinaryIO | None = None
        self._is_full = False

    def write(self, event: bytes) -> None:
        """Add an event at the end."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("wb")
            self._append(version_event(time.time()))
        self._append(event)

    def flush(self) -> None:
        """Let others see what was written."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Write no more."""
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
                    "%s is full: %d bytes are left by max_file_size, the next event has %d",
                    self.path,
                    self._left,
                    len(record),
                )
                return
            self._left -= len(record)
        self._file.write(record)

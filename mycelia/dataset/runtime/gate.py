"""The gate of `sync_wait`: rows wait until the one who trains lets them through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Condition
from typing import Any

from mycelia.dataset.runtime.channel import Closed
from mycelia.dataset.runtime.operator import Operator
from mycelia.dataset.runtime.row import Row


class Gate:
    """Lets `count` rows through at first, and as many again whenever it is told to."""

    def __init__(self, count: int, callback: Callable[[Any], Any] | None) -> None:
        self.count = count
        self._callback = callback
        self._left = count
        self._is_open = False
        self._interruptions = 0
        self._changed = Condition()

    def release(self, count: int | None, data: Any) -> None:
        """Tell the callback what was learned, then let rows through."""
        if self._callback is not None:
            self._callback(data)
        with self._changed:
            self._left += self.count if count is None else count
            self._changed.notify_all()

    def open(self) -> None:
        """Let every row through from now on."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()

    def reset(self) -> None:
        """Begin an epoch."""
        with self._changed:
            self._left = self.count

    def interrupt(self) -> None:
        """Send away who waits."""
        with self._changed:
            self._interruptions += 1
            self._changed.notify_all()

    def wait(self) -> None:
        """Come back when a row may pass."""
        with self._changed:
            before = self._interruptions
            while self._left <= 0 and not self._is_open:
                self._changed.wait()
                if self._interruptions != before:
                    raise Closed
            self._left -= 1


class GatedRows(Operator):
    """Rows that pass a gate one by one."""

    def __init__(self, child: Operator, gate: Gate) -> None:
        self._child = child
        self._gate = gate

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        self._gate.reset()
        for row in self._child.rows(epoch, start):
            self._gate.wait()
            yield row

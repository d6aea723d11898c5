"""The gate of `sync_wait`: rows wait until the training loop releases them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Condition
from typing import Any

from mycelia.dataset.runtime.bounded_queue import QueueClosed
from mycelia.dataset.runtime.operator import RowOperator
from mycelia.dataset.runtime.row import Row


class Gate:
    """Passes `count` batches at first, and as many again with each `release`."""

    def __init__(self, count: int, callback: Callable[[Any], Any] | None) -> None:
        self.count = count
        self._callback = callback
        self._left = count
        self._is_open = False
        self._changed = Condition()

    def release(self, count: int | None, data: Any) -> None:
        """Call the callback, then let batches pass."""
        if self._callback is not None:
            self._callback(data)
        with self._changed:
            self._left += self.count if count is None else count
            self._changed.notify_all()

    def open(self) -> None:
        """Let every row pass from now on."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()

    def reset(self) -> None:
        """Reset the gate for a new epoch."""
        with self._changed:
            self._left = self.count

    def wake(self) -> None:
        """Wake waiting threads, so that they check the gate again."""
        with self._changed:
            self._changed.notify_all()

    def pass_one(self, is_over: Callable[[], bool]) -> None:
        """Wait until another row may pass; raises `QueueClosed` if no consumer is left."""
        with self._changed:
            while self._left <= 0 and not self._is_open and not is_over():
                self._changed.wait()
            if is_over():
                raise QueueClosed
            self._left -= 1


class GatedRows(RowOperator):
    """Rows that pass a gate, in groups of the size that a later batch stacks."""

    def __init__(self, child: RowOperator, gate: Gate, at_once: int) -> None:
        self._child = child
        self._gate = gate
        self._at_once = at_once
        self._is_over = False

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        self._gate.reset()
        for index, row in enumerate(self._child.rows(epoch, start)):
            if index % self._at_once == 0:
                self._gate.pass_one(lambda: self._is_over)
            yield row

    def end(self) -> None:
        """Release the thread that waits, or will wait."""
        self._is_over = True
        self._gate.wake()

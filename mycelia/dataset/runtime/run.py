"""A run of a pipeline: rows produced ahead by a thread, from a position that can be kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from threading import Thread
from typing import Any

from mycelia.core.errors import problem
from mycelia.dataset.ir.node import Node
from mycelia.dataset.runtime.build import build
from mycelia.dataset.runtime.channel import Channel, Closed
from mycelia.dataset.runtime.operator import Options

_END = object()
Values = tuple[Any, ...]


class Run:
    """The rows of a number of epochs (-1: without end), one epoch at a time."""

    def __init__(self, root: Node, options: Options, epochs: int) -> None:
        self._options = options
        self._operator = build(root, options)
        self._epochs = epochs
        self._epoch = 0
        self._row = 0
        self._feed: Channel[Any] | _InTurn | None = None

    def next(self) -> Values:
        """The values of the next row; StopIteration at the end of each epoch."""
        if self._feed is None:
            if self._epochs != -1 and self._epoch >= self._epochs:
                raise problem(
                    RuntimeError,
                    "dataset: all epochs of this iterator are over",
                    got=f"num_epochs={self._epochs}",
                    fix="create a new iterator, or one with a larger num_epochs",
                )
            self._feed = self._start(self._row)
        item = self._feed.get()
        if item is _END:
            self._end_epoch()
            raise StopIteration
        if isinstance(item, BaseException):
            self.close()
            raise item
        self._row += 1
        return item

    def _end_epoch(self) -> None:
        self.close()
        self._epoch += 1
        self._row = 0
        if self._epoch < self._epochs:  # more are certain to be wanted
            self._feed = self._start(0)

    def _start(self, row: int) -> Channel[Any] | _InTurn:
        rows = self._operator.rows(self._epoch, row)
        if self._options.in_turn:
            return _InTurn(rows)
        feed: Channel[Any] = Channel(self._options.prefetch)
        Thread(target=_produce, args=(rows, feed), name="dataset feed", daemon=True).start()
        return feed

    def state(self) -> dict[str, int]:
        """Where the run is: all that `restore` needs."""
        return {"epoch": self._epoch, "row": self._row, "seed": self._options.seed}

    def move(self, epoch: int, row: int) -> None:
        """Go on from another position."""
        self.close()
        self._epoch, self._row = epoch, row

    def close(self) -> None:
        """End the threads; what they prepared is lost."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None


class _InTurn:
    """Rows computed when they are asked for, in the thread that asks."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows = rows

    def get(self) -> Any:
        """The next row, or the mark of the end."""
        row = next(self._rows, None)
        return _END if row is None else row.load()

    def close(self) -> None:
        """Drop what is left."""
        self._rows = iter(())


def _produce(rows: Iterator[Any], feed: Channel[Any]) -> None:
    try:
        for row in rows:
            feed.put(row.load())
        feed.put(_END)
    except Closed:
        pass
    except BaseException as error:
        _report(error, feed)
    finally:
        if hasattr(rows, "close"):
            rows.close()


def _report(error: BaseException, feed: Channel[Any]) -> None:
    with suppress(Closed):
        feed.put(error)

"""Callbacks of a map, notified when epochs and rows begin and end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class DSRunContext:
    """The progress of a map: epochs and rows are counted from 1."""

    cur_epoch_num: int
    cur_step_num_in_epoch: int
    cur_step_num: int


class MapObserver:
    """Notifies callbacks of rows: when workers receive them, and when they return."""

    def __init__(self, callbacks: Sequence[Any]) -> None:
        self._callbacks = callbacks
        self._has_begun = False
        self._before = 0  # rows of earlier epochs

    def watched(
        self,
        epoch: int,
        tasks: Iterable[A],
        count: Callable[[A], int],
        work: Callable[[Iterator[A]], Iterator[B]],
    ) -> Iterator[B]:
        """The results of `work` for tasks of `count` rows, with callbacks before and after."""
        sizes: list[int] = []

        def incoming() -> Iterator[A]:
            done = 0
            for task in tasks:
                sizes.append(count(task))
                for row in range(done + 1, done + sizes[-1] + 1):
                    self._tell("ds_step_begin", epoch, row)
                done += sizes[-1]
                yield task

        if not self._has_begun:
            self._has_begun = True
            self._tell("ds_begin", -1, 0)
        self._tell("ds_epoch_begin", epoch, 0)
        done = 0
        for index, result in enumerate(work(incoming())):
            for row in range(done + 1, done + sizes[index] + 1):
                self._tell("ds_step_end", epoch, row)
            done += sizes[index]
            yield result
        self._tell("ds_epoch_end", epoch, done)
        self._before += done

    def _tell(self, event: str, epoch: int, row: int) -> None:
        context = DSRunContext(epoch + 1, row, self._before + row)
        for callback in self._callbacks:
            if event.startswith("ds_step") and (row - 1) % callback.step_size:
                continue
            getattr(callback, event)(context)

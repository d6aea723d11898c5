"""Worker threads that give their results back in the order of the tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


def ordered(
    function: Callable[[A], B], items: Iterable[A], *, workers: int, window: int, name: str
) -> Iterator[B]:
    """`map(function, items)` by several threads, with up to `window` results computed ahead.

    The threads start with the first tasks and end with the iteration. An error of `items` comes
    after the results of the items before it. One worker is the caller itself.
    """
    if workers <= 1:
        yield from map(function, items)
        return
    tasks: SimpleQueue[Any] = SimpleQueue()
    pending: deque[Future[B]] = deque()
    threads = 0
    failure: Exception | None = None
    source = iter(items)
    try:
        while True:
            try:
                item = next(source)
            except StopIteration:
                break
            except Exception as error:
                failure = error
                break
            if threads < workers:
                Thread(target=_work, args=(tasks,), name=name, daemon=True).start()
                threads += 1
            task: Future[B] = Future()
            tasks.put((task, function, item))
            pending.append(task)
            if len(pending) >= window:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for task in pending:
            task.cancel()
        for _ in range(threads):
            tasks.put(None)
    if failure is not None:
        raise failure


def _work(tasks: SimpleQueue[Any]) -> None:
    while (entry := tasks.get()) is not None:
        task, function, item = entry
        if task.set_running_or_notify_cancel():
            try:
                task.set_result(function(item))
            except BaseException as error:
                task.set_exception(error)
        del entry, task, function, item

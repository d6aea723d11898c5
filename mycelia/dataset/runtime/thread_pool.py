"""A pool of worker threads that yields results in the order of the tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Any, Generic, TypeVar

from mycelia.dataset.runtime.run_metrics import StepMeter

A = TypeVar("A")
B = TypeVar("B")
MOST_AHEAD = 256 * 2**20  # maximum bytes of results that wait at one step


class WorkerPool(Generic[A, B]):
    """The workers of one step: `map(function, tasks)` with results computed ahead.

    There are `meter.workers` of them, a number that may change during the run. `weight` returns
    the bytes of a result: up to `window` results wait, and up to `MOST_AHEAD` bytes.
    Until the first result arrives, each worker has one task.
    """

    def __init__(
        self,
        function: Callable[[A], B],
        meter: StepMeter,
        window: int,
        *,
        count: Callable[[A], int] = lambda _: 1,
        weight: Callable[[B], int] = lambda _: 0,
    ) -> None:
        self._function = function
        self._meter = meter
        self._window = window
        self._count = count
        self._weight = weight

    def inline(self, items: Iterable[A]) -> Iterator[B]:
        """The results, computed in the caller's thread."""
        for item in items:
            result, seconds = self._timed(item)
            self._meter.add(self._count(item), seconds)
            yield result

    def ordered(self, items: Iterable[A]) -> Iterator[B]:
        """The results, computed by threads that start with the first task and end with the
        iteration. An error of `items` is raised after the results of the items before it."""
        shift = _WorkerThreads(self._timed, f"dataset {self._meter.name}")
        pending: deque[tuple[int, Future[tuple[B, float]]]] = deque()
        window = 1
        failure: Exception | None = None
        source = iter(items)

        def next_result() -> B:
            count, task = pending.popleft()
            result, seconds = task.result()
            self._meter.add(count, seconds)
            return result

        try:
            while True:
                try:
                    item = next(source)
                except StopIteration:
                    break
                except Exception as error:
                    failure = error
                    break
                shift.staff(self._meter.workers)
                pending.append((self._count(item), shift.take(item)))
                if len(pending) >= max(window, self._meter.workers):
                    result = next_result()
                    window = self._affordable(result)
                    yield result
                    del result
            while pending:
                yield next_result()
        finally:
            for _, task in pending:
                task.cancel()
            shift.end()
        if failure is not None:
            raise failure

    def _timed(self, item: A) -> tuple[B, float]:
        began = perf_counter()
        return self._function(item), perf_counter() - began

    def _affordable(self, result: B) -> int:
        weight = self._weight(result)
        return min(self._window, MOST_AHEAD // weight) if weight else self._window


class _WorkerThreads:
    """Threads that process a queue until it ends."""

    def __init__(self, function: Callable[[Any], Any], name: str) -> None:
        self._function = function
        self._name = name
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._lock = Lock()
        self._wanted = 0
        self._threads = 0

    def staff(self, wanted: int) -> None:
        """Set the number of threads: new ones start now, others leave after their task."""
        if wanted == self._wanted:
            return
        with self._lock:
            self._wanted = wanted
            while self._threads < wanted:
                Thread(target=self._work, name=self._name, daemon=True).start()
                self._threads += 1

    def take(self, item: Any) -> Future[Any]:
        """Process one task."""
        task: Future[Any] = Future()
        self._tasks.put((task, item))
        return task

    def end(self) -> None:
        """Let the threads leave after their current tasks."""
        with self._lock:
            for _ in range(self._threads):
                self._tasks.put(None)

    def _work(self) -> None:
        while (entry := self._tasks.get()) is not None:
            task, item = entry
            if task.set_running_or_notify_cancel():
                try:
                    task.set_result(self._function(item))
                except BaseException as error:
                    task.set_exception(error)
            del entry, task, item
            if self._threads > self._wanted and self._leaves():
                return

    def _leaves(self) -> bool:
        with self._lock:
            if self._threads > self._wanted:
                self._threads -= 1
                return True
            return False

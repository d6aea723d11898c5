"""Calls that must not be interrupted, in a thread that signals do not reach.

Python handles signals in the main thread, and raises an asynchronous exception in one given thread.
The caller waits for the other thread and receives an interruption after that thread is done.
"""

from __future__ import annotations

import os
from _thread import LockType, allocate_lock
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread, current_thread
from typing import Any

from mycelia._engine.core.source_location import current_span, traced_source

_PATIENCE = 3  # interruptions after which the caller stops waiting


class _ThreadCall:
    """One call in the other thread; `outcome` receives its result or error."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self.action = action
        self.outcome: list[tuple[Any, BaseException | None]] = []
        self.over: LockType = allocate_lock()
        self.over.acquire()

    def run(self) -> None:
        try:
            result, error = self.action(), None
        except BaseException as raised:
            result, error = None, raised
        self.outcome.append((result, error))
        self.over.release()


class _CallThread(Thread):
    """A thread that is reused for the next call."""

    def __init__(self) -> None:
        super().__init__(name="undisturbed", daemon=True)
        self.jobs: SimpleQueue[_ThreadCall] = SimpleQueue()

    def run(self) -> None:
        while True:
            self.jobs.get().run()
            _idle.append(self)


_idle: list[_CallThread] = []


def uninterruptible(action: Callable[[], Any]) -> Any:
    """Run `action` to its end; an interruption meanwhile is raised afterwards."""
    if isinstance(current_thread(), _CallThread):
        return action()
    job = _ThreadCall(_in_context(action))
    _worker().jobs.put(job)
    interruption = _wait(job)
    result, error = job.outcome[0] if job.outcome else (None, None)
    if interruption is not None:
        raise interruption
    if error is not None:
        raise error
    return result


def first_call(program: Callable[..., Any], *args: Any) -> Any:
    """The first call of a program, which compiles it: JAX does not tolerate interruptions.

    Errors name the line of user code that made the call.
    """
    span = current_span()

    def run() -> Any:
        outer, traced_source.span = traced_source.span, lambda: span
        try:
            return program(*args)
        finally:
            traced_source.span = outer

    return uninterruptible(run)


def _in_context(action: Callable[[], Any]) -> Callable[[], Any]:
    context = copy_context()
    return lambda: context.run(action)


def _worker() -> _CallThread:
    try:
        return _idle.pop()
    except IndexError:
        worker = _CallThread()
        worker.start()
        return worker


def _wait(job: _ThreadCall) -> BaseException | None:
    """Wait for a job, and return the exception that interrupted the wait, if any."""
    found: list[BaseException] = []
    while not job.outcome and len(found) < _PATIENCE:
        try:
            job.over.acquire()
        except BaseException as interruption:
            found.append(interruption)
    return found[0] if found else None


os.register_at_fork(after_in_child=_idle.clear)  # threads stay with the parent

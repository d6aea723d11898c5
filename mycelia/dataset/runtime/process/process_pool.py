"""A pool of worker processes for one user function."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from threading import Lock
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.dataset.runtime.process import worker
from mycelia.dataset.runtime.process.worker import MessageChannel

try:
    import cloudpickle
except ImportError:  # the extra is not installed
    cloudpickle = None

Values = tuple[Any, ...]


class WorkerStartError(RuntimeError):
    """A worker process cannot run the function at all; no row caused this."""


class RemoteError(Exception):
    """An error of the user's function in a worker process."""

    def __init__(self, place: int, kind: str, text: str, trace: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.place = place
        self.trace = trace


class ProcessPool:
    """Processes that run one function; each calling thread occupies one at a time.

    They start on demand and end with `close`, or when this process ends.
    """

    def __init__(self, function: Any) -> None:
        self._function = pickled(function)
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._lock = Lock()
        self._closed = False

    def run(self, rows: Sequence[Values], seeds: Sequence[int]) -> list[Any]:
        """The function's results for rows; a killed process is replaced once."""
        try:
            return self._run(rows, seeds)
        except (EOFError, BrokenPipeError):
            return self._again(rows, seeds)

    def _again(self, rows: Sequence[Values], seeds: Sequence[int]) -> list[Any]:
        try:
            return self._run(rows, seeds)
        except (EOFError, BrokenPipeError) as error:
            raise problem(
                RuntimeError,
                "python_multiprocessing: the worker process ended twice while running the function",
                got=str(error) or "no answer",
                fix="look for a crash in native code, for os._exit, or for a lack of memory",
            ) from error

    def _run(self, rows: Sequence[Values], seeds: Sequence[int]) -> list[Any]:
        process = self._taken()
        try:
            made = process.ask((rows, seeds))
        except (EOFError, BrokenPipeError) as error:
            self._dismiss(process)
            raise EOFError(process.end()) from error
        except BaseException:
            self._dismiss(process)
            raise
        self._give_back(process)
        if isinstance(made, tuple):
            raise RemoteError(*made)
        return made

    def _taken(self) -> _Process:
        with self._lock:
            if self._closed:
                raise RuntimeError("the worker processes have ended")
            if self._idle:
                return self._idle.pop()
        process = _Process(self._function)
        with self._lock:
            self._all.add(process)
        return process

    def _give_back(self, process: _Process) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(process)
                return
        self._dismiss(process)

    def _dismiss(self, process: _Process) -> None:
        with self._lock:
            self._all.discard(process)
        process.kill()
        process.close()

    def pids(self) -> list[int]:
        """The ids of the running processes."""
        with self._lock:
            return [process.pid for process in self._all]

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = self._all.difference(idle)
            self._all.clear()
        for process in idle:
            process.kill()
            process.close()
        for process in busy:
            process.kill()  # the thread that waits for it closes it


class _Process:
    """One worker process."""

    def __init__(self, function: bytes) -> None:
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        memories = (_memory(), _memory())
        theirs = (to_read, memories[0], from_write, memories[1])
        self._popen = subprocess.Popen(
            [sys.executable, worker.__file__, *map(str, theirs)],
            pass_fds=theirs,
            stdin=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(from_write)
        self._requests = MessageChannel(to_write, memories[0])
        self._replies = MessageChannel(from_read, memories[1])
        self._requests.send(sys.path)
        failure = self.ask(function)
        if failure:
            self.kill()
            self.close()
            raise problem(
                WorkerStartError,
                "python_multiprocessing: a worker process cannot load the function",
                got=failure.rstrip(),
                fix="make its module importable there, or set python_multiprocessing=False",
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    def ask(self, message: Any) -> Any:
        """Send a message and return the answer; EOFError if the process is gone."""
        self._requests.send(message)
        return self._replies.receive()

    def end(self) -> str:
        """How the process ended."""
        code = self._popen.wait()
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"

    def kill(self) -> None:
        """End the process now."""
        self._popen.kill()
        self._popen.wait()

    def close(self) -> None:
        """Release the channels to the process."""
        self._requests.close()
        self._replies.close()


def _memory() -> int:
    """An anonymous file, in memory if the system supports that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("mycelia rows", 0)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def pickled(function: Any) -> bytes:
    """A function as bytes; one from the user's script by its code, if cloudpickle is installed."""
    try:
        return (cloudpickle or pickle).dumps(function)
    except Exception as error:
        raise problem(
            RuntimeError,
            "python_multiprocessing: the function cannot be sent to another process",
            got=f"{function!r}: {error}",
            fix="python_multiprocessing=False"
            + ("" if cloudpickle else ", or pip install 'mycelia[dataset]'"),
        ) from error

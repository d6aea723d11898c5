"""Heartbeats: reports of a process to its launcher about its progress and what it waits for."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, dataclass, field
from time import monotonic, sleep

from mycelia._engine.core.wait_registry import Ranks, wait_registry

_PERIOD = 0.1  # seconds


@dataclass(frozen=True)
class HeartbeatReport:
    """The state of a process. `waiting` names the collective it is in, `error` why it failed."""

    where: str = "its start"
    counts: dict[Ranks, int] = field(default_factory=dict)
    waiting: str = ""
    ranks: Ranks = ()
    number: int = 0
    seconds: float = 0.0  # of waiting
    is_busy: bool = False  # in a slow but bounded operation: starting, compiling
    ended: bool = False
    error: str = ""
    follows: bool = False  # ended because another process failed

    def line(self) -> bytes:
        counts = [[list(ranks), count] for ranks, count in self.counts.items()]
        return json.dumps({**asdict(self), "counts": counts}).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> HeartbeatReport:
        found = json.loads(line)
        found["counts"] = {tuple(ranks): count for ranks, count in found["counts"]}
        found["ranks"] = tuple(found["ranks"])
        return cls(**found)


class HeartbeatSender:
    """Sends reports from a separate thread to a pipe that the launcher reads."""

    def __init__(self, file: int) -> None:
        self._file = file
        os.set_inheritable(file, False)
        os.set_blocking(file, False)
        self._ended = False
        self._lock = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    def end(self, error: str = "", follows: bool = False) -> None:
        """Report that the script has ended, and the error if it failed."""
        self._ended = True
        self._send(_pulse(True, error, follows))

    def _beat(self) -> None:
        while not self._ended:
            self._send(_pulse(False, "", False))
            sleep(_PERIOD)
        while True:  # keep sending until all processes have ended
            sleep(_PERIOD)
            self._send(_pulse(True, "", False))

    def _send(self, pulse: HeartbeatReport) -> None:
        with self._lock:
            try:
                os.write(self._file, pulse.line())
            except (BlockingIOError, BrokenPipeError):  # the launcher is busy, or gone
                return


def _pulse(ended: bool, error: str, follows: bool) -> HeartbeatReport:
    at = wait_registry.waiting
    return HeartbeatReport(
        where=wait_registry.where(),
        counts=dict(wait_registry.counts),
        waiting=at.what if at else "",
        ranks=at.ranks if at else (),
        number=at.number if at else 0,
        seconds=monotonic() - at.since if at else 0.0,
        is_busy=wait_registry.busy,
        ended=ended,
        error=error,
        follows=follows,
    )

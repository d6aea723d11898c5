"""What a process tells its launcher all the time: how far it is, and whom it waits for."""

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
    """The state of one process. `waiting` names the meeting it is at, `error` why it ends."""

    where: str = "its start"
    counts: dict[Ranks, int] = field(default_factory=dict)
    waiting: str = ""
    ranks: Ranks = ()
    number: int = 0
    seconds: float = 0.0  # it has waited
    is_busy: bool = False  # with what takes long but ends: starting, compiling
    ended: bool = False
    error: str = ""
    follows: bool = False  # from the end of another process

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
    """Reports from a thread of its own, to a file the launcher reads."""

    def __init__(self, file: int) -> None:
        self._file = file
        os.set_inheritable(file, False)
        os.set_blocking(file, False)
        self._ended = False
        self._lock = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    def end(self, error: str = "", follows: bool = False) -> None:
        """Say that the script is over, and why if it did not end well."""
        self._ended = True
        self._tell(_pulse(True, error, follows))

    def _beat(self) -> None:
        while not self._ended:
            self._tell(_pulse(False, "", False))
            sleep(_PERIOD)
        while True:  # still there, until all have ended
            sleep(_PERIOD)
            self._tell(_pulse(True, "", False))

    def _tell(self, pulse: HeartbeatReport) -> None:
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

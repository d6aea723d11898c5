"""Running a job: starts, watches, ends, and restarts its processes."""

from __future__ import annotations

import selectors
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from types import FrameType
from typing import Any

from mycelia.launch.job import LaunchJob
from mycelia.launch.member import RankProcess
from mycelia.launch.watchdog import LastReport, stuck

_GLANCE = 0.1  # seconds between checks of the processes
_GRACE = 1.0  # seconds between SIGTERM and SIGKILL
_COMPANY = 0.3  # seconds within which exits count as simultaneous
_PAUSE = 2.0  # seconds without a check: the machine slept, or the launcher was starved
_STUCK = 124  # the exit code of a stuck job


class LauncherInterrupted(Exception):
    """The launcher received a signal to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass(frozen=True)
class AttemptResult:
    """How an attempt ended: an exit code, and the reason if it is not 0."""

    code: int
    why: str = ""


def run(job: LaunchJob) -> int:
    """Run a job to its end, with restarts; returns the exit code of the first failure."""
    if job.log_dir is not None:
        job.log_dir.mkdir(parents=True, exist_ok=True)
    with _signals_as_exceptions():
        for attempt in range(job.restarts + 1):
            try:
                end = LaunchAttempt(job, attempt).run()
            except LauncherInterrupted as interruption:
                _say(f"{interruption}: all processes were ended")
                return 128 + interruption.number
            if end.code == 0:
                return 0
            _say(end.why)
            if attempt < job.restarts:
                _say(f"all processes are restarted ({attempt + 1} of {job.restarts})")
    return end.code


class LaunchAttempt:
    """The processes of a job, from their start to the end of the last one."""

    def __init__(self, job: LaunchJob, number: int) -> None:
        self._job = job
        self._selector = selectors.DefaultSelector()
        self._members: list[RankProcess] = []
        self._shown: set[int] | None = None  # ranks whose output is shown; None: all
        self._number = number
        self._looked = self._judges_from = monotonic()

    def run(self) -> AttemptResult:
        try:
            meeting_point = self._job.meeting_point()
            for rank in self._job.ranks:
                self._start(RankProcess(self._job, rank, meeting_point, self._number))
            return self._watch()
        finally:
            self._end_all()

    def _start(self, member: RankProcess) -> None:
        self._members.append(member)
        self._selector.register(member.heartbeat, selectors.EVENT_READ, member.listen)
        if member.output is not None:
            self._selector.register(
                member.output.file, selectors.EVENT_READ, lambda: self._show(member)
            )

    def _watch(self) -> AttemptResult:
        """Run until all have ended, or one has failed or is stuck."""
        while True:
            self._listen(_GLANCE)
            codes = [member.look() for member in self._members]
            if any(codes):
                return self._failure()
            if all(code == 0 for code in codes):
                self._listen_to_the_end()
                return AttemptResult(0)
            self._notice_pauses()
            verdict = stuck(self._reports(), self._job.timeout)
            if verdict is not None and monotonic() >= self._judges_from:
                return AttemptResult(
                    _STUCK, f"the job is stuck: {verdict.text}{self._rest(verdict.ranks)}"
                )

    def _notice_pauses(self) -> None:
        """After a pause of this process, restart the timeout: the others may have paused, too."""
        now = monotonic()
        if now - self._looked > _PAUSE:
            self._judges_from = now + self._job.timeout
        self._looked = now

    def _reports(self) -> dict[int, LastReport]:
        return {
            member.rank: LastReport(member.pulse, 0.0 if member.exit_code == 0 else member.age)
            for member in self._members
        }

    def _failure(self) -> AttemptResult:
        """Find the process that failed first: others may have followed before the check."""
        until = monotonic() + _COMPANY
        while monotonic() < until:
            self._listen(_GLANCE)
            for member in self._members:
                member.look()
        first = min((member for member in self._members if member.exit_code), key=_guilt)
        self._shown = {first.rank}
        self._listen_to_the_end()
        code = first.exit_code or 0
        where = f" Its output is in {first.log}." if first.log is not None else ""
        why = f"rank {first.rank} (process {first.pid}) {first.how_it_ended()}"
        return AttemptResult(
            128 - code if code < 0 else code, f"{why}{self._rest((first.rank,))}{where}"
        )

    def _rest(self, guilty: tuple[int, ...]) -> str:
        others = len(self._members) - len(guilty)
        return f"; the other {others} processes are ended." if others > 1 else "; all are ended."

    def _listen(self, seconds: float) -> None:
        """Process available output and reports for at most some seconds."""
        for key, _ in self._selector.select(seconds):
            take: Callable[[], bool] = key.data
            if not take():
                self._selector.unregister(key.fileobj)

    def _listen_to_the_end(self) -> None:
        """Read the remaining output of ended processes, whose children may keep it open."""
        until = monotonic() + _GRACE
        while self._selector.select(0) and monotonic() < until:
            self._listen(0)

    def _show(self, member: RankProcess) -> bool:
        assert member.output is not None

        def show(line: bytes) -> None:
            if self._shown is None or member.rank in self._shown:
                text = line.decode(errors="replace")
                print(f"[rank {member.rank}] {text}", flush=True)

        return member.output.read(show)

    def _end_all(self) -> None:
        """Send SIGTERM to all processes, then kill those that remain."""
        for member in self._members:
            if member.look() is None:
                member.signal(signal.SIGTERM)
        until = monotonic() + _GRACE
        while monotonic() < until and any(member.look() is None for member in self._members):
            self._listen(_GLANCE)
        for member in self._members:
            member.close()
        self._selector.close()


def _guilt(member: RankProcess) -> tuple[int, int]:
    """A sort key: small for processes that failed on their own, and with certainty."""
    is_sure = (member.exit_code or 0) < 0 or member.pulse.error
    return (2 if member.follows else 0 if is_sure else 1), member.rank


@contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    """Convert termination signals to exceptions inside the block."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for other in chosen:
            signal.signal(other, signal.SIG_IGN)
        raise LauncherInterrupted(number)

    chosen = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before: dict[int, Any] = {number: signal.signal(number, interrupt) for number in chosen}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    print(f"mycelia launch: {text}", file=sys.stderr, flush=True)

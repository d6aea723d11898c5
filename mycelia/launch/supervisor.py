"""Running a job: its processes are started, watched, ended together, and started again if asked."""

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

_GLANCE = 0.1  # seconds between looks at the processes
_GRACE = 1.0  # seconds between asking processes to end and ending them
_COMPANY = 0.3  # seconds in which processes that end together do so
_PAUSE = 2.0  # seconds without a look: the machine slept, or had no time for us
_STUCK = 124  # the exit code of a job that was stuck


class LauncherInterrupted(Exception):
    """The launcher was told to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass(frozen=True)
class AttemptResult:
    """How an attempt ended: an exit code, and why if it is not 0."""

    code: int
    why: str = ""


def run(job: LaunchJob) -> int:
    """Run a job until it is done or cannot go on; gives the exit code of the first that failed."""
    if job.log_dir is not None:
        job.log_dir.mkdir(parents=True, exist_ok=True)
    with _told_to_end():
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
                _say(f"all processes are started again ({attempt + 1} of {job.restarts})")
    return end.code


class LaunchAttempt:
    """The processes of a job, from their start to the end of the last one."""

    def __init__(self, job: LaunchJob, number: int) -> None:
        self._job = job
        self._selector = selectors.DefaultSelector()
        self._members: list[RankProcess] = []
        self._shown: set[int] | None = None  # ranks whose output is shown, if not all
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
        """Until all have ended, or one has failed or is stuck."""
        while True:
            self._listen(_GLANCE)
            codes = [member.look() for member in self._members]
            if any(codes):
                return self._failure()
            if all(code == 0 for code in codes):
                self._listen_to_the_end()
                return AttemptResult(0)
            self._notice_pauses()
            found = stuck(self._seen(), self._job.timeout)
            if found is not None and monotonic() >= self._judges_from:
                return AttemptResult(
                    _STUCK, f"the job is stuck: {found.text}{self._rest(found.ranks)}"
                )

    def _notice_pauses(self) -> None:
        """If this process stood still, so may the others have done: they get their time anew."""
        now = monotonic()
        if now - self._looked > _PAUSE:
            self._judges_from = now + self._job.timeout
        self._looked = now

    def _seen(self) -> dict[int, LastReport]:
        return {
            member.rank: LastReport(member.pulse, 0.0 if member.exit_code == 0 else member.age)
            for member in self._members
        }

    def _failure(self) -> AttemptResult:
        """Who failed first: others may have followed before we looked."""
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
        """Take what processes say for some seconds at most."""
        for key, _ in self._selector.select(seconds):
            take: Callable[[], bool] = key.data
            if not take():
                self._selector.unregister(key.fileobj)

    def _listen_to_the_end(self) -> None:
        """Take what ended processes have said; children of theirs may keep their output open."""
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
        """Ask all to end, then make them; nothing of them stays."""
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
    """Small for those who failed by themselves, and are sure to have done so."""
    is_sure = (member.exit_code or 0) < 0 or member.pulse.error
    return (2 if member.follows else 0 if is_sure else 1), member.rank


@contextmanager
def _told_to_end() -> Iterator[None]:
    """Signals that mean the end become exceptions inside the block."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for one in chosen:
            signal.signal(one, signal.SIG_IGN)
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

"""One process of a job: starting, receiving its reports, and ending it with its children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

from mycelia.launch.heartbeat import HeartbeatReport
from mycelia.launch.job import LaunchJob

_WORKER = Path(__file__).with_name("worker.py")
_NOISE = b"[Gloo] Rank "  # printed by Gloo whenever processes connect
_CHUNK = 1 << 16


class RankProcess:
    """A process with a rank. It leads a process group, so that its children end with it."""

    def __init__(self, job: LaunchJob, rank: int, coordinator: str, attempt: int) -> None:
        self.rank = rank
        self.pulse, self._heard = HeartbeatReport(is_busy=True), monotonic()
        self._rest = b""  # an incomplete report
        self.heartbeat, told = os.pipe()
        self.log = None if job.log_dir is None else job.log_dir / f"rank_{rank}.log"
        environment = job.environment(rank, coordinator, attempt, told, os.environ)
        command = [sys.executable, "-P", "-u", str(_WORKER), str(os.getpid())]
        with open(self.log or os.devnull, "ab") as file:
            self._process = subprocess.Popen(
                [*command, job.script, *job.arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if self.log is None else file,
                stderr=subprocess.STDOUT,
                pass_fds=(told,),
                process_group=0,
            )
        os.close(told)
        self.output = (
            None if self._process.stdout is None else ProcessOutput(self._process.stdout.fileno())
        )
        self.exit_code: int | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def age(self) -> float:
        """Seconds since its last report."""
        return monotonic() - self._heard

    def listen(self) -> bool:
        """Read available reports; returns False at the end of the stream."""
        data = os.read(self.heartbeat, _CHUNK)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._update(HeartbeatReport.read(line))
        return bool(data)

    def _update(self, pulse: HeartbeatReport) -> None:
        self._heard = monotonic()
        if pulse.error or not self.pulse.error:
            self.pulse = pulse

    def look(self) -> int | None:
        """The exit code if it has ended, negative for a signal. The pid stays reserved."""
        if self.exit_code is None:
            info = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if info is not None:
                killed = info.si_code != os.CLD_EXITED
                self.exit_code = -info.si_status if killed else info.si_status
        return self.exit_code

    def signal(self, number: int) -> None:
        """Send a signal to the process and its children."""
        with suppress(ProcessLookupError, PermissionError):  # all of them have ended
            os.killpg(self.pid, number)

    def close(self) -> None:
        """End the remaining processes, and release the pid."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        os.close(self.heartbeat)

    @property
    def follows(self) -> bool:
        """Whether it ended because another process failed: XLA then aborts the process."""
        return self.pulse.follows or self.exit_code == -signal.SIGABRT

    def how_it_ended(self) -> str:
        """Describe how it ended."""
        code, at = self.exit_code or 0, self.pulse.where
        if self.follows:
            return f"was ended by XLA at {at}, because another process was lost"
        if code < 0:
            return f"was killed by signal {-code} ({signal.Signals(-code).name}) at {at}"
        why = f": {self.pulse.error}" if self.pulse.error else ""
        return f"ended with exit code {code} at {at}{why}"


class ProcessOutput:
    """The output of a process by line, without Gloo's messages about connections."""

    def __init__(self, file: int) -> None:
        self.file = file
        self._rest = b""

    def read(self, show: Callable[[bytes], None]) -> bool:
        """Show available lines; returns False at the end of the stream."""
        data = os.read(self.file, _CHUNK)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data and self._rest:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            if not line.startswith(_NOISE):
                show(line)
        return bool(data)

"""The description of a job: processes, script, hosts, and environment."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mycelia._engine.core.errors import problem
from mycelia.communication.environment import DEFAULT_TIMEOUT, RESTART_COUNT, WATCHED, ProcessRank

_VIRTUAL = "--xla_force_host_platform_device_count"
_THREADS_PER_DEVICE = 4  # virtual ones; with fewer, collectives can deadlock


@dataclass(frozen=True)
class LaunchJob:
    """Processes of one script: `processes` on each of `hosts` machines; this is `host_rank`."""

    script: str
    arguments: tuple[str, ...] = ()
    processes: int = 1
    virtual: int = 0  # virtual CPU devices per process; 0: the default
    hosts: int = 1
    host_rank: int = 0
    coordinator: str = ""  # host:port where rank 0 listens; on a single machine, any free port
    log_dir: Path | None = None
    timeout: int = DEFAULT_TIMEOUT
    restarts: int = 0

    @property
    def size(self) -> int:
        return self.processes * self.hosts

    @property
    def ranks(self) -> range:
        """The ranks of the processes on this machine."""
        first = self.host_rank * self.processes
        return range(first, first + self.processes)

    def check(self) -> None:
        """Raise an error if the settings are inconsistent."""
        for name in ("processes", "hosts", "timeout"):
            if getattr(self, name) < 1:
                raise problem(ValueError, f"launch: {name} must be at least 1")
        if self.virtual < 0 or self.restarts < 0:
            raise problem(ValueError, "launch: virtual and restarts must not be negative")
        if not 0 <= self.host_rank < self.hosts:
            raise problem(
                ValueError,
                "launch: invalid host rank",
                got=f"--host-rank {self.host_rank}",
                expected=f"0 to {self.hosts - 1}",
            )
        host, _, port = self.coordinator.rpartition(":")
        if self.coordinator and not (host and port.isdigit()):
            raise problem(
                ValueError,
                "launch: the coordinator is not an address",
                got=f"--coordinator {self.coordinator}",
                expected="HOST:PORT, at which the first host can be reached",
            )
        if self.hosts > 1 and not self.coordinator:
            raise problem(
                ValueError,
                "launch: several hosts need a coordinator",
                fix="add --coordinator HOST:PORT, the same on all hosts",
            )
        if not Path(self.script).exists():
            raise problem(ValueError, f"launch: no such file: {self.script}")

    def meeting_point(self) -> str:
        """The address where the processes of one attempt connect."""
        return self.coordinator or f"127.0.0.1:{_free_port()}"

    def environment(
        self, rank: int, coordinator: str, attempt: int, heartbeat: int, base: Mapping[str, str]
    ) -> dict[str, str]:
        """The environment of one process; `heartbeat` is the file descriptor for its reports."""
        local = rank - self.ranks[0]
        at = ProcessRank(rank, self.size, local, self.processes, coordinator, self.timeout)
        variables = {
            **base,
            **at.variables(),
            RESTART_COUNT: str(attempt),
            WATCHED: str(heartbeat),
        }
        if self.virtual:
            variables["XLA_FLAGS"] = _with_virtual(base.get("XLA_FLAGS", ""), self.virtual)
        if self.virtual > 1 and self.size > 1:
            variables["NPROC"] = str(max(_THREADS_PER_DEVICE * self.virtual, os.cpu_count() or 1))
        return variables


def _with_virtual(flags: str, count: int) -> str:
    """XLA flags with this number of virtual devices."""
    others = [flag for flag in flags.split() if not flag.startswith(_VIRTUAL)]
    return " ".join([*others, f"{_VIRTUAL}={count}"])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        result: int = probe.getsockname()[1]
        return result

"""The rank of this process from the environment: rank, size, and coordinator.

`mycelia launch` sets both Mycelia's variables and those of MindSpore's launcher. A process started
by MindSpore's launcher has only the latter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mycelia._engine.core.errors import problem

RANK = "MYCELIA_RANK"
SIZE = "MYCELIA_SIZE"
LOCAL_RANK = "MYCELIA_LOCAL_RANK"
LOCAL_SIZE = "MYCELIA_LOCAL_SIZE"
COORDINATOR = "MYCELIA_COORDINATOR"
TIMEOUT = "MYCELIA_TIMEOUT"
RESTART_COUNT = "MYCELIA_RESTART_COUNT"
WATCHED = "MYCELIA_HEARTBEAT"  # the file descriptor for heartbeats to the launcher

DEFAULT_TIMEOUT = 30  # seconds


@dataclass(frozen=True)
class ProcessRank:
    """The rank of a process among those started together."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    coordinator: str
    timeout: int = DEFAULT_TIMEOUT

    def variables(self) -> dict[str, str]:
        """The environment variables, for Mycelia and for scripts that use other launchers."""
        host, _, port = self.coordinator.rpartition(":")
        return {
            RANK: str(self.rank),
            SIZE: str(self.size),
            LOCAL_RANK: str(self.local_rank),
            LOCAL_SIZE: str(self.local_size),
            COORDINATOR: self.coordinator,
            TIMEOUT: str(self.timeout),
            "RANK_ID": str(self.rank),
            "RANK_SIZE": str(self.size),
            "DEVICE_ID": str(self.local_rank),
            "MS_ROLE": "MS_WORKER",
            "MS_WORKER_NUM": str(self.size),
            "MS_NODE_ID": str(self.rank),
            "MS_SCHED_HOST": host,
            "MS_SCHED_PORT": port,
        }


def place(variables: Mapping[str, str]) -> ProcessRank | None:
    """The rank of this process from the environment; None if it was started alone."""
    if RANK in variables:
        return ProcessRank(
            rank=_number(variables, RANK),
            size=_number(variables, SIZE),
            local_rank=_number(variables, LOCAL_RANK),
            local_size=_number(variables, LOCAL_SIZE),
            coordinator=_text(variables, COORDINATOR),
            timeout=_number(variables, TIMEOUT) if TIMEOUT in variables else DEFAULT_TIMEOUT,
        )
    if "MS_WORKER_NUM" in variables and "MS_SCHED_HOST" in variables:
        return _place_of_others(variables)
    return None


def is_scheduler(variables: Mapping[str, str]) -> bool:
    """Whether another launcher started this process only as a scheduler."""
    return variables.get("MS_ROLE") == "MS_SCHED"


def _place_of_others(variables: Mapping[str, str]) -> ProcessRank:
    """The rank set by MindSpore's launcher; without DEVICE_ID, all are on this machine."""
    size = _number(variables, "MS_WORKER_NUM")
    rank = _number(variables, "RANK_ID" if "RANK_ID" in variables else "MS_NODE_ID")
    local = _number(variables, "DEVICE_ID") if "DEVICE_ID" in variables else rank
    here = _number(variables, "LOCAL_SIZE") if "LOCAL_SIZE" in variables else size
    host, port = _text(variables, "MS_SCHED_HOST"), _text(variables, "MS_SCHED_PORT")
    return ProcessRank(rank, size, local, here, f"{host}:{port}")


def _text(variables: Mapping[str, str], name: str) -> str:
    if not variables.get(name):
        raise problem(
            RuntimeError,
            f"init: the environment describes several processes, but {name} is missing",
            fix="start them with `mycelia launch -n 4 script.py`",
        )
    return variables[name]


def _number(variables: Mapping[str, str], name: str) -> int:
    text = _text(variables, name)
    if not text.isdigit():
        raise problem(
            RuntimeError,
            f"init: {name} in the environment is not a number",
            got=repr(text),
            fix="start the processes with `mycelia launch -n 4 script.py`",
        )
    return int(text)

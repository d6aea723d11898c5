"""The watchdog: decides from heartbeats whether a process is stuck, and which one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mycelia.launch.heartbeat import HeartbeatReport

_START = 120  # seconds allowed for imports or compilation


@dataclass(frozen=True)
class LastReport:
    """The last report of a process, and its age in seconds."""

    pulse: HeartbeatReport
    age: float


@dataclass(frozen=True)
class StuckRanks:
    """The ranks that block the others, and the evidence."""

    ranks: tuple[int, ...]
    text: str


def stuck(reports: Mapping[int, LastReport], timeout: float) -> StuckRanks | None:
    """The stuck ranks among running processes, if any has waited longer than `timeout`."""
    for rank, report in reports.items():
        if report.age > (max(timeout, _START) if report.pulse.is_busy else timeout):
            text = f"rank {rank} has not reported for {report.age:.0f} s; it was at {_at(report)}"
            return StuckRanks((rank,), text)
    for rank, report in reports.items():
        if report.pulse.waiting and report.pulse.seconds + report.age > timeout:
            blocking = _blocking(rank, reports)
            if blocking is not None:
                return blocking
    return None


def _blocking(rank: int, reports: Mapping[int, LastReport]) -> StuckRanks | None:
    """The ranks that `rank` ultimately waits for; None if all arrived or one is busy."""
    late: dict[int, list[int]] = {rank: _late(rank, reports)}
    open_ends = [rank]
    for waiting in open_ends:
        for other in late[waiting]:
            if other not in late:
                late[other] = _late(other, reports)
                open_ends.append(other)
    if not late[rank] or any(reports[other].pulse.is_busy for other in late):
        return None
    idle = [other for other in late if not reports[other].pulse.waiting]
    pulse = reports[rank].pulse
    seconds = pulse.seconds + reports[rank].age
    waits = f"rank {rank} has waited in {pulse.waiting} for {seconds:.0f} s"
    if idle:
        names = "; ".join(
            f"rank {other} has not arrived, it is at {_at(reports[other])}" for other in idle
        )
        return StuckRanks(tuple(sorted(idle)), f"{waits}: {names}")
    circle = sorted(other for other in late if late[other])
    if not circle:
        return None
    each = "; ".join(
        f"rank {other} in {reports[other].pulse.waiting} for {late[other]}" for other in circle
    )
    return StuckRanks(tuple(circle), f"processes wait for each other: {each}")


def _late(rank: int, reports: Mapping[int, LastReport]) -> list[int]:
    """Reporting ranks that `rank` waits for and that have not reached the barrier."""
    pulse = reports[rank].pulse
    if not pulse.waiting:
        return []
    others = [other for other in pulse.ranks if other != rank and other in reports]
    if pulse.number:
        counts = {other: reports[other].pulse.counts.get(pulse.ranks, 0) for other in others}
        return [other for other in others if counts[other] < pulse.number]
    return others


def _at(report: LastReport) -> str:
    where = report.pulse.where
    return f"{where}, where its script has ended" if report.pulse.ended else where

"""Judging from what processes report whether one of them is stuck, and which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mycelia.launch.heartbeat import HeartbeatReport

_START = 120  # seconds in which a process must have imported everything, or compiled


@dataclass(frozen=True)
class LastReport:
    """The last report of a process, and how many seconds ago it came."""

    pulse: HeartbeatReport
    age: float


@dataclass(frozen=True)
class StuckRanks:
    """Who keeps the others from going on, and how one sees that."""

    ranks: tuple[int, ...]
    text: str


def stuck(seen: Mapping[int, LastReport], timeout: float) -> StuckRanks | None:
    """Who is stuck among the living processes, if anybody has waited longer than `timeout`."""
    for rank, one in seen.items():
        if one.age > (max(timeout, _START) if one.pulse.is_busy else timeout):
            text = f"rank {rank} has not been heard of for {one.age:.0f} s; it was at {_at(one)}"
            return StuckRanks((rank,), text)
    for rank, one in seen.items():
        if one.pulse.waiting and one.pulse.seconds + one.age > timeout:
            found = _keeping(rank, seen)
            if found is not None:
                return found
    return None


def _keeping(rank: int, seen: Mapping[int, LastReport]) -> StuckRanks | None:
    """Who keeps `rank` waiting in the end; nobody, if all have come or somebody is busy."""
    late: dict[int, list[int]] = {rank: _late(rank, seen)}
    open_ends = [rank]
    for waiting in open_ends:
        for other in late[waiting]:
            if other not in late:
                late[other] = _late(other, seen)
                open_ends.append(other)
    if not late[rank] or any(seen[other].pulse.is_busy for other in late):
        return None
    idle = [other for other in late if not seen[other].pulse.waiting]
    pulse = seen[rank].pulse
    waits = f"rank {rank} has waited in {pulse.waiting} for {pulse.seconds + seen[rank].age:.0f} s"
    if idle:
        names = "; ".join(
            f"rank {other} did not come, it is at {_at(seen[other])}" for other in idle
        )
        return StuckRanks(tuple(sorted(idle)), f"{waits}: {names}")
    circle = sorted(other for other in late if late[other])
    if not circle:
        return None
    each = "; ".join(
        f"rank {other} in {seen[other].pulse.waiting} for {late[other]}" for other in circle
    )
    return StuckRanks(tuple(circle), f"processes wait for each other: {each}")


def _late(rank: int, seen: Mapping[int, LastReport]) -> list[int]:
    """Of those that a process waits for, and of whom we hear, the ones that have not come."""
    pulse = seen[rank].pulse
    if not pulse.waiting:
        return []
    others = [other for other in pulse.ranks if other != rank and other in seen]
    if pulse.number:
        counts = {other: seen[other].pulse.counts.get(pulse.ranks, 0) for other in others}
        return [other for other in others if counts[other] < pulse.number]
    return others


def _at(one: LastReport) -> str:
    return f"{one.pulse.where}, where its script has ended" if one.pulse.ended else one.pulse.where

"""Where this process waits for others: what a watchdog needs to know to name who did not come.

A meeting is anything that several processes must come to before any of them goes on. Each counts
the meetings of every group it came to, so whoever counts less than the others has not arrived.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

Ranks = tuple[int, ...]


@dataclass(frozen=True)
class WaitState:
    """This process is at a meeting: number `number` of those of `ranks`, since `since`.

    Number 0 is a meeting that the others do not count: whoever of `ranks` waits nowhere is late.
    """

    what: str
    ranks: Ranks
    number: int
    since: float


@dataclass
class WaitRegistry:
    """The meetings this process has come to, and the one it is at."""

    counts: dict[Ranks, int] = field(default_factory=dict)
    waiting: WaitState | None = None
    busy: bool = False  # with what takes as long as it takes
    runs: int = 0  # of whole programs that meet others
    step: int | None = None  # as a training loop counts them

    def where(self) -> str:
        """How far this process has come, in words."""
        if self.step is not None:
            return f"step {self.step}"
        if self.runs:
            return f"step {self.runs}"
        return f"meeting {sum(self.counts.values())}"


wait_registry = WaitRegistry()


def note_step(step: int) -> None:
    """Say which step of a training this process is in, for messages about its end."""
    wait_registry.step = step


@contextmanager
def collective_wait(what: str, ranks: Ranks) -> Iterator[None]:
    """This process is at a meeting with `ranks`, which all of them count."""
    ranks = tuple(sorted(ranks))
    number = wait_registry.counts[ranks] = wait_registry.counts.get(ranks, 0) + 1
    with _waiting(WaitState(what, ranks, number, monotonic())):
        yield


@contextmanager
def peer_wait(what: str, ranks: Ranks) -> Iterator[None]:
    """This process needs something of each of `ranks`, who may not know of it yet."""
    with _waiting(WaitState(what, tuple(sorted(ranks)), 0, monotonic())):
        yield


@contextmanager
def busy() -> Iterator[None]:
    """This process is at what takes long but ends (compiling, writing): it is not stuck."""
    wait_registry.busy = True
    try:
        yield
    finally:
        wait_registry.busy = False


@contextmanager
def _waiting(at: WaitState) -> Iterator[None]:
    before, wait_registry.waiting = wait_registry.waiting, at
    try:
        yield
    finally:
        wait_registry.waiting = before

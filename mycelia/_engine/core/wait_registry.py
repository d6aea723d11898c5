"""Where this process waits for other processes, so that a watchdog can name the late ones.

A meeting is a synchronization point: no process continues before all of its ranks have arrived.
Each process counts the meetings of every group, so a rank with a lower count has not arrived.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

Ranks = tuple[int, ...]


@dataclass(frozen=True)
class WaitState:
    """This process waits at meeting number `number` of `ranks`, since `since`.

    Number 0 is a meeting that the others do not count: a rank that waits nowhere is late.
    """

    what: str
    ranks: Ranks
    number: int
    since: float


@dataclass
class WaitRegistry:
    """The meetings this process has reached, and the one it waits at."""

    counts: dict[Ranks, int] = field(default_factory=dict)
    waiting: WaitState | None = None
    busy: bool = False  # in an operation that may take arbitrarily long
    runs: int = 0  # of programs with collectives
    step: int | None = None  # as counted by the training loop

    def where(self) -> str:
        """The progress of this process, as text."""
        if self.step is not None:
            return f"step {self.step}"
        if self.runs:
            return f"step {self.runs}"
        return f"meeting {sum(self.counts.values())}"


wait_registry = WaitRegistry()


def note_step(step: int) -> None:
    """Record the current training step, for messages when the process ends."""
    wait_registry.step = step


@contextmanager
def collective_wait(what: str, ranks: Ranks) -> Iterator[None]:
    """This process waits at a meeting with `ranks`, which all of them count."""
    ranks = tuple(sorted(ranks))
    number = wait_registry.counts[ranks] = wait_registry.counts.get(ranks, 0) + 1
    with _waiting(WaitState(what, ranks, number, monotonic())):
        yield


@contextmanager
def peer_wait(what: str, ranks: Ranks) -> Iterator[None]:
    """This process needs data from each of `ranks`, which may not know of it yet."""
    with _waiting(WaitState(what, tuple(sorted(ranks)), 0, monotonic())):
        yield


@contextmanager
def busy() -> Iterator[None]:
    """This process runs a long operation that ends (compiling, writing): it is not stuck."""
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

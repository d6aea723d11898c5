"""Checks of programs that still run: whoever reads numbers asks first whether one has failed.

A program raises nothing while it runs. What it found wrong is known with its results, so the
questions wait here until numbers are read, another program starts, or the process ends.
"""

from __future__ import annotations

import atexit
from collections import deque
from typing import Protocol

_MOST = 64  # so many programs may be ahead of the oldest question


class PendingCheck(Protocol):
    """What one run of a program has to say, once it is over."""

    def is_ready(self) -> bool:
        """Whether the answer is there, so that asking does not wait."""

    def ask(self) -> None:
        """Raise if something was wrong."""


unfinished_checks: deque[PendingCheck] = deque()
_reports: deque[PendingCheck] = deque()  # of what failed beside the programs, such as a save


def add_check(check: PendingCheck) -> None:
    """Remember to ask `check` later; nothing is raised here."""
    unfinished_checks.append(check)


def last() -> PendingCheck | None:
    """The check that was noted last, if it has not been asked yet."""
    try:
        return unfinished_checks[-1]
    except IndexError:
        return None


def raise_before_next_step(check: PendingCheck) -> None:
    """Ask `check` when the next step starts, in any thread: something beside it has failed."""
    _reports.append(check)


def raise_reported() -> None:
    """Raise what was reported since the last step."""
    while _reports:
        _reports.popleft().ask()


def poll_checks() -> None:
    """Ask those whose answers are there: before a program starts, nothing has to wait for it."""
    if _reports:
        raise_reported()
    while unfinished_checks and (
        len(unfinished_checks) >= _MOST or unfinished_checks[0].is_ready()
    ):
        _ask_first()


def wait_for_checks() -> None:
    """Ask all that wait: raises if a program that ran up to here found something wrong."""
    while unfinished_checks:
        _ask_first()


def _ask_first() -> None:
    """Ask the oldest. Those after it fail of the same in most cases: one error is enough."""
    try:
        first = unfinished_checks.popleft()
    except IndexError:  # another thread asks
        return
    try:
        first.ask()
    except BaseException:
        unfinished_checks.clear()
        raise


atexit.register(wait_for_checks)

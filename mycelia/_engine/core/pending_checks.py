"""Checks of programs that are still running: reading a result first raises their errors.

A program raises nothing while it runs; its errors are known with its results. So the checks wait
here until a result is read, another program starts, or the process ends.
"""

from __future__ import annotations

import atexit
from collections import deque
from typing import Protocol

_MOST = 64  # programs that may run ahead of the oldest check


class PendingCheck(Protocol):
    """The check of one run of a program, after it has finished."""

    def is_ready(self) -> bool:
        """Whether the result is available, so that `ask` does not wait."""

    def ask(self) -> None:
        """Raise if the run failed."""


unfinished_checks: deque[PendingCheck] = deque()
_reports: deque[PendingCheck] = deque()  # of failures outside programs, such as a save


def add_check(check: PendingCheck) -> None:
    """Queue `check` to be asked later; raises nothing here."""
    unfinished_checks.append(check)


def last() -> PendingCheck | None:
    """The check that was added last, if it has not been asked yet."""
    try:
        return unfinished_checks[-1]
    except IndexError:
        return None


def raise_before_next_step(check: PendingCheck) -> None:
    """Ask `check` when the next step starts, in any thread: something in the background failed."""
    _reports.append(check)


def raise_reported() -> None:
    """Raise what was reported since the last step."""
    while _reports:
        _reports.popleft().ask()


def poll_checks() -> None:
    """Ask the checks that are ready, before a program starts; does not wait."""
    if _reports:
        raise_reported()
    while unfinished_checks and (
        len(unfinished_checks) >= _MOST or unfinished_checks[0].is_ready()
    ):
        _ask_first()


def wait_for_checks() -> None:
    """Ask all pending checks: raises if a program that ran up to here failed."""
    while unfinished_checks:
        _ask_first()


def _ask_first() -> None:
    """Ask the oldest. Later ones usually fail for the same reason: one error is enough."""
    try:
        first = unfinished_checks.popleft()
    except IndexError:  # another thread has asked it
        return
    try:
        first.ask()
    except BaseException:
        unfinished_checks.clear()
        raise


atexit.register(wait_for_checks)

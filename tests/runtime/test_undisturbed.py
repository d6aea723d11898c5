"""Calls in a thread that nothing interrupts."""

from __future__ import annotations

import _thread
import threading
import time

import pytest

from mycelia.runtime.undisturbed import undisturbed


def test_the_result_comes_back():
    assert undisturbed(lambda: 3) == 3


def test_an_error_comes_back():
    with pytest.raises(ValueError, match="on purpose"):
        undisturbed(_fail)


def _fail() -> None:
    raise ValueError("on purpose")


def test_an_interruption_is_raised_after_the_end():
    ended: list[int] = []

    def slow() -> None:
        _thread.interrupt_main()
        time.sleep(0.2)
        ended.append(1)

    with pytest.raises(KeyboardInterrupt):
        undisturbed(slow)
    assert ended


def test_calls_may_be_nested():
    assert undisturbed(lambda: undisturbed(threading.current_thread)).name == "undisturbed"

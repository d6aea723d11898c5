"""Calls in a thread that nothing interrupts."""

from __future__ import annotations

import _thread
import threading
import time

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops
from mycelia._engine.core.source_location import current_span
from mycelia._engine.runtime.eager import backward, dispatch
from mycelia._engine.runtime.uninterruptible import first_call, uninterruptible


def test_the_result_comes_back():
    assert uninterruptible(lambda: 3) == 3


def test_an_error_comes_back():
    with pytest.raises(ValueError, match="on purpose"):
        uninterruptible(_fail)


def _fail() -> None:
    raise ValueError("on purpose")


def test_an_interruption_is_raised_after_the_end():
    ended: list[int] = []

    def slow() -> None:
        _thread.interrupt_main()
        time.sleep(0.2)
        ended.append(1)

    with pytest.raises(KeyboardInterrupt):
        uninterruptible(slow)
    assert ended


def test_calls_may_be_nested():
    assert uninterruptible(lambda: uninterruptible(threading.current_thread)).name == "undisturbed"


def test_the_first_call_of_a_program_names_the_callers_line():
    line = current_span()
    seen = first_call(current_span)
    assert seen is not None and line is not None
    assert (seen.file, seen.line) == (line.file, line.line + 1)


@pytest.mark.parametrize(("module", "rows"), [(dispatch, 17), (backward, 19)])
def test_eager_programs_compile_where_nothing_interrupts(
    module, rows, monkeypatch: pytest.MonkeyPatch
):
    threads: list[str] = []
    compile = module.compile

    def watched(function):
        program = compile(function)

        def run(*arrays):
            threads.append(threading.current_thread().name)
            return program(*arrays)

        return run

    monkeypatch.setattr(module, "compile", watched)
    x = Tensor(np.ones((3, rows, 5), np.float32))
    for _ in range(2):
        ms.grad(lambda a: ops.tanh(a * 3).sum())(x)
    assert threads[0] == "undisturbed"
    assert threads.count("undisturbed") < len(threads)
    assert threads[-1] != "undisturbed"

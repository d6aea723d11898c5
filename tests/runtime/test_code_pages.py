"""What was read of compilers' machine code does not stay with the process."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops
from mycelia._engine.runtime.memory import code_pages

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell of pages")


def pages_of_files() -> int:
    """Kilobytes of files that are in this process's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssFile"))


@ms.jit
def rounds(x: Tensor) -> Tensor:
    for _ in range(3):
        x = ops.tanh(ops.matmul(x, x))
    return x


def test_compilers_are_forgotten_and_work_when_they_are_needed_again():
    x = Tensor(np.full((4, 4), 0.1, np.float32))
    first = rounds(x).asnumpy()
    before = pages_of_files()
    code_pages.forget_compilers()
    assert pages_of_files() < before - 10_000
    assert np.array_equal(rounds(x).asnumpy(), first)
    other = rounds(Tensor(np.full((5, 5), 0.1, np.float32)))  # compiled anew
    assert other.shape == (5, 5)


def test_where_the_system_tells_nothing_all_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(code_pages, "_MAPS", Path("/nowhere"))
    code_pages.forget_compilers()

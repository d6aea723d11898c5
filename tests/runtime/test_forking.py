"""A child process that was forked after the first program says so instead of waiting forever."""

from __future__ import annotations

import subprocess
import sys

import pytest

_FORK = """
import os, sys
import numpy as np
import mycelia as ms
from mycelia import Tensor, nn, ops

ms.set_context(mode=int(sys.argv[1]))
net = nn.Dense(64, 64)
x = Tensor(np.ones((300, 64), np.float32))
if sys.argv[2] == "used":
    net(x).asnumpy()
child = os.fork()
if child == 0:
    try:
        (net(x) if sys.argv[3] == "same" else ops.tanh(x[:200])).asnumpy()
    except RuntimeError as error:
        assert "spawn" in str(error), error
        os._exit(3)
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
net(x).asnumpy()
print(code)
"""


def _child_of(mode: int, *how: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _FORK, str(mode), *how],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("mode", [0, 1], ids=["graph", "eager"])
@pytest.mark.parametrize("program", ["same", "new"])
def test_a_child_of_a_process_that_computed_raises_a_clear_error(mode: int, program: str):
    assert _child_of(mode, "used", program) == 3


def test_a_child_forked_before_the_first_program_computes():
    assert _child_of(1, "unused", "same") == 0

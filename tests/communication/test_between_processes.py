"""Collectives between real processes; `every_collective.py` is what each of them runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch.jobs import launch

SCRIPT = (Path(__file__).parent / "every_collective.py").read_text()


@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_collectives_give_what_numpy_gives(processes, tmp_path):
    code, output, errors = launch(tmp_path, ["-n", str(processes)], SCRIPT)
    assert code == 0, output + errors
    assert output.count("training: right") == processes


def test_init_after_computing_is_an_error_that_says_what_to_do(tmp_path):
    script = """
import numpy as np
import mycelia as ms
kept = ms.ops.matmul(ms.Tensor(np.ones((300, 300), np.float32)), ms.Tensor(np.ones((300, 300), np.float32)))
ms.communication.init()
"""
    code, output, _ = launch(tmp_path, ["-n", "2"], script)
    assert code == 1
    assert "has already used its device" in output
    assert "call communication.init() before" in output

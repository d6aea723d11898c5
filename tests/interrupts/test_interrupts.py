"""Ctrl-C at random times leaves the parameters of a completed step, in every way of training."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WAYS = ["graph 1", "sink 1", "graph 4", "eager 1", "custom 1", "model 1"]  # with the devices


@pytest.mark.parametrize("way", WAYS)
def test_some_interrupts_leave_a_completed_step(way: str):
    assert _survived(way, 4, seed=1) == 4


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_hundred_interrupts_leave_a_completed_step(way: str):
    assert _survived(way, 100, seed=2) == 100


def _survived(way: str, interrupts: int, seed: int) -> int:
    """How many interrupts a training process survived; it fails at the first it does not."""
    name, devices = way.split()
    arguments = ["-m", "tests.interrupts.training", name, str(interrupts), str(seed), devices]
    found = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    survived = re.search(r"survived (\d+)", found.stdout)
    assert survived is not None
    return int(survived[1])

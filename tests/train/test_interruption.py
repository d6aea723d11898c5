"""A training that is killed again and again ends with the weights of one that never was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def killed(folder: Path, kills: int, seed: int, mode: str, feeding: str) -> list[str]:
    """What the run without a break and the killed one reached."""
    command = [sys.executable, "-m", "tests.train.killed_training"]
    command += [str(folder), str(kills), str(seed), mode, feeding]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    return lines


def test_three_kills_change_nothing(tmp_path):
    whole, broken = killed(tmp_path, 3, 1, "graph", "sunk")
    assert broken == whole and len(whole.split()[0]) == 64
    assert "net-3_24.ckpt" in whole


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize("feeding", ["fed", "sunk"])
def test_twenty_kills_change_nothing(tmp_path, mode, feeding):
    whole, broken = killed(tmp_path, 20, 2, mode, feeding)
    assert broken == whole

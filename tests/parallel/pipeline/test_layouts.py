"""Layouts inside of stages: operators cut as users say or as the search finds."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).with_name("layout_checks.py")
QUICK = ("megatron_2_stages_of_4_devices", "automatic_stages_of_4_and_3_devices")


def checks() -> list[Any]:
    body = ast.parse(FILE.read_text()).body
    names = [s.name for s in body if isinstance(s, ast.FunctionDef)]
    return [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in names
        if name[0] != "_" and name != "main"
    ]


@pytest.mark.parametrize("name", checks())
def test_on_eight_devices(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(FILE), name],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert f"passed {name}" in done.stdout.splitlines(), (done.stdout + done.stderr)[-3000:]

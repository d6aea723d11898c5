"""Words for layouts: on several devices numbers are as on one, and tensors lie as was asked."""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = [Path(__file__).with_name(name) for name in ("layout_checks.py", "setting_checks.py")]


def checks(file: Path) -> list[str]:
    """The names of the checks of a file."""
    body = ast.parse(file.read_text()).body
    names = [statement.name for statement in body if isinstance(statement, ast.FunctionDef)]
    return [name for name in names if not name.startswith("_")]


@functools.cache
def found(file: Path) -> dict[str, str]:
    """What came out of each check: "passed", or how it failed."""
    done = subprocess.run(
        [sys.executable, str(file), ""],
        capture_output=True,
        text=True,
        timeout=900,
        env={k: v for k, v in os.environ.items() if k != "XLA_FLAGS"},
    )
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    named = {line[1]: line for line in lines if line[0] in ("passed", "FAILED")}
    missing = set(checks(file)) - set(named)
    assert not missing, f"no word of {missing}: {done.stderr[-3000:]}"
    return {
        n: "passed" if len(line) == 2 else ast.literal_eval(line[2]) for n, line in named.items()
    }


@pytest.mark.parametrize(
    ("file", "name"), [pytest.param(file, name, id=name) for file in FILES for name in checks(file)]
)
def test_on_several_devices(file: Path, name: str) -> None:
    assert found(file)[name] == "passed", found(file)[name]

"""Running checks of `checks.py` in a process with eight virtual devices."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).with_name("checks.py")


def checks(*prefixes: str) -> list[str]:
    """The names of checks that begin so."""
    body = ast.parse(FILE.read_text()).body
    names = [s.name for s in body if isinstance(s, ast.FunctionDef) and s.name != "main"]
    return [name for name in names if name.startswith(prefixes)]


def run_checks(*prefixes: str) -> dict[str, str]:
    """What came out of each check: "passed", or how it failed."""
    done = subprocess.run(
        [sys.executable, str(FILE), *prefixes],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    found = {}
    for line in done.stdout.splitlines():
        word, name, *rest = line.split(" ", 2)
        if word in ("passed", "FAILED"):
            found[name] = word if not rest else ast.literal_eval(rest[0])
    missing = set(checks(*prefixes)) - set(found)
    assert not missing, f"no word of {missing}: {done.stderr[-3000:]}"
    return found

"""Running the checks of a file in a process with eight virtual devices."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("checks.py")


def checks(*prefixes: str, file: Path = FILE) -> list[str]:
    """The names of checks that begin so."""
    body = ast.parse(file.read_text()).body
    names = [s.name for s in body if isinstance(s, ast.FunctionDef) and s.name[0] != "_"]
    return [name for name in names if name.startswith(prefixes)]


def run_here(everything: dict[str, Any]) -> None:
    """Run the checks of the file that is the program, those that its arguments name."""
    for name in checks(*sys.argv[1:], file=Path(everything["__file__"])):
        try:
            everything[name]()
        except Exception:
            print(f"FAILED {name} {traceback.format_exc()!r}", flush=True)
        else:
            print(f"passed {name}", flush=True)


def run_checks(*prefixes: str, file: Path = FILE) -> dict[str, str]:
    """What came out of each check: "passed", or how it failed."""
    done = subprocess.run(
        [sys.executable, str(file), *prefixes],
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
    missing = set(checks(*prefixes, file=file)) - set(found)
    assert not missing, f"no word of {missing}: {done.stderr[-3000:]}"
    return found

"""The tour runs by itself, prints what its comments say, and stays short enough to read."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

TOUR = Path(__file__).parents[2] / "docs" / "inside" / "tour.py"
LINES = TOUR.read_text().splitlines()
TREE = ast.parse(TOUR.read_text())
MOST_LINES = 700
MOST_SECONDS = 60  # it takes about 4 on an idle machine


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the tour prints; its own asserts check the rest."""
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", TOUR],
        cwd=tmp_path_factory.mktemp("tour"),
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_print_is_followed_by_its_output(output: list[str]):
    printing = [statement for statement in TREE.body if _prints(statement)]
    promised = [line for statement in printing for line in _comment_below(statement)]
    assert all(_comment_below(statement) for statement in printing)
    assert promised == output


def test_it_needs_numpy_and_jax_only():
    imported = {name.split(".")[0] for name in _imports()}
    assert imported - sys.stdlib_module_names == {"jax", "numpy"}


def test_it_has_at_most_700_lines():
    assert len(LINES) <= MOST_LINES


def _prints(statement: ast.stmt) -> bool:
    """Whether a statement outside of functions calls `print`."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return False
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return any(isinstance(call.func, ast.Name) and call.func.id == "print" for call in calls)


def _comment_below(statement: ast.stmt) -> list[str]:
    assert statement.end_lineno is not None
    found = []
    for line in LINES[statement.end_lineno :]:
        if not line.startswith("# "):
            break
        found.append(line.removeprefix("# "))
    return found


def _imports() -> list[str]:
    found = []
    for node in ast.walk(TREE):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
    return found

"""The shape of the code base: layers, sizes, names, and what is public."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "mycelia").rglob("*.py"))
BAGS = {"utils", "util", "common", "helpers", "helper", "misc", "manager", "base"}
TREES = {path: ast.parse(path.read_text()) for path in FILES}


def test_imports_keep_the_layers():
    found = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout


def test_no_imports_inside_functions():
    inner = [
        f"{path.relative_to(ROOT)}:{statement.lineno}"
        for path, tree in TREES.items()
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for statement in ast.walk(function)
        if isinstance(statement, (ast.Import, ast.ImportFrom))
    ]
    assert inner == []


def test_only_one_module_calls_the_convolutions_of_jax():
    """XLA does not check their padding; `mycelia/_engine/kernels/xla_convolution.py` does."""
    callers = {
        path.relative_to(ROOT / "mycelia").as_posix()
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if _is_convolution_of_jax(node)
    }
    assert callers == {"_engine/kernels/xla_convolution.py", "benchmark/workers/jax_vision.py"}


def _is_convolution_of_jax(node: ast.AST) -> bool:
    """Whether it names a convolution of `jax.lax`, `jax.numpy`, or `jax.scipy.signal`."""
    names = ("conv", "correlate", "fftconvolve")
    if isinstance(node, ast.ImportFrom):
        from_jax = (node.module or "").split(".")[0] == "jax"
        return from_jax and any(alias.name.startswith(names) for alias in node.names)
    if not isinstance(node, ast.Attribute):
        return False
    owner = ast.unparse(node.value).split(".")[-1]
    is_conversion = node.attr == "convert_element_type"
    return owner in ("lax", "jnp", "signal") and node.attr.startswith(names) and not is_conversion


def test_files_have_at_most_600_lines():
    assert [p.name for p in FILES if p.name != "__init__.py" and _lines(p) > 600] == []


def test_functions_have_at_most_80_lines():
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno - node.lineno >= 80
    ]
    assert long == []


def test_no_file_is_a_bag():
    named = {p.stem for p in FILES} | {p.parent.name for p in FILES}
    assert named & (BAGS - {"base"}) == set()


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_file_says_its_job_in_its_first_line(path: Path):
    assert ast.get_docstring(TREES[path])


def test_no_private_jax_names():
    assert [p.name for p in FILES if "jax._src" in p.read_text()] == []


def test_operator_exports_are_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "export_names", "--check"])
    assert done.returncode == 0, "run scripts/export_names"


def test_the_public_names_are_the_listed_ones():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "list_public_api", "--check"])
    assert done.returncode == 0, "if the change is meant, run scripts/list_public_api"


def _lines(path: Path) -> int:
    return path.read_text().count("\n")


def test_the_architecture_page_names_modules_that_exist():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = {name.split(":")[0] for name in re.findall(r"`([\w/]+(?:\.py\b|/(?=`)))", text)}
    files = {p.relative_to(ROOT).as_posix() for p in FILES}
    paths = files | {f"{folder}/" for path in files for folder in _folders(path)}
    gone = [n for n in sorted(named) if not any(p == n or p.endswith(f"/{n}") for p in paths)]
    assert gone == []


def test_every_package_is_in_a_layer():
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    listed = {name for row in layers["contracts"][0]["layers"] for name in re.split(r" [|:] ", row)}
    folders = [ROOT / "mycelia", ROOT / "mycelia" / "_engine"]
    modules = {
        p for folder in folders for p in folder.iterdir() if p.suffix == ".py" or _is_package(p)
    }
    names = {".".join(p.relative_to(ROOT).with_suffix("").parts) for p in modules}
    assert {n for n in names if not n.endswith("__init__")} - {"mycelia._engine"} == listed


def _folders(path: str) -> list[str]:
    return [p.as_posix() for p in Path(path).parents]


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").exists()

"""The real worker of Mycelia, and what all workers share."""

from __future__ import annotations

import ast
import json
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mycelia import cli
from mycelia._engine.runtime.memory import allocator
from mycelia.benchmark.worker import SCRIPTS
from mycelia.benchmark.workers import numbers
from mycelia.benchmark.workers.protocol import Job, measure, warm_up
from mycelia.benchmark.workloads import CPU

ALLOWED = {
    "cell": {"numpy"},  # the framework itself is named by a variable
    "jax": {"numpy", "jax"},
    "torch": {"numpy", "torch"},
}


@pytest.mark.slow
def test_the_real_worker_of_mycelia_measures(tmp_path, capsys):
    options = ["--only", "mlp64", "--peers", "none", "--rounds", "1", "--seconds", "0.05"]
    assert cli.main(["benchmark", *options, "--out", str(tmp_path)]) == 0
    cell = json.loads((tmp_path / "results.json").read_text())["rows"]["mlp64"]["cells"]["mycelia"]
    assert cell["parameters"] == 64 * 64 * 2 + 64 * 10 + 64 + 64 + 10
    assert cell["milliseconds"] > 0 and cell["memory"] > 10 and cell["version"] == "mycelia 0.1.0"
    losses = cell["values"]
    assert losses[0] == pytest.approx(2.90411, rel=1e-4)
    assert sorted(losses, reverse=True) == losses


def test_warming_up_keeps_the_first_values_and_measuring_runs_at_least_once():
    results = iter(range(100))
    warm = warm_up(Job(lambda: next(results), float, 7))
    assert warm.values == [0.0, 1.0, 2.0]
    found = measure(warm, 0)
    assert found["runs"] == 1 and found["parameters"] == 7 and next(results) == 4


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc is glibc's here")
def test_malloc_is_told_by_what_it_does():
    script = (
        "import sys\nfrom workers.protocol import keep_memory, malloc_setting\n"
        "print(malloc_setting()); keep_memory(sys.argv[1]); print(malloc_setting())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, allocator.__file__],
        cwd=SCRIPTS.parent,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split("\n")[:2] == ["default", "keeps freed memory"], done.stderr


def test_every_worker_builds_every_workload():
    nets = {w.sizes["net"] for w in CPU}
    for engine in ALLOWED:
        built: set[str] = set()
        for path in SCRIPTS.glob(f"{engine}_*.py"):
            built |= _builders(path)
        assert built == nets, engine


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.py")), ids=lambda p: p.name)
def test_workers_import_their_framework_and_numpy_only(path: Path):
    allowed = ALLOWED.get(path.stem.split("_")[0], {"numpy"})
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        for name in _imported(node)
    }
    assert imported - sys.stdlib_module_names <= allowed


def test_workloads_are_json_with_one_name_each():
    assert json.loads(json.dumps([w.sizes for w in CPU])) == [w.sizes for w in CPU]
    assert len({w.name for w in CPU}) == len(CPU) == 19


def test_weights_depend_on_their_order_alone():
    first, second = numbers.Weights(), numbers.Weights()
    second.initial("norm.gamma", (5,))
    assert np.array_equal(first(3, 4), second.initial("dense.weight", (3, 4)))
    assert not np.array_equal(first(3, 4), second(4, 3).T)
    assert first.initial("bias", (2,)).tolist() == [0, 0]
    assert first.initial("weight", (2,)).tolist() == [1, 1]


def _builders(path: Path) -> set[str]:
    """The keys of the table BUILDERS in a file."""
    return {
        key.value
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        if node.targets[0].id == "BUILDERS"
        for key in node.value.keys
    }


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [node.module or ""]
    return []

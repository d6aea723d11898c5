"""What `import mycelia` loads, and that what it leaves for later is there all the same."""

from __future__ import annotations

import ast
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import mycelia

ROOT = Path(__file__).parent.parent
PACKAGES = ("av", "cv2", "matplotlib", "pandas", "PIL", "pyarrow", "rich", "scipy", "simplejpeg")
STANDARD = ("http.server", "multiprocessing.pool", "sqlite3", "statistics", "tkinter")
OF_JAX = ("jax.extend", "jax.experimental.pallas", "jax.scipy.sparse", "jax.scipy.special")
OWN = (
    "compiler.parallel",
    "dataset",
    "mindrecord",
    "mint",
    "numpy",
    "runtime.pipeline.step",
    "train",
)
DECODERS = ("av", "cv2", "PIL", "regex", "rich", "scipy", "sentencepiece", "simplejpeg")


def loaded_after(program: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a program."""
    told = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", program + told]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return set(json.loads(ran.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return loaded_after("import mycelia")


@pytest.fixture(scope="module")
def loaded_by_jax() -> set[str]:
    return loaded_after("import jax")


@pytest.mark.parametrize("name", (*PACKAGES, *OF_JAX))
def test_import_loads_no_package_that_is_rarely_needed(name: str, loaded: set[str]):
    assert name not in loaded


@pytest.mark.parametrize("name", STANDARD)
def test_import_adds_nothing_slow_to_what_jax_loads_itself(
    name: str, loaded: set[str], loaded_by_jax: set[str]
):
    assert name not in loaded - loaded_by_jax


@pytest.mark.parametrize("name", OWN)
def test_import_leaves_parts_that_many_programs_do_without(name: str, loaded: set[str]):
    assert f"mycelia.{name}" not in loaded


def test_the_data_pipeline_loads_no_decoder_before_it_decodes():
    assert loaded_after("import mycelia.dataset").isdisjoint(DECODERS)


def test_training_loads_no_data_pipeline_of_its_own():
    assert loaded_after("import mycelia.train").isdisjoint({*DECODERS, "mycelia.dataset"})


def test_a_program_for_one_device_loads_no_planner(tmp_path: Path):
    (tmp_path / "doubling.py").write_text("""
import mycelia as ms

@ms.jit
def doubled(x):
    return x * 2

assert doubled(ms.Tensor([1.0, 2.0])).asnumpy().tolist() == [2.0, 4.0]
""")
    loaded = loaded_after(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import doubling")
    assert "mycelia._engine.compiler.frontend.interpreter.interpreter" in loaded
    parts = ("compiler.parallel", "compiler.buckets", "ops.axes", "runtime.pipeline.step")
    assert loaded.isdisjoint(f"mycelia.{part}" for part in parts)


def test_every_public_name_is_found_by_a_fresh_interpreter():
    loaded_after(f"""
from importlib import import_module
from pathlib import Path
for line in Path({str(ROOT / "tests" / "public_api.txt")!r}).read_text().split():
    module, _, name = line.rpartition(".")
    getattr(import_module(module), name)
""")


def test_parts_are_imported_in_all_the_usual_ways():
    loaded_after("from mycelia import dataset, nn, ops, train, Model, Tensor; Model; dataset.zip")
    loaded_after("import mycelia.dataset as data; data.NumpySlicesDataset")
    loaded_after("import mycelia; mycelia.dataset.vision.Resize; mycelia.dataset.text.Vocab")
    loaded_after("import mycelia; mycelia.train.Model is mycelia.Model or 1 / 0")
    loaded_after("from mycelia import *; Model; Accuracy; coverage; save_checkpoint; train; nn")


def test_a_star_does_not_take_the_names_of_other_packages():
    assert {"numpy", "scipy"}.isdisjoint(mycelia.__all__)


def test_dir_lists_what_is_not_imported_yet():
    ran = loaded_after("import mycelia; {'Model', 'dataset', 'Tensor'} <= {*dir(mycelia)} or 1 / 0")
    assert "mycelia.train" not in ran


def test_type_checkers_are_told_the_names_that_are_found_later():
    tree = ast.parse((ROOT / "mycelia" / "__init__.py").read_text())
    told = {
        alias.name: f"{statement.module}:"
        for block in tree.body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert told.pop("train") == "mycelia:"
    found = {name: source for name, source in mycelia._lazy.sources.items() if source}
    untold = {"Node", "NodeType", "Profiler", "ScopedValue", "SymbolTree"}
    assert set(told) == set(found) - untold
    assert all(source.startswith(found[name][:-1]) for name, source in told.items())


def test_what_is_found_later_can_be_pickled():
    assert pickle.loads(pickle.dumps(mycelia.Model)) is mycelia.Model


def test_a_name_that_is_nowhere_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'mycelia' has no attribute 'Modell'"):
        mycelia.Modell

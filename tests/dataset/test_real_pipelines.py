"""Pipelines give the rows, sizes and errors that the real MindSpore gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mycelia.dataset as ds
from tests.goldens import dataset_cases as cases

REAL = json.loads((Path(__file__).parents[1] / "goldens" / "datasets.json").read_text())
CASES = cases.all_cases()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pipelines")
    cases.write_files(made)
    return made


def test_every_case_has_its_golden():
    assert list(CASES) == list(REAL)


@pytest.mark.parametrize("group", sorted({name.split(":")[0] for name in REAL}))
def test_pipelines_do_what_the_real_ones_do(group, folder):
    names = [name for name in CASES if name.split(":")[0] == group]
    found = {name: cases.told(CASES[name], ds, folder) for name in names}
    assert found == {name: REAL[name] for name in names}

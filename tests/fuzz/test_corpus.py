"""Past failures of scripts/fuzz stay fixed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz import corpus, kind
from tests.fuzz.run import judge


@pytest.mark.parametrize("file", corpus.files(), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_past_failure_passes(file: Path):
    found = kind.find(file.parent.name)
    assert judge(found, corpus.load(found, file.read_text())) == ""


@pytest.mark.parametrize("name", kind.names())
def test_a_saved_case_is_loaded_unchanged(name: str):
    found = kind.find(name)
    for seed in range(20):
        case = found.generate(random.Random(seed))
        assert corpus.load(found, corpus.dump(case)) == case


@pytest.mark.parametrize("name", kind.names())
def test_the_same_seed_gives_the_same_case(name: str):
    found = kind.find(name)
    assert found.generate(random.Random(5)) == found.generate(random.Random(5))
    assert found.generate(random.Random(5)) != found.generate(random.Random(6))

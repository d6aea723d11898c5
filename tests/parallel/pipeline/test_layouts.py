"""Layouts inside of stages: operators cut as users say or as the search finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parallel.pipeline.running import checks, run_checks

FILE = Path(__file__).with_name("layout_checks.py")


@pytest.mark.slow
@pytest.mark.parametrize("name", checks("", file=FILE))
def test_on_eight_devices(name: str) -> None:
    found = run_checks(name, file=FILE)[name]
    assert found == "passed", found

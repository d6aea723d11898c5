"""Dropout, functions and models in stages."""

from __future__ import annotations

import pytest

from tests.parallel.pipeline.running import checks, run_checks

GROUP = ("step_of", "step_keeps", "step_with_dropout")


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return run_checks(*GROUP)


@pytest.mark.parametrize("name", checks(*GROUP))
def test_on_eight_devices(found: dict[str, str], name: str) -> None:
    assert found[name] == "passed", found[name]

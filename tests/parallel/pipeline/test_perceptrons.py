"""A perceptron in stages learns what it learns on one device."""

from __future__ import annotations

import pytest

from tests.parallel.pipeline.running import checks, run_checks

GROUP = ("perceptron",)


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return run_checks(*GROUP)


@pytest.mark.slow
@pytest.mark.parametrize("name", checks(*GROUP))
def test_on_eight_devices(found: dict[str, str], name: str) -> None:
    assert found[name] == "passed", found[name]

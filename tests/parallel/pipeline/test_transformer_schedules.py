"""A transformer in stages, by other schedules."""

from __future__ import annotations

import pytest

from tests.parallel.pipeline.running import checks, run_checks

pytestmark = pytest.mark.slow

GROUP = (
    "transformer_gpipe",
    "transformer_interleaved",
)


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return run_checks(*GROUP)


@pytest.mark.slow
@pytest.mark.parametrize("name", checks(*GROUP))
def test_on_eight_devices(found: dict[str, str], name: str) -> None:
    assert found[name] == "passed", found[name]

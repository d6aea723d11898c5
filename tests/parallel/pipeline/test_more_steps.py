"""Batch statistics, clipping, loss scales and recompute in stages."""

from __future__ import annotations

import pytest

from tests.parallel.pipeline.running import checks, run_checks

GROUP = (
    "step_with_batch_norm",
    "step_with_clipping",
    "step_with_scaled_loss",
    "step_with_recompute",
)


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return run_checks(*GROUP)


@pytest.mark.slow
@pytest.mark.parametrize("name", checks(*GROUP))
def test_on_eight_devices(found: dict[str, str], name: str) -> None:
    assert found[name] == "passed", found[name]

"""Dropout, batch statistics, clipping, loss scales, recompute, functions and models in stages."""

from __future__ import annotations

import functools

import pytest

from tests.parallel.pipeline.running import checks, run_checks

LONG = (
    "step_with_batch_norm",
    "step_with_clipping",
    "step_with_scaled_loss",
    "step_with_recompute",
)
QUICK = tuple(name for name in checks("step") if name not in LONG)

found = functools.cache(run_checks)  # all checks of a group in one process


@pytest.mark.parametrize("name", QUICK)
def test_on_eight_devices(name: str) -> None:
    assert found(*QUICK)[name] == "passed", found(*QUICK)[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_more_on_eight_devices(name: str) -> None:
    assert found(*LONG)[name] == "passed", found(*LONG)[name]

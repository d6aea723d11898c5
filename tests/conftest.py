"""Shared by all tests: repeatable property tests, and old compiled programs dropped now and then."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest
from hypothesis import settings

from mycelia.runtime.eager import dispatch, sweep

settings.register_profile("repeatable", derandomize=True)  # the same examples in every run
settings.load_profile("repeatable")

_ran = 0


@pytest.fixture(autouse=True)
def _bounded_memory() -> Iterator[None]:
    """Thousands of small programs would fill the memory of a small machine."""
    global _ran
    yield
    _ran += 1
    if _ran % 150 == 0:
        dispatch._programs.clear()
        sweep._programs.clear()
        jax.clear_caches()

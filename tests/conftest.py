"""Shared by all tests: repeatable property tests, and old compiled programs dropped now and then."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import jax
import pytest

import mycelia as ms
from mycelia._engine.core import pending_checks, settings
from mycelia._engine.runtime.eager import backward, dispatch

hypothesis.settings.register_profile("repeatable", derandomize=True)  # the same examples every run
hypothesis.settings.load_profile("repeatable")

_ran = 0


@pytest.fixture(autouse=True)
def _bounded_memory() -> Iterator[None]:
    """Thousands of small programs would fill the memory of a small machine."""
    global _ran
    yield
    _ran += 1
    if _ran % 150 == 0:
        dispatch._programs.clear()
        backward._programs.clear()
        jax.clear_caches()


@pytest.fixture(autouse=True)
def _settings_as_before() -> Iterator[None]:
    """What a test sets with `set_context` ends with it."""
    before = settings.current()
    yield
    if settings.current() is not before:
        ms.set_context(**vars(before))


@pytest.fixture(autouse=True)
def _no_wrong_index() -> Iterator[None]:
    """No program that a test ran and never looked at may have read beyond an end."""
    yield
    pending_checks.wait_for_checks()


@pytest.fixture
def graph_mode() -> None:
    """Cells are compiled."""
    ms.set_context(mode=ms.GRAPH_MODE)


@pytest.fixture(params=["eager", "graph"])
def modes(request: pytest.FixtureRequest) -> str:
    """The test runs in eager mode and in graph mode."""
    ms.set_context(mode=ms.GRAPH_MODE if request.param == "graph" else ms.PYNATIVE_MODE)
    return request.param

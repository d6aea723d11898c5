"""Dicts that forget what was not used for the longest time."""

from __future__ import annotations

import pytest

import mycelia as ms
from mycelia.core import settings
from mycelia.core.recent import Recent


@pytest.fixture(autouse=True)
def four_programs():
    before = settings.current()
    ms.set_context(max_programs=4)
    yield
    settings.restore(before)


def test_the_least_recently_used_is_forgotten():
    found = Recent()
    for key in "abcd":
        found.keep(key, key.upper())
    assert found.use("a") == "A"
    found.keep("e", "E")
    assert list(found) == ["c", "d", "a", "e"]
    assert found.use("b") is None


def test_a_smaller_limit_holds_from_the_next_value_on():
    found = Recent()
    for key in "abcd":
        found.keep(key, key)
    ms.set_context(max_programs=2)
    found.keep("e", "e")
    assert list(found) == ["d", "e"]


def test_the_limit_is_a_positive_number():
    with pytest.raises(ValueError, match="max_programs"):
        ms.set_context(max_programs=0)

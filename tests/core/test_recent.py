"""Dicts that forget what was not used for the longest time."""

from __future__ import annotations

import pytest

import mycelia as ms
from mycelia._engine.core import lru_dict, settings
from mycelia._engine.core.lru_dict import LRUDict


@pytest.fixture(autouse=True)
def four_programs(monkeypatch):
    before = settings.current()
    monkeypatch.setattr(LRUDict, "_new", 0)
    monkeypatch.setattr(LRUDict, "_allowed", 0)
    ms.set_context(max_programs=4)
    yield
    settings.restore(before)


def test_the_least_recently_used_is_forgotten():
    found = LRUDict()
    for key in "abcd":
        found.keep(key, key.upper())
    assert found.use("a") == "A"
    found.keep("e", "E")
    assert list(found) == ["c", "d", "a", "e"]
    assert found.use("b") is None


def test_a_smaller_limit_holds_from_the_next_value_on():
    found = LRUDict()
    for key in "abcd":
        found.keep(key, key)
    ms.set_context(max_programs=2)
    found.keep("e", "e")
    assert list(found) == ["d", "e"]


def test_the_limit_is_a_positive_number():
    with pytest.raises(ValueError, match="max_programs"):
        ms.set_context(max_programs=0)


def test_the_older_half_is_forgotten_where_the_process_has_too_many_maps(monkeypatch):
    ms.set_context(max_programs=2048)
    first, second = LRUDict(), LRUDict()
    for key in range(400):
        first.keep(key, key)
    second.keep("only", 1)
    assert first.use(0) == 0
    maps = [10_000, 10_000, 5_000]
    monkeypatch.setattr(lru_dict, "map_count", lambda: maps.pop(0) if len(maps) > 1 else maps[0])
    monkeypatch.setattr(lru_dict, "map_limit", lambda: 9_000)
    for key in range(400, 400 + lru_dict.INTERVAL):
        first.keep(key, key)
    assert 0 in first and 1 not in first and 399 in first
    assert len(first) <= 232 and "only" in second


def test_maps_of_others_do_not_make_programs_forgotten_again_and_again(monkeypatch):
    ms.set_context(max_programs=2048)
    monkeypatch.setattr(lru_dict, "map_count", lambda: 10_000)
    monkeypatch.setattr(lru_dict, "map_limit", lambda: 9_000)
    found = LRUDict()
    for key in range(10 * lru_dict.INTERVAL):
        found.keep(key, key)
    assert len(found) > 8 * lru_dict.INTERVAL

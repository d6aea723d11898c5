"""Events reach their listeners until these unsubscribe."""

from __future__ import annotations

from mycelia._engine.core.events import publish, subscribe


def test_listeners_hear_events_of_their_kind_until_they_leave():
    heard: list[tuple[str, int]] = []
    leave = subscribe("test.first", lambda name, value: heard.append((name, value)))
    publish("test.first", name="a", value=1)
    publish("test.second", name="b", value=2)
    leave()
    leave()
    publish("test.first", name="c", value=3)
    assert heard == [("a", 1)]

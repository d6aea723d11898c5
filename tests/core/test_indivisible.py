"""Assignments that happen as a whole."""

from __future__ import annotations

from types import SimpleNamespace

from mycelia._engine.core.atomic_assignment import UndoLog, assign_atomically


def test_several_attributes_change_together():
    one, other = SimpleNamespace(a=1), SimpleNamespace(b=2)
    assign_atomically([(one, "a", 3), (other, "b", 4)])
    assert (one.a, other.b) == (3, 4)


def test_undo_puts_the_oldest_values_back():
    thing = SimpleNamespace(a=1, b=2)
    log = UndoLog()
    log.note(thing, "a", "b")
    thing.a, thing.b = 3, 4
    log.note(thing, "a")
    thing.a = 5
    log.undo()
    assert (thing.a, thing.b) == (1, 2)


def test_what_was_forgotten_stays_but_the_last_assignments_happen():
    thing = SimpleNamespace(a=1, hook="on")
    log = UndoLog((thing, "hook", None))
    log.note(thing, "a")
    thing.a = 3
    log.forget()
    log.undo()
    assert (thing.a, thing.hook) == (3, None)

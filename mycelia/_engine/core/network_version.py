"""A counter of changes to networks, so that programs know when to check their constants again."""

from __future__ import annotations


class NetworkVersion:
    """How often an attribute of any cell was set; programs compare it with the count they saw."""

    count: int = 0


def note_network_change() -> None:
    """Record that a cell, or a setting that programs depend on, has changed."""
    NetworkVersion.count += 1

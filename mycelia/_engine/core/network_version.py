"""Counting changes to networks, so that programs know when to look at their constants again."""

from __future__ import annotations


class NetworkVersion:
    """How often an attribute of any cell was set; programs compare it with what they saw."""

    count: int = 0


def note_network_change() -> None:
    """Say that some cell, or a setting that programs depend on, is not what it was."""
    NetworkVersion.count += 1

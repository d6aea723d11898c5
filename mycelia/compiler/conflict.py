"""Values that are not the same kind of thing on all paths of a program."""

from __future__ import annotations

from dataclasses import dataclass

from mycelia.compiler.symbolic import ValueNeeded


@dataclass(frozen=True)
class Conflict:
    """A value that no program can hold: whoever uses it needs Python, for this reason."""

    why: str


def conflict_error(conflict: Conflict) -> ValueNeeded:
    """What asks for Python where such a value is used."""
    return ValueNeeded(None, conflict.why)
